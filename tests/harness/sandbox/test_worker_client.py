"""The worker process: what it answers, and that whatever it does wrong becomes one sentence here."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from harness.sandbox import worker_client as workers
from harness.sandbox.faults import Fault, FaultKind
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.worker_client import Worker
from tests.support.processes import descendants

pytestmark = pytest.mark.sandbox

ARRAY = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module")
def host() -> Iterator[Supervisor]:
    made = Supervisor(probe_sandbox(), Limits(seconds_to_start=60))
    yield made
    made.close()


def worker(host: Supervisor, body: str, filename: str = "bad.py", seconds: float = 20.0) -> Worker:
    made = host.fork()
    made.load(body.encode(), filename, {}, {})
    made.deadline = time.monotonic() + seconds
    return made


def fault(host: Supervisor, body: str, seconds: float = 20.0) -> Fault:
    """What the harness says of a metric whose `distance` has this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    made = worker(host, f"import os, sys\nimport numpy as np\ndef distance(p, q):\n{lines}", seconds=seconds)
    with pytest.raises(Fault) as caught:
        made.call("distance", [ARRAY, ARRAY], 1)
    made.close()
    return caught.value


def test_inputs_arrive_as_they_were_sent(host):
    made = worker(host, """
import numpy as np
def distance(p, q):
    assert isinstance(p, np.ndarray) and p.dtype == np.float32 and not p.flags.writeable, p
    assert q == ("", "a\\ud800", "עברית", "x" * 100_000), q
    return float(p.sum())
""")
    assert made.call("distance", [ARRAY, ["", "a\ud800", "עברית", "x" * 100_000]], 1) == 66.0
    made.close()


def test_arrays_come_back_to_the_bit(host):
    made = worker(host, "def matrix(a, b): return a.astype('f8') @ b.T.astype('f8') / 3\n")
    answer = made.call_array("matrix", [ARRAY, ARRAY], (4, 4), 1)
    assert np.array_equal(answer, ARRAY.astype("f8") @ ARRAY.T.astype("f8") / 3)
    made.close()


def test_large_inputs_get_larger_mailboxes(host):
    made = worker(host, "def similarity(a, b): return [x.sum() for x in a]\n")
    large = np.ones((3000, 500))                        # 12 MB, more than the first mailbox
    assert made.call_array("similarity", [large, large], (3000,), 1).sum() == 1_500_000
    made.close()


@pytest.mark.parametrize(("body", "kind", "sentence"), [
    ("return 1/0", FaultKind.RAISED, "raised ZeroDivisionError: division by zero"),
    ("raise ValueError('\\x1b[31mred\\x00' + 'x' * 10_000_000)", FaultKind.RAISED, "raised ValueError"),
    ("class E(Exception):\n    def __str__(self): raise E\nraise E", FaultKind.RAISED, "its message could not be read"),
    ("return None", FaultKind.FORM, "distance returned None; it must return one number"),
    ("return 'near'", FaultKind.FORM, "distance returned str"),
    ("return True", FaultKind.FORM, "distance returned bool"),
    ("return 1j", FaultKind.FORM, "distance returned complex"),
    ("return np.zeros(3)", FaultKind.FORM, "distance returned ndarray of shape (3,)"),
    ("os._exit(3)", FaultKind.DIED, "ended with exit code 3"),
    ("sys.exit(4)", FaultKind.DIED, "ended with exit code 4"),
    ("sys.exit('bye')", FaultKind.DIED, "ended with exit code 1"),
    ("raise KeyboardInterrupt", FaultKind.DIED, "ended with exit code 130"),
    ("import ctypes\nctypes.string_at(0)", FaultKind.DIED, "SIGSEGV"),
    ("os.kill(os.getpid(), 9)", FaultKind.DIED, "SIGKILL"),
    ("os.kill(os.getpid(), 40)", FaultKind.DIED, "signal 40"),
    ("def f(): return f()\nreturn f()", FaultKind.RAISED, "RecursionError"),
    ("p[0] = 1", FaultKind.RAISED, "read-only"),
    ("return np.ones(9 * 10**9)", FaultKind.RAISED, "emory"),
    ("os.closerange(3, 100)\nimport time\ntime.sleep(60)", FaultKind.DIED, "closed its channel"),
], ids=lambda value: value.splitlines()[0][:30] if isinstance(value, str) else "")
def test_what_goes_wrong_becomes_a_sentence(host, body, kind, sentence):
    found = fault(host, body)
    assert found.kind == kind
    assert sentence in found.sentence
    assert len(found.sentence) < 600
    assert found.sentence.isprintable()


