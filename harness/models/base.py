"""What an embedding model is to the harness, wherever it comes from."""

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
    fingerprint: str                    # sha256; what of, each kind says
    licence: str

    verified = False                    # whether the registry, not the first fetch, says the fingerprint

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        raise NotImplementedError

    def path(self) -> Path:
        """The folder of the model's files."""
        raise TouchstoneError(f'The model "{self.name}" has no files here: a metric cannot be given it in `models`.')

    def tokenizer(self) -> Tokenizer:
        """What `input = "tokens"` means."""
        raise TouchstoneError(f'The model "{self.name}" shows nobody its tokens: metrics that take tokens need another one.')

    @property
    def window(self) -> int | None:
        """How many tokens of a text it reads, its own marks among them; None: all, or nobody says."""
        try:
            said = json.loads((self.path() / "sentence_bert_config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, TouchstoneError):
            return None
        longest = said.get("max_seq_length") if isinstance(said, dict) else None
        return longest if isinstance(longest, int) and longest > 0 else None

    def ready(self) -> None:
        """Refuses when it cannot be used here and now; reads nothing large."""
        self.path()

    def verify(self) -> None:
        """Refuses when it is not ready, or not what the fingerprint names."""
        self.ready()

    def encoder(self) -> Encoder:
        raise NotImplementedError


def fingerprint_files(folder: Path, files: Sequence[str]) -> str:
    """sha256 over the names and sha256 sums of a folder's files."""
    whole = hashlib.sha256()
    for name in files:
        try:
            with (folder / name).open("rb") as file:
                whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        except OSError:
            raise TouchstoneError(f"The model file {name} is missing from {folder}; install or fetch the model again.") from None
    return whole.hexdigest()
