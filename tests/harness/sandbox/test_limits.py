"""What a metric may use up: memory, threads, files, time, words.

Each attempt is made twice: with wide limits, where it succeeds, and within narrow ones, where it fails, the record names
the limit, and the host lives on.
"""

from __future__ import annotations

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
from tests.support.attacks import ATTEMPTS, NARROW, ODDITIES

pytestmark = pytest.mark.sandbox

WIDE = Limits(memory_bytes=16_000_000_000, threads=1000, open_files=1000)



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
        return worker.call("distance", [["a"], ["b"]], 1)
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
                             (500_000_000, "was killed: it used more than 500 MB of memory (raise the limit with --memory 1000)")):
        host = Supervisor(probe_sandbox(), Limits(memory_bytes=memory, temporary_bytes=roomy.temporary_bytes))
        try:
            assert attempt(host, body) == expected
            assert attempt(host, "return 2.0") == 2.0
        finally:
            host.close()


@pytest.mark.parametrize("what", ODDITIES)
def test_odd_answers_and_ends_are_told_in_a_sentence(what, hosts):
    module, body, sentence = ODDITIES[what]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    worker = hosts["narrow"].fork()
    with pytest.raises(Fault) as caught:
        worker.load(f"{module}def distance(*args):\n    p, q = args\n{lines}".encode(), "odd.py", {}, {})
        worker.deadline = time.monotonic() + (1.5 if "did not answer" in sentence else 30)
        worker.call("distance", [np.ones((2, 2)), np.ones((2, 2))], 1)
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
    assert patched.call("distance", [["a"], ["b"]], 1) == 1.0
    patched.close()
    assert attempt(hosts["narrow"], "import time, numpy; return float(time.monotonic() > 0 and numpy.asarray([3.0])[0])") == 3.0


def test_a_patched_clock_wins_no_time(hosts):
    said = attempt(hosts["narrow"], "import time; time.monotonic = lambda: 0.0; time.sleep(30); return 1.0", seconds=1)
    assert "did not answer within the time allowed" in said


def test_limits_are_settings():
    assert Limits().with_overrides(["temporary_bytes=1e9", "seconds_per_unit=1.5"]) == Limits(temporary_bytes=1_000_000_000, seconds_per_unit=1.5)
    for setting, sentence in (("temporary_byte=1", 'Did you mean "temporary_bytes"'), ("threads=many", "threads=1000"), ("threads=0", "greater than 0"),
                              ("threads", "greater than 0"), ("threads=inf", "greater than 0")):
        with pytest.raises(TouchstoneError, match=sentence):
            Limits().with_overrides([setting])
