"""The ensembles of USMB's tables: every published figure, on the paper's conditions, averaged over embedding models."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.submission.selection import select_entries
from leaderboard.ensembles.learning import judge_split, learn, split_groups
from leaderboard.ensembles.training_tables import comparisons, observed, robustness_table, sensitivity_table
from leaderboard.papers import usmb, usmb_ensembles
from leaderboard.papers.published_tables import usmb_tables
from leaderboard.papers.usmb_ensembles import learn_published
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.scores import Scored

MEMBERS = [usmb.COSINES[0], *usmb.ENSEMBLE_MEMBERS.values()]


@pytest.fixture(scope="module", autouse=True)
def few_splits():
    """Fewer splits than a reproduction: what is compared here holds for any number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usmb_ensembles, "LINEAR_SPLITS", 3)
        patch.setattr(usmb_ensembles, "FOREST_SPLITS", 1)
        yield


@pytest.fixture(scope="module")
def single(scored) -> list[dict[tuple[str, str], float]]:
    """The figures with each embedding model alone."""
    return [learn_published(scored, usmb.ENSEMBLE_MEMBERS, [cosine]) for cosine in usmb.COSINES]


@pytest.fixture(scope="module")
def scored(smoke, tmp_path_factory) -> dict[str, Scored]:
    path = tmp_path_factory.mktemp("usmb") / "store.sqlite"
    run_suite(select_entries([*MEMBERS, usmb.COSINES[1]], SUBMISSIONS), smoke, path, only=usmb.TASKS, jobs=2, progress=NoProgress())
    return {entry.name: entry.in_track("text") for entry in score_suite(path, smoke)}


@pytest.fixture(scope="module")
def figures(scored) -> dict[tuple[str, str], float]:
    return learn_published(scored, usmb.ENSEMBLE_MEMBERS, usmb.COSINES)


def test_every_published_figure_of_an_ensemble_is_computed(figures):
    published = {(figure.table, figure.measure) for figure in usmb_tables() if figure.metric == "ensemble"}
    assert len([key for key in published if not key[0].startswith("weights")]) == 18
    assert published == set(figures)
    assert all(np.isfinite(value) for value in figures.values())


def test_composite_figures_are_the_means_of_their_parts(figures):
    shares = [figures["robustness", name] for name in ("summary_over_semantic", "superficial_over_semantic", "superficial_over_summary")]
    assert figures["robustness", "overall"] == figures["usmb", "robustness"] == pytest.approx(np.mean(shares))
    assert figures["usmb", "alignment"] == pytest.approx((figures["axis", "overall"] + figures["comparisons", "accuracy"]) / 2)
    assert figures["usmb", "overall"] == pytest.approx(np.mean([figures["usmb", task] for task in usmb.TASKS]))
    for table in ("axis", "comparisons", "robustness", "sensitivity"):
        assert sum(value for (name, _), value in figures.items() if name == f"weights_{table}") == pytest.approx(1)


def test_there_is_one_ensemble_per_embedding_model(single, figures):
    assert single[0]["usmb", "sensitivity"] != single[1]["usmb", "sensitivity"]
    for key in (("usmb", "sensitivity"), ("robustness", "overall"), ("weights_axis", "cosine")):
        assert figures[key] == pytest.approx((single[0][key] + single[1][key]) / 2)


def test_scores_are_those_of_the_held_out_groups(scored, single):
    entries = [scored[name] for name in MEMBERS]
    metrics = tuple(MEMBERS)
    table = robustness_table(metrics, observed(entries, "robustness"))
    expected = learn(table, usmb_ensembles.LINEAR_SPLITS).score
    assert single[0]["usmb", "robustness"] == pytest.approx(expected)
    table = comparisons(metrics, observed(entries, "alignment"))
    split = split_groups(table, 0)
    judged = judge_split(table, split, 0)
    rows = np.flatnonzero(split.judged)
    guessed, chosen = judged.predictions[rows] > 0, table.target[rows] > 0
    if (judged.predictions[rows] != 0).all():
        assert table.published["precision"](judged.predictions, split.judged) == pytest.approx((guessed & chosen).sum() / guessed.sum())
        assert table.published["recall"](judged.predictions, split.judged) == pytest.approx((guessed & chosen).sum() / chosen.sum())
    assert table.published["accuracy"](judged.predictions, split.judged) == pytest.approx(judged.score)


def test_sensitivity_is_learned_and_scored_on_the_conditions_of_the_paper(scored):
    """Insertions of five sizes and removals of four at three positions: 27, without our replacements."""
    entries = [scored[name] for name in MEMBERS]
    seen = observed(entries, "sensitivity")
    documents = sum(len(answers[0].places) for _, answers in seen)
    table = sensitivity_table(tuple(MEMBERS), seen, published=True)
    assert len(table.target) == 27 * documents < len(sensitivity_table(tuple(MEMBERS), seen).target)
    assert not any(condition.startswith("replacement") for condition in table.condition)
    everything = np.ones(len(table.target))
    assert table.score(table.target, everything) == pytest.approx(1)
    assert table.score(np.full(len(table.target), 0.875), everything) == pytest.approx(1 - 1.275 / 9)      # as a constant scores


def test_incomplete_members_give_no_figures(scored):
    assert learn_published({name: entry for name, entry in scored.items() if name != "rouge"}, usmb.ENSEMBLE_MEMBERS, usmb.COSINES) == {}
