"""The other two papers beside ours: classes and shapes of one, the published tables of the other, on texts of ours."""

from __future__ import annotations

import csv
import io

import pytest

from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.models.vector_cache import VectorCache
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.papers import ackerman2023 as ackerman
from leaderboard.papers import zwerdling2021 as zwerdling
from leaderboard.papers.published_tables import zwerdling2021_tables
from leaderboard.scoring.estimates import Estimate
from tasks.data.loading import DATASETS
from tests.support.command import touchstone


def estimates(**values: float) -> dict[str, Estimate]:
    return {name: Estimate(value, value, value, 10) for name, value in values.items()}


def test_every_metric_of_the_paper_is_a_submission():
    assert {entry.name for entry in ackerman.compared()} == set(ackerman.METRICS)
    # the paper's finding: only IRPR, beside AHD itself, is nearer to AHD
    assert [name for name, energy in ackerman.METRICS.values() if not energy] == ["AHD", "IRPR"]


@pytest.mark.parametrize(("published", "share", "agrees"), [
    ("ENERGY", 1.0, True), ("ENERGY", 0.9, True), ("ENERGY", 0.8, False), ("AHD", 0.0, True), ("AHD", 0.2, False)])
def test_a_class_is_that_of_nine_in_ten_redraws(published, share, agrees):
    line = ackerman.Line("X", published, share, estimates(deviation_energy=0.3, deviation_ahd=0.4, distributionality=0.57, last_is_lowest=1.0))
    assert line.agrees == agrees
    assert ackerman.summary([line]).startswith(f"{int(agrees)} of 1 metrics are in the paper's class")
    assert "Neither prototype is near X" in ackerman.summary([line])
    assert ackerman.as_markdown([line]).count("|") == 3 * (len(ackerman.HEADINGS) + 1)
    read = list(csv.DictReader(io.StringIO(ackerman.as_csv([line]))))
    assert {row["measure"]: float(row["mean"]) for row in read}["deviation_ahd"] == 0.4


def test_classes_are_read_from_the_store(smoke, tmp_path):
    """On smoke's tasks of the same names: of ENERGY and AHD, what they are beside themselves."""
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["energy", "ahd"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["distributionality", "local_perturbation"])
    lines = {line.metric: line for line in ackerman.reproduce(Store(path, read_only=True), smoke)}
    assert (lines["ENERGY"].nearer_energy, lines["AHD"].nearer_energy) == (1.0, 0.0)
    assert all(line.agrees for line in lines.values())


def test_the_published_tables_are_as_printed():
    rows = {(row.corpus, row.model): row.figures for row in zwerdling2021_tables()}
    # Zwerdling et al. 2021: news headlines, EDA; questions, test
    assert rows["news_headlines", "EDA"]["unique"] == 0.946
    assert rows["news_headlines", "EDA"]["syntactic_f1"] == 0.842
    assert rows["yahoo_questions", "test"]["semantic_f1"] is None
    assert {corpus for corpus, _ in rows} == set(zwerdling.CORPORA)
    assert set(zwerdling.CORPORA.values()) <= set(DATASETS)
    assert all(set(figures) == set(zwerdling.FIGURES) for figures in rows.values())


def test_the_whole_way_on_texts_of_ours(inputs, monkeypatch):
    monkeypatch.setitem(zwerdling.CORPORA, "news_headlines", "made_weather")
    monkeypatch.setattr(zwerdling, "MOST", 90)
    cache = VectorCache(zwerdling.MODEL, cache_folder())
    rows = {row.model: row for row in zwerdling.reproduce(["news_headlines"], cache, 1, NoProgress())}
    assert set(rows) == {"train", "test", "EDA", "VAE", "GPT-2"}
    assert rows["VAE"].ours is rows["GPT-2"].ours is None
    assert rows["train"].ours["unique"] == 80
    assert rows["test"].ours["unique"] == 10
    assert 0 < rows["EDA"].ours["unique"] <= 1
    assert rows["EDA"].ours["plausibility"] > rows["test"].ours["plausibility"]         # words in no order surprise
    assert rows["EDA"].ours["semantic_f1"] < rows["train"].ours["semantic_f1"]
    written = list(rows.values())
    assert zwerdling.as_markdown(written).count("not built here") == 2 * len(zwerdling.FIGURES)
    read = list(csv.DictReader(io.StringIO(zwerdling.as_csv(written))))
    assert len(read) == 5 * len(zwerdling.FIGURES)
    assert zwerdling.as_terminal(written).row_count > 20


def test_what_the_commands_refuse():
    for words, sentence in ((("zwerdling2021", "--only", "news"), 'The paper has no corpus "news"'), (("kour2022", "--figures", "x"), "--figures goes with ackerman")):
        refused = touchstone("reproduce", *words)
        assert refused.returncode == 2
        assert sentence in refused.stderr
        assert refused.stderr.count("\n") == 1
