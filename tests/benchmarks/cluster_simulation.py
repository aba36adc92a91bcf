"""A discrete-event simulation of runs on many nodes, with test units that take as long as those of a release.

Usage: `python -m tests.benchmarks.cluster_simulation`, which prints the table of docs/scaling.md.

Simulated: every node runs one group at a time and holds one more; the scheduler and the coordinator each handle one message at a
time; a node fetches the vectors of a dataset once. Groups are formed as in `harness.evaluation.cluster.executor`. Not simulated:
lost nodes, embedding, starts of the sandbox (part of the measured seconds), and contention inside a node.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.base.paths import PROJECT
from harness.evaluation.cluster.executor import GROUP_SECONDS, GROUPS_PER_NODE, LARGEST_GROUP, SHORT_GROUP_SECONDS

RELEASE = PROJECT / "leaderboard" / "releases" / "2026.4"
SCHEDULER_SECONDS = 0.001                   # of the scheduler for a group; the documentation of Dask names less than 1 ms per task
COORDINATOR_SECONDS = 0.001                 # of the coordinator for a test unit, at most: test_cluster.py stores 1,015 per second
START_SECONDS = 1.5                         # assumed of a node for the first test unit of an entry in a group
NODE_BYTES_PER_SECOND = 100e6               # assumed of a node that reads the remote cache
CACHE_BYTES = 352e6                         # of the 224,801 vectors with their keys that core and other suites need
HOUR_PRICE = 0.05                           # assumed price of a processor hour, in dollars


@dataclass(frozen=True)
class Costs:
    """What a release measured: seconds by entry of each test unit, and the texts of a dataset that a node fetches."""

    seconds: tuple[tuple[float, ...], ...]
    cache_bytes: float


@dataclass(frozen=True)
class Outcome:
    """What a simulated run took."""

    nodes: int
    metrics: int
    coordinators: int
    units: int
    groups: int
    makespan: float                         # seconds
    work: float                             # seconds of all test units
    scheduler: float                        # share of the makespan in which it is busy
    coordinator: float
    traffic: float                          # bytes from the remote cache

    @property
    def efficiency(self) -> float:
        """The share of the time of all nodes in which they run test units."""
        return self.work / (self.makespan * self.nodes)

    @property
    def price(self) -> float:
        """The price of the nodes per metric."""
        return self.makespan * self.nodes / 3600 * HOUR_PRICE / self.metrics


def read_costs(release: Path = RELEASE, cache_bytes: float = CACHE_BYTES) -> Costs:
    """Return the seconds of every answered test unit of a release, by entry."""
    answers = pd.read_parquet(release / "answers.parquet", columns=["entry", "status", "seconds"])
    answered = answers[answers.status == "answered"]
    return Costs(tuple(tuple(group.seconds) for _, group in answered.groupby("entry", sort=True)), cache_bytes)


def simulate(costs: Costs, nodes: int, metrics: int, coordinators: int = 1, seed: int = 0) -> Outcome:
    """Return what a run of metrics, drawn from those of the release, takes on nodes; coordinators share the outcomes evenly."""
    rng = random.Random(seed)
    kinds = [rng.randrange(len(costs.seconds)) for _ in range(metrics)]
    left = [len(costs.seconds[kind]) for kind in kinds]                 # test units of each metric that are not sent
    prefix = [cumulative(seconds) for seconds in costs.seconds]
    total_units, total_work = sum(left), sum(prefix[kind][-1] for kind in kinds)
    waiting_units, mean = total_units, total_work / total_units
    order = [(0, -left[metric], metric) for metric in range(metrics)]   # fewest groups at work first
    heapq.heapify(order)
    active = [0] * metrics
    events: list[tuple[float, int, int, int, int]] = []                 # time, number, node, metric, units
    free = [0.0] * nodes
    scheduler = coordinator = scheduler_busy = coordinator_busy = traffic = now = 0.0
    groups = done = 0
    fresh = set(range(nodes))
    idle = [node for _ in range(GROUPS_PER_NODE) for node in range(nodes)]
    while done < total_units:
        while idle and order:
            _, _, metric = heapq.heappop(order)
            if not left[metric]:
                continue
            kind, node = kinds[metric], idle.pop()
            start = len(costs.seconds[kind]) - left[metric]
            share = waiting_units * mean / (2 * GROUPS_PER_NODE * nodes)
            target, size = max(SHORT_GROUP_SECONDS, min(GROUP_SECONDS, share)), 1
            while size < min(left[metric], LARGEST_GROUP) and prefix[kind][start + size] - prefix[kind][start] < target:
                size += 1
            work = prefix[kind][start + size] - prefix[kind][start] + START_SECONDS
            left[metric] -= size
            waiting_units -= size
            active[metric] += 1
            if left[metric]:
                heapq.heappush(order, (active[metric], -left[metric], metric))
            scheduler = max(scheduler, now) + SCHEDULER_SECONDS
            scheduler_busy += SCHEDULER_SECONDS
            if node in fresh:
                fresh.remove(node)
                traffic += costs.cache_bytes
                work += costs.cache_bytes / NODE_BYTES_PER_SECOND
            free[node] = max(free[node], scheduler) + work
            groups += 1
            heapq.heappush(events, (free[node], groups, node, metric, size))
        now, _, node, metric, size = heapq.heappop(events)
        coordinator = max(coordinator, now) + size * COORDINATOR_SECONDS / coordinators
        coordinator_busy += size * COORDINATOR_SECONDS / coordinators
        now = coordinator                   # the next group is sent when the outcomes are stored
        active[metric] -= 1
        done += size
        idle.append(node)
    return Outcome(nodes, metrics, coordinators, total_units, groups, max(coordinator, *free), total_work, scheduler_busy / coordinator,
                   coordinator_busy / coordinator, traffic)


def cumulative(values: tuple[float, ...]) -> list[float]:
    """Return the sums of the first 0, 1, 2, … values."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return sums


PLANS = ((1, 100, 1), (10, 100, 1), (100, 1_000, 1), (1_000, 10_000, 1), (1_000, 10_000, 4))


def table() -> str:
    """Return the simulated plans as a Markdown table."""
    costs = read_costs()
    lines = ["| nodes | metrics | coordinators | test units | makespan | nodes busy | groups | scheduler busy | database writes | coordinators busy "
             "| from the remote cache | price per metric |", "|" + 12 * "---|"]
    for nodes, metrics, coordinators in PLANS:
        run = simulate(costs, nodes, metrics, coordinators)
        lines.append(f"| {nodes:,} | {metrics:,} | {coordinators} | {run.units:,} | {run.makespan / 3600:.1f} h | {run.efficiency:.0%} | {run.groups:,} "
                     f"| {run.scheduler:.1%} | {run.units / run.makespan:,.0f}/s | {run.coordinator:.0%} | {run.traffic / 1e9:,.1f} GB "
                     f"| ${run.price:.4f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
