"""What differs between releases: the ranks and scores are those of the releases, and every reason is possible."""

from __future__ import annotations

from itertools import pairwise

import pytest

from leaderboard.publishing.changes import NEW, compare_releases
from leaderboard.publishing.release import read_release, releases
from tests.support.command import touchstone


@pytest.mark.parametrize(("old", "new"), list(pairwise(releases())))
def test_every_move_is_in_both_releases(old, new):
    before, after = read_release(old).report, read_release(new).report
    changes = compare_releases(before, after)
    sentence = f"The suite is {after.suite.label} instead of {before.suite.label}"
    assert [line.startswith(sentence) for line in changes.suite[:1]] == [True] * (before.suite.fingerprint != after.suite.fingerprint)
    for track, moves in changes.moves.items():
        ranks = [{entry.name: entry.rank for entry in report.entries if entry.track == track} for report in (before, after)]
        for move in moves:
            assert (move.old_rank, move.new_rank) == (ranks[0].get(move.name), ranks[1].get(move.name))
            assert (move.reason == NEW) == (move.name not in ranks[0])
        moved = {move.name for move in moves}
        assert all(ranks[0].get(name) == ranks[1].get(name) for name in (ranks[0].keys() | ranks[1].keys()) - moved)


def test_a_release_and_itself():
    report = read_release("2026.1").report
    changes = compare_releases(report, report)
    assert changes.suite == []
    assert not any(changes.moves.values())


def test_reasons():
    old = read_release("2026.1").report
    first, second, *others = old.entries
    changed = first.model_copy(update={"digest": "0" * 64, "overall_above_chance": 0.5})
    again = second.model_copy(update={"overall_above_chance": 0.25})
    lower = others[0].model_copy(update={"rank": 50})
    out = others[1].model_copy(update={"rank": None, "not_ranked": "it failed"})
    new = old.model_copy(update={"entries": [changed, again, lower, out, *others[3:]]})
    reasons = {move.name: move.reason for moves in compare_releases(old, new).moves.values() for move in moves}
    assert reasons == {first.name: "its code, parameters or models changed", second.name: "it was run again",
                       others[0].name: "other metrics were added or left out", others[1].name: "not ranked: it failed",
                       others[2].name: "not in the later release"}


@pytest.mark.cli
def test_the_command():
    done = touchstone("changes", "2026.3", "2026.4")
    assert done.returncode == 0
    assert "New tasks: contrast" in done.stdout
    refused = touchstone("changes", "2031.1")
    assert refused.returncode == 2
    assert "2031.1" in refused.stderr
