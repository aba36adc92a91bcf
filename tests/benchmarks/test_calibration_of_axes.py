"""Calibration on the axes of the latest release: its metrics with equal true values, on clusters drawn anew from its own.

A metric's score is linearised: the jackknife influences of the released clusters are the population, and each run draws from it with
replacement, together for all metrics. So the numbers of clusters, the weights of tasks, the skewness and the correlations between
metrics are those of the release, and the true value of every metric is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from leaderboard.publishing.release import read_release
from leaderboard.publishing.views import ReleaseView
from leaderboard.scoring.estimates import Estimate, mean_of_estimates, stratified_mean, unit_weights
from leaderboard.scoring.resampling import DRAWS, Resampled, stratified_plan
from leaderboard.scoring.significance import (
    PairwiseTests,
    dividing_lines,
    jackknife_influences,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
)

pytestmark = pytest.mark.benchmark
RUNS = 1000
ALLOWED = 0.064                             # 5% and two standard errors of 1,000 runs
DISTANCE, POWER = 4.0, 0.6                  # standard errors between two metrics; share of runs in which they are separated


class Task:
    """A task: what each cluster contributes to the score of each metric (metrics x clusters), and a plan for resampling."""

    def __init__(self, influences: np.ndarray, strata: np.ndarray, by_unit: bool, rng: np.random.Generator) -> None:
        self.influences, self.strata, self.by_unit = influences, strata, by_unit
        sizes = np.bincount(strata)[strata]
        self.counts = stratified_plan(strata.tolist(), DRAWS, rng) * (sizes / (sizes - 1))
        self.factor = sizes / (sizes - 1)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return the contributions of clusters drawn with replacement within strata."""
        members = [np.flatnonzero(self.strata == stratum) for stratum in range(self.strata.max() + 1)]
        return self.influences[:, np.concatenate([rng.choice(mine, len(mine)) for mine in members])]

    def resample(self, drawn: np.ndarray) -> list[Resampled]:
        """Return the scores of all metrics under the plan."""
        sums = np.array([drawn[:, self.strata == stratum].sum(axis=1) for stratum in range(self.strata.max() + 1)]).T
        left_out = sums.sum(axis=1, keepdims=True) + (self.factor - 1) * sums[:, self.strata] - self.factor * drawn
        replicates = drawn @ self.counts.T
        return [Resampled(float(value), *rows, self.strata) for value, *rows in zip(sums.sum(axis=1), left_out, replicates, strict=True)]


def read_tasks(track: str, rng: np.random.Generator) -> list[Task]:
    """Return the tasks on the main axis of a track, on the scale of the axis."""
    view = ReleaseView(read_release())
    axis, ranked = view.suite.headline(track), view.overview.ranked(track)
    tasks = []
    for part in axis.parts:
        samples = [view.samples[entry.name, part.task] for entry in ranked]
        share = 1 / (len(axis.parts) * (1 - view.suite.task(part.task).chance) * part.scale)
        if isinstance(samples[0], Resampled):
            parts = jackknife_influences(share * np.array([sample.left_out for sample in samples]), samples[0].strata)
            strata = np.sort(samples[0].strata)
        else:
            units = list(samples[0].score)
            strata = np.unique([samples[0].stratum[unit] for unit in units], return_inverse=True)[1]
            scores = share * np.array([[sample.score[unit] for unit in units] for sample in samples]) * unit_weights(strata.tolist())
            parts = [scores[:, strata == stratum] - scores[:, strata == stratum].mean(axis=1, keepdims=True)
                     for stratum in range(strata.max() + 1)]
            strata = np.sort(strata)
        tasks.append(Task(np.concatenate(parts, axis=1), strata, not isinstance(samples[0], Resampled), rng))
    return tasks


