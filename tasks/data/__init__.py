"""Where texts come from: `load` gives a dataset in the normal form, checked against its fingerprint.

A mirror (TOUCHSTONE_DATA) is looked at first, then the registry's own source.  What the registry cannot verify gets its
fingerprint at the first load, kept in `data.lock` beside the cache: from then on a change is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from harness.errors import Refusal, did_you_mean
from harness.places import cache_folder, mirror_folder
from harness.progress import Progress, Silent
from tasks.data.archives import fetch
from tasks.data.registry import COLUMNS, DATASETS, Dataset, Made, Member, Mirrored

__all__ = ["DATASETS", "Loaded", "corpus", "find", "fingerprint", "load", "mirrored", "unfetchable"]


@dataclass(frozen=True)
class Loaded:
    """A dataset in the normal form."""

    dataset: Dataset
    rows: pd.DataFrame
    fingerprint: str
    origin: str                             # in words: where these rows were read

    @property
    def verified(self) -> bool:
        return self.dataset.fingerprint == self.fingerprint


def find(name: str) -> Dataset:
    if name not in DATASETS:
        raise Refusal(f'There is no dataset "{name}".{did_you_mean(name, DATASETS)} `touchstone data list` shows them all.')
    return DATASETS[name]


def load(name: str, progress: Progress | None = None) -> Loaded:
    """The rows of a dataset, from the mirror or its own source; refuses rows that are not those of its fingerprint."""
    dataset = find(name)
    rows, origin = _read(dataset, progress or Silent())
    found = fingerprint_rows(rows)
    expected = dataset.fingerprint or _locked().get(name)
    if expected is None:
        _lock(name, found)
    elif found != expected:
        known = "the registry" if dataset.fingerprint else "data.lock, written at the first load,"
        raise Refusal(f'The dataset "{name}" read from {origin} has the fingerprint {found[:16]}, {known} says '
                      f"{expected[:16]}: these are other rows. Restore the source, or remove what stands in its place.")
    return Loaded(dataset, rows, found, origin)


@lru_cache(maxsize=32)
def corpus(name: str) -> tuple[str, ...]:
    """The texts of a corpus."""
    loaded = load(name)
    if loaded.dataset.kind != "corpus":
        raise Refusal(f'The dataset "{name}" holds {loaded.dataset.kind}; here a corpus is needed.')
    return tuple(loaded.rows.text)


def fingerprint(name: str) -> str:
    """What the registry or the lock says of a dataset; if neither does, it is loaded to find out."""
    return find(name).fingerprint or _locked().get(name) or load(name).fingerprint


def fingerprint_rows(rows: pd.DataFrame) -> str:
    """sha256 over the names of the columns and every row, in order."""
    whole = hashlib.sha256(json.dumps(list(rows.columns)).encode())
    for row in rows.itertuples(index=False):
        whole.update(b"\n" + json.dumps(list(row), ensure_ascii=True).encode())
    return whole.hexdigest()


def mirrored(name: str) -> Path | None:
    """The snapshot of a dataset in the mirror, if there is one."""
    mirror = mirror_folder()
    if mirror is None:
        return None
    if not mirror.is_dir():
        raise Refusal(f"TOUCHSTONE_DATA names {mirror}, which is no folder; correct it or unset it.")
    path = mirror / name / "data.parquet"
    return path if path.exists() else None


def _read(dataset: Dataset, progress: Progress) -> tuple[pd.DataFrame, str]:
    snapshot = mirrored(dataset.name)
    if snapshot is not None:
        return _read_mirror(dataset, snapshot), "the mirror"
    if isinstance(dataset.source, Made):
        return dataset.source.make(), "this project"
    if isinstance(dataset.source, Member):
        path = fetch(dataset.source.archive, progress)
        try:
            with zipfile.ZipFile(path) as archive:
                return dataset.source.decode(archive), path.name
        except (zipfile.BadZipFile, KeyError, OSError) as wrong:
            raise Refusal(f"{path} cannot be read ({wrong}); `touchstone data verify` checks it, "
                          "`touchstone data fetch --again` replaces it.") from None
    raise Refusal(unfetchable(dataset.name, dataset.source))


def unfetchable(name: str, source: Mirrored) -> str:
    return (f'The dataset "{name}" ({source.origin}) is not fetched by this version; put a snapshot {name}/data.parquet into a '
            "folder and name the folder with TOUCHSTONE_DATA.")


def _read_mirror(dataset: Dataset, path: Path) -> pd.DataFrame:
    try:
        rows = pd.read_parquet(path)
    except (OSError, ValueError) as wrong:
        raise Refusal(f"{path} cannot be read as Parquet ({wrong}).") from None
    lacking = [column for column in COLUMNS[dataset.kind] if column not in rows.columns]
    if lacking:
        raise Refusal(f'{path} has no column "{lacking[0]}"; a {dataset.kind} dataset has {", ".join(COLUMNS[dataset.kind])}.')
    return rows


def _lock_path() -> Path:
    return cache_folder() / "data.lock"


def _locked() -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads(_lock_path().read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as wrong:
        raise Refusal(f"{_lock_path()} cannot be read ({wrong}); remove it to start a new one.") from None
    return known


def _lock(name: str, found: str) -> None:
    path = _lock_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"data.lock.{os.getpid()}")
    partial.write_text(json.dumps({**_locked(), name: found}, indent=1, sort_keys=True) + "\n")
    partial.replace(path)
