"""Where files are kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PROJECT = Path(__file__).resolve().parents[2]
SUBMISSIONS = PROJECT / "submissions"
DISTRIBUTION = "touchstone-benchmark"        # the name of the package in the index


def cache_folder() -> Path:
    """Return the folder of everything that can be downloaded or computed again; `TOUCHSTONE_CACHE` overrides it."""
    named = os.environ.get("TOUCHSTONE_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("touchstone", appauthor=False))


def mirror_folder() -> Path | None:
    """Return the folder of dataset snapshots that takes precedence over all sources: `TOUCHSTONE_DATA`, or None."""
    named = os.environ.get("TOUCHSTONE_DATA")
    return Path(named) if named else None


def is_clone() -> bool:
    """Return whether the code runs from a clone of the repository and not from an installed package."""
    return (PROJECT / "pyproject.toml").exists()


def default_store() -> str:
    """Return the address of the results store: `TOUCHSTONE_STORE`, or a file in the clone or the user's data folder."""
    named = os.environ.get("TOUCHSTONE_STORE")
    if named:
        return named
    folder = PROJECT if is_clone() else Path(platformdirs.user_data_dir("touchstone", appauthor=False))
    return str(folder / "results" / "store.sqlite")
