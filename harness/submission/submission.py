"""A submission file and the entries in it: one for its default parameters, one more for each variant."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.base.errors import ModelAbsent, Refusal, did_you_mean
from harness.base.hashing import digest_of
from harness.models.registry import model_fingerprint
from harness.submission.header import FILE_BYTES, Header, Scalar, read_header


@dataclass(frozen=True)
class Submission:
    """One file, as it was read; nothing of it has been executed."""

    filename: str
    source: bytes
    header: Header

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        base = Entry(self, variant=None, parameters={})
        return (base, *(Entry(self, v.name, v.parameters, v.vectors_of, v.in_chunks) for v in self.header.variants))


@dataclass(frozen=True, eq=False)
class Entry:
    """What is asked, scored and listed: a submission with its parameters."""

    submission: Submission
    variant: str | None
    parameters: Mapping[str, Scalar]
    vectors_of: tuple[str, ...] = ()        # models whose vectors it is given; none: the suite's
    in_chunks: bool = False

    @property
    def header(self) -> Header:
        return self.submission.header

    @property
    def name(self) -> str:
        return self.header.name if self.variant is None else f"{self.header.name}[{self.variant}]"

    @property
    def on_request(self) -> bool:
        """Whether only those ask it who name it."""
        return self.header.on_request or any(one.on_request for one in self.header.variants if one.name == self.variant)

    @cached_property
    def digest(self) -> str:
        """Identifies the entry: sha256 over its source, its parameters and the models it names."""
        described: dict[str, Any] = {
            "source": hashlib.sha256(self.submission.source).hexdigest(),
            "parameters": dict(self.parameters),
            "models": {name: model_fingerprint(name) for name in self.header.models}}
        if self.vectors_of or self.in_chunks:
            described["vectors"] = {"of": [[name, model_fingerprint(name)] for name in self.vectors_of],
                                    "in_chunks": self.in_chunks}
        return digest_of(described)


def read_submission(path: Path) -> Submission:
    """The submission in a file, its header validated and its models known; the file is not executed."""
    submission = read_file(path)
    find_all_models(submission)
    return submission


def find_all_models(submission: Submission) -> None:
    """Refuses a model that is not known, or not here."""
    header = submission.header
    for model in (*header.models, *(name for variant in header.variants for name in variant.vectors_of)):
        model_fingerprint(model)


def read_file(path: Path) -> Submission:
    """The same, whether its models are here or not."""
    try:
        with path.open("rb") as file:
            source = file.read(FILE_BYTES + 1)
    except OSError as wrong:
        raise Refusal(f"{path}: the file cannot be read ({wrong.strerror}).") from None
    return Submission(path.name, source, read_header(source, path.name))


class Folder(NamedTuple):
    """The submissions of a folder, by name: those that can be asked here, and which model the others lack."""

    here: list[Submission]
    absent: dict[str, ModelAbsent]


def read_folder(folder: Path) -> list[Submission]:
    """Every submission of a folder that can be asked here, by name."""
    return look_through(folder).here


def look_through(folder: Path) -> Folder:
    """Every submission of a folder; two files may not claim one name."""
    owner: dict[str, str] = {}
    here, absent = [], {}
    for submission in (read_file(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"):
        name = submission.header.name
        if name in owner:
            raise Refusal(f'{submission.filename} and {owner[name]} both call themselves "{name}"; rename one.')
        owner[name] = submission.filename
        try:
            find_all_models(submission)
        except ModelAbsent as why:
            absent[name] = why
        else:
            here.append(submission)
    return Folder(sorted(here, key=lambda submission: submission.header.name), absent)


def choose_entries(wanted: Iterable[str], folder: Path) -> list[Entry]:
    """The entries meant by names (`energy`, `pr[k=5]`) and files; a family's name means all its variants."""
    known: dict[str, Submission] | None = None
    absent: dict[str, ModelAbsent] = {}
    chosen: dict[str, Entry] = {}
    for word in wanted:
        if word.endswith(".py") or "/" in word:
            submission, variant = read_submission(Path(word)), None
        else:
            if known is None:
                here, absent = look_through(folder)
                known = {submission.header.name: submission for submission in here}
            family, _, rest = word.partition("[")
            if family in absent:
                raise absent[family]
            if family not in known:
                raise Refusal(f'There is no submission "{word}" in {folder.name}/.{did_you_mean(family, known)} '
                              "Name one of them, or a file (my_metric.py).")
            submission, variant = known[family], rest.removesuffix("]") or None
        entries = [e for e in submission.entries if variant is None or e.variant == variant]
        if not entries:
            raise Refusal(f'"{family}" has no variant "{variant}"; it has '
                          f"{', '.join(v.name for v in submission.header.variants) or 'none'}.")
        for entry in entries:
            if chosen.setdefault(entry.name, entry).digest != entry.digest:
                raise Refusal(f'Two different submissions on this line are called "{entry.name}"; rename one.')
    return list(chosen.values())


def unmet_dependencies(header: Header) -> list[str]:
    """The dependencies (and the Python bound) that the harness's own environment does not meet."""
    unmet = []
    if header.requires_python:
        try:
            bound = SpecifierSet(header.requires_python)
        except InvalidSpecifier:
            raise Refusal(f'{header.name}: `requires-python = "{header.requires_python}"` is not a version bound; '
                          'say for example ">=3.11".') from None
        if not bound.contains(".".join(map(str, sys.version_info[:3]))):
            unmet.append(f"Python {header.requires_python}")
    for line in header.dependencies:
        wanted = Requirement(line)
        try:
            met = wanted.specifier.contains(importlib.metadata.version(wanted.name), prereleases=True)
        except importlib.metadata.PackageNotFoundError:
            met = False
        if not met:
            unmet.append(line)
    return unmet
