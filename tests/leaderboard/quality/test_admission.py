"""Admission: each bound refuses, with the number and the bound in the reason."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from harness.evaluation.suite import AdmissionRule
from leaderboard.quality.admission import admit_tasks, check_axis, stratum_scores
from leaderboard.quality.statistics import measure_quality
from leaderboard.scoring.ranking import rank_entries
from tests.support.scores import SUITE, scored

pytestmark = pytest.mark.unit

CONTROL = "guesses"


def control(noise: float, seed: int = 99):
    entry = scored(CONTROL, noise, seed)
    header = SimpleNamespace(**{**vars(entry.stored.entry.header), "control": True})
    return replace(entry, stored=SimpleNamespace(entry=SimpleNamespace(name=CONTROL, variant=None, header=header), digest=CONTROL))


def judge(noise: float, **bounds):
    """The verdicts by task on six metrics and a trivial baseline with this much noise, and the problems of a release."""
    loose = {"score": 9.0, "lower_end": 9.0, "stratum": 9.0, "signal_to_noise": 0.0, "clusters": 1, "weights": (-9.0, 9.0),
             "alpha": -9.0, "on_axis": 9.0}
    rule = AdmissionRule({"text": (CONTROL,)}, **{**loose, **bounds})
    suite = replace(SUITE, admission=rule)
    ranking = rank_entries([*(scored(f"noise {n}", n, seed) for seed, n in enumerate((0.1, 0.5, 1.0, 2.0, 4.0, 8.0))), control(noise)])
    quality = measure_quality(ranking)
    admission = admit_tasks(suite, ranking, quality)
    problems = check_axis(ranking.places[0].scored.axis, rule, ranking, quality, admission)
    return {verdict.task: verdict for verdict in admission}, problems


def test_a_baseline_at_chance_is_admitted():
    """Noise of 200 leaves no correlation; `plain` is far below its chance."""
    verdicts, problems = judge(200.0, score=0.5, lower_end=0.5, stratum=0.6)
    assert all(verdict.admitted and not verdict.reasons for verdict in verdicts.values())
    assert problems == []


@pytest.mark.parametrize(("bounds", "reason"), [
    ({"score": 0.10}, "guesses scores 0.9.* above chance .at most 0.1."),
    ({"lower_end": 0.05}, "guesses is above chance: its interval starts at 0.9.* .at most 0.05."),
    ({"stratum": 0.20}, "guesses scores 0.9.* above chance on (one|two) .at most 0.2."),
    ({"signal_to_noise": 1e6}, "its signal-to-noise ratio is .* .at least 1e.06."),
    ({"clusters": 1_000}, "it has 120 clusters .at least 1000."),
])
def test_each_bound_refuses_with_its_number(bounds, reason):
    """A baseline that knows the truth is above chance by about 1."""
    verdicts, problems = judge(0.3, **bounds)
    assert not verdicts["correlated"].admitted
    assert len(verdicts["correlated"].reasons) == 1
    assert re.fullmatch(reason, verdicts["correlated"].reasons[0])
    assert any(problem.startswith("correlated may not be ranked: ") for problem in problems)


def test_a_missing_baseline_refuses():
    suite = replace(SUITE, admission=AdmissionRule({"text": ("absent",)}))
    ranking = rank_entries(scored(f"noise {n}", n, n) for n in (1, 2, 3))
    verdicts = admit_tasks(suite, ranking, measure_quality(ranking))
    assert all("the trivial baseline absent has no score" in verdict.reasons for verdict in verdicts)


@pytest.mark.parametrize(("bounds", "problem"), [
    ({"weights": (0.99, 1.01)}, "the effective weight of"), ({"alpha": 0.9999}, "alpha is"),
    ({"on_axis": -9.0}, "the trivial baseline guesses reaches")])
def test_the_axis_is_checked(bounds, problem):
    _, problems = judge(0.3, **bounds)
    assert [text for text in problems if text.startswith(problem)]


def test_without_a_rule_nothing_is_judged():
    ranking = rank_entries(scored(f"noise {n}", n, n) for n in (1, 2, 3))
    assert admit_tasks(SUITE, ranking, measure_quality(ranking)) == []
    assert check_axis(ranking.places[0].scored.axis, None, ranking, measure_quality(ranking), []) == []


def test_scores_of_strata_average_to_the_score():
    entry = scored("some", 1.0, 0)
    for name in ("correlated", "plain"):
        assert np.mean(list(stratum_scores(entry, entry.tasks[name]).values())) == pytest.approx(entry.tasks[name].above_chance)
