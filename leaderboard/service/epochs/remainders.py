"""Datasets without the texts that the public draw of a task uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from tasks.data.loading import DATASETS, get_dataset, load_dataset
from tasks.data.schema import Tables
from tasks.data.types import Dataset, DatasetSource
from tasks.suite_files import load_suite


@dataclass(frozen=True)
class RemainderSource(DatasetSource):
    """The rows of a dataset none of whose texts a task of a public suite passes to metrics."""

    base: str
    task: str
    suite: str

    def read(self, name: str, progress: Progress) -> tuple[Tables, str]:
        used = public_texts(self.base, self.task, self.suite)
        tables = remove_texts(load_dataset(self.base, progress).tables, used)
        if not all(len(rows) for rows in tables.values()):
            raise TouchstoneError(f'The public draw of {self.task} uses all texts of "{self.base}". Name other datasets in the '
                                  f"table tasks.{self.task} of the recipe, or remove the task from `disjoint`.")
        return tables, self.describe_origin()

    def describe_origin(self) -> str:
        return f'"{self.base}" without the texts of {self.task} in {self.suite}'


def add_remainder(base: str, task: str, suite: str, fingerprint: str) -> str:
    """Register the remainder of a dataset, and return its name."""
    name = f"{base} without {task} of {suite}@{fingerprint[:6]}"
    original = get_dataset(base)
    DATASETS[name] = Dataset(name, original.kind, name, RemainderSource(base, task, suite), original.licence, original.citation,
                             language=original.language)
    return name


@lru_cache(maxsize=64)
def public_texts(base: str, task: str, suite: str) -> frozenset[str]:
    """Return the texts that a task of a suite passes to metrics in the test units that draw from a dataset."""
    return frozenset(text for task_unit in load_suite(suite).task_units if task_unit.task.name == task
                     and base in (source.name for source in task_unit.unit.data) for text in task_unit.task.texts(task_unit.unit))


def remove_texts(tables: Tables, used: frozenset[str]) -> Tables:
    """Return tables without the rows that contain one of the texts; judgements of removed documents and queries go with them."""
    kept = {name: rows[~rows.map(lambda value: isinstance(value, str) and value in used).any(axis=1)]
            for name, rows in tables.items()}
    if "qrels" in tables:
        corpus = kept["corpus"]
        titled = (corpus.title.fillna("") + "\n" + corpus.text).str.strip()
        kept["corpus"] = corpus = corpus[~titled.isin(used)]
        judged = tables["qrels"]
        kept["qrels"] = judged[judged.doc_id.isin(corpus.doc_id) & judged.query_id.isin(kept["queries"].query_id)]
    return {name: rows.reset_index(drop=True) for name, rows in kept.items()}
