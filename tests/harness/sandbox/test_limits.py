"""What a metric may use up: memory, threads, files, time, words.

Each attempt is made twice: with wide limits, where it succeeds, and within narrow ones, where it fails, the record names
the limit, and the host lives on.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.sandbox.faults import Fault
from harness.sandbox.layers import CGROUP, NO_SANDBOX, SIZED_TMPFS
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor

NARROW = Limits(memory_bytes=1_000_000_000, threads=16, file_bytes=10_000_000, temporary_bytes=20_000_000, temporary_files=200,
                open_files=64, processor_seconds=2)
WIDE = Limits(memory_bytes=16_000_000_000, threads=1000, open_files=1000)

# Body, what the record says, and the layer it takes if it is more than the walls.
ATTEMPTS = {
    "memory by malloc": ("x = bytearray(1_500_000_000); return 1.0", r"raised MemoryError \(it may use 1.0 GB of memory\)", None),
    "memory bit by bit": ("x = [bytes(1_000_000) for n in range(1500)]; return 1.0",
                          r"raised MemoryError \(it may use 1.0 GB", None),
    "memory by numpy": ("import numpy; numpy.ones(200_000_000); return 1.0", r"MemoryError: Unable to allocate .* \(it may use 1.0 GB", None),
    "memory by mmap": ("import mmap; mmap.mmap(-1, 1_500_000_000); return 1.0", r"\[Errno 12\].* \(it may use 1.0 GB", None),
    "threads": ("import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()\nreturn 1.0",
                r"can't start new thread \(it may have 16 threads", CGROUP if os.getuid() == 0 else None),
    "open files": ("import os; x = [os.dup(1) for _ in range(500)]; return 1.0", r"\[Errno 24\].* \(it may have 64 files open\)", None),
    "a large file": ("f = open('f', 'wb')\nfor _ in range(20): f.write(bytes(1_000_000))\nreturn 1.0", r"\[Errno 27\].* \(a file of its may have 10 MB\)", None),
    "a sparse file": ("f = open('f', 'wb'); f.seek(10**9); f.write(b'x'); f.flush(); return 1.0", r"\[Errno 27\].* 10 MB\)", None),
    "many files": ("for n in range(1000): open(str(n), 'w').close()\nreturn 1.0", r"\[Errno 28\].*temporary folder holds 20 MB in 200 files\)", SIZED_TMPFS),
    "many folders": ("import os\nfor _ in range(1000): os.mkdir(os.urandom(8).hex())\nreturn 1.0", r"\[Errno 28\].*200 files\)", SIZED_TMPFS),
    "a full folder": ("for n in range(5): open(str(n), 'wb').write(bytes(9_000_000))\nreturn 1.0", r"\[Errno 28\].*holds 20 MB", SIZED_TMPFS),
    "processor time": ("import time; until = time.process_time() + 4\nwhile time.process_time() < until: pass\nreturn 1.0",
                       "it used up its 2 seconds of processor time", None),
}


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Supervisor]]:
    made = {"narrow": Supervisor(probe_sandbox(), NARROW), "wide": Supervisor(NO_SANDBOX, WIDE)}
    yield made
    for host in made.values():
        host.close()


def attempt(host: Supervisor, body: str, seconds: float = 60) -> float | str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    worker = host.fork()
    try:
        worker.load(f"def distance(p, q):\n{lines}".encode(), "attempt.py", {}, {})
        worker.deadline = time.monotonic() + seconds
        return worker.number("distance", [["a"], ["b"]], 1)
    except Fault as fault:
        return fault.sentence
    finally:
        worker.close()


@pytest.mark.parametrize("what", ATTEMPTS)
def test_a_limit_that_bites_is_named(what, hosts):
    body, sentence, layer = ATTEMPTS[what]
    if layer is not None and layer not in probe_sandbox().layers:
        pytest.skip(f"{what}: no {layer} here: {probe_sandbox().lacking[layer]}")
    said = attempt(hosts["narrow"], body)
    assert isinstance(said, str), "it got through"
    assert re.search(sentence, said)
    assert attempt(hosts["wide"], body) == 1.0
    assert attempt(hosts["narrow"], "return 2.0") == 2.0                       # the next one finds everything as it was


def test_memory_is_bounded_in_sum():
    """Files in memory are no address space: only a control group counts both."""
    if not {CGROUP, SIZED_TMPFS} <= set(probe_sandbox().layers):
        pytest.skip(f"no control group here: {probe_sandbox().lacking}")
    body = "for n in range(6): open(str(n), 'wb').write(bytes(200_000_000))\nreturn 1.0"
    roomy = Limits(temporary_bytes=2_000_000_000)
    for memory, expected in ((8_000_000_000, 1.0),
                             (500_000_000, "was killed: it used more than 500 MB of memory")):
        host = Supervisor(probe_sandbox(), Limits(memory_bytes=memory, temporary_bytes=roomy.temporary_bytes))
        try:
            assert attempt(host, body) == expected
            assert attempt(host, "return 2.0") == 2.0
        finally:
            host.close()


# What comes out of a metric, and what it does to itself: (module's lines, body, what the record says).
ODDITIES = {
    "an exception of 100 MB": ("", "raise ValueError('x' * 100_000_000)", r"^raised ValueError: x{100,1000}"),
    "escape sequences in an exception": ("", r"raise ValueError('\x1b]0;owned\x07\x1b[2J\u202e' + chr(10) + 'second')", r"^raised ValueError: [^\x1b\x07\n\u202e]*second$"),
    "an exception that raises": ("class E(Exception):\n    def __str__(self): raise SystemExit(3)\n", "raise E()", "left with exit code 3|raised E"),
    "recursion": ("def f(n): return f(n + 1)\n", "return f(0)", "raised RecursionError"),
    "recursion without bounds": ("import sys; sys.setrecursionlimit(10**9)\ndef f(n): return [f(n + 1) for _ in range(1)]\n", "return f(0)", "SIGSEGV|MemoryError|did not answer within"),
    "a regular expression without end": ("import re\n", "re.match('(a+)+$', 'a' * 60 + 'b'); return 1.0", "did not answer within the time allowed"),
    "a number that is none": ("class F(float):\n    def __float__(self): raise ValueError('no')\n", "return F('nan')", "raised|nan|answered"),
    "an array of objects": ("import numpy as np\n", "return np.array(['x', {}], dtype=object)", "returned ndarray of shape"),
    "an array of its own kind": ("import numpy as np\nclass A(np.ndarray):\n    @property\n    def shape(self): raise SystemExit(4)\n",
                                 "return np.ones(3).view(A)", "."),
    "inputs changed in place": ("", "p[0][0] = 7.0; return 1.0", "read-only"),
    "inputs resized": ("", "p[0].resize(10**9); return 1.0", "raised ValueError"),
    "atexit": ("import atexit, time\natexit.register(time.sleep, 600)\n", "raise SystemExit(0)", "left with exit code 0"),
    "an interrupt": ("", "raise KeyboardInterrupt", "left with exit code 130"),
    "a signal to itself": ("import os, signal\n", "os.kill(os.getpid(), signal.SIGSTOP); return 1.0", "did not answer within"),
    "a closed channel": ("import os\n", "os.closerange(3, 64); return 1.0", "closed its channel|left with|was killed|exit code"),
    "garbage on every descriptor": ("import os\n", "for n in range(3, 64):\n    try: os.write(n, b'{\"n\": 4, \"value\": 0}')\n    except OSError: pass\nreturn 1.0",
                                    "broke the protocol"),
}


@pytest.mark.parametrize("what", ODDITIES)
def test_odd_answers_and_ends_are_told_in_a_sentence(what, hosts):
    module, body, sentence = ODDITIES[what]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    worker = hosts["narrow"].fork()
    with pytest.raises(Fault) as caught:
        worker.load(f"{module}def distance(*args):\n    p, q = args\n{lines}".encode(), "odd.py", {}, {})
        worker.deadline = time.monotonic() + (1.5 if "did not answer" in sentence else 30)
        worker.number("distance", [np.ones((2, 2)), np.ones((2, 2))], 1)
    worker.close()
    assert re.search(sentence, caught.value.sentence)
    assert caught.value.sentence.replace(" ", "x").isprintable()
    assert len(caught.value.sentence) < 700
    assert attempt(hosts["narrow"], "return 2.0") == 2.0


def test_what_a_metric_patches_is_patched_for_itself_alone(hosts):
    patched = hosts["narrow"].fork()
    patched.load(b"""
