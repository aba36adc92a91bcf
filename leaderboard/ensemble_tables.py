"""From the answers in a store to the tables that ensembles learn from: one for each task of the text track."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import Refusal, did_you_mean
from harness.task import Unit
from leaderboard.ensembles import Table
from leaderboard.scores import Scored
from tasks import alignment, clustering, retrieval, robustness, sensitivity
from tasks.text_pairs import correlation_under
from tasks.transformations import SEMANTIC, SUPERFICIAL

TARGETS = {**dict.fromkeys(SEMANTIC, 0.0), "summary": 0.5, **dict.fromkeys(SUPERFICIAL, 1.0)}
UNION = 50                                  # of each metric's first documents, which are ranked again together

Seen = Sequence[tuple[Unit, Sequence[Any]]]             # of each unit, an observation a metric


def tables(scored: Sequence[Scored], task: str | None) -> list[Table]:
    """The tables of one task, or of all; refuses metrics that have not answered everything."""
    if task is not None and task not in MADE:
        raise Refusal(f'There is no ensemble of the task "{task}".{did_you_mean(task, MADE)} There are {", ".join(MADE)}.')
    found = []
    for name, make in MADE.items():
        of_task = "alignment" if name in (alignment.AXIS, alignment.COMPARISONS) else name
        if task in (None, name) and of_task in scored[0].tasks:
            found.append(make(tuple(one.name for one in scored), observed(scored, of_task)))
    if not found:
        raise Refusal(f"The suite {scored[0].suite.name} has no task of the text track; core has.")
    return found


def observed(scored: Sequence[Scored], task: str) -> Seen:
    for one in scored:
        if task not in one.tasks:
            raise Refusal(f'"{one.name}" is no text metric; ensembles are made of text metrics.')
        if len(one.tasks[task].observed) < one.tasks[task].planned:
            raise Refusal(f'"{one.name}" has answered {len(one.tasks[task].observed)} of {one.tasks[task].planned} units of '
                          f"{task}; `touchstone run {one.name} --suite {one.suite.name}` asks the rest.")
    units = scored[0].suite.units(scored[0].tasks[task].task)
    return [(unit, [one.tasks[task].observed[unit.id] for one in scored]) for unit in units]


def numbered(values: Sequence[Any]) -> np.ndarray:
    """Values as numbers, by their first appearance."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=int)


def unit_scale(one: Any, raw: np.ndarray) -> np.ndarray:
    """Answers without a self-similarity at hand, brought to [0, 1] where their range says how; else as they are."""
    reading = one.reading
    if reading.returns == "similarity" and reading.high is None:
        return raw
    return np.asarray(reading.unit(raw, np.ones_like(raw)))


def axis(metrics: tuple[str, ...], seen: Seen) -> Table:
    answers, target, groups, datasets = [], [], [], []
    for unit, each in seen:
        if unit.parameters["kind"] == alignment.AXIS and each[0].places:
            answers.append(np.column_stack([unit_scale(one, np.array(one.first)) for one in each]))
            target += each[0].ratings["overall"]
            groups += [(unit.parameters["dataset"], place) for place in each[0].places]
            datasets += [unit.parameters["dataset"]] * len(each[0].places)
    names = np.array(datasets)

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        ratings, r = np.array(target), []
        for name in np.unique(names):
            rows = np.flatnonzero((names == name) & (times > 0))
            if len(rows) > 2:
                r.append(float(correlation_under(predictions[rows], ratings[rows], times[None, rows])[0]))
        return float((1 + np.nanmean(r)) / 2)
    return Table(alignment.AXIS, metrics, np.concatenate(answers), scaled(target, names), numbered(groups)[:, None], names, names,
                 "linear", score)


