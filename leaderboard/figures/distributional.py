"""Figures of Ackerman, Kour and Farchi 2023, of fine-tuning and of faults.

After Ackerman, Kour and Farchi: standardised distance by separation with the prototypes (figures 8 and 10), its densities (11),
the two deviations of every metric (12), the components of precision-recall and density-coverage (13), local perturbation
(2 to 4).  After Kour et al. 2022: the distance by the step of a generator (5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.models.vector_cache import VectorCache
from leaderboard.figures.observations import missing_results, observations_by_stratum, task_score
from leaderboard.figures.precision_recall import Components, components, euclidean
from leaderboard.figures.style import GREY, add_mean_curve, apply_layout, colour_of, grid_position, make_facets
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.scores import Scored
from tasks.common.corpus_faults import CorpusFault
from tasks.corpus.diagnostics import Diagnostics
from tasks.corpus.distributionality import (
    GRID,
    Distributionality,
    ParaphraseDistances,
    kernel_density,
    list_separations,
    standardize,
)
from tasks.corpus.local_perturbation import DELTAS, DIMENSIONS, SHARES

DENSITY_LEVELS = (1, 5, 10, 14)             # separations l, as far as the suite has them
NEIGHBOURS = (1, 2, 3, 5, 10)               # k of figure 13
Distances = Callable[[ParaphraseDistances], np.ndarray]
PROTOTYPES: Mapping[str, tuple[str, Distances]] = {         # stored as float32; densities need float64
    "ENERGY": ("#212529", lambda sweep: sweep.energy.astype(float)), "AHD": ("#adb5bd", lambda sweep: sweep.ahd.astype(float))}


def metric_distances(sweep: ParaphraseDistances) -> np.ndarray:
    """Return the distances of the metric."""
    return sweep.scale.as_distance(np.array(sweep.answers))


def standardised_sweeps(sweeps: Sequence[ParaphraseDistances], distances: Distances) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return standardised distances and separations of each redraw, without redraws in which all distances are equal."""
    return [(z, list_separations(sweep)) for sweep in sweeps if (z := standardize(distances(sweep))) is not None]


def means_by_separation(sweeps: Sequence[ParaphraseDistances], distances: Distances) -> np.ndarray:
    """Return redraws x separations: the mean standardised distance at each separation."""
    return np.array([[z[separation == level].mean() for level in np.unique(separation)]
                     for z, separation in standardised_sweeps(sweeps, distances)])


def draw_distributionality(scored: Sequence[Scored]) -> go.Figure:
    """Draw standardised distance by separation with both prototypes, one facet per source."""
    facets = observations_by_stratum(scored, Distributionality.name)
    figure = make_facets([" · ".join(stratum) for stratum in facets])
    for facet, entries in enumerate(facets.values()):
        position, any_sweeps = grid_position(facet), next(iter(entries.values()))
        levels = list(range(1, any_sweeps[0].k + 1))
        for name, (colour, distances) in PROTOTYPES.items():
            add_mean_curve(figure, levels, means_by_separation(any_sweeps, distances), name, colour, position, facet == 0, "dash")
        for number, (name, sweeps) in enumerate(entries.items()):
            rows = means_by_separation(sweeps, metric_distances)
            if len(rows):
                add_mean_curve(figure, levels, rows, name, colour_of(number), position, facet == 0)
    figure.update_xaxes(title_text="separation l")
    figure.update_yaxes(title_text="distance, standardised", col=1)
    return apply_layout(figure, "Distance by separation of paraphrase corpora")


