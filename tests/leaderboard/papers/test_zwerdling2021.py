"""Zwerdling et al. 2021: the published tables, and profiles of generated corpora."""

from __future__ import annotations

import csv
import io

from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.models.vector_cache import VectorCache
from leaderboard.papers import zwerdling2021
from leaderboard.papers.published_tables import zwerdling2021_tables
from tasks.data.loading import DATASETS
from tasks.generators.easy_augmentation import WordNet
from tests.support.command import touchstone
from tests.support.wordnet import write_wordnet


def test_the_published_tables_are_as_printed():
    rows = {(row.corpus, row.model): row.measures for row in zwerdling2021_tables()}
    # Zwerdling et al. 2021: news headlines, EDA; questions, test
    assert rows["news_headlines", "EDA"]["unique"] == 0.946
    assert rows["news_headlines", "EDA"]["syntactic_f1"] == 0.842
    assert rows["yahoo_questions", "test"]["semantic_f1"] is None
    assert {corpus for corpus, _ in rows} == set(zwerdling2021.CORPORA)
    assert set(zwerdling2021.CORPORA.values()) <= set(DATASETS)
    assert all(set(measures) == set(zwerdling2021.MEASURES) for measures in rows.values())


def test_profiles_of_synthetic_texts(inputs, monkeypatch, tmp_path):
    monkeypatch.setitem(zwerdling2021.CORPORA, "news_headlines", "made_weather")
    monkeypatch.setattr(zwerdling2021, "MAX_TEXTS", 90)
    cache = VectorCache(zwerdling2021.MODEL, cache_folder())
    comparisons = zwerdling2021.compare_profiles(["news_headlines"], WordNet(write_wordnet(tmp_path)), cache, 1, NoProgress())
    rows = {comparison.model: comparison for comparison in comparisons}
    assert set(rows) == {"train", "test", "EDA", "VAE", "GPT-2"}
    assert rows["VAE"].ours is rows["GPT-2"].ours is None
    assert rows["train"].ours["unique"] == 80
    assert rows["test"].ours["unique"] == 10
    assert 0 < rows["EDA"].ours["unique"] <= 1
    assert rows["EDA"].ours["plausibility"] > rows["test"].ours["plausibility"]         # shuffled words are surprising
    assert rows["EDA"].ours["semantic_f1"] < rows["train"].ours["semantic_f1"]
    table = zwerdling2021.build_table(comparisons)
    assert table.to_markdown().count("not built here") == 2 * len(zwerdling2021.MEASURES)
    assert len(table.rows) > 20
    records = list(csv.DictReader(io.StringIO(zwerdling2021.build_records(comparisons).to_csv())))
    assert len(records) == 5 * len(zwerdling2021.MEASURES)


def test_without_wordnet_the_command_names_the_command_that_fetches_it(tmp_path):
    refused = touchstone("reproduce", "zwerdling2021", environment={"TOUCHSTONE_CACHE": str(tmp_path)})
    assert refused.returncode == 2
    assert "`touchstone models fetch wordnet`" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""
