"""Figures of distributionality, perturbation, fine-tuning and faults: they show the stored results."""

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
from leaderboard.figures import distributional
from leaderboard.figures.distributional import component_curves, draw_components, error_bar
from leaderboard.figures.precision_recall import components, euclidean
from leaderboard.figures.registry import draw_figure
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.scores import Scored
from tasks.corpus.distributionality import Distributionality


@pytest.fixture(scope="module")
def scored(smoke, tmp_path_factory) -> list[Scored]:
    path = tmp_path_factory.mktemp("figures") / "store.sqlite"
    run_suite(select_entries(["energy", "medoid", "constant"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["distributionality", "local_perturbation", "fine_tuning", "diagnostics"])
    entries = {entry.name: entry for entry in score_suite(Store(path, read_only=True), smoke)}
    return [entries["energy"], entries["medoid"], entries["constant"]]


@pytest.mark.parametrize("kind", ["distributionality", "densities", "fine_tuning", "faults", "deviations"])
def test_every_figure_can_be_drawn_for_a_constant_too(kind, scored):
    assert len(draw_figure(kind, scored).data) >= 1


def test_distances_are_drawn_with_the_prototypes(scored):
    figure = draw_figure("distributionality", scored[:1])
    lines = {trace.name: list(trace.y) for trace in figure.data if trace.mode == "lines+markers"}
    assert lines["energy"] == pytest.approx(lines["ENERGY"], abs=1e-3)
    assert lines["energy"] != pytest.approx(lines["AHD"], abs=1e-3)
    assert len(lines["energy"]) == 4


def test_densities_of_the_energy_distance_are_those_of_its_prototype(scored):
    traces = draw_figure("densities", scored[:1]).data
    densities = {name: np.array([trace.y for trace in traces if trace.name == name]) for name in ("energy", "ENERGY", "AHD")}
    assert densities["energy"] == pytest.approx(densities["ENERGY"], rel=1e-2, abs=1e-2)
    assert densities["energy"] != pytest.approx(densities["AHD"], rel=1e-2, abs=1e-2)


def test_deviations_are_the_measures(scored):
    figure = draw_figure("deviations", scored)
    dots = {trace.name: (trace.x[0], trace.y[0]) for trace in figure.data if trace.name}
    assert set(dots) == {"energy", "medoid"}                # unknown for a constant
    measures = scored[1].tasks["distributionality"].measures
    assert dots["medoid"] == (measures["deviation_ahd"].value, measures["deviation_energy"].value)
    with pytest.raises(TouchstoneError, match="The store has no deviations"):
        draw_figure("deviations", scored[2:])


def test_error_bars_reach_to_the_interval():
    assert error_bar(Estimate(0.5, 0.4, 0.9, 10)) == {"type": "data", "symmetric": False, "array": [0.4], "arrayminus": [pytest.approx(0.1)]}
    assert error_bar(Estimate(0.5, None, None, 3)) == {}


def test_a_metric_that_cannot_be_drawn_is_named_with_the_reason(scored):
    figure = draw_figure("fine_tuning", scored)
    names = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert "energy" in names
    assert any(name.startswith("constant: not drawn for made_") and "not above the self-distance" in name for name in names)
    drawn = next(trace for trace in figure.data if trace.name == "energy" and trace.mode == "lines+markers")
    observations = list(scored[0].tasks["fine_tuning"].observed.values())[:2]
    assert drawn.y[0] == pytest.approx(1)
    floor = np.mean([observation.fault_free for observation in observations])
    mean = np.mean([observation.distances for observation in observations], axis=0)
    if len(observations) == len(scored[0].tasks["fine_tuning"].observed):
        assert list(drawn.y) == pytest.approx((mean - floor) / (mean[0] - floor))


def test_curves_of_perturbation_show_the_observations(scored):
    figure = draw_figure("perturbation", scored[:2])
    first = next(trace for trace in figure.data if trace.name == "medoid" and trace.mode == "lines+markers")
    observations = scored[1].tasks["local_perturbation"].observed.values()
    mean = np.mean([observation.by_delta for observation in observations], axis=0)
    assert list(first.y) == pytest.approx(mean / np.abs(mean).max())
    with pytest.raises(TouchstoneError, match='no results of "constant" on local_perturbation'):
        draw_figure("perturbation", scored[2:])


def test_sensitivities_are_the_measures(scored):
    heat = draw_figure("faults", scored).data[0]
    assert heat.z[0][0] == pytest.approx(scored[0].tasks["diagnostics"].measures["mode_collapse"].value)
    assert set(heat.z[2]) == {None}


def test_components_are_means_over_the_pairs_at_a_separation(smoke, inputs, monkeypatch):
    monkeypatch.setattr(distributional, "NEIGHBOURS", (1, 3))
    task = Distributionality()
    units, cache = smoke.units(task), VectorCache(smoke.model.name, cache_folder())
    curves = component_curves(units, task, cache)
    assert {k: rows.shape for k, rows in curves.items()} == {1: (2, 4, 4), 3: (2, 4, 4)}
    sample = task.draw_sample(units[0])
    distances = euclidean(cache.vectors(sample.texts))
    last = [components(distances, sample.corpora[start], sample.corpora[start + 4], 3) for start in (0, 5)]
    assert curves[3][0, 3] == pytest.approx(np.mean(np.minimum(last, 1), axis=0))
    assert max(rows.max() for rows in curves.values()) <= 1
    pairs = [components(distances, sample.corpora[i], sample.corpora[j], 1) for i, j in sample.pairs(4)]
    assert max(pair.density for pair in pairs) > 1              # otherwise nothing would be clipped
    assert len(draw_components(curves).data) == 2 * 2 * 4
