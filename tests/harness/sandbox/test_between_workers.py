"""What one worker could do to another, or to its successor: say something, slow it down, break it, answer in advance."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base.paths import PROJECT, cache_folder
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import Executor, WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Outcome
from harness.sandbox.faults import Fault, FaultKind
from harness.sandbox.inside import remove_tree as trees
from harness.sandbox.layers import CONFINING
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor
from harness.submission.submission import load_submission
from tasks.properties.axioms import Axioms
from tasks.suite_files import load_suite

pytestmark = pytest.mark.sandbox


@pytest.fixture(params=["all layers", "required layers"])
def host(request) -> Iterator[Supervisor]:
    made = Supervisor(probe_sandbox() if request.param == "all layers" else CONFINING, Limits())
    yield made
    made.close()


def ask(host: Supervisor, body: str, seconds: float = 20) -> float:
    made = host.fork()
    try:
        made.load(f"import os\ndef distance(p, q):\n{body}".encode(), "x.py", {}, {})
        made.deadline = time.monotonic() + seconds
        return made.call("distance", [["a"], ["b"]], 1)
    finally:
        made.close()


SAYS = "    os.write(1, b'the table'); os.write(2, b'the table')\n    return 1.0\n"
HEARS = """
    heard = 0
    for n in range(3):
        try:
            d = os.open(f"/proc/self/fd/{n}", os.O_RDONLY | os.O_NONBLOCK)
            heard += b"the table" in os.read(d, 100)
        except OSError:
            pass
    return float(heard)
"""


def test_what_one_worker_prints_no_other_can_read(host):
    speaker = host.fork()
    speaker.load(f"import os\ndef distance(p, q):\n{SAYS}".encode(), "x.py", {}, {})
    assert speaker.call("distance", [["a"], ["b"]], 1) == 1.0
    assert ask(host, HEARS) == 0.0
    speaker.close()
    both = "    os.write(1, b'the table')\n" + HEARS                # of one's own pipe it can be heard: the way there is open
    assert ask(host, both) >= 1.0


def test_flags_of_open_files_do_not_outlive_a_worker(host):
    assert ask(host, "    import fcntl\n    for n in range(3): fcntl.fcntl(n, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)\n    return 1.0\n") == 1.0
    assert ask(host, "    import fcntl\n    print('x' * 300_000, flush=True)\n"
                     "    return float(sum(bool(fcntl.fcntl(n, fcntl.F_GETFL) & os.O_NONBLOCK) for n in range(3)))\n") == 0.0


def test_closing_its_own_output_is_no_fault(host):
    assert ask(host, "    import time\n    os.close(1); os.close(2); time.sleep(0.1)\n    return 4.0\n") == 4.0


def test_folders_of_any_name_do_not_stop_the_supervisor(host):
    body = """
    for n in range(1, 40):
        d = f"moved-up-{os.getppid()}-{n}"
        os.mkdir(d); os.mkdir(d + "/x"); os.mkdir(d + "/y"); os.mkdir(d + "/x/z", 0)
    return 1.0
"""
    assert ask(host, body) == 1.0
    assert ask(host, "    return 2.0\n") == 2.0
    assert list(host._folder.iterdir()) == []


IN_ADVANCE = b"""
import os, socket, struct, sys, time
def distance(p, q):
    answer = struct.Struct("<cQdII")
    frame, channel = sys._getframe(), None
    for n in range(3, 64):
        try:
            channel = socket.socket(fileno=os.dup(n))
            for k in range(200):
                channel.send(answer.pack(b"=", k, 0.5, 0, 0))
        except OSError:
            continue
    time.sleep(600)