def test_the_place_of_an_exception_is_told_without_its_source(host):
    found = fault(host, "secret = 1/0")
    assert found.places == ("bad.py:4 in distance",)
    assert "secret" not in found.sentence


def test_a_hanging_metric_is_stopped_in_time(host):
    started = time.monotonic()
    found = fault(host, "while True: pass", seconds=0.5)
    assert found.kind is FaultKind.TIME
    assert time.monotonic() - started < 10               # 0.5 s are its own; the rest is this machine's


def test_talking_without_end_does_not_put_the_time_limit_off(host):
    started = time.monotonic()
    found = fault(host, "while True: os.write(1, b'x' * 60_000); os.write(2, b'y' * 60_000)", seconds=0.5)
    assert found.kind is FaultKind.TIME
    assert time.monotonic() - started < 10               # 0.5 s are its own; the rest is this machine's


def test_a_metric_that_ignores_sigterm_and_leaves_threads_is_ended_too(host):
    without = descendants(host._process.pid)
    made = worker(host, """
import signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def distance(p, q):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return 1.0
""")
    with_it = descendants(host._process.pid)
    made.call("distance", [ARRAY, ARRAY], 1)
    made.close()
    assert len(with_it) == len(without) + 1
    assert descendants(host._process.pid) == without


def test_megabytes_of_output_hold_nothing_up_and_the_last_of_it_is_kept(host):
    made = worker(host, """
import sys
def distance(p, q):
    print("x" * 20_000_000)
    print("\\x1b[31mthe end", file=sys.stderr, flush=True)
    raise ValueError("after much talk")
""")
    with pytest.raises(Fault) as caught:
        made.call("distance", [ARRAY, ARRAY], 1)
    assert "the end" in caught.value.output
    assert "\x1b" not in caught.value.output
    assert len(caught.value.output) <= Limits().output_characters


def test_every_call_starts_from_its_own_seed(host):
    body = """
import random
import numpy as np
def distance(p, q): return random.random() + np.random.random()
"""
    first, second = worker(host, body), worker(host, body)
    answers = [first.call("distance", [ARRAY, ARRAY], seed) for seed in (1, 2, 1)]
    assert answers[0] == answers[2] != answers[1]
    assert second.call("distance", [ARRAY, ARRAY], 2) == answers[1]


def test_what_is_drawn_while_loading_is_the_same_in_every_worker():
    answers = set()
    for _ in range(2):
        host = Supervisor(probe_sandbox(), Limits())
        made = worker(host, "import random\nimport numpy as np\ndrawn = random.random() + np.random.random()\n"
                            "def setup(models):\n    global more\n    more = np.random.random()\n"
                            "def distance(p, q): return drawn + more\n")
        answers.add(made.call("distance", [ARRAY, ARRAY], 1))
        host.close()
    assert len(answers) == 1


def test_a_metric_that_answers_in_advance_and_reads_no_more_is_ended(host):
    body = FORGE.format(forge="""import struct
    for n in range(int(p[0, 0]), int(p[0, 0]) + 3000):
        try: c.send(struct.pack('<cQdII', b'=', n, 7.0, 0, 0), socket.MSG_DONTWAIT)
        except OSError: break
    import time; time.sleep(600)""")
    made = worker(host, body)
    made.store_corpus(0, ARRAY, 1)
    started = time.monotonic()
    with pytest.raises(Fault):
        made.call("distance", [np.array([[float(made._number + 1)]]), 0], 1)
        for _ in range(5000):
            made.call("distance", [0, 0], 1)
    assert not made.alive
    assert time.monotonic() - started < 25


def test_mailboxes_that_cannot_be_made_end_the_worker(host):
    """Else it would go on and answer about what stood in the old ones."""
    made = worker(host, "import os\nleaked = []\ndef distance(p, q):\n    try:\n        while True: leaked.append(os.dup(1))\n"
                        "    except OSError: pass\n    return float(len(p[0]))\n")
    made.call("distance", [["a"], ["b"]], 1)
    with pytest.raises(Fault):
        made.call("distance", [["x" * 6_000_000], ["b"]], 1)
    assert not made.alive


