# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14", "tokenizers>=0.20"]
# [tool.touchstone]
# name = "bertscore"
# title = "BERTScore with MiniLM"
# summary = "F-measure of how near the tokens of each text come to those of the other, by cosine of MiniLM's vectors in context."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# lift = false
# on_request = true
# symmetric = true
# models = ["minilm"]
# paper = "https://arxiv.org/abs/1904.09675"
# authors = ["Zhang", "Kishore", "Wu", "Weinberger", "Artzi"]
# year = 2020
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "idf"
# parameters = { weighted = true }
# summary = "Tokens count by how few of the texts at hand have them."
# ///
"""The F of bert-score 0.3, not rescaled, of the last layer.  The marks around a text can be found, but do not count themselves.

The model is computed here, in NumPy: to import torch and transformers takes each worker longer than all its answers.  Texts of
equally many tokens go through it together, without padding, so that a vector does not depend on who else is asked about.
With another BERT in `models` (`touchstone models fetch OWNER/NAME`) a copy of this file is BERTScore with that one.
"""

import json
import struct
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import erf
from tokenizers import Tokenizer

TOKENS_AT_ONCE = 2_048
PAIRS_AT_ONCE = 1_000
KEPT = 3_000                                # texts whose vectors are at hand, of some 30 kB each


class Shape(NamedTuple):
    """What a model's weights do not say of themselves."""

    heads: int
    epsilon: float                          # of the layer norms


class Read(NamedTuple):
    """A text's tokens: their vectors, of unit length, and how much each counts."""

    vectors: np.ndarray
    counts: np.ndarray


class Encoded(NamedTuple):
    """A text's tokens and their vectors."""

    tokens: list[int]
    vectors: np.ndarray


class Frequencies(NamedTuple):
    """How many texts there are, and how many have each token."""

    texts: int
    having: Counter[int]


weights: dict[str, np.ndarray]
shape: Shape
tokenizer: Tokenizer
frequencies = Frequencies(0, Counter())
known: dict[str, Encoded] = {}


