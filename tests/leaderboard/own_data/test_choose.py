"""`leaderboard.choose`: one function for the three kinds of data."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from leaderboard import choose
from tasks.data.loading import load_corpus, load_dataset


@pytest.fixture
def rated(tmp_path):
    load_dataset("made_likeness").rows.rename(columns={"text_a": "old"})[["old", "text_b", "score"]].to_csv(tmp_path / "rated.csv", index=False)
    return tmp_path / "rated.csv"


def test_by_pairs(rated, tmp_path):
    choice = choose(pairs=rated, metrics=["levenshtein", "jaccard"], columns={"text_a": "old"}, combine=False)
    assert {row.name for row in choice.details.rows} == {*choice.names} >= {"levenshtein", "jaccard"}
    assert choice.recommended in choice.names
    assert choice.recommended in choice.report.to_html()
    assert tmp_path / "similarity.py" in choice.write_python(tmp_path / "similarity.py")


def test_by_corpora_and_by_texts(tmp_path):
    for name in ("weather", "kitchen"):
        (tmp_path / f"{name}.txt").write_text("\n".join(load_corpus(f"made_{name}")[:70]))
    files = [tmp_path / "weather.txt", tmp_path / "kitchen.txt"]
    by_corpora = choose(corpora=files, like=files[0], metrics=["vocabulary_jsd"])
    assert by_corpora.recommended == "vocabulary_jsd"
    assert by_corpora.details.rows[0].nearer == 1.0                 # the third corpus is the first one again
    by_texts = choose(texts=files[0], metrics=["levenshtein"])
    assert by_texts.names == ["levenshtein"]
    with pytest.raises(TouchstoneError, match="needs judged pairs"):
        by_texts.write_python(tmp_path / "similarity.py")


@pytest.mark.parametrize(("arguments", "message"), [
    ({}, "exactly one of"), ({"pairs": "a.csv", "texts": "b.txt"}, "exactly one of"), ({"corpora": ["a.txt"]}, "Two corpora are required; 1")])
def test_wrong_arguments(arguments, message):
    with pytest.raises(TouchstoneError, match=message):
        choose(**arguments)