def draw_densities(scored: Sequence[Scored]) -> go.Figure:
    """Draw densities of standardised distances at some separations, all redraws pooled, with both prototypes."""
    stratum, entries = next(iter(observations_by_stratum(scored, Distributionality.name).items()))
    any_sweeps = next(iter(entries.values()))
    largest = any_sweeps[0].k
    levels = [*(level for level in DENSITY_LEVELS if level < largest), largest]
    figure = make_facets([f"{' · '.join(stratum)}, l = {level}" for level in levels], columns=2)
    x = GRID[np.abs(GRID) <= 4][::10]

    def add_densities(sweeps: Sequence[ParaphraseDistances], distances: Distances, name: str, line: Mapping[str, str]) -> None:
        pooled = standardised_sweeps(sweeps, distances)
        for number, level in enumerate(levels if pooled else ()):
            values = np.concatenate([z[separation == level] for z, separation in pooled])
            figure.add_scatter(x=x, y=kernel_density(values)[np.abs(GRID) <= 4][::10], mode="lines", name=name, legendgroup=name,
                               line=line, showlegend=number == 0, **grid_position(number, 2))
    for name, (colour, distances) in PROTOTYPES.items():
        add_densities(any_sweeps, distances, name, {"color": colour, "dash": "dash"})
    for number, (name, sweeps) in enumerate(entries.items()):
        add_densities(sweeps, metric_distances, name, {"color": colour_of(number)})
    figure.update_xaxes(title_text="distance, standardised", row=-(-len(levels) // 2))
    return apply_layout(figure, "Densities of distances by separation")


def draw_deviations(scored: Sequence[Scored]) -> go.Figure:
    """Draw the deviation from ENERGY against that from AHD, with 95% intervals; below the diagonal ENERGY is nearer."""
    figure, largest = go.Figure(), 0.0
    for number, entry in enumerate(scored):
        measures = task_score(entry, Distributionality.name).measures
        if "deviation_energy" not in measures:
            continue                        # unknown if all distances are equal
        x, y = measures["deviation_ahd"], measures["deviation_energy"]
        largest = max(largest, x.value, y.value)
        figure.add_scatter(x=[x.value], y=[y.value], mode="markers+text", text=[entry.name], textposition="top center",
                           name=entry.name, error_x=error_bar(x), error_y=error_bar(y),
                           marker_color=colour_of(number), showlegend=False)
    if not figure.data:
        raise TouchstoneError("The store has no deviations from the prototypes for any of these metrics. Run the task "
                              "distributionality for them first.")
    figure.add_scatter(x=[0, 1.1 * largest], y=[0, 1.1 * largest], mode="lines", line={"color": GREY, "dash": "dot"},
                       showlegend=False)
    figure.update_xaxes(title_text="deviation from AHD")
    figure.update_yaxes(title_text="deviation from ENERGY")
    return apply_layout(figure, "Deviations from the prototypes")


def error_bar(estimate: Estimate) -> dict[str, object]:
    """Return the error bar of an estimate's interval; none if there is no interval."""
    if estimate.low is None or estimate.high is None:
        return {}
    above, below = estimate.high - estimate.value, estimate.value - estimate.low
    return {"type": "data", "symmetric": False, "array": [above], "arrayminus": [below]}


def draw_perturbation(scored: Sequence[Scored]) -> go.Figure:
    """Draw d over its largest mean by shift of neighbours (delta), by their share (p) and by dimensions (q)."""
    entries = next(iter(observations_by_stratum(scored, "local_perturbation").values()))
    sweeps: tuple[tuple[str, Sequence[float], Callable[[Any], tuple[float, ...]]], ...] = (
        ("delta, p = 0.1", DELTAS, lambda observation: observation.by_delta),
        ("p, delta = 3", SHARES, lambda observation: observation.by_share),
        ("q", DIMENSIONS, lambda observation: observation.by_dimension))
    figure = make_facets([title for title, _, _ in sweeps])
    for facet, (_, x, answers) in enumerate(sweeps):
        for number, (name, observations) in enumerate(entries.items()):
            rows = np.array([observation.scale.as_distance(np.array(answers(observation))) for observation in observations])
            largest = float(np.abs(rows.mean(axis=0)).max())
            add_mean_curve(figure, x, rows / largest if largest > 0 else rows, name, colour_of(number), grid_position(facet),
                           facet == 0)
    figure.update_yaxes(title_text="distance / its largest mean", col=1)
    return apply_layout(figure, "Local perturbation")


def draw_fine_tuning(scored: Sequence[Scored]) -> go.Figure:
    """Draw (d_i - mean self-distance)/(d_1 - mean self-distance), and the type-token ratio of the generated texts."""
    facets = observations_by_stratum(scored, "fine_tuning")
    figure = make_facets([title for stratum in facets for title in (" · ".join(stratum), "type-token ratio")], columns=2)
    for row, (stratum, entries) in enumerate(facets.items(), start=1):
        for number, (name, observations) in enumerate(entries.items()):
            scale = observations[0].scale.as_distance
            distances = scale(np.array([observation.distances for observation in observations]))
            floor = float(np.mean([scale(np.array(observation.fault_free)) for observation in observations]))
            first_step = float(distances[:, 0].mean()) - floor
            steps = list(range(1, distances.shape[1] + 1))
            if first_step > 0:
                add_mean_curve(figure, steps, (distances - floor) / first_step, name, colour_of(number), {"row": row, "col": 1},
                               row == 1)
            else:
                figure.add_scatter(x=[None], y=[None], mode="lines", line_color=colour_of(number), row=row, col=1,
                                   name=f"{name}: not drawn for {' · '.join(stratum)}, its first distance is not above the "
                                        "self-distance")
            if number == 0:
                ratios = np.array([observation.type_token_ratios for observation in observations])
                add_mean_curve(figure, steps, ratios, "generated", GREY, {"row": row, "col": 2}, row == 1)
                figure.add_hline(y=float(np.mean([observation.of_sample for observation in observations])), line_dash="dot",
                                 row=row, col=2)
    figure.add_hline(y=0, line_dash="dot", line_color=GREY, col=1)
    figure.update_xaxes(title_text="step of the generator")
    return apply_layout(figure, "Distance by step of a generator (0: distance between samples of the source)")


def draw_faults(scored: Sequence[Scored]) -> go.Figure:
    """Draw a heat map of the sensitivity of each metric to each fault."""
    rows = []
    for entry in scored:
        score = task_score(entry, Diagnostics.name)
        if not score.observed:
            raise missing_results(entry, Diagnostics.name)
        measures = score.measures
        rows.append([measures[fault.value].value if fault.value in measures else None for fault in CorpusFault])
    figure = go.Figure(go.Heatmap(
        z=rows, x=[fault.value.replace("_", " ") for fault in CorpusFault], y=[entry.name for entry in scored], zmin=-1, zmax=1,
        colorscale="RdBu", texttemplate="%{z:.2f}", hovertemplate="%{y}, %{x}: %{z:.2f}<extra></extra>"))
    return apply_layout(figure, "Sensitivity to faults (1: detected, 0: ignored, -1: the distance falls)")


def component_curves(units: Sequence[Unit], task: Distributionality, cache: VectorCache) -> dict[int, np.ndarray]:
    """Return, for each k, redraws x separations x components: means over the pairs at each separation."""
    curves: dict[int, list[np.ndarray]] = {k: [] for k in NEIGHBOURS}
    for unit in units:
        sample, largest = task.draw_sample(unit), unit.parameters["K"]
        distances = euclidean(cache.vectors(sample.texts))
        pairs = sample.pairs(largest)
        separation = np.array([j - i for i, j in pairs])
        for k in NEIGHBOURS:
            values = np.array([components(distances, sample.corpora[i], sample.corpora[j], k) for i, j in pairs])
            values = np.minimum(values, 1)          # density may exceed 1; the authors clip it
            curves[k].append(np.array([values[separation == level].mean(axis=0) for level in range(1, largest + 1)]))
    return {k: np.array(rows) for k, rows in curves.items()}


def draw_components(curves: Mapping[int, np.ndarray]) -> go.Figure:
    """Draw precision, recall, density and coverage by separation, one line per k."""
    figure = make_facets(list(Components._fields), columns=2)
    for facet in range(len(Components._fields)):
        for number, (k, rows) in enumerate(curves.items()):
            add_mean_curve(figure, list(range(1, rows.shape[1] + 1)), rows[:, :, facet], f"k = {k}", colour_of(number),
                           grid_position(facet, 2), facet == 0)
    figure.update_xaxes(title_text="separation l", row=2)
    return apply_layout(figure, "Components of precision-recall and density-coverage (density at most 1)")
