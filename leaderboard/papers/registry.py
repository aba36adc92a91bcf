"""The reproduction of every paper, by its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import default_store
from harness.base.progress import NoProgress, Progress
from leaderboard.papers import ackerman2023, kour2022, raisa2025, usmb, yamshchikov2020, zwerdling2021
from leaderboard.papers.base import Options, Paper, Reproduction

REPRODUCTIONS: Mapping[Paper, Callable[[Options], Reproduction]] = {
    Paper.kour2022: kour2022.reproduce, Paper.usmb: usmb.reproduce, Paper.ackerman: ackerman2023.reproduce,
    Paper.zwerdling2021: zwerdling2021.reproduce, Paper.yamshchikov2020: yamshchikov2020.reproduce,
    Paper.raisa2025: raisa2025.reproduce}
WITH_FIGURES = (Paper.ackerman, Paper.zwerdling2021)


def reproduce(paper: str, store: Path | str | None = None, *, only: Sequence[str] = (), repetitions: int = 25, jobs: int = 1,
              with_figures: bool = False, metrics: Sequence[str] = (), progress: Progress | None = None) -> Reproduction:
    """Run the test units that the store lacks for the tables of a paper, and return the tables.

    Args:
        paper: Key of the paper, such as "kour2022".
        store: File or address of the results store; the default store if omitted.
        only: Tasks to which the reproduction is restricted; corpora for zwerdling2021, checks for raisa2025.
        repetitions: Repetitions of known similarity in kour2022.
        jobs: Number of metrics that run in parallel.
        with_figures: Whether to draw the figures of ackerman or zwerdling2021.
        metrics: Metrics to which the runs of yamshchikov2020 are restricted; others are shown if the store has their results.
        progress: Receiver of progress messages; silent if omitted.
    """
    if paper not in REPRODUCTIONS:
        raise TouchstoneError(f'There is no reproduction of "{paper}".{did_you_mean(paper, Paper)} Available: '
                              f'{", ".join(Paper)}.')
    if with_figures and paper not in WITH_FIGURES:
        raise TouchstoneError(f"Figures are available for {' and '.join(WITH_FIGURES)}, not for {paper}. Use `touchstone figure` "
                              "to draw stored results.")
    if metrics and paper != Paper.yamshchikov2020:
        raise TouchstoneError(f"Metrics can be selected for yamshchikov2020, not for {paper}. Use `--only` to select tasks.")
    options = Options(str(store or default_store()), progress or NoProgress(), only, repetitions, jobs, with_figures, metrics)
    return REPRODUCTIONS[Paper(paper)](options)
