"""Reports on data of the user, for a server on the user's machine: the reports of `touchstone choose`."""

from __future__ import annotations

from markupsafe import Markup

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.board.rendering import render
from leaderboard.own_data.answers import select_candidates
from leaderboard.own_data.corpora import choose_by_corpora, report_on_corpora
from leaderboard.own_data.measure import read_texts
from leaderboard.own_data.pairs.choice import choose_by_pairs
from leaderboard.own_data.pairs.data import read_judged_pairs
from leaderboard.own_data.pairs.report import report_on_pairs
from leaderboard.own_data.report import Report
from leaderboard.own_data.texts import choose_by_texts, report_on_texts


def report_pairs(progress: Progress, source: str, single: bool = False) -> Report:
    """Return the report on judged pairs, a file or a dataset."""
    return report_on_pairs(choose_by_pairs(read_judged_pairs(check_source(source)), select_candidates("text", [], progress), progress,
                                           combine=not single))


def report_corpora(progress: Progress, a: str, b: str, like: str = "") -> Report:
    """Return the report on two corpora, and perhaps a third one that one of them should be like."""
    sources = [check_source(source) for source in (a, b, *([like] if like.strip() else []))]
    read = [read_texts(source) for source in sources]
    return report_on_corpora(choose_by_corpora(read[:2], sources, select_candidates("corpus", [], progress), progress,
                                               like=read[2] if like.strip() else None))


def report_texts(progress: Progress, source: str) -> Report:
    """Return the report on texts without judgements."""
    return report_on_texts(choose_by_texts(read_texts(check_source(source)), source.strip(), select_candidates("text", [], progress), progress))


def check_source(source: str) -> str:
    """Return the name of a file, folder or dataset without spaces around it; raise if there is none."""
    if not source.strip():
        raise TouchstoneError("Name a file, a folder or a dataset.")
    return source.strip()


def render_report(report: Report) -> Markup:
    """Return a report as a part of the page."""
    return render("own_report.html", report=report)
