"""Check the dependencies of a submission."""

from __future__ import annotations

import importlib.metadata
import sys

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.base.errors import TouchstoneError
from harness.submission.header import Header


def unmet_dependencies(header: Header) -> list[str]:
    """Return the dependencies (and the Python bound) that the harness's own environment does not meet."""
    unmet = []
    if header.requires_python:
        try:
            bound = SpecifierSet(header.requires_python)
        except InvalidSpecifier:
            raise TouchstoneError(f'{header.name}: `requires-python = "{header.requires_python}"` is not a version bound; '
                                  'write for example ">=3.11".') from None
        if not bound.contains(".".join(map(str, sys.version_info[:3]))):
            unmet.append(f"Python {header.requires_python}")
    for line in header.dependencies:
        wanted = Requirement(line)
        try:
            met = wanted.specifier.contains(importlib.metadata.version(wanted.name), prereleases=True)
        except importlib.metadata.PackageNotFoundError:
            met = False
        if not met:
            unmet.append(line)
    return unmet
