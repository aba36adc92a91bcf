"""Runners as processes: from upload to rank, failures of metrics and of machines, hostile files."""

from __future__ import annotations

import io
import itertools
import os
import platform
import re
import signal
import textwrap
import zipfile

import pytest

from harness.results.store import Store
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.states import FOLLOWING, RunProgress, State
from leaderboard.service.submissions import Submissions, UnknownSubmission
from leaderboard.service.tokens import Tokens
from leaderboard.workflows.submit import read_bundle
from tasks.suite_files import load_suite
from tests.support.attacks import ATTACKS, PRELUDE
from tests.support.service import make_file, start_service, wait_until

pytestmark = [pytest.mark.sandbox, pytest.mark.cli]
LENIENT = Settings(uploads_per_day=1000, checks_per_hour=1000, runs_per_month=1000, waiting_per_owner=1000, lease_seconds=3.0, attempts=1000)
HOSTILE = {**{name: ATTACKS[name] for name in (
    "read a file of ours", "list our folder", "list the root", "the parent's environment", "the parent's memory", "a socket, IPv4",
    "a socket, unix abstract", "write beside us", "change a file of ours", "delete a file of ours", "a lock", "os.fork", "subprocess",
    "a signal to the parent", "shared memory, POSIX", "a thousand descriptors")},
    "read the tokens": "import sqlite3; return sqlite3.connect(TARGET + '/store.sqlite').execute('SELECT hash FROM service_tokens').fetchall()",
    "read other submissions": "import sqlite3\nreturn sqlite3.connect(TARGET + '/store.sqlite').execute('SELECT id FROM service_submissions').fetchall() or [1]",
    "change its own state": "import sqlite3\nwith sqlite3.connect(TARGET + '/store.sqlite') as c: c.execute(\"UPDATE service_submissions SET progress = 'null'\")\nreturn True"}
SLEEPY = "import time\ndef distance(p, q):\n    time.sleep(0.02)\n    return float(abs(len(set(p)) - len(set(q))))\n"


@pytest.fixture
def address(tmp_path) -> str:
    return str(tmp_path / "store.sqlite")


@pytest.fixture
def submissions(address) -> Submissions:
    return Submissions(ServiceDatabase(address), LENIENT)


def upload(submissions: Submissions, name: str, body: str, owner: str = "ada"):
    record, _ = submissions.receive(owner, owner, f"{name}.py", make_file(name, body), True)
    assert record.state is State.SCREENED, submissions.events(record.id)[-1].reason
    return record


def run_all(address: str) -> None:
    process = start_service("runner", "--once", "--suite", "smoke", "--store", address, check_seconds=5)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output


def test_from_upload_to_rank_and_every_way_to_fail(submissions, address, tmp_path):
    bodies = {
        "good": "def distance(p, q): return float(abs(len(set(p)) - len(set(q))))\n",
        "raises": "def distance(p, q): raise ValueError('<b>no</b>')\n",
        "hangs": "def distance(p, q):\n    while True: pass\n",
        "inverted": "def distance(p, q): return -float(abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q)))\n"}
    records = {name: upload(submissions, name, body, owner=name) for name, body in bodies.items()}
    run_all(address)
    last = {name: submissions.events(record.id)[-1] for name, record in records.items()}
    assert last["good"].state is State.HELD
    (scored,) = (event for event in submissions.events(records["good"].id) if event.state is State.SCORED)
    assert scored.details["positions"][0]["rank"] == 1
    assert scored.details["seconds"] > 0
    with zipfile.ZipFile(io.BytesIO(submissions.bundle(records["good"].id))) as archive:
        archive.extractall(tmp_path)
    bundle, submission = read_bundle(tmp_path / "good")
    assert submission.source == make_file("good", bodies["good"])
    assert bundle.positions[0].rank == 1
    assert "known_similarity" in bundle.entries[0].scores
    with pytest.raises(UnknownSubmission):
        submissions.bundle(records["raises"].id)
    assert last["raises"].state is State.REFUSED
    assert "<b>no</b>" in last["raises"].reason
    assert last["hangs"].state is State.REFUSED
    assert last["inverted"].state is State.REFUSED


