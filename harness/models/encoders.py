"""Encoders: turn texts into vectors, in batches of texts with the same number of tokens."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

BATCH_TOKENS = 2_048
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
        inputs = list(self._read(texts))
        if not inputs or "attention_mask" not in inputs[0]:
            return [Batch([row], [[features], [1]]) for row, features in enumerate(inputs)]
        rows_by_tokens: dict[tuple[int, ...], list[int]] = {}        # identical after truncation
        for row, features in enumerate(inputs):
            rows_by_tokens.setdefault(tuple(features["input_ids"].tolist()), []).append(row)
        unique_rows = list(rows_by_tokens.values())
        groups = equal_length_groups([len(inputs[rows[0]]["input_ids"]) for rows in unique_rows], BATCH_TOKENS)
        random.Random(0).shuffle(groups)    # mix long and short texts, so that the time left is representative
        return [
            Batch(
                [row for position in group for row in unique_rows[position]],
                [[inputs[unique_rows[position][0]] for position in group], [len(unique_rows[position]) for position in group]],
            )
            for group in groups
        ]

    def _read(self, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the tokenizer's output for each text, without padding."""
        for start in range(0, len(texts), READ_AT_ONCE):
            features = self._model.preprocess(list(texts[start:start + READ_AT_ONCE]), prompt=self._prompt)
            mask = features.get("attention_mask")
            if mask is None:                # models without attention mask, such as static vectors: one at a time
                yield from (self._model.preprocess([text], prompt=self._prompt) for text in texts[start:start + READ_AT_ONCE])
                continue
            for row, kept in enumerate(mask.bool()):
                yield {name: value[row][kept] if getattr(value, "shape", None) == mask.shape else value
                       for name, value in features.items()}

    def encode(self, batch: Batch) -> np.ndarray:
        import numpy as np
        import torch

        torch.set_num_threads(1)        # batches run in parallel instead
        computed, times = batch.content
        inputs = computed[0]
        if "attention_mask" in inputs:
            token_shape = inputs["attention_mask"].shape
            inputs = {name: torch.stack([features[name] for features in computed]) if getattr(value, "shape", None) == token_shape
                      else value for name, value in inputs.items()}
        with torch.inference_mode():
            vectors: np.ndarray = self._model(inputs)["sentence_embedding"].float().numpy()
        return np.repeat(vectors, times, axis=0)


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
