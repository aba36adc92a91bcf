"""The papers' figures from stored answers: pure functions of scores that return plotly figures; the board shows the same.

Numbers as in Kour et al. 2022: distance against separation (figure 2), convergence under size and imbalance (figure 3),
the measures as a radar (4) and as boxes (6).  Of USMB: sensitivity by size and place (1, 2), bars a task (3 to 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from scipy import stats

from harness.base.errors import TouchstoneError, printable
from leaderboard.scoring.scores import Scored, TaskScore
from tasks.common.mixtures import separated_pairs
from tasks.common.transformations import PLACES
from tasks.corpus.known_similarity import MixtureDistances, distance_measures
from tasks.text.sensitivity import CONDITIONS, SIZES, condition_name

PALETTE = ("#3b5bdb", "#e8590c", "#2b8a3e", "#ae3ec9", "#0c8599", "#c92a2a", "#5f3dc4", "#868e96")
WIDTH, HEIGHT = 900, 540
FACETS_ACROSS = 3
RADAR = {"weighted accuracy": "weighted_accuracy", "accuracy": "accuracy", "monotonicity": "monotonicity",
         "separability": "signed_separability", "linearity": "signed_linearity"}
CONTRASTS = {"size": "size_contrast", "imbalance": "imbalance_contrast"}


def draw(kind: str, scored: Sequence[Scored]) -> go.Figure:
    """One of the figures, of these metrics."""
    return FIGURES[kind](scored)


def separation(scored: Sequence[Scored]) -> go.Figure:
    """Standardised distance against separation, one picture a pair of sources and level; the line is the least-squares
    fit over all repetitions, its band the 95% interval of the mean."""
    facets = by_stratum(scored, "known_similarity")
    figure = faceted([" · ".join(stratum) for stratum in facets])
    for place, entries in enumerate(facets.values()):
        for number, (name, seen) in enumerate(entries.items()):
            separations, values = standardised(seen)
            levels = np.unique(separations)
            means = np.array([values[separations == level].mean() for level in levels])
            fitted, low, high = regression(separations, values, levels)
            colour, shown = PALETTE[number % len(PALETTE)], place == 0
            position = {"row": place // FACETS_ACROSS + 1, "col": place % FACETS_ACROSS + 1}
            band(figure, levels.tolist(), low, high, colour, name, position)
            figure.add_scatter(x=levels, y=fitted, mode="lines", line_color=colour, name=name, legendgroup=name, showlegend=shown,
                               hoverinfo="skip", **position)
            figure.add_scatter(x=levels, y=means, mode="markers", marker_color=colour, name=name, legendgroup=name,
                               showlegend=False, hovertemplate=f"{name}<br>separation %{{x}}<br>%{{y:.2f}}<extra></extra>",
                               **position)
    figure.update_xaxes(title_text="separation", tickformat="d")
    figure.update_yaxes(title_text="distance, standardised", col=1)
    return dressed(figure, "Distance against separation")


def convergence(scored: Sequence[Scored]) -> go.Figure:
    """Distance over d*, as samples grow and as they get unequal; the band is the 95% interval over repetitions."""
    facets = by_stratum(scored, "convergence")
    titles = [f"{stratum[0]} · {what}" for stratum in facets for what in ("equal sizes", "unequal sizes")]
    figure = faceted(titles, across=2)
    for row, entries in enumerate(facets.values(), start=1):
        for number, (name, seen) in enumerate(entries.items()):
            colour = PALETTE[number % len(PALETTE)]
            star = float(np.mean([one.scale.as_distance(np.array(one.far)) for one in seen]))
            for column, (sizes, answers) in enumerate((
                    (seen[0].sizes, [one.scale.as_distance(np.array(one.equal)) for one in seen]),
                    (seen[0].first, [one.scale.as_distance(np.array(one.unequal)) for one in seen])), start=1):
                curves = np.array(answers) / star if star > 0 else np.full((len(seen), len(sizes)), np.nan)
                mean, reach = curves.mean(axis=0), half_width(curves)
                band(figure, sizes, mean - reach, mean + reach, colour, name, {"row": row, "col": column})
                figure.add_scatter(x=sizes, y=mean, mode="lines+markers", line_color=colour, name=name, legendgroup=name,
                                   showlegend=row == column == 1, row=row, col=column,
                                   hovertemplate=f"{name}<br>%{{x}} texts<br>%{{y:.3f}} d*<extra></extra>")
    figure.add_hline(y=1, line_dash="dot", line_color="#868e96")
    figure.update_xaxes(title_text="texts in the first corpus")
    figure.update_yaxes(title_text="distance / d*", col=1)
    return dressed(figure, "As samples grow, and as they get unequal")


def radar(scored: Sequence[Scored]) -> go.Figure:
    """The measures of known similarity and the contrasts of size and imbalance, one line a metric."""
    figure = go.Figure()
    for number, one in enumerate(scored):
        values = {**measured(one, "known_similarity", RADAR), **measured(one, "convergence", CONTRASTS)}
        if not values:
            raise TouchstoneError(f'The store has no measures of "{one.name}" for a radar.')
        around = [*values, next(iter(values))]
        figure.add_scatterpolar(theta=around, r=[values[name] for name in around], name=one.name,
                                line_color=PALETTE[number % len(PALETTE)], opacity=0.7,
                                fill="toself" if len(scored) <= 2 else "none")
    figure.update_layout(polar={"radialaxis": {"range": [0, 1], "tickformat": ".1f"}})
    return dressed(figure, "The measures side by side (below 0 is drawn as 0)")


def boxes(scored: Sequence[Scored]) -> go.Figure:
    """The measures of known similarity over repetitions."""
    figure = go.Figure()
    for number, one in enumerate(scored):
        values = [measures for seen in by_stratum([one], "known_similarity").values() for each in seen.values()
                  for measures in (distance_measures(distances(item), item.k) for item in each)]
        figure.add_box(x=[short for measures in values for short in RADAR],
                       y=[measures[name] for measures in values for name in RADAR.values()], name=one.name,
                       marker_color=PALETTE[number % len(PALETTE)])
    figure.update_layout(boxmode="group")
    return dressed(figure, "The measures over repetitions")


def sensitivity(scored: Sequence[Scored]) -> go.Figure:
    """Mean similarity against the share of tokens that is put in, taken out, replaced, a picture a kind and place; the ideal
    is dotted."""
    kinds = list(SIZES)
    figure = faceted([f"{kind}, {place}" for kind in kinds for place in PLACES], across=len(PLACES))
    for row, kind in enumerate(kinds, start=1):
        for column, place in enumerate(PLACES, start=1):
            conditions = [one for one in CONDITIONS if (one.kind, one.place) == (kind, place)]
            sizes = [one.size for one in conditions]
            figure.add_scatter(x=sizes, y=[one.ideal for one in conditions], mode="lines", line_dash="dot", line_color="#868e96",
                               name="ideal", legendgroup="ideal", showlegend=row == column == 1, row=row, col=column)
            for number, one in enumerate(scored):
                measures = score_of(one, "sensitivity").measures
                if not measures:
                    raise TouchstoneError(f'"{one.name}" has answered no units of sensitivity yet in this store; `touchstone run '
                                          f"{one.name} --suite {one.suite.name} --only sensitivity` asks it.")
                figure.add_scatter(x=sizes, y=[measures[condition_name(each)].value for each in conditions], mode="lines+markers",
                                   line_color=PALETTE[number % len(PALETTE)], name=one.name, legendgroup=one.name,
                                   showlegend=row == column == 1, row=row, col=column)
    figure.update_xaxes(title_text="share of the tokens", tickformat=".0%", row=len(kinds))
    figure.update_yaxes(title_text="similarity", range=[0, 1], col=1)
    return dressed(figure, "As tokens are put in, taken out, replaced")


def tasks(scored: Sequence[Scored]) -> go.Figure:
    """The scores of the text track's tasks with their intervals, in groups of bars; chance is a line across a group."""
    figure = go.Figure()
    asked = [score for score in scored[0].in_track("text").ranked_tasks if score.score is not None]
    titles = [score.task.info.title for score in asked]
    for number, one in enumerate(scored):
        found = [score_of(one, score.task.name).score for score in asked]
        above, below = ([0.0 if score is None or (edge := getattr(score, side)) is None else abs(edge - score.value)
                         for score in found] for side in ("high", "low"))
        figure.add_bar(x=titles, y=[None if score is None else score.value for score in found], name=one.name,
                       marker_color=PALETTE[number % len(PALETTE)],
                       error_y={"type": "data", "symmetric": False, "array": above, "arrayminus": below})
    figure.add_scatter(x=titles, y=[score.chance for score in asked], mode="markers", name="chance",
                       marker={"symbol": "line-ew", "size": 60, "line": {"width": 2, "color": "#868e96"}})
    figure.update_layout(barmode="group")
    return dressed(figure, "The tasks of the text track")


