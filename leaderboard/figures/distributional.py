"""Figures of how corpus metrics see corpora, from stored answers: pure functions of scores that return plotly figures.

After Ackerman, Kour and Farchi: standardised distance against separation beside the prototypes (figures 8 and 10), its densities
(11), the two deviations of every metric (12), the components of precision-recall and density-coverage (13), local perturbation
(2 to 4).  After Kour et al. 2022: the distance as a generator learns (5).  And faults against metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.models.vector_cache import VectorCache
from leaderboard.figures.corpus import FACETS_ACROSS, PALETTE, band, by_stratum, dressed, faceted, half_width, score_of
from leaderboard.figures.precision_recall import Components, components, euclidean
from leaderboard.scoring.scores import Scored
from tasks.common.corpus_faults import CorpusFault
from tasks.corpus.diagnostics import Diagnostics
from tasks.corpus.distributionality import GRID, Distributionality, ParaphraseDistances, kernel_density, separations, standardize
from tasks.corpus.local_perturbation import DELTAS, DIMENSIONS, SHARES

PROTOTYPES = {"ENERGY": "#212529", "AHD": "#adb5bd"}
DENSITIES_AT = (1, 5, 10, 14)               # l, as far as there are so many
NEIGHBOURS = (1, 2, 3, 5, 10)               # k of figure 13


def curve(figure: go.Figure, x: Sequence[float], rows: np.ndarray, name: str, colour: str, position: Mapping[str, int],
          shown: bool, dash: str = "solid") -> None:
    """The mean of some rows with its 95% interval."""
    mean, reach = rows.mean(axis=0), half_width(rows)
    band(figure, list(x), mean - reach, mean + reach, colour, name, position)
    figure.add_scatter(x=list(x), y=mean, mode="lines+markers", line={"color": colour, "dash": dash}, name=name, legendgroup=name,
                       showlegend=shown, **position)


def place_of(number: int, across: int = FACETS_ACROSS) -> dict[str, int]:
    return {"row": number // across + 1, "col": number % across + 1}


def by_separation(seen: Sequence[ParaphraseDistances], of: Callable[[ParaphraseDistances], np.ndarray]) -> np.ndarray:
    """Redraws x separations: mean standardised distance at l; a redraw in which nothing differs is left out."""
    rows = []
    for one in seen:
        z, separation = standardize(of(one)), separations(one)
        if z is not None:
            rows.append([z[separation == level].mean() for level in np.unique(separation)])
    return np.array(rows)


def answered(seen: ParaphraseDistances) -> np.ndarray:
    return seen.scale.as_distance(np.array(seen.answers))


def distributionality(scored: Sequence[Scored]) -> go.Figure:
    """Standardised distance against l, beside both prototypes: one picture a source."""
    facets = by_stratum(scored, "distributionality")
    figure = faceted([" · ".join(stratum) for stratum in facets])
    for number, entries in enumerate(facets.values()):
        position, first = place_of(number), next(iter(entries.values()))
        levels = list(range(1, first[0].k + 1))
        for (name, colour), of in zip(PROTOTYPES.items(), (lambda one: one.energy, lambda one: one.ahd), strict=True):
            curve(figure, levels, by_separation(first, of), name, colour, position, number == 0, "dash")
        for place, (name, seen) in enumerate(entries.items()):
            rows = by_separation(seen, answered)
            if len(rows):
                curve(figure, levels, rows, name, PALETTE[place % len(PALETTE)], position, number == 0)
    figure.update_xaxes(title_text="separation l")
    figure.update_yaxes(title_text="distance, standardised", col=1)
    return dressed(figure, "Paraphrase corpora: distance against separation")


def densities(scored: Sequence[Scored]) -> go.Figure:
    """Densities of standardised distances at some separations, all redraws pooled, beside both prototypes."""
    facets = by_stratum(scored, "distributionality")
    stratum, entries = next(iter(facets.items()))
    first = next(iter(entries.values()))
    levels = [*(level for level in DENSITIES_AT if level < first[0].k), first[0].k]
    figure = faceted([f"{' · '.join(stratum)}, l = {level}" for level in levels], across=2)

    def draw(seen: Sequence[ParaphraseDistances], of: Callable[[ParaphraseDistances], np.ndarray], name: str, colour: str, dash: str) -> None:
        z = [(found, separations(one)) for one in seen if (found := standardize(of(one))) is not None]
        for number, level in enumerate(levels if z else ()):
            pooled = np.concatenate([values[separation == level] for values, separation in z])
            inside = np.abs(GRID) <= 4
            figure.add_scatter(x=GRID[inside][::10], y=kernel_density(pooled)[inside][::10], mode="lines", name=name, legendgroup=name,
                               line={"color": colour, "dash": dash}, showlegend=number == 0, **place_of(number, 2))
    draw(first, lambda one: one.energy, "ENERGY", PROTOTYPES["ENERGY"], "dash")
    draw(first, lambda one: one.ahd, "AHD", PROTOTYPES["AHD"], "dash")
    for place, (name, seen) in enumerate(entries.items()):
        draw(seen, answered, name, PALETTE[place % len(PALETTE)], "solid")
    figure.update_xaxes(title_text="distance, standardised", row=-(-len(levels) // 2))
    return dressed(figure, "Densities of distances at a separation")


def deviations(scored: Sequence[Scored]) -> go.Figure:
    """The deviation from AHD against that from ENERGY, with 95% intervals; below the line the energy distance is nearer."""
    figure, most = go.Figure(), 0.0
    for place, one in enumerate(scored):
        measures = score_of(one, "distributionality").measures
        if "deviation_energy" not in measures:
            continue                        # nothing of it is known: all its distances are equal
        x, y = measures["deviation_ahd"], measures["deviation_energy"]
        most = max(most, x.value, y.value)
        figure.add_scatter(x=[x.value], y=[y.value], mode="markers+text", text=[one.name], textposition="top center",
                           name=one.name, error_x={"array": [(x.high or x.value) - x.value]},
                           error_y={"array": [(y.high or y.value) - y.value]},
                           marker_color=PALETTE[place % len(PALETTE)], showlegend=False)
    if not figure.data:
        raise TouchstoneError("None of these metrics has deviations from the prototypes in this store.")
    figure.add_scatter(x=[0, 1.1 * most], y=[0, 1.1 * most], mode="lines", line={"color": "#868e96", "dash": "dot"},
                       showlegend=False)
    figure.update_xaxes(title_text="deviation from AHD")
    figure.update_yaxes(title_text="deviation from ENERGY")
    return dressed(figure, "Which prototype is nearer")


def perturbation(scored: Sequence[Scored]) -> go.Figure:
    """d over its largest mean, as neighbours move (delta), as more of them do (p), and in more dimensions (q)."""
    entries = next(iter(by_stratum(scored, "local_perturbation").values()))
    sweeps: tuple[tuple[str, Sequence[float], Callable[[Any], tuple[float, ...]]], ...] = (
        ("delta, p = 0.1", DELTAS, lambda one: one.by_delta), ("p, delta = 3", SHARES, lambda one: one.by_share),
        ("q", DIMENSIONS, lambda one: one.by_dimension))
    figure = faceted([title for title, _, _ in sweeps])
    for number, (_, x, of) in enumerate(sweeps):
        for place, (name, seen) in enumerate(entries.items()):
            rows = np.array([one.scale.as_distance(np.array(of(one))) for one in seen])
            largest = float(np.abs(rows.mean(axis=0)).max())
            curve(figure, x, rows / largest if largest > 0 else rows, name, PALETTE[place % len(PALETTE)], place_of(number),
                  number == 0)
    figure.update_yaxes(title_text="distance / its largest mean", col=1)
    return dressed(figure, "Local perturbation")


def fine_tuning(scored: Sequence[Scored]) -> go.Figure:
    """(d_i - mean self-distance)/(d_1 - mean self-distance), and the type-token ratio of what was generated."""
    facets = by_stratum(scored, "fine_tuning")
    figure = faceted([title for stratum in facets for title in (" · ".join(stratum), "type-token ratio")], across=2)
    for row, entries in enumerate(facets.values(), start=1):
        for place, (name, seen) in enumerate(entries.items()):
            distances = np.array([one.scale.as_distance(np.array(one.distances)) for one in seen])
            floor = float(np.mean([one.scale.as_distance(np.array(one.fault_free)) for one in seen]))
            first = float(distances[:, 0].mean()) - floor
            steps = list(range(1, distances.shape[1] + 1))
            if first > 0:
                curve(figure, steps, (distances - floor) / first, name, PALETTE[place % len(PALETTE)],
                      {"row": row, "col": 1}, row == 1)
            if place == 0:
                ratios = np.array([one.type_token_ratios for one in seen])
                curve(figure, steps, ratios, "generated", "#868e96", {"row": row, "col": 2}, row == 1)
                figure.add_hline(y=float(np.mean([one.of_sample for one in seen])), line_dash="dot", row=row, col=2)
    figure.add_hline(y=0, line_dash="dot", line_color="#868e96", col=1)
    figure.update_xaxes(title_text="step of the generator")
    return dressed(figure, "As a generator learns (0: as far as samples of the source are from each other)")


def faults(scored: Sequence[Scored]) -> go.Figure:
    """Sensitivity, faults against metrics: what each is blind to."""
    rows = []
    for one in scored:
        measures = score_of(one, Diagnostics.name).measures
        rows.append([measures[fault.value].value if fault.value in measures else None for fault in CorpusFault])
    figure = go.Figure(go.Heatmap(
        z=rows, x=[fault.value.replace("_", " ") for fault in CorpusFault], y=[one.name for one in scored], zmin=-1, zmax=1,
        colorscale="RdBu", texttemplate="%{z:.2f}", hovertemplate="%{y}, %{x}: %{z:.2f}<extra></extra>"))
    return dressed(figure, "Which faults a metric sees (1), is blind to (0), takes for a virtue (-1)")


CORPUS_FIGURES: Mapping[str, Callable[[Sequence[Scored]], go.Figure]] = {
    "distributionality": distributionality, "densities": densities, "deviations": deviations, "perturbation": perturbation,
    "fine_tuning": fine_tuning, "faults": faults}


def component_curves(units: Sequence[Unit], task: Distributionality, cache: VectorCache) -> dict[int, np.ndarray]:
    """For each k: redraws x separations x components, means over the pairs at l."""
    found: dict[int, list[np.ndarray]] = {k: [] for k in NEIGHBOURS}
    for unit in units:
        lottery, largest = task.drawn(unit), unit.parameters["K"]
        distances = euclidean(cache.vectors(lottery.texts))
        pairs = lottery.pairs(largest)
        separation = np.array([j - i for i, j in pairs])
        for k in NEIGHBOURS:
            values = np.array([components(distances, lottery.corpora[i], lottery.corpora[j], k) for i, j in pairs])
            found[k].append(np.array([values[separation == level].mean(axis=0) for level in range(1, largest + 1)]))
    return {k: np.array(rows) for k, rows in found.items()}


def components_figure(curves: Mapping[int, np.ndarray]) -> go.Figure:
    """Precision, recall, density and coverage against l, a line a k."""
    figure = faceted(list(Components._fields), across=2)
    for number in range(len(Components._fields)):
        for place, (k, rows) in enumerate(curves.items()):
            levels = list(range(1, rows.shape[1] + 1))
            curve(figure, levels, rows[:, :, number], f"k = {k}", PALETTE[place % len(PALETTE)], place_of(number, 2), number == 0)
    figure.update_xaxes(title_text="separation l", row=2)
    return dressed(figure, "What precision-recall and density-coverage are made of")
