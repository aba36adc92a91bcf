"""Attacks of a hostile submission, each with a control outside of the sandbox.

Each attack is tried twice on this machine: without the sandbox, where it succeeds, and in it, where it does not.  An attack
that fails even without the sandbox would prove nothing: it is skipped, with that reason.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, cache_folder
from harness.sandbox import probe as probing
from harness.sandbox.faults import Fault
from harness.sandbox.inside.syscall_filter import ALLOWED, ARCHITECTURES, system_call_filter
from harness.sandbox.layers import BUBBLEWRAP, CGROUP, CONFINING, NO_SANDBOX, REQUIRED_LAYERS, Sandbox, library_folders
from harness.sandbox.limits import Limits
from harness.sandbox.supervisor import Supervisor
from tests.support.attacks import ATTACKS, PRELUDE, filled

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module", params=["all layers", "required layers"])
def confined(request) -> Iterator[Supervisor]:
    """Behind everything that can be had here, and behind the least that a stranger's file is run behind."""
    host = Supervisor(probing.probe_sandbox() if request.param == "all layers" else CONFINING, Limits())
    yield host
    host.close()


@pytest.fixture(scope="module")
def unconfined() -> Iterator[Supervisor]:
    host = Supervisor(NO_SANDBOX, Limits())
    yield host
    host.close()


@pytest.fixture(scope="module")
def dns() -> Iterator[int]:
    """Something on this machine that answers a query as a server of names would: there is no network to ask one in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                question, asker = server.recvfrom(512)
                if not question:
                    return
                server.sendto(question, asker)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.sendto(b"", server.getsockname())
        thread.join()


def attempt(host: Supervisor, body: str, target: Path, dns: int) -> float | str:
    """1.0: it got through; -1.0 or 0.0: it did not; a sentence: it did not outlive it."""
    lines = "".join(f"    {line}\n" for line in filled(body).splitlines())
    worker = host.fork()
    try:
        worker.load(PRELUDE.format(target=str(target), parent=os.getpid(), address=id(ATTACKS), dns=dns, body=lines).encode(), "attack.py", {}, {})
        worker.deadline = time.monotonic() + 20
        return worker.call("distance", [["a"], ["b"]], 1)
    except Fault as fault:
        return fault.sentence
    finally:
        worker.close()


@pytest.fixture
def target(tmp_path) -> Iterator[Path]:
    for name in ("secret", "removable", "cut"):
        (tmp_path / name).write_text("of ours")
    yield tmp_path
    for left in (*Path("/tmp").glob("touchstone-attack-*"), Path("/dev/shm/touchstone-attack"),
                 Path(library_folders()[0]) / "touchstone-attack.pth", Path(library_folders()[0]) / "numpy/__pycache__/touchstone-attack.pyc",
                 cache_folder() / "touchstone-attack"):
        left.unlink(missing_ok=True)
    if os.path.ismount(tmp_path):
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_that_succeeds_without_walls_fails_behind_them(attack, confined, unconfined, target, dns):
    behind = attempt(confined, ATTACKS[attack], target, dns)
    assert behind != 1.0
    assert (target / "secret").read_text() == "of ours"
    assert sorted(path.name for path in target.iterdir()) == ["cut", "removable", "secret"]
    without = attempt(unconfined, ATTACKS[attack], target, dns)
    if without != 1.0:
        pytest.skip(f"{attack}: without the sandbox it fails here too ({without}), so nothing is proved")


def test_what_a_computation_needs_still_works(confined):
    worker = confined.fork()
    worker.load(b"""
