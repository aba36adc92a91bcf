"""Running entries on a private draw; of their answers only rounded scores leave the private store."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress, Progress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.databases import SqliteFile, StoreBusy, open_database
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.submission.selection import load_available, select_entries
from harness.submission.submission import Entry
from leaderboard.publishing.release import find_published
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.results import Results
from leaderboard.scoring.scores import Scored
from leaderboard.service.database import DatabaseAway, ServiceDatabase
from leaderboard.service.epochs.disclosure import correct_for_tries, find_gap, is_suspicious, round_score
from leaderboard.service.epochs.draws import (
    commitment_of,
    derive_suite,
    digest_items,
    parse_recipe,
    sources_of,
)
from leaderboard.service.epochs.ledger import Epoch, Epochs, PrivateResult
from tasks.suite_files import load_suite

LOG = logging.getLogger("touchstone.runner")
STORE_VARIABLE = "TOUCHSTONE_PRIVATE_STORE"

Scores = Mapping[str, Estimate]             # by task


@dataclass(frozen=True)
class Origin:
    """The submission that an entry comes from."""

    submission: str
    owner: str


@dataclass(frozen=True)
class PrivateDraw:
    """The draw of an epoch, and the store of the answers to it, which nothing but a runner reads."""

    epochs: Epochs
    epoch: Epoch
    suite: Suite
    store: str

    @classmethod
    def load(cls, epochs: Epochs, epoch: Epoch, secret: bytes, store: str) -> PrivateDraw:
        """Return the draw of an epoch; refuse a wrong secret, and sources that have changed since it was opened."""
        epoch.check(secret)
        suite = derive_suite(epoch.recipe, secret)
        if suite.fingerprint != epoch.fingerprint:
            raise TouchstoneError(f"The draw of the epoch {epoch.name} is not the one that was opened: the code or the datasets "
                                  "have changed. Check out the version of Touchstone that opened it.")
        return cls(epochs, epoch, suite, store)

    def score(self, entries: Sequence[Entry], public: Mapping[str, Scores], limits: Limits | None = None, jobs: int | None = None,
              progress: Progress | None = None, origin: Origin | None = None) -> None:
        """Run entries and store their rounded scores; `public` has the scores of each on the public draw, by digest.

        Entries that have a result are skipped, and a run that was interrupted continues.
        """
        finished = {result.digest for result in self.epochs.results(self.epoch.name)}
        waiting = [entry for entry in entries if entry.digest not in finished]
        if origin is not None:
            self.epochs.reassign(self.epoch.name, [entry.digest for entry in entries], origin.submission, origin.owner)
        if not waiting:
            return
        create_private(self.store)
        summary = run_suite(waiting, self.suite, self.store, limits=limits, jobs=jobs, progress=progress or NoProgress())
        if summary.refused:
            raise TouchstoneError(summary.refused[0])
        store = Store(self.store, read_only=True)
        try:
            digests = {entry.digest for entry in waiting}
            for scored in Results(self.suite, store, None, digests).scored:
                self._save(scored, public.get(scored.stored.digest, {}), origin)
        finally:
            store.close()

    def _save(self, scored: Scored, public: Scores, origin: Origin | None) -> None:
        digest, name = scored.stored.digest, self.epoch.name
        tries = 1 if origin is None else self.epochs.tries(name, origin.owner, digest)
        private = task_scores(scored)
        titles = {task: score.task.info.title for task, score in scored.tasks.items()}
        disclosed = [score for task, estimate in private.items()
                     if (score := round_score(task, titles[task], correct_for_tries(estimate, tries))) is not None]
        gaps = {task: gap for task, estimate in private.items()
                if task in public and (gap := find_gap(public[task], estimate)) is not None}
        published = self.epochs.results(name, published=True)
        suspicious = {task for task, gap in gaps.items()
                      if is_suspicious(gap, [result.gaps[task] for result in published if task in result.gaps])}
        failed = {task for task, score in scored.tasks.items() if task in public and score.too_many_failed}
        flagged = tuple(sorted(suspicious | failed)) if origin is not None else ()
        kept = {score.task: replace(gap, value=score.step * round(gap.value / score.step)) for score in disclosed
                if origin is None and (gap := gaps.get(score.task)) is not None}
        self.epochs.save(PrivateResult(
            name, digest, scored.name, None if origin is None else origin.submission, None if origin is None else origin.owner,
            tries, 0.0, tuple(disclosed), kept, flagged))


def task_scores(scored: Scored) -> dict[str, Estimate]:
    """Return the scores of an entry on all ranked tasks that it was run on, without those of which too many units failed."""
    return {name: score.score for name, score in scored.tasks.items()
            if score.score is not None and score.complete and not score.too_many_failed and scored.suite.is_ranked(score.task)}


def open_epoch(epochs: Epochs, recipe: str, secret: bytes, progress: Progress | None = None) -> Epoch:
    """Draw an epoch completely, and store it with its commitment."""
    parsed = parse_recipe(recipe)
    if parsed.expires <= datetime.datetime.now(datetime.UTC).date():
        raise TouchstoneError(f"`expires` of the recipe is {parsed.expires}; it must be in the future.")
    draw = derive_suite(recipe, secret)
    sources = sources_of(load_suite(parsed.suite), draw)
    return epochs.open(Epoch(
        name=parsed.name, commitment=commitment_of(secret, recipe, sources), expires=parsed.expires, recipe=recipe,
        sources=sources, fingerprint=draw.fingerprint, items=digest_items(draw, progress)))


def create_private(store: str) -> None:
    """Create the folder and the file of a private store so that only their owner can read them."""
    opened = open_database(store)
    if isinstance(opened, SqliteFile):
        opened.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        opened.path.with_suffix(".arrays").mkdir(exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(opened.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def private_store(database: ServiceDatabase, epoch: str) -> str:
    """Return the address of the private store: TOUCHSTONE_PRIVATE_STORE, or a file in a folder beside an SQLite store."""
    named, opened = os.environ.get(STORE_VARIABLE), open_database(database.address)
    if named:
        other = open_database(named)
        if named == database.address or (isinstance(opened, SqliteFile) and isinstance(other, SqliteFile)
                                         and opened.path.resolve() == other.path.resolve()):
            raise TouchstoneError(f"{STORE_VARIABLE} names the store of the service; name another one for private draws.")
        return named
    if not isinstance(opened, SqliteFile):
        raise TouchstoneError(f"Answers to a private draw must not be stored in {database.name}; set {STORE_VARIABLE} to a "
                              "file or another database.")
    return str(opened.path.parent / "private" / f"{epoch}.sqlite")


def public_scores(results: Results) -> dict[str, Scores]:
    """Return the scores of all entries on the ranked tasks of the public draw, by digest."""
    return {scored.stored.digest: task_scores(scored) for scored in results.scored}


def score_published(draw: PrivateDraw, names: Sequence[str], limits: Limits, jobs: int, progress: Progress) -> int:
    """Run metrics by name, or those of the release and scored submissions; return how many entries have a result then."""
    suite = load_suite(parse_recipe(draw.epoch.recipe).suite)
    published, _ = find_published(suite)
    store = Store(draw.epochs.database.address, read_only=True)
    try:
        public = public_scores(Results(suite, store, published))
    finally:
        store.close()
    if names:
        entries = select_entries(names, SUBMISSIONS)
    else:
        digests = set() if published is None else published.digests
        entries = [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries if entry.digest in digests]
    draw.score(entries, public, limits, jobs, progress)
    if not names:
        for identifier, owner, submission in draw.epochs.scored_submissions():
            draw.score(submission.entries, public, limits, jobs, progress, Origin(identifier, owner))
    return len(draw.epochs.results(draw.epoch.name))


class PrivatePass:
    """Runs submissions on the private draw of the epoch that is open, for a runner that has its secret."""

    def __init__(self, epochs: Epochs, suite: Suite, secret: bytes | None) -> None:
        self.epochs, self._suite, self._secret = epochs, suite, secret
        self._draw: PrivateDraw | None = None

    def check(self) -> None:
        """Refuse a secret that is not that of the open epoch, and a store that cannot hold private answers."""
        epoch = self.epochs.current()
        if epoch is not None and self._secret is not None:
            epoch.check(self._secret)
            private_store(self.epochs.database, epoch.name)

    def run(self, entries: Sequence[Entry], public: Mapping[str, Scores], origin: Origin, limits: Limits, jobs: int) -> None:
        """Run the entries of a submission, if an epoch is open; errors name no dataset and quote no text of the draw."""
        epoch = self.epochs.current()
        if epoch is None:
            return
        reason = ("this runner has no secret" if self._secret is None else "it is a draw of another suite"
                  if epoch.public_fingerprint != self._suite.fingerprint else None)
        if reason is not None or self._secret is None:
            LOG.warning("Not run on the private draw of %s: %s. `touchstone epoch score` does so later.", epoch.name, reason)
            return
        try:
            if self._draw is None or self._draw.epoch.name != epoch.name:
                self._draw = PrivateDraw.load(self.epochs, epoch, self._secret, private_store(self.epochs.database, epoch.name))
            self._draw.score(entries, public, limits, jobs, origin=origin)
        except (StoreBusy, DatabaseAway):
            raise
        except TouchstoneError:
            raise TouchstoneError("the private draw could not be run; `touchstone epoch score` shows the operator the "
                                  "reason") from None
