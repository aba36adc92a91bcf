"""Datasets of a user: added by name, named by path, changed and removed."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from tasks import add_dataset, list_datasets, load_dataset, load_suite
from tasks.data.loading import dataset_fingerprint, get_dataset, remove_dataset

SUITE = """
title = "Mine"
seed = 1
model = "minilm"

[tasks.human_ordering]
datasets = ["{name}"]
pairs = 100
batch = 50
"""


@pytest.fixture
def rated(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "rated.csv"
    pd.DataFrame({"text_a": [f"text {i}" for i in range(30)], "text_b": [f"text {i // 2}" for i in range(30)],
                  "score": [i % 6 for i in range(30)]}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("by_path", [False, True])
def test_a_suite_takes_the_dataset_by_name_and_by_path(rated, tmp_path, by_path):
    add_dataset("my_pairs", rated, "pairs")
    (tmp_path / "mine.toml").write_text(SUITE.format(name=str(rated) if by_path else "my_pairs"))
    suite = load_suite(str(tmp_path / "mine.toml"))
    assert len(suite.task_units) == 1
    assert "my_pairs" in list_datasets()
    (source,) = suite.task_units[0].unit.data
    assert source.fingerprint == get_dataset("my_pairs").fingerprint


def test_a_file_that_changes_later_is_refused_until_it_is_added_again(rated):
    add_dataset("my_pairs", rated, "pairs")
    assert len(load_dataset("my_pairs").rows) == 30
    with rated.open("a") as file:
        file.write("one more,pair,3\n")
    with pytest.raises(TouchstoneError, match=r"rows have changed.*data add my_pairs FILE\.\.\. --replace"):
        load_dataset("my_pairs")
    with pytest.raises(TouchstoneError, match="Add --replace"):
        add_dataset("my_pairs", rated, "pairs")
    add_dataset("my_pairs", rated, "pairs", replace=True)
    assert len(load_dataset("my_pairs").rows) == 31


def test_a_path_that_changes_later_is_refused_until_its_fingerprint_is_removed(rated):
    before = dataset_fingerprint(str(rated))
    with rated.open("a") as file:
        file.write("one more,pair,3\n")
    with pytest.raises(TouchstoneError, match="data remove"):
        load_dataset(str(rated))
    remove_dataset(str(rated))
    assert dataset_fingerprint(str(rated)) != before


def test_the_form_of_a_path_can_be_declared(rated, tmp_path):
    path = tmp_path / "texts.csv"
    pd.DataFrame({"text": ["a b", "c d"], "label": ["x", "y"]}).to_csv(path, index=False)
    assert get_dataset(f"documents:{path}").kind == "documents"
    assert list(load_dataset(str(path)).rows.columns) == ["text", "label"]


def test_names_that_are_taken_or_unusable_are_refused(rated):
    for name, message in (("stsb", "Choose another name"), ("My Pairs", "lower-case"), ("../x", "lower-case")):
        with pytest.raises(TouchstoneError, match=message):
            add_dataset(name, rated, "pairs")
    with pytest.raises(TouchstoneError, match="no form"):
        add_dataset("mine", rated, "triples")
    with pytest.raises(TouchstoneError, match="no file"):
        add_dataset("mine", rated.with_name("nope.csv"), "pairs")


def test_a_removed_dataset_is_gone_and_its_file_is_not(rated):
    add_dataset("my_pairs", rated, "pairs")
    remove_dataset("my_pairs")
    assert "my_pairs" not in list_datasets()
    assert rated.exists()
    with pytest.raises(TouchstoneError, match='not added a dataset "my_pairs"'):
        remove_dataset("my_pairs")


def test_snapshots_of_the_mirror_that_the_registry_does_not_have_are_listed_and_read(rated, tmp_path, monkeypatch):
    folder = tmp_path / "mirror" / "house_tickets"
    folder.mkdir(parents=True)
    pd.DataFrame({"text": ["a b", "c d"]}).to_parquet(folder / "data.parquet")
    (folder / "source.json").write_text(json.dumps({"kind": "corpus"}))
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    assert "house_tickets" in list_datasets()
    assert load_dataset("house_tickets").rows.text.tolist() == ["a b", "c d"]
