# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14", "tokenizers>=0.20"]
# [tool.touchstone]
# name = "bertscore"
# title = "BERTScore with MiniLM"
# summary = "F-measure of greedy token matching by the cosine similarity of contextual MiniLM embeddings."
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
# summary = "Tokens are weighted by inverse document frequency in the texts of the collection."
# ///
"""F1 of bert-score 0.3 on the last layer, without rescaling. Special tokens can be matched, but have weight 0.

The model is evaluated in NumPy, because importing torch and transformers takes a worker longer than computing all scores. Texts
with the same number of tokens are encoded in one batch without padding, so that vectors do not depend on the other texts. To use
another BERT model, copy this file and list the model in `models` (`touchstone models fetch OWNER/NAME`).
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
CACHED_TEXTS = 3_000                        # texts whose vectors are cached, about 30 kB each


class Config(NamedTuple):
    """Hyperparameters that the weights of a model do not determine."""

    heads: int
    epsilon: float                          # of layer normalization


class WeightedTokens(NamedTuple):
    """The unit vectors and the weights of a text's tokens."""

    vectors: np.ndarray
    weights: np.ndarray


class Encoded(NamedTuple):
    """The tokens of a text and their unit vectors."""

    tokens: list[int]
    vectors: np.ndarray


class Frequencies(NamedTuple):
    """The number of texts and the document frequency of each token."""

    texts: int
    by_token: Counter[int]


weights: dict[str, np.ndarray]
config: Config
tokenizer: Tokenizer
frequencies = Frequencies(0, Counter())
cache: dict[str, Encoded] = {}