import time
import numpy as np
time.monotonic = time.time = time.perf_counter = lambda: 0.0
np.asarray = np.ascontiguousarray = np.frombuffer = lambda *a, **k: None
def distance(p, q): return 1.0
""", "patches.py", {}, {})
    assert patched.number("distance", [["a"], ["b"]], 1) == 1.0
    patched.close()
    assert attempt(hosts["narrow"], "import time, numpy; return float(time.monotonic() > 0 and numpy.asarray([3.0])[0])") == 3.0


def test_a_patched_clock_wins_no_time(hosts):
    said = attempt(hosts["narrow"], "import time; time.monotonic = lambda: 0.0; time.sleep(30); return 1.0", seconds=1)
    assert "did not answer within the time allowed" in said


def test_limits_are_settings():
    assert Limits().changed(["temporary_bytes=1e9", "seconds_per_unit=1.5"]) == Limits(temporary_bytes=1_000_000_000, seconds_per_unit=1.5)
    for setting, sentence in (("temporary_byte=1", 'Did you mean "temporary_bytes"'), ("threads=many", "threads=1000"), ("threads=0", "above 0"),
                              ("threads", "above 0"), ("threads=inf", "above 0")):
        with pytest.raises(TouchstoneError, match=sentence):
            Limits().changed([setting])
