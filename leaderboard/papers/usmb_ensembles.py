"""The ensembles of USMB's tables: one per embedding model, whose scores and weights are averaged, on held-out groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from leaderboard.ensembles.learning import TrainingTable, judge_split, split_groups
from leaderboard.ensembles.training_tables import (
    axis,
    clustering_table,
    comparisons,
    observed,
    retrieval_table,
    robustness_table,
    sensitivity_table,
)
from leaderboard.scoring.scores import Scored
from tasks.common.sampling import ASPECTS
from tasks.text.alignment import AXIS

LINEAR_SPLITS, FOREST_SPLITS = 20, 5
Figure = tuple[str, str]                    # a table of the paper and a measure, or a metric in a table of weights


def learn_published(scored: Mapping[str, Scored], members: Mapping[str, str], cosines: Sequence[str]) -> dict[Figure, float]:
    """Return the published figures of ensembles, as far as all members have complete results on a task.

    Args:
        scored: The results by entry.
        members: The entry of each published metric but cosine.
        cosines: The entries that are the cosine of one embedding model each; ensembles are averaged over them.
    """
    values: dict[Figure, list[float]] = defaultdict(list)
    for cosine in cosines:
        names = {"cosine": cosine, **members}
        entries = [scored[name] for name in names.values() if name in scored]
        if len(entries) == len(names):
            for figure, value in learn_with(entries, list(names)).items():
                values[figure].append(value)
    means = {figure: float(np.mean(of_models)) for figure, of_models in values.items()}
    if ("axis", "overall") in means and ("comparisons", "accuracy") in means:
        means["usmb", "alignment"] = (means["axis", "overall"] + means["comparisons", "accuracy"]) / 2
    scores = [means.get(("usmb", task)) for task in ("alignment", "robustness", "sensitivity", "clustering", "retrieval")]
    available = [score for score in scores if score is not None]
    if len(available) == len(scores):
        means["usmb", "overall"] = float(np.mean(available))
    return means


def learn_with(entries: Sequence[Scored], names: Sequence[str]) -> dict[Figure, float]:
    """Return the published figures of the ensembles of these entries; `names` are the published names of the members."""
    metrics = tuple(entry.name for entry in entries)
    values: dict[Figure, float] = {}

    def complete(task: str) -> bool:
        scores = [entry.tasks[task] for entry in entries if task in entry.tasks]
        return len(scores) == len(entries) and all(score.complete and not score.failures for score in scores)

    def learn(table: TrainingTable, weights_of: str | None = None) -> dict[str, float]:
        scores, weights = learn_measures(table)
        if weights_of is not None:
            values.update({(f"weights_{weights_of}", name): weight for name, weight in zip(names, weights, strict=True)})
        return scores

    if complete("alignment"):
        units = observed(entries, "alignment")
        rated = [unit for unit in units if unit[0].parameters["kind"] == AXIS and unit[1][0].ratings]
        for aspect in ASPECTS if rated else ():
            if all(aspect in answers[0].ratings for _, answers in rated):
                values["axis", aspect] = learn(axis(metrics, units, aspect), "axis" if aspect == "overall" else None)["score"]
        if len(rated) < len(units):
            chosen = learn(comparisons(metrics, units), "comparisons")
            values |= {("comparisons", measure): value for measure, value in chosen.items() if measure != "score"}
    if complete("robustness"):
        shares = learn(robustness_table(metrics, observed(entries, "robustness")), "robustness")
        values |= {("robustness", "overall" if measure == "score" else measure): value for measure, value in shares.items()}
        values["usmb", "robustness"] = shares["score"]
    if complete("sensitivity"):
        table = sensitivity_table(metrics, observed(entries, "sensitivity"), published=True)
        values["usmb", "sensitivity"] = learn(table, "sensitivity")["score"]
    if complete("clustering"):
        values["usmb", "clustering"] = learn(clustering_table(metrics, observed(entries, "clustering")))["clustering"]
    if complete("retrieval"):
        values["usmb", "retrieval"] = learn(retrieval_table(metrics, observed(entries, "retrieval")))["score"]
    return values


def learn_measures(table: TrainingTable) -> tuple[dict[str, float], np.ndarray]:
    """Return the score of a table and its published measures, and the members' weights: means over splits."""
    scores: dict[str, list[float]] = defaultdict(list)
    weights = []
    for seed in range(LINEAR_SPLITS if table.learner == "linear" else FOREST_SPLITS):
        split = split_groups(table, seed)
        judged = judge_split(table, split, seed)
        weights.append(judged.weights)
        scores["score"].append(judged.score)
        for measure, score in table.published.items():
            scores[measure].append(score(judged.predictions, split.judged))
    return {measure: float(np.nanmean(values)) for measure, values in scores.items()}, np.mean(weights, axis=0)
