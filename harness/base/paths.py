"""Where things are kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PROJECT = Path(__file__).resolve().parents[2]
SUBMISSIONS = PROJECT / "submissions"


def cache_folder() -> Path:
    """Downloads and vectors: everything that can be made again.  TOUCHSTONE_CACHE moves it."""
    named = os.environ.get("TOUCHSTONE_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("touchstone", appauthor=False))


def mirror_folder() -> Path | None:
    """The folder of Parquet snapshots that is looked at before anything is fetched: TOUCHSTONE_DATA."""
    named = os.environ.get("TOUCHSTONE_DATA")
    return Path(named) if named else None


def default_store() -> str:
    """The results store: TOUCHSTONE_STORE, else a file in the clone, or of the user's where there is no clone."""
    named = os.environ.get("TOUCHSTONE_STORE")
    if named:
        return named
    cloned = (PROJECT / "pyproject.toml").exists()
    folder = PROJECT if cloned else Path(platformdirs.user_data_dir("touchstone", appauthor=False))
    return str(folder / "results" / "store.sqlite")
