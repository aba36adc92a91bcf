"""Mirrors: folders of Parquet snapshots in the normal form, and copies in the remote cache.

A mirror has one folder per dataset with one file per table and a `source.json`.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import TouchstoneError
from harness.base.paths import mirror_folder
from harness.base.progress import Progress
from harness.base.remote_cache import RemoteCache, remote_cache
from tasks.data.schema import FORMS, Kind, Tables, fingerprint_tables
from tasks.data.types import Dataset, SyntheticSource

if TYPE_CHECKING:
    import pandas as pd

    from tasks.data.loading import LoadedDataset


def find_snapshot(dataset: Dataset) -> Path | None:
    """Return the folder of a dataset in the mirror, or None."""
    mirror = mirror_folder()
    if mirror is None:
        return None
    if not mirror.is_dir():
        raise TouchstoneError(f"TOUCHSTONE_DATA is set to {mirror}, which is not a folder. Correct it or unset it.")
    folder = mirror / dataset.name
    return folder if any((folder / f"{table}.parquet").exists() for table in FORMS[dataset.kind]) else None


def snapshot_kinds() -> dict[str, Kind]:
    """Return the kind of each snapshot of the mirror whose `source.json` names one, by name."""
    mirror = mirror_folder()
    kinds: dict[str, Kind] = {}
    for path in sorted(mirror.glob("*/source.json")) if mirror is not None else ():
        kind = next((kind for kind in FORMS if kind == read_source(path.parent).get("kind")), None)
        if kind is not None:
            kinds[path.parent.name] = kind
    return kinds


def read_snapshot(dataset: Dataset, folder: Path) -> Tables:
    """Return the tables of a snapshot."""
    import pandas as pd

    tables = {}
    for table in FORMS[dataset.kind]:
        path = folder / f"{table}.parquet"
        try:
            tables[table] = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise TouchstoneError(f"{path} cannot be read as Parquet ({error}).") from None
    recorded = snapshot_fingerprint(folder)
    fingerprint = fingerprint_tables(tables)
    if recorded not in (None, fingerprint):
        raise TouchstoneError(f"The rows of {folder} have changed since it was written: their fingerprint is {fingerprint[:16]}, "
                              f"source.json has {str(recorded)[:16]}. Fetch the dataset again.")
    return tables


@dataclasses.dataclass
class SharedDataset:
    """The copy of a dataset in the remote cache: one Parquet object per table, below the fingerprint of the rows."""

    remote: RemoteCache
    dataset: Dataset
    fingerprint: str
    damaged: bool = False

    @classmethod
    def of(cls, dataset: Dataset, fingerprint: str | None) -> SharedDataset | None:
        """Return the copy of a dataset, or None without a remote cache and for datasets that are generated."""
        remote = remote_cache()
        if remote is None or fingerprint is None or isinstance(dataset.source, SyntheticSource):
            return None
        return cls(remote, dataset, fingerprint)

    def read(self, progress: Progress) -> Tables | None:
        """Return the tables; None if there is no copy, or if it does not have the fingerprint."""
        import pandas as pd
        import pyarrow as pa

        contents = {table: self.remote.read(self._name(table)) for table in FORMS[self.dataset.kind]}
        if None in contents.values():
            return None
        try:
            tables = {table: pd.read_parquet(io.BytesIO(content)) for table, content in contents.items() if content is not None}
            self.damaged = fingerprint_tables(tables) != self.fingerprint
        except (pa.ArrowException, OSError, ValueError):
            self.damaged = True
        if self.damaged:
            progress.say(f"The copy of {self.dataset.name} in {self.remote.address} is damaged; its source is read instead.")
            return None
        return tables

    def write(self, tables: Tables) -> None:
        """Write the tables unless they are there undamaged."""
        for table, rows in tables.items():
            self.remote.write(self._name(table), partial(encode_parquet, rows), replace=self.damaged)

    def _name(self, table: str) -> str:
        return f"datasets/{self.fingerprint}/{table}.parquet"


def encode_parquet(rows: pd.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file."""
    return rows.to_parquet(index=False)


def snapshot_fingerprint(folder: Path) -> str | None:
    """Return the fingerprint in a snapshot's `source.json`, or None."""
    recorded = read_source(folder).get("fingerprint")
    return recorded if isinstance(recorded, str) else None


def read_source(folder: Path) -> dict[str, Any]:
    """Return the `source.json` of a snapshot; empty if it has none, as snapshots from other tools may."""
    try:
        source = json.loads((folder / "source.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return source if isinstance(source, dict) else {}


def write_snapshot(loaded: LoadedDataset, mirror: Path) -> Path:
    """Write a snapshot of a dataset atomically and return its folder."""
    dataset = loaded.dataset
    final, partial = mirror / dataset.name, mirror / f".{dataset.name}.{os.getpid()}"
    description = {field.name: getattr(dataset, field.name) for field in dataclasses.fields(dataset)
                   if field.name not in ("source", "rows", "fingerprint")}
    description |= {"read_from": loaded.origin, "rows": {name: len(table) for name, table in loaded.tables.items()},
                    "fingerprint": loaded.fingerprint, "verified": loaded.verified}
    try:
        partial.mkdir(parents=True)
        for name, table in loaded.tables.items():
            table.to_parquet(partial / f"{name}.parquet", index=False)
        (partial / "source.json").write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
    except OSError as error:
        raise TouchstoneError(f"The snapshot of {dataset.name} cannot be written to {mirror} ({error.strerror}). Free space "
                              "on the disk, or choose another folder with --mirror.") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return final
