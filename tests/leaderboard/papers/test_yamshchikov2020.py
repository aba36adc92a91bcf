"""Yamshchikov et al. 2020 beside ours: the tables as printed, what their own means say, and means of answers in a store."""

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
from leaderboard.papers import yamshchikov2020 as reproduction
from leaderboard.papers.published_tables import yamshchikov2020_tables
from leaderboard.papers.yamshchikov2020 import PEOPLE, Ordering, ceilings, compare, contradicted, mended, ordering, set_means
from tasks.suite_files import load_suite
from tasks.text.human_ordering import PARALLEL, RANDOM, Pair, read_pairs

PUBLISHED = {one.metric: one for one in yamshchikov2020_tables()}


def test_the_tables_are_as_printed():
    assert len(PUBLISHED) == 14
    assert list(PUBLISHED)[-1] == PEOPLE
    # Yamshchikov et al. 2020, tables 1, 2, 3, 4
    assert PUBLISHED["chrf"].means["gyafc_informal", False] == 0.34
    assert PUBLISHED["wmd"].means["paraphrase", True] == 0.34
    assert PUBLISHED[PEOPLE].ranks["bible", True] == 9
    assert PUBLISHED["bleu"].scores["variability"] == pytest.approx(0.002)
    assert PUBLISHED["rouge2"].scores["swaps"] == 13
    for one in PUBLISHED.values():
        assert sorted(one.ranks.values()) == list(range(1, 15))
        assert list(one.means) == list(PUBLISHED[PEOPLE].means)


def test_every_metric_is_an_entry_or_said_to_be_absent():
    assert set(reproduction.METRICS) | {PEOPLE} == set(PUBLISHED)
    brought = {"cosine_word2vec", "cosine_fasttext", "elmo_l2"}
    assert {entry.name for entry in reproduction.compared()} == set(reproduction.METRICS.values()) - brought
    assert set(scan_folder(SUBMISSIONS).absent) == brought


def test_misprints_are_mended_and_nothing_else():
    changed = {(one.metric, where) for one in PUBLISHED.values() for where, mean in mended(one).items() if mean != one.means[where]}
    assert changed == set(reproduction.MISPRINTS)
    assert mended(PUBLISHED["wmd"])["paraphrase", True] == 1.34


def test_means_as_published_have_the_published_correlation():
    rows = {row.metric: row for row in compare(list(PUBLISHED.values()), {PEOPLE: PUBLISHED[PEOPLE].means}, {"bleu": "why"})}
    for metric, row in rows.items():
        assert row.ours is None or metric == PEOPLE
        if metric != PEOPLE:
            assert row.note == f"not run: {'why' if metric == 'bleu' else 'not all of its answers are stored'}"
            # two digits a mean, and the correlation itself is rounded
            assert row.mended.scores["pearson_of_means"] == pytest.approx(PUBLISHED[metric].scores["pearson_of_means"], abs=0.0151)
    # the printed ranks of people: bible_random 9 and yelp_rewrite_random 8, though 2.32 > 2.14
    assert set(contradicted(rows[PEOPLE])) == {("bible", True), ("yelp_rewrite", True)}
    assert contradicted(rows["wmd"]) == []


def test_an_ordering_by_hand():
    people = {("a", False): 4.0, ("paralex", False): 3.0, ("a", True): 2.0, ("paralex", True): 1.0}
    same = ordering("chrf", {where: mean / 5 for where, mean in people.items()}, people)
    assert list(same.ranks.values()) == [1, 2, 3, 4]
    assert same.scores == pytest.approx({"pearson_of_means": 1, "spearman_of_order": 1, "coinciding_ranks": 4, "swaps": 0, "variability": 1 / 3,
                                         "separates_paraphrases": 1, "separates_style": 1})
    # a distance is turned; one random set lies between the sets of style and of paraphrases
    turned = ordering("wmd", {("a", False): 0.1, ("paralex", False): 0.9, ("a", True): 0.5, ("paralex", True): 1.1}, people)
    assert list(turned.ranks.values()) == [1, 3, 2, 4]
    assert (turned.scores["swaps"], turned.scores["coinciding_ranks"]) == (1, 2)
    assert (turned.scores["separates_paraphrases"], turned.scores["separates_style"]) == (0, 1)
    constant = ordering("bleu", dict.fromkeys(people, 0.0), people)
    assert constant.scores["pearson_of_means"] is constant.scores["variability"] is None


