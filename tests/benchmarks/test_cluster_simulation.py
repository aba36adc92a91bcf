"""The simulation of large runs: against what can be computed by hand, and against the table in the documentation."""

from __future__ import annotations

import pytest

from harness.base.paths import PROJECT
from tests.benchmarks.cluster_simulation import (
    COORDINATOR_SECONDS,
    NODE_BYTES_PER_SECOND,
    SCHEDULER_SECONDS,
    START_SECONDS,
    Costs,
    simulate,
    table,
)

pytestmark = pytest.mark.benchmark
EQUAL = Costs((tuple([20.0] * 50),), cache_bytes=100e6)         # each test unit is a group


def test_one_node_takes_the_sum():
    run = simulate(EQUAL, 1, 1)
    fetching = 100e6 / NODE_BYTES_PER_SECOND
    assert (run.units, run.groups, run.traffic, run.work) == (50, 50, 100e6, 1000.0)
    assert run.makespan == pytest.approx(50 * (20 + START_SECONDS) + fetching, abs=50 * (SCHEDULER_SECONDS + COORDINATOR_SECONDS))


def test_ten_nodes_take_a_tenth():
    run = simulate(EQUAL, 10, 1)
    assert run.traffic == 10 * 100e6
    assert run.makespan == pytest.approx(5 * (20 + START_SECONDS) + 1, abs=50 * (SCHEDULER_SECONDS + COORDINATOR_SECONDS))
    assert run.efficiency == pytest.approx(1000 / (10 * run.makespan))


def test_short_units_are_limited_by_the_coordinator():
    run = simulate(Costs((tuple([0.001] * 1000),), 0.0), 1000, 100)
    assert run.makespan >= run.units * COORDINATOR_SECONDS
    assert run.coordinator > 0.5
    assert simulate(Costs((tuple([0.001] * 1000),), 0.0), 1000, 100, coordinators=4).makespan < run.makespan


def test_the_documentation_has_the_table():
    assert table() in (PROJECT / "docs" / "scaling.md").read_text()
