"""Where texts come from: `load` gives a dataset in the normal form, checked against its fingerprint.

A mirror (TOUCHSTONE_DATA) is looked at first, then the registry's own source.  What the registry cannot verify gets its
fingerprint at the first load, kept in `data.lock` beside the cache: from then on a change is noticed.
"""

from __future__ import annotations

import sqlite3
import tarfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from harness.base.downloads import fetch_archive, fetch_url
from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.files import read_entries, write_entry
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress, Progress
from tasks.data import mirror
from tasks.data import schema as forms
from tasks.data.schema import Tables
from tasks.data.sources import hub
from tasks.data.sources.decoders import OpenArchive
from tasks.data.sources.hub_catalogue import HUB
from tasks.data.sources.package_index import ARCHIVED
from tasks.data.sources.web_and_snapshots import ELSEWHERE, MADE
from tasks.data.types import ArchiveSource, Dataset, HubSource, SyntheticSource, WebSource

__all__ = ["DATASETS", "LoadedDataset", "dataset_fingerprint", "get_dataset", "load_corpus", "load_dataset"]

DATASETS = {dataset.name: dataset for dataset in (*MADE, *ARCHIVED, *HUB, *ELSEWHERE)}


@dataclass(frozen=True)
class LoadedDataset:
    """A dataset in the normal form."""

    dataset: Dataset
    tables: Tables
    fingerprint: str
    origin: str                             # in words: where these rows were read

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of a dataset of one table."""
        return self.tables["data"]

    @property
    def verified(self) -> bool:
        return self.dataset.fingerprint == self.fingerprint


def get_dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise TouchstoneError(f'There is no dataset "{name}".{did_you_mean(name, DATASETS)} `touchstone data list` shows them '
                              'all.')
    return DATASETS[name]


def load_dataset(name: str, progress: Progress | None = None) -> LoadedDataset:
    """The rows of a dataset, from the mirror or its own source; refuses rows that are not those of its fingerprint."""
    dataset = get_dataset(name)
    tables, origin = _read(dataset, progress or NoProgress())
    forms.check_tables(dataset.kind, tables, f'The dataset "{name}", read from {origin},')
    fingerprint = forms.fingerprint_tables(tables)
    expected = dataset.fingerprint or read_entries(_lock()).get(name)
    if expected is None:
        write_entry(_lock(), name, fingerprint)
    elif fingerprint != expected:
        expected_by = "the registry" if dataset.fingerprint else "data.lock, written at the first load,"
        raise TouchstoneError(f'The dataset "{name}" read from {origin} has the fingerprint {fingerprint[:16]}, {expected_by} says '
                              f"{expected[:16]}: these are other rows. Restore the source, or remove what stands in its place.")
    return LoadedDataset(dataset, tables, fingerprint, origin)


@lru_cache(maxsize=32)
def load_corpus(name: str) -> tuple[str, ...]:
    """The texts of a corpus."""
    loaded = load_dataset(name)
    if loaded.dataset.kind != "corpus":
        raise TouchstoneError(f'The dataset "{name}" holds {loaded.dataset.kind}; here a corpus is needed.')
    return tuple(loaded.rows.text)


def dataset_fingerprint(name: str) -> str:
    """What the registry or the lock says of a dataset; if neither does, it is loaded to find out."""
    return get_dataset(name).fingerprint or read_entries(_lock()).get(name) or load_dataset(name).fingerprint


def _read(dataset: Dataset, progress: Progress) -> tuple[Tables, str]:
    """The tables of a dataset and where they were read, in words."""
    snapshot = mirror.find_snapshot(dataset)
    source = dataset.source
    if snapshot is not None:
        return mirror.read_snapshot(dataset, snapshot), "the mirror"
    if isinstance(source, SyntheticSource):
        made = source.make()
        return made if isinstance(made, dict) else {"data": made}, "this project"
    if isinstance(source, ArchiveSource):
        return _read_archives(source, [fetch_archive(archive, progress) for archive in source.archives])
    if isinstance(source, HubSource):
        return hub.load_from_hub(dataset.name, source)
    if isinstance(source, WebSource):
        files = {name: fetch_url(address, kept, progress).read_bytes() for name, address, kept in source.files(dataset.name)}
        try:
            return source.decode(files), "the web"
        except (ValueError, KeyError) as wrong:
            raise TouchstoneError(f'The files of "{dataset.name}" are not what they were ({wrong}); `touchstone data fetch '
                                  '--again '
                                  f"{dataset.name}` fetches them anew.") from None
    raise TouchstoneError(mirror.snapshot_required_message(dataset.name, source.origin))


def _read_archives(source: ArchiveSource, paths: list[Path]) -> tuple[Tables, str]:
    opened = [OpenArchive(path) for path in paths]
    try:
        return source.decode(*opened), " and ".join(path.name for path in paths)
    except (zipfile.BadZipFile, tarfile.TarError, sqlite3.Error, KeyError, ValueError, OSError, EOFError) as wrong:
        raise TouchstoneError(f"{' or '.join(map(str, paths))} cannot be read ({wrong}); `touchstone data verify` checks it, "
                              "`touchstone data fetch --again` replaces it.") from None
    finally:
        for archive in opened:
            archive.close()


def _lock() -> Path:
    return cache_folder() / "data.lock"