FIGURES: Mapping[str, Callable[[Sequence[Scored]], go.Figure]] = {
    "separation": separation, "convergence": convergence, "radar": radar, "boxes": boxes,
    "sensitivity": sensitivity, "tasks": tasks}


def by_stratum(scored: Sequence[Scored], task: str) -> dict[tuple[str, ...], dict[str, list[Any]]]:
    """Observations by stratum and metric; refuses metrics that have none."""
    facets: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for one in scored:
        score = score_of(one, task)
        if not score.observed:
            raise TouchstoneError(f'"{one.name}" has answered no units of {task} yet in this store; `touchstone run {one.name} '
                                  f"--suite {one.suite.name} --only {task}` asks it.")
        for unit in one.suite.units(score.task):
            if unit.id in score.observed:
                facets.setdefault(unit.stratum, {}).setdefault(one.name, []).append(score.observed[unit.id])
    return facets


def score_of(scored: Scored, task: str) -> TaskScore:
    if task not in scored.tasks:
        raise TouchstoneError(f'The suite "{scored.suite.name}" has no task {task}, which this figure shows.')
    return scored.tasks[task]


def measured(scored: Scored, task: str, names: Mapping[str, str]) -> dict[str, float]:
    """Known measures under the names that the figure gives them."""
    measures = scored.tasks[task].measures if task in scored.tasks else {}
    return {shown: max(0.0, measures[name].value) for shown, name in names.items() if name in measures}


