"""Three runners on nodes of their own, of which one loses its link for longer than its lease."""

from __future__ import annotations

import itertools
import subprocess
from collections import Counter

import pytest

from harness.results.store import Store
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.states import FOLLOWING, RunProgress, State
from leaderboard.service.submissions import Submissions
from tests.support.namespaces import NETWORK, nodes
from tests.support.postgres import postgres_server
from tests.support.service import make_file, start_service, wait_until
from tests.support.serving import free_port

pytestmark = pytest.mark.benchmark
NODES, METRICS, LEASE = 3, 3, 3.0
LENIENT = Settings(uploads_per_day=100, checks_per_hour=100, runs_per_month=100, waiting_per_owner=100, lease_seconds=LEASE, attempts=1000)
SLOW = "import time\ndef distance(p, q):\n    time.sleep(0.05)\n    return float(abs(len(set(p)) - len(set(q)) + {number}))\n"


def test_each_submission_is_scored_once_though_a_link_goes_down():
    port = free_port()
    with nodes(NODES) as hosts, postgres_server(f"{NETWORK}.0.0/16", port, ",".join(node.host for node in hosts)) as database:
        submissions = Submissions(ServiceDatabase(database), LENIENT)

        def start(node) -> subprocess.Popen[str]:
            store = f"postgresql://tests@{node.host}:{port}/postgres"
            return start_service("runner", "--suite", "smoke", "--jobs", "1", "--store", store, lease=LEASE, prefix=node.prefix)
        records = [submissions.receive(f"owner-{number}", "address", f"slow-{number}.py", make_file(f"slow-{number}", SLOW.format(number=number)),
                                       True)[0] for number in range(METRICS)]
        runners = [start(node) for node in hosts]
        try:
            def running() -> list:
                return [record for record in map(submissions.get, (record.id for record in records))
                        if record.state is State.RUNNING and (record.progress or RunProgress()).done > 0]
            wait_until(lambda: bool(running()), 120)
            victim = running()[0]
            names = [f":{runner.pid}" for runner in runners]
            number = next((n for n, name in enumerate(names) if victim.runner.endswith(name)), None)
            assert number is not None, (victim.runner, names)
            hosts[number].set_link(up=False)
            wait_until(lambda: (taken := submissions.tidy() or submissions.get(victim.id)).state is not State.RUNNING
                       or taken.runner != victim.runner, 60)
            hosts[number].set_link(up=True)                                 # it comes back late, with work of its own
            wait_until(lambda: all(submissions.get(record.id).state is State.HELD for record in records), 200)
        finally:
            for runner in runners:
                runner.kill()
                print("=====", runner.communicate()[0])
            for record in records:
                print(submissions.get(record.id), submissions.events(record.id))
        for record in records:
            states = [event.state for event in submissions.events(record.id)]
            assert all(after in FOLLOWING[before] for before, after in itertools.pairwise(states))
            assert Counter(states)[State.SCORED] == 1
        assert Counter(event.state for event in submissions.events(victim.id))[State.RUNNING] >= 2      # it was taken over
        store = Store(database, read_only=True)
        units = Counter(row[1] for row in store.raw())
        store.close()
        assert len(set(units.values())) == 1                                    # none was lost; a store has each once
        assert len(units) == METRICS
