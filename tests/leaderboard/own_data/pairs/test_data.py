"""Judged pairs of a user, and what could be wrong with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from leaderboard.own_data.pairs.data import MOST_PAIRS, describe_language, group_pairs, read_judged_pairs

GERMAN = "Der Zug nach Hamburg kommt heute leider deutlich später als geplant"


def write(tmp_path, count=40, **columns):
    path = tmp_path / "rated.csv"
    rows = {"text_a": [f"this is the first text {i}" for i in range(count)],
            "text_b": [f"and this is the other text {i}" for i in range(count)], "score": np.arange(count) % 5, **columns}
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


def test_ratings_and_labels(tmp_path):
    rated = read_judged_pairs(write(tmp_path))
    assert (len(rated), rated.judgements.labelled, rated.scale, rated.notes) == (40, False, (0, 4), [])
    labelled = read_judged_pairs(write(tmp_path, score=[5, 2] * 20))
    assert labelled.judgements.labelled
    assert labelled.judgements.human.tolist() == [1, 0] * 20


@pytest.mark.parametrize(("columns", "count", "message"), [
    ({}, 3, "3 usable pairs; 20 are required"), ({"score": [3] * 40}, 40, "are 3, so no metric can be better"),
    ({"score": [1] * 38 + [0] * 2}, 40, "5 of each are required"), ({"score": [""] * 40}, 40, "has no row")])
def test_pairs_that_say_nothing_are_refused(tmp_path, columns, count, message):
    with pytest.raises(TouchstoneError, match=message):
        read_judged_pairs(write(tmp_path, count, **columns))


def test_pairs_without_judgements_are_refused(tmp_path):
    path = tmp_path / "pairs.csv"
    pd.DataFrame({"text_a": ["a b"] * 30, "text_b": [f"c {i}" for i in range(30)]}).to_csv(path, index=False)
    with pytest.raises(TouchstoneError, match="--texts"):
        read_judged_pairs(str(path))


def test_a_dataset_of_the_registry_and_one_that_has_no_pairs():
    assert len(read_judged_pairs("made_likeness")) > 100
    with pytest.raises(TouchstoneError, match="kind corpus"):
        read_judged_pairs("made_weather")


def test_choices_are_labels_of_pairs_that_share_a_document(tmp_path):
    path = tmp_path / "choices.csv"
    pd.DataFrame({"document": [f"a long report about matter {i}" for i in range(12)], "summary_a": [f"report {i}" for i in range(12)],
                  "summary_b": [f"nothing {i}" for i in range(12)], "choice": ["a", "b"] * 6}).to_csv(path, index=False)
    pairs = read_judged_pairs(str(path))
    assert (len(pairs), pairs.judgements.labelled, pairs.judgements.clusters.max() + 1) == (24, True, 12)
    labels = dict(zip(zip(pairs.a, pairs.b, strict=True), pairs.judgements.human, strict=True))
    assert labels["a long report about matter 0", "report 0"] == labels["a long report about matter 1", "nothing 1"] == 1
    assert labels["a long report about matter 0", "nothing 0"] == 0
    assert any("used as labels" in note for note in pairs.notes)
    assert len(read_judged_pairs(f"choices:{path}")) == 24


def test_of_many_pairs_some_are_drawn(tmp_path):
    rated = read_judged_pairs(write(tmp_path, 6_000))
    assert len(rated) == MOST_PAIRS
    assert "5,000 of 6,000 pairs are used, drawn at random." in rated.notes


def test_long_equal_and_foreign_texts_are_mentioned(tmp_path):
    rated = read_judged_pairs(write(tmp_path, text_a=[GERMAN + f" {i}" for i in range(39)] + ["x" * 30_000],
                                    text_b=[GERMAN + f" {i}" for i in range(20)] + [GERMAN + f" und {i}" for i in range(20)]))
    notes = " ".join(rated.notes)
    assert "1 texts are cut to 20,000 characters" in notes
    assert "20 pairs consist of two equal texts" in notes
    assert "do not look English" in notes
    assert describe_language(["this is one of the English texts"] * 30) == []


def test_pairs_that_share_a_text_are_one_group_unless_one_text_is_everywhere():
    assert group_pairs(["a", "b", "c", "d", "x"], ["b", "e", "f", "g", "y"]).tolist() == [0, 0, 1, 2, 3]
    everywhere = group_pairs(["q"] * 8, list("abcdefgh"))
    assert everywhere.tolist() == [0] * 8
    summaries = group_pairs([f"document {i // 4}" for i in range(40)], ["none"] * 20 + [f"summary {i}" for i in range(20)])
    assert summaries.tolist() == [i // 4 for i in range(40)]