def distances(seen: MixtureDistances) -> np.ndarray:
    """Of both directions, their mean, as they are ranked."""
    forward, backward = (seen.scale.as_distance(np.array(side)) for side in (seen.forward, seen.backward))
    return np.asarray((forward + backward) / 2)


def standardised(seen: Sequence[MixtureDistances]) -> tuple[np.ndarray, np.ndarray]:
    """Separations and z-scored distances, of all repetitions."""
    separations = np.concatenate([[j - i for i, j in separated_pairs(one.k)] for one in seen])
    z = []
    for one in seen:
        raw = distances(one)
        z.append((raw - raw.mean()) / raw.std() if raw.std() > 0 else np.zeros(len(raw)))
    return separations, np.concatenate(z)


def regression(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least-squares line at some places, and the 95% interval of its mean there."""
    fit = stats.linregress(x, y)
    line = fit.intercept + fit.slope * at
    residual = np.sqrt(np.sum((y - fit.intercept - fit.slope * x) ** 2) / max(1, len(x) - 2))
    centred = np.sum((x - x.mean()) ** 2)
    reach = stats.t.ppf(0.975, max(1, len(x) - 2)) * residual * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / centred)
    return line, line - reach, line + reach


def half_width(curves: np.ndarray) -> np.ndarray:
    """Of the 95% interval of each column's mean; 0 where one row says nothing of the spread."""
    n = len(curves)
    if n < 2:
        return np.zeros(curves.shape[1])
    return np.asarray(stats.t.ppf(0.975, n - 1) * curves.std(axis=0, ddof=1) / np.sqrt(n))


def band(figure: go.Figure, x: Sequence[float], low: np.ndarray, high: np.ndarray, colour: str, name: str,
         position: Mapping[str, int]) -> None:
    """What lies between two curves, faintly."""
    figure.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", fill="toself", fillcolor=colour, opacity=0.15,
                       line_width=0, hoverinfo="skip", showlegend=False, legendgroup=name, **position)


def faceted(titles: Sequence[str], across: int = FACETS_ACROSS) -> go.Figure:
    columns = min(across, len(titles))
    rows = -(-len(titles) // columns)
    figure = make_subplots(rows, columns, subplot_titles=titles, horizontal_spacing=0.06, vertical_spacing=0.22 / rows)
    figure.update_layout(height=max(HEIGHT, 320 * rows))
    return figure


def dressed(figure: go.Figure, title: str) -> go.Figure:
    figure.update_layout(title_text=title, template="plotly_white", width=WIDTH, legend={"orientation": "h", "y": -0.15},
                         font_family="system-ui, sans-serif", margin={"t": 90})
    if figure.layout.height is None:
        figure.update_layout(height=HEIGHT)
    return figure


def write(figure: go.Figure, folder: Path, name: str) -> list[Path]:
    """HTML that needs no network, and PNG; both files' paths."""
    html, png = folder / f"{name}.html", folder / f"{name}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.write_html(html, include_plotlyjs=True)
    except OSError as wrong:
        raise TouchstoneError(f"{html} cannot be written ({wrong.strerror}); name another folder with --to.") from None
    try:
        figure.write_image(png, scale=2)
    except Exception as wrong:              # noqa: BLE001 - it starts a browser, where anything can go wrong
        raise TouchstoneError(f"{html} is written; the PNG is not, because no browser draws it here "
                              f"({printable(str(wrong), 160)}). Install Chromium, for instance with `apt-get install "
                              "chromium`.") from None
    return [html, png]
