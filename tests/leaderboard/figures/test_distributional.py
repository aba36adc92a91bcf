"""Figures of distributionality, perturbation, fine-tuning and faults: what they show is what was answered."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.models.vector_cache import VectorCache
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.figures import distributional as figures_corpora
from leaderboard.figures.distributional import CORPUS_FIGURES, component_curves, components_figure
from leaderboard.figures.precision_recall import components, euclidean
from leaderboard.scoring.scores import Scored, score_suite
from tasks.corpus.distributionality import Distributionality


@pytest.fixture(scope="module")
def scored(smoke, tmp_path_factory) -> list[Scored]:
    path = tmp_path_factory.mktemp("figures") / "store.sqlite"
    run_suite(select_entries(["energy", "medoid", "constant"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["distributionality", "local_perturbation", "fine_tuning", "diagnostics"])
    found = {one.name: one for one in score_suite(Store(path, read_only=True), smoke)}
    return [found["energy"], found["medoid"], found["constant"]]


@pytest.mark.parametrize("kind", ["distributionality", "densities", "fine_tuning", "faults", "deviations"])
def test_every_figure_can_be_drawn_of_any_metric_a_constant_too(kind, scored):
    assert len(CORPUS_FIGURES[kind](scored).data) >= 1


def test_distances_lie_beside_the_prototypes(scored):
    figure = CORPUS_FIGURES["distributionality"](scored[:1])
    lines = {trace.name: list(trace.y) for trace in figure.data if trace.mode == "lines+markers"}
    assert lines["energy"] == pytest.approx(lines["ENERGY"], abs=1e-3)
    assert lines["energy"] != pytest.approx(lines["AHD"], abs=1e-3)
    assert len(lines["energy"]) == 4


def test_deviations_are_the_measures(scored):
    figure = CORPUS_FIGURES["deviations"](scored)
    dots = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.name}
    assert set(dots) == {"energy", "medoid"}                # nothing is known of a constant
    measures = scored[1].tasks["distributionality"].measures
    assert dots["medoid"] == (measures["deviation_ahd"].value, measures["deviation_energy"].value)
    with pytest.raises(TouchstoneError, match="None of these metrics has deviations"):
        CORPUS_FIGURES["deviations"](scored[2:])


def test_curves_of_perturbation_are_what_was_answered(scored):
    figure = CORPUS_FIGURES["perturbation"](scored[:2])
    first = next(trace for trace in figure.data if trace.name == "medoid" and trace.mode == "lines+markers")
    seen = scored[1].tasks["local_perturbation"].observed.values()
    mean = np.mean([one.by_delta for one in seen], axis=0)
    assert list(first.y) == pytest.approx(mean / np.abs(mean).max())
    with pytest.raises(TouchstoneError, match=r"constant.*has answered no units of local_perturbation"):
        CORPUS_FIGURES["perturbation"](scored[2:])


def test_sensitivities_are_the_measures(scored):
    heat = CORPUS_FIGURES["faults"](scored).data[0]
    assert heat.z[0][0] == pytest.approx(scored[0].tasks["diagnostics"].measures["mode_collapse"].value)
    assert set(heat.z[2]) == {None}


def test_components_are_means_over_the_pairs_at_a_separation(smoke, inputs, monkeypatch):
    monkeypatch.setattr(figures_corpora, "NEIGHBOURS", (1, 3))
    task = Distributionality()
    units, cache = smoke.units(task), VectorCache(smoke.model.name, cache_folder())
    curves = component_curves(units, task, cache)
    assert {k: rows.shape for k, rows in curves.items()} == {1: (2, 4, 4), 3: (2, 4, 4)}
    lottery = task.drawn(units[0])
    distances = euclidean(cache.vectors(lottery.texts))
    last = [components(distances, lottery.corpora[start], lottery.corpora[start + 4], 3) for start in (0, 5)]
    assert curves[3][0, 3] == pytest.approx(np.mean(last, axis=0))
    assert len(components_figure(curves).data) == 2 * 2 * 4
