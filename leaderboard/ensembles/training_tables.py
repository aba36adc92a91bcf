"""Build the tables that ensembles are trained on from stored answers: one per task of the text track."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Unit
from leaderboard.ensembles.learning import SplitScores, TrainingTable, mean_of_strata
from leaderboard.scoring.scores import Scored
from tasks.common.correlations import weighted_correlations
from tasks.common.transformations import SEMANTIC, SUPERFICIAL
from tasks.text import alignment, clustering, human_ordering, retrieval, robustness, sensitivity

TARGETS = {**dict.fromkeys(SEMANTIC, 0.0), "summary": 0.5, **dict.fromkeys(SUPERFICIAL, 1.0)}
UNION = 50                                  # documents of each metric that are re-ranked together

Seen = Sequence[tuple[Unit, Sequence[Any]]]             # per test unit, one observation per metric


def training_tables(scored: Sequence[Scored], task: str | None) -> list[TrainingTable]:
    """Return the tables of one task, or of all tasks that any entry was run on; raise if an entry's answers are incomplete."""
    if task is not None and task not in MADE:
        raise TouchstoneError(f'No ensemble exists for the task "{task}".{did_you_mean(task, MADE)} Use one of '
                              f'{", ".join(MADE)}.')
    tables = []
    for name, make in MADE.items():
        of_task = task_of(name)
        asked_any = any(of_task in entry.tasks and entry.tasks[of_task].asked for entry in scored)
        if of_task in scored[0].tasks and (task == name or (task is None and asked_any)):
            tables.append(make(tuple(entry.name for entry in scored), observed(scored, of_task)))
    if not tables:
        raise TouchstoneError(f"The suite {scored[0].suite.name} has no task of the text track; use another suite, such as core.")
    return tables


def task_of(table: str) -> str:
    """Return the task of a table; alignment has two tables."""
    return "alignment" if table in (alignment.AXIS, alignment.COMPARISONS) else table


def observed(scored: Sequence[Scored], task: str) -> Seen:
    """Return the test units of a task with the observations of all entries."""
    for entry in scored:
        if task not in entry.tasks:
            raise TouchstoneError(f'"{entry.name}" is not a text metric; ensembles combine text metrics.')
        if entry.tasks[task].answered < entry.tasks[task].planned:
            raise TouchstoneError(f'"{entry.name}" has results for {entry.tasks[task].answered} of '
                                  f"{entry.tasks[task].planned} test units of {task}; `touchstone run {entry.name} --suite "
                                  f"{entry.suite.name}` runs the rest.")
    units = scored[0].suite.units(scored[0].tasks[task].task)
    return [(unit, [entry.tasks[task].observed[unit.id] for entry in scored]) for unit in units]


