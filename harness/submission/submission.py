"""Submission files and their entries: one for the default parameters and one for each variant."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError
from harness.base.hashing import digest_of
from harness.models.registry import model_fingerprint
from harness.models.vector_composition import SUITE_VECTORS, TOKEN_VECTORS, VectorSpec
from harness.submission.header import FILE_BYTES, Header, Scalar, functional_fields, read_header, without_header


@dataclass(frozen=True)
class Submission:
    """One submission file; it has been read but not executed."""

    filename: str
    source: bytes
    header: Header

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entry with default parameters, then the variants."""
        tokens = self.header.input == "token_embeddings"
        base = Entry(self, None, {}, VectorSpec(of_tokens=tokens))
        return (base, *(Entry(self, variant.name, variant.parameters, VectorSpec(variant.vectors_of, variant.in_chunks, tokens))
                        for variant in self.header.variants))


@dataclass(frozen=True, eq=False)
class Entry:
    """A submission with one set of parameters; entries are run, scored and listed."""

    submission: Submission
    variant: str | None
    parameters: Mapping[str, Scalar]
    vectors: VectorSpec = SUITE_VECTORS

    @property
    def header(self) -> Header:
        return self.submission.header

    @property
    def name(self) -> str:
        """The submission's name, followed by the variant in brackets."""
        return self.header.name if self.variant is None else f"{self.header.name}[{self.variant}]"

    @property
    def takes_vectors(self) -> bool:
        """Whether the entry takes vectors of texts or of tokens."""
        return self.header.input in ("embeddings", "token_embeddings")

    @property
    def on_request(self) -> bool:
        """Whether the entry runs only if it is named."""
        return self.header.on_request or any(
            variant.on_request for variant in self.header.variants if variant.name == self.variant
        )

    @cached_property
    def digest(self) -> str:
        """The identifier of the entry: a hash of the code, the functional header fields, the parameters and the models.

        Code that differs from published code in comments and names only keeps the digest of the published code.
        """
        code = hashlib.sha256(without_header(self.submission.source)).hexdigest()
        return digest_of({"version": 2, "code": _read_hashes("published_code.csv").get(code, code),
                          "header": functional_fields(self.header), **self._settings})

    @cached_property
    def digest_v1(self) -> str:
        """The identifier that versions up to release 2026.2 used: a hash of the whole source, the parameters and the models."""
        return digest_of({"source": hashlib.sha256(self.submission.source).hexdigest(), **self._settings})

    @property
    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"parameters": dict(self.parameters),
                                    "models": {name: model_fingerprint(name) for name in self.header.models}}
        if self.vectors not in (SUITE_VECTORS, TOKEN_VECTORS):      # the input is a field of the header
            settings["vectors"] = {"of": [[name, model_fingerprint(name)] for name in self.vectors.models],
                                   "in_chunks": self.vectors.in_chunks}
        return settings


def current_digest(digest: str) -> str:
    """Return the present digest of a published entry with this digest of version 1; return any other digest unchanged."""
    return _read_hashes("digests_v1.csv").get(digest, digest)


def published_digest(digest: str) -> str:
    """Return the digest of version 1 under which an entry was first published; return any other digest unchanged."""
    return next((old for old, present in _read_hashes("digests_v1.csv").items() if present == digest), digest)


@cache
def _read_hashes(filename: str) -> dict[str, str]:
    """Return the third column of a table by the second one."""
    with Path(__file__).with_name(filename).open(encoding="utf-8", newline="") as file:
        return {key: value for _, key, value in list(csv.reader(file))[1:]}


def load_submission(path: Path) -> Submission:
    """Return the submission in a file after validating its header and its models; the file is not executed."""
    submission = parse_file(path)
    check_models(submission)
    return submission


def check_models(submission: Submission) -> None:
    """Raise if a model that the submission names is unknown or not available."""
    header = submission.header
    for model in (*header.models, *(name for variant in header.variants for name in variant.vectors_of)):
        model_fingerprint(model)


def parse_file(path: Path) -> Submission:
    """Return the submission in a file after validating its header only."""
    try:
        with path.open("rb") as file:
            source = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise TouchstoneError(f"{path}: the file cannot be read ({error.strerror}).") from None
    return Submission(path.name, source, read_header(source, path.name))

