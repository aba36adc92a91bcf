"""Datasets in the remote cache: read once from their source, and never with other rows than those of the registry."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.base.remote_cache import remote_cache
from tasks.data import loading
from tasks.data.schema import fingerprint_tables
from tasks.data.types import Dataset, DatasetSource

ROWS = pd.DataFrame({"text_a": ["a", "b"], "text_b": ["c", "ä"], "score": [0.25, 1.0]})


@dataclass
class CountingSource(DatasetSource):
    """A source that can be away."""

    away: bool = False
    reads: list[str] = field(default_factory=list)

    def read(self, name, progress):
        if self.away:
            raise TouchstoneError("The source does not answer.")
        self.reads.append(name)
        return {"data": ROWS.copy()}, "its source"

    def describe_origin(self):
        return "a test"


class Sentences(NoProgress):
    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


@pytest.fixture(params=["file", "s3"])
def source(request, tmp_path, monkeypatch):
    address = f"file://{tmp_path}/shared" if request.param == "file" else request.getfixturevalue("object_store")
    monkeypatch.setenv("TOUCHSTONE_CACHE_REMOTE", address)
    made = CountingSource()
    monkeypatch.setitem(loading.DATASETS, "shared_pairs", Dataset("shared_pairs", "pairs", "Pairs", made, "none", "none",
                                                                  fingerprint=fingerprint_tables({"data": ROWS})))
    return made


def test_the_second_machine_reads_the_copy(source):
    loading.load_dataset("shared_pairs")
    source.away = True
    loaded = loading.load_dataset("shared_pairs")
    assert (loaded.origin, loaded.verified, source.reads) == ("the remote cache", True, ["shared_pairs"])
    pd.testing.assert_frame_equal(loaded.rows, ROWS)


@pytest.mark.parametrize("damage", ["truncated", "altered"])
def test_a_damaged_copy_is_refused_and_written_again(source, damage):
    fingerprint = loading.load_dataset("shared_pairs").fingerprint
    name, remote = f"datasets/{fingerprint}/data.parquet", remote_cache()
    sound = remote.read(name)
    altered = ROWS.assign(score=[0.25, 0.5]).to_parquet(index=False)
    remote.write(name, lambda: sound[:-20] if damage == "truncated" else altered, replace=True)
    progress = Sentences()
    assert loading.load_dataset("shared_pairs", progress).origin == "its source"
    assert progress.said == [f"The copy of shared_pairs in {remote.address} is damaged; its source is read instead."]
    assert loading.load_dataset("shared_pairs").origin == "the remote cache"
    assert len(source.reads) == 2


def test_without_copy_and_source_the_error_is_that_of_the_source(source):
    source.away = True
    with pytest.raises(TouchstoneError, match="The source does not answer"):
        loading.load_dataset("shared_pairs")