def test_a_folder_of_any_depth_is_removed_and_nothing_falls_over():
    host = Supervisor(probe_sandbox(), Limits())
    made = worker(host, "import os\ndef distance(p, q):\n    for _ in range(1500):\n        os.mkdir('d'); os.chdir('d')\n    return 1.0\n")
    assert made.call("distance", [ARRAY, ARRAY], 1) == 1.0
    made.close()
    assert host.alive
    assert list(host._folder.iterdir()) == []
    host.close()
    assert not host._folder.exists()


def test_what_a_metric_printed_before_it_failed_is_in_the_record(host):
    assert "so far" in fault(host, "print('so far'); raise ValueError").output


def test_what_one_metric_printed_is_not_laid_at_the_next_ones_door(host):
    first = worker(host, "def distance(p, q):\n    print('of the first', flush=True)\n    return 1.0\n")
    first.call("distance", [ARRAY, ARRAY], 1)
    first.close()
    assert "of the first" not in fault(host, "raise ValueError").output


def test_hashes_do_not_vary_from_worker_to_worker():
    answers = set()
    for _ in range(3):
        host = Supervisor(probe_sandbox(), Limits())
        made = worker(host, "def distance(p, q): return float(hash('text') % 1000)\n")
        answers.add(made.call("distance", [ARRAY, ARRAY], 1))
        host.close()
    assert len(answers) == 1


def test_the_environment_is_ours_alone(host, monkeypatch):
    monkeypatch.setenv("SECRET", "in the parent")
    fresh = Supervisor(probe_sandbox(), Limits())
    made = worker(fresh, "import os\ndef distance(p, q): return float('SECRET' in os.environ) + os.getcwd().startswith('/tmp/')\n")
    assert made.call("distance", [ARRAY, ARRAY], 1) == 1.0
    fresh.close()


def test_what_one_worker_leaves_behind_no_other_finds(host):
    """Else a metric could remember corpora across the fresh workers that are to catch it."""
    body = """
import os, pathlib, tempfile
def distance(p, q):
    folders = {os.getcwd(), os.environ["HOME"], os.environ["TMPDIR"], tempfile.gettempdir()}
    assert len(folders) == 1, folders
    note = pathlib.Path(folders.pop(), "note")
    found = note.exists()
    note.write_text("seen")
    return float(found)
"""
    first, second = worker(host, body), worker(host, body)
    assert [made.call("distance", [ARRAY, ARRAY], 1) for made in (first, second, first)] == [0.0, 0.0, 1.0]
    first.close()
    second.close()


def test_a_file_may_be_called_like_a_library_or_like_the_standard_library(host):
    """`mauve.py` reaches mauve-text, `random.py` shadows nothing; the folder of the file is on nobody's path."""
    made = worker(host, "import mauve\ndef distance(p, q): return float(hasattr(mauve, 'compute_mauve'))\n", "mauve.py", 120)
    assert made.call("distance", [ARRAY, ARRAY], 1) == 1.0
    made = worker(host, "import random, sys\ndef distance(p, q): return float('submissions' in random.__file__ or "
                        "any('submissions' in path or path == '' for path in sys.path))\n", "random.py")
    assert made.call("distance", [ARRAY, ARRAY], 1) == 0.0


def test_nothing_of_ours_can_be_imported_in_a_worker(host):
    made = worker(host, """
import importlib.util
def distance(p, q): return float(sum(importlib.util.find_spec(name) is not None for name in
                                     ("harness", "tasks", "submissions", "leaderboard")))
""")
    assert made.call("distance", [ARRAY, ARRAY], 1) == 0.0


# ---- a hostile end of the protocol -------------------------------------------------------------------------------------

FORGE = """
import json, os, socket, stat
def channel():
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return socket.socket(fileno=os.dup(descriptor))
        except OSError:
            pass
number = 0
def distance(p, q):
    c = channel()
    {forge}
    return 1.0
"""


@pytest.mark.parametrize(("forge", "sentence"), [
    ("c.send(b'not json')", "cannot be read"),
    ("c.send(b'[' * 50_000)", "cannot be read"),
    ("c.send(b'[1]')", "is not a frame"),
    ("c.send(json.dumps({'n': 99, 'value': 1.0}).encode())", "number of the call"),
    ("c.send(json.dumps({'n': True, 'value': 1.0}).encode())", "number of the call"),
    ("c.send(b'{\"n\": ' + b'9' * 5000 + b'}')", "cannot be read"),
    ("c.send(b' ' * 80_000)", "longer than a frame"),
])
def test_a_malformed_frame_is_the_workers_fault(host, forge, sentence):
    made = worker(host, FORGE.format(forge=forge))
    with pytest.raises(Fault, match=sentence) as caught:
        made.call("distance", [ARRAY, ARRAY], 1)
    assert caught.value.kind is FaultKind.PROTOCOL
    assert not made.alive


