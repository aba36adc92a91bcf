"""Datasets of the Hugging Face hub, through `datasets`; clones in TOUCHSTONE_HUB are read by the same `load_dataset`."""

from __future__ import annotations

import pandas as pd

from harness.base.errors import TouchstoneError, printable
from harness.base.paths import cache_folder
from harness.models.hub_access import hub_is_reachable, local_clone
from tasks.data.schema import Tables
from tasks.data.types import HubSource, HubSplit


def load_from_hub(name: str, source: HubSource) -> tuple[Tables, str]:
    """The tables of a dataset on the hub, and where they were read."""
    read = [read_split(name, part) for part in source.parts]
    addresses = list(dict.fromkeys(part.id for part in source.parts))
    try:
        tables = source.shape(read)
    except (KeyError, AttributeError, TypeError, IndexError) as wrong:
        raise TouchstoneError(f'The dataset "{name}" has other columns on the hub ({addresses[0]}) than it had ({wrong}); pin an '
                              'older '
                              "revision, or use a snapshot in a folder that TOUCHSTONE_DATA names.") from None
    clones = [str(clone) for clone in map(local_clone, addresses) if clone is not None]
    return tables, " and ".join(clones) or f"{' and '.join(addresses)} on the Hugging Face hub"


def read_split(name: str, part: HubSplit) -> pd.DataFrame:
    """One split in the hub's own columns, class labels as their names."""
    clone = local_clone(part.id)
    if clone is None:
        hub_is_reachable()
    from datasets import ClassLabel, load_dataset

    try:
        loaded = load_dataset(str(clone or part.id), part.config, split=part.split, revision=None if clone else part.revision,
                              cache_dir=str(cache_folder() / "hub"))
    except (OSError, ValueError, RuntimeError) as wrong:
        raise TouchstoneError(f'The dataset "{name}" could not be loaded from {part.id} on the Hugging Face hub '
                              f"({type(wrong).__name__}: {printable(str(wrong), 160)}). Is the hub reached from here? Otherwise "
                              f"put a snapshot {name}/ into a folder and name the folder with TOUCHSTONE_DATA, or clone the "
                              f"hub's repository to <folder>/{part.id} and name the folder with "
                              "TOUCHSTONE_HUB.") from None
    rows: pd.DataFrame = loaded.to_pandas()
    for column, feature in loaded.features.items():
        if isinstance(feature, ClassLabel):
            rows[column] = [feature.int2str(int(value)) for value in rows[column]]
    return rows
