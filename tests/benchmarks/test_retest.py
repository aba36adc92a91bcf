"""Whether the ranking is one of the metrics or of the draws: the default suite under two seeds."""

from __future__ import annotations

import json
import re

import pytest
from scipy.stats import spearmanr

from harness.base.paths import PROJECT
from tests.support.command import touchstone

pytestmark = [pytest.mark.benchmark, pytest.mark.network]
RANKED = [word for task in ("known_similarity", "fine_tuning", "diagnostics") for word in ("--only", task)]


def test_two_seeds_rank_corpus_metrics_alike(tmp_path, report):
    """All submissions, the corpus track of core: Spearman's correlation of the two overall scores is at least .95."""
    written = (PROJECT / "tasks" / "suites" / "core.toml").read_text()
    found = []
    for seed in (20260102, 20270102):
        suite = tmp_path / f"core{seed}.toml"
        suite.write_text(re.sub(r"^seed = \d+", f"seed = {seed}", written, flags=re.M))
        done = touchstone("run", "--suite", suite, *RANKED, "--store", tmp_path / f"{seed}.sqlite", "--json", timeout=7200)
        assert done.returncode == 0, done.stderr
        found.append({entry["name"]: entry["overall_above_chance"] for entry in json.loads(done.stdout)["entries"]
                      if entry["track"] == "corpus" and entry["rank"] is not None})
    first, second = found
    assert first.keys() == second.keys()
    names = sorted(first)
    correlation = float(spearmanr([first[name] for name in names], [second[name] for name in names]).statistic)
    report(f"{len(names)} metrics ranked under two seeds: Spearman {correlation:.3f}")
    assert correlation >= 0.95