def test_a_second_reply_to_one_question_is_a_fault(host):
    made = worker(host, FORGE.format(forge="import struct; c.send(struct.pack('<cQdII', b'=', int(p[0, 0]), 7.0, 0, 0))"))
    with pytest.raises(Fault, match="number of the call") as caught:
        for _ in range(2):                              # the forged reply passes for the first; its own comes too late
            made.call("distance", [np.array([[float(made._number + 1)]]), ARRAY], 1)
    assert caught.value.kind is FaultKind.PROTOCOL


@pytest.mark.parametrize("reply", [
    "json.dumps({'n': n, 'value': 1.0}).encode()", "json.dumps({'n': n, 'value': '1', 'shape': [0, 0]}).encode()",
    "struct.pack('<cQdII', b'=', n, 1.0, 3, 0)", "struct.pack('<cQdII', b'=', n, 1.0, 0, 0)[:-1]", "b'=' * 1000"])
def test_an_answer_of_another_form_is_a_fault(host, reply):
    made = worker(host, FORGE.format(forge=f"import struct; n = int(p[0, 0]); c.send({reply})"))
    with pytest.raises(Fault) as caught:
        made.call("distance", [np.array([[float(made._number + 1)]]), ARRAY], 1)
    assert caught.value.kind is FaultKind.PROTOCOL


@pytest.mark.parametrize("reply", [
    "json.dumps({'n': n, 'values': [1.0, 1.0, 1.0]}).encode()", "json.dumps({'n': n, 'values': 3}).encode()",
    "struct.pack('<cQBI2d', b'*', n, 3, 3, 1.0, 1.0)", "struct.pack('<cQBI3d', b'*', n, 3, 3, 1.0, 1.0, 1.0)[:-1]",
    "struct.pack('<cQdII', b'=', n, 1.0, 0, 0)"])
def test_a_series_answered_in_another_form_is_a_fault(host, reply):
    made = worker(host, FORGE.format(forge=f"import struct, sys; n = sys._getframe(1).f_locals['number']; c.send({reply})"))
    made.store_corpus(1, ARRAY, 1)
    with pytest.raises(Fault) as caught:
        made.call_many("distance", [([1, 1], 1)] * 3)
    assert caught.value.kind is FaultKind.PROTOCOL


def test_a_series_is_answered_like_its_questions_one_by_one(host, monkeypatch):
    monkeypatch.setattr(workers, "LONGEST_SERIES", 2)       # so that five make three frames
    made = worker(host, "import random\ndef distance(p, q): return random.random() + float(p.sum() - 2 * q.sum())\n")
    made.store_corpus(1, ARRAY, 1)
    made.store_corpus(2, ARRAY + 1, 1)
    questions = [([1, 2], 7), ([2, 1], 8), ([1, 1], 7), ([2, 2], 9), ([1, 2], 7)]
    assert made.call_many("distance", questions) == [made.call("distance", handles, seed) for handles, seed in questions]
    wrong = worker(host, "def distance(p, q): return 1.0 if p.sum() else None\n")
    wrong.store_corpus(1, ARRAY, 1)
    wrong.store_corpus(2, ARRAY * 0, 1)
    with pytest.raises(Fault, match="returned None; it must return one number"):
        wrong.call_many("distance", [([1, 1], 1), ([2, 2], 1)])
    assert wrong.call_many("distance", [([1, 1], 1)]) == [1.0]        # that was no end of it


def test_the_inbox_cannot_be_written_by_the_worker(host):
    """The harness's memory file is sealed: writing through the descriptor, a new mapping or mprotect all fail."""
    made = worker(host, """
import ctypes, mmap, os
def distance(p, q):
    done = 0
    for line in open("/proc/self/maps"):
        if "touchstone" in line and "r--s" in line:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            libc = ctypes.CDLL(None, use_errno=True)
            done += libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 3) == 0
            name = "/proc/self/map_files/" + line.split()[0]
            try:
                d = os.open(name, os.O_RDWR)
                done += os.pwrite(d, b"evil", 0) > 0
            except OSError:
                pass
            done += 10
    return float(done)
""")
    assert made.call("distance", [ARRAY, ARRAY], 1) == 10.0       # one such mapping was found, nothing was done to it


