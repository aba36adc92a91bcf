"""The page of a submission, and the public queue."""

from __future__ import annotations

from markupsafe import Markup

from leaderboard.board.rendering import render
from leaderboard.report.position import Position
from leaderboard.service.access import NOBODY, Sender, Service
from leaderboard.service.epochs.views import fold_families
from leaderboard.service.providers import Account
from leaderboard.service.views import SubmissionView, format_time, view_submission

SHOWN = 50                                  # of the queue, and of the published submissions


def render_submission(view: SubmissionView) -> Markup:
    """Return what happened to a submission, what it waits for, and its results."""
    progress = view.progress
    private = [(result, [(score, "–".join(map(str, dict.fromkeys(score.ranks)))) for score in result.scores]) for result in view.private]
    share = progress.done / progress.total if progress is not None and progress.total else None
    return render("submission.html", view=view, share=share, progress=progress, private=private, time=format_time,
                  duration=format_minutes, positions=[(position, *describe_ranks(position)) for position in view.results.positions] if view.results is not None else [])


def describe_ranks(position: Position) -> tuple[str, list[tuple[str, float | None, str]]]:
    """Return the rank range of a position as text, and for each task its title, the score and the rank range."""
    tasks = [(task.title, None if task.score is None else task.score.value, format_range(task.rank, task.rank_interval))
             for task in position.tasks]
    return format_range(position.rank, position.rank_interval), tasks


def format_range(rank: int | None, interval: tuple[int, int] | None) -> str:
    """Return a rank with its range."""
    if rank is None:
        return "not ranked"
    low, high = interval or (rank, rank)
    return f"{rank}" if low == high else f"{rank} ({low}–{high})"


def render_queue(service: Service) -> Markup:
    """Return the submissions that wait and run, and those that were published, without identifiers."""
    families = service.epochs.families()
    waiting, published = (fold_families(records, families)[:SHOWN] for records in (service.submissions.waiting(), service.submissions.published()))
    return render("queue.html", waiting=waiting, published=published, time=format_time)


def render_introduction(service: Service, site: str, reader: Account | None = None) -> Markup:
    """Return how to submit a metric to this server."""
    return render("submit_here.html", settings=service.submissions.settings, site=site.rstrip("/"), providers=service.providers, reader=reader,
                  epochs=service.epochs.list()[::-1])


def load_submission_page(service: Service, identifier: str, sender: Sender = NOBODY) -> Markup:
    """Return the page of a submission; raise UnknownSubmission if there is none. Without a sender it shows what everybody may see."""
    record = service.submissions.get(identifier[:80])
    return render_submission(view_submission(service.submissions, service.epochs, record, service.may_see_results(record, sender)))


def format_minutes(seconds: float) -> str:
    """Return a duration in words."""
    return "less than a minute" if seconds < 60 else f"about {seconds / 60:.0f} min" if seconds < 7200 else f"about {seconds / 3600:.0f} h"
