"""What a dataset is, and every dataset by name.  Where each comes from stands in `archived.py`, `from_hub.py`, `elsewhere.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from harness.base.downloads import Archive
from tasks.data.schema import Kind, Tables


@dataclass(frozen=True)
class SyntheticSource:
    """Made here from a seed."""

    make: Callable[[], pd.DataFrame | Tables]


@dataclass(frozen=True)
class ArchiveSource:
    """Read from archives, each given to `decode` in turn."""

    archives: tuple[Archive, ...]
    decode: Callable[..., Tables]


@dataclass(frozen=True)
class HubSplit:
    """A split of a configuration of a repository on the hub.  Without a pinned revision its state is unverified."""

    id: str
    config: str | None
    split: str
    revision: str | None = None


@dataclass(frozen=True)
class HubSource:
    """Loaded from the Hugging Face hub."""

    parts: tuple[HubSplit, ...]
    shape: Callable[[list[pd.DataFrame]], Tables]       # from a table a part, in the hub's own columns


@dataclass(frozen=True)
class WebSource:
    """Files behind addresses, each given to `decode` with its name."""

    addresses: tuple[tuple[str, str], ...]
    decode: Callable[[dict[str, bytes]], Tables]

    def files(self, dataset: str) -> list[tuple[str, str, str]]:
        """(Name, address, the download's name in the cache) of each."""
        return [(name, address, f"{dataset}-{number}") for number, (name, address) in enumerate(self.addresses)]


@dataclass(frozen=True)
class SnapshotSource:
    """To be had from a folder of snapshots only: no source that can be fetched is known."""

    origin: str


Source = SyntheticSource | ArchiveSource | HubSource | WebSource | SnapshotSource


@dataclass(frozen=True)
class Dataset:
    name: str
    kind: Kind
    title: str
    source: Source
    licence: str
    citation: str
    rows: int | None = None                 # of its largest table; None: not known before the first fetch
    fingerprint: str | None = None          # sha256 over the normalised rows; None: unverified until the first fetch
    language: str = "en"
    displayable: bool = False               # whether its texts may be shown on a page
    stands_for: str | None = None           # what it is used in place of, to be said wherever its numbers are shown
