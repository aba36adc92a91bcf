"""The function that draws each kind of figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from leaderboard.figures import corpus, distributional
from leaderboard.figures.kinds import FigureKind
from leaderboard.scoring.scores import Scored

FIGURES: Mapping[FigureKind, Callable[[Sequence[Scored]], go.Figure]] = {
    FigureKind.separation: corpus.draw_separation, FigureKind.convergence: corpus.draw_convergence,
    FigureKind.radar: corpus.draw_radar, FigureKind.boxes: corpus.draw_boxes,
    FigureKind.distributionality: distributional.draw_distributionality, FigureKind.densities: distributional.draw_densities,
    FigureKind.deviations: distributional.draw_deviations, FigureKind.perturbation: distributional.draw_perturbation,
    FigureKind.fine_tuning: distributional.draw_fine_tuning, FigureKind.faults: distributional.draw_faults,
    FigureKind.sensitivity: corpus.draw_sensitivity, FigureKind.tasks: corpus.draw_tasks}


def draw_figure(kind: str, scored: Sequence[Scored]) -> go.Figure:
    """Draw a figure of the given entries."""
    return FIGURES[FigureKind(kind)](scored)
