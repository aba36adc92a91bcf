"""Select entries by name or file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import ModelNotFetched, TouchstoneError, did_you_mean
from harness.submission.submission import Entry, Submission, check_models, load_submission, parse_file


class ScannedFolder(NamedTuple):
    """The submissions of a folder, by name: those that can be asked here, and which model the others lack."""

    here: list[Submission]
    absent: dict[str, ModelNotFetched]


def load_available(folder: Path) -> list[Submission]:
    """Every submission of a folder that can be asked here, by name."""
    return scan_folder(folder).here


def scan_folder(folder: Path) -> ScannedFolder:
    """Every submission of a folder; two files may not claim one name."""
    owner: dict[str, str] = {}
    here, absent = [], {}
    for submission in (parse_file(path) for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"):
        name = submission.header.name
        if name in owner:
            raise TouchstoneError(f'{submission.filename} and {owner[name]} both call themselves "{name}"; rename one.')
        owner[name] = submission.filename
        try:
            check_models(submission)
        except ModelNotFetched as why:
            absent[name] = why
        else:
            here.append(submission)
    return ScannedFolder(sorted(here, key=lambda submission: submission.header.name), absent)


def select_entries(wanted: Iterable[str], folder: Path) -> list[Entry]:
    """The entries meant by names (`energy`, `pr[k=5]`) and files; a family's name means all its variants."""
    known: dict[str, Submission] | None = None
    absent: dict[str, ModelNotFetched] = {}
    chosen: dict[str, Entry] = {}
    for word in wanted:
        if word.endswith(".py") or "/" in word:
            submission, variant = load_submission(Path(word)), None
        else:
            if known is None:
                here, absent = scan_folder(folder)
                known = {submission.header.name: submission for submission in here}
            family, _, rest = word.partition("[")
            if family in absent:
                raise absent[family]
            if family not in known:
                raise TouchstoneError(f'There is no submission "{word}" in {folder.name}/.{did_you_mean(family, known)} '
                                      "Name one of them, or a file (my_metric.py).")
            submission, variant = known[family], rest.removesuffix("]") or None
        entries = [e for e in submission.entries if variant is None or e.variant == variant]
        if not entries:
            raise TouchstoneError(f'"{family}" has no variant "{variant}"; it has '
                                  f"{', '.join(v.name for v in submission.header.variants) or 'none'}.")
        for entry in entries:
            if chosen.setdefault(entry.name, entry).digest != entry.digest:
                raise TouchstoneError(f'Two different submissions on this line are called "{entry.name}"; rename one.')
    return list(chosen.values())