def setup(models: dict[str, str]) -> None:
    global weights, shape, tokenizer
    (name, path), = models.items()
    folder = Path(path)
    stated = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if (stated["model_type"], stated["hidden_act"]) != ("bert", "gelu"):
        raise ValueError(f"{name} is no BERT with GELU, which is what is computed here")
    shape = Shape(stated["num_attention_heads"], stated["layer_norm_eps"])
    weights = {key.removeprefix("bert."): values for key, values in tensors(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(len(weights["embeddings.position_embeddings.weight"]))


def tensors(path: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of a safetensors file: the length of its head, the head as JSON, the numbers."""
    content = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", content)[0]
    rest = memoryview(content)[start:]
    return {name: np.frombuffer(rest[slice(*about["data_offsets"])], "<f4").reshape(about["shape"])
            for name, about in json.loads(content[8:start]).items() if about.get("dtype") == "F32"}


def fit(texts: list[str], weighted: bool = False) -> None:
    global frequencies
    if weighted:
        frequencies = Frequencies(len(texts), Counter(token for tokens in tokenized(texts) for token in set(tokens)))


def similarity(a: list[str], b: list[str], weighted: bool = False) -> list[float]:
    found = []
    for start in range(0, len(a), PAIRS_AT_ONCE):
        x, y = a[start:start + PAIRS_AT_ONCE], b[start:start + PAIRS_AT_ONCE]
        here = read([*x, *y], weighted)
        found += [float(f_measures([here[one]], [here[other]])[0, 0]) for one, other in zip(x, y, strict=True)]
    return found


def matrix(a: list[str], b: list[str], weighted: bool = False) -> np.ndarray:
    here = read([*a, *b], weighted)
    others = [here[text] for text in b]
    rows = max(1, TOKENS_AT_ONCE // max(len(here[text].counts) for text in a))
    parts = [[here[text] for text in a[start:start + rows]] for start in range(0, len(a), rows)]
    return np.concatenate([f_measures(part, others) for part in parts])


def f_measures(texts: list[Read], others: list[Read]) -> np.ndarray:
    """2pr/(p + r) of each text with each of the others; 0 for a text without tokens, and where F is negative."""
    cosines = np.concatenate([one.vectors for one in texts]) @ np.concatenate([one.vectors for one in others]).T
    (x, at_x), (y, at_y) = joined(texts), joined(others)
    nearest_to_x, nearest_to_y = np.maximum.reduceat(cosines, at_y, axis=1), np.maximum.reduceat(cosines, at_x, axis=0)
    recall = share(np.add.reduceat(nearest_to_x * x[:, None], at_x, axis=0), np.add.reduceat(x, at_x)[:, None])
    precision = share(np.add.reduceat(nearest_to_y * y[None, :], at_y, axis=1), np.add.reduceat(y, at_y)[None, :])
    both = precision + recall
    return np.clip(np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0), 0, 1)


def joined(texts: list[Read]) -> tuple[np.ndarray, np.ndarray]:
    """The counts of all their tokens, and where each text begins."""
    return np.concatenate([one.counts for one in texts]), np.cumsum([0, *(len(one.counts) for one in texts[:-1])])


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=np.broadcast_to(whole, part.shape) > 0)


def tokenized(texts: list[str]) -> list[list[int]]:
    return [one.ids for one in tokenizer.encode_batch(texts)]


def read(texts: list[str], weighted: bool) -> dict[str, Read]:
    """What there is to know of each text."""
    encoded = {text: known[text] for text in texts if text in known}
    new = [text for text in dict.fromkeys(texts) if text not in encoded]
    encoded |= encode_all(new)
    if len(known) + len(new) > KEPT:
        known.clear()
    known.update({text: encoded[text] for text in new[:KEPT]})
    return {text: Read(one.vectors, counted(one.tokens, weighted)) for text, one in encoded.items()}


def encode_all(texts: list[str]) -> dict[str, Encoded]:
    """In batches of texts of equally many tokens."""
    by_length: dict[int, list[tuple[str, list[int]]]] = {}
    for text, tokens in zip(texts, tokenized(texts), strict=True):
        by_length.setdefault(len(tokens), []).append((text, tokens))
    found = {}
    for length, group in by_length.items():
        for start in range(0, len(group), size := max(1, TOKENS_AT_ONCE // length)):
            batch = group[start:start + size]
            vectors = encode(np.array([tokens for _, tokens in batch]))
            vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
            found.update({text: Encoded(tokens, vectors[row]) for row, (text, tokens) in enumerate(batch)})
    return found


def counted(tokens: list[int], weighted: bool) -> np.ndarray:
    """How much each token counts: 1, or ln((N + 1)/(df + 1)); the first and the last, marks, nothing."""
    counts = np.ones(len(tokens))
    if weighted:
        counts = np.array([np.log((frequencies.texts + 1) / (frequencies.having[token] + 1)) for token in tokens])
    counts[[0, -1]] = 0
    return counts


# ---- the model: BERT of Devlin et al. 2019 -----------------------------------------------------------------------------------

def encode(tokens: np.ndarray) -> np.ndarray:
    """The last layer's vector of each token; a row a text."""
    embedded = (weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.token_type_embeddings.weight"][0]
                + weights["embeddings.position_embeddings.weight"][:tokens.shape[1]])
    hidden = normed(embedded, "embeddings.LayerNorm")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        at = f"encoder.layer.{layer}."
        hidden = normed(hidden + linear(attended(hidden, f"{at}attention.self."), f"{at}attention.output.dense"),
                        f"{at}attention.output.LayerNorm")
        inner = linear(hidden, f"{at}intermediate.dense")
        inner *= 0.5 * (1 + erf(inner * np.float32(0.5 ** 0.5)))                # GELU
        hidden = normed(hidden + linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")
        layer += 1
    return hidden


def attended(hidden: np.ndarray, at: str) -> np.ndarray:
    """Softmax(q k / sqrt(d)) v of each head."""
    texts, length, width = hidden.shape
    query, key, value = (linear(hidden, f"{at}{part}").reshape(texts, length, shape.heads, -1).transpose(0, 2, 1, 3)
                         for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32((width / shape.heads) ** 0.5)
    scores = np.exp(scores - scores.max(axis=3, keepdims=True))
    scores /= scores.sum(axis=3, keepdims=True)
    return (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, width)


def linear(rows: np.ndarray, at: str) -> np.ndarray:
    flat = rows.reshape(-1, rows.shape[2])      # one product of matrices, not one a text
    return (flat @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]).reshape(*rows.shape[:2], -1)


def normed(rows: np.ndarray, at: str) -> np.ndarray:
    centred = rows - rows.mean(axis=2, keepdims=True)
    spread = np.sqrt((centred ** 2).mean(axis=2, keepdims=True) + np.float32(shape.epsilon))
    return centred / spread * weights[f"{at}.weight"] + weights[f"{at}.bias"]