def setup(models: dict[str, str]) -> None:
    global weights, config, tokenizer
    (name, path), = models.items()
    folder = Path(path)
    options = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if (options["model_type"], options["hidden_act"]) != ("bert", "gelu"):
        raise ValueError(f"{name} is not a BERT model with GELU activation; list another model in `models`.")
    config = Config(options["num_attention_heads"], options["layer_norm_eps"])
    weights = {key.removeprefix("bert."): values for key, values in tensors(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(len(weights["embeddings.position_embeddings.weight"]))


def tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the float32 tensors of a safetensors file: header length, JSON header, data."""
    content = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", content)[0]
    rest = memoryview(content)[start:]
    return {name: np.frombuffer(rest[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in json.loads(content[8:start]).items() if entry.get("dtype") == "F32"}


def fit(texts: list[str], weighted: bool = False) -> None:
    global frequencies
    if weighted:
        frequencies = Frequencies(len(texts), Counter(token for tokens in tokenize(texts) for token in set(tokens)))


def similarity(a: list[str], b: list[str], weighted: bool = False) -> list[float]:
    scores = []
    for start in range(0, len(a), PAIRS_AT_ONCE):
        x, y = a[start:start + PAIRS_AT_ONCE], b[start:start + PAIRS_AT_ONCE]
        tokens = embed([*x, *y], weighted)
        scores += [float(f_measures([tokens[text_a]], [tokens[text_b]])[0, 0]) for text_a, text_b in zip(x, y, strict=True)]
    return scores


def matrix(a: list[str], b: list[str], weighted: bool = False) -> np.ndarray:
    tokens = embed([*a, *b], weighted)
    columns = [tokens[text] for text in b]
    size = max(1, TOKENS_AT_ONCE // max(len(tokens[text].weights) for text in a))
    batches = [[tokens[text] for text in a[start:start + size]] for start in range(0, len(a), size)]
    return np.concatenate([f_measures(rows, columns) for rows in batches])


def f_measures(rows: list[WeightedTokens], columns: list[WeightedTokens]) -> np.ndarray:
    """Return 2pr/(p + r) of all pairs; 0 for a text without tokens and for negative values."""
    cosines = np.concatenate([text.vectors for text in rows]) @ np.concatenate([text.vectors for text in columns]).T
    (x, starts_x), (y, starts_y) = concatenate_weights(rows), concatenate_weights(columns)
    best_x, best_y = np.maximum.reduceat(cosines, starts_y, axis=1), np.maximum.reduceat(cosines, starts_x, axis=0)
    recall = ratio(np.add.reduceat(best_x * x[:, None], starts_x, axis=0), np.add.reduceat(x, starts_x)[:, None])
    precision = ratio(np.add.reduceat(best_y * y[None, :], starts_y, axis=1), np.add.reduceat(y, starts_y)[None, :])
    total = precision + recall
    return np.clip(np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0), 0, 1)


def concatenate_weights(texts: list[WeightedTokens]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of all tokens, and the index of each text's first token."""
    return np.concatenate([text.weights for text in texts]), np.cumsum([0, *(len(text.weights) for text in texts[:-1])])


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=np.broadcast_to(whole, part.shape) > 0)


def tokenize(texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch(texts)]


def embed(texts: list[str], weighted: bool) -> dict[str, WeightedTokens]:
    """Return the vectors and weights of the tokens of each text, from the cache if possible."""
    encoded = {text: cache[text] for text in texts if text in cache}
    new = [text for text in dict.fromkeys(texts) if text not in encoded]
    encoded |= encode_all(new)
    if len(cache) + len(new) > CACHED_TEXTS:
        cache.clear()
    cache.update({text: encoded[text] for text in new[:CACHED_TEXTS]})
    return {text: WeightedTokens(item.vectors, token_weights(item.tokens, weighted)) for text, item in encoded.items()}


def encode_all(texts: list[str]) -> dict[str, Encoded]:
    """Encode texts in batches of equal numbers of tokens."""
    by_length: dict[int, list[tuple[str, list[int]]]] = {}
    for text, tokens in zip(texts, tokenize(texts), strict=True):
        by_length.setdefault(len(tokens), []).append((text, tokens))
    encoded = {}
    for length, group in by_length.items():
        for start in range(0, len(group), size := max(1, TOKENS_AT_ONCE // length)):
            batch = group[start:start + size]
            vectors = encode(np.array([tokens for _, tokens in batch]))
            vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
            encoded.update({text: Encoded(tokens, vectors[row]) for row, (text, tokens) in enumerate(batch)})
    return encoded


def token_weights(tokens: list[int], weighted: bool) -> np.ndarray:
    """Return the weights 1, or ln((N + 1)/(df + 1)); 0 for the special tokens at both ends."""
    values = np.ones(len(tokens))
    if weighted:
        values = np.array([np.log((frequencies.texts + 1) / (frequencies.by_token[token] + 1)) for token in tokens])
    values[[0, -1]] = 0
    return values


# ---- the model: BERT of Devlin et al. 2019 -----------------------------------------------------------------------------------

def encode(tokens: np.ndarray) -> np.ndarray:
    """Return the last layer's vectors: texts x tokens x dimensions."""
    embedded = (weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.token_type_embeddings.weight"][0]
                + weights["embeddings.position_embeddings.weight"][:tokens.shape[1]])
    hidden = layer_norm(embedded, "embeddings.LayerNorm")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        prefix = f"encoder.layer.{layer}."
        hidden = layer_norm(hidden + linear(attention(hidden, f"{prefix}attention.self."), f"{prefix}attention.output.dense"),
                            f"{prefix}attention.output.LayerNorm")
        inner = linear(hidden, f"{prefix}intermediate.dense")
        inner *= 0.5 * (1 + erf(inner * np.float32(0.5 ** 0.5)))                # GELU
        hidden = layer_norm(hidden + linear(inner, f"{prefix}output.dense"), f"{prefix}output.LayerNorm")
        layer += 1
    return hidden


def attention(hidden: np.ndarray, prefix: str) -> np.ndarray:
    """Return softmax(q k / sqrt(d)) v of each head."""
    texts, length, width = hidden.shape
    query, key, value = (linear(hidden, f"{prefix}{part}").reshape(texts, length, config.heads, -1).transpose(0, 2, 1, 3)
                         for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 1, 3, 2) / np.float32((width / config.heads) ** 0.5)
    scores = np.exp(scores - scores.max(axis=3, keepdims=True))
    scores /= scores.sum(axis=3, keepdims=True)
    return (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, width)


def linear(rows: np.ndarray, name: str) -> np.ndarray:
    flat = rows.reshape(-1, rows.shape[2])      # one matrix product instead of one per text
    return (flat @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]).reshape(*rows.shape[:2], -1)


def layer_norm(rows: np.ndarray, name: str) -> np.ndarray:
    centred = rows - rows.mean(axis=2, keepdims=True)
    deviation = np.sqrt((centred ** 2).mean(axis=2, keepdims=True) + np.float32(config.epsilon))
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