def scaled(target: Sequence[float], names: np.ndarray) -> np.ndarray:
    """Ratings from 0 to 1 within each dataset: the scales differ."""
    found = np.array(target, dtype=float)
    for name in np.unique(names):
        mine = names == name
        found[mine] = (found[mine] - found[mine].min()) / max(np.ptp(found[mine]), 1e-12)
    return found


def comparisons(metrics: tuple[str, ...], seen: Seen) -> Table:
    answers, target, groups, datasets = [], [], [], []
    for unit, each in seen:
        if unit.parameters["kind"] == alignment.COMPARISONS and each[0].places:
            answers.append(np.column_stack([unit_scale(one, np.array(one.second)) - unit_scale(one, np.array(one.first))
                                            for one in each]))
            target += [choice - 0.5 for choice in each[0].choices]
            groups += [(unit.parameters["dataset"], place) for place in each[0].places]
            datasets += [unit.parameters["dataset"]] * len(each[0].places)
    signs, names = np.array(target), np.array(datasets)

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        rows = np.flatnonzero(times)
        right = np.where(predictions[rows] == 0, 0.5, ((predictions[rows] > 0) == (signs[rows] > 0)).astype(float))
        return float(np.average(right, weights=times[rows]))
    return Table(alignment.COMPARISONS, metrics, np.concatenate(answers), signs, numbered(groups)[:, None], names, names,
                 "forest", score, middle=0.5)


def of_robustness(metrics: tuple[str, ...], seen: Seen) -> Table:
    answers, groups, datasets = [], [], []
    columns = [robustness.CONDITIONS.index(name) for name in TARGETS]
    for unit, each in seen:
        raw = [np.array([[np.nan if value is None else value for value in row] for row in one.answers], dtype=float)
               .reshape(len(one.places), len(robustness.CONDITIONS)) for one in each]
        values = [one.reading.unit(table, table[:, :1])[:, columns] for one, table in zip(each, raw, strict=True)]
        whole = np.isfinite(values[0]).all(axis=1)
        answers.append(np.stack(values, axis=-1)[whole])
        groups += [(unit.parameters["dataset"], place) for place, good in zip(each[0].places, whole, strict=True) if good]
        datasets += [unit.parameters["dataset"]] * int(whole.sum())
    together, count = np.concatenate(answers), len(columns)
    targets, names = np.array(list(TARGETS.values())), np.array(datasets)

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        rows, weight = predictions.reshape(-1, count), times.reshape(-1, count)[:, 0]
        superficial, semantic, summary = (rows[:, targets == value] for value in (1.0, 0.0, 0.5))
        holds = [superficial.min(axis=1) > semantic.max(axis=1), summary[:, 0] > semantic.max(axis=1),
                 superficial.min(axis=1) > summary[:, 0]]
        return mean_of_datasets(np.mean(holds, axis=0), weight, names)
    return Table("robustness", metrics, together.reshape(-1, len(metrics)), np.tile(targets, len(together)),
                 np.repeat(numbered(groups), count)[:, None], np.tile(np.array(list(TARGETS)), len(together)),
                 np.repeat(names, count), "linear", score)


def of_sensitivity(metrics: tuple[str, ...], seen: Seen) -> Table:
    answers, groups, datasets = [], [], []
    count = len(sensitivity.CONDITIONS)
    for unit, each in seen:
        raw = [np.array(one.answers, dtype=float).reshape(len(one.places), count) for one in each]
        values = [one.reading.unit(table, np.array(one.itself)[:, None]) for one, table in zip(each, raw, strict=True)]
        answers.append(np.stack(values, axis=-1))
        groups += [(unit.parameters["dataset"], place) for place in each[0].places]
        datasets += [unit.parameters["dataset"]] * len(each[0].places)
    together, names = np.concatenate(answers), np.array(datasets)

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        changed, constant = sensitivity.score_of(np.clip(predictions.reshape(-1, count), 0, 1))
        return mean_of_datasets((changed + constant) / 2, times.reshape(-1, count)[:, 0], names)
    conditions = np.array([sensitivity.name_of(condition) for condition in sensitivity.CONDITIONS])
    return Table("sensitivity", metrics, together.reshape(-1, len(metrics)), np.tile(sensitivity.IDEAL, len(together)),
                 np.repeat(numbered(groups), count)[:, None], np.tile(conditions, len(together)), np.repeat(names, count),
                 "linear", score)


