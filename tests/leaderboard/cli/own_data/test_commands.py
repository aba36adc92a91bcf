"""The commands on data of a user, as a user types them."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tasks.data.loading import load_corpus, load_dataset
from tests.support.command import touchstone


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_dataset("made_likeness").rows[["text_a", "text_b", "score"]].rename(
        columns={"text_a": "question1", "text_b": "question2", "score": "rating"}).to_csv("rated.csv", index=False)
    for name in ("weather", "kitchen"):
        (tmp_path / f"{name}.txt").write_text("\n".join(load_corpus(f"made_{name}")[:70]))
    return tmp_path


def refusal(*words) -> str:
    done = touchstone(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_dataset_is_added_listed_shown_used_and_removed(folder, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(folder / "cache"))
    added = touchstone("data", "add", "mine", "rated.csv", "--as", "pairs")
    assert added.returncode == 0, added.stderr
    assert "text_a = question1; text_b = question2; judgement = rating" in added.stdout
    listed = json.loads(touchstone("data", "list", "--json").stdout)
    assert [(entry["name"], entry["yours"]) for entry in listed[:1]] == [("mine", True)]
    assert "yours" in touchstone("data", "list").stdout.splitlines()[0]
    assert "unchanged" in touchstone("data", "verify", "mine").stderr
    (folder / "rated.csv").write_text("a,b,rating\nx y,z,1\n")
    assert touchstone("data", "verify", "mine").returncode == 2
    assert "mine is removed" in touchstone("data", "remove", "mine").stderr
    assert "yours" not in refusal("data", "show", "mine").splitlines()[0]


def test_a_task_is_run_on_own_data(folder):
    words = ("run", "levenshtein", "chrf", "--suite", "smoke", "--store", "own.sqlite", "--data", "human_ordering=rated.csv")
    done = touchstone(*words, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["suite"] == "smoke+data"
    assert {entry["name"] for entry in result["entries"]} >= {"levenshtein", "chrf"}
    assert all(set(entry["tasks"]) <= {"human_ordering"} for entry in result["entries"])
    again = touchstone(*words)
    assert "Nothing to run" in again.stderr
    assert "core" not in again.stderr               # no release has results on these data, and none is expected to


@pytest.mark.parametrize(("option", "message"), [
    ("human_ordering", 'is not of the form TASK=DATASET,...'), ("human_ordering=absent", 'There is no dataset "absent"'),
    ("human_ordering=weather.txt", "weather.txt")])
def test_other_data_that_cannot_be_used(folder, option, message):
    assert message in refusal("run", "chrf", "--suite", "smoke", "--store", "own.sqlite", "--data", option)


def test_a_corpus_metric_on_pairs_is_refused(folder):
    assert "energy compares corpora, which none of these tasks does" in refusal(
        "run", "energy", "--suite", "smoke", "--store", "own.sqlite", "--data", "human_ordering=rated.csv")


def test_terminal_codes_in_columns_and_texts_are_not_printed(folder, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(folder / "cache"))
    pd.DataFrame({"a\x1b[31m": ["x \x1b[2J y", "k l"], "b": ["z \x07 w", "m n"], "score": [1, 2]}).to_csv("codes.csv", index=False)
    done = touchstone("data", "add", "codes", "codes.csv", "--as", "pairs", "--column", "text_b=b")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_choose_writes_a_page_a_file_and_json(folder):
    done = touchstone("choose", "--pairs", "rated.csv", "--metric", "levenshtein", "--metric", "chrf", "--html", "choice.html",
                      "--python", "similarity.py", "--json")
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert {row["name"] for row in values["rows"]} == {"levenshtein", "chrf", "chrf[published]"}
    assert values["held_out"]["splits"] == 100
    page = (folder / "choice.html").read_text()
    assert values["recommended"].split(" + ")[0] in page
    assert (folder / "similarity.py").exists()
    assert list((folder / "similarity_metrics").iterdir())


@pytest.mark.parametrize(("words", "message"), [
    ((), "Give exactly one of"), (("--pairs", "rated.csv", "--texts", "weather.txt"), "Give exactly one of"),
    (("--pairs", "rated.csv", "--like", "weather.txt"), "--like needs --corpora"), (("--pairs", "nope.csv"), "no file"),
    (("--texts", "weather.txt", "--python", "x.py"), "--python needs --pairs"),
    (("--pairs", "rated.csv", "--html", "no/such/folder.html"), "folder no/such does not exist"),
    (("--pairs", "rated.csv", "--column", "text_a"), "ROLE=NAME"), (("--pairs", "rated.csv", "--metric", "energy"), "compares corpora")])
def test_wrong_options_of_choose(folder, words, message):
    assert message in refusal("choose", *words)


def test_choose_by_corpora_and_by_texts(folder):
    corpora = touchstone("choose", "--corpora", "weather.txt", "kitchen.txt", "--metric", "vocabulary_jsd", "--json")
    assert json.loads(corpora.stdout)["rows"][0]["name"] == "vocabulary_jsd"
    texts = touchstone("choose", "--texts", "weather.txt", "--metric", "levenshtein", "--html", "texts.html")
    assert texts.stdout.startswith("Recommended: levenshtein")
    assert "levenshtein" in (folder / "texts.html").read_text()


def test_measure(folder):
    done = touchstone("measure", "VOCABULARY_JSD", "weather.txt", "kitchen.txt", "--draws", "19", "--json")
    (item,) = json.loads(done.stdout)["measurements"]
    assert (item["metric"], item["p"], item["sizes"]) == ("vocabulary_jsd", 0.05, [70, 70])
    assert "vocabulary_jsd" in touchstone("measure", "vocabulary_jsd", "weather.txt", "kitchen.txt", "--draws", "1").stdout
    assert "at least one metric and two corpora" in refusal("measure", "energy", "weather.txt")


def test_measure_the_pairs_of_a_table(folder):
    """The same as two files with the columns, and repeated pairs count as often as they occur."""
    rows = pd.read_csv("rated.csv")
    rows = pd.concat([rows, rows.head(3)])
    rows.to_csv("repeated.csv", index=False)
    for name, column in (("first", rows.question1), ("second", rows.question2)):
        (folder / f"{name}.txt").write_text("\n".join(column))
    options = ("--draws", "9", "--json")
    (of_table,) = json.loads(touchstone("measure", "chrf", "--table", "repeated.csv", *options).stdout)["measurements"]
    (of_files,) = json.loads(touchstone("measure", "chrf", "first.txt", "second.txt", "--pairs", *options).stdout)["measurements"]
    assert of_table == of_files
    assert of_table["sizes"] == [len(rows), len(rows)]
    swapped = touchstone("measure", "chrf", "--table", "repeated.csv", "--column", "text_a=question2", "--column", "text_b=question1", *options)
    assert json.loads(swapped.stdout)["measurements"][0]["value"] != of_files["value"]      # chrF is not symmetric
    assert "--column needs --table" in refusal("measure", "chrf", "first.txt", "second.txt", "--column", "text_a=question2")
    assert "has no pairs of texts" in refusal("measure", "chrf", "--table", "made_weather")
    assert "compares corpora" in refusal("measure", "energy", "--table", "rated.csv")


def test_explain_a_difference_and_thresholds():
    meaning = json.loads(touchstone("explain", "energy", "--difference", "0.004", "--json", "--release", "2026.4").stdout)
    assert 0.5 < meaning["probability"] <= 1
    assert "with a probability of" in touchstone("explain", "energy", "--difference", "0.004", "--release", "2026.4").stdout
    assert "summeval" in touchstone("explain", "cosine", "--release", "2026.4").stdout
    assert {"chrf", "cosine"} <= {item["metric"] for item in json.loads(touchstone("explain", "--json", "--release", "2026.4").stdout)}
    assert "levenshtein" in touchstone("explain", "--release", "2026.4").stdout
    assert "Name the metric" in refusal("explain", "--difference", "1")
    assert "not both" in refusal("explain", "cosine", "a", "b", "--difference", "1")
    assert "two texts, or none" in refusal("explain", "cosine", "a")