def test_ceilings_by_hand():
    """Rater 1 has the sets in another order than the other two."""
    def of(*rows: tuple[float, ...]) -> tuple[Pair, ...]:
        return tuple(Pair("a", "b", float(np.mean(row)), row) for row in rows)
    pairs = {(PARALLEL, "x"): of((1, 5, 5), (3, 5, 5)), (PARALLEL, "y"): of((3, 2, 3), (3, 4, 3)), (RANDOM, "x"): of((1, 1, 2), (2, 1, 1))}
    found = ceilings(pairs)
    assert [rater[2] for rater in found.raters] == [1, 0, 0]        # swaps
    assert found.raters[0][1] == pytest.approx(0.5)                 # of (2, 1, 3) and (1, 2, 3)
    assert set(found.bounds) == {"all pairs", "parallel pairs", "random pairs", "x", "y"}
    assert 0 < found.random_alone < 1


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("yamshchikov")
    (folder / "made.toml").write_text('title = "Made"\nseed = 7\nmodel = "minilm"\n[tasks.human_ordering]\ndatasets = ["made_likeness"]\n'
                                      "pairs = 30\nbatch = 15\n")
    suite = load_suite(str(folder / "made.toml"))
    run_suite(select_entries(["word_overlap"], SUBMISSIONS), suite, folder / "store.sqlite", progress=NoProgress(), jobs=2)
    return Store(folder / "store.sqlite", read_only=True), suite


def test_means_of_sets_are_read_from_the_store(answered):
    store, suite = answered
    stored, = store.entries()
    found = set_means(store, suite, stored.digest)
    for (kind, group), pairs in read_pairs("made_likeness").items():
        words = [(set(pair.a.split()), set(pair.b.split())) for pair in pairs]
        assert found[group, kind == RANDOM] == pytest.approx(np.mean([len(a & b) / len(a | b) for a, b in words]))
    assert set_means(store, suite, "unknown") is None


def test_it_is_written_in_three_forms():
    some = {PEOPLE: PUBLISHED[PEOPLE].means, "chrf": {where: mean + 0.01 for where, mean in mended(PUBLISHED["chrf"]).items()}}
    rows = compare(list(PUBLISHED.values()), some, {})
    most = ceilings({(PARALLEL, "x"): (*[Pair("a", "b", 4, (4, 4))] * 3, Pair("a", "b", 2, (1, 3))),
                     (RANDOM, "x"): (Pair("a", "b", 1.5, (1, 2)),) * 3})
    markdown = reproduction.as_markdown(rows, most)
    assert "0.34\\*" in markdown
    assert "| chrf[published] | ours |" in markdown
    assert "not run: " in markdown
    assert "0.34 is printed, 1.34 is meant" in markdown
    chrf = next(row for row in rows if row.metric == "chrf")
    assert isinstance(chrf.ours, Ordering)
    assert chrf.off == pytest.approx([0.01] * 14)
    read_again = list(csv.DictReader(io.StringIO(reproduction.as_csv(rows, most))))
    mine = {(row["metric"], row["what"], row["of"]): row for row in read_again}
    assert float(mine["chrf", "mean", "bible random"]["ours"]) == pytest.approx(0.18)
    assert mine["wmd", "score", "swaps"]["ours"] == ""
    assert mine["wmd", "mean", "paraphrase random"]["note"].startswith("misprint")
    assert len(reproduction.mean_lines(rows)) == 1 + 14 + 2