def test_a_killed_runner_is_replaced_and_the_result_is_that_of_an_undisturbed_run(submissions, address, tmp_path):
    record = upload(submissions, "sleepy", SLEEPY)
    for _ in range(2):
        process = start_service("runner", "--once", "--suite", "smoke", "--store", address)
        wait_until(lambda: (submissions.get(record.id).progress or RunProgress()).done > 0)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert submissions.get(record.id).state is State.RUNNING          # work was pending; it stays so until the lease ends
        wait_until(lambda: submissions.tidy() or submissions.get(record.id).state is State.QUEUED)
    run_all(address)
    assert submissions.get(record.id).state is State.HELD
    states = [event.state for event in submissions.events(record.id)]
    assert all(after in FOLLOWING[before] for before, after in itertools.pairwise(states))
    calm = Submissions(ServiceDatabase(tmp_path / "calm.sqlite"), LENIENT)
    upload(calm, "sleepy", SLEEPY)
    run_all(str(tmp_path / "calm.sqlite"))
    timed = {task_unit.unit.id for task_unit in load_suite("smoke").task_units if task_unit.task.info.alone}
    answers = [[row for row in Store(path, read_only=True).raw() if row[0] not in timed] for path in (address, tmp_path / "calm.sqlite")]
    assert answers[0]
    assert answers[0] == answers[1]


def test_a_stopped_runner_gives_its_submission_back(submissions, address):
    record = upload(submissions, "sleepy", SLEEPY)
    process = start_service("runner", "--suite", "smoke", "--store", address)
    wait_until(lambda: (submissions.get(record.id).progress or RunProgress()).done > 0)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert submissions.get(record.id).state is State.QUEUED
    assert submissions.get(record.id).attempts == 0
    assert "The runner was stopped" in submissions.events(record.id)[-1].reason


@pytest.fixture(scope="module")
def attacks(tmp_path_factory):
    """Upload attacks of all classes to one server, whose database is beside the files that they are after; return how each ended."""
    folder = tmp_path_factory.mktemp("service")
    submissions = Submissions(ServiceDatabase(folder / "store.sqlite"), LENIENT)
    Tokens(submissions.database).create("ada")
    (folder / "secret").write_text("a token")
    records, controls = {}, {}
    for number, (name, lines) in enumerate(HOSTILE.items()):
        (folder / "removable").write_text("")
        body = PRELUDE.format(target=str(folder), parent=os.getpid(), address=("127.0.0.1", 1), dns=("127.0.0.1", 53),
                              body=textwrap.indent(lines.format(harness="", submission="", stdlib=os.__file__), "    "))
        namespace: dict[str, object] = {}
        exec(compile(body, name, "exec"), namespace)
        controls[name] = namespace["distance"](["a"], ["b"])
        records[name] = upload(submissions, f"attack-{number}", body.replace("return -1.0", "raise"))
    before = sorted(path.name for path in folder.iterdir())
    run_all(str(folder / "store.sqlite"))
    assert {path.name for path in folder.iterdir()} - set(before) <= {"store.runner", "store.lock", "store.arrays"}
    return controls, {name: submissions.events(record.id)[-1] for name, record in records.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_uploaded_attack_is_contained(attacks, name):
    """The same attack succeeds outside of the sandbox; its metric answers -1 where it fails, which the range excludes."""
    controls, events = attacks
    assert controls[name] == 1.0, "the attack fails even without a sandbox"
    assert events[name].state is State.REFUSED, events[name].reason
    assert re.search(r"attack-\d+\.py:\d+ in|\(line \d+\)", events[name].reason), events[name].reason       # and not for another reason


def test_a_runner_uses_a_cluster(submissions, address):
    pytest.importorskip("distributed")
    from tests.support.clusters import nodes

    record = upload(submissions, "good", "def distance(p, q): return float(abs(len(set(p)) - len(set(q))))\n")
    with nodes([{}]) as cluster:
        words = ("runner", "--once", "--suite", "smoke", "--store", address, "--cluster")
        process = start_service(*words, cluster.address)
        output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert submissions.events(record.id)[-1].state is State.HELD
    assert all(node.startswith(platform.node()) for node in Store(address, read_only=True).nodes().values())
    process = start_service(*words, "tcp://127.0.0.1:1")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:1" in output
