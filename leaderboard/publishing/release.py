"""Releases: immutable folders of scores that can be cited for ever, with checksums; made from a store, verified when read.

What became of one later (withdrawn, superseded) stands in `errata.toml` beside them, never in them.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import PROJECT
from harness.evaluation.suite import Suite
from harness.models.registry import find_model
from harness.results.store import Store
from leaderboard.ensembles.summary import ensembles_csv
from leaderboard.report.build import board_facts
from leaderboard.scoring.ranking import RankedEntry, Ranking, rank_suite
from tasks.data import loading as data

FOLDER = PROJECT / "leaderboard" / "releases"
NAME = re.compile(r"[0-9]{4}\.[1-9][0-9]{0,2}")
SUMS, FACTS, SCORES, SUMMARY = "SHA256SUMS", "release.json", "scores.csv", "summary.txt"
UNITS, REPLICATES, ENSEMBLES = "units.parquet", "replicates.parquet", "ensembles.csv"
TABLE = ("track", "entry", "rank", "rank_low", "rank_high", "task", "measure", "value", "low", "high", "units", "signature")


@dataclass(frozen=True)
class Release:
    """One that was read and is whole."""

    name: str
    folder: Path
    facts: dict[str, Any]
    errata: str | None                      # what is said of it later

    @property
    def units(self) -> pd.DataFrame:
        """The score of every entry on every unit: what intervals and comparisons rest on."""
        return pd.read_parquet(self.folder / UNITS)

    @property
    def replicates(self) -> pd.DataFrame:
        """Of the scores that are no means over units: the score, without each cluster in turn, and under every draw."""
        return pd.read_parquet(self.folder / REPLICATES)

    def entry(self, name: str, track: str | None = None) -> dict[str, Any]:
        """What it says of a metric, in one track or in the first that has it."""
        entries = [one for one in self.facts["entries"] if track in (None, one["track"])]
        found = next((one for one in entries if one["name"] == name), None)
        if found is None:
            known = dict.fromkeys(one["name"] for one in entries)
            among = f" among its {track} metrics" if track is not None else ""
            raise TouchstoneError(f'The release {self.name} has no metric "{name}"{among}.{did_you_mean(name, known)}')
        return dict(found)


def release(name: str, suite: Suite, store: Store, folder: Path = FOLDER) -> Release:
    """Writes a release; refuses what must not be cited."""
    if not NAME.fullmatch(name):
        raise TouchstoneError(f'"{name}" is not the name of a release; they are called by year and number, such as 2026.1.')
    if (folder / name).exists():
        raise TouchstoneError(f"The release {name} is there already, and releases are never written again. Take the next number; "
                              "what is wrong with an old one is said in errata.toml.")
    refuse_unverified(suite)
    rankings = rank_suite(store, suite)
    if not any(ranking.ranked for ranking in rankings.values()):
        raise TouchstoneError(f"Nobody is ranked in the suite {suite.name} yet; `touchstone run --suite {suite.name}` asks the "
                              "metrics.")
    if any("context-dependent" in place.scored.marks for ranking in rankings.values() for place in ranking.ranked):
        raise AssertionError("a context-dependent entry is among the ranked")
    written = folder / f".{name}.partial"
    shutil.rmtree(written, ignore_errors=True)
    try:
        written.mkdir(parents=True)
        contents = contents_of(name, suite, store, rankings)
        for file, content in contents.items():
            (written / file).write_bytes(content)
        units_of(rankings.values()).to_parquet(written / UNITS, index=False)
        replicates_of(rankings.values()).to_parquet(written / REPLICATES, index=False, compression="zstd")
        sums = "".join(f"{sha256(written / file)}  {file}\n" for file in sorted([*contents, UNITS, REPLICATES]))
        (written / SUMS).write_text(sums, encoding="utf-8")
        written.rename(folder / name)
    except OSError as wrong:
        shutil.rmtree(written, ignore_errors=True)
        raise TouchstoneError(f"The release cannot be written to {folder} ({wrong.strerror}).") from None
    return read_release(name, folder)


def refuse_unverified(suite: Suite) -> None:
    """Data and models whose fingerprint nobody pinned may have been anything."""
    names = sorted({source.name for question in suite.questions for source in question.unit.data})
    unverified = [f'the dataset "{name}"' for name in names if not data.get_dataset(name).fingerprint]
    if not find_model(suite.model.name).verified:
        unverified.append(f'the model "{suite.model.name}"')
    if unverified:
        raise TouchstoneError(f"The suite {suite.name} rests on what is not verified: {', '.join(unverified)}. A release needs a "
                              "pinned fingerprint of each in the registry.")


def contents_of(name: str, suite: Suite, store: Store, rankings: Mapping[str, Ranking]) -> dict[str, bytes]:
    """The files of a release but for the units and the checksums."""
    places = [place for ranking in rankings.values() for place in ranking.places]
    facts = {"made": datetime.datetime.now(datetime.UTC).date().isoformat(), **board_facts(suite, rankings, store, name)}
    joined = {ENSEMBLES: ensembles_csv(facts).encode()} if facts["ensembles"] and facts["ensembles"]["rows"] else {}
    return {FACTS: (json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
            SCORES: as_csv(table(places)).encode(), SUMMARY: summary(name, suite, rankings).encode(), **joined}


def table(places: Iterable[RankedEntry]) -> list[dict[str, Any]]:
    """A row an entry and measure; the score of a task is its measure `score`, the overall score that of the task `all`."""
    rows = []
    for place in places:
        scored, (low, high) = place.scored, place.interval or (None, None)
        common = {"track": scored.track, "entry": scored.name, "rank": place.rank, "rank_low": low, "rank_high": high}
        rows.append({**common, "task": "all", "measure": "score", "value": scored.overall})
        for score in scored.shown_tasks:
            for measure, estimate in (("score", score.score), *score.measures.items()):
                if estimate is not None:
                    rows.append({**common, "task": score.task.name, "measure": measure, "value": estimate.value,
                                 "low": estimate.low, "high": estimate.high, "units": estimate.units,
                                 "signature": str(scored.signature(score))})
    return rows


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, TABLE, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def units_of(rankings: Iterable[Ranking]) -> pd.DataFrame:
    rows = [(place.scored.name, place.scored.stored.digest, name, unit.id, " | ".join(unit.stratum), score.by_unit[unit.id])
            for ranking in rankings for place in ranking.places for name, score in place.scored.tasks.items()
            if score.by_unit and score.task.info.track == place.scored.track
            for unit in place.scored.suite.units(score.task) if unit.id in score.by_unit]
    return pd.DataFrame(rows, columns=["entry", "digest", "task", "unit", "stratum", "score"])


def replicates_of(rankings: Iterable[Ranking]) -> pd.DataFrame:
    """In 32 bits: they tell spreads, not scores."""
    rows = [(scored.name, score.task.name, score.resampled.value, score.resampled.left_out.astype(np.float32),
             score.resampled.replicates.astype(np.float32), score.resampled.strata.astype(np.int32))
            for scored in (place.scored for ranking in rankings for place in ranking.places)
            for score in scored.ranked_tasks if score.resampled is not None]
    return pd.DataFrame(rows, columns=["entry", "task", "value", "left_out", "replicates", "strata"])


def summary(name: str, suite: Suite, rankings: Mapping[str, Ranking]) -> str:
    """The ranked tables, for people who open the folder."""
    lines = [f"Touchstone {name}: suite {suite.name}@{suite.fingerprint[:6]}, {suite.title}"]
    for track, ranking in rankings.items():
        lines += ["", f"Track: {track}", f"{'rank':>4}  {'for sure':>8}  {'above chance':>12}  metric"]
        for number, place in enumerate(ranking.ranked, start=1):
            between = "-".join(map(str, place.interval)) if place.interval else ""
            lines.append(f"{place.rank:>4}  {between:>8}  {place.scored.overall:>12.3f}  {place.scored.name}")
            lines += ["-" * 44] if number in ranking.lines else []
        lines += ["", "Not ranked:"]
        lines += [f"  {place.scored.name}: {place.reason}" for place in ranking.places if place.rank is None]
    legend = "0 is chance, 1 is perfect. A line: everybody above is better for sure than everybody below (5%, all pairs at once)."
    return "\n".join([*lines, "", legend, ""])


# ---- reading -----------------------------------------------------------------------------------------------------------

def releases(folder: Path = FOLDER) -> list[str]:
    """The names of all releases, oldest first."""
    found = [path.name for path in folder.glob("*") if NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda name: tuple(map(int, name.split("."))))


def read_release(name: str | None = None, folder: Path = FOLDER) -> Release:
    """A release by name, or the latest that is not withdrawn; refuses one of which a byte is not as it was."""
    known, said = releases(folder), errata(folder)
    if name is None:
        standing = [one for one in known if not said.get(one, {}).get("withdrawn")]
        if not standing:
            raise TouchstoneError("There is no release yet; `touchstone release YEAR.NUMBER` makes one from the store.")
        name = standing[-1]
    if name not in known:
        raise TouchstoneError(f'There is no release "{name}".{did_you_mean(name, known)} There are {", ".join(known) or "none"}.')
    place = folder / name
    try:
        sums = (line.split("  ", 1) for line in (place / SUMS).read_text(encoding="utf-8").splitlines())
        stated = {file: digest for digest, file in sums}
        found = {path.name for path in place.iterdir()} - {SUMS}
        wrong = sorted(file for file in found | stated.keys() if file not in found or stated.get(file) != sha256(place / file))
        if wrong:
            raise TouchstoneError(f"The release {name} is not as it was made: {', '.join(wrong)}. Restore {place}.")
        facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise TouchstoneError(f"The release {name} cannot be read ({broken}). Restore {place}.") from None
    return Release(name, place, facts, sentence(said.get(name)))


def errata(folder: Path) -> dict[str, dict[str, Any]]:
    """What is said of releases later: [ "2026.1" ] withdrawn = true, superseded_by = "2026.2", reason = "..."."""
    try:
        return tomllib.loads((folder / "errata.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise TouchstoneError(f"{folder / 'errata.toml'} cannot be read: {wrong}.") from None


def sentence(said: dict[str, Any] | None) -> str | None:
    if not said:
        return None
    later = said.get("superseded_by")
    parts = ["withdrawn" if said.get("withdrawn") else "", f"superseded by {later}" if later else "", str(said.get("reason", ""))]
    return ": ".join(part for part in parts if part)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
