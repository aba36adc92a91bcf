"""What is refused without executing anything: wrong files, invalid headers, names that are taken."""

from __future__ import annotations

from typing import NamedTuple

from harness.base.errors import TouchstoneError, format_bytes
from harness.base.paths import SUBMISSIONS
from harness.submission.header import read_header
from harness.submission.selection import parse_folder
from harness.submission.submission import Submission
from leaderboard.workflows.check import check_name

LONGEST_NAME = 100  # characters of a file name


class Screening(NamedTuple):
    """The name of a metric, or why its file is refused."""

    name: str
    problem: str | None = None


def screen(filename: str, source: bytes, most_bytes: int) -> Screening:
    """Read the header of an uploaded file."""
    try:
        if len(source) > most_bytes:
            raise TouchstoneError(
                f"The file has {format_bytes(len(source))}; a submission may have at most {format_bytes(most_bytes)}."
            )
        if not source.strip():
            raise TouchstoneError("The file is empty. Upload one Python file with a header; the page Submit has an example.")
        if (
            not filename.endswith(".py")
            or len(filename) > LONGEST_NAME
            or not filename.isprintable()
            or "/" in filename
            or "\\" in filename
        ):
            raise TouchstoneError("Upload one Python file; its name must end with .py and contain no folder.")
        if b"\0" in source:
            raise TouchstoneError("The file is not text. Upload the Python file itself, not an archive.")
        header = read_header(source, filename)
        submission = Submission(filename, source, header)
        check_name(submission)
        if any(other.source == source for other in parse_folder(SUBMISSIONS)):
            raise TouchstoneError(f"This file is already published; the page of {header.name} shows its scores.")
        return Screening(header.name)
    except TouchstoneError as refusal:
        return Screening("", str(refusal))
