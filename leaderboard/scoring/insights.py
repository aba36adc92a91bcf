"""What follows from the scores of a track as a whole: Borda points, Pareto-optimal entries, and how similar the answers are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.scoring.estimates import answer_correlation, borda_share, pareto_front
from leaderboard.scoring.scores import Scored

Scores = Mapping[str, float | None]         # of an entry, by ranked task


@dataclass(frozen=True)
class Agreement:
    """Rank correlations of the answers of entries to the same questions, a row and a column per entry."""

    entries: list[str]
    values: list[list[float | None]]

    def between(self, a: str, b: str) -> float | None:
        """Return the correlation of two entries of the table."""
        return self.values[self.entries.index(a)][self.entries.index(b)]


def borda_of(scores: Scores, panel: Collection[Scores]) -> float | None:
    """Return the mean over the ranked tasks of the share of the panel that an entry beats; a tie counts one half.

    The panel is every ranked entry: one variant per family, no trivial baselines.  A release freezes it.
    """
    shares = []
    for task, score in scores.items():
        if score is None or not panel:
            return None
        shares.append(borda_share(score, [other for panel_scores in panel if (other := panel_scores[task]) is not None]))
    return float(np.mean(shares)) if shares else None


def agreement(entries: Sequence[Scored]) -> Agreement | None:
    """Return the rank correlations of the entries' answers to the ranked tasks; None for fewer than two complete entries."""
    rows: dict[str, np.ndarray] = {}
    for scored in entries:
        answers = [score.shared_answers for score in scored.ranked_tasks if score.shared_answers is not None]
        if answers and all(score.complete and not score.failures for score in scored.ranked_tasks):
            rows[scored.name] = np.concatenate(answers)
    longest = max((len(row) for row in rows.values()), default=0)
    names = [name for name, row in rows.items() if len(row) == longest]
    if longest < 2 or len(names) < 2:
        return None
    values = answer_correlation(np.array([rows[name] for name in names]))
    return Agreement(names, [[round(float(r), 3) if np.isfinite(r) else None for r in row] for row in values])


def most_similar(name: str, table: Agreement | None, count: int = 3) -> list[tuple[str, float]]:
    """Return the entries whose answers correlate most with those of an entry, in either direction, with the correlation."""
    if table is None or name not in table.entries:
        return []
    correlations = [(other, table.between(name, other)) for other in table.entries if other != name]
    return sorted(((other, r) for other, r in correlations if r is not None), key=lambda pair: -abs(pair[1]))[:count]


def pareto_optimal(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """Return the names of (name, cost, score) that no other point beats at the same or a lower cost."""
    return [points[index][0] for index in pareto_front([cost for _, cost, _ in points], [score for _, _, score in points])]
