"""The Hugging Face hub, through `datasets`.

TOUCHSTONE_HUB may name a folder of clones of hub repositories, `<folder>/<owner>/<name>`: they are read instead, by the same
`load_dataset`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pandas as pd

from harness.errors import Refusal, printable
from harness.places import cache_folder
from tasks.data.forms import Tables
from tasks.data.registry import Hub, Part

SECONDS_TO_ANSWER = 10.0


def load(name: str, source: Hub) -> tuple[Tables, str]:
    """The tables of a dataset on the hub, and where they were read."""
    read = [read_part(name, part) for part in source.parts]
    addresses = list(dict.fromkeys(part.id for part in source.parts))
    try:
        tables = source.shape(read)
    except (KeyError, AttributeError, TypeError, IndexError) as wrong:
        raise Refusal(f'The dataset "{name}" has other columns on the hub ({addresses[0]}) than it had ({wrong}); pin an older '
                      "revision, or use a snapshot in a folder that TOUCHSTONE_DATA names.") from None
    clones = [str(clone) for clone in map(clone_of, addresses) if clone is not None]
    return tables, " and ".join(clones) or f"{' and '.join(addresses)} on the Hugging Face hub"


def clone_of(repository: str) -> Path | None:
    named = os.environ.get("TOUCHSTONE_HUB")
    if not named:
        return None
    folder = Path(named) / repository
    return folder if folder.is_dir() else None


@cache
def reached() -> bool:
    """Whether the hub answers.  If not, its own library is told so, or it would try for half a minute a file."""
    import requests

    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=SECONDS_TO_ANSWER)
    except requests.RequestException:
        os.environ["HF_HUB_OFFLINE"] = "1"              # what it has in its own cache can still be read
        return False
    return True


def read_part(name: str, part: Part) -> pd.DataFrame:
    """One split in the hub's own columns, class labels as their names."""
    clone = clone_of(part.id)
    if clone is None:
        reached()
    from datasets import ClassLabel, load_dataset

    try:
        loaded = load_dataset(str(clone or part.id), part.config, split=part.split, revision=None if clone else part.revision,
                              cache_dir=str(cache_folder() / "hub"))
    except (OSError, ValueError, RuntimeError) as wrong:
        raise Refusal(f'The dataset "{name}" could not be loaded from {part.id} on the Hugging Face hub '
                      f"({type(wrong).__name__}: {printable(str(wrong), 160)}). Is the hub reached from here? Otherwise put a "
                      f"snapshot {name}/ into a folder and name the folder with TOUCHSTONE_DATA, or clone the hub's repository "
                      f"to <folder>/{part.id} and name the folder with TOUCHSTONE_HUB.") from None
    rows: pd.DataFrame = loaded.to_pandas()
    for column, feature in loaded.features.items():
        if isinstance(feature, ClassLabel):
            rows[column] = [feature.int2str(int(value)) for value in rows[column]]
    return rows
