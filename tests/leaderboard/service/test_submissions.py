"""States, queue, leases and limits of the submission service, on SQLite and PostgreSQL."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.service.database import EVENTS, SUBMISSIONS, ServiceDatabase
from leaderboard.service.quotas import RefusedRequest
from leaderboard.service.settings import DAY, HOUR, Settings
from leaderboard.service.states import FINAL, FOLLOWING, Fault, IllegalTransition, RunDetails, RunProgress, State
from leaderboard.service.submissions import LostLease, Submissions, UnknownSubmission
from tests.support.service import age, make_file

LENIENT = Settings(uploads_per_day=10_000, checks_per_hour=10_000, runs_per_month=10_000, waiting_per_owner=10_000, queue_length=10_000)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def address(request, tmp_path) -> str:
    return str(tmp_path / "store.sqlite") if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture
def submissions(address) -> Submissions:
    return Submissions(ServiceDatabase(address), LENIENT)


def limited(submissions: Submissions, **limits) -> Submissions:
    return Submissions(submissions.database, Settings(**{**vars(LENIENT), **limits}))


def upload(submissions: Submissions, name: str = "mine", owner: str = "ada", body: str | None = None, queue: bool = False):
    source = make_file(name) if body is None else make_file(name, body)
    return submissions.receive(owner, "192.0.2.1", "mine.py", source, queue)


def checked(submissions: Submissions, name: str = "mine", owner: str = "ada", queue: bool = True):
    upload(submissions, name, owner, queue=queue)
    record = submissions.claim("runner")
    assert record.name == name
    return submissions.finish(record, State.CHECKED, "It is valid.")


def scored(submissions: Submissions, name: str, owner: str = "ada", seconds: float = 1.0):
    checked(submissions, name, owner)
    record = submissions.claim("runner")
    assert (record.name, record.state) == (name, State.RUNNING)
    return submissions.finish(record, State.SCORED, "It has results.", RunDetails(seconds=seconds))


def states(submissions: Submissions, identifier: str) -> list[str]:
    return [event.state.value for event in submissions.events(identifier)]


def test_the_way_of_a_submission_to_publication(submissions):
    record, new = upload(submissions, queue=True)
    assert (record.state, new) == (State.SCREENED, True)
    submissions.finish(submissions.claim("a"), State.CHECKED, "It is valid.")
    submissions.finish(submissions.claim("b"), State.SCORED, "It has results.", RunDetails(seconds=2.0))
    assert submissions.get(record.id).state is State.HELD
    age(submissions.database, 7 * DAY + 1)
    submissions.tidy()
    assert states(submissions, record.id) == ["received", "screened", "checked", "queued", "running", "scored", "held", "published"]
    assert [one.id for one in submissions.published()] == [record.id]
    assert submissions.counts()[State.PUBLISHED] == 1
    times = [event.time for event in submissions.events(record.id)]
    assert times == sorted(times)


def test_the_same_file_is_the_same_submission_until_it_is_withdrawn(submissions):
    first, _ = upload(submissions)
    assert upload(submissions) == (first, False)
    submissions.withdraw(first.id)
    second, new = upload(submissions)
    assert new
    assert second.id != first.id


def test_a_name_of_another_owner_is_refused_also_if_it_only_looks_alike(submissions):
    upload(submissions, "length")
    record, _ = upload(submissions, "1ength", owner="bob")
    assert record.state is State.REFUSED
    assert 'looks like "length"' in submissions.events(record.id)[-1].reason
    record, _ = upload(submissions, "length", owner="bob", body="def distance(p, q): return 0.0\n")
    assert 'The name "length" is taken' in submissions.events(record.id)[-1].reason
    record, _ = upload(submissions, "length", body="def distance(p, q): return 0.0\n")
    assert record.state is State.SCREENED                       # a new version of one's own


@pytest.mark.parametrize(("filename", "source", "sentence"), [
    ("mine.py", b"", "The file is empty"), ("mine.py", b"PK\x03\x04\0\0", "The file is not text"), ("mine.py", b"\xff\xfe\x00", "not text"),
    ("mine.py", b"\xff\xfe", "UTF-8"), ("mine.py", b"x" * 300_000, "at most 256 kB"), ("mine.zip", b"x", "end with .py"), ("../mine.py", b"x", "no folder"),
    ("mine.py", b"def distance(p, q): return 0.0", "header"), ("energy.py", make_file("energy"), "is taken"),
    ("mine.py", make_file("mine").replace(b'# license = "Apache-2.0"\n', b""), "license")])
def test_bad_files_are_refused_with_a_sentence(submissions, filename, source, sentence):
    record, _ = submissions.receive("ada", "192.0.2.1", filename, source)
    assert record.state is State.REFUSED
    assert sentence in submissions.events(record.id)[-1].reason
    assert submissions.claim("runner") is None


def test_control_characters_are_stored_in_neither_database(submissions):
    """PostgreSQL refuses text with NUL."""
    record, _ = submissions.receive("ada", "192.0.2.1", "\0\x1b[31m.py", b"\0")
    assert record.filename == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m.py"
    with pytest.raises(UnknownSubmission):
        submissions.get("\0")
    upload(submissions)
    claimed = submissions.finish(submissions.claim("runner"), State.REFUSED, "raised \0")
    assert submissions.events(claimed.id)[-1].reason == "raised \N{REPLACEMENT CHARACTER}"


def test_withdrawing_ends_when_a_run_has_begun(submissions):
    record = checked(submissions)
    submissions.claim("runner")
    with pytest.raises(RefusedRequest, match="is running; only a submission that has not been run"):
        submissions.withdraw(record.id)
    with pytest.raises(UnknownSubmission):
        submissions.withdraw("unknown")


def test_owners_take_turns_and_have_one_run_at_a_time(submissions):
    for owner, count in (("ada", 3), ("bob", 2)):
        for number in range(count):
            checked(submissions, f"{owner}-{number}", owner)
    first, second = submissions.claim("a"), submissions.claim("b")
    assert {first.owner, second.owner} == {"ada", "bob"}
    assert submissions.claim("c") is None                       # both owners have one that runs
    for record in (first, second):
        submissions.finish(record, State.SCORED, "It has results.")
    order = []
    while (record := submissions.claim("a")) is not None:
        order.append(record.owner)
        submissions.finish(record, State.SCORED, "It has results.")
    assert order == [first.owner, second.owner, "ada"]


def test_each_submission_is_claimed_once_by_concurrent_runners(submissions):
    for number in range(12):
        checked(submissions, f"metric-{number}", f"owner-{number}")
    start = threading.Barrier(6)

    def work(runner: int) -> list[str]:
        start.wait()
        return [record.id for record in iter(lambda: submissions.claim(str(runner)), None)]

    with ThreadPoolExecutor(6) as pool:
        claimed = [identifier for identifiers in pool.map(work, range(6)) for identifier in identifiers]
    assert len(claimed) == len(set(claimed)) == 12


def test_concurrent_uploads_of_one_file_are_one_submission(submissions):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: upload(submissions), range(24)))
    assert len({record.id for record, _ in results}) == 1
    assert sum(new for _, new in results) == 1


def test_a_lost_runner_is_replaced_once_and_cannot_finish_any_more(submissions):
    record = checked(submissions)
    lost = submissions.claim("lost")
    age(submissions.database, LENIENT.lease_seconds + 1)
    with pytest.raises(LostLease):
        submissions.tidy()
        submissions.beat(lost)
    other = submissions.claim("other")
    assert other.id == record.id
    with pytest.raises(IllegalTransition):
        submissions.finish(lost, State.SCORED, "too late")
    age(submissions.database, LENIENT.lease_seconds + 1)
    submissions.tidy()
    assert submissions.get(record.id).state is State.FAILED
    assert submissions.events(record.id)[-1].details == {"fault": "ours"}
    again, new = upload(submissions)                            # the same file may be submitted again
    assert new
    assert again.id != record.id


def test_a_lost_check_is_repeated_once(submissions):
    record, _ = upload(submissions)
    for attempt in range(2):
        assert submissions.claim(f"runner {attempt}").id == record.id
        assert submissions.claim("other") is None               # it is leased
        age(submissions.database, LENIENT.lease_seconds + 1)
    assert submissions.claim("other") is None
    assert submissions.get(record.id).state is State.FAILED


def test_a_sign_of_life_extends_the_lease_and_shows_progress(submissions):
    checked(submissions)
    record = submissions.claim("runner")
    age(submissions.database, LENIENT.lease_seconds - 1)
    submissions.beat(record, RunProgress(done=3, total=10))
    age(submissions.database, LENIENT.lease_seconds - 1)
    submissions.tidy()
    assert submissions.get(record.id).state is State.RUNNING
    assert submissions.get(record.id).progress == RunProgress(done=3, total=10)


def test_a_stopped_runner_gives_back_what_it_has_without_a_charge(submissions):
    record = checked(submissions)
    for _ in range(5):
        submissions.release(submissions.claim("runner"))
    assert submissions.get(record.id).state is State.QUEUED
    assert submissions.get(record.id).attempts == 0


def test_what_is_not_queued_expires(submissions):
    record = checked(submissions, queue=False)
    age(submissions.database, 14 * DAY + 1)
    submissions.tidy()
    assert submissions.get(record.id).state is State.EXPIRED
    with pytest.raises(RefusedRequest, match="is expired and cannot be queued"):
        submissions.enqueue(record.id)


def test_pruning_keeps_what_was_scored_and_what_is_open(submissions):
    kept = [scored(submissions, "scored").id, checked(submissions, "open", queue=False).id]
    withdrawn = upload(submissions, "withdrawn")[0].id
    submissions.withdraw(withdrawn)
    assert submissions.prune(90) == 0
    age(submissions.database, 91 * DAY)
    assert submissions.prune(90) == 1
    assert [submissions.get(identifier).id for identifier in kept] == kept
    assert submissions.events(withdrawn) == []


# ---- limits --------------------------------------------------------------------------------------------------------------

def test_limit_of_uploads_from_an_address(submissions):
    few = limited(submissions, uploads_per_day=2)
    upload(few, "first")
    upload(few, "second")
    with pytest.raises(RefusedRequest, match=r"limit of 2 uploads from one address in 24 hours is reached. Try again in 24 hours") as refusal:
        upload(few, "third")
    assert refusal.value.status == 429
    assert submissions.counts()[State.SCREENED] == 2            # nothing was stored
    age(few.database, DAY + 1)
    upload(few, "third")


def test_limit_of_checks_does_not_count_refused_files(submissions):
    few = limited(submissions, checks_per_hour=1)
    assert few.receive("ada", "192.0.2.1", "mine.py", b"")[0].state is State.REFUSED
    upload(few, "first")
    with pytest.raises(RefusedRequest, match="limit of 1 checks in an hour"):
        upload(few, "second")
    age(few.database, HOUR + 1)
    upload(few, "second")


def test_limit_of_scored_submissions_counts_waiting_ones_and_ends(submissions):
    few = limited(submissions, runs_per_month=2)
    scored(few, "first")
    checked(few, "second")
    third = checked(few, "third")
    assert third.state is State.CHECKED
    assert "The limit is 2 scored submissions in 30 days (1 scored, 1 waiting)" in third.progress.message
    few.finish(few.claim("runner"), State.FAILED, "The metric failed.", RunDetails(fault=Fault.YOURS))
    assert few.enqueue(third.id).state is State.QUEUED          # only scored ones count
    few.finish(few.claim("runner"), State.SCORED, "It has results.", RunDetails(seconds=1.0))
    fourth = checked(few, "fourth")
    with pytest.raises(RefusedRequest, match=r"Try again in 30 days") as refusal:
        few.enqueue(fourth.id)
    assert refusal.value.seconds == pytest.approx(30 * DAY, rel=1e-3)


def test_limit_of_processor_time(submissions):
    few = limited(submissions, hours_per_month=1.0)
    scored(few, "first", seconds=4000)
    with pytest.raises(RefusedRequest, match="1 hours of processor time"):
        few.enqueue(checked(few, "second").id)


def test_limits_of_waiting_submissions(submissions):
    few = limited(submissions, waiting_per_owner=1)
    checked(few, "first")
    with pytest.raises(RefusedRequest, match="1 of your submissions are in the queue"):
        few.enqueue(checked(few, "second").id)
    with pytest.raises(RefusedRequest, match="The queue is full") as refusal:
        upload(limited(submissions, queue_length=1), "third")
    assert refusal.value.status == 503


# ---- every sequence of events ----------------------------------------------------------------------------------------------

ACTIONS = ["upload", "queue", "withdraw", "claim", "beat", "checked", "refused", "failed", "scored", "release", "fail_attempt", "lose", "tidy", "month"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 2), st.integers(0, 2)), max_size=40))
def test_no_sequence_of_actions_leads_to_an_illegal_history(tmp_path_factory, actions):
    """Owners, runners and the clock act in any order; what they may not do raises one of three exceptions and changes nothing."""
    submissions = Submissions(ServiceDatabase(tmp_path_factory.mktemp("any") / "store.sqlite"), LENIENT)
    leases: list[object] = []
    records: list[str] = []
    for action, which, runner in actions:
        try:
            if action == "upload":
                records.append(upload(submissions, f"metric-{which}", f"owner-{runner}", queue=bool(which))[0].id)
            elif action == "claim":
                leases += [record for record in [submissions.claim(f"runner-{runner}")] if record is not None]
            elif action == "lose":
                age(submissions.database, LENIENT.lease_seconds + 1)
            elif action == "month":
                age(submissions.database, 31 * DAY)
            elif action == "tidy":
                submissions.tidy()
            elif action in ("queue", "withdraw") and records:
                (submissions.enqueue if action == "queue" else submissions.withdraw)(records[which % len(records)])
            elif leases and action in ("beat", "release", "fail_attempt"):
                lease = leases[which % len(leases)]
                {"beat": submissions.beat, "release": submissions.release,
                 "fail_attempt": lambda record: submissions.fail_attempt(record, "the disk is full")}[action](lease)
            elif leases and action in ("checked", "refused", "failed", "scored"):
                submissions.finish(leases[which % len(leases)], State(action), "because")
        except (RefusedRequest, LostLease, IllegalTransition):
            pass
    with submissions.database.transaction() as connection:
        rows = connection.execute(sa.select(SUBMISSIONS)).all()
        for row in rows:
            events = connection.execute(sa.select(EVENTS).where(EVENTS.c.submission == row.id).order_by(EVENTS.c.position)).all()
            history = [State(event.state) for event in events]
            assert [event.position for event in events] == list(range(row.position + 1))
            assert history[0] is State.RECEIVED
            assert history[-1].value == row.state
            assert all(after in FOLLOWING[before] for before, after in itertools.pairwise(history))
            assert history.count(State.SCORED) <= 1
            assert (row.runner is not None) <= (history[-1] in (State.SCREENED, State.RUNNING))
            assert not any(state in FINAL for state in history[:-1])
    submissions.database.close()
