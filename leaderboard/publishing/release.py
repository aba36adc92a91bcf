"""Releases: immutable, citable folders of scores with checksums, written from a store and verified when read.

Later findings about a release (withdrawn, superseded) are recorded in `errata.toml` next to the folders, never in them.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import shutil
import tomllib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.base.hashing import sha256_of
from harness.base.paths import PROJECT, is_clone
from harness.evaluation.suite import Suite
from harness.models.registry import find_model
from leaderboard.ensembles.summary import ensembles_csv
from leaderboard.publishing.answers import ANSWERS, ARRAYS, TASK_SCORES, ReleasedResults, published_results, write_answers
from leaderboard.report.build import build_report, complete
from leaderboard.report.schema import EntryReport, Report, Standing, TaskInfo
from leaderboard.scoring.ranking import Ranking, rank_suite
from leaderboard.scoring.resampling import task_clusters
from leaderboard.scoring.results import Results, results_of
from leaderboard.scoring.scores import Scored, TaskScore
from tasks.data import loading as data

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.store import Store

FOLDER = PROJECT / "leaderboard" / "releases"
NAME = re.compile(r"[0-9]{4}\.[1-9][0-9]{0,2}")
LEFT_OUT = {ANSWERS, ARRAYS, TASK_SCORES}           # of earlier releases, by an installed package, because of their size
SUMS, REPORT, SCORES, SUMMARY = "SHA256SUMS", "release.json", "scores.csv", "summary.txt"
UNITS, REPLICATES, ENSEMBLES = "units.parquet", "replicates.parquet", "ensembles.csv"
TABLE = ("track", "entry", "rank", "rank_low", "rank_high", "task", "measure", "value", "low", "high", "units", "signature")

Cell = str | int | float | None


class Correction(BaseModel):
    """A wrong number or statement of a release."""

    text: str
    tasks: tuple[str, ...] = ()             # the tasks concerned; empty: all
    in_citations: bool = True               # whether it concerns the numbers that citations contain


class Erratum(BaseModel):
    """The errata of a release: its status and corrections."""

    withdrawn: bool = False
    superseded_by: str | None = None
    reason: str = ""
    corrections: tuple[Correction, ...] = ()

    @property
    def status(self) -> str | None:
        """One sentence that says whether the release is withdrawn or superseded; None if it is neither."""
        parts = ["withdrawn" if self.withdrawn else "", f"superseded by {self.superseded_by}" if self.superseded_by else ""]
        state = " and ".join(part for part in parts if part)
        return f"This release is {state}{f': {self.reason}' if self.reason else ''}." if state else None

    def sentences(self, cited_tasks: Container[str] | None = None) -> list[str]:
        """Return the status and all corrections, or those that concern citations of some tasks."""
        corrections = [f"Correction: {item.text}" for item in self.corrections if cited_tasks is None or (
            item.in_citations and (not item.tasks or any(task in cited_tasks for task in item.tasks)))]
        return [*([self.status] if self.status else []), *corrections]


@dataclass(frozen=True)
class Release:
    """A release that was read and whose checksums match."""

    name: str
    folder: Path
    report: Report
    errata: Erratum

    @property
    def units(self) -> pd.DataFrame:
        """The score of every entry on every test unit, from which intervals and comparisons are computed."""
        return read_table(self.folder / UNITS)

    @property
    def replicates(self) -> pd.DataFrame:
        """Resampled scores: the value, the leave-one-cluster-out values, and the replicates."""
        return read_table(self.folder / REPLICATES)

    @property
    def checksum(self) -> str:
        """The SHA-256 checksum of the list of checksums, which identifies the contents of the release."""
        return sha256_of(self.folder / SUMS)

    def results(self, suite: Suite) -> ReleasedResults:
        """Return the answers and scores, to rank others among them; raise if it has none for this version of the suite."""
        return published_results(self, suite)

    def task(self, name: str) -> TaskInfo | None:
        """Return a task of the suite by name."""
        return next((task for task in self.report.suite.tasks if task.name == name), None)

    def entry(self, name: str, track: str | None = None) -> EntryReport:
        """Return an entry in a track, or in the first track that has it."""
        entries = [entry for entry in self.report.entries if track in (None, entry.track)]
        for entry in entries:
            if entry.name == name:
                return entry
        among = f" among its {track} metrics" if track is not None else ""
        suggestion = did_you_mean(name, dict.fromkeys(entry.name for entry in entries))
        raise TouchstoneError(f'The release {self.name} has no metric "{printable(name, 80)}"{among}.{suggestion}')


def release(name: str, suite: Suite, results: Results | Store, folder: Path = FOLDER) -> Release:
    """Write a release; refuse one that must not be cited."""
    results = results_of(results, suite)
    if not NAME.fullmatch(name):
        raise TouchstoneError(f'"{name}" is not a release name. Use the year and a number, such as 2026.1.')
    if (folder / name).exists():
        raise TouchstoneError(f"The release {name} exists, and releases are immutable. Use the next number, and record errors of "
                      "an earlier release in errata.toml.")
    refuse_unverified(suite)
    rankings = rank_suite(results, suite)
    if not any(ranking.ranked for ranking in rankings.values()):
        raise TouchstoneError(f"No metric is ranked on the suite {suite.name} yet. Run `touchstone run --suite {suite.name}` "
                              "first.")
    if any("context-dependent" in placed.scored.marks for ranking in rankings.values() for placed in ranking.ranked):
        raise AssertionError("a context-dependent entry is among the ranked")
    report = build_report(suite, rankings, results, name, datetime.datetime.now(datetime.UTC).date().isoformat())
    problems = [problem for quality in report.quality.values() for problem in quality.problems]
    if problems:
        raise TouchstoneError(f"The ranking of the suite {suite.name} cannot be released: {'; '.join(problems)}. See "
                              "`touchstone quality`.")
    partial = folder / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        contents = text_files(report, suite, rankings)
        for file, content in contents.items():
            (partial / file).write_bytes(content)
        unit_scores(rankings.values()).to_parquet(partial / UNITS, index=False)
        resampled_scores(rankings.values()).to_parquet(partial / REPLICATES, index=False, compression="zstd")
        write_answers(partial, suite, results, (placed.scored for ranking in rankings.values() for placed in ranking.places))
        sums = "".join(f"{sha256_of(file)}  {file.name}\n" for file in sorted(partial.iterdir()))
        (partial / SUMS).write_text(sums, encoding="utf-8")
        partial.rename(folder / name)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise TouchstoneError(f"The release cannot be written to {folder} ({error.strerror}). Choose another folder with "
                              "--to.") from None
    return read_release(name, folder)


def refuse_unverified(suite: Suite) -> None:
    """Refuse datasets and models without a pinned fingerprint: their contents may differ elsewhere."""
    names = sorted({source.name for question in suite.task_units for source in question.unit.data})
    unverified = [f'the dataset "{name}"' for name in names if not data.get_dataset(name).fingerprint]
    if not find_model(suite.model.name).verified:
        unverified.append(f'the model "{suite.model.name}"')
    if unverified:
        raise TouchstoneError(f"The suite {suite.name} uses sources without a pinned fingerprint: {', '.join(unverified)}. A "
                      "release needs a pinned fingerprint of each in the registry.")


def text_files(report: Report, suite: Suite, rankings: Mapping[str, Ranking]) -> dict[str, bytes]:
    """Return the files of a release except for the Parquet tables and the checksums."""
    files = {REPORT: report.model_dump_json(indent=1).encode() + b"\n", SCORES: write_csv(score_rows(report.entries)).encode(),
             SUMMARY: summarise_ranking(report.release or "", suite, rankings).encode()}
    if report.ensembles is not None and report.ensembles.rows:
        added = {entry.name: entry.adds for entry in report.entries if entry.adds}
        files[ENSEMBLES] = ensembles_csv(report.ensembles, added).encode()
    return files


def score_rows(entries: Iterable[Standing]) -> list[dict[str, Cell]]:
    """Return a row per entry and measure; the task's score is its measure `score`, the overall score the task `all`."""
    rows: list[dict[str, Cell]] = []
    for entry in entries:
        low, high = entry.rank_interval or (None, None)
        common: dict[str, Cell] = {"track": entry.track, "entry": entry.name, "rank": entry.rank, "rank_low": low,
                                   "rank_high": high}
        rows.append({**common, "task": "all", "measure": "score", "value": entry.overall_above_chance})
        for axis, standing in entry.axes.items():
            low, high = standing.rank_interval or (None, None)
            rows.append({**common, "rank": standing.rank, "rank_low": low, "rank_high": high, "task": f"axis {axis}",
                         "measure": "score", **(standing.value.to_dict() if standing.value is not None else {})})
        for task, result in entry.tasks.items():
            rows += [{**common, "task": task, "measure": measure, **estimate.to_dict(), "signature": result.signature}
                     for measure, estimate in (("score", result.score), *result.measures.items()) if estimate is not None]
    return rows


