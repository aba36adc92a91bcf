"""Yamshchikov et al. 2020: the tables as printed, orders of the printed means, and means of answers in a store."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

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
    answers_by_set,
    compare,
    contradicting_sets,
    correct_misprints,
    measure_agreement,
    order_sets,
)
from tasks.suite_files import load_suite
from tasks.text.human_ordering import PARALLEL, RANDOM, Pair, read_pairs
from tests.support.command import touchstone

PUBLISHED = {published.metric: published for published in yamshchikov2020_tables()}


def spread(means: dict[tuple[str, bool], float]) -> dict[tuple[str, bool], list[float]]:
    """Return two answers with each mean, .1 apart."""
    return {pair_set: [mean - 0.05, mean + 0.05] for pair_set, mean in means.items()}


def test_the_tables_are_as_printed():
    assert len(PUBLISHED) == 14
    assert list(PUBLISHED)[-1] == HUMAN
    # Yamshchikov et al. 2020, tables 1, 2, 3, 4
    assert PUBLISHED["chrf"].means["gyafc_informal", False] == 0.34
    assert PUBLISHED["wmd"].means["paraphrase", True] == 0.34
    assert PUBLISHED[HUMAN].deviations["bible", False] == 0.72
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
    rows = {row.metric: row for row in compare(list(PUBLISHED.values()), {HUMAN: spread(PUBLISHED[HUMAN].means)}, {"bleu": "why"})}
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
    answers = answers_by_set(store, suite, stored.digest)
    for (kind, group), pairs in read_pairs("made_likeness").items():
        words = [(set(pair.a.split()), set(pair.b.split())) for pair in pairs]
        assert np.sort(answers[group, kind == RANDOM]) == pytest.approx(np.sort([len(a & b) / len(a | b) for a, b in words]))
    assert answers_by_set(store, suite, "unknown") is None


def test_tables_and_records():
    shifted = {pair_set: mean + 0.01 for pair_set, mean in correct_misprints(PUBLISHED["chrf"]).items()}
    rows = compare(list(PUBLISHED.values()), {HUMAN: spread(PUBLISHED[HUMAN].means), "chrf": spread(shifted)}, {})
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
    assert len(tables[0].rows) == len(tables[1].rows) == 14 + 2
    assert float(records["chrf", "standard deviation", "bible"]["ours"]) == pytest.approx(0.05 * 2 ** 0.5)
    assert float(records[HUMAN, "standard deviation", "bible"]["printed"]) == 0.72          # table 1
    deviations = next(row for row in tables[1].rows if row[:2] == ["chrf[published]", "ours"])
    assert deviations[2] == "0.07"


def test_correlations_of_orders():
    """Figure 1: printed orders above the diagonal, ours below it; for the raters, the printed correlations of table 4."""
    rows = compare(list(PUBLISHED.values()), {HUMAN: spread(PUBLISHED[HUMAN].means), "chrf": spread(PUBLISHED["chrf"].means)}, {})
    figure = yamshchikov2020.correlate_orders(rows)
    cells = {(row[0], name): cell for row in figure.rows for name, cell in zip(figure.columns[1:], row[1:], strict=True)}
    for metric, published in PUBLISHED.items():
        assert cells[metric, metric] == ""
        if metric != HUMAN:
            assert float(cells[metric, HUMAN]) == pytest.approx(published.scores["spearman_of_order"], abs=0.0051)
    assert cells[HUMAN, "bleu"] == "-"
    # of chrF's and the raters' orders by the printed means: 1 - 6 sum(d^2)/(14 (14^2 - 1))
    ranks = [stats.rankdata([-mean for mean in PUBLISHED[metric].means.values()]) for metric in ("chrf", HUMAN)]
    assert float(cells[HUMAN, "chrf"]) == pytest.approx(np.corrcoef(ranks)[0, 1], abs=0.0051)


def test_metrics_are_selected_by_the_name_in_the_paper_or_ours():
    assert {entry.name for entry in yamshchikov2020.paper_entries(["rougeL", "chrf[published]"])} == {"rouge_l[published]", "chrf[published]"}


@pytest.mark.parametrize(("paper", "metric", "sentence"), [
    ("yamshchikov2020", "blue", 'The paper has no metric "blue". Did you mean "bleu"?'),
    ("yamshchikov2020", "elmo_l2", "elmo_l2 needs the model elmo"),
    ("usmb", "bleu", "Metrics can be selected for yamshchikov2020, not for usmb.")])
def test_unknown_metrics_are_refused_in_one_sentence(paper, metric, sentence):
    refused = touchstone("reproduce", paper, "--metric", metric)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert sentence in refused.stderr
