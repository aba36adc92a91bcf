"""The agreement of similarities with the judgements of people: rank correlations with ratings, and separation of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from leaderboard.scoring.estimates import CONFIDENCE, Estimate, average_ranks
from leaderboard.scoring.significance import PairwiseTests, pairwise_tests_of_replicates

DRAWS = 2_000
FEWEST_CLUSTERS = 5                         # with fewer, there is no interval


@dataclass(frozen=True)
class Judgements:
    """The judgements of pairs, and which pairs belong together because they share a text."""

    human: np.ndarray                       # ratings, or 1 for similar and 0 for dissimilar pairs
    labelled: bool
    clusters: np.ndarray                    # number of the cluster of each pair

    def __len__(self) -> int:
        return len(self.human)

    def at(self, rows: np.ndarray) -> Judgements:
        """Return the judgements of some pairs."""
        return Judgements(self.human[rows], self.labelled, np.unique(self.clusters[rows], return_inverse=True)[1])

    @property
    def statistic(self) -> str:
        """The name of the agreement as it is shown."""
        return "area under the ROC curve" if self.labelled else "Spearman's correlation"

    def shown(self, agreement: float) -> float:
        """Return an agreement as it is shown; of labels 0.5 is chance."""
        return (1 + agreement) / 2 if self.labelled else agreement


def agreements(similarities: np.ndarray, judgements: Judgements) -> np.ndarray:
    """Return the agreement of each row of similarities: Spearman's correlation, or 2 AUC - 1 for labels; 0 if it is constant."""
    return influences(similarities, judgements)[0]


def influences(similarities: np.ndarray, judgements: Judgements) -> tuple[np.ndarray, np.ndarray]:
    """Return the agreement of each row, and the influence of each pair on it; the mean influence of a row is 0."""
    human = judgements.human
    if judgements.labelled:
        positive = human > 0.5
        ranks = average_ranks(similarities)
        among_positive, among_negative = average_ranks(similarities[:, positive]), average_ranks(similarities[:, ~positive])
        p, q = positive.sum(), (~positive).sum()
        if not p or not q:
            return np.zeros(len(similarities)), np.zeros(similarities.shape)
        influence = np.empty(similarities.shape)        # placements of DeLong et al. 1988
        influence[:, positive] = 2 * (ranks[:, positive] - among_positive) / q - 1
        influence[:, ~positive] = 1 - 2 * (ranks[:, ~positive] - among_negative) / p
        value = influence[:, positive].mean(axis=1)
        influence = influence - value[:, None]
        influence[:, positive] *= len(human) / p
        influence[:, ~positive] *= len(human) / q
        return value, influence
    x, y = standardize(average_ranks(similarities)), standardize(average_ranks(human[None]))[0]
    value = (x * y).mean(axis=1)
    return value, x * y - value[:, None] * (x ** 2 + y ** 2) / 2


def standardize(rows: np.ndarray) -> np.ndarray:
    """Return rows with mean 0 and standard deviation 1; constant rows become 0."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    tiny = 1e-12 * np.abs(rows).max(axis=1, initial=0, keepdims=True)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > tiny))


def sum_by_cluster(values: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the sums of the columns that belong to the same cluster."""
    sums = np.zeros((clusters.max() + 1, len(values)))
    np.add.at(sums, clusters, values.T)
    return np.asarray(sums.T)


def noise_covariance(influence: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the covariance of the agreements under new draws of clusters."""
    sums = sum_by_cluster(influence, clusters)
    count = sums.shape[1]
    return np.asarray(sums @ sums.T / influence.shape[1] ** 2 * count / max(1, count - 1))


def estimate_agreements(similarities: np.ndarray, judgements: Judgements) -> list[Estimate]:
    """Return the agreement of each row with its interval: Student's t on Fisher's scale, from the influences of clusters."""
    values, influence = influences(similarities, judgements)
    errors = np.sqrt(np.diagonal(noise_covariance(influence, judgements.clusters)))
    count = int(judgements.clusters.max()) + 1
    t = float(scipy.special.stdtrit(max(1, count - 1), (1 + CONFIDENCE) / 2))
    estimates = []
    for value, error in zip(values.tolist(), errors.tolist(), strict=True):
        if count < FEWEST_CLUSTERS or not error or abs(value) > 1 - 1e-9:
            estimates.append(Estimate(value, None, None, len(judgements)))
            continue
        centre, reach = math.atanh(value), t * error / (1 - value ** 2)
        estimates.append(Estimate(value, math.tanh(centre - reach), math.tanh(centre + reach), len(judgements)))
    return estimates


def compare_agreements(similarities: np.ndarray, judgements: Judgements, seed: int) -> PairwiseTests:
    """Test which rows differ in agreement, corrected for all pairs of rows: step-down max-T with resampled clusters."""
    values, influence = influences(similarities, judgements)
    sums = sum_by_cluster(influence, judgements.clusters) / len(judgements)
    count = sums.shape[1]
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=DRAWS).T - 1.0
    return pairwise_tests_of_replicates(values, values[:, None] + sums @ weights, (sums,))
