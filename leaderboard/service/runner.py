"""A process that checks and runs submissions, one after the other, in the sandbox."""

from __future__ import annotations

import _thread
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.evaluation.executor import Executor
from harness.evaluation.loop import MakeExecutor, RunInterrupted
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.databases import StoreBusy
from harness.results.store import Store
from harness.sandbox.faults import SupervisorLost
from harness.sandbox.limits import Limits
from harness.submission.header import read_header
from harness.submission.submission import Submission
from leaderboard.publishing.release import find_published
from leaderboard.report.position import find_positions
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import Results
from leaderboard.service.database import DatabaseAway
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.epochs.scoring import Origin, PrivatePass, task_scores
from leaderboard.service.states import (
    CheckDetails,
    Fault,
    IllegalTransition,
    RunDetails,
    RunProgress,
    State,
    SubmittedPosition,
)
from leaderboard.service.submissions import LostLease, Record, Submissions
from leaderboard.workflows.check import check_entries, summarize_check
from leaderboard.workflows.submit import State as Verdict
from leaderboard.workflows.submit import make_bundle, submission_state, zip_bundle

LOG = logging.getLogger("touchstone.runner")
POLL_SECONDS = 1.0
AWAY_SECONDS = 5.0  # between attempts to reach a database that is away


def use_this_machine() -> AbstractContextManager[MakeExecutor]:
    """Return what makes executors of this machine."""
    return nullcontext(Executor)


@dataclass
class RunConditions:
    """What submissions are run on, and how."""

    suite: Suite
    limits: Limits
    jobs: int
    epoch_secret: bytes | None = None
    connect: Callable[[], AbstractContextManager[MakeExecutor]] = use_this_machine  # or to a cluster


