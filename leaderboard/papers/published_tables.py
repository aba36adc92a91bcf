"""Published numbers, and numbers of re-runs of published code."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class PublishedValue:
    """A number of a table, with standard deviation and repetitions where the source states them."""

    metric: str
    k: int | None
    measure: str                            # by our names
    mean: float
    std: float | None = None
    repetitions: int | None = None


# Columns of the published table: what the authors' code computes, by our names (kour2022.md explains how that is known).
TABLE3 = {
    "accuracy": "accuracy_tree", "weighted_accuracy": "weighted_accuracy_tree", "monotonicity": "monotonicity",
    "separability": "separability", "linearity": "linearity_r", "size_robustness": "size_robustness",
    "imbalance_robustness": "imbalance_robustness_unnormalised",
}


def kour2022_table3(pair: tuple[str, str]) -> list[PublishedValue]:
    """Return table 3 of Kour et al. 2022: five repetitions, ten of S and I, which do not depend on k."""
    return [PublishedValue(row["metric"], None if "robustness" in measure else int(row["k"]), measure, float(row[column]), None,
                           10 if "robustness" in measure else 5)
            for row in read_pair_rows("kour2022_table3.csv", pair) for column, measure in TABLE3.items()]


def kour2022_speeds(pair: tuple[str, str]) -> dict[tuple[str, int], float]:
    """Return T(d) of table 3 in calls per second, by metric and k."""
    return {(row["metric"], int(row["k"])): 100 * float(row["hundred_ops_per_second"])
            for row in read_pair_rows("kour2022_table3.csv", pair)}


def kour2022_rerun(pair: tuple[str, str]) -> list[PublishedValue]:
    """Return the numbers of the authors' code, run again on the same data."""
    return [PublishedValue(row["metric"], int(row["k"]) if row["k"] else None, row["measure"], float(row["mean"]),
                           float(row["std"]) if row["std"] else None, int(row["repetitions"]))
            for row in read_pair_rows("kour2022_rerun.csv", pair)]


@dataclass(frozen=True)
class UsmbFigure:
    """A number of USMB's tables; the paper does not state the settings of its metrics."""

    table: str                              # axis, comparisons, robustness, usmb, or weights_ and a task
    metric: str
    measure: str
    value: float


def usmb_tables() -> list[UsmbFigure]:
    """Return USMB's tables, including its ensembles and their weights."""
    return [UsmbFigure(row["table"], row["metric"], row["measure"], float(row["value"])) for row in read_rows("usmb_tables.csv")]


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a published table."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_pair_rows(name: str, pair: tuple[str, str]) -> list[dict[str, str]]:
    """Return the rows of a published table for a pair of sources."""
    return [row for row in read_rows(name) if (row["source_a"], row["source_b"]) == pair]


@dataclass(frozen=True)
class PublishedProfile:
    """A row of the tables of Zwerdling et al. 2021: measures by column name, None where the table has none."""

    corpus: str
    model: str
    measures: dict[str, float | None]


def zwerdling2021_tables() -> list[PublishedProfile]:
    """Return the tables; "unique" is a number of sentences for train and test, and a share for generated texts."""
    return [PublishedProfile(row.pop("corpus"), row.pop("model"),
                             {name: float(value) if value else None for name, value in row.items()})
            for row in read_rows("zwerdling2021_tables.csv")]


PairSet = tuple[str, bool]                  # a dataset of pairs, and whether they are random


@dataclass(frozen=True)
class PublishedOrdering:
    """Tables 1 to 5 of Yamshchikov et al. 2020 for one metric or for the human raters, as printed."""

    metric: str
    means: dict[PairSet, float]             # tables 1 and 2
    deviations: dict[PairSet, float]        # standard deviations over the pairs, of the same tables
    ranks: dict[PairSet, float]             # table 3; 1 is the most similar
    scores: dict[str, float]                # tables 4 and 5, by our names; for the raters only the variability


def yamshchikov2020_tables() -> list[PublishedOrdering]:
    """Return the tables as printed, including misprints; the human raters come last."""
    means: dict[str, dict[PairSet, float]] = {}
    deviations: dict[str, dict[PairSet, float]] = {}
    for row in read_rows("yamshchikov2020_means.csv"):
        pair_set = row["dataset"], row["random"] == "1"
        means.setdefault(row["metric"], {})[pair_set] = float(row["mean"])
        deviations.setdefault(row["metric"], {})[pair_set] = float(row["std"])
    orderings = []
    for row in read_rows("yamshchikov2020_orders.csv"):
        metric = row.pop("metric")
        ranks = {(dataset, random): float(row.pop(f"{dataset}_random" if random else dataset))
                 for dataset, random in means[metric]}
        scores = {name: float(value) for name, value in row.items() if value}
        if "variability_percent" in scores:
            scores["variability"] = scores.pop("variability_percent") / 100
        orderings.append(PublishedOrdering(metric, means[metric], deviations[metric], ranks, scores))
    return orderings


def raisa2025_passes() -> dict[tuple[str, str], dict[str, str]]:
    """Return the verdicts of Räisä et al. 2025 on four metrics, by check and desideratum: T, F, L (low) or H (high)."""
    return {(row.pop("check"), row.pop("desideratum")): row for row in read_rows("raisa2025_passes.csv")}
