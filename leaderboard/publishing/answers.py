"""The answers of a release: what every entry answered and scored, so that new entries can be ranked among the published ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import TouchstoneError
from harness.base.paths import is_clone
from harness.evaluation.suite import Suite
from harness.evaluation.time_left import PublishedTimes
from harness.results.arrays import StoredArray, decode_array, encode_array
from harness.results.outcomes import Failure, Outcome, Status, pack_observation, unpack_observation
from harness.results.stored_entry import StoredEntry
from harness.submission.header import read_header
from harness.submission.submission import Submission
from leaderboard.ensembles.baselines import KIND, MEMBERS
from leaderboard.ensembles.summary import TRACK
from leaderboard.report.build import FROM_OBSERVATIONS
from leaderboard.scoring.kept_scores import PackedScore, pack_score
from leaderboard.scoring.resampling import make_plans
from leaderboard.scoring.results import Derived, Details, Results, RunValues
from leaderboard.scoring.scores import Scored

if TYPE_CHECKING:
    import numpy as np

    from leaderboard.publishing.release import Release

ENTRIES, ANSWERS, ARRAYS = "entries.parquet", "answers.parquet", "arrays.parquet"
TASK_SCORES, MEASURES, DERIVED = "task_scores.parquet", "measures.parquet", "derived.json"
TEXT = pa.string()
ENTRY_COLUMNS = pa.schema({"digest": TEXT, "name": TEXT, "variant": TEXT, "filename": TEXT, "source": pa.binary(),
                           "first_seen": TEXT})
ANSWER_COLUMNS = pa.schema({"entry": TEXT, "digest": TEXT, "track": TEXT, "task": TEXT, "unit": TEXT, "status": TEXT,
                            "observation": TEXT, "failure": TEXT, "seconds": pa.float64()})
ARRAY_COLUMNS = pa.schema({"digest": TEXT, "content": pa.binary()})
SCORE_COLUMNS = pa.schema({"entry": TEXT, "digest": TEXT, "track": TEXT, "task": TEXT, "score": TEXT})
MEASURE_COLUMNS = pa.schema({"entry": TEXT, "digest": TEXT, "track": TEXT, "task": TEXT, "unit": TEXT, "measure": TEXT,
                             "value": pa.float64()})
Row = dict[str, Any]
LEVEL = 15                                  # of the compression with Zstandard


class CollectedArrays:
    """Arrays of answers that are collected in memory, for the entries whose arrays a release contains."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.collecting = False

    def put(self, array: np.ndarray) -> StoredArray:
        """Return the reference of an array; keep its content while collecting."""
        digest, shape, content = encode_array(array)
        if self.collecting:
            self.contents[digest] = content
        return StoredArray(digest, shape, len(content))

    def get(self, stored: StoredArray) -> np.ndarray:
        """Return an array that was collected."""
        return decode_array(stored, self.contents.get(stored.digest), "arrays")


def write_answers(folder: Path, suite: Suite, results: Results, scored: Iterable[Scored]) -> list[str]:
    """Write the entries with their answers and scores to a folder, in the order of the suite; return the names of the files."""
    entries = list({one.stored.digest: one for one in scored}.values())
    plans, arrays = make_plans(suite), CollectedArrays()
    write_table(folder / ENTRIES, ENTRY_COLUMNS, [[
        {"digest": one.stored.digest, "name": one.name, "variant": one.entry.variant,
         "filename": one.entry.submission.filename, "source": one.entry.submission.source,
         "first_seen": one.stored.first_seen} for one in entries]])
    write_table(folder / ANSWERS, ANSWER_COLUMNS, (list(answer_rows(one, results, arrays)) for one in entries))
    write_table(folder / ARRAYS, ARRAY_COLUMNS,
                [[{"digest": digest, "content": content} for digest, content in sorted(arrays.contents.items())]])
    write_table(folder / TASK_SCORES, SCORE_COLUMNS, ([
        {**columns(one, name), "score": json.dumps(pack_score(score, plans.get(name)))} for name, score in one.tasks.items()]
        for one in entries))
    write_table(folder / MEASURES, MEASURE_COLUMNS, (list(measure_rows(one, results)) for one in entries))
    (folder / DERIVED).write_text(json.dumps({KIND: results.cache_get(KIND)}), encoding="utf-8")
    return [ENTRIES, ANSWERS, ARRAYS, TASK_SCORES, MEASURES, DERIVED]


def write_table(path: Path, schema: pa.Schema, groups: Iterable[list[Row]]) -> None:
    """Write a Parquet file with one row group per group of rows."""
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=LEVEL) as writer:
        for rows in groups:
            if rows:
                writer.write_table(pa.Table.from_pylist(rows, schema))


