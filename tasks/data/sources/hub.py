"""Datasets of the Hugging Face hub, through `datasets`; clones in TOUCHSTONE_HUB are read by the same `load_dataset`."""

from __future__ import annotations

import pandas as pd

from harness.base.errors import Refusal, printable
from harness.base.paths import cache_folder
from harness.models.hub_access import clone_of, reached
from tasks.data.schema import Tables
from tasks.data.types import Hub, Part


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
