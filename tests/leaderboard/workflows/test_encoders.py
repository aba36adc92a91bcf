"""Encoder sensitivity: rank correlations by hand, and metrics run with two small models."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.submission.selection import select_entries
from leaderboard.workflows.encoders import compare_encoders, correlate_answers
from tasks import load_suite

SUITE = """title = "Two tasks"
seed = 1
model = "minilm"
[tasks.known_similarity]
pairs = [["made_weather", "made_trains"]]
levels = [{ k = 4, n = 8 }]
repetitions = 2
[tasks.human_ordering]
datasets = ["made_likeness"]
pairs = 30
batch = 15
"""


@pytest.fixture
def suite(tmp_path) -> str:
    path = tmp_path / "two.toml"
    path.write_text(SUITE)
    return str(path)


@pytest.mark.unit
def test_correlations_by_hand():
    up, down, flat = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]), np.ones(3)
    assert correlate_answers([up, up], [up * 7, down]) == pytest.approx(0)
    assert correlate_answers([up, flat, None], [up, up, up]) == pytest.approx(1)
    assert correlate_answers([flat], [up]) is None


def test_another_model_draws_the_same_texts(suite):
    first, second = load_suite(suite), load_suite(suite, model="wordllama")
    assert second.model.name == "wordllama"
    for a, b in zip(first.task_units, second.task_units, strict=True):
        assert a.unit.id != b.unit.id
        assert list(a.task.texts(a.unit)) == list(b.task.texts(b.unit))


def test_metrics_with_two_models(suite, tmp_path):
    entries = select_entries(["cosine", "energy", "jaccard"], SUBMISSIONS)
    arguments = entries, suite, ["minilm", "wordllama"], tmp_path / "store.sqlite"
    rows = compare_encoders(*arguments, (), 2, NoProgress())
    assert [(row.metric, row.task) for row in rows] == [
        ("cosine", "known_similarity"), ("cosine", "human_ordering"), ("energy", "known_similarity")]
    for row in rows:
        assert row.scores.keys() == {"minilm", "wordllama"}
        assert row.scores["minilm"] != row.scores["wordllama"]
        assert row.correlation == row.lowest             # there is one pair of models
        assert 0.3 < row.correlation <= 1
    assert rows[1].correlation < 1
    again = compare_encoders(*arguments, ["human_ordering"], 2, NoProgress())
    assert again == rows[1:2]


def test_what_is_refused(suite, tmp_path):
    def compare(names: list[str], models: list[str], only: list[str]) -> str:
        with pytest.raises(TouchstoneError) as caught:
            compare_encoders(select_entries(names, SUBMISSIONS), suite, models, tmp_path / "store.sqlite", only, 1, NoProgress())
        return str(caught.value)
    assert "takes vectors" in compare(["jaccard"], ["minilm", "wordllama"], [])
    assert "at least two different models" in compare(["cosine"], ["minilm", "minilm"], [])
    assert 'no registered model "minilmm"' in compare(["cosine"], ["minilm", "minilmm"], [])
    assert "whose answers can: known_similarity, human_ordering." in compare(["cosine"], ["minilm", "wordllama"], ["axioms"])
