"""Every dataset of the hub, loaded for real by `load_dataset` from local folders in the hub's own columns.

The rows are the tests' own, a few for each repository; whether the hub still has these columns cannot be seen from here.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import datasets
import huggingface_hub.constants
import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from harness.models import hub_access as hub
from tasks.data.loading import DATASETS, load_dataset
from tasks.data.schema import FORMS
from tasks.data.types import HubSource
from tests.support.command import touchstone

FEEDBACK = {"id": "t3_1", "title": " A title ", "subreddit": "advice", "post": "A post.", "site": "", "article": ""}
ARTICLE = {"id": "cnn", "title": "", "subreddit": "", "post": "", "site": "cnn", "article": "An article."}
CLASSES = {  # columns that are class labels on the hub: numbers in the file, names in the features
    ("clinc/clinc_oos", "intent"): ["transfer", "oos", "balance"], ("fancyzhx/ag_news", "label"): ["World", "Sports"],
    ("community-datasets/yahoo_answers_topics", "topic"): ["Health", "Music"]}

# repository: configuration: split: rows
REPOSITORIES: dict[str, dict[str, dict[str, list[dict]]]] = {
    "clinc/clinc_oos": {"plus": {
        "train": [{"text": " move money ", "intent": 0}, {"text": "what is love", "intent": 1}], "validation": [{"text": "how much", "intent": 2}],
        "test": [{"text": "move money", "intent": 0}, {"text": "transfer it all", "intent": 0}, {"text": "beyond", "intent": 1}]}},
    "mteb/banking77": {"default": {"train": [{"text": "card lost", "label": 3, "label_text": "lost_card"}],
                                   "test": [{"text": "top up", "label": 1, "label_text": "top_up"}]}},
    "tuetschek/atis": {"default": {"train": [{"id": "1", "intent": "flight", "text": "flights to boston", "slots": "O"}],
                                   "test": [{"id": "2", "intent": "fare", "text": "fares to denver", "slots": "O"}]}},
    "heegyu/news-category-dataset": {"default": {"train": [{"headline": "A headline", "category": "POLITICS", "link": "x"}]}},
    "community-datasets/yahoo_answers_topics": {"yahoo_answers_topics": {
        "train": [{"id": 1, "topic": 0, "question_title": "why?", "question_content": "", "best_answer": "so"}],
        "test": [{"id": 2, "topic": 1, "question_title": "how?", "question_content": "", "best_answer": "thus"}]}},
    "community-datasets/yahoo_answers_qa": {"default": {"train": [
        {"id": "1", "question": "how to swim?", "answer": "a", "nbestanswers": ["a"], "main_category": "Sports"}]}},
    "SetFit/bbc-news": {"default": {"train": [{"text": "shares rose", "label": 1, "label_text": "business"}],
                                    "test": [{"text": "a goal", "label": 0, "label_text": "sport"}]}},
    "sgoel9/paul_graham_essays": {"default": {"train": [{"id": 1, "title": "t", "date": "d", "text": "An essay."}]}},
    "ccdv/pubmed-summarization": {"document": {"test": [{"article": "An article.", "abstract": "Its abstract."}]}},
    "BeIR/arguana": {"queries": {"queries": [{"_id": "1", "title": "", "text": "An argument."}]}},
    "openai/summarize_from_feedback": {
        "comparisons": {
            "train": [{"info": ARTICLE, "summaries": [{"text": "one", "policy": "p", "note": None}, {"text": "two", "policy": "q", "note": None}],
                       "choice": 1, "worker": "w", "batch": "batch0_cnndm", "split": "train", "extra": {"confidence": None}}],
            "validation": [{"info": FEEDBACK, "summaries": [{"text": "three", "policy": "p", "note": None}, {"text": "four", "policy": "q", "note": None}],
                            "choice": 0, "worker": "w", "batch": "batch99", "split": "valid2", "extra": {"confidence": None}}]},
        "axis": {
            "test": [{"info": FEEDBACK, "summary": {"text": "s", "policy": "p", "note": None, "axes": {
                "overall": 6, "accuracy": 7, "coverage": 5, "coherence": 4, "compatible": True}}, "worker": "w", "batch": "b", "split": "test"}],
            "validation": [{"info": ARTICLE, "summary": {"text": "u", "policy": "p", "note": None, "axes": {
                "overall": 2, "accuracy": None, "coverage": 3, "coherence": 1, "compatible": None}}, "worker": "w", "batch": "b", "split": "valid1"}]}},
    "sentence-transformers/quora-duplicates": {"pair": {"train": [{"anchor": "how old?", "positive": "what age?"}]}},
    "mteb/sickr-sts": {"default": {"test": [{"sentence1": "a", "sentence2": "b", "score": 4.5}]}},
    "sentence-transformers/stsb": {"default": {
        "train": [{"sentence1": "a", "sentence2": "b", "score": 0.5}], "validation": [{"sentence1": "c", "sentence2": "d", "score": 1.0}],
        "test": [{"sentence1": "e", "sentence2": "f", "score": 0.0}]}},
    "mteb/summeval": {"default": {"test": [{
        "machine_summaries": ["m1", "m2"], "human_summaries": ["h"], "relevance": [1.0, 2.0], "coherence": [3.0, 4.0], "fluency": [5.0, 5.0],
        "consistency": [3.0, 5.0], "text": "The article.", "id": "x"}]}},
    "FiscalNote/billsum": {"default": {"train": [{"text": "A bill.", "summary": "Short.", "title": "t"}]}},
    "abisee/cnn_dailymail": {"3.0.0": {"test": [{"article": "Long.", "highlights": "Short.", "id": "x"}]}},
    "tdiggelm/climate_fever": {"default": {"test": [{"claim_id": "0", "claim": "It warms.", "claim_label": 0, "evidences": [
        {"evidence_id": "W:1", "evidence_label": 0, "article": "W", "evidence": "Yes.", "entropy": 0.1, "votes": ["SUPPORTS"]},
        {"evidence_id": "W:2", "evidence_label": 2, "article": "W", "evidence": "Perhaps.", "entropy": 0.2, "votes": ["NOT_ENOUGH_INFO"]}]}]}},
    "fancyzhx/ag_news": {"default": {"test": [{"text": "A match", "label": 1}]}},
    "SetFit/20_newsgroups": {"default": {"test": [{"text": "A body", "label": 0, "label_text": "alt.atheism"}]}},
}
for name in ("scifact", "dbpedia-entity", "msmarco", "nfcorpus", "climate-fever"):
    REPOSITORIES[f"BeIR/{name}"] = {
        "corpus": {"corpus": [{"_id": "7", "title": "T", "text": " words "}, {"_id": "8", "title": "", "text": "more"}]},
        "queries": {"queries": [{"_id": "q1", "title": "", "text": "asks"}, {"_id": "q2", "title": "", "text": "is not judged"}]}}
    REPOSITORIES[f"BeIR/{name}-qrels"] = {"default": {"test": [{"query-id": "q1", "corpus-id": "7", "score": 2}]}}
for dataset in DATASETS.values():
    if dataset.name.startswith("mteb_") and isinstance(dataset.source, HubSource):
        REPOSITORIES[dataset.source.parts[0].id] = {"default": {"test": [{"sentences": ["a", "b"], "labels": ["x", "y"]},
                                                                         {"sentences": ["a"], "labels": ["z"]}]}}
HUB = [name for name, dataset in DATASETS.items() if isinstance(dataset.source, HubSource)]


@pytest.fixture(scope="module")
def clones(tmp_path_factory) -> Path:
    """The repositories as one would clone them: Parquet files, a README that names configurations and splits."""
    from datasets import ClassLabel, Dataset

    folder = tmp_path_factory.mktemp("hub")
    for repository, configurations in REPOSITORIES.items():
        described = []
        for configuration, splits in configurations.items():
            described += [f"- config_name: {configuration}", "  data_files:"]
            for split, rows in splits.items():
                table = Dataset.from_list(rows)
                for (owner, column), names in CLASSES.items():
                    if owner == repository and column in table.features:
                        table = table.cast_column(column, ClassLabel(names=names))
                path = Path(configuration) / f"{split}-00000-of-00001.parquet"
                (folder / repository / configuration).mkdir(parents=True, exist_ok=True)
                table.to_parquet(folder / repository / path)
                described += [f"  - split: {split}", f"    path: {path}"]
        (folder / repository / "README.md").write_text("\n".join(["---", "configs:", *described, "---", ""]))
    return folder


@pytest.fixture
def load(clones, tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_HUB", str(clones))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    return load_dataset


@pytest.mark.parametrize("name", HUB)
def test_a_dataset_of_the_hub_comes_in_the_normal_form(name, load, clones):
    loaded = load(name)
    assert str(clones) in loaded.origin
    assert not loaded.verified                              # no revision is pinned
    for table, columns in FORMS[loaded.dataset.kind].items():
        rows = loaded.tables[table]
        assert len(rows) > 0
        assert set(columns.required) <= set(rows.columns) <= {*columns.required, *columns.optional}
        assert not rows[list(columns.required)].isna().any(axis=None)
    assert load(name).fingerprint == loaded.fingerprint     # as data.lock has it now


EXPECTED = {
    "clinc150": {"data": [("move money", "transfer"), ("how much", "balance"), ("transfer it all", "transfer")]},
    "banking77": {"data": [("card lost", "lost_card"), ("top up", "top_up")]},
    "yahoo_answers_questions": {"data": [("why?", "Health"), ("how?", "Music")]},
    "stsb": {"data": [("a", "b", 2.5, "train"), ("c", "d", 5.0, "dev"), ("e", "f", 0.0, "test")]},
    "summarize_comparisons": {"data": [("An article.", "one", "two", 1)]},
    "summarize_axis": {"data": [("A post.", "s", 6.0, 7.0, 5.0, 4.0), ("An article.", "u", 2.0, None, 3.0, 1.0)]},
    "summeval": {"data": [("The article.", "m1", 3.0, 3.0, 1.0, 3.0), ("The article.", "m2", 4.0, 5.0, 2.0, 4.0)]},
    "reddit_titles_p2p": {"data": [("A title \nA post.", "advice", "")]},
    "ag_news": {"data": [("A match", "Sports", "")]},
    "mteb_reddit_clustering": {"data": [("a", "x", "0"), ("b", "y", "0"), ("a", "z", "1")]},
    "scifact": {"corpus": [("7", "T", "words"), ("8", "", "more")], "queries": [("q1", "asks")], "qrels": [("q1", "7", 2)]},
    "climate_fever_evidence": {"corpus": [("W:1", "W", "Yes."), ("W:2", "W", "Perhaps.")], "queries": [("0", "It warms.")],
                               "qrels": [("0", "W:1", 1), ("0", "W:2", 0)]},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_rows_are_those_of_the_hub(name, load):
    rows_by_table = {table: [tuple(None if pd.isna(value) else value for value in row) for row in rows.itertuples(index=False)]
             for table, rows in load(name).tables.items()}
    assert rows_by_table == EXPECTED[name]


def test_other_columns_on_the_hub_are_said(load, clones, tmp_path, monkeypatch):
    other = tmp_path / "other"
    shutil.copytree(clones / "FiscalNote", other / "FiscalNote")
    for path in other.rglob("*.parquet"):
        pd.read_parquet(path).rename(columns={"summary": "short"}).to_parquet(path)
    monkeypatch.setenv("TOUCHSTONE_HUB", str(other))
    with pytest.raises(TouchstoneError, match=r'columns of the dataset "billsum" on the hub \(FiscalNote/billsum\).*summary'):
        load("billsum")


def test_a_hub_that_is_not_reached_is_said_soon_and_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("TOUCHSTONE_HUB", raising=False)
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    for module in (huggingface_hub.constants, datasets.config):             # imported before
        monkeypatch.setattr(module, "HF_HUB_OFFLINE", False)
    hub.hub_is_reachable.cache_clear()
    try:
        assert not hub.hub_is_reachable()
        assert huggingface_hub.constants.HF_HUB_OFFLINE
        started = time.monotonic()
        with pytest.raises(TouchstoneError, match="TOUCHSTONE_DATA"):
            load_dataset("clinc150")
        assert time.monotonic() - started < 10              # with five attempts it takes 23 s
    finally:
        hub.hub_is_reachable.cache_clear()
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def test_the_command_says_so_too(tmp_path):
    started = time.monotonic()
    done = touchstone("data", "fetch", "stsb", environment={"HF_ENDPOINT": "http://127.0.0.1:1", "TOUCHSTONE_CACHE": str(tmp_path),
                                                            "HF_HOME": str(tmp_path / "hf")})
    assert done.returncode == 2
    message = " ".join(done.stderr.split())
    for word in ("sentence-transformers/stsb", "TOUCHSTONE_DATA", "TOUCHSTONE_HUB"):
        assert word in message
    assert "Traceback" not in done.stderr
    assert time.monotonic() - started < 40