def compare(tasks: Sequence[Task], drawn: Sequence[np.ndarray], shift: np.ndarray, rng: np.random.Generator) -> PairwiseTests:
    """Test all pairs as the ranking does: by units if every score is a mean over them, else by replicates."""
    if all(task.by_unit for task in tasks):
        groups = [number for number, task in enumerate(tasks) for _ in task.strata]
        contributions = np.concatenate(drawn, axis=1)
        return pairwise_tests_of_means(contributions + shift[:, None] / contributions.shape[1], np.ones(len(groups)), 1000, rng, groups)
    resampled = [task.resample(contributions) for task, contributions in zip(tasks, drawn, strict=True)]
    values = np.array([[sample.value for sample in samples] for samples in resampled]).sum(axis=0) + shift
    replicates = np.sum([[sample.replicates for sample in samples] for samples in resampled], axis=0) + shift[:, None]
    parts = [influences for task, samples in zip(tasks, resampled, strict=True)
             for influences in jackknife_influences(np.array([sample.left_out for sample in samples]), task.strata)]
    return pairwise_tests_of_replicates(values, replicates, parts)


def interval(tasks: Sequence[Task], drawn: Sequence[np.ndarray], metric: int) -> Estimate:
    """Return the overall score of a metric with its interval, as the ranking does."""
    estimates = []
    for task, contributions in zip(tasks, drawn, strict=True):
        if task.by_unit:
            strata = range(task.strata.max() + 1)
            cells = [contributions[metric, task.strata == stratum] * np.sum(task.strata == stratum) * len(strata) for stratum in strata]
            estimates.append(stratified_mean(cells))
        else:
            estimates.append(task.resample(contributions[[metric]])[0].estimate())
    return mean_of_estimates(estimates)


@pytest.mark.parametrize("track", ["text", "corpus"])
def test_equal_metrics_on_the_axis_are_seldom_separated_and_intervals_cover(track, report):
    rng = np.random.default_rng(13)
    tasks = read_tasks(track, rng)
    metrics = len(tasks[0].influences)
    separated = split = covered = 0
    for run in range(RUNS):
        drawn = [task.draw(rng) for task in tasks]
        better = compare(tasks, drawn, np.zeros(metrics), rng).better()
        values = np.sum([contributions.sum(axis=1) for contributions in drawn], axis=0)
        separated += bool(better.any())
        split += bool(dividing_lines(np.argsort(-values).tolist(), better))
        estimate = interval(tasks, drawn, run % metrics)
        covered += estimate.low <= 0 <= estimate.high
    report(f"{track}: {metrics} metrics with equal true values on {len(tasks)} tasks, {RUNS:,} runs: a line in {split / RUNS:.1%}, any pair "
           f"separated in {separated / RUNS:.1%} (at most {ALLOWED:.1%}); the interval of the overall score covers in {covered / RUNS:.1%} (93-97%)")
    assert split / RUNS <= ALLOWED
    assert separated / RUNS <= ALLOWED
    assert 0.93 <= covered / RUNS <= 0.97


@pytest.mark.parametrize("track", ["text", "corpus"])
def test_metrics_that_differ_on_the_axis_are_separated(track, report):
    """Two metrics differ by four standard errors of their difference; all others are equal to the second.

    They are the pair whose difference varies as much as that of the median pair. For metrics that are more alike the tests have less
    power, because their spread is moderated by that of the other pairs.
    """
    rng = np.random.default_rng(14)
    tasks = read_tasks(track, rng)
    first, second = np.triu_indices(len(tasks[0].influences), 1)
    variances = sum(((task.influences[first] - task.influences[second]) ** 2).sum(axis=1) for task in tasks)
    median = np.argsort(variances)[len(variances) // 2]
    shift = np.zeros(len(tasks[0].influences))
    shift[first[median]] = DISTANCE * np.sqrt(variances[median])
    detected = sum(bool(compare(tasks, [task.draw(rng) for task in tasks], shift, rng).better()[first[median], second[median]]) for _ in range(RUNS // 4))
    report(f"{track}: metrics {DISTANCE:.0f} standard errors apart are separated in {detected / (RUNS // 4):.0%} of {RUNS // 4} runs (at least {POWER:.0%})")
    assert detected / (RUNS // 4) >= POWER
