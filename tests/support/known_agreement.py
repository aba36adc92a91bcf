"""The agreement of metrics with people on sets of rated pairs: what `known_agreement.csv` was made of.

`python -m tests.support.known_agreement` writes the table again; it needs a mirror (TOUCHSTONE_DATA) with the data sets.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from harness.base.progress import NoProgress
from leaderboard.own_data.answers import score_pairs, select_candidates
from leaderboard.own_data.pairs.agreement import Judgements, agreements
from leaderboard.own_data.pairs.recommend import KNOWN, Candidates, make_candidates
from tasks.data.loading import load_dataset

SENTENCES, SUMMARIES = ("stsb", "sick", "lee"), ("summeval", "blanc_cnn", "blanc_daily_news")
FAMILIES = {"stsb": "sts", **dict.fromkeys(SUMMARIES, "summaries")}       # those that share texts or origin
MOST_SENTENCES, MOST_SUMMARIES = 1_000, 800


class RatedSet(NamedTuple):
    name: str
    family: str
    candidates: Candidates
    human: np.ndarray

    def judged(self, rows: np.ndarray) -> Judgements:
        return Judgements(self.human[rows], False, np.arange(len(rows)))

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


if __name__ == "__main__":
    table = []
    for rated in rated_sets():
        values = agreements(rated.candidates.similarities, rated.judged(np.arange(len(rated.human))))
        table.append([rated.name, rated.family, *(f"{value:.4f}" for value in values)])
    with KNOWN.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["set", "family", *rated.candidates.names], *table])
