"""Write a submission bundle (the file and its scores), and run a bundle again.

A submission is *checked* if its file is valid and a run answered every test unit, else *rejected* with the reason; it is *ranked*
once its file is in submissions/ and a release lists it.
"""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.provenance import harness_commit, harness_version
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.submission.selection import SUFFIXES
from harness.submission.submission import Submission, load_submission
from leaderboard.publishing.release import find_published
from leaderboard.report.position import Position, find_positions
from leaderboard.scoring.ranking import Ranking, rank_suite
from leaderboard.scoring.results import Results, score_suite
from leaderboard.scoring.scores import Scored
from leaderboard.workflows.check import CheckReport
from tasks.suite_files import load_suite

TOLERANCE = 1e-3
FACTS = "bundle.json"
FACTS_BYTES = 50_000_000


class State(StrEnum):
    """The state of a submitted entry."""

    CHECKED = "checked"
    REJECTED = "rejected"


class EntryClaim(BaseModel):
    """What a bundle claims about one entry."""

    model_config = ConfigDict(extra="ignore")

    name: str
    digest: str
    state: State
    reason: str | None
    overall: dict[str, float | None]        # score above chance, by track
    signatures: dict[str, str]
    scores: dict[str, Annotated[dict[str, float], Field(max_length=1_000_000)]]     # by task and test unit


class Bundle(BaseModel):
    """The contents of `bundle.json`: claims that a rerun verifies."""

    model_config = ConfigDict(extra="ignore")

    file: str
    suite: str
    fingerprint: str
    version: str
    commit: str | None
    environment: dict[str, str]             # packages and their versions
    entries: list[EntryClaim]
    release: str | None = None              # among whose metrics the entries were ranked
    positions: list[Position] = []


@dataclass(frozen=True)
class Rerun:
    """The result of running one entry of a bundle again."""

    claim: EntryClaim
    scored: Scored
    rank: str                               # in each track, among published entries and those of the store, or why not
    difference: float                       # the largest of the scores of a test unit
    state: State
    reason: str | None


def write_bundle(
    submission: Submission, suite: Suite, reports: Sequence[CheckReport], results: Results, folder: Path
) -> tuple[Path, Bundle]:
    """Write a folder with the submission, its scores, and its position among the published metrics."""
    rankings = {} if results.published is None else rank_suite(results, suite)
    made = make_bundle(submission, suite, results, rankings, {report.entry.digest: report for report in reports})
    target = folder / submission.header.name
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in bundle_files(submission, made).items():
            (target / name).write_bytes(content)
    except OSError as error:
        raise TouchstoneError(f"The bundle cannot be written to {target} ({error.strerror}); choose another folder with "
                              "--to.") from None
    return target, made


