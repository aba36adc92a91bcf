"""Human ordering: the paper's tables from its own means and orders; single pairs, bounds, and what is said where nothing can be."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.base.units import Source
from harness.evaluation.run import run_suite
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.papers.published_tables import FOLDER
from leaderboard.scoring.ranking import rank_suite
from tasks.common import rank_orders
from tasks.data.loading import dataset_fingerprint
from tasks.suite_files import load_suite
from tasks.text import human_ordering
from tasks.text.human_ordering import (
    HumanOrdering,
    Pair,
    RatedAnswers,
    balance_pairs,
    divide,
    mean_word_length,
    measure_correlations,
)

SETS = ("bible_random", "paralex_random", "paraphrase_random", "yelp_rewrite_random", "gyafc_rewrite_random", "gyafc_informal_random",
        "gyafc_formal_random", "yelp_rewrite", "gyafc_rewrite", "gyafc_informal", "gyafc_formal", "bible", "paralex", "paraphrase")
RANDOM = [name.endswith("_random") for name in SETS]


def printed() -> dict[str, dict[str, str]]:
    """Table 3 (orders), 4 and 5 (scores) of Yamshchikov et al. 2020, a row a metric."""
    with (FOLDER / "yamshchikov2020_orders.csv").open(encoding="utf-8", newline="") as file:
        return {row["metric"]: row for row in csv.DictReader(file)}


def means() -> dict[str, list[float]]:
    """Tables 1 and 2: the mean of each metric on each set, in the order of SETS."""
    with (FOLDER / "yamshchikov2020_means.csv").open(encoding="utf-8", newline="") as file:
        by_metric = {(row["metric"], row["dataset"] + ("_random" if row["random"] == "1" else "")): float(row["mean"]) for row in csv.DictReader(file)}
    return {metric: [by_metric[metric, name] for name in SETS] for metric in dict.fromkeys(metric for metric, _ in by_metric)}


def order(metric: str) -> np.ndarray:
    return np.array([float(printed()[metric][name]) for name in SETS])


METRICS = [name for name in printed() if name != "human"]


@pytest.mark.parametrize("metric", METRICS)
def test_the_printed_scores_come_out_of_the_printed_orders(metric):
    row = printed()[metric]
    assert round(rank_orders.correlate(order(metric), order("human")), 2) == pytest.approx(float(row["spearman_of_order"]), abs=1e-9)
    assert rank_orders.count_coinciding_ranks(order(metric), order("human")) == int(row["coinciding_ranks"])
    assert rank_orders.count_swaps(order(metric), order("human")) == int(row["swaps"])


@pytest.mark.parametrize("metric", METRICS)
def test_the_printed_correlation_comes_out_of_the_printed_means(metric):
    """To .01, and half a unit of the last printed place."""
    values = means()[metric]
    if metric == "wmd":                     # the mean of paraphrase_random is printed as .34 and is 1.34, or nothing fits
        assert abs(rank_orders.correlate(values, means()["human"])) < 0.7
        values[SETS.index("paraphrase_random")] += 1
    correlation = abs(rank_orders.correlate(values, means()["human"]))
    assert correlation == pytest.approx(float(printed()[metric]["pearson_of_means"]), abs=0.0151)


def test_ranks_swaps_and_separation_by_hand():
    ranks = rank_orders.rank_means([0.9, 0.1, 0.5, 0.5])
    assert ranks.tolist() == [1, 4, 2.5, 2.5]
    assert rank_orders.count_swaps(np.array([1, 2, 3]), np.array([3, 2, 1])) == 2
    assert rank_orders.count_coinciding_ranks(np.array([1, 2, 3]), np.array([3, 2, 1])) == 1
    assert rank_orders.variability([0, 1, 3, 5], [True, True, False, False]) == pytest.approx(0.2)
    assert rank_orders.variability([1, 1], [True, False]) is None
    assert rank_orders.separates([0.1, 0.2, 0.2, 0.9], [True, True, False, False], [False, False, True, True])
    assert not rank_orders.separates([0.1, 0.3, 0.2, 0.9], [True, True, False, False], [False, False, True, True])
    assert rank_orders.correlate([1, 1, 1], [1, 2, 3]) is None


def test_what_raters_agree_on():
    """Shrout and Fleiss 1979, table 2 (six targets, four judges): their ICC(1,1) is .17, their ICC(1,4) .44."""
    table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
    single, mean_of_four = rank_orders.reliability_of_ratings(table)
    assert (round(single, 2), round(mean_of_four, 2)) == (0.17, 0.44)
    assert rank_orders.correlation_bound(table) == pytest.approx(np.sqrt(mean_of_four))
    assert rank_orders.reliability_of_ratings(table[:2]) is None
    assert rank_orders.reliability_of_ratings(np.ones((5, 3))) is None


def rated(answers: list[float], returns: str = "similarity", ratings: int = 0) -> RatedAnswers:
    rng = np.random.default_rng(1)
    human = tuple(float(rating) for rating in range(len(answers)))
    return RatedAnswers(tuple(range(len(answers))), tuple(answers), human,
                        tuple(tuple((rating + rng.normal(0, 1, ratings)).tolist()) for rating in human), ScoreScale(returns, None, None), ())


def test_pairs_are_correlated_as_scipy_does_and_distances_are_turned():
    answers = np.random.default_rng(0).normal(size=20).tolist()
    measures = {name: float(value[0]) for name, value in measure_correlations(rated(answers, ratings=3), np.ones((1, 20))).items()}
    human = np.arange(20)
    assert measures["spearman"] == pytest.approx(stats.spearmanr(answers, human).statistic)
    assert measures["pearson"] == pytest.approx(stats.pearsonr(answers, human).statistic)
    assert measures["kendall"] == pytest.approx(stats.kendalltau(answers, human).statistic)
    assert measures["share_of_bound"] == pytest.approx(measures["spearman"] / measures["bound"])
    turned = measure_correlations(rated(answers, "distance"), np.ones((1, 20)))
    assert float(turned["spearman"][0]) == pytest.approx(-measures["spearman"])
    assert "bound" not in turned            # of single ratings nothing is known


def test_answers_are_places_among_the_pairs_whichever_way_a_metric_points():
    ask = HumanOrdering().answers
    assert ask(rated([0.1, 5.0, 0.3, 0.3])).tolist() == pytest.approx([0, 1, 0.5, 0.5])
    assert ask(rated([0.1, 5.0, 0.3, 0.3], "distance")).tolist() == pytest.approx([1, 0, 0.5, 0.5])
    assert ask(rated([2.0])).tolist() == [0]


def test_a_constant_metric_has_no_correlation():
    measures = measure_correlations(rated([0.5] * 9), np.ones((1, 9)))
    assert all(not np.isfinite(measures[name][0]) for name in ("spearman", "pearson", "kendall"))
    assert HumanOrdering().measure(None, rated([0.5] * 9)).score is None


@pytest.fixture(scope="module")
def ranking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ordering")
    (folder / "made.toml").write_text('title = "Made"\nseed = 7\nmodel = "minilm"\n[tasks.human_ordering]\ndatasets = ["made_likeness"]\n'
                                      "pairs = 30\nbatch = 15\n")
    suite = load_suite(str(folder / "made.toml"))
    run_suite(select_entries(["jaccard", "levenshtein", "constant", "random"], SUBMISSIONS), suite, folder / "store.sqlite",
              progress=NoProgress(), jobs=2)
    return rank_suite(Store(folder / "store.sqlite", read_only=True), suite)["text"]


def test_whole_runs_are_scored_by_parallel_sets(ranking):
    scores = {ranked.scored.name: ranked.scored.tasks["human_ordering"] for ranked in ranking.places}
    jaccard = scores["jaccard"]
    assert jaccard.score.value == pytest.approx(np.mean([jaccard.measures[f"spearman: {name}"].value for name in ("trains", "weather")]))
    assert jaccard.score.value > 0.7        # the ratings were made from the words exchanged
    assert jaccard.score.low < jaccard.score.value < jaccard.score.high
    assert jaccard.measures["separates_random"].value == 1
    assert jaccard.measures["spearman_random"].value < 0.6
    assert scores["constant"].score.value == 0           # unknown counts as chance
    assert "spearman" not in scores["constant"].measures
    assert abs(scores["random"].score.value) < 0.5


def test_pairs_without_ratings_are_rejected():
    with pytest.raises(TouchstoneError, match="no rated pairs"):
        human_ordering.read_pairs("made_paraphrases")


# ---- balanced draws ---------------------------------------------------------------------------------------------------------

def made_pairs(count: int, confounded: bool) -> tuple[Pair, ...]:
    """Pairs of two genres: the second has longer words and, if confounded, higher ratings."""
    rng = np.random.default_rng(5)
    pairs = []
    for number in range(count):
        news = number % 2
        length = int(rng.integers(3, 7)) + 4 * news
        score = float(rng.random() * 5) if not confounded else float(min(5.0, rng.random() * 4 + news))
        pairs.append(Pair(" ".join(["x" * length] * 5), " ".join(["y" * length] * 6), score, ()))
    return tuple(pairs)


def correlation(pairs) -> float:
    return float(stats.spearmanr([mean_word_length(pair.b) for pair in pairs], [pair.score for pair in pairs]).statistic)


def test_word_length_says_nothing_in_balanced_draws():
    pairs = made_pairs(8_000, confounded=True)
    balanced = balance_pairs(pairs, 10_000)
    assert correlation(pairs) > 0.2
    assert abs(correlation(balanced)) < 0.05
    assert len(balanced) > 2_000
    assert [pairs.index(pair) for pair in balanced] == sorted(pairs.index(pair) for pair in balanced)       # in their order
    assert abs(correlation(balance_pairs(pairs, 500))) < 0.1
    assert 400 < len(balance_pairs(pairs, 500)) <= 500


def test_the_number_of_balanced_pairs_does_not_depend_on_their_order():
    pairs = made_pairs(600, confounded=True)
    assert len(balance_pairs(pairs, 300)) == len(balance_pairs(pairs[::-1], 300))


def test_equal_values_are_in_the_same_part():
    """By hand: ranks 1.5, 1.5, 3, 4 of four values in two parts."""
    assert divide([7.0, 7.0, 8.0, 9.0], 2).tolist() == [0, 0, 1, 1]
    assert divide([1.0] * 10, 5).tolist() == [2] * 10


@pytest.mark.parametrize("balanced", [False, True])
def test_units_of_balanced_draws_cover_their_pairs(balanced, monkeypatch, tmp_path):
    pairs = made_pairs(900, confounded=True)
    monkeypatch.setattr(human_ordering, "read_pairs", lambda name: {("parallel", "made"): pairs})
    monkeypatch.setattr(human_ordering, "cache_folder", lambda: tmp_path)
    for function in (human_ordering.count_pairs, human_ordering.sample_sets):
        monkeypatch.setattr(human_ordering, function.__name__, function.__wrapped__)
    context = Context(1, Source("minilm", "0"), {"made_likeness": dataset_fingerprint("made_likeness")})
    settings = HumanOrdering.settings_type(datasets=("made_likeness",), pairs=200, batch=64, balanced=balanced)
    units = list(HumanOrdering().units(settings, context))
    drawn = [pair for unit in units for pair in human_ordering.pairs_of(unit)]
    assert len(drawn) == units[0].parameters["pairs"] == sum(unit.parameters["stop"] - unit.parameters["start"] for unit in units)
    assert 150 < len(drawn) <= 200
    assert ("balanced" in units[0].parameters) == balanced
