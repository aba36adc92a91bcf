"""The function that draws each kind of figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from harness.base.errors import TouchstoneError
from leaderboard.figures import corpus, distributional
from leaderboard.figures.kinds import FigureKind
from leaderboard.scoring.scores import Scored

FIGURES: Mapping[FigureKind, Callable[..., go.Figure]] = {
    FigureKind.separation: corpus.draw_separation, FigureKind.convergence: corpus.draw_convergence,
    FigureKind.radar: corpus.draw_radar, FigureKind.boxes: corpus.draw_boxes,
    FigureKind.distributionality: distributional.draw_distributionality, FigureKind.densities: distributional.draw_densities,
    FigureKind.deviations: distributional.draw_deviations, FigureKind.perturbation: distributional.draw_perturbation,
    FigureKind.fine_tuning: distributional.draw_fine_tuning, FigureKind.faults: distributional.draw_faults,
    FigureKind.sensitivity: corpus.draw_sensitivity, FigureKind.tasks: corpus.draw_tasks,
    FigureKind.axes: corpus.draw_axes}
BY_PAIR_AND_K = (FigureKind.separation, FigureKind.radar, FigureKind.boxes)


def draw_figure(kind: str, scored: Sequence[Scored], pair: str | None = None, k: int | None = None) -> go.Figure:
    """Draw a figure of the given entries; figures of known similarity may be limited to a pair of sources and a k."""
    if pair is None and k is None:
        return FIGURES[FigureKind(kind)](scored)
    if kind not in BY_PAIR_AND_K:
        raise TouchstoneError(f"The figure {kind} does not accept --pair and --k; {', '.join(BY_PAIR_AND_K)} do.")
    return FIGURES[FigureKind(kind)](scored, pair, k)