def mean_of_datasets(values: np.ndarray, weight: np.ndarray, names: np.ndarray) -> float:
    """The mean over datasets of the weighted means within them."""
    inside = [(names == name) & (weight > 0) for name in np.unique(names)]
    return float(np.mean([np.average(values[rows], weights=weight[rows]) for rows in inside if rows.any()]))


def of_clustering(metrics: tuple[str, ...], seen: Seen) -> Table:
    """A row a pair of texts of one sample; judged are pairs of which both texts are held out."""
    answers, target, groups, datasets, which, offset = [], [], [], [], [], 0
    labels_of: list[np.ndarray] = []
    for number, (unit, each) in enumerate(seen):
        labels = np.array(each[0].labels)
        first, second = np.triu_indices(len(labels), 1)
        answers.append(np.column_stack([clustering.symmetrised(one)[first, second] for one in each]))
        target.append((labels[first] == labels[second]).astype(float))
        groups.append(np.column_stack([first, second]) + offset)
        datasets += [unit.parameters["dataset"]] * len(first)
        which.append(np.full(len(first), number))
        labels_of.append(labels)
        offset += len(labels)
    pairs, sample = np.concatenate(groups), np.concatenate(which)
    every = np.concatenate(labels_of)

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        from sklearn.metrics import adjusted_mutual_info_score

        found = []
        for number in range(len(labels_of)):
            rows = np.flatnonzero((sample == number) & (times > 0))
            texts = np.unique(pairs[rows])
            if len(texts) < 4 or len(set(every[texts].tolist())) < 2:
                continue
            place = {text: at for at, text in enumerate(texts.tolist())}
            similarity = np.eye(len(texts))
            for row in rows.tolist():
                a, b = (place[text] for text in pairs[row].tolist())
                similarity[a, b] = similarity[b, a] = predictions[row]
            guessed = clustering.clusters(np.clip(similarity, 0, 1), "average", len(set(every[texts].tolist())))
            found.append(float(adjusted_mutual_info_score(every[texts], guessed)))
        return float(np.mean(found)) if found else float("nan")
    names = np.array(datasets)
    return Table("clustering", metrics, np.concatenate(answers), np.concatenate(target), pairs, names, names, "forest", score)


def of_retrieval(metrics: tuple[str, ...], seen: Seen) -> Table:
    """A row a query and a document that is among the first of some metric; a query stands in all conditions at once."""
    answers, target, groups, conditions, datasets, number, relevant = [], [], [], [], [], [], []
    query_number = 0
    for unit, each in seen:
        values = [unit_scale(one, one.answers.astype(float)) for one in each]
        for row, columns in enumerate(each[0].relevant):
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

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        shares, weights, where = [], [], []
        for query, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            if times[start] > 0 and augmented[start]:
                n = relevant[query]
                best = np.argsort(-predictions[start:stop], kind="stable")[:n]
                shares.append(right[start:stop][best].sum() / n)
                weights.append(times[start])
                where.append(names[start])
        return mean_of_datasets(np.array(shares), np.array(weights), np.array(where)) if shares else float("nan")
    return Table("retrieval", metrics, np.concatenate(answers), right, numbered(groups)[:, None], np.array(conditions), names,
                 "forest", score)


MADE: Mapping[str, Callable[[tuple[str, ...], Seen], Table]] = {
    alignment.AXIS: axis, alignment.COMPARISONS: comparisons, "robustness": of_robustness, "sensitivity": of_sensitivity,
    "clustering": of_clustering, "retrieval": of_retrieval}