def columns(scored: Scored, task: str) -> dict[str, str]:
    """Return the columns that identify an entry and a task."""
    return {"entry": scored.name, "digest": scored.stored.digest, "track": scored.tasks[task].task.info.track, "task": task}


def answer_rows(scored: Scored, results: Results, arrays: CollectedArrays) -> Iterator[Row]:
    """Yield a row per test unit that was run; arrays of text tasks are collected for members of the ensembles only."""
    digest, published = scored.stored.digest, results.published
    released: dict[str, Row] = published.answers(digest) if isinstance(published, ReleasedResults) else {}
    for name, score in scored.tasks.items():
        arrays.collecting = scored.name in MEMBERS or score.task.info.track != TRACK
        outcomes = results.own_outcomes(digest, score.task)
        for unit in scored.suite.units(score.task):
            if unit.id in outcomes:
                outcome = outcomes[unit.id]
                observation, failure = outcome.observation, outcome.failure
                yield {**columns(scored, name), "unit": unit.id, "status": outcome.status.value,
                       "observation": None if observation is None else json.dumps(pack_observation(observation, arrays)),
                       "failure": None if failure is None else json.dumps(asdict(failure)), "seconds": outcome.seconds}
            elif unit.id in released and isinstance(published, ReleasedResults):
                arrays.contents |= published.arrays_of(released[unit.id])
                yield released[unit.id]


def measure_rows(scored: Scored, results: Results) -> Iterator[Row]:
    """Yield the measures of every test unit, for tasks whose units have no score, such as properties."""
    published = results.published
    released = published.measures(scored.stored.digest) if isinstance(published, ReleasedResults) else []
    for name, score in scored.tasks.items():
        if score.by_unit or not score.answered:
            continue
        if not results.own_outcomes(scored.stored.digest, score.task):
            yield from (row for row in released if row["task"] == name)
            continue
        units = [unit for unit in scored.suite.units(score.task) if unit.id in score.observed]
        measured = score.task.measure_all(units, [score.observed[unit.id] for unit in units])
        for unit, measures in zip(units, measured, strict=True):
            yield from ({**columns(scored, name), "unit": unit.id, "measure": measure, "value": value}
                        for measure, value in measures.values.items())