import os, tempfile, threading, time
import numpy as np
import scipy.linalg, scipy.stats, sklearn.cluster, torch
def distance(p, q):
    with tempfile.TemporaryDirectory() as folder, open(folder + "/x", "w") as file:
        file.write("y")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    done = []
    threads = [threading.Thread(target=done.append, args=(n,)) for n in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    a = np.random.random((200, 200))
    scipy.linalg.sqrtm(a @ a.T); scipy.stats.spearmanr(a[0], a[1])
    sklearn.cluster.KMeans(3, n_init=1).fit(a)
    t = torch.ones(50, 50) @ torch.ones(50, 50)
    time.sleep(0.01); time.strftime("%c"); os.urandom(4); os.cpu_count()
    return float(len(done) + t[0, 0])
""", "needs.py", {}, {})
    worker.deadline = time.monotonic() + 120
    assert worker.call("distance", [["a"], ["b"]], 1) == 54.0
    worker.close()



# What only namespaces of its own hide: Landlock does not cover looking for a file.
BEYOND_THE_WALLS = {
    "whether a file exists": "return os.path.exists(TARGET + '/secret')",
    "how large a file is": "return os.stat('/etc/passwd').st_size > 0",
    "which processes there are": "return os.stat(f'/proc/{{PARENT}}').st_uid >= 0",
}


@pytest.mark.parametrize("attack", BEYOND_THE_WALLS)
def test_what_namespaces_hide(attack, unconfined, target, dns):
    if BUBBLEWRAP not in probing.probe_sandbox().layers:
        pytest.skip(f"{attack}: no bubblewrap here: {probing.probe_sandbox().lacking[BUBBLEWRAP]}")
    host = Supervisor(probing.probe_sandbox(), Limits())
    try:
        assert attempt(host, BEYOND_THE_WALLS[attack], target, dns) != 1.0
    finally:
        host.close()
    assert attempt(unconfined, BEYOND_THE_WALLS[attack], target, dns) == 1.0


def test_answers_are_the_same_with_and_without_walls(confined, unconfined):
    source = b"""
import numpy as np, random
def prepare(c): return np.asarray(c) @ np.asarray(c).T
def distance(p, q): return float(np.abs(p - q).sum() + np.random.random() + random.random() + hash("x") % 7)
"""
    answers = []
    rng = np.random.default_rng(1)
    a, b = rng.random((50, 30)), rng.random((50, 30))
    for host in (confined, unconfined):
        worker = host.fork()
        worker.load(source, "same.py", {}, {})
        worker.store_corpus(1, a, 5)
        worker.store_corpus(2, b, 6)
        answers.append(worker.call("distance", [1, 2], 7))
        worker.close()
    assert answers[0] == answers[1]


@pytest.fixture
def tried_anew(monkeypatch) -> Iterator[pytest.MonkeyPatch]:
    """What `confine` found out is forgotten, before and after."""
    probing.probe_sandbox.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    probing.probe_sandbox.cache_clear()
    for left in Path("/tmp").glob("touchstone-probe-*"):
        left.unlink()


def test_where_walls_do_not_hold_a_file_is_refused_and_trust_says_so(tried_anew):
    tried_anew.setattr(Sandbox, "entry_settings", lambda *_: None)   # a machine on which nothing holds
    with pytest.raises(TouchstoneError, match=r"could .*open a socket, start a process.*--trust"):
        probing.probe_sandbox()
    assert probing.probe_sandbox(trust=True).layers == ("process", "rlimits", "death-signal")


def test_where_walls_cannot_be_put_up_a_file_is_refused(tried_anew):
    tried_anew.setattr("harness.sandbox.layers.INSIDE", Path("/nonexistent"))
    with pytest.raises(TouchstoneError, match=r"does not work on this machine.*--trust"):
        probing.probe_sandbox()


def test_layers_that_cannot_be_had_are_left_out_with_the_reason(tried_anew):
    tried_anew.setattr("harness.sandbox.bubblewrap.find_bubblewrap", lambda: None)
    tried_anew.setattr("harness.sandbox.cgroups.find_hierarchies", list)
    found = probing.probe_sandbox()
    assert not {BUBBLEWRAP, CGROUP} & set(found.layers)
    assert set(REQUIRED_LAYERS) < set(found.layers)
    assert "not installed" in found.lacking[BUBBLEWRAP]
    assert "no control group that limits memory and processes" in found.lacking[CGROUP]


def test_layers_that_are_there_but_do_not_hold_are_left_out(tried_anew):
    tried_anew.setattr("harness.sandbox.layers.bubblewrap_command", lambda command, *_: list(command))
    found = probing.probe_sandbox()
    assert BUBBLEWRAP not in found.layers
    assert found.lacking[BUBBLEWRAP] == "it is available, but not effective"


def test_others_cannot_read_the_harness_under_proc():
    """Its descriptors, memory and environment: they belong to root as soon as it is closed to others."""
    program = ("import os\nfrom harness.sandbox.layers import disable_ptrace\nos.setgid(65534); os.setuid(65534)\n"
               "import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n"
               "print(os.stat('/proc/self/environ').st_uid, flush=True)\ndisable_ptrace()\n"
               "print(os.stat('/proc/self/environ').st_uid, flush=True)")
    if os.getuid() != 0:
        pytest.skip("only root can become another user to see the difference")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT).stdout
    assert said.split() == ["65534", "0"]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_can_be_built_for_every_architecture(machine):
    steps = system_call_filter(machine, 1234)
    assert len(steps) < 4096                                    # what the kernel takes
    for place, (operation, if_true, if_false, _) in enumerate(steps):
        if operation in (0x15, 0x35):
            assert place + 1 + max(if_true, if_false) < len(steps)
    assert steps[-1][0] == 0x06


def test_no_system_call_is_named_twice():
    for column in (0, 1):
        numbers = [pair[column] for pair in ALLOWED.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))


def test_the_table_is_that_of_this_machine():
    """Compared with the system's own header, where it is installed."""
    import platform
    import re

    places = [Path(f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm-generic/unistd.h")]
    header = next((place for place in places if place.exists()), None)
    if header is None:
        pytest.skip("no kernel headers here")
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())}
    column = ARCHITECTURES[platform.machine()][0]
    for name, numbers in ALLOWED.items():
        if numbers[column] is not None and name in known:
            assert known[name] == numbers[column], name
