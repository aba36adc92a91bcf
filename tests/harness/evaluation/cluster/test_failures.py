"""Parts of a cluster that are killed, cut off, or wrong about the time: each test unit is stored once, with the same answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.results.store import Store
from tests.support.command import touchstone
from tests.support.processes import descendants

pytest.importorskip("distributed")

from tests.support.clusters import SLEEPY, TASKS, Nodes, answers, count_stored, nodes, start_run, wait_for

pytestmark = [pytest.mark.sandbox, pytest.mark.cli]
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
ON_ONE_HOST = """import os
def distance(p, q):
    if os.uname().nodename == "unfit": raise ValueError("unfit")
    return float(abs(len(set(p)) - len(set(q))))
"""
NOWHERE = "import os\ndef distance(p, q): raise ValueError(os.uname().nodename)\n"
OTHER_HOST = ("unshare", "--uts", "sh", "-c", 'hostname unfit; exec "$@"', "sh")      # a command with another name of the host


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> tuple[Path, Path]:
    """Return a slow metric, and the store of a local run."""
    from tests.support.submissions import HEADER

    folder = tmp_path_factory.mktemp("local")
    (folder / "sleepy.py").write_text(HEADER.format(name="sleepy", kind="corpus", input="texts", returns="distance", range="[0.0, inf]") + SLEEPY)
    assert touchstone("run", folder / "sleepy.py", *TASKS, "--suite", "smoke", "--store", folder / "store.sqlite").returncode == 0
    return folder / "sleepy.py", folder / "store.sqlite"


def scores(store: Path | str) -> object:
    """Return the scores and ranks in a store."""
    shown = touchstone("show", "--suite", "smoke", "--store", store, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def test_a_killed_coordinator_goes_on(tmp_path, expected):
    store = tmp_path / "store.sqlite"
    with nodes() as cluster:
        file = tmp_path / "scheduler.json"
        file.write_text(json.dumps({"address": cluster.address}))
        words = (expected[0], *TASKS, "--cluster", file)
        command = start_run(store, *words)
        wait_for(lambda: count_stored(store) > 0, command)
        command.send_signal(signal.SIGKILL)
        command.communicate()
        stored = count_stored(store)
        assert stored < len(answers(expected[1])), "nothing was pending"
        command = start_run(store, *words)
        output, _ = command.communicate(timeout=120)
    assert command.returncode == 0, output
    assert f"Ran {len(answers(expected[1])) - stored:,} test units" in output
    assert answers(store) == answers(expected[1])


def test_a_lost_scheduler_is_one_sentence_and_the_run_goes_on(tmp_path, expected):
    store = tmp_path / "store.sqlite"
    with nodes() as cluster:
        words = (expected[0], *TASKS, "--cluster", cluster.address)
        command = start_run(store, *words)
        wait_for(lambda: count_stored(store) > 0, command)
        cluster.scheduler.send_signal(signal.SIGKILL)
        output, _ = command.communicate(timeout=120)
        assert command.returncode == 2, output
        assert output.splitlines()[-1] == "touchstone: The connection to the scheduler was lost. Repeat the command to continue."
        assert count_stored(store) < len(answers(expected[1])), "nothing was pending"
        cluster.start_scheduler()
        cluster.start_worker()
        cluster.wait(1)
        command = start_run(store, *words)
        output, _ = command.communicate(timeout=120)
    assert command.returncode == 0, output
    assert answers(store) == answers(expected[1])


def test_a_scheduler_that_is_back_at_once_gets_the_lost_groups_again(tmp_path, expected):
    store = tmp_path / "store.sqlite"
    with nodes() as cluster:
        command = start_run(store, expected[0], *TASKS, "--cluster", cluster.address)
        wait_for(lambda: count_stored(store) > 0, command)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        assert count_stored(store) < len(answers(expected[1])), "nothing was pending"
        cluster.start_scheduler()
        cluster.start_worker()
        output, _ = command.communicate(timeout=120)
    assert command.returncode == 0, output
    assert answers(store) == answers(expected[1])


@pytest.mark.skipif(os.getuid() != 0, reason="another name of the host needs root")
def test_a_metric_is_blamed_after_failures_on_two_nodes(tmp_path, write):
    paths = [write("one_host", ON_ONE_HOST), write("nowhere", NOWHERE)]
    store = tmp_path / "store.sqlite"
    with nodes() as cluster:
        cluster.start_worker(OTHER_HOST)
        cluster.wait(3)
        done = touchstone("run", *paths, "--only", "known_similarity", "--suite", "smoke", "--store", store, "--cluster", cluster.address)
    assert done.returncode == 1, done.stderr
    opened = Store(store, read_only=True)
    digests = {name: digest for name, digest, _ in opened.digests()}
    statuses = Counter((digest, status) for _, digest, status, _ in opened.raw())
    assert {status for digest, status in statuses if digest == digests["one_host"]} == {"answered"}
    assert {status for digest, status in statuses if digest == digests["nowhere"]} == {"failed"}
    assert not [node for (_, digest), node in opened.nodes().items() if digest == digests["one_host"] and node.startswith("unfit")]


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed (apt-get install faketime)")
def test_a_clock_that_is_an_hour_fast_changes_nothing(tmp_path, expected):
    store = tmp_path / "store.sqlite"
    with nodes([{}]) as cluster:
        cluster.start_worker(LD_PRELOAD=FAKETIME, FAKETIME="+1h", FAKETIME_DONT_FAKE_MONOTONIC=1)
        cluster.wait(2)
        done = touchstone("run", expected[0], *TASKS, "--suite", "smoke", "--store", store, "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert len(set(Store(store, read_only=True).nodes().values())) == 2
    assert answers(store) == answers(expected[1])


class Network:
    """Three network namespaces that a bridge in a fourth one connects."""

    def __init__(self) -> None:
        self.hub = f"ts{os.getpid()}hub"
        self.names = [f"ts{os.getpid()}n{number}" for number in range(3)]

    def build(self) -> None:
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.hub, "link", "set", "bridge", "up")
        for number, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("-n", self.hub, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.hub, "link", "set", f"port{number}", "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")

    def switch(self, number: int, state: str) -> None:
        ip("-n", self.hub, "link", "set", f"port{number}", state)

    def inside(self, number: int) -> tuple[str, ...]:
        return "ip", "netns", "exec", self.names[number]

    def remove(self) -> None:
        for name in (*self.names, self.hub):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip())


@pytest.fixture
def network() -> Iterator[Network]:
    built = Network()
    try:
        built.build()
        yield built
    except OSError as error:
        pytest.skip(f"network namespaces need root and iproute2 ({error})")
    finally:
        built.remove()


@pytest.mark.benchmark           # two minutes, most of them waiting
def test_kills_and_a_link_that_is_down_for_half_a_minute(tmp_path, network, database, write):
    """One run on three nodes and PostgreSQL: a worker, a link, the scheduler and the coordinator are lost, one after the other."""
    path = write("sleepy", SLEEPY.replace("0.02", "0.15"))
    words = (path, *TASKS)
    local = tmp_path / "local.sqlite"
    assert touchstone("run", *words, "--suite", "smoke", "--store", local, "--jobs", 8, timeout=600).returncode == 0
    cluster = Nodes("tcp://10.77.0.1:8786", prefix=network.inside(0))
    outside = contextlib.ExitStack()
    outside.callback(cluster.stop)
    with outside:
        cluster.start_scheduler()
        first, _ = (cluster.start_worker(network.inside(number)) for number in (1, 2))
        command = start_run(database, *words, "--cluster", cluster.address, prefix=network.inside(0))
        outside.callback(command.kill)

        def progress_by(count: int) -> None:
            goal = count_stored(database) + count
            wait_for(lambda: count_stored(database) >= goal, command, 120)

        progress_by(1)
        first.kill()
        progress_by(1)
        network.switch(2, "down")                           # now no node is left that can be reached
        time.sleep(35)
        network.switch(2, "up")
        replacement = cluster.start_worker(network.inside(1))
        progress_by(1)
        assert replacement.poll() is None
        cluster.scheduler.kill()
        output, _ = command.communicate(timeout=120)
        assert command.returncode == 2, output
        cluster.start_scheduler()
        for number in (1, 2):
            cluster.start_worker(network.inside(number))
        command = start_run(database, *words, "--cluster", cluster.address, prefix=network.inside(0))
        progress_by(1)
        for process in {command.pid, *descendants(command.pid)}:
            os.kill(process, signal.SIGKILL)
        command.communicate()
        assert count_stored(database) < len(answers(local)), "nothing was pending"
        command = start_run(database, *words, "--cluster", cluster.address, prefix=network.inside(0))
        output, _ = command.communicate(timeout=300)
        assert command.returncode == 0, output
    assert answers(database) == answers(local)              # one row for each test unit
    assert scores(database) == scores(local)