class ReleasedResults:
    """The results in a release that has answers; read as they are needed."""

    def __init__(self, release: Release) -> None:
        self._release, self.name = release, release.name

    def _table(self, file: str, digest: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table, or the rows of an entry; without `pyarrow.dataset`, which imports pandas."""
        opened = pq.ParquetFile(self._release.folder / file, memory_map=True)
        groups = [group for group in range(opened.num_row_groups)
                  if digest is None or may_contain(opened.metadata.row_group(group), digest)]
        rows = opened.read_row_groups(groups, columns)
        pa.default_memory_pool().release_unused()           # what reading took is several times the table
        if digest is None:
            return rows
        return rows.filter(pa.array([value == digest for value in rows["digest"].to_pylist()], pa.bool_()))

    @cached_property
    def _entries(self) -> list[StoredEntry]:
        entries, made = [], self._release.report.made or ""
        for row in self._table(ENTRIES).to_pylist():
            submission = Submission(row["filename"], row["source"], read_header(row["source"], row["filename"]))
            (entry,) = (entry for entry in submission.entries if entry.variant == row["variant"])
            entries.append(StoredEntry(row["digest"], submission, entry, row["first_seen"], made))
        return entries

    def times(self) -> PublishedTimes:
        """Return the seconds of each entry by test unit."""
        table = self._table(ANSWERS, columns=["entry", "unit", "seconds"])
        seconds: dict[str, dict[str, float]] = {}
        for entry, unit, taken in zip(*(table[name].to_pylist() for name in ("entry", "unit", "seconds")), strict=True):
            seconds.setdefault(entry, {})[unit] = taken
        return PublishedTimes(self.name, seconds)

    @cached_property
    def digests(self) -> frozenset[str]:
        """The digests of the published entries."""
        return frozenset(stored.digest for stored in self._entries)

    def entries(self) -> list[StoredEntry]:
        """Return the published entries."""
        return self._entries

    def answers(self, digest: str) -> dict[str, Row]:
        """Return the published rows of an entry, by test unit."""
        return {row["unit"]: row for row in self._table(ANSWERS, digest).to_pylist()}

    def measures(self, digest: str) -> list[Row]:
        """Return the published measures of the test units of an entry that have no score."""
        rows: list[Row] = self._table(MEASURES, digest).to_pylist()
        return rows

    def outcomes(self, digest: str, forms: Mapping[str, type[Any]]) -> dict[str, Outcome]:
        """Return the published outcomes of an entry, for the test units whose observation types are given."""
        outcomes = {}
        for unit, row in self.answers(digest).items():
            if unit in forms:
                observation, failure = (json.loads(row[name] or "null") for name in ("observation", "failure"))
                outcomes[unit] = Outcome(
                    unit, digest, Status(row["status"]),
                    None if observation is None else unpack_observation(observation, forms[unit], self),
                    None if failure is None else Failure(**{**failure, "places": tuple(failure["places"])}), row["seconds"])
        return outcomes

    def arrays_of(self, row: Row) -> dict[str, bytes]:
        """Return the arrays that a row refers to, as far as the release contains them, by digest."""
        digests = re.findall(r'"digest": "([0-9a-f]{64})"', row["observation"] or "")
        return {digest: self._array(digest) for digest in digests if digest in self._array_rows}

    def details(self, digest: str, track: str) -> Details | None:
        """Return the published parts of an entry's report that are computed from observations."""
        report = next((entry for entry in self._release.report.entries if (entry.digest, entry.track) == (digest, track)), None)
        return None if report is None else {name: getattr(report, name) for name in ("worst_cases", *FROM_OBSERVATIONS)}

    @cached_property
    def _arrays(self) -> pa.ChunkedArray:
        return self._table(ARRAYS, columns=["content"])["content"]

    @cached_property
    def _array_rows(self) -> dict[str, int]:
        """The row of each array, by digest."""
        return {digest: row for row, digest in enumerate(self._table(ARRAYS, columns=["digest"])["digest"].to_pylist())}

    def _array(self, digest: str) -> bytes:
        content: bytes = self._arrays[self._array_rows[digest]].as_py()
        return content

    def put(self, array: np.ndarray) -> StoredArray:
        """Refuse to change the release."""
        raise TouchstoneError(f"The release {self.name} cannot be changed.")

    def get(self, stored: StoredArray) -> np.ndarray:
        """Return the array of a reference."""
        if stored.digest not in self._array_rows:
            raise TouchstoneError(f"For text tasks, the release {self.name} contains the similarity matrices of "
                                  f"{', '.join(MEMBERS)} only. Compute those of another metric with `touchstone run NAME`.")
        return decode_array(stored, self._array(stored.digest), str(self._release.folder / ARRAYS))

    @cached_property
    def _scores(self) -> dict[tuple[str, str], str]:
        table = self._table(TASK_SCORES)
        keys = zip(table["digest"].to_pylist(), table["task"].to_pylist(), strict=True)
        return dict(zip(keys, table["score"].to_pylist(), strict=True))

    def packed_score(self, digest: str, task: str) -> PackedScore:
        """Return the published score of an entry on a task as plain values."""
        packed: PackedScore = json.loads(self._scores[digest, task])
        return packed

    def provenance(self, digest: str) -> list[RunValues]:
        """Return the provenance of the run of an entry."""
        return [entry.environment.model_dump(mode="json") for entry in self._release.report.entries
                if entry.digest == digest and entry.environment is not None][:1]

    def cache_get(self, kind: str) -> Derived:
        """Return published values derived from answers, by key."""
        derived: dict[str, Derived] = json.loads((self._release.folder / DERIVED).read_bytes())
        return derived.get(kind, {})


def may_contain(group: pq.RowGroupMetaData, digest: str) -> bool:
    """Return whether a row group may have rows of an entry, from the statistics of its column `digest`."""
    for column in map(group.column, range(group.num_columns)):
        if column.path_in_schema == "digest" and column.statistics is not None and column.statistics.has_min_max:
            return bool(column.statistics.min <= digest <= column.statistics.max)
    return True


def published_results(release: Release, suite: Suite) -> ReleasedResults:
    """Return the results of a release for ranking; raise if it has no answers or is of another version of the suite."""
    released = release.report.suite
    if released.fingerprint != suite.fingerprint and released.name != suite.name:
        raise TouchstoneError(f"The release {release.name} has results of the suite {released.name}, not of {suite.name}.")
    if released.fingerprint != suite.fingerprint:
        raise TouchstoneError(f"The release {release.name} has results of {released.name}@{released.fingerprint[:6]}; the "
                              f"tasks have changed since, and this version has {suite.name}@{suite.fingerprint[:6]}.")
    if not (release.folder / ANSWERS).exists():
        raise TouchstoneError(f"The release {release.name} has scores but no answers{'' if is_clone() else ' in this package'}.")
    return ReleasedResults(release)