"""


def test_answers_cannot_be_given_before_the_question(host):
    made = host.fork()
    made.load(IN_ADVANCE, "x.py", {}, {})
    with pytest.raises(Fault) as caught:
        made.call("distance", [["a"], ["b"]], 1)
    assert caught.value.kind is FaultKind.PROTOCOL
    assert "does not carry the number of the call" in caught.value.sentence


def test_a_metric_that_answers_at_once_is_held_to_its_time_too(host):
    made = host.fork()
    made.load(b"def distance(p, q): return 1.0\n", "x.py", {}, {})
    made.deadline = time.monotonic() + 0.3
    with pytest.raises(Fault) as caught:
        for _ in range(100_000):
            made.call("distance", [["a"], ["b"]], 1)
    assert caught.value.kind is FaultKind.TIME


def test_a_slow_start_does_not_multiply_in_fresh_workers(write):
    entry = load_submission(write("slow", "import time\ntime.sleep(1.5)\ndef distance(p, q): return float(len(p) + len(q))\n")).entries[0]
    question = next(one for one in load_suite("smoke").task_units if one.task.name == "known_similarity")
    worker_slot = WorkerSlot(Conditions(probe_sandbox(), Limits(seconds_per_unit=3, seconds_to_start=5)))
    started = time.monotonic()
    outcome = worker_slot.run_unit(entry, question, InputEncoder(VectorCache("minilm", cache_folder())))
    worker_slot.close()
    assert outcome.failure is not None
    assert outcome.failure.kind == FaultKind.TIME
    assert time.monotonic() - started < 8


SLOW = "import time\ndef distance(p, q):\n    time.sleep(0.1)\n    return float(len(p) + len(q))\n"


def outcome_when_supervisors_die(write, deaths: int, seconds: float) -> tuple[Outcome, int]:
    """What becomes of a unit when the first so many supervisors are killed that long after they started, and how many started."""
    entry = load_submission(write("slow", SLOW)).entries[0]
    question = next(one for one in load_suite("smoke").task_units if one.task.name == "known_similarity")
    started: list[Supervisor] = []

    def adopt(host: Supervisor) -> None:
        started.append(host)
        if len(started) <= deaths:
            threading.Timer(seconds, host._process.kill).start()

    worker_slot = WorkerSlot(Conditions(probe_sandbox()), adopt)
    outcome = worker_slot.run_unit(entry, question, InputEncoder(VectorCache("minilm", cache_folder())))
    worker_slot.close()
    return outcome, len(started)


@pytest.mark.parametrize("seconds", [0, 0.05, 0.4])         # while it starts, about when it loads, in the middle of the unit
def test_a_dead_supervisor_is_nobodys_fault(write, seconds):
    outcome, started = outcome_when_supervisors_die(write, 1, seconds)
    assert outcome.failure is None
    assert started == 2                                     # that the first was killed is why there is a second
    assert outcome.observation == outcome_when_supervisors_die(write, 0, 0)[0].observation


def test_a_metric_under_which_every_supervisor_dies_is_not_asked_for_ever(write):
    outcome, started = outcome_when_supervisors_die(write, 10, 0.4)
    assert outcome.failure is not None
    assert outcome.failure.kind == FaultKind.DIED
    assert "its supervisor ended both times" in outcome.failure.sentence
    assert started == 2


def test_axioms_blame_nobody_either(entry_of, inputs):
    """They go on after a fault of the metric's; a supervisor's end is none."""
    entry, unit = entry_of("slow", SLOW), next(iter(load_suite("smoke").units(Axioms())))
    started: list[Supervisor] = []

    def adopt(host: Supervisor) -> None:
        started.append(host)
        if len(started) == 1:
            threading.Timer(0.5, host._process.kill).start()

    worker_slot = WorkerSlot(Conditions(probe_sandbox()), adopt)
    outcome = worker_slot.run_unit(entry, TaskUnit(Axioms(), unit), inputs)
    worker_slot.close()
    assert len(started) == 2
    assert not [trial for trial in outcome.observation.trials if trial.fault]


def test_stopping_starts_nobody_anew(write):
    """The question is asked by nobody any more: what was being asked is asked again another time."""
    entry = load_submission(write("slow", SLOW)).entries[0]
    asking = [(entry, one) for one in load_suite("smoke").task_units if one.task.name == "known_similarity"]
    pool = Executor(len(asking), InputEncoder(VectorCache("minilm", cache_folder())), Conditions(probe_sandbox()), 2)
    pool.add(asking)
    for thread in pool._threads:
        thread.start()
    until = time.monotonic() + 20
    while len(pool._hosts) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)                                         # in the middle of a unit of seconds
    assert pool.stop() == []
    assert len(pool._hosts) == 2


def test_pages_that_others_share_cannot_be_pushed_out(host):
    body = "    import ctypes, mmap\n    libc = ctypes.CDLL(None, use_errno=True)\n    m = mmap.mmap(-1, 4096)\n    m[0] = 1\n" \
           "    a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n" \
           "    return float(libc.madvise(ctypes.c_void_p(a), ctypes.c_size_t(4096), {}) == 0)\n"
    assert ask(host, body.format(21)) == 0.0               # MADV_PAGEOUT
    assert ask(host, body.format(4)) == 1.0                # MADV_DONTNEED


def test_where_the_project_is_installed_beside_the_libraries_it_stays_out_of_reach(tmp_path):
    """A copy in a folder of packages, as `pip install .` makes it, with a store beside it."""
    folder = tmp_path / "site-packages"
    for package in ("harness", "tasks", "submissions", "leaderboard"):
        shutil.copytree(PROJECT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "results").mkdir()
    (folder / "results" / "store.sqlite").write_text("of ours")
    (folder / "a_library.py").write_text("here = 1.0\n")
    program = f"""
import sys
from pathlib import Path
import harness
assert Path(harness.__file__).is_relative_to({str(tmp_path)!r})
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.layers import NO_SANDBOX
from harness.sandbox.limits import Limits
from harness.base.paths import default_store
from harness.base.paths import PROJECT, cache_folder
from harness.sandbox.probe import probe_sandbox
source = b'''
import a_library
def got(path):
    try:
        return bool(open(path).read())
    except OSError:
        return False
def distance(p, q): return a_library.here + sum(map(got, p))
'''
for confinement in (probe_sandbox(), NO_SANDBOX):
    host = Supervisor(confinement, Limits())
    worker = host.fork()
    worker.load(source, "x.py", {{}}, {{}})
    print(worker.call("distance", [[{str(folder / "submissions" / "energy.py")!r}, {str(folder / "results" / "store.sqlite")!r}], ["b"]], 1))
    host.close()
print(default_store())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path,
                          env={"PYTHONPATH": str(folder), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    walled, trusting, store = done.stdout.split()
    assert (walled, trusting) == ("1.0", "3.0")
    assert not Path(store).is_relative_to(folder)


def test_a_folder_that_cannot_be_emptied_raises_nothing(tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    monkeypatch.setattr(trees, "empty", lambda folder: (_ for _ in ()).throw(PermissionError()))
    trees.remove_tree(str(tmp_path / "x"))
    assert (tmp_path / "x").exists()


def test_a_worker_inherits_nothing_but_its_own_channel(host):
    """Open: the three standard streams, the channel, the two mailboxes; a file of the harness's is not among them."""
    body = """
    found = []
    for n in range(3, 256):
        try:
            os.fstat(n)
        except OSError:
            continue
        found.append(n)
    return float(len(found))
"""
    assert ask(host, body) == 3.0
    with open("/etc/passwd") as secret:                 # inheritable, as a careless library would leave one
        os.set_inheritable(secret.fileno(), True)
        assert ask(host, body) == 3.0
