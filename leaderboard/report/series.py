"""What is drawn of a metric, as numbers: series of points with intervals, small enough for a release to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from leaderboard.scoring.scores import Scored
from tasks.common.mixtures import separated_pairs
from tasks.corpus.convergence import ConvergenceCurves
from tasks.corpus.diagnostics import STRENGTHS, DiagnosticAnswers
from tasks.corpus.known_similarity import KnownSimilarity, MixtureDistances
from tasks.properties.timing import Times

SECONDS, MEGABYTES = "seconds", "MB held at most"            # of the curves of cost
Point = tuple[float, float, float | None, float | None]     # x, y, and its 95% interval


def curves(scored: Scored) -> list[dict[str, Any]]:
    """Every curve that the answers of a metric give: {task, title, x, y, series: [{name, points}]}."""
    found = []
    for task, of_task in DRAWN.items():
        score = scored.tasks.get(task)
        if score is None or not score.observed:
            continue
        strata: dict[tuple[str, ...], list[Any]] = {}
        for unit in scored.suite.units(score.task):
            if unit.id in score.observed:
                strata.setdefault(unit.stratum, []).append(score.observed[unit.id])
        for stratum, seen in strata.items():
            found += [{"task": task, **curve} for curve in of_task(" · ".join(stratum), seen)]
    return found


def separation(title: str, seen: Sequence[MixtureDistances]) -> list[dict[str, Any]]:
    """The distance, z-scored in each collection, against the separation: its mean over collections at each."""
    levels = np.array([j - i for i, j in separated_pairs(seen[0].k)])
    standardised = np.array([KnownSimilarity().answers(one) for one in seen])
    means = np.array([standardised[:, levels == level].mean(axis=1) for level in range(1, seen[0].k)]).T
    return [{"title": title, "x": "separation", "y": "distance, standardised",
             "series": [{"name": "", "points": points(range(1, seen[0].k), means)}]}]


def convergence(title: str, seen: Sequence[ConvergenceCurves]) -> list[dict[str, Any]]:
    """The distance over d*, as samples grow, and as they get unequal; nothing where d* is not above 0."""
    star = float(np.mean([one.scale.as_distance(np.array(one.far)) for one in seen]))
    if star <= 0:
        return []
    sides = (("equal sizes", seen[0].sizes, [one.equal for one in seen]),
             (f"unequal sizes, {seen[0].total} in both", seen[0].first, [one.unequal for one in seen]))
    return [{"title": f"{title}, {what}", "x": "texts in the first corpus", "y": "distance / d*",
             "series": [{"name": "", "points": points(sizes, seen[0].scale.as_distance(np.array(answers)) / star)}]}
            for what, sizes, answers in sides]


def faults(title: str, seen: Sequence[DiagnosticAnswers]) -> list[dict[str, Any]]:
    """The distance, z-scored in each unit, as ever more of a fault is put in: its mean over units at each strength."""
    distances = np.array([one.scale.as_distance(np.array(one.faulty)) for one in seen])
    spread = distances.std(axis=1, keepdims=True)
    z = np.divide(distances - distances.mean(axis=1, keepdims=True), spread, out=np.zeros_like(distances), where=spread > 0)
    return [{"title": title.replace("_", " "), "x": "strength", "y": "distance, standardised",
             "series": [{"name": "", "points": points(STRENGTHS, z)}]}]


def growth(title: str, seen: Sequence[Times]) -> list[dict[str, Any]]:
    """Seconds a pair of corpora, and the memory held, against their size; nothing of the units that time a whole collection."""
    grown = [one for one in seen if one.by_size]
    if not grown:
        return []
    sizes = [size for size, _ in grown[0].by_size]
    drawn = [(SECONDS, np.array([[seconds for _, seconds in one.by_size] for one in grown]))]
    if all(peak is not None for one in grown for peak in one.peaks):
        drawn.append((MEGABYTES, np.array([one.peaks for one in grown]) / 1e6))
    return [{"title": "one pair of corpora", "x": "texts in each corpus", "y": y, "logarithmic": True,
             "series": [{"name": "", "points": points(sizes, rows)}]} for y, rows in drawn]


DRAWN: Mapping[str, Callable[[str, Sequence[Any]], list[dict[str, Any]]]] = {
    "known_similarity": separation, "convergence": convergence, "diagnostics": faults, "timing": growth}


def points(x: Sequence[float], rows: np.ndarray) -> list[Point]:
    """The mean of each column with Student's interval over rows; none of one row."""
    n, mean = len(rows), rows.mean(axis=0)
    reach = stats.t.ppf(0.975, n - 1) * rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else None
    return [(float(at), short(mean[i]), None if reach is None else short(mean[i] - reach[i]),
             None if reach is None else short(mean[i] + reach[i])) for i, at in enumerate(x)]


def short(value: float) -> float:
    return float(f"{value:.5g}")
