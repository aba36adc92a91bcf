"""The registry of datasets, and loading them in the normal form with their rows checked against a fingerprint.

A mirror (TOUCHSTONE_DATA) takes precedence over a dataset's own source. A dataset without a pinned fingerprint gets one at the
first load, kept in `data.lock` in the cache, so that later changes are detected. Datasets of the user are named by the name under
which they were added, or by path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.files import read_entries, remove_entry, write_entry
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress, Progress
from tasks.data.mirror import SharedDataset, find_snapshot, read_snapshot, snapshot_kinds
from tasks.data.own.columns import FORMS, ShapedData
from tasks.data.own.registry import (
    OwnSource,
    dataset_of_path,
    forget_dataset,
    is_path,
    make_source,
    own_datasets,
    path_key,
    record_dataset,
    source_of_path,
)
from tasks.data.schema import Tables, check_tables, fingerprint_tables
from tasks.data.sources.hub_catalogue import HUB_DATASETS
from tasks.data.sources.multilingual import MULTILINGUAL_DATASETS
from tasks.data.sources.package_index import PACKAGE_INDEX_DATASETS
from tasks.data.sources.web_and_snapshots import OTHER_DATASETS, SYNTHETIC_DATASETS
from tasks.data.types import Dataset, SnapshotSource

if TYPE_CHECKING:
    import pandas as pd

DATASETS = {dataset.name: dataset for dataset in (
    *SYNTHETIC_DATASETS, *PACKAGE_INDEX_DATASETS, *MULTILINGUAL_DATASETS, *HUB_DATASETS, *OTHER_DATASETS)}


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


def all_datasets() -> dict[str, Dataset]:
    """Return the datasets of the registry, those that only the mirror has, and those of the user."""
    mirrored = {name: Dataset(name, kind, name, SnapshotSource("the mirror"), "see source.json", "see source.json")
                for name, kind in snapshot_kinds().items()}
    return {**mirrored, **own_datasets(), **DATASETS}


def list_datasets() -> list[str]:
    """Return the names of all datasets."""
    return list(all_datasets())


def get_dataset(name: str) -> Dataset:
    """Return a dataset by its name, or one in a file or folder by its path, such as `rated.csv` or `pairs:rated.csv`."""
    if name in DATASETS:
        return DATASETS[name]
    if is_path(name):
        return dataset_of_path(name)
    datasets = all_datasets()
    if name not in datasets:
        raise TouchstoneError(f'There is no dataset "{name}".{did_you_mean(name, datasets)} List the datasets with `touchstone '
                              "data list`, or add your own with `touchstone data add NAME FILE`.")
    return datasets[name]


def add_dataset(name: str, files: Sequence[Path | str] | Path | str, form: str = "pairs", *,
                columns: Mapping[str, str] | None = None, positive: str | None = None, replace: bool = False) -> AddedDataset:
    """Register files as a dataset that suites and commands can name; the files stay where they are.

    Args:
        name: Name of the dataset: lower-case letters, digits and _.
        files: CSV, TSV, JSON, JSON Lines, Parquet or text files, or folders of them.
        form: What the files contain: `pairs`, `choices`, `documents`, `labelled`, `retrieval` or `corpus`.
        columns: Columns by role, such as `{"text_a": "question1"}`; the others are guessed.
        positive: The label of similar pairs, if labels are words.
        replace: Replace a dataset of this name, or accept that its files have changed.

    Raises:
        TouchstoneError: The name is taken, or the files cannot be read; the message says how to fix it.
    """
    taken = all_datasets()
    if name in taken and not (replace and isinstance(taken[name].source, OwnSource)):
        hint = "Add --replace to replace it." if isinstance(taken[name].source, OwnSource) else "Choose another name."
        raise TouchstoneError(f'A dataset "{name}" already exists. {hint}')
    source = make_source([files] if isinstance(files, str | Path) else files, form, columns, positive)
    return AddedDataset(*record_dataset(name, source))


class AddedDataset(NamedTuple):
    """A dataset that was added, and how its files were read."""

    dataset: Dataset
    shaped: ShapedData


def remove_dataset(name: str) -> None:
    """Unregister a dataset, or delete the fingerprint of a dataset that was named by path; the files are not changed."""
    if is_path(name):
        _, source = source_of_path(name)
        removed = [remove_entry(_lock(), path_key(form, source.files[0])) for form in FORMS]
    else:
        removed = [forget_dataset(name)]
    if not any(removed):
        raise TouchstoneError(f'You have not added a dataset "{name}".{did_you_mean(name, own_datasets())}')


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
    snapshot, shared = find_snapshot(dataset), SharedDataset.of(dataset, _expected_fingerprint(dataset))
    if snapshot is not None:
        tables, origin = read_snapshot(dataset, snapshot), "the mirror"
    elif shared is not None and not dataset.source.is_local(name) and (copy := shared.read(progress or NoProgress())) is not None:
        tables, origin = copy, "the remote cache"
    else:
        tables, origin = dataset.source.read(name, progress or NoProgress())
    check_tables(dataset.kind, tables, f'The dataset "{name}" read from {origin}')
    fingerprint = fingerprint_tables(tables)
    expected = _expected_fingerprint(dataset)
    if expected is None:
        write_entry(_lock(), dataset.name, fingerprint)
    elif fingerprint != expected:
        expected_by = ("data.lock has" if dataset.fingerprint is None else
                       "it was added with" if isinstance(dataset.source, OwnSource) else "the registry has")
        raise TouchstoneError(f'The dataset "{name}" read from {origin} has the fingerprint {fingerprint[:16]}, {expected_by} '
                              f"{expected[:16]}: the rows have changed. {dataset.source.remedy(name)}")
    if shared is not None and origin != "the remote cache":
        shared.write(tables)
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