def write_csv(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Return the rows of `score_rows` as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, TABLE, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def unit_scores(rankings: Iterable[Ranking]) -> pd.DataFrame:
    """Return the score of every entry on every test unit of its track."""
    import pandas as pd

    rows = [(placed.scored.name, placed.scored.stored.digest, placed.scored.track, name, unit.id, " | ".join(unit.stratum),
             score.by_unit[unit.id])
            for ranking in rankings for placed in ranking.places for name, score in placed.scored.tasks.items()
            if score.by_unit and score.task.info.track == placed.scored.track
            for unit in placed.scored.suite.units(score.task) if unit.id in score.by_unit]
    return pd.DataFrame(rows, columns=["entry", "digest", "track", "task", "unit", "stratum", "score"])


def resampled_scores(rankings: Iterable[Ranking]) -> pd.DataFrame:
    """Return the resampled scores, in 32 bits because only their spread is used, with the names of the clusters."""
    import pandas as pd

    rows = [{"entry": scored.name, "task": score.task.name, "value": score.resampled.value,
             "left_out": score.resampled.left_out.astype(np.float32),
             "replicates": score.resampled.replicates.astype(np.float32),
             "strata": score.resampled.strata.astype(np.int32), "clusters": cluster_names(scored, score)}
            for scored in (placed.scored for ranking in rankings for placed in ranking.places)
            for score in scored.tasks.values() if score.resampled is not None and score.task.info.track == scored.track]
    return pd.DataFrame(rows, columns=["entry", "task", "value", "left_out", "replicates", "strata", "clusters"])


def cluster_names(scored: Scored, score: TaskScore) -> list[str]:
    """Return the names of the clusters of a resampled score, each preceded by its stratum."""
    units = [unit for unit in scored.suite.units(score.task) if unit.id in score.by_unit]
    return [" | ".join([*cluster.stratum, cluster.name]) for cluster in task_clusters(score.task, units)]


def summarise_ranking(name: str, suite: Suite, rankings: Mapping[str, Ranking]) -> str:
    """Return the ranked tables as plain text, for readers of the folder."""
    lines = [f"Touchstone {name}: suite {suite.name}@{suite.fingerprint[:6]}, {suite.title}"]
    for track, ranking in rankings.items():
        axis = suite.axis(track)
        lines += ["", f"Track: {track}. {axis.title}: {axis.unit}",
                  f"{'rank':>4}  {'95% range':>9}  {'value':>8}  metric"]
        for number, placed in enumerate(ranking.ranked, start=1):
            rank_range = "-".join(map(str, placed.interval)) if placed.interval else ""
            lines.append(f"{placed.rank:>4}  {rank_range:>9}  {placed.scored.overall:>8.3f}  {placed.scored.name}")
            lines += ["-" * 44] if number in ranking.lines else []
        lines += ["", "Not ranked:"]
        lines += [f"  {placed.scored.name}: {placed.reason}" for placed in ranking.places if placed.rank is None]
    legend = ("A line: every metric above it is significantly better than every metric below it (adjusted p < 0.05,\n"
              "corrected for all pairs).")
    return "\n".join([*lines, "", legend, ""])


# ---- reading -----------------------------------------------------------------------------------------------------------

def releases(folder: Path = FOLDER) -> list[str]:
    """Return the names of all releases, the oldest first."""
    names = [path.name for path in folder.glob("*") if NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(names, key=lambda name: tuple(map(int, name.split("."))))


def read_release(name: str | None = None, folder: Path = FOLDER) -> Release:
    """Return a release by name or path, or the latest that is not withdrawn; raise if its checksums do not match."""
    if name is not None and "/" in name:
        folder, name = Path(name).resolve().parent, Path(name).resolve().name
    names, errata = releases(folder), read_errata(folder)
    if name is None:
        valid = [candidate for candidate in names if candidate not in errata or not errata[candidate].withdrawn]
        if not valid:
            raise TouchstoneError("There is no release yet. `touchstone release YEAR.NUMBER` writes one from the store.")
        name = valid[-1]
    if name not in names:
        raise TouchstoneError(f'There is no release "{name}".{did_you_mean(name, names)} Available: '
                              f'{", ".join(names) or "none"}.')
    path = folder / name
    try:
        sums = (line.split("  ", 1) for line in (path / SUMS).read_text(encoding="utf-8").splitlines())
        stated = {file: digest for digest, file in sums}
        present = {file.name for file in path.iterdir()} - {SUMS}
        expected = stated.keys() - (set() if is_clone() or folder != FOLDER else LEFT_OUT - present)
        altered = sorted(file for file in present | expected if file not in present or stated.get(file) != sha256_of(path / file))
        if altered:
            raise TouchstoneError(f"The release {name} was modified: the checksums of {', '.join(altered)} do not match. Restore "
                                  f"{path}.")
        report = complete(Report.model_validate_json((path / REPORT).read_bytes()))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TouchstoneError(f"The release {name} cannot be read ({REPORT}: {'.'.join(map(str, first['loc']))}: "
                      f"{first['msg']}). Restore {path}.") from None
    except (OSError, ValueError) as error:
        raise TouchstoneError(f"The release {name} cannot be read ({error}). Restore {path}.") from None
    return Release(name, path, report, errata.get(name, Erratum()))


def read_table(path: Path) -> pd.DataFrame:
    """Return a Parquet file without `pyarrow.dataset`, which takes 30 MB."""
    table: pd.DataFrame = pq.ParquetFile(path).read().to_pandas()
    return table


def find_published(suite: Suite, folder: Path | None = None) -> tuple[ReleasedResults | None, str | None]:
    """Return the results of a release for ranking others among them, or None and the reason.

    It is the latest release of this version of the suite, under whichever name; a suite that was never released has neither
    results nor a reason.
    """
    folder, reason = folder or FOLDER, None
    for candidate in reversed(releases(folder)):
        released = read_release(candidate, folder)
        info = released.report.suite
        if not released.errata.withdrawn and (info.name == suite.name or info.fingerprint == suite.fingerprint):
            try:
                return released.results(suite), None
            except TouchstoneError as error:
                reason = reason or str(error)
    return None, reason


def read_errata(folder: Path) -> dict[str, Erratum]:
    """Return the errata by release, such as ["2026.1"] withdrawn = true, superseded_by = "2026.2", reason = "..."."""
    try:
        tables = tomllib.loads((folder / "errata.toml").read_text(encoding="utf-8"))
        return {name: Erratum.model_validate(table) for name, table in tables.items()}
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise TouchstoneError(f"{folder / 'errata.toml'} cannot be read: {error}.") from None
