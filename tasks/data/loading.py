"""The registry of datasets, and loading them in the normal form with their rows checked against a fingerprint.

A mirror (TOUCHSTONE_DATA) takes precedence over a dataset's own source. A dataset without a pinned fingerprint gets one at the
first load, kept in `data.lock` in the cache, so that later changes are detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.files import read_entries, write_entry
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress, Progress
from tasks.data.mirror import find_snapshot, read_snapshot
from tasks.data.schema import Tables, check_tables, fingerprint_tables
from tasks.data.sources.hub_catalogue import HUB_DATASETS
from tasks.data.sources.package_index import PACKAGE_INDEX_DATASETS
from tasks.data.sources.web_and_snapshots import OTHER_DATASETS, SYNTHETIC_DATASETS
from tasks.data.types import Dataset

if TYPE_CHECKING:
    import pandas as pd

DATASETS = {dataset.name: dataset for dataset in (*SYNTHETIC_DATASETS, *PACKAGE_INDEX_DATASETS, *HUB_DATASETS, *OTHER_DATASETS)}


@dataclass(frozen=True)
class LoadedDataset:
    """A dataset in the normal form."""

    dataset: Dataset
    tables: Tables
    fingerprint: str
    origin: str                             # where the rows were read, in words

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of a dataset of one table."""
        return self.tables["data"]

    @property
    def verified(self) -> bool:
        """Whether the rows have the fingerprint of the registry."""
        return self.dataset.fingerprint == self.fingerprint


def list_datasets() -> list[str]:
    """Return the names of all datasets of the registry."""
    return list(DATASETS)


def get_dataset(name: str) -> Dataset:
    """Return a dataset of the registry, without reading its rows."""
    if name not in DATASETS:
        raise TouchstoneError(f'There is no dataset "{name}".{did_you_mean(name, DATASETS)} '
                              "List the datasets with `touchstone data list`.")
    return DATASETS[name]


def is_local(dataset: Dataset) -> bool:
    """Return whether a dataset can be read without the network."""
    return find_snapshot(dataset) is not None or dataset.source.is_local(dataset.name)


def load_dataset(name: str, progress: Progress | None = None) -> LoadedDataset:
    """Return a dataset from the mirror or from its source, downloading it on first use.

    Args:
        name: Name of the dataset; see `list_datasets`.
        progress: Receives the progress of downloads.

    Raises:
        TouchstoneError: If the dataset cannot be read, or if its rows do not have the expected fingerprint.
    """
    dataset = get_dataset(name)
    snapshot = find_snapshot(dataset)
    if snapshot is not None:
        tables, origin = read_snapshot(dataset, snapshot), "the mirror"
    else:
        tables, origin = dataset.source.read(name, progress or NoProgress())
    check_tables(dataset.kind, tables, f'The dataset "{name}" read from {origin}')
    fingerprint = fingerprint_tables(tables)
    expected = _expected_fingerprint(dataset)
    if expected is None:
        write_entry(_lock(), name, fingerprint)
    elif fingerprint != expected:
        expected_by = "the registry" if dataset.fingerprint else "data.lock"
        raise TouchstoneError(f'The dataset "{name}" read from {origin} has the fingerprint {fingerprint[:16]}, {expected_by} '
                              f"has {expected[:16]}: the rows have changed. Restore the source, or delete the changed copy.")
    return LoadedDataset(dataset, tables, fingerprint, origin)


@lru_cache(maxsize=32)
def load_corpus(name: str) -> tuple[str, ...]:
    """Return the texts of a corpus."""
    loaded = load_dataset(name)
    if loaded.dataset.kind != "corpus":
        raise TouchstoneError(f'The dataset "{name}" has the kind {loaded.dataset.kind}; a corpus is required.')
    return tuple(loaded.rows.text)


def dataset_fingerprint(name: str) -> str:
    """Return the fingerprint of a dataset from the registry or data.lock, or load the dataset to compute it."""
    return _expected_fingerprint(get_dataset(name)) or load_dataset(name).fingerprint


def _expected_fingerprint(dataset: Dataset) -> str | None:
    return dataset.fingerprint or read_entries(_lock()).get(dataset.name)


def _lock() -> Path:
    return cache_folder() / "data.lock"
