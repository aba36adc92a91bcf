"""The submission service: response times with 1,000 submissions, and fifty kills of server, runners and database."""

from __future__ import annotations

import itertools
import os
import random
import signal
import statistics
import subprocess
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from harness.results.store import Store
from leaderboard.service.database import DatabaseAway, ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.states import FOLLOWING, State
from leaderboard.service.submissions import Submissions
from tasks.suite_files import load_suite
from tests.support.postgres import POSTGRES
from tests.support.service import make_file, start_service, wait_until
from tests.support.serving import free_port

pytestmark = pytest.mark.benchmark
SUBMISSIONS, REQUESTS, KILLS, METRICS = 1000, 100, 50, 6
LENIENT = Settings(uploads_per_day=10_000, checks_per_hour=10_000, runs_per_month=10_000, waiting_per_owner=10_000, queue_length=10_000,
                   lease_seconds=3.0, attempts=1000)
LIMITS = {name: getattr(LENIENT, name) for name in ("uploads_per_day", "checks_per_hour", "runs_per_month", "waiting_per_owner", "queue_length")}
PYTHON = {"Content-Type": "text/x-python"}
SLEEPY = "import time\ndef distance(p, q):\n    time.sleep(0.02)\n    return float(abs(len(set(p)) - len(set(q)) + {number}))\n"


def start_server(store: str) -> tuple[subprocess.Popen[str], str]:
    port = free_port()
    process = start_service("serve", "--submissions", "--store", store, "--port", str(port), **LIMITS)
    return process, f"http://127.0.0.1:{port}"


def is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def test_response_times_with_many_submissions(tmp_path, report):
    store = str(tmp_path / "store.sqlite")
    submissions = Submissions(ServiceDatabase(store), LENIENT)
    identifiers = [submissions.receive(f"owner-{number}", "address", "mine.py", make_file(f"metric-{number}"))[0].id for number in range(SUBMISSIONS)]
    server, address = start_server(store)
    try:
        wait_until(lambda: is_up(address))
        with httpx.Client(base_url=address) as client:
            def seconds(*request: object, **options: object) -> float:
                started = time.perf_counter()
                response = client.request(*request, **options)
                assert response.is_success, response.text
                return time.perf_counter() - started
            uploads = [seconds("POST", "/api/submissions?filename=mine.py", content=make_file(f"new-{number}"), headers=PYTHON) for number in range(REQUESTS)]
            statuses = [seconds("GET", f"/api/submissions/{identifier}") for identifier in identifiers[:REQUESTS]]
    finally:
        server.kill()
        server.communicate()
    upload, status = (float(np.quantile(times, 0.95)) for times in (uploads, statuses))
    report(f"{SUBMISSIONS} submissions on SQLite: 95% of uploads are answered in {upload:.3f} s (at most 0.5, median {statistics.median(uploads):.3f}), "
           f"of requests for a state in {status:.3f} s (at most 0.1)")
    assert upload <= 0.5
    assert status <= 0.1


class Deployment:
    """A server and two runners on PostgreSQL, each of which can be killed and is started again."""

    def __init__(self, store: str) -> None:
        self.store, self.folder = store, Path(store.partition("host=")[2])
        self.server, self.address = start_server(store)
        self.runners = [self.start_runner() for _ in range(2)]

    def start_runner(self) -> subprocess.Popen[str]:
        return start_service("runner", "--suite", "smoke", "--jobs", "1", "--store", self.store, **LIMITS)

    def kill(self, what: str) -> None:
        if what == "database":
            os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            time.sleep(0.5)
            command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []
            command += [str(POSTGRES / "pg_ctl"), "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w", "-o",
                        f"-c listen_addresses='' -c unix_socket_directories={self.folder}", "start"]
            wait_until(lambda: subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode == 0)
        elif what == "server":
            self.server.kill()
            self.server.communicate()
            self.server, self.address = start_server(self.store)
        else:
            number = int(what[-1])
            self.runners[number].kill()
            self.runners[number].communicate()
            self.runners[number] = self.start_runner()

    def stop(self) -> None:
        for process in (self.server, *self.runners):
            process.kill()
            process.communicate()


def upload_all(deployment: Deployment, missing: dict[str, bytes], identifiers: dict[str, str]) -> None:
    """Upload what has not been accepted yet; a request that got no answer is repeated, which is safe."""
    for name, source in list(missing.items()):
        try:
            response = httpx.post(f"{deployment.address}/api/submissions", params={"filename": f"{name}.py", "queue": "true"}, content=source,
                                  headers=PYTHON, timeout=5)
        except httpx.HTTPError:
            return
        if response.is_success:
            identifiers[name] = response.json()["id"]
            del missing[name]


def test_fifty_kills_lose_and_double_nothing(database, tmp_path, report):
    files = {f"sleepy-{number}": make_file(f"sleepy-{number}", SLEEPY.format(number=number)) for number in range(METRICS)}
    missing, identifiers, rng = dict(files), {}, random.Random(5)
    deployment = Deployment(database)
    submissions = Submissions(ServiceDatabase(database), LENIENT)
    pending = 0
    try:
        while pending < KILLS:
            upload_all(deployment, missing, identifiers)
            time.sleep(rng.uniform(0.2, 2.0))
            try:
                counts = submissions.counts()
            except DatabaseAway:
                continue
            if counts[State.HELD] == METRICS:       # quicker than the kills: begin with other metrics, whose names are new
                break
            pending += 1
            deployment.kill(rng.choice(["server", "runner 0", "runner 1", "runner 0", "runner 1", "database"]))

        def scored() -> bool:
            upload_all(deployment, missing, identifiers)
            try:
                return submissions.counts()[State.HELD] == METRICS
            except DatabaseAway:
                return False
        wait_until(scored, 300)
    finally:
        deployment.stop()
    for identifier in identifiers.values():
        history = [event.state for event in submissions.events(identifier)]
        assert all(after in FOLLOWING[before] for before, after in itertools.pairwise(history))
        assert history.count(State.SCORED) == 1
    calm = Submissions(ServiceDatabase(tmp_path / "calm.sqlite"), LENIENT)
    for name, source in files.items():
        calm.receive("ada", "address", f"{name}.py", source, True)
    process = start_service("runner", "--once", "--suite", "smoke", "--store", str(tmp_path / "calm.sqlite"), **LIMITS)
    process.communicate()
    timed = {task_unit.unit.id for task_unit in load_suite("smoke").task_units if task_unit.task.info.alone}
    answers = [sorted(row for row in Store(store, read_only=True).raw() if row[0] not in timed) for store in (database, tmp_path / "calm.sqlite")]
    report(f"{pending} kills of server, runners and database while submissions were pending: all {METRICS} are scored once, with the answers of an "
           "undisturbed run")
    assert answers[0] == answers[1]
    assert pending == KILLS
