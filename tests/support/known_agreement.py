"""The agreement of metrics with people on sets of rated pairs: what `known_agreement.csv`, `known_sets.csv` and
`known_calibration.csv` were made of.

`python -m tests.support.known_agreement` writes the tables again; it needs a mirror (TOUCHSTONE_DATA) with the data sets.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.base.progress import NoProgress
from leaderboard.own_data import rated_sets as rated_sets_module
from leaderboard.own_data.answers import score_pairs, select_candidates
from leaderboard.own_data.calibration import calibration_error
from leaderboard.own_data.pairs.agreement import Judgements, agreements
from leaderboard.own_data.pairs.recommend import KNOWN, Candidates, make_candidates
from leaderboard.own_data.pairs.thresholds import FALSE_ALARMS
from leaderboard.own_data.rated_sets import COLUMNS, SpreadMixture, compare_sets, describe_set, draw_sets
from tasks.data.loading import load_dataset

SENTENCES, SUMMARIES = ("stsb", "sick", "lee"), ("summeval", "blanc_cnn", "blanc_daily_news")
FAMILIES = {"stsb": "sts", "blanc_cnn": "blanc", "blanc_daily_news": "blanc"}       # those of the same origin
SIZES = (1, 10, 30, 100, 300)
MOST_SENTENCES, MOST_SUMMARIES = 1_000, 800


class RatedSet(NamedTuple):
    name: str
    family: str
    candidates: Candidates
    human: np.ndarray

    def judged(self, rows: np.ndarray) -> Judgements:
        return Judgements(self.human[rows], False, np.arange(len(rows)))

    @property
    def singles(self) -> list[str]:
        return [name for name, single in zip(self.candidates.names, self.candidates.single, strict=True) if single]

    def similarities(self, rows: np.ndarray) -> Candidates:
        return Candidates(self.candidates.names, self.candidates.members, self.candidates.similarities[:, rows])


def raw_sets() -> Iterator[tuple[str, list[str], list[str], np.ndarray]]:
    """The sets of the 14 by Yamshchikov et al. 2020, parallel and random, and samples of six others."""
    for (group, random), rows in load_dataset("human_similarity_14").rows.groupby(["group", "random"]):
        yield f"{group}{' random' if random else ''}", list(rows.text_a), list(rows.text_b), rows.score.to_numpy(float)
    for name in (*SENTENCES, *SUMMARIES):
        rows = load_dataset(name).rows
        rows = rows.sample(min(len(rows), MOST_SENTENCES if name in SENTENCES else MOST_SUMMARIES), random_state=1)
        a, b, rated = ("text_a", "text_b", "score") if name in SENTENCES else ("document", "summary", "overall")
        yield name, list(rows[a]), list(rows[b]), rows[rated].to_numpy(float)


def rated_sets() -> Iterator[RatedSet]:
    """All sets with the answers of all metrics; each parallel set also together with its random pairs."""
    entries = [entry for entry in select_candidates("text", [], NoProgress()) if not entry.header.control]
    names, parallel = [entry.name for entry in entries], {}
    for name, a, b, human in raw_sets():
        similarities = np.array([answer.similarities for answer in score_pairs(a, b, entries, NoProgress())])
        if name.endswith(" random"):
            name = name.removesuffix(" random")
            mine, ours = parallel.pop(name)
            yield RatedSet(name, name.split("_")[0], make_candidates(names, mine), ours)
            joined = np.hstack([mine, similarities])
            yield RatedSet(f"{name}, also random", name.split("_")[0], make_candidates(names, joined), np.concatenate([ours, human]))
        elif name in (*SENTENCES, *SUMMARIES):
            yield RatedSet(name, FAMILIES.get(name, name), make_candidates(names, similarities), human)
        else:
            parallel[name] = similarities, human


def spread_rows(sets: Sequence[RatedSet]) -> Iterator[list[str]]:
    """What is kept of each metric and set."""
    for row, name in enumerate(sets[0].singles):
        for rated in sets:
            known = describe_set(rated.name, rated.family, rated.candidates.similarities[row], rated.human)
            middle = (rated.human.min() + rated.human.max()) / 2
            of_share = {item.false_alarms: (f"{item.value:.6g}", f"{item.detected:.3f}") for item in known.thresholds}
            yield [name, rated.name, rated.family, f"{known.spread:.6g}", f"{known.correlation:.4f}",
                   str(int((rated.human < middle).sum())), *(cell for share in FALSE_ALARMS for cell in of_share.get(share, ("", "")))]


def calibration_rows(sets: Sequence[RatedSet]) -> Iterator[list[str]]:
    """The calibration error of each metric on sets that are left out together with those of their family."""
    families = {rated.name: rated.family for rated in sets}
    for size in SIZES:
        rows = {rated.name: draw_sets(rated.human, size) for rated in sets}
        for row, metric in enumerate(sets[0].singles):
            similarity = {rated.name: rated.candidates.similarities[row] for rated in sets}
            known = [describe_set(rated.name, rated.family, similarity[rated.name], rated.human) for rated in sets]
            error = calibration_error(
                {rated.name: compare_sets(similarity[rated.name], rated.human, rows[rated.name]) for rated in sets},
                lambda left_out: SpreadMixture([item for item in known if item.family != families[left_out]], size))  # noqa: B023
            yield [metric, str(size), f"{error:.4f}"]


def write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_tables(sets: Sequence[RatedSet]) -> None:
    write(KNOWN, [["set", "family", *sets[0].candidates.names], *(
        [rated.name, rated.family, *(f"{value:.4f}" for value in agreements(
            rated.candidates.similarities, rated.judged(np.arange(len(rated.human)))))] for rated in sets)])
    write(rated_sets_module.KNOWN, [COLUMNS, *spread_rows(sets)])
    write(rated_sets_module.CALIBRATION, [("metric", "size", "error"), *calibration_rows(sets)])


if __name__ == "__main__":
    write_tables(list(rated_sets()))
