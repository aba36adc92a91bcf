"""Runs on Dask clusters: the observations of a local run, lost workers, bad addresses, nodes that differ."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from harness.results.store import Store
from tasks.suite_files import load_suite, suite_fingerprint
from tests.support.command import touchstone
from tests.support.processes import descendants

pytest.importorskip("distributed")

from tests.support.clusters import SLEEPY, TASKS, answers, count_stored, nodes, start_run, wait_for

pytestmark = [pytest.mark.sandbox, pytest.mark.cli]


def run(store: Path, *words: object):
    return touchstone("run", *words, "--suite", "smoke", "--store", store, timeout=180)


def test_a_cluster_gives_the_observations_of_a_local_run(tmp_path):
    """Texts, vectors and tokens; timings run alone on one node."""
    metrics = ("energy", "jaccard", "cosine", "zipf", *TASKS, "--only", "timing")
    for store, options in ((tmp_path / "local.sqlite", ()), (tmp_path / "cluster.sqlite", ("--cluster", "local:2"))):
        done = run(store, *metrics, *options)
        assert done.returncode == 0, done.stderr
    assert len(answers(tmp_path / "local.sqlite")) > 40
    assert answers(tmp_path / "cluster.sqlite") == answers(tmp_path / "local.sqlite")
    assert {row[:3] for row in Store(tmp_path / "cluster.sqlite", read_only=True).raw()} == {
        row[:3] for row in Store(tmp_path / "local.sqlite", read_only=True).raw()}
    assert set(Store(tmp_path / "local.sqlite", read_only=True).nodes().values()) == {None}
    recorded = Store(tmp_path / "cluster.sqlite", read_only=True).nodes()
    assert all(re.fullmatch(rf"{re.escape(platform.node())} \(tcp://127\.0\.0\.1:\d+\)", node) for node in recorded.values())
    timed = {task_unit.unit.id for task_unit in load_suite("smoke").task_units if task_unit.task.info.alone}
    assert len(set(recorded.values())) == 2
    assert len({node for (unit, _), node in recorded.items() if unit in timed}) == 1        # nothing beside them


def test_a_killed_worker_loses_nothing(tmp_path, write):
    path, store, local = write("sleepy", SLEEPY), tmp_path / "cluster.sqlite", tmp_path / "local.sqlite"
    with nodes() as cluster:
        command = start_run(store, path, *TASKS, "--cluster", cluster.address)
        wait_for(lambda: count_stored(store) > 0, command)
        os.kill(next(process.pid for process in cluster.workers if descendants(process.pid)), signal.SIGKILL)      # it runs a metric
        stored = count_stored(store)
        output, _ = command.communicate(timeout=120)
    assert command.returncode == 0, output
    rows = Store(store, read_only=True).raw()
    assert stored < len(rows), "nothing was pending"
    assert {row[2] for row in rows} <= {"answered", "not applicable"}
    assert run(local, path, *TASKS).returncode == 0
    assert answers(store) == answers(local)


@pytest.mark.parametrize(("address", "sentence"), [
    ("tcp://127.0.0.1:1", "No Dask scheduler answers at tcp://127.0.0.1:1"), ("local:none", '"local:none" has no number of processes'),
    ("absent.json", "The scheduler file absent.json cannot be read (FileNotFoundError)"),
    ("nonsense://x", "No Dask scheduler answers at nonsense://x")])
def test_bad_addresses(tmp_path, address, sentence):
    done = run(tmp_path / "store.sqlite", "zipf", "--cluster", address)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_node_with_another_version_is_refused(tmp_path):
    package = tmp_path / "packages" / "touchstone_benchmark-9.9.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: touchstone-benchmark\nVersion: 9.9\n")
    with nodes([{"PYTHONPATH": f"{package.parent}{os.pathsep}{PROJECT}"}]) as cluster:
        done = run(tmp_path / "store.sqlite", "zipf", "--cluster", cluster.address)
    assert done.returncode == 2
    assert re.search(r"The node tcp://127\.0\.0\.1:\d+ has Touchstone 9\.9 on Python \S+; this machine has", done.stderr)


def test_a_node_without_sandbox_is_refused(tmp_path):
    """Each namespace of a user allows no other one, and without it no layer hides the files."""
    if os.getuid() or subprocess.run(["unshare", "--user", "true"], check=False).returncode:
        pytest.skip("user namespaces cannot be made here")
    with nodes([]) as cluster:
        cluster.start_worker(["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', "sh"])
        cluster.wait(1)
        done = run(tmp_path / "store.sqlite", "zipf", "--cluster", cluster.address)
    assert done.returncode == 2, done.stdout
    assert re.search(r"The node tcp://127\.0\.0\.1:\d+ cannot run metrics: The sandbox", done.stderr)


def test_nodes_with_another_suite_are_refused():
    from harness.evaluation.cluster.executor import Cluster
    from harness.evaluation.cluster.node import Requirements

    with pytest.raises(TouchstoneError, match=r"The node tcp://\S+ has another version of the suite \(\w{6}; the command has 000000\)"):
        Cluster("local:1", Requirements(SmokeFingerprint(), "0" * 64))


class SmokeFingerprint:
    """A function that nodes can import."""

    def __call__(self) -> str:
        return suite_fingerprint("smoke")


def test_a_metric_on_vectors_of_tokens_is_refused_and_its_cache_stays_sound(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    store = tmp_path / "store.sqlite"
    with nodes([{}]) as cluster:
        refused = run(store, "late_interaction", "--only", "human_ordering", "--cluster", cluster.address)
    assert refused.returncode == 2
    assert "without --cluster" in refused.stderr
    assert run(store, "late_interaction", "--only", "human_ordering").returncode == 0
