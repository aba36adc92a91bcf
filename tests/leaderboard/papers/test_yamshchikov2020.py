"""Yamshchikov et al. 2020: the tables as printed, orders of the printed means, and means of answers in a store."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import scan_folder, select_entries
from leaderboard.papers import yamshchikov2020
from leaderboard.papers.base import Reproduction
from leaderboard.papers.published_tables import yamshchikov2020_tables
from leaderboard.papers.yamshchikov2020 import (
    HUMAN,
    Ordering,
    average_answers,
    compare,
    contradicting_sets,
    correct_misprints,
    measure_agreement,
    order_sets,
)
from tasks.suite_files import load_suite
from tasks.text.human_ordering import PARALLEL, RANDOM, Pair, read_pairs

PUBLISHED = {published.metric: published for published in yamshchikov2020_tables()}


def test_the_tables_are_as_printed():
    assert len(PUBLISHED) == 14
    assert list(PUBLISHED)[-1] == HUMAN
    # Yamshchikov et al. 2020, tables 1, 2, 3, 4
    assert PUBLISHED["chrf"].means["gyafc_informal", False] == 0.34
    assert PUBLISHED["wmd"].means["paraphrase", True] == 0.34
    assert PUBLISHED[HUMAN].ranks["bible", True] == 9
    assert PUBLISHED["bleu"].scores["variability"] == pytest.approx(0.002)
    assert PUBLISHED["rouge2"].scores["swaps"] == 13
    for published in PUBLISHED.values():
        assert sorted(published.ranks.values()) == list(range(1, 15))
        assert list(published.means) == list(PUBLISHED[HUMAN].means)


def test_every_metric_is_an_entry_or_needs_an_absent_model():
    assert set(yamshchikov2020.METRICS) | {HUMAN} == set(PUBLISHED)
    absent = {"cosine_word2vec", "cosine_fasttext", "elmo_l2"}
    assert {entry.name for entry in yamshchikov2020.paper_entries()} == set(yamshchikov2020.METRICS.values()) - absent
    assert set(scan_folder(SUBMISSIONS).absent) == absent


def test_only_misprints_are_corrected():
    changed = {(published.metric, pair_set) for published in PUBLISHED.values() for pair_set, mean in correct_misprints(published).items()
               if mean != published.means[pair_set]}
    assert changed == set(yamshchikov2020.MISPRINTS)
    assert correct_misprints(PUBLISHED["wmd"])["paraphrase", True] == 1.34


def test_means_as_published_have_the_published_correlation():
    rows = {row.metric: row for row in compare(list(PUBLISHED.values()), {HUMAN: PUBLISHED[HUMAN].means}, {"bleu": "why"})}
    for metric, row in rows.items():
        assert row.ours is None or metric == HUMAN
        if metric != HUMAN:
            assert row.note == f"not run: {'why' if metric == 'bleu' else 'results are incomplete'}"
            # two digits a mean, and the correlation itself is rounded
            assert row.recomputed.scores["pearson_of_means"] == pytest.approx(PUBLISHED[metric].scores["pearson_of_means"], abs=0.0151)
    # the printed ranks of people: bible_random 9 and yelp_rewrite_random 8, though 2.32 > 2.14
    assert set(contradicting_sets(rows[HUMAN])) == {("bible", True), ("yelp_rewrite", True)}
    assert contradicting_sets(rows["wmd"]) == []


def test_an_ordering_by_hand():
    people = {("a", False): 4.0, ("paralex", False): 3.0, ("a", True): 2.0, ("paralex", True): 1.0}
    equal = order_sets("chrf", {pair_set: mean / 5 for pair_set, mean in people.items()}, people)
    assert list(equal.ranks.values()) == [1, 2, 3, 4]
    assert equal.scores == pytest.approx({"pearson_of_means": 1, "spearman_of_order": 1, "coinciding_ranks": 4, "swaps": 0, "variability": 1 / 3,
                                         "separates_paraphrases": 1, "separates_style": 1})
    # the sign of a distance is reversed; one random set lies between the sets of style and of paraphrases
    reversed_order = order_sets("wmd", {("a", False): 0.1, ("paralex", False): 0.9, ("a", True): 0.5, ("paralex", True): 1.1}, people)
    assert list(reversed_order.ranks.values()) == [1, 3, 2, 4]
    assert (reversed_order.scores["swaps"], reversed_order.scores["coinciding_ranks"]) == (1, 2)
    assert (reversed_order.scores["separates_paraphrases"], reversed_order.scores["separates_style"]) == (0, 1)
    constant = order_sets("bleu", dict.fromkeys(people, 0.0), people)
    assert constant.scores["pearson_of_means"] is constant.scores["variability"] is None


def test_agreement_of_raters_by_hand():
    """Rater 1 orders the sets differently from the other two."""
    def make_pairs(*rows: tuple[float, ...]) -> tuple[Pair, ...]:
        return tuple(Pair("a", "b", float(np.mean(row)), row) for row in rows)
    pairs = {(PARALLEL, "x"): make_pairs((1, 5, 5), (3, 5, 5)), (PARALLEL, "y"): make_pairs((3, 2, 3), (3, 4, 3)), (RANDOM, "x"): make_pairs((1, 1, 2), (2, 1, 1))}
    agreement = measure_agreement(pairs)
    assert [rater[2] for rater in agreement.raters] == [1, 0, 0]        # swaps
    assert agreement.raters[0][1] == pytest.approx(0.5)                 # of (2, 1, 3) and (1, 2, 3)
    assert set(agreement.bounds) == {"all pairs", "parallel pairs", "random pairs", "x", "y"}
    assert 0 < agreement.random_indicator < 1


@pytest.fixture(scope="module")
def store_and_suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("yamshchikov")
    (folder / "made.toml").write_text('title = "Made"\nseed = 7\nmodel = "minilm"\n[tasks.human_ordering]\ndatasets = ["made_likeness"]\n'
                                      "pairs = 30\nbatch = 15\n")
    suite = load_suite(str(folder / "made.toml"))
    run_suite(select_entries(["word_overlap"], SUBMISSIONS), suite, folder / "store.sqlite", progress=NoProgress(), jobs=2)
    return Store(folder / "store.sqlite", read_only=True), suite


def test_means_of_sets_are_read_from_the_store(store_and_suite):
    store, suite = store_and_suite
    stored, = store.entries()
    means = average_answers(store, suite, stored.digest)
    for (kind, group), pairs in read_pairs("made_likeness").items():
        words = [(set(pair.a.split()), set(pair.b.split())) for pair in pairs]
        assert means[group, kind == RANDOM] == pytest.approx(np.mean([len(a & b) / len(a | b) for a, b in words]))
    assert average_answers(store, suite, "unknown") is None


def test_tables_and_records():
    means = {HUMAN: PUBLISHED[HUMAN].means, "chrf": {pair_set: mean + 0.01 for pair_set, mean in correct_misprints(PUBLISHED["chrf"]).items()}}
    rows = compare(list(PUBLISHED.values()), means, {})
    agreement = measure_agreement({(PARALLEL, "x"): (*[Pair("a", "b", 4, (4, 4))] * 3, Pair("a", "b", 2, (1, 3))),
                     (RANDOM, "x"): (Pair("a", "b", 1.5, (1, 2)),) * 3})
    tables = yamshchikov2020.build_tables(rows, agreement)
    markdown = Reproduction(tables, tables[0]).to_markdown()
    assert "0.34\\*" in markdown
    assert "| chrf[published] | ours |" in markdown
    assert "not run: " in markdown
    assert "0.34 is printed, 1.34 is correct" in markdown
    chrf = next(row for row in rows if row.metric == "chrf")
    assert isinstance(chrf.ours, Ordering)
    assert chrf.differences == pytest.approx([0.01] * 14)
    csv_rows = csv.DictReader(io.StringIO(yamshchikov2020.build_records(rows, agreement).to_csv()))
    records = {(row["metric"], row["quantity"], row["item"]): row for row in csv_rows}
    assert float(records["chrf", "mean", "bible random"]["ours"]) == pytest.approx(0.18)
    assert records["wmd", "score", "swaps"]["ours"] == ""
    assert records["wmd", "mean", "paraphrase random"]["note"].startswith("misprint")
    assert len(tables[0].rows) == 14 + 2
