"""Zwerdling et al. 2021: the published tables, and profiles of generated corpora."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.models.vector_cache import VectorCache
from leaderboard.corpus_profile.profile import Test as ProfileTest
from leaderboard.corpus_profile.report import draw_similarities
from leaderboard.papers import zwerdling2021
from leaderboard.papers.base import Options
from leaderboard.papers.published_tables import zwerdling2021_tables
from leaderboard.papers.zwerdling2021 import Difference
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


@pytest.fixture
def profiled(inputs, monkeypatch, tmp_path):
    """The profile of a made corpus in place of the headlines, with figures."""
    monkeypatch.setitem(zwerdling2021.CORPORA, "news_headlines", "made_weather")
    monkeypatch.setattr(zwerdling2021, "MAX_TEXTS", 90)
    options = Options("", NoProgress(), with_figures=True)
    return zwerdling2021.profile_corpus("news_headlines", WordNet(write_wordnet(tmp_path)),
                                        VectorCache(zwerdling2021.MODEL, cache_folder()), options)


def test_profiles_of_synthetic_texts(profiled):
    eda, _ = profiled["EDA"]
    comparisons = zwerdling2021.compare_profile("news_headlines", eda)
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
    assert all(name in table.legend[0] for name in ("minilm", "InferSent", "BERT", "LanguageTool", "WordNet"))
    differences = zwerdling2021.compare_orders("news_headlines", eda)
    records = list(csv.DictReader(io.StringIO(zwerdling2021.build_records(comparisons, differences).to_csv())))
    assert len(records) == 5 * len(zwerdling2021.MEASURES) + 4
    semantic = next(row for row in records if (row["model"], row["measure"]) == ("EDA minus train", "semantic_precision"))
    # Zwerdling et al. 2021, news headlines: .612 of EDA, .808 of train
    assert float(semantic["published"]) == pytest.approx(0.612 - 0.808)
    assert float(semantic["ours"]) == pytest.approx(eda.semantic.mean() - eda.rows[0].semantic.precision.value)
    assert float(semantic["p_welch"]) == eda.tests[0].p_t


def test_differences_against_the_published_order_are_named():
    # published: 5.7 of EDA, 4.5 of test in phone reviews; .205 and .108 grammar errors in questions
    plausibility = Difference("amazon_phone_reviews", "plausibility", (5.7, 4.5), ProfileTest("surprise per word", "test", (2.5, 3.0), -9.0, 1e-9, 0.02))
    grammar = Difference("yahoo_questions", "grammar", (0.205, 0.108), ProfileTest("grammar errors per word", "train", (0.2, 0.1), 1.0, 0.3, 0.25))
    table = zwerdling2021.build_difference_table([plausibility, grammar])
    assert table.rows == [["amazon_phone_reviews", "plausibility", "test", "5.7 > 4.5", "2.5 < 3", "0.020", "reversed"],
                          ["yahoo_questions", "grammar", "train", "0.205 > 0.108", "0.2 > 0.1", "0.300", "same"]]
    assert list(table.row_styles) == [0]
    assert table.legend[0].startswith("Our order is the reverse of the published one for plausibility in amazon_phone_reviews.")
    assert zwerdling2021.build_difference_table([grammar]).legend[0] == "All orders are as published."


def test_the_legend_names_the_topics_of_the_questions(monkeypatch):
    rows = pd.DataFrame({"text": ["a", "b", "c", "d"], "label": ["science", "science", "society", "science"]})
    monkeypatch.setattr(zwerdling2021, "load_dataset", lambda _: SimpleNamespace(rows=rows))
    assert zwerdling2021.describe_topics(["yahoo_questions"]) == [
        "yahoo_questions: the questions of the paper are on health, ours are on science (75%), society (25%)."]
    assert zwerdling2021.describe_topics(["news_headlines"]) == []


def test_the_figure_has_the_similarities_of_each_generator_side_by_side(profiled):
    figure = draw_similarities(profiled, "news_headlines")
    assert [title.text for title in figure.layout.annotations][:2] == ["EDA", "3-grams (not in the paper)"]
    densities = {trace.name: trace for trace in figure.data if trace.type == "histogram2dcontour"}
    assert len(densities) == 2
    for name, (profile, texts) in profiled.items():
        assert len(texts) == len(densities[name].x) == 80
        np.testing.assert_array_equal(densities[name].x, profile.semantic)
        np.testing.assert_array_equal(densities[name].y, profile.syntactic)


def test_without_wordnet_the_command_names_the_command_that_fetches_it(tmp_path):
    refused = touchstone("reproduce", "zwerdling2021", environment={"TOUCHSTONE_CACHE": str(tmp_path)})
    assert refused.returncode == 2
    assert "`touchstone models fetch wordnet`" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""