def number_groups(values: Sequence[Any]) -> np.ndarray:
    """Number values by their first appearance."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=int)


def unit_scale(observation: Any, raw: np.ndarray) -> np.ndarray:
    """Return answers brought to [0, 1] if their range allows it without self-similarities, else unchanged."""
    scale = observation.scale
    if scale.returns == "similarity" and scale.high is None:
        return raw
    return np.asarray(scale.to_unit_interval(raw, np.ones_like(raw)))


def axis(metrics: tuple[str, ...], units: Seen, aspect: str = "overall") -> TrainingTable:
    """Return the table of summaries with their ratings in one aspect."""
    answers, target, groups, datasets = [], [], [], []
    for unit, each in units:
        if unit.parameters["kind"] == alignment.AXIS and each[0].places:
            answers.append(np.column_stack([unit_scale(item, np.array(item.first)) for item in each]))
            target += each[0].ratings[aspect]
            groups += [(unit.parameters["dataset"], document) for document in each[0].places]
            datasets += [unit.parameters["dataset"]] * len(each[0].places)
    names, ratings = np.array(datasets), np.array(target)
    inside = [np.flatnonzero(names == name) for name in np.unique(names)]

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        judged = [rows[times[rows] > 0] for rows in inside]
        r = [weighted_correlations(predictions[rows], ratings[rows], times[None, rows])[0] for rows in judged if len(rows) > 2]
        finite = [item for item in r if np.isfinite(item)]
        return float((1 + np.mean(finite)) / 2) if finite else float("nan")

    return TrainingTable(
        alignment.AXIS,
        metrics,
        np.concatenate(answers),
        scaled(target, names),
        number_groups(groups)[:, None],
        names,
        names,
        "linear",
        score,
    )


def scaled(target: Sequence[float], names: np.ndarray) -> np.ndarray:
    """Return ratings scaled to [0, 1] within each dataset."""
    target_values = np.array(target, dtype=float)
    for name in np.unique(names):
        mine = names == name
        target_values[mine] = (target_values[mine] - target_values[mine].min()) / max(np.ptp(target_values[mine]), 1e-12)
    return target_values


def comparisons(metrics: tuple[str, ...], units: Seen) -> TrainingTable:
    """Return the table of compared summaries."""
    answers, target, groups, datasets = [], [], [], []
    for unit, observed in units:
        if unit.parameters["kind"] == alignment.COMPARISONS and observed[0].places:
            answers.append(
                np.column_stack(
                    [
                        unit_scale(observation, np.array(observation.second))
                        - unit_scale(observation, np.array(observation.first))
                        for observation in observed
                    ]
                )
            )
            target += [choice - 0.5 for choice in observed[0].choices]
            groups += [(unit.parameters["dataset"], document) for document in observed[0].places]
            datasets += [unit.parameters["dataset"]] * len(observed[0].places)
    signs, names = np.array(target), np.array(datasets)

    documents = number_groups(groups)

    def each(predictions: np.ndarray, times: np.ndarray) -> SplitScores:
        rows = np.flatnonzero(times)
        right = np.where(predictions[rows] == 0, 0.5, ((predictions[rows] > 0) == (signs[rows] > 0)).astype(float))
        return SplitScores(right, times[rows], documents[rows], np.zeros(len(rows), dtype=int))

    def choice(measure: str) -> Callable[[np.ndarray, np.ndarray], float]:
        def score(predictions: np.ndarray, times: np.ndarray) -> float:
            rows = np.flatnonzero(times)
            guessed = 0.5 + np.sign(predictions[rows]) / 2
            values = alignment.choice_measures(guessed, (signs[rows] > 0).astype(float), times[None, rows].astype(float))
            return float(values[measure][0])
        return score

    return TrainingTable(
        alignment.COMPARISONS,
        metrics,
        np.concatenate(answers),
        signs,
        documents[:, None],
        names,
        names,
        "forest",
        lambda predictions, times: mean_of_strata(each(predictions, times)),
        0.5,
        each,
        {measure: choice(measure) for measure in ("accuracy", "precision", "recall", "f1")},
    )


def robustness_table(metrics: tuple[str, ...], units: Seen) -> TrainingTable:
    """Return the table of robustness."""
    answers, groups, datasets = [], [], []
    columns = [robustness.CONDITIONS.index(name) for name in TARGETS]
    for unit, observed in units:
        raw = [np.array([[np.nan if value is None else value for value in row] for row in observation.answers], dtype=float)
               .reshape(len(observation.places), len(robustness.CONDITIONS)) for observation in observed]
        values = [
            observation.scale.to_unit_interval(table, table[:, :1])[:, columns]
            for observation, table in zip(observed, raw, strict=True)
        ]
        whole = np.isfinite(values[0]).all(axis=1)
        answers.append(np.stack(values, axis=-1)[whole])
        groups += [
            (unit.parameters["dataset"], document) for document, good in zip(observed[0].places, whole, strict=True) if good
        ]
        datasets += [unit.parameters["dataset"]] * int(whole.sum())
    together, count = np.concatenate(answers), len(columns)
    targets, names = np.array(list(TARGETS.values())), np.array(datasets)
    documents, strata = number_groups(groups), number_groups(datasets)

    def orders(predictions: np.ndarray, times: np.ndarray, names: Sequence[str] = robustness.SHARES) -> SplitScores:
        at = np.flatnonzero(times[::count])
        rows = predictions.reshape(-1, count)[at]
        superficial, semantic, summary = (rows[:, targets == value] for value in (1.0, 0.0, 0.5))
        holds = {"superficial_over_semantic": superficial.min(axis=1) > semantic.max(axis=1),
                 "summary_over_semantic": summary[:, 0] > semantic.max(axis=1),
                 "superficial_over_summary": superficial.min(axis=1) > summary[:, 0]}
        return SplitScores(np.mean([holds[name] for name in names], axis=0), times[::count][at], documents[at], strata[at])

    def share(name: str, predictions: np.ndarray, times: np.ndarray) -> float:
        return mean_of_strata(orders(predictions, times, [name]))

    return TrainingTable("robustness", metrics, together.reshape(-1, len(metrics)), np.tile(targets, len(together)),
                         np.repeat(documents, count)[:, None], np.tile(np.array(list(TARGETS)), len(together)),
                         np.repeat(names, count), "linear",
                         lambda predictions, times: mean_of_strata(orders(predictions, times)), each=orders,
                         published={name: partial(share, name) for name in robustness.SHARES})


def sensitivity_table(metrics: tuple[str, ...], units: Seen, published: bool = False) -> TrainingTable:
    """Return the table of sensitivity, with all conditions or only with those of USMB."""
    answers, groups, datasets = [], [], []
    kept = sensitivity.IS_PUBLISHED if published else np.ones(len(sensitivity.CONDITIONS), dtype=bool)
    count = int(kept.sum())
    for unit, observed in units:
        raw = [np.array(item.answers, dtype=float).reshape(len(item.places), len(kept))[:, kept] for item in observed]
        values = [observation.scale.to_unit_interval(table, np.array(observation.itself)[:, None])
                  for observation, table in zip(observed, raw, strict=True)]
        answers.append(np.stack(values, axis=-1))
        groups += [(unit.parameters["dataset"], document) for document in observed[0].places]
        datasets += [unit.parameters["dataset"]] * len(observed[0].places)
    together, names, documents, strata = (
        np.concatenate(answers),
        np.array(datasets),
        number_groups(groups),
        number_groups(datasets),
    )

    def each(predictions: np.ndarray, times: np.ndarray) -> SplitScores:
        at = np.flatnonzero(times[::count])
        similarity = np.full((len(at), len(kept)), np.nan)
        similarity[:, kept] = np.clip(predictions.reshape(-1, count)[at], 0, 1)
        changed, constant = sensitivity.score_sensitivity(similarity)
        return SplitScores(changed if published else (changed + constant) / 2, times[::count][at], documents[at], strata[at])
    conditions = np.array([sensitivity.condition_name(condition) for condition in sensitivity.CONDITIONS])[kept]
    ideal = sensitivity.IDEAL[kept]
    return TrainingTable("sensitivity", metrics, together.reshape(-1, len(metrics)), np.tile(ideal, len(together)),
                         np.repeat(documents, count)[:, None], np.tile(conditions, len(together)), np.repeat(names, count),
                         "linear", lambda predictions, times: mean_of_strata(each(predictions, times)), each=each)


def clustering_table(metrics: tuple[str, ...], units: Seen) -> TrainingTable:
    """Return the table of clustering: a row per pair of texts of a sample; pairs with both texts held out are evaluated."""
    answers, target, groups, datasets, starts, offset = [], [], [], [], [0], 0
    labels_of: list[np.ndarray] = []
    for unit, observed in units:
        labels = np.array(observed[0].labels)
        first, second = np.triu_indices(len(labels), 1)
        answers.append(np.column_stack([clustering.symmetrize(observation)[first, second] for observation in observed]))
        target.append((labels[first] == labels[second]).astype(float))
        groups.append(np.column_stack([first, second]) + offset)
        datasets += [unit.parameters["dataset"]] * len(first)
        starts.append(starts[-1] + len(first))
        labels_of.append(labels)
        offset += len(labels)
    pairs, every, names, strata = np.concatenate(groups), np.concatenate(labels_of), np.array(datasets), number_groups(datasets)

    def cluster(predictions: np.ndarray, times: np.ndarray, linkage: clustering.Linkage = "average") -> SplitScores:
        from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

        compare_labels = adjusted_mutual_info_score if linkage == "average" else v_measure_score
        scores, judged = [], []
        for sample, (start, stop) in enumerate(itertools.pairwise(starts)):
            rows = start + np.flatnonzero(times[start:stop] > 0)
            texts, places = np.unique(pairs[rows], return_inverse=True)
            labels = every[texts]
            if len(texts) < 4 or len(np.unique(labels)) < 2:
                continue
            a, b = places.reshape(-1, 2).T
            similarity = np.eye(len(texts))
            similarity[a, b] = similarity[b, a] = predictions[rows]
            guessed = clustering.cluster_texts(np.clip(similarity, 0, 1), linkage, len(np.unique(labels)))
            scores.append(float(compare_labels(labels, guessed)))
            judged.append(sample)
        return SplitScores(np.array(scores), np.ones(len(scores)), np.array(judged, dtype=int), strata[np.array(starts)[judged]])
    return TrainingTable("clustering", metrics, np.concatenate(answers), np.concatenate(target), pairs, names, names, "forest",
                         lambda predictions, times: mean_of_strata(cluster(predictions, times)), each=cluster,
                         published={"clustering": lambda predictions, times: mean_of_strata(cluster(predictions, times, "ward"))})


def retrieval_table(metrics: tuple[str, ...], units: Seen) -> TrainingTable:
    """Return the table of retrieval: a row per query and document that is among the first of some metric."""
    answers, target, groups, conditions, datasets, number, relevant = [], [], [], [], [], [], []
    query_number = 0
    for unit, observed in units:
        values = [unit_scale(observation, observation.answers.astype(float)) for observation in observed]
        for row, columns in enumerate(observed[0].relevant):
            first = np.unique(np.concatenate([np.argsort(-value[row], kind="stable")[:UNION] for value in values]))
            answers.append(np.column_stack([value[row][first] for value in values]))
            target.append(np.isin(first, columns).astype(float))
            groups += [(unit.parameters["dataset"], row)] * len(first)
            conditions += [unit.parameters["condition"]] * len(first)
            datasets += [unit.parameters["dataset"]] * len(first)
            number.append(np.full(len(first), query_number))
            relevant.append(len(columns))
            query_number += 1
    asked, right = np.concatenate(number), np.concatenate(target)
    names, augmented = np.array(datasets), np.array(conditions) != retrieval.ORIGINAL
    starts = np.flatnonzero(np.r_[True, np.diff(asked) > 0, True])

    queries, strata = number_groups(groups), number_groups(datasets)

    def each(predictions: np.ndarray, times: np.ndarray) -> SplitScores:
        shares, asked_at = [], []
        for query, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            if times[start] > 0 and augmented[start]:
                n = relevant[query]
                best = np.argsort(-predictions[start:stop], kind="stable")[:n]
                shares.append(right[start:stop][best].sum() / n)
                asked_at.append(start)
        at = np.array(asked_at, dtype=int)
        return SplitScores(np.array(shares), times[at], queries[at], strata[at])

    return TrainingTable(
        "retrieval",
        metrics,
        np.concatenate(answers),
        right,
        queries[:, None],
        np.array(conditions),
        names,
        "forest",
        lambda predictions, times: mean_of_strata(each(predictions, times)),
        each=each,
    )


def human_ordering_table(metrics: tuple[str, ...], units: Seen) -> TrainingTable:
    """Return the table of human ordering: a row per rated pair of parallel texts."""
    answers, target, texts, sets = [], [], [], []
    for unit, each in units:
        if unit.parameters["kind"] == human_ordering.PARALLEL and each[0].places:
            answers.append(np.column_stack([unit_scale(observation, np.array(observation.answers)) for observation in each]))
            target += each[0].human
            texts += [[(unit.stratum[1], pair.a), (unit.stratum[1], pair.b)] for pair in human_ordering.pairs_of(unit)]
            sets += [unit.stratum[1]] * len(each[0].places)
    names, people = np.array(sets), np.array(target)
    numbers = number_groups([text for pair in texts for text in pair]).reshape(-1, 2)
    inside = [np.flatnonzero(names == name) for name in np.unique(names)]

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        judged = [rows[times[rows] > 0] for rows in inside]
        ranked = scipy.stats.rankdata
        r = [weighted_correlations(ranked(predictions[rows]), ranked(people[rows]), times[None, rows])[0]
             for rows in judged if len(rows) > 2]
        return float(np.mean(np.nan_to_num(r))) if r else float("nan")

    return TrainingTable(
        "human_ordering",
        metrics,
        np.concatenate(answers),
        scaled(target, names),
        met(numbers, names),
        names,
        names,
        "linear",
        score,
    )


def met(texts: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return groups of pairs that share texts; if one group is half of a dataset, each text is a group."""
    ties = scipy.sparse.coo_array((np.ones(len(texts)), (texts[:, 0], texts[:, 1])), shape=(int(texts.max()) + 1,) * 2)
    together = scipy.sparse.csgraph.connected_components(ties, directed=False)[1][texts] + int(texts.max()) + 1
    groups = together
    for name in np.unique(names):
        rows = names == name
        if np.unique(together[rows, 0], return_counts=True)[1].max() > rows.sum() / 2:
            groups = np.where(rows[:, None], texts, groups)
    return np.asarray(groups)


MADE: Mapping[str, Callable[[tuple[str, ...], Seen], TrainingTable]] = {
    alignment.AXIS: axis, alignment.COMPARISONS: comparisons, "robustness": robustness_table, "sensitivity": sensitivity_table,
    "clustering": clustering_table, "retrieval": retrieval_table, "human_ordering": human_ordering_table}
