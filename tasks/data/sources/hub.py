"""Splits of datasets on the Hugging Face Hub, read with `datasets`; local clones in `TOUCHSTONE_HUB` take precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError, printable
from harness.base.paths import cache_folder
from harness.models.hub_access import hub_is_reachable, local_clone

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class HubSplit:
    """A split of a configuration of a repository on the hub; without a pinned revision it is unverified."""

    id: str
    config: str | None
    split: str
    revision: str | None = None


def read_split(name: str, part: HubSplit) -> pd.DataFrame:
    """Return one split of the dataset `name` in the hub's columns, with class labels as their names."""
    clone = local_clone(part.id)
    if clone is None:
        hub_is_reachable()
    from datasets import ClassLabel, load_dataset

    try:
        loaded = load_dataset(str(clone or part.id), part.config, split=part.split, revision=None if clone else part.revision,
                              cache_dir=str(cache_folder() / "hub"))
    except (OSError, ValueError, RuntimeError) as error:
        raise TouchstoneError(f'The dataset "{name}" could not be loaded from {part.id} on the Hugging Face Hub '
                              f"({type(error).__name__}: {printable(str(error), 160)}). Check the connection. To work "
                              f"offline, put a snapshot {name}/ into a folder and name the folder with TOUCHSTONE_DATA, or clone "
                              f"the repository to <folder>/{part.id} and name the folder with TOUCHSTONE_HUB.") from None
    rows: pd.DataFrame = loaded.to_pandas()
    for column, feature in loaded.features.items():
        if isinstance(feature, ClassLabel):
            rows[column] = [feature.int2str(int(value)) for value in rows[column]]
    return rows
