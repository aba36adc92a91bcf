"""Figures of Kour et al. 2022 and of USMB.

Numbers as in Kour et al. 2022: distance by separation (figure 2), convergence by size and imbalance (3), measures as a radar
chart (4) and as boxes (6).  Of USMB: sensitivity by size and position (1, 2), scores of the tasks (3 to 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from scipy import stats

from harness.base.errors import TouchstoneError
from leaderboard.figures.observations import curves_by_title, missing_results, observations_by_stratum, task_score
from leaderboard.figures.style import GREY, add_band, apply_layout, colour_of, grid_position, make_facets
from leaderboard.scoring.scores import Scored
from tasks.common.mixtures import separated_pairs
from tasks.common.transformations import POSITIONS
from tasks.corpus.known_similarity import KnownSimilarity, MixtureDistances
from tasks.text.sensitivity import CONDITIONS, SIZES, condition_name

RADAR = {"weighted accuracy": "weighted_accuracy", "accuracy": "accuracy", "monotonicity": "monotonicity",
         "separability": "signed_separability", "linearity": "signed_linearity"}
CONTRASTS = {"size": "size_contrast", "imbalance": "imbalance_contrast"}


def draw_separation(scored: Sequence[Scored]) -> go.Figure:
    """Draw standardised distance by separation, with a least-squares line through all repetitions and its 95% band."""
    facets = observations_by_stratum(scored, KnownSimilarity.name)
    points = curves_by_title(scored, KnownSimilarity.name)
    titles = [" · ".join(stratum) for stratum in facets]
    figure = make_facets(titles)
    for facet, (title, entries) in enumerate(zip(titles, facets.values(), strict=True)):
        position = grid_position(facet)
        for number, (name, observations) in enumerate(entries.items()):
            levels, means = (np.array(values) for values in list(zip(*points[title][name], strict=True))[:2])
            line, low, high = fit_line(*standardise(observations), levels)
            colour = colour_of(number)
            add_band(figure, levels.tolist(), low.tolist(), high.tolist(), colour, name, position)
            figure.add_scatter(x=levels, y=line, mode="lines", line_color=colour, name=name, legendgroup=name,
                               showlegend=facet == 0, hoverinfo="skip", **position)
            figure.add_scatter(x=levels, y=means, mode="markers", marker_color=colour, name=name, legendgroup=name,
                               showlegend=False, hovertemplate=f"{name}<br>separation %{{x}}<br>%{{y:.2f}}<extra></extra>",
                               **position)
    figure.update_xaxes(title_text="separation", dtick=1)
    figure.update_yaxes(title_text="distance, standardised", col=1)
    return apply_layout(figure, "Distance by separation")


def draw_convergence(scored: Sequence[Scored]) -> go.Figure:
    """Draw distance over d* by sample size and by imbalance, with 95% bands over repetitions."""
    curves = curves_by_title(scored, "convergence")
    figure = make_facets(list(curves), columns=2)
    numbers = {entry.name: number for number, entry in enumerate(scored)}
    for facet, entries in enumerate(curves.values()):
        position = grid_position(facet, columns=2)
        for name, points in entries.items():
            colour = colour_of(numbers[name])
            sizes, means, low, high = map(list, zip(*points, strict=True))
            if low[0] is not None:
                add_band(figure, sizes, low, high, colour, name, position)
            figure.add_scatter(x=sizes, y=means, mode="lines+markers", line_color=colour, name=name, legendgroup=name,
                               showlegend=facet == 0, hovertemplate=f"{name}<br>%{{x}} texts<br>%{{y:.3f}} d*<extra></extra>",
                               **position)
    figure.add_hline(y=1, line_dash="dot", line_color=GREY)
    figure.update_xaxes(title_text="texts in the first corpus")
    figure.update_yaxes(title_text="distance / d*", col=1)
    return apply_layout(figure, "Distance by sample size and imbalance")


def draw_radar(scored: Sequence[Scored]) -> go.Figure:
    """Draw the measures of known similarity and the contrasts of size and imbalance, one line per metric."""
    figure = go.Figure()
    for number, entry in enumerate(scored):
        values = {**measures_of(entry, KnownSimilarity.name, RADAR), **measures_of(entry, "convergence", CONTRASTS)}
        if not values:
            raise TouchstoneError(f'The store has no measures of "{entry.name}" for a radar chart.')
        closed = [*values, next(iter(values))]
        figure.add_scatterpolar(theta=closed, r=[values[name] for name in closed], name=entry.name, line_color=colour_of(number),
                                opacity=0.7, fill="toself" if len(scored) <= 2 else "none")
    figure.update_layout(polar={"radialaxis": {"range": [0, 1], "tickformat": ".1f"}})
    return apply_layout(figure, "Measures (values below 0 are drawn as 0)")


def draw_boxes(scored: Sequence[Scored]) -> go.Figure:
    """Draw the measures of known similarity over repetitions."""
    figure = go.Figure()
    for number, entry in enumerate(scored):
        observations = task_score(entry, KnownSimilarity.name).observed
        if not observations:
            raise missing_results(entry, KnownSimilarity.name)
        task = entry.tasks[KnownSimilarity.name].task
        units = [unit for unit in entry.suite.units(task) if unit.id in observations]
        values = [measures.values for measures in task.measure_all(units, [observations[unit.id] for unit in units])]
        figure.add_box(x=[label for _ in values for label in RADAR], y=[row[name] for row in values for name in RADAR.values()],
                       name=entry.name, marker_color=colour_of(number))
    figure.update_layout(boxmode="group")
    return apply_layout(figure, "Measures over repetitions")


def draw_sensitivity(scored: Sequence[Scored]) -> go.Figure:
    """Draw mean similarity by the share of changed tokens, one facet per kind and position; the ideal is dotted."""
    facets = [(kind, position) for kind in SIZES for position in POSITIONS]
    figure = make_facets([f"{kind}, {position}" for kind, position in facets], columns=len(POSITIONS))
    for number, facet in enumerate(facets):
        conditions = [condition for condition in CONDITIONS if (condition.kind, condition.position) == facet]
        sizes = [condition.size for condition in conditions]
        cell = {"showlegend": number == 0, **grid_position(number, len(POSITIONS))}
        figure.add_scatter(x=sizes, y=[condition.ideal for condition in conditions], mode="lines", line_dash="dot",
                           line_color=GREY, name="ideal", legendgroup="ideal", **cell)
        for entry_number, entry in enumerate(scored):
            measures = task_score(entry, "sensitivity").measures
            if not measures:
                raise missing_results(entry, "sensitivity")
            figure.add_scatter(
                x=sizes,
                y=[measures[condition_name(condition)].value for condition in conditions],
                mode="lines+markers",
                line_color=colour_of(entry_number),
                name=entry.name,
                legendgroup=entry.name,
                **cell,
            )
    figure.update_xaxes(title_text="share of the tokens", tickformat=".0%", row=len(SIZES))
    figure.update_yaxes(title_text="similarity", range=[0, 1], col=1)
    return apply_layout(figure, "Similarity after insertion, deletion and replacement of tokens")


def draw_tasks(scored: Sequence[Scored]) -> go.Figure:
    """Draw the scores of the text track's tasks with confidence intervals and chance, in groups of bars."""
    figure = go.Figure()
    ranked = [score for score in scored[0].in_track("text").ranked_tasks if score.score is not None]
    titles = [score.task.info.title for score in ranked]
    for number, entry in enumerate(scored):
        estimates = [task_score(entry, score.task.name).score for score in ranked]
        above, below = ([0.0 if estimate is None or (edge := getattr(estimate, side)) is None else abs(edge - estimate.value)
                         for estimate in estimates] for side in ("high", "low"))
        figure.add_bar(x=titles, y=[None if estimate is None else estimate.value for estimate in estimates], name=entry.name,
                       marker_color=colour_of(number),
                       error_y={"type": "data", "symmetric": False, "array": above, "arrayminus": below})
    figure.add_scatter(x=titles, y=[score.chance for score in ranked], mode="markers", name="chance",
                       marker={"symbol": "line-ew", "size": 60, "line": {"width": 2, "color": GREY}})
    figure.update_layout(barmode="group")
    return apply_layout(figure, "Tasks of the text track")


def measures_of(scored: Scored, task: str, names: Mapping[str, str]) -> dict[str, float]:
    """Return the available measures of a task, at least 0, by their labels in the figure."""
    measures = scored.tasks[task].measures if task in scored.tasks else {}
    return {label: max(0.0, measures[name].value) for label, name in names.items() if name in measures}


def standardise(observations: Sequence[MixtureDistances]) -> tuple[np.ndarray, np.ndarray]:
    """Return the separations and the standardised distances of all repetitions."""
    separations = [j - i for observation in observations for i, j in separated_pairs(observation.k)]
    return np.array(separations), np.concatenate([KnownSimilarity().answers(observation) for observation in observations])


def fit_line(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least-squares line at some x, and the bounds of the 95% confidence interval of its mean there."""
    fit = stats.linregress(x, y)
    line = fit.intercept + fit.slope * at
    freedom = max(1, len(x) - 2)
    residual = np.sqrt(np.sum((y - fit.intercept - fit.slope * x) ** 2) / freedom)
    error = residual * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    margin = stats.t.ppf(0.975, freedom) * error
    return line, line - margin, line + margin