def test_what_a_worker_held_can_be_asked_until_it_leaves(host):
    staying = worker(host, "def distance(p, q): return 1.0\n")
    assert 10e6 < staying.peak_memory() < 200e6
    leaving = worker(host, "import os, threading\ndef distance(p, q):\n    threading.Timer(0.2, os._exit, (3,)).start()\n    return 1.0\n")
    leaving.call("distance", [["a"], ["b"]], 1)
    time.sleep(1)
    with pytest.raises(Fault, match="ended with exit code 3"):
        leaving.peak_memory()
    staying.close()


# ---- inputs cannot be changed -------------------------------------------------------------------------------------------

SPOILERS = {
    "an element": "p[0] = p[1]",
    "an element of an element": "p[0][0] = p[1][0]",
    "the length": "p.append(p[0])",
    "the flag": "p.flags.writeable = True; p[0] = 9",
    "the flag by setflags": "p.setflags(write=True); p[0] = 9",
    "the base": "b = p.base\n    while getattr(b, 'base', None) is not None: b = b.base\n    memoryview(b)[0:4] = b'evil'",
    "the address": "import ctypes; ctypes.memset(p.ctypes.data, 7, 4)",
    "the protection": """import ctypes
    libc = ctypes.CDLL(None)
    page = p.ctypes.data & ~4095
    assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(4096), 3) == 0, 'refused'
    ctypes.memset(p.ctypes.data, 7, 4)""",
}
TRACE = "def distance(p, q):\n    return float(sum(len(x) for x in q)) if isinstance(q, tuple) else float(q.sum())\n"


@pytest.mark.parametrize("spoiler", SPOILERS)
@pytest.mark.parametrize("corpus", [np.ones((3, 4), np.float32), ["one", "two", "three"], [["one"], ["two", "words"], ["three"]]],
                         ids=["vectors", "texts", "tokens"])
def test_a_metric_cannot_change_what_its_later_calls_see(spoiler, corpus, host):
    made = worker(host, f"def spoil(p):\n    {SPOILERS[spoiler]}\n{TRACE}def similarity(p, q):\n    try: spoil(p)\n    except Exception: pass\n    return distance(p, p)\n")
    made.store_corpus(1, corpus, 1)
    expected = made.call("distance", [1, 1], 1)
    if spoiler == "the address" and isinstance(corpus, np.ndarray):
        with pytest.raises(Fault, match="SIGSEGV"):     # it wrote to read-only memory: only its own process ends
            made.call("similarity", [1, 1], 1)
        return
    assert made.call("similarity", [1, 1], 1) == expected
    assert made.call("distance", [1, 1], 1) == expected
    made.close()


@pytest.mark.parametrize("body", ["def distance(p, q):\n    p = list(p) if isinstance(p, tuple) else p.copy()\n    p[0] = p[1]\n    return float(len(p))\n"])
def test_copies_of_inputs_can_be_changed(body, host):
    made = worker(host, body)
    for corpus in (np.ones((3, 4), np.float32), ["one", "two", "three"], [["one"], ["two"], ["three"]]):
        assert made.call("distance", [corpus, corpus], 1) == 3.0


def test_kept_arrays_stay_as_they_were_and_are_released(host):
    made = worker(host, "kept = []\ndef distance(p, q):\n    kept.append(p)\n    return float(kept[0].sum())\n"
                        "def similarity(p, q): return float(sum('memfd:touchstone' in line for line in open('/proc/self/maps')))\n")
    for value in (1.0, 2.0, 3.0):
        assert made.call("distance", [np.full((2, 2), value), ARRAY], 1) == 4.0
    mapped = made.call("similarity", [["a"], ["b"]], 1)
    for _ in range(400):                                # more than the files that it may have open
        made.store_corpus(7, np.ones((5, 5)), 1)
    assert made.call("similarity", [["a"], ["b"]], 1) <= mapped + 2
    empty = np.empty((0, 5), np.float32)
    assert made.call("distance", [empty, empty], 1) == 4.0


def test_functions_are_those_of_the_module_itself(host):
    made = host.fork()
    made.load(b"def __getattr__(name): return lambda *arguments: 1.0\ndef distance(p, q): return 2.0\n", "lazy.py", {}, {})
    assert made.functions == {"distance"}
    made.close()
