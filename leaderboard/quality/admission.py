"""Admission of tasks to the ranking: a task counts only if trivial baselines stay at chance and metrics differ on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError
from harness.evaluation.suite import AdmissionRule, Axis, Suite
from leaderboard.quality.statistics import AxisQuality, TaskQuality, by_task
from leaderboard.scoring.estimates import above_chance
from leaderboard.scoring.ranking import Ranking
from leaderboard.scoring.scores import Scored, TaskScore


@dataclass(frozen=True)
class ControlScore:
    """The score of a trivial baseline above chance, with its interval and the stratum on which it scores highest."""

    name: str
    value: float
    low: float | None
    stratum: str | None
    on_stratum: float | None


@dataclass(frozen=True)
class Admission:
    """Whether a task may be ranked, and why not."""

    task: str
    admitted: bool
    reasons: list[str]
    controls: list[ControlScore]


def admit_tasks(suite: Suite, ranking: Ranking, quality: AxisQuality | None) -> list[Admission]:
    """Return the verdict on every task of the suite's track that could be ranked; none if the suite has no rule."""
    if suite.admission is None or not ranking.places:
        return []
    track, measured = ranking.places[0].scored.track, by_task(quality)
    tasks = [task.name for task in suite.tasks if task.info.ranked and task.info.track == track]
    entries = {placed.scored.name: placed.scored for placed in ranking.places}
    return [judge_task(suite.admission, name, suite.admission.controls.get(track, ()), entries, measured.get(name))
            for name in tasks]


def judge_task(rule: AdmissionRule, task: str, names: Sequence[str], entries: dict[str, Scored],
               quality: TaskQuality | None) -> Admission:
    """Return the verdict on one task."""
    reasons, controls = [], []
    for name in names:
        score = entries[name].tasks.get(task) if name in entries else None
        if score is None or score.corrected is None or not score.complete:
            reasons.append(f"the trivial baseline {name} has no score")
            continue
        control = score_control(entries[name], score)
        controls.append(control)
        if control.value > rule.score:
            reasons.append(f"{name} scores {control.value:.3f} above chance (at most {rule.score:g})")
        elif control.low is not None and control.low > rule.lower_end:
            reasons.append(f"{name} is above chance: its interval starts at {control.low:.3f} (at most {rule.lower_end:g})")
        if control.on_stratum is not None and control.on_stratum > rule.stratum:
            reasons.append(f"{name} scores {control.on_stratum:.3f} above chance on {control.stratum} (at most {rule.stratum:g})")
    if quality is not None:
        if quality.signal_to_noise is not None and quality.signal_to_noise < rule.signal_to_noise:
            reasons.append(f"its signal-to-noise ratio is {quality.signal_to_noise:.1f} (at least {rule.signal_to_noise:g})")
        if quality.clusters < rule.clusters:
            reasons.append(f"it has {quality.clusters} clusters (at least {rule.clusters})")
    return Admission(task, not reasons, reasons, controls)


def score_control(scored: Scored, score: TaskScore) -> ControlScore:
    """Return the score of a baseline above chance, in all and on the stratum where it is highest."""
    assert score.corrected is not None
    try:
        by_stratum = stratum_scores(scored, score)
    except TouchstoneError:             # a release lacks the arrays of its answers; strata were judged when it was made
        by_stratum = {}
    highest = max(by_stratum, key=lambda stratum: by_stratum[stratum]) if len(by_stratum) > 1 else None
    return ControlScore(scored.name, score.corrected.value, score.corrected.low, highest,
                        None if highest is None else by_stratum[highest])


def stratum_scores(scored: Scored, score: TaskScore) -> dict[str, float]:
    """Return the score above chance on each stratum of a task."""
    task, scores = score.task, dict[str, float]()
    units = scored.suite.units(task)
    for stratum in dict.fromkeys(unit.stratum for unit in units):
        mine = [unit for unit in units if unit.stratum == stratum]
        clusters = task.clusters(mine)
        if clusters is None:                # needs no observations, of which a release does not contain all arrays
            value, chance = float(np.mean([score.by_unit[unit.id] for unit in mine if unit.id in score.by_unit])), score.chance
        else:
            observations = [score.observed.get(unit.id) for unit in mine]
            chance = task.chance([unit for unit in mine if unit.id in score.observed],
                                 [observation for observation in observations if observation is not None])
            value = float(task.replicates(mine, observations, np.ones((1, len(clusters))))["score"][0])
        scores[" | ".join(stratum)] = above_chance(value, chance)
    return scores


def check_axis(axis: Axis, rule: AdmissionRule | None, ranking: Ranking, quality: AxisQuality | None,
               admissions: Sequence[Admission]) -> list[str]:
    """Return why a ranking must not be released: refused tasks, unequal weights, disagreeing tasks, or high baselines."""
    if rule is None or quality is None:
        return []
    refused = {admission.task: admission.reasons for admission in admissions if not admission.admitted}
    problems = [f"{task} may not be ranked: {'; '.join(refused[task])}" for task in axis.tasks if task in refused]
    if len(quality.tasks) > 1:
        problems += [f"the effective weight of {task.task} is {task.weight:.2f} times an equal share (allowed are "
                     f"{rule.weights[0]:g} to {rule.weights[1]:g})" for task in quality.tasks
                     if not rule.weights[0] <= task.weight <= rule.weights[1]]
    if quality.alpha is not None and quality.alpha < rule.alpha:
        problems.append(f"alpha is {quality.alpha:.2f} over one metric per family (at least {rule.alpha:g})")
    values = [placed.scored.overall for placed in ranking.ranked if placed.scored.overall is not None]
    limit = max(float(np.percentile(values, 10)), rule.on_axis)
    for placed in ranking.places:
        if placed.scored.name in rule.controls.get(axis.track, ()) and (placed.scored.overall or 0.0) > limit:
            problems.append(f"the trivial baseline {placed.scored.name} reaches {placed.scored.overall:.3f} on the axis "
                            f"{axis.name} (at most {limit:.3f})")
    return problems
