"""The datasets that a user has added by name, or names by path. Texts stay in the user's files; their fingerprint is recorded."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError
from harness.base.files import read_entries, remove_entry, write_entry
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from tasks.data.own.columns import FORMS, Form, ShapedData, guess_form, shape
from tasks.data.own.files import SUFFIXES, read_tables
from tasks.data.schema import Kind, Tables, fingerprint_tables
from tasks.data.types import Dataset, DatasetSource

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
KINDS: Mapping[Form, Kind] = {"pairs": "pairs", "choices": "preferences", "documents": "documents", "labelled": "corpus",
                              "retrieval": "retrieval", "corpus": "corpus"}


@dataclass(frozen=True)
class OwnSource(DatasetSource):
    """A dataset in files of the user; without a form, it is guessed from the columns."""

    files: tuple[Path, ...]
    form: Form | None = None
    columns: tuple[tuple[str, str], ...] = ()
    positive: str | None = None

    def shaped(self, unique: bool = True) -> ShapedData:
        """Return the data in the normal form; with or without repeated rows."""
        tables = [(str(path), rows) for path, rows in read_tables(self.files)]
        form = self.form or guess_form(list(tables[0][1].columns))
        return shape(tables, form, dict(self.columns), self.positive, unique)

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        return self.shaped().tables, self.describe_origin()

    def describe_origin(self) -> str:
        return " and ".join(map(str, self.files))

    def is_local(self, name: str) -> bool:
        return all(path.exists() for path in self.files)

    def remedy(self, name: str) -> str:
        command = f"add {name} FILE... --replace" if NAME.fullmatch(name) else f"remove {name}"
        return f"Restore the file, or accept the change with `touchstone data {command}`."


def record_file() -> Path:
    """Return the file that records which datasets were added."""
    return cache_folder() / "own_datasets.json"


def own_datasets() -> dict[str, Dataset]:
    """Return the datasets that were added, by name."""
    return {name: restore(name, record) for name, record in sorted(read_entries(record_file()).items())}


def restore(name: str, record: Mapping[str, Any]) -> Dataset:
    """Return an added dataset from its record."""
    columns = tuple((role, names) for role, names in record["columns"])
    source = OwnSource(tuple(map(Path, record["files"])), record["form"], columns, record["positive"])
    return own_dataset(name, record["kind"], source, record["rows"], record["fingerprint"])


def own_dataset(name: str, kind: Kind, source: OwnSource, rows: int | None = None, fingerprint: str | None = None) -> Dataset:
    """Return a dataset of the user."""
    return Dataset(name, kind, name, source, "yours", "yours", rows, fingerprint, language="?")


def record_dataset(name: str, source: OwnSource) -> tuple[Dataset, ShapedData]:
    """Read a dataset, record it under a name, and return it."""
    if not NAME.fullmatch(name):
        raise TouchstoneError(f'"{name}" cannot be the name of a dataset; use lower-case letters, digits and _.')
    shaped = source.shaped()
    rows, fingerprint = max(map(len, shaped.tables.values())), fingerprint_tables(shaped.tables)
    columns = [[role, ",".join(names)] for role, names in shaped.columns.items()]
    write_entry(record_file(), name, {"files": [str(path) for path in source.files], "form": source.form, "columns": columns,
                                      "positive": source.positive, "kind": shaped.kind, "rows": rows, "fingerprint": fingerprint})
    source = dataclasses.replace(source, columns=tuple((role, names) for role, names in columns))
    return own_dataset(name, shaped.kind, source, rows, fingerprint), shaped


def forget_dataset(name: str) -> bool:
    """Remove an added dataset from the record; return whether there was one."""
    return remove_entry(record_file(), name)


def is_path(name: str) -> bool:
    """Return whether the name of a dataset is a path, optionally after a form, as in `pairs:rated.csv`."""
    return "/" in name or name.lower().endswith(SUFFIXES)


def dataset_of_path(name: str) -> Dataset:
    """Return the dataset in a file or a folder; its kind is the declared one, or is guessed from the columns."""
    form, source = source_of_path(name)
    if form is None:
        tables = read_tables(source.files)
        form = guess_form(list(tables[0][1].columns))
        source = dataclasses.replace(source, form=form)
    kind = KINDS[form]
    if form == "documents":
        kind = source.shaped().kind
    return own_dataset(path_key(form, source.files[0]), kind, source)


def source_of_path(name: str) -> tuple[Form | None, OwnSource]:
    """Return the declared form of a path and its source."""
    prefix, _, rest = name.partition(":")
    form = next((form for form in FORMS if form == prefix and rest), None)
    path = Path(rest if form is not None else name).expanduser().resolve()
    if not path.exists():
        raise TouchstoneError(f"There is no file {path}.")
    return form, OwnSource((path,), form)


def path_key(form: str, path: Path) -> str:
    """Return the name under which the fingerprint of a path is recorded."""
    return f"{form}:{path}"


def make_source(files: Sequence[Path | str], form: str, columns: Mapping[str, str] | None, positive: str | None) -> OwnSource:
    """Return the source of a dataset from the arguments of the user."""
    declared = next((item for item in FORMS if item == form), None)
    if declared is None:
        raise TouchstoneError(f'There is no form "{form}"; use {", ".join(FORMS)}.')
    if not files:
        raise TouchstoneError("Name at least one file or folder.")
    paths = tuple(Path(path).expanduser().resolve() for path in files)
    return OwnSource(paths, declared, tuple((columns or {}).items()), positive)
