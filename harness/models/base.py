"""The interface of embedding models, wherever they come from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError
from harness.models.encoders import Encoder

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Model:
    """A named embedding model."""

    name: str
    title: str
    dimensions: int
    fingerprint: str                    # sha256; each kind of model defines of what
    licence: str

    verified = False                    # whether the fingerprint is pinned in the registry
    has_token_vectors = False           # whether the encoder returns the vectors of tokens

    @property
    def origin(self) -> str:
        """Where the model comes from, in words."""
        raise NotImplementedError

    def path(self) -> Path:
        """Return the folder of the model's files."""
        raise TouchstoneError(f'The model "{self.name}" has no local files, so a metric cannot name it in `models`.')

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer behind `input = "tokens"`."""
        raise TouchstoneError(f'The model "{self.name}" does not expose its tokens; metrics that take tokens need another model.')

    @property
    def window(self) -> int | None:
        """The number of tokens that the model reads, special tokens included; None if unlimited or unknown."""
        try:
            settings = json.loads((self.path() / "sentence_bert_config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, TouchstoneError):
            return None
        longest = settings.get("max_seq_length") if isinstance(settings, dict) else None
        return longest if isinstance(longest, int) and longest > 0 else None

    def ready(self) -> None:
        """Raise if the model cannot be used now; reads no large file."""
        self.path()

    def verify(self) -> None:
        """Raise if the model is not available or its files do not have the fingerprint."""
        self.ready()

    def encoder(self) -> Encoder:
        """Return the encoder of texts."""
        raise NotImplementedError


def fingerprint_files(folder: Path, files: Sequence[str]) -> str:
    """Return the sha256 over the names and sha256 sums of files in a folder."""
    whole = hashlib.sha256()
    for name in files:
        try:
            with (folder / name).open("rb") as file:
                whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        except OSError:
            raise TouchstoneError(f"The model file {name} is missing from {folder}; install or fetch the model again.") from None
    return whole.hexdigest()