class Runner:
    """Claims submissions from a queue until it is stopped."""

    def __init__(self, submissions: Submissions, conditions: RunConditions) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._submissions, self._conditions = submissions, conditions
        self._epochs = Epochs(submissions.database)
        self._private = PrivatePass(self._epochs, conditions.suite, conditions.epoch_secret)

    def run(self, once: bool = False) -> None:
        """Work until KeyboardInterrupt, or with `once` until nothing waits."""
        self._private.check()
        while True:
            try:
                self._submissions.tidy()
                with self._submissions.database.runner_turn() as turn:
                    record = self._submissions.claim(self.name) if turn else None
                    if record is not None:
                        self._work(record)
                if record is None:
                    if once:
                        return
                    time.sleep(POLL_SECONDS)
            except (DatabaseAway, StoreBusy) as away:
                LOG.warning("%s", away)
                time.sleep(AWAY_SECONDS)

    def _work(self, record: Record) -> None:
        """Check or run one submission, and record how that ended."""
        LOG.info("%s %s (%s)", "checking" if record.state is State.SCREENED else "running", record.id, record.name)
        heart = Heart(self._submissions, record)
        try:
            with heart:
                state, reason, details = self._check(record) if record.state is State.SCREENED else self._run(record, heart)
            self._submissions.finish(record, state, reason, details)
            LOG.info("%s is %s", record.id, state.value)
        except (KeyboardInterrupt, RunInterrupted):
            if not heart.lost:
                self._submissions.release(record)
                raise KeyboardInterrupt from None
            LOG.warning("%s was taken over by another runner", record.id)
        except IllegalTransition:
            LOG.warning("%s was taken over by another runner", record.id)
        except StoreBusy:  # a run that somebody has started by hand
            self._submissions.release(record)
            raise
        except DatabaseAway:
            raise
        except (TouchstoneError, SupervisorLost) as error:
            LOG.warning("%s: %s", record.id, error)
            self._submissions.fail_attempt(record, str(error))

    def _read(self, record: Record) -> Submission:
        source = self._submissions.source(record.id)
        return Submission(record.filename, source, read_header(source, record.filename))

    def _check(self, record: Record) -> tuple[State, str, CheckDetails]:
        conditions, entries = self._conditions, self._read(record).entries
        self._epochs.assign_family(record.id, record.owner, record.name or "", entries[0].submission.source)
        seconds = self._submissions.settings.check_seconds
        reports, _ = check_entries(entries, conditions.suite, False, NoProgress(), conditions.limits, seconds)
        details = CheckDetails(reports=[summarize_check(report) for report in reports])
        for report in reports:
            if not report.sound:
                reason = report.refusal or report.inversion or next((str(failure) for failure in report.failures), None)
                return (
                    State.REFUSED,
                    f"{report.entry.name}: {reason or 'unusual inputs give answers that are not finite'}",
                    details,
                )
        return State.CHECKED, "The check in the sandbox succeeded.", details

    def _run(self, record: Record, heart: Heart) -> tuple[State, str, RunDetails]:
        conditions, submission = self._conditions, self._read(record)
        entries = submission.entries
        suite, address = conditions.suite, self._submissions.database.address
        published, unpublished_reason = find_published(suite)
        with conditions.connect() as make_executor:
            summary = run_suite(
                entries,
                suite,
                address,
                limits=conditions.limits,
                jobs=conditions.jobs,
                progress=heart,
                published=None if published is None else published.times(),
                make_executor=make_executor,
            )
        if summary.refused:
            return State.FAILED, summary.refused[0], RunDetails(fault=Fault.YOURS)
        store = Store(address, read_only=True)
        try:
            digests = {entry.digest for entry in entries}
            results = Results(suite, store, published, digests)
            rankings = rank_suite(results, suite)
            seconds = sum(
                outcome.seconds for digest in digests for outcome in store.outcomes(digest, suite.observation_types).values()
            )
            positions = [position for entry in entries for position in find_positions(entry.name, rankings)]
            details = RunDetails(
                seconds=seconds,
                suite=suite.name,
                fingerprint=suite.fingerprint,
                release=None if published is None else published.name,
                unranked=unpublished_reason,
                positions=[SubmittedPosition(**vars(position)) for position in positions],
            )
            own = [scored for scored in results.scored if scored.stored.digest in digests]
            for scored in own:
                verdict, reason = submission_state(scored, None)
                if verdict is Verdict.REJECTED:
                    return State.FAILED, f"{scored.name}: {reason}", details.model_copy(update={"fault": Fault.YOURS})
            bundle = make_bundle(submission, suite, results, rankings, {})
            self._submissions.store_bundle(record, zip_bundle(submission, bundle))
            public = {scored.stored.digest: task_scores(scored) for scored in own}
        finally:
            store.close()
        heart.hide("Runs on the private draw; its progress is not shown.")
        self._private.run(entries, public, Origin(record.id, record.owner), conditions.limits, conditions.jobs)
        return State.SCORED, f"All test units of {suite.name}@{suite.fingerprint[:6]} have an outcome.", details


class Heart:
    """Extends the lease of a runner in a thread and stores its progress; interrupts the main thread if the lease is lost."""

    def __init__(self, submissions: Submissions, record: Record) -> None:
        self._submissions, self._record = submissions, record
        self._stopped = threading.Event()
        self._progress = RunProgress()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self.lost = False

    def __enter__(self) -> Heart:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        interval = min(2.0, self._submissions.settings.lease_seconds / 5)
        while not self._stopped.wait(interval):
            try:
                self._submissions.beat(self._record, self._progress)
            except LostLease:
                self.lost = True
                _thread.interrupt_main()
                return
            except DatabaseAway as away:
                LOG.warning("%s", away)

    # ---- progress of the run ----------------------------------------------------------------------------------------------

    def stage(self, title: str, total: int, unit: str) -> HeartStage:
        """Begin a stage."""
        self._progress = RunProgress(stage=title, total=total, unit=unit, message=self._progress.message)
        return HeartStage(self._progress)

    def say(self, sentence: str) -> None:
        """Show a message until the next one."""
        self._progress.message = sentence

    def hide(self, sentence: str) -> None:
        """Show a message instead of the progress of a stage."""
        self._progress = RunProgress(message=sentence)


class HeartStage:
    """One stage of a run; the latest begun stage is shown."""

    def __init__(self, progress: RunProgress) -> None:
        self._progress = progress

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Report completed work."""
        self._progress.done += amount
        self._progress.left = left

    def close(self) -> None:
        """Do nothing: the next stage replaces this one."""