def zip_bundle(submission: Submission, bundle: Bundle) -> bytes:
    """Return a bundle as the content of a ZIP file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in bundle_files(submission, bundle).items():
            archive.writestr(zipfile.ZipInfo(f"{submission.header.name}/{name}"), file, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def bundle_files(submission: Submission, bundle: Bundle) -> dict[str, bytes]:
    """Return the files of a bundle by name."""
    return {submission.filename: submission.source, FACTS: (bundle.model_dump_json(indent=1) + "\n").encode()}


def make_bundle(submission: Submission, suite: Suite, results: Results, rankings: Mapping[str, Ranking],
                reports: Mapping[str, CheckReport]) -> Bundle:
    """Return what a bundle claims about the entries of a submission; there may be reports of the check, by digest."""
    scored = {entry.stored.digest: entry for entry in score_suite(results, suite)}
    entries: list[EntryClaim] = []
    environment: dict[str, str] = {}
    for entry in submission.entries:
        scored_entry = scored[entry.digest]
        state, reason = submission_state(scored_entry, reports.get(entry.digest))
        runs = results.provenance(entry.digest)
        environment = dict(runs[0]["packages"]) if runs else environment
        entries.append(
            EntryClaim(
                name=entry.name,
                digest=entry.digest,
                state=state,
                reason=reason,
                overall={track: scored_entry.in_track(track).overall for track in scored_entry.tracks},
                signatures={name: str(scored_entry.signature(score)) for name, score in scored_entry.tasks.items()},
                scores={name: dict(score.by_unit) for name, score in scored_entry.tasks.items() if score.by_unit},
            )
        )
    return Bundle(
        file=submission.filename,
        suite=suite.name,
        fingerprint=suite.fingerprint,
        version=harness_version(),
        commit=harness_commit(),
        environment=environment,
        entries=entries,
        release=None if results.published is None else results.published.name,
        positions=[position for entry in submission.entries for position in find_positions(entry.name, rankings)],
    )


def submission_state(scored: Scored, report: CheckReport | None) -> tuple[State, str | None]:
    """Return whether a submission can be ranked, and why not."""
    if report is not None and report.failures:
        return State.REJECTED, f"the check failed: {report.failures[0]}"
    for score in (task_score for task_score in scored.tasks.values() if task_score.task.info.ranked):
        title = score.task.info.title.lower()
        if not score.complete:
            return State.REJECTED, f"{score.asked} of {score.planned} test units of {title} were run"
        if score.too_many_failed:
            return State.REJECTED, f"{len(score.failures)} of {score.asked} test units of {title} failed: {score.failures[0]}"
    if "context-dependent" in scored.marks:
        return State.REJECTED, "its answers depend on other calls"
    return State.CHECKED, None


def read_bundle(path: Path) -> tuple[Bundle, Submission]:
    """Read an untrusted bundle; only the two files that it names are opened."""
    try:
        with (path / FACTS).open("rb") as file:
            content = file.read(FACTS_BYTES + 1)
    except OSError as error:
        raise TouchstoneError(f"{path / FACTS} cannot be read ({error.strerror}); write a bundle with "
                              "`touchstone submit FILE`.") from None
    try:
        bundle = Bundle.model_validate(json.loads(content))
    except (ValueError, RecursionError, ValidationError):
        raise TouchstoneError(f"{path / FACTS} does not describe a bundle; write one with `touchstone submit FILE`.") from None
    if Path(bundle.file).name != bundle.file or not bundle.file.endswith(SUFFIXES):
        raise TouchstoneError(f"{path / FACTS} must name a .py file in the same folder; write the bundle again with "
                              "`touchstone submit FILE`.")
    return bundle, load_submission(path / bundle.file)


def rerun_bundle(path: Path, store: Path | str, limits: Limits, jobs: int, progress: Progress) -> list[Rerun]:
    """Run the entries of a bundle on its suite again and compare the scores."""
    bundle, submission = read_bundle(path)
    suite = load_suite(bundle.suite)
    if suite.fingerprint != bundle.fingerprint:
        raise TouchstoneError(f"The bundle was written for {bundle.suite}@{bundle.fingerprint[:6]}, but this clone has "
                              f"{bundle.suite}@{suite.fingerprint[:6]}; submit the metric again from this clone.")
    entries = {entry.name: entry for entry in submission.entries}
    unknown = sorted({claim.name for claim in bundle.entries} ^ entries.keys())
    if unknown or any(
        claim.digest not in (entries[claim.name].digest, entries[claim.name].digest_v1) for claim in bundle.entries
    ):
        raise TouchstoneError(f"{path / FACTS} belongs to another version of {submission.filename}; submit the metric again.")
    run_suite(submission.entries, suite, store, limits=limits, jobs=jobs, progress=progress)
    opened = Store(store, read_only=True)
    rankings = rank_suite(Results(suite, opened, find_published(suite)[0]), suite)
    reruns = []
    for claim in bundle.entries:
        digest = entries[claim.name].digest
        placed = itertools.chain.from_iterable(ranking.places for ranking in rankings.values())
        scored = next(entry.scored for entry in placed if entry.scored.stored.digest == digest)
        scores = {name: dict(score.by_unit) for name, score in scored.tasks.items() if score.by_unit}
        difference = largest_difference(claim.scores, scores)
        state, reason = submission_state(scored, None)
        if state is State.CHECKED and difference > TOLERANCE and scored.entry.header.repeatable:
            state, reason = State.REJECTED, f"its scores are not reproduced: the score of a test unit differs by {difference:.4f}"
        ranks = {track: rank for track, ranking in rankings.items() if (rank := describe_rank(digest, ranking)) is not None}
        rank = "; ".join(rank if len(ranks) == 1 else f"{track} metrics: {rank}" for track, rank in ranks.items())
        reruns.append(Rerun(claim, scored, rank, difference, state, reason))
    opened.close()
    return reruns


def describe_rank(digest: str, ranking: Ranking) -> str | None:
    """Return the rank of an entry in a track, or why it has none; None if it is not in the track."""
    for entry in ranking.places:
        if entry.scored.stored.digest == digest:
            return f"rank {entry.rank} of {len(ranking.ranked)}" if entry.rank is not None else f"not ranked: {entry.reason}"
    return None


def largest_difference(a: dict[str, dict[str, float]], b: dict[str, dict[str, float]]) -> float:
    """Return the largest difference of two entries' scores of test units; infinite if the test units differ."""
    if a.keys() != b.keys() or any(a[name].keys() != b[name].keys() for name in a):
        return float("inf")
    return max((abs(a[name][unit] - b[name][unit]) for name in a for unit in a[name]), default=0.0)
