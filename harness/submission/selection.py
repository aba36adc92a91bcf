"""Select entries by name or file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import ModelAbsent, Refusal, did_you_mean
from harness.submission.submission import Entry, Submission, find_all_models, read_file, read_submission


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
