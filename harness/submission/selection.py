"""Select entries by name or file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import ModelNotFetched, TouchstoneError, did_you_mean
from harness.submission.submission import Entry, Submission, check_models, load_submission, parse_file

SUFFIXES = (".py", ".pl", ".js", ".mjs", ".rb", ".java")      # of submissions; a file in another language is named by its path


class ScannedFolder(NamedTuple):
    """The submissions of a folder: the available ones, and the missing model of each of the others."""

    here: list[Submission]
    absent: dict[str, ModelNotFetched]


def parse_folder(folder: Path) -> list[Submission]:
    """Return all submissions of a folder after validating their headers only."""
    return [parse_file(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.name != "__init__.py"]


def load_available(folder: Path) -> list[Submission]:
    """Return all submissions of a folder whose models are available, sorted by name."""
    return scan_folder(folder).here


def scan_folder(folder: Path) -> ScannedFolder:
    """Parse all submissions of a folder; raise if two files claim the same name."""
    owner: dict[str, str] = {}
    here, absent = [], {}
    for submission in parse_folder(folder):
        name = submission.header.name
        if name in owner:
            raise TouchstoneError(f'{submission.filename} and {owner[name]} both have the name "{name}"; rename one.')
        owner[name] = submission.filename
        try:
            check_models(submission)
        except ModelNotFetched as why:
            absent[name] = why
        else:
            here.append(submission)
    return ScannedFolder(sorted(here, key=lambda submission: submission.header.name), absent)


def select_entries(wanted: Iterable[str], folder: Path) -> list[Entry]:
    """Return the entries that names (`energy`, `pr[k=5]`) and files select; a family's name selects all its variants."""
    submissions: dict[str, Submission] | None = None
    absent: dict[str, ModelNotFetched] = {}
    chosen: dict[str, Entry] = {}
    for word in wanted:
        if word.endswith(SUFFIXES) or "/" in word:
            submission, variant = load_submission(Path(word)), None
        else:
            if submissions is None:
                here, absent = scan_folder(folder)
                submissions = {submission.header.name: submission for submission in here}
            family, _, rest = word.partition("[")
            if family in absent:
                raise absent[family]
            if family not in submissions:
                raise TouchstoneError(f'There is no submission "{word}" in {folder.name}/.{did_you_mean(family, submissions)} '
                                      "Use the name of a submission, or the path of a file such as my_metric.py.")
            submission, variant = submissions[family], rest.removesuffix("]") or None
        entries = [e for e in submission.entries if variant is None or e.variant == variant]
        if not entries:
            raise TouchstoneError(f'"{family}" has no variant "{variant}". Its variants: '
                                  f"{', '.join(v.name for v in submission.header.variants) or 'none'}.")
        for entry in entries:
            if chosen.setdefault(entry.name, entry).digest != entry.digest:
                raise TouchstoneError(f'Two different submissions have the name "{entry.name}"; rename one.')
    return list(chosen.values())
