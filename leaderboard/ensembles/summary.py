"""The ensembles of a suite as values: the rows of the board and of releases, and what each metric adds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.ensembles.baselines import GENERAL, LEAVES, MEMBERS, Baselines, LearnedEnsemble
from leaderboard.ensembles.training_tables import MADE, task_of
from leaderboard.scoring.estimates import Estimate, above_chance, mean_of_estimates

TRACK, STANDING = "text", "ensemble, baseline, not ranked"
TITLES = {"ensemble": "The five metrics that USMB combines, trained task by task",
          "ensemble, large leaves": "The same, with forests whose leaves hold at least 10 rows",
          "ensemble, general": "One linear combination of the five for all tasks"}
COLUMNS = ("row", "title", "task", "score", "low", "high", "above_chance", "learner", "splits")


@dataclass(frozen=True)
class EnsembleScore:
    """The score of an ensemble on one task."""

    score: Estimate
    above_chance: float | None
    splits: int
    learner: str


@dataclass(frozen=True)
class EnsembleRow:
    """An ensemble, or one of its members on the same held-out parts, with its score on each task."""

    name: str
    title: str
    overall: Estimate
    tasks: dict[str, EnsembleScore]


@dataclass(frozen=True)
class EnsembleSummary:
    """The ensembles of a track, as far as they are computed."""

    track: str
    standing: str
    members: list[str]
    command: str                            # computes what is missing
    missing: int
    reason: str | None                      # why no ensemble can be computed yet
    rows: list[EnsembleRow]
    weights: dict[str, dict[str, float]]


@dataclass(frozen=True)
class AddedValue:
    """What a metric adds to the ensemble on one training table."""

    learner: str
    splits: int
    value: float
    low: float | None
    high: float | None


def summarise_ensembles(baselines: Baselines) -> EnsembleSummary:
    """Return the rows that are computed, and the command that computes the others."""
    learned = baselines.learned()
    chance = {name: score.chance for member in baselines.members[:1] for name, score in member.tasks.items()}
    kinds = {"ensemble": [result for result in learned if result.learner not in (LEAVES, GENERAL)],
             "ensemble, large leaves": [result for result in learned
                                        if result.learner != GENERAL and not has_leaves(result, learned)],
             "ensemble, general": [result for result in learned if result.learner == GENERAL]}
    rows = [ensemble_row(name, TITLES[name], results, chance) for name, results in kinds.items() if results]
    rows += [ensemble_row(f"{name}, held out", f"{name} alone, on the same held-out parts", members, chance)
             for name in MEMBERS if (members := [score_alone(result, name) for result in kinds["ensemble"]])]
    return EnsembleSummary(TRACK, STANDING, list(MEMBERS), f"touchstone baselines --suite {baselines.suite.name}",
                           len(baselines.missing()), baselines.reason(), rows,
                           {result.table: dict(result.weights) for result in kinds["ensemble"]})


def has_leaves(result: LearnedEnsemble, learned: Sequence[LearnedEnsemble]) -> bool:
    """Return whether the table of a result also has an ensemble with large leaves."""
    return result.learner != LEAVES and any(other.table == result.table and other.learner == LEAVES for other in learned)


def score_alone(result: LearnedEnsemble, member: str) -> LearnedEnsemble:
    """Return the score of a single member on the held-out parts of an ensemble."""
    return LearnedEnsemble(result.table, "", result.splits, result.members[member], result.units)


def ensemble_row(name: str, title: str, learned: Sequence[LearnedEnsemble], chance: Mapping[str, float]) -> EnsembleRow:
    """Return the score on each task (the mean of its tables) and the overall score, computed as for metrics."""
    tasks: dict[str, EnsembleScore] = {}
    corrected = []
    for task in dict.fromkeys(task_of(result.table) for result in learned):
        results = [result for result in learned if task_of(result.table) == task]
        score = mean_of_estimates([Estimate(result.score, result.low, result.high, result.units) for result in results])
        above = [None if edge is None else above_chance(edge, chance[task]) for edge in (score.value, score.low, score.high)]
        corrected.append(Estimate(above[0] or 0.0, above[1], above[2], score.units))
        tasks[task] = EnsembleScore(score, above[0], min(result.splits for result in results),
                                    " and ".join(dict.fromkeys(result.learner for result in results if result.learner)))
    return EnsembleRow(name, title, mean_of_estimates(corrected), tasks)


def added_values(baselines: Baselines) -> dict[str, dict[str, AddedValue]]:
    """Return what each metric adds to the ensemble of the five, by metric and table."""
    order = list(MADE)
    return {name: {worth.table: AddedValue(worth.learner, worth.splits, worth.value, worth.low, worth.high)
                   for worth in sorted(worths, key=lambda worth: order.index(worth.table))}
            for name, worths in baselines.added_by().items()}


def ensembles_csv(summary: EnsembleSummary, added: Mapping[str, Mapping[str, AddedValue]]) -> str:
    """Return a CSV table with a line per row and task, then a line per metric and table for what it adds there."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in summary.rows:
        overall = row.overall
        writer.writerow([row.name, row.title, "all", overall.value, overall.low, overall.high, overall.value, "", ""])
        for task, result in row.tasks.items():
            score = result.score
            writer.writerow([row.name, row.title, task, score.value, score.low, score.high, result.above_chance, result.learner,
                             result.splits])
    for name, tables in added.items():
        for table, value in tables.items():
            writer.writerow([f"added by {name}", "score of the ensemble with it minus score without it", table, value.value,
                             value.low, value.high, None, value.learner, value.splits])
    return file.getvalue()
