"""Figures of Kour et al. 2022 and of USMB.

Kour et al. 2022: distance by separation, and by sample size and imbalance (figure 2), measures as a radar chart (4) and as
boxes (6). USMB: sensitivity by size and position (1, 2), scores of the tasks (3 to 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
import scipy
from plotly.subplots import make_subplots

from harness.base.errors import TouchstoneError
from leaderboard.figures.observations import (
    curves_by_title,
    measures_by_stratum,
    missing_results,
    observations_by_stratum,
    select_strata,
    task_score,
)
from leaderboard.figures.style import COLUMNS, GREY, HEIGHT, add_band, apply_layout, colour_of, grid_position, make_facets
from leaderboard.scoring.scores import Scored
from tasks.common.mixtures import separated_pairs
from tasks.common.transformations import POSITIONS
from tasks.corpus.convergence import Convergence
from tasks.corpus.known_similarity import KnownSimilarity, MixtureDistances
from tasks.text.sensitivity import CONDITIONS, SIZES, condition_name

RADAR = {"weighted accuracy": "weighted_accuracy", "accuracy": "accuracy", "monotonicity": "monotonicity",
         "separability": "signed_separability", "linearity": "signed_linearity"}
ROBUSTNESS = {"S (size)": "size_robustness", "I (imbalance)": "imbalance_robustness"}


def draw_separation(scored: Sequence[Scored], pair: str | None = None, k: int | None = None) -> go.Figure:
    """Draw the distance of every pair of corpora by separation, with means, a least-squares line and its 95% band.

    Distances are raw if there is one metric, else standardised within each repetition, because scales differ.
    """
    facets = observations_by_stratum(scored, KnownSimilarity.name)
    strata = select_strata(facets, pair, k)
    figure = make_facets([" · ".join(stratum) for stratum in strata])
    for facet, stratum in enumerate(strata):
        position = grid_position(facet)
        for number, (name, observations) in enumerate(facets[stratum].items()):
            separations, distances = distances_of(observations, standardised=len(scored) > 1)
            levels = np.unique(separations)
            means = np.array([distances[separations == level].mean() for level in levels])
            line, low, high = fit_line(separations, distances, levels)
            colour = colour_of(number)
            shift = 0.5 * (number + 0.5) / len(scored) - 0.25           # metrics side by side
            figure.add_scatter(x=separations + shift, y=distances, mode="markers", marker={"color": colour, "size": 4},
                               opacity=0.45, name=f"{name}, all pairs", legendgroup=name, showlegend=False, hoverinfo="skip",
                               **position)
            add_band(figure, levels.tolist(), low.tolist(), high.tolist(), colour, name, position)
            figure.add_scatter(x=levels, y=line, mode="lines", line_color=colour, name=name, legendgroup=name,
                               showlegend=facet == 0, hoverinfo="skip", **position)
            figure.add_scatter(x=levels, y=means, mode="markers", marker_color=colour, name=name, legendgroup=name,
                               showlegend=False, hovertemplate=f"{name}<br>separation %{{x}}<br>%{{y:.2f}}<extra></extra>",
                               **position)
    figure.update_xaxes(title_text="separation", dtick=1)
    figure.update_yaxes(title_text="distance" if len(scored) == 1 else "distance, standardised", col=1)
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


def draw_radar(scored: Sequence[Scored], pair: str | None = None, k: int | None = None) -> go.Figure:
    """Draw the measures of known similarity and S and I as published, one panel per pair and k, one line per metric."""
    similarity = {entry.name: measures_by_stratum(entry, KnownSimilarity.name) for entry in scored}
    robustness = {entry.name: measures_by_stratum(entry, Convergence.name) if Convergence.name in entry.tasks else {}
                  for entry in scored}
    strata = select_strata(dict.fromkeys(stratum for by_stratum in similarity.values() for stratum in by_stratum), pair, k)
    columns = min(COLUMNS, len(strata))
    rows = -(-len(strata) // columns)
    figure = make_subplots(rows, columns, subplot_titles=[" · ".join(stratum) for stratum in strata],
                           specs=[[{"type": "polar"}] * columns for _ in range(rows)])
    for facet, stratum in enumerate(strata):
        for number, entry in enumerate(scored):
            values = {**mean_measures(similarity[entry.name].get(stratum, ()), RADAR),
                      **mean_measures(robustness[entry.name].get(stratum[:1], ()), ROBUSTNESS)}
            closed = [*values, *list(values)[:1]]
            figure.add_scatterpolar(theta=closed, r=[max(0.0, values[name]) for name in closed], name=entry.name,
                                    legendgroup=entry.name, showlegend=facet == 0, line_color=colour_of(number), opacity=0.7,
                                    fill="toself" if len(scored) <= 2 else "none", **grid_position(facet))
    figure.update_polars(radialaxis={"range": [0, 1], "tickformat": ".1f"})
    figure.update_layout(height=max(HEIGHT, 420 * rows)).update_annotations(font_size=13, yshift=24)
    return apply_layout(figure, "Measures (values below 0 are drawn as 0)")


def draw_boxes(scored: Sequence[Scored], pair: str | None = None, k: int | None = None) -> go.Figure:
    """Draw the measures of known similarity over repetitions as boxes with means, one panel per pair and k."""
    by_entry = {entry.name: measures_by_stratum(entry, KnownSimilarity.name) for entry in scored}
    strata = select_strata(dict.fromkeys(stratum for by_stratum in by_entry.values() for stratum in by_stratum), pair, k)
    figure = make_facets([" · ".join(stratum) for stratum in strata], columns=1)
    for facet, stratum in enumerate(strata):
        for number, (name, by_stratum) in enumerate(by_entry.items()):
            values = [(label, row[measure]) for row in by_stratum.get(stratum, ()) for label, measure in RADAR.items()]
            figure.add_box(x=[label for label, _ in values], y=[value for _, value in values], name=name, legendgroup=name,
                           marker_color=colour_of(number), boxmean=True, showlegend=facet == 0, **grid_position(facet, 1))
    figure.update_layout(boxmode="group")
    return apply_layout(figure, "Measures over repetitions (dashed: means)")


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


def draw_axes(scored: Sequence[Scored]) -> go.Figure:
    """Draw each entry by its values on the first two axes of the text track, with 95% confidence intervals."""
    axes = [axis for axis in scored[0].suite.axes if axis.track == "text"][:2]
    if len(axes) < 2:
        raise TouchstoneError(f"The suite {scored[0].suite.name} declares fewer than two axes of text metrics; use another "
                              "suite, such as core.")
    figure = go.Figure()
    for number, entry in enumerate(scored):
        x, y = (entry.in_track("text", axis.name).overall_estimate for axis in axes)
        if x is None or y is None:
            raise missing_results(entry, " and ".join(axis.name for axis in axes))
        errors = [{"type": "data", "symmetric": False, "array": [(one.high or one.value) - one.value],
                   "arrayminus": [one.value - (one.low if one.low is not None else one.value)]} for one in (x, y)]
        figure.add_scatter(x=[x.value], y=[y.value], mode="markers+text", text=[entry.name], textposition="top center",
                           name=entry.name, marker_color=colour_of(number), error_x=errors[0], error_y=errors[1],
                           showlegend=False)
    figure.update_xaxes(title_text=axes[0].title)
    figure.update_yaxes(title_text=axes[1].title)
    return apply_layout(figure, f"{axes[0].title} and {axes[1].title}")


def mean_measures(units: Iterable[Mapping[str, float | None]], names: Mapping[str, str]) -> dict[str, float]:
    """Return the means of measures over test units, by their labels in the figure, without measures that are unknown."""
    by_label = {label: [value for unit in units if (value := unit.get(name)) is not None] for label, name in names.items()}
    return {label: float(np.mean(values)) for label, values in by_label.items() if values}


def distances_of(observations: Sequence[MixtureDistances], standardised: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the separation and the distance of every pair of corpora in all repetitions."""
    separations = [j - i for observation in observations for i, j in separated_pairs(observation.k)]
    distances = [KnownSimilarity().answers(observation) if standardised else observation.scale.as_distance(
        np.mean([observation.forward, observation.backward], axis=0)) for observation in observations]
    return np.array(separations), np.concatenate(distances)


def fit_line(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least-squares line at some x, and the bounds of the 95% confidence interval of its mean there."""
    fit = scipy.stats.linregress(x, y)
    line = fit.intercept + fit.slope * at
    freedom = max(1, len(x) - 2)
    residual = np.sqrt(np.sum((y - fit.intercept - fit.slope * x) ** 2) / freedom)
    error = residual * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    margin = scipy.stats.t.ppf(0.975, freedom) * error
    return line, line - margin, line + margin
