"""Recommend one metric from few judged pairs: a posterior mean of each candidate's agreement.

With 80 pairs the standard error of a correlation is about .1, and the best of many metrics on these pairs is often not the best
on others. So the agreement on the pairs is combined with the agreement on sets with known ratings (`known_agreement.csv`):

- The prior mean of a candidate is its mean agreement on the known sets, and the prior covariance is a quarter of that between
  the known sets, plus a term that makes candidates whose answers to the pairs are correlated agree with people alike.
- The noise of the agreement is the covariance of its influences over clusters of pairs.
- Candidates are metrics, and means of the standardized scores of two or three metrics from a fixed list, which have no weights to
  be fitted to few pairs.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy

from leaderboard.own_data.pairs.agreement import Judgements, agreements, influences, noise_covariance, standardize
from leaderboard.scoring.estimates import answer_correlation

COMBINED = ("cosine", "levenshtein", "chrf", "rouge_l", "rouge2", "dice_bigrams", "containment", "cosine[wordllama]")
MOST_COMBINED = 3
KNOWN = Path(__file__).with_name("known_agreement.csv")
SHARED_SPREAD = 0.3                         # SD of what all candidates have in common on a data set
LIKENESS_SPREAD = 0.04                      # SD of what candidates with equal answers have in common
JITTER = 1e-3
SIMPLER = 0.005                             # by how much a combination must be expected to be better than a single metric
FEWEST_CLUSTERS = 10                        # for splits into halves
SPLITS, PAIRS_OF_SPLITS = 100, 60_000       # fewer splits of many pairs
LINK = " + "


@dataclass(frozen=True)
class Candidates:
    """Metrics and combinations of metrics, with their similarities of the same pairs."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]    # the metrics that each candidate combines
    similarities: np.ndarray                # candidates x pairs

    @property
    def single(self) -> np.ndarray:
        """Which candidates are single metrics."""
        return np.array([len(members) == 1 for members in self.members])


@dataclass(frozen=True)
class HeldOut:
    """How the procedure does on pairs that it has not seen: means over random halves of the pairs."""

    agreement: float                        # of the recommended candidate
    best_single: float                      # of the metric that the procedure prefers among single ones
    loss: float                             # against the best single metric of other pairs, judged on yet others
    gain_p: float | None                    # p-value of a combination being better than the best single metric
    splits: int


def make_candidates(names: Sequence[str], similarities: np.ndarray, combine: bool = True) -> Candidates:
    """Return single metrics, and means of standardized scores of two or three of those in `COMBINED`."""
    rows = standardize(similarities)
    available = [names.index(name) for name in COMBINED if name in names]
    members: list[tuple[int, ...]] = [(row,) for row in range(len(names))]
    if combine:
        members += [chosen for size in range(2, MOST_COMBINED + 1) for chosen in combinations(available, size)]
    return Candidates(tuple(LINK.join(names[row] for row in chosen) for chosen in members), tuple(members),
                      np.array([similarities[chosen[0]] if len(chosen) == 1 else rows[list(chosen)].mean(axis=0)
                                for chosen in members]))


@cache
def read_known() -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    """Return the candidates, the families of known sets, and the agreement of candidates (columns) on the sets (rows)."""
    with KNOWN.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return tuple(header[2:]), tuple(row[1] for row in rows), np.array([[float(value) for value in row[2:]] for row in rows])


def prior(names: Sequence[str], without: Collection[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return the prior mean and covariance of candidates; `without` names families of known sets to leave out.

    A candidate that is not in the table has the mean over all candidates and their mean variance.
    """
    available, families, table = read_known()
    table = table[[family not in without for family in families]]
    deviations = table - table.mean(axis=1, keepdims=True)
    spread = np.cov(deviations, rowvar=False) / 4
    rows = np.array([row for row, name in enumerate(names) if name in available], dtype=int)
    columns = np.array([available.index(names[row]) for row in rows], dtype=int)
    mean, covariance = np.full(len(names), table.mean()), np.diag(np.full(len(names), float(np.diagonal(spread).mean())))
    mean[rows] = table[:, columns].mean(axis=0)
    covariance[np.ix_(rows, rows)] = spread[np.ix_(columns, columns)]
    return mean, covariance


def posterior_mean(candidates: Candidates, judgements: Judgements, without: Collection[str] = ()) -> np.ndarray:
    """Return the posterior mean of the agreement of each candidate."""
    values, influence = influences(candidates.similarities, judgements)
    noise = noise_covariance(influence, judgements.clusters)
    mean, covariance = prior(candidates.names, without)
    likeness = np.nan_to_num(answer_correlation(candidates.similarities))
    covariance = covariance + LIKENESS_SPREAD ** 2 * likeness + SHARED_SPREAD ** 2
    gain = np.linalg.solve(covariance + noise + JITTER * np.eye(len(mean)), values - mean)
    return np.asarray(mean + covariance @ gain)


def select_best(candidates: Candidates, posterior: np.ndarray) -> tuple[int, int]:
    """Return the recommended candidate and the best single metric by their posterior means."""
    single = int(np.where(candidates.single, posterior, -np.inf).argmax())
    best = int(posterior.argmax())
    return best if posterior[best] > posterior[single] + SIMPLER else single, single


def evaluate_choice(candidates: Candidates, judgements: Judgements, seed: int) -> HeldOut | None:
    """Return how recommendations from random halves of the clusters do on the other halves; None if halves are too small."""
    rng = np.random.default_rng(seed)
    count, single = int(judgements.clusters.max()) + 1, candidates.single
    if count < FEWEST_CLUSTERS:
        return None
    splits = int(np.clip(PAIRS_OF_SPLITS // len(judgements), 20, SPLITS))
    chosen, alone, losses, gains = [], [], [], []
    for _ in range(splits):
        first = rng.permutation(count)[:count // 2]
        inside = np.isin(judgements.clusters, first)
        halves = [np.flatnonzero(inside), np.flatnonzero(~inside)]
        if any(np.ptp(judgements.human[rows]) == 0 for rows in halves):
            continue
        values = [agreements(candidates.similarities[:, rows], judgements.at(rows)) for rows in halves]
        for number, rows in enumerate(halves):
            posterior = posterior_mean(Candidates(candidates.names, candidates.members, candidates.similarities[:, rows]),
                                       judgements.at(rows))
            best, best_single = select_best(candidates, posterior)
            others, own = values[1 - number], values[number]
            chosen.append(others[best])
            alone.append(others[best_single])
            losses.append(others[int(np.where(single, own, -np.inf).argmax())] - others[best])
            gains.append(others[best] - others[best_single])
    if not chosen:
        return None
    return HeldOut(float(np.mean(chosen)), float(np.mean(alone)), float(np.mean(losses)), resampled_p(np.array(gains)), splits)


def resampled_p(gains: np.ndarray) -> float | None:
    """Return the p-value of a positive mean over repeated halves: the corrected resampled t-test (Nadeau and Bengio 2003)."""
    spread = float(gains.var(ddof=1)) if len(gains) > 1 else 0.0
    if not spread:
        return None
    t = float(gains.mean()) / np.sqrt(spread * (1 / len(gains) + 1.0))      # as many pairs for judging as for choosing
    return float(scipy.special.stdtr(len(gains) - 1, -t))
