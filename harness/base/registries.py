"""Pinned files of the npm registry and of Debian archives, located through the settings of npm and apt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote, urlsplit

from harness.base.downloads import TIMEOUT, Archive, IndexUnreachable, failure_reason, host_of

TOOL_SECONDS = 60


@dataclass(frozen=True)
class NpmArchive(Archive):
    """One pinned tarball of the npm registry."""

    registry: ClassVar[str] = "the npm registry"
    settings: ClassVar[str] = "npm's setting `registry`"
    prefix: ClassVar[str] = "npm"

    def locations(self) -> Iterator[tuple[str, Callable[[], str]]]:
        address = npm_registry()
        yield (host_of(address) if address else "npm"), lambda: find_tarball_url(self, address)


@dataclass(frozen=True)
class DebianArchive(Archive):
    """One pinned package of a Debian archive."""

    registry: ClassVar[str] = "the Debian archive"
    settings: ClassVar[str] = "apt's sources"
    prefix: ClassVar[str] = "Debian"

    def locations(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "apt", lambda: find_package_url(self)


def npm_registry() -> str:
    """Return the address of the registry that npm is configured for; empty if npm is neither configured nor installed."""
    configured = next((value for name, value in os.environ.items() if name.upper() == "NPM_CONFIG_REGISTRY"), "")
    return (configured or run_tool(("npm", "config", "get", "registry"))).rstrip("/")


def find_tarball_url(archive: NpmArchive, registry: str) -> str:
    """Return the URL of a tarball from the registry's description of the version."""
    import requests

    if urlsplit(registry).scheme not in ("http", "https"):
        raise IndexUnreachable("no registry is configured; install npm, or set NPM_CONFIG_REGISTRY")
    try:
        answer = requests.get(f"{registry}/{quote(archive.project, safe='@')}/{archive.version}", timeout=TIMEOUT)
        answer.raise_for_status()
        address = answer.json()["dist"]["tarball"]
    except requests.RequestException as error:
        raise IndexUnreachable(failure_reason(error)) from None
    except (ValueError, KeyError, TypeError):
        raise IndexUnreachable(f"does not describe {archive.project} {archive.version}") from None
    if not isinstance(address, str) or urlsplit(address).scheme not in ("http", "https"):
        raise IndexUnreachable(f"has no address of {archive.filename}")
    return address


def find_package_url(archive: DebianArchive) -> str:
    """Return the URL under which apt would download a package."""
    printed = run_tool(("apt-get", "download", "--print-uris", f"{archive.project}={archive.version}"))
    address = printed.partition(" ")[0].strip("'")          # 'URL' file bytes hash
    if urlsplit(address).scheme not in ("http", "https"):
        why = f"has no {archive.project} {archive.version}" if shutil.which("apt-get") else "is not installed here"
        raise IndexUnreachable(f"{why}; the file may also be placed in {archive.path.parent}")
    return address


def run_tool(command: Sequence[str]) -> str:
    """Return what a command prints; empty if it is not installed or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
