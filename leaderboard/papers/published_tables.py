"""Published figures, and re-runs of published code: numbers only, with what they are of."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Figure:
    """A number of a table; `std` and `repetitions` where the source states them."""

    metric: str
    k: int | None
    measure: str                            # by our names
    mean: float
    std: float | None = None
    repetitions: int | None = None


# Columns of the published table: what the authors' code computes, by our names (kour2022.md says how that is known).
TABLE3 = {
    "accuracy": "accuracy_tree", "weighted_accuracy": "weighted_accuracy_tree", "monotonicity": "monotonicity",
    "separability": "separability", "linearity": "linearity_r", "size_robustness": "size_robustness",
    "imbalance_robustness": "imbalance_robustness_unnormalised",
}


def kour2022_table3(pair: tuple[str, str]) -> list[Figure]:
    """Kour et al. 2022, table 3; five repetitions.  S and I stand in both rows of a metric and do not depend on k."""
    return [Figure(row["metric"], None if "robustness" in measure else int(row["k"]), measure, float(row[column]), None,
                   10 if "robustness" in measure else 5)
            for row in rows("kour2022_table3.csv", pair) for column, measure in TABLE3.items()]


def kour2022_rerun(pair: tuple[str, str]) -> list[Figure]:
    """The authors' code, run again on the same data."""
    return [Figure(row["metric"], int(row["k"]) if row["k"] else None, row["measure"], float(row["mean"]),
                   float(row["std"]) if row["std"] else None, int(row["repetitions"]))
            for row in rows("kour2022_rerun.csv", pair)]


@dataclass(frozen=True)
class UsmbFigure:
    """A number of USMB's tables; its metrics' settings are not stated."""

    table: str                              # axis, comparisons, robustness, usmb, or weights_ and a task
    metric: str
    measure: str
    value: float


def usmb_tables() -> list[UsmbFigure]:
    """USMB's tables, its ensembles and their weights among them."""
    with (FOLDER / "usmb_tables.csv").open(encoding="utf-8", newline="") as file:
        return [UsmbFigure(row["table"], row["metric"], row["measure"], float(row["value"])) for row in csv.DictReader(file)]


def rows(name: str, pair: tuple[str, str]) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if (row["source_a"], row["source_b"]) == pair]


@dataclass(frozen=True)
class PublishedProfile:
    """A row of the tables of Zwerdling et al. 2021: figures by their columns' names; None where the table has none."""

    corpus: str
    model: str
    figures: dict[str, float | None]


def zwerdling2021_tables() -> list[PublishedProfile]:
    """Unique is a number of sentences of train and test, and a share of what was generated."""
    with (FOLDER / "zwerdling2021_tables.csv").open(encoding="utf-8", newline="") as file:
        return [PublishedProfile(row.pop("corpus"), row.pop("model"),
                                 {name: float(value) if value else None for name, value in row.items()})
                for row in csv.DictReader(file)]


PairSet = tuple[str, bool]                  # a dataset of pairs, and whether they are random


@dataclass(frozen=True)
class PublishedOrdering:
    """A metric of Yamshchikov et al. 2020, or people: tables 1 to 5 as printed."""

    metric: str
    means: dict[PairSet, float]             # tables 1 and 2
    ranks: dict[PairSet, float]             # table 3; 1 is the most alike
    scores: dict[str, float]                # tables 4 and 5, by our names; of people the variability alone


def yamshchikov2020_tables() -> list[PublishedOrdering]:
    """The figures as they are printed, misprints among them; people come last."""
    means: dict[str, dict[PairSet, float]] = {}
    with (FOLDER / "yamshchikov2020_means.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            means.setdefault(row["metric"], {})[row["dataset"], row["random"] == "1"] = float(row["mean"])
    found = []
    with (FOLDER / "yamshchikov2020_orders.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            metric = row.pop("metric")
            ranks = {(dataset, random): float(row.pop(f"{dataset}_random" if random else dataset))
                     for dataset, random in means[metric]}
            scores = {name: float(value) for name, value in row.items() if value}
            if "variability_percent" in scores:
                scores["variability"] = scores.pop("variability_percent") / 100
            found.append(PublishedOrdering(metric, means[metric], ranks, scores))
    return found
