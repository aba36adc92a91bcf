"""Hosts: what they import before workers are forked, and that nothing of them is left."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time

import pytest

from harness.base.paths import SUBMISSIONS
from harness.sandbox.leftovers import remove_leftovers
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import PRELOADED, Supervisor, modules_to_preload
from tests.support.processes import alive, descendants

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(("line", "modules"), [
    ("import faiss", ["faiss"]), ("from scipy import linalg, stats", ["scipy.linalg", "scipy.stats"]),
    ("from scipy.stats import norm", ["scipy.stats"]), ("    from ot import emd2 as solve", ["ot"]),
    ("import faissimile", []), ("import ot", ["ot"]), ("# import faiss", []), ("text = 'import faiss'", [])])
def test_modules_are_found_in_the_lines_that_import_them(line, modules):
    assert list(modules_to_preload(line.encode())) == modules


def test_what_our_submissions_import_of_slow_packages_is_preloaded():
    """By a look of its own: every module of these packages that stands in an import of one of our files."""
    seen = set()
    for path in SUBMISSIONS.glob("*.py"):
        source = path.read_bytes()
        for module in re.findall(r"^[ \t]*(?:import|from)[ \t]+((?:ot|sklearn|faiss|scipy|rapidfuzz)[\w.]*)", source.decode(), re.MULTILINE):
            if module not in ("scipy", "rapidfuzz", "sklearn"):     # `from scipy import stats` is tested above
                assert module in PRELOADED, f"{path.name} imports {module}"
                assert module in modules_to_preload(source)
                seen.add(module)
    assert len(seen) > 5


@pytest.mark.parametrize("layers", ["NO_SANDBOX", "CONFINING", "probe_sandbox()"])
def test_the_death_of_the_harness_ends_its_workers(layers):
    program = f"""
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.layers import CONFINING, NO_SANDBOX
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from tests.support.processes import alive, descendants
made = Supervisor({layers}, Limits()).fork()
made.load(b"import time\\ndef distance(p, q): time.sleep(600)\\n", "x.py", {{}}, {{}})
print("at work", flush=True)
made.call("distance", [["a"], ["b"]], 1)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "at work\n"
    time.sleep(0.2)
    at_work = descendants(process.pid)
    assert len(at_work) >= 2                            # a supervisor and a worker
    process.kill()
    process.communicate()
    until = time.monotonic() + 20
    while any(alive(one) for one in at_work):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_processes_of_a_run_that_is_gone_are_swept_up_and_no_others(tmp_path, monkeypatch):
    """As a bubblewrap that was killed while it started leaves one: waiting for ever, in the folder of that run."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, ours, other = (subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "--chdir", str(folder), "--"]) for folder in (
        tmp_path / f"touchstone-{ended.pid}-abcd12_z", tmp_path / f"touchstone-{os.getpid()}-abcd12_z", tmp_path / f"touchstone-{ended.pid}-notes"))
    time.sleep(0.3)
    remove_leftovers.cache_clear()
    remove_leftovers()
    assert left.wait(timeout=10) == -9
    assert ours.poll() is None
    assert other.poll() is None
    for process in (ours, other):
        process.kill()
        process.wait()


def test_what_a_killed_run_left_is_swept_up_and_nothing_else(tmp_path, monkeypatch):
    ended = subprocess.Popen(["true"])
    ended.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = [f"touchstone-{ended.pid}-abcd12_z", f"touchstone-{os.getppid()}-abcd12_z", f"touchstone-{ended.pid}-results",
             "touchstone-notes", "touchstone-1.0-src", "another"]
    for name in names:
        (tmp_path / name).mkdir()
    remove_leftovers.cache_clear()
    remove_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])


def test_hundreds_of_workers_leave_nothing_behind():
    host = Supervisor(probe_sandbox(), Limits())
    gc.collect()                                        # what other tests left to the collector
    descriptors, processes = len(os.listdir("/proc/self/fd")), descendants(host._process.pid)
    for _ in range(200):
        made = host.fork()
        made.load(b"def distance(p, q): return 1.0\n", "x.py", {}, {})
        made.close()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert descendants(host._process.pid) == processes
    assert any(alive(process) for process in processes)
    host.close()
    until = time.monotonic() + 2            # the kernel closes what a process has open a moment before it is gone
    while any(alive(process) for process in processes) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(alive(process) for process in processes)
    assert not host._folder.exists()
