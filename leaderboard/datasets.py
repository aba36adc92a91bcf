"""The datasets, as the command line shows, fetches and verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from harness.errors import Refusal, amount
from harness.progress import Progress
from leaderboard.terminal import messages, output, plain_table
from tasks import data
from tasks.data import DATASETS
from tasks.data.archives import Archive, fetch
from tasks.data.registry import Dataset, Made, Member


def describe(dataset: Dataset) -> dict[str, Any]:
    source = dataset.source
    if isinstance(source, Member):
        origin = f"{source.archive.project} {source.archive.version} ({amount(source.archive.bytes)})"
        here = source.archive.path.exists()
    elif isinstance(source, Made):
        origin, here = "made here", True
    else:
        origin, here = f"mirror only; {source.origin}", False
    return {"name": dataset.name, "kind": dataset.kind, "title": dataset.title, "rows": dataset.rows, "source": origin,
            "licence": dataset.licence, "citation": dataset.citation, "language": dataset.language,
            "displayable": dataset.displayable, "fingerprint": dataset.fingerprint,
            "status": "pinned" if dataset.fingerprint else "unverified", "here": here}


def describe_all() -> list[dict[str, Any]]:
    return [describe(dataset) for dataset in DATASETS.values()]


def describe_one(name: str) -> dict[str, Any]:
    loaded = data.load(name)
    return {**describe(loaded.dataset), "rows": len(loaded.rows), "columns": list(loaded.rows.columns),
            "read_from": loaded.origin, "fingerprint": loaded.fingerprint,
            "status": "verified" if loaded.verified else "unverified"}


def print_list(rows: Sequence[dict[str, Any]]) -> None:
    output.print(plain_table(("name", "kind", "rows", "source", "here", "status", "licence"), [
        (Text(row["name"], style="bold"), row["kind"], f"{row['rows']:,}" if row["rows"] else "?", row["source"],
         "yes" if row["here"] else "no", row["status"], Text(row["licence"], style="dim")) for row in rows]))


def print_one(described: dict[str, Any]) -> None:
    table = plain_table(("", ""), [(Text(key.replace("_", " "), style="dim"), Text(words(value)))
                                   for key, value in described.items()])
    table.show_header = False
    output.print(table)


def words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def fetch_all(names: Sequence[str], again: bool, progress: Progress) -> None:
    wanted: dict[str, Archive] = {}
    for dataset in [data.find(name) for name in names] or list(DATASETS.values()):
        if isinstance(dataset.source, Member):
            wanted[dataset.source.archive.filename] = dataset.source.archive
        elif names and not isinstance(dataset.source, Made):
            raise Refusal(data.unfetchable(dataset.name, dataset.source))
    for archive in wanted.values():
        if again:
            archive.path.unlink(missing_ok=True)
        if archive.path.exists():
            messages.print(f"{archive.filename} is here.")
        else:
            fetch(archive, progress)
            messages.print(f"{archive.filename} fetched and checked ({amount(archive.bytes)}).")


def verify_all(names: Sequence[str]) -> bool:
    """Whether every dataset that is here has the rows of its fingerprint."""
    good = True
    for dataset in [data.find(name) for name in names] or list(DATASETS.values()):
        if not names and not describe(dataset)["here"] and not data.mirrored(dataset.name):
            messages.print(f"{dataset.name}: not here")
            continue
        try:
            loaded = data.load(dataset.name)
        except Refusal as refusal:
            messages.print(f"[red]{dataset.name}:[/red] {refusal}")
            good = False
            continue
        known = "as pinned" if loaded.verified else "unverified: no pinned fingerprint; noted in data.lock"
        messages.print(f"{dataset.name}: {len(loaded.rows):,} rows from {loaded.origin}, {known}")
    return good
