"""The ensembles of a suite as plain values: rows for the board and for releases, and what each metric adds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from leaderboard.ensembles.baselines import GENERAL, LEAVES, MEMBERS, Baselines, LearnedEnsemble
from leaderboard.ensembles.training_tables import MADE, task_of
from leaderboard.report.build import estimate_facts
from leaderboard.scoring.estimates import Estimate, above_chance, mean_of_estimates

TRACK, STANDING = "text", "ensemble, baseline, not ranked"
TITLES = {"ensemble": "The five metrics that USMB joins, learned task by task",
          "ensemble, large leaves": "The same, forests with leaves of at least 10",
          "ensemble, general": "One linear combination of the five for all tasks"}
COLUMNS = ("row", "title", "task", "score", "low", "high", "above_chance", "learner", "splits")


def ensembles_facts(known: Baselines) -> dict[str, Any]:
    """The rows, as far as they are kept; where something is not, what computes it."""
    command = f"touchstone baselines --suite {known.suite.name}"
    reason, missing, learned = known.reason(), known.missing(), known.learned()
    chance = {name: score.chance for one in known.members[:1] for name, score in one.tasks.items()}
    kinds = {"ensemble": [one for one in learned if one.learner not in (LEAVES, GENERAL)],
             "ensemble, large leaves": [one for one in learned if one.learner != GENERAL and not has_leaves(one, learned)],
             "ensemble, general": [one for one in learned if one.learner == GENERAL]}
    rows = [row(name, TITLES[name], found, chance) for name, found in kinds.items() if found]
    rows += [row(f"{name}, held out", f"{name} alone, on the same held-out parts", members, chance)
             for name in MEMBERS if (members := [alone(one, name) for one in kinds["ensemble"]])]
    return {"track": TRACK, "standing": STANDING, "members": list(MEMBERS), "command": command, "missing": len(missing),
            "reason": reason, "rows": rows, "weights": {one.table: dict(one.weights) for one in kinds["ensemble"]}}


def has_leaves(one: LearnedEnsemble, learned: Sequence[LearnedEnsemble]) -> bool:
    """Whether the table has an ensemble with large leaves beside this one."""
    return one.learner != LEAVES and any(other.table == one.table and other.learner == LEAVES for other in learned)


def alone(one: LearnedEnsemble, member: str) -> LearnedEnsemble:
    return LearnedEnsemble(one.table, "", one.splits, one.members[member], one.units)


def row(name: str, title: str, learned: Sequence[LearnedEnsemble], chance: Mapping[str, float]) -> dict[str, Any]:
    """Its score on each task, that of alignment being the mean of its two tables'; the overall score is as everybody's."""
    tasks: dict[str, Any] = {}
    corrected = []
    for task in dict.fromkeys(task_of(one.table) for one in learned):
        mine = [one for one in learned if task_of(one.table) == task]
        score = mean_of_estimates([Estimate(one.score, one.low, one.high, one.units) for one in mine])
        above = [None if edge is None else above_chance(edge, chance[task]) for edge in (score.value, score.low, score.high)]
        corrected.append(Estimate(above[0] or 0.0, above[1], above[2], score.units))
        tasks[task] = {"score": estimate_facts(score), "above_chance": above[0], "splits": min(one.splits for one in mine),
                       "learner": " and ".join(dict.fromkeys(one.learner for one in mine if one.learner))}
    return {"name": name, "title": title, "overall": estimate_facts(mean_of_estimates(corrected)), "tasks": tasks}


def adds_facts(known: Baselines) -> dict[str, dict[str, Any]]:
    """What each metric adds to the ensemble of the five, by table."""
    order = list(MADE)
    return {name: {one.table: {key: value for key, value in asdict(one).items() if key != "table"}
                   for one in sorted(worths, key=lambda one: order.index(one.table))}
            for name, worths in known.added_by().items()}


def ensembles_csv(facts: Mapping[str, Any]) -> str:
    """A line a row and task, then a line an entry and what it adds there."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in facts["ensembles"]["rows"]:
        overall = one["overall"]
        writer.writerow([one["name"], one["title"], "all", overall["value"], overall["low"], overall["high"], overall["value"],
                         "", ""])
        for task, asked in one["tasks"].items():
            score = asked["score"]
            writer.writerow([one["name"], one["title"], task, score["value"], score["low"], score["high"], asked["above_chance"],
                             asked["learner"], asked["splits"]])
    for entry in facts["entries"]:
        for table, worth in (entry["adds"] or {}).items():
            writer.writerow([f"added by {entry['name']}", "the ensemble with it less without it", table, worth["value"],
                             worth["low"], worth["high"], None, worth["learner"], worth["splits"]])
    return written.getvalue()
