"""The provenance of a run: versions, machine, sandbox layers, limits."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.base.paths import DISTRIBUTION, PROJECT
from harness.sandbox.limits import Limits


@dataclass(frozen=True)
class Machine:
    """The node of a cluster that test units are run on."""

    node: str                               # its name and its address
    platform: str
    processor: str
    processors: int
    packages: dict[str, str]
    layers: tuple[str, ...]

    @property
    def address(self) -> str:
        """The address of the node in the cluster."""
        return self.node.rpartition(" ")[2].strip("()")


@dataclass(frozen=True)
class Provenance:
    """The provenance stored with every run."""

    version: str
    commit: str | None
    python: str
    platform: str
    processor: str
    processors: int
    packages: dict[str, str]
    layers: tuple[str, ...]
    limits: dict[str, float]
    environments: dict[str, tuple[str, ...]]        # locked packages by entry digest, where they are not `packages`
    suite: str
    fingerprint: str
    node: str | None = None                         # None: the machine that the command was run on

    def on(self, machine: Machine) -> Provenance:
        """Return the provenance of the test units of this run that a node runs."""
        return dataclasses.replace(self, **vars(machine))


def current_provenance(layers: tuple[str, ...], limits: Limits, locks: dict[str, tuple[str, ...]], suite: str,
                       fingerprint: str) -> Provenance:
    """Return the provenance of a run on this machine: versions, processor, packages, and the given conditions."""
    return Provenance(
        harness_version(),
        harness_commit(),
        sys.version.split()[0],
        platform.platform(),
        processor_name(),
        os.cpu_count() or 1,
        installed_packages(),
        layers,
        dataclasses.asdict(limits),
        locks,
        suite,
        fingerprint,
    )


@cache
def describe_machine(node: str, layers: tuple[str, ...]) -> Machine:
    """Return the facts of this machine as a node of a cluster."""
    return Machine(node, platform.platform(), processor_name(), os.cpu_count() or 1, installed_packages(), layers)


@cache
def harness_version() -> str:
    """Return the installed version of this project."""
    return importlib.metadata.version(DISTRIBUTION)


def installed_packages() -> dict[str, str]:
    """Return the installed distributions and their versions."""
    versions = ((distribution.metadata["Name"], distribution.version) for distribution in importlib.metadata.distributions())
    return dict(sorted((name.lower(), version) for name, version in versions if name))


def harness_commit() -> str | None:
    """Return the clone's commit, with `+changes` if the working tree differs; None outside a clone."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(PROJECT), *words], capture_output=True, text=True, check=True,
                              stdin=subprocess.DEVNULL, timeout=20).stdout.strip()
    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def processor_name() -> str:
    """Return the name of the processor."""
    try:
        match = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or platform.machine()
