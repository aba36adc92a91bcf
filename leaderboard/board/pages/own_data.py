"""Reports on data of the user, for a server on the user's machine: the reports of `touchstone choose`."""

from __future__ import annotations

from markupsafe import Markup

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.board.rendering import render
from leaderboard.own_data.choose import choose
from leaderboard.own_data.report import Report


def report_pairs(progress: Progress, source: str, single: bool = False) -> Report:
    """Return the report on judged pairs, a file or a dataset."""
    return choose(pairs=check_source(source), combine=not single, progress=progress).report


def report_corpora(progress: Progress, a: str, b: str, like: str = "") -> Report:
    """Return the report on two corpora, and perhaps a third one that one of them should be like."""
    return choose(corpora=[check_source(a), check_source(b)], like=like.strip() or None, progress=progress).report


def report_texts(progress: Progress, source: str) -> Report:
    """Return the report on texts without judgements."""
    return choose(texts=check_source(source), progress=progress).report


def check_source(source: str) -> str:
    """Return the name of a file, folder or dataset without spaces around it; raise if there is none."""
    if not source.strip():
        raise TouchstoneError("Name a file, a folder or a dataset.")
    return source.strip()


def render_report(report: Report) -> Markup:
    """Return a report as a part of the page."""
    return render("own_report.html", report=report)
