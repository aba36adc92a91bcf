"""Figures of Kour et al. and of USMB: they show the stored results, and their files need no network."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.figures.corpus import fit_line
from leaderboard.figures.kinds import FigureKind
from leaderboard.figures.registry import FIGURES, draw_figure
from leaderboard.figures.style import GREY, colour_of, half_width, write_figure
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.scores import Scored
from tasks.corpus.known_similarity import KnownSimilarity
from tasks.suite_files import load_suite


@pytest.fixture(scope="module")
def scored(smoke, tmp_path_factory) -> list[Scored]:
    path = tmp_path_factory.mktemp("figures") / "store.sqlite"
    run_suite(select_entries(["energy", "zipf", "constant"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["known_similarity", "convergence"])
    entries = {entry.name: entry for entry in score_suite(Store(path, read_only=True), smoke)}
    return [entries["energy"], entries["zipf"], entries["constant"]]


def select_traces(figure, name: str, mode: str):
    return [trace for trace in figure.data if trace.name == name and trace.mode == mode]


def test_separation_shows_every_pair_of_corpora_their_means_and_the_least_squares_line(scored):
    figure = draw_figure("separation", scored[:2])
    points, = select_traces(figure, "energy", "markers")
    assert list(points.x) == [1, 2, 3, 4]
    observed = list(scored[0].tasks["known_similarity"].observed.values())
    z = [KnownSimilarity().answers(observation) for observation in observed]
    assert points.y[-1] == pytest.approx(np.mean([values[3] for values in z]))      # of five corpora, the pair (1, 5) is the fourth
    every, = select_traces(figure, "energy, all pairs", "markers")
    assert every.y.tolist() == np.concatenate(z).tolist()
    assert np.round(every.x + 0.125).tolist() == [1, 2, 3, 4, 1, 2, 3, 1, 2, 1] * len(z)
    line, = select_traces(figure, "energy", "lines")
    assert np.diff(line.y) == pytest.approx(np.diff(line.y)[0])
    assert line.y[-1] > line.y[0]


def test_a_single_metric_is_drawn_on_its_own_scale(scored):
    every, = select_traces(draw_figure("separation", scored[:1]), "energy, all pairs", "markers")
    first = next(iter(scored[0].tasks["known_similarity"].observed.values()))
    assert every.y[:10] == pytest.approx((np.array(first.forward) + np.array(first.backward)) / 2)


@pytest.fixture(scope="module")
def by_level(tmp_path_factory) -> list[Scored]:
    """Two metrics on two pairs of sources, one of which has two k."""
    folder = tmp_path_factory.mktemp("levels")
    (folder / "levels.toml").write_text("""
title = "Two pairs and two k"
seed = 3
model = "minilm"
[tasks.known_similarity]
pairs = [["made_weather", "made_trains"], ["made_weather", "made_kitchen"]]
levels = [{ k = 3, n = 8 }, { k = 4, n = 8 }]
repetitions = 5
[tasks.convergence]
pairs = [["made_weather", "made_trains"]]
sizes = [4, 8]
total = 16
reference = 16
repetitions = 5
""")
    suite = load_suite(str(folder / "levels.toml"))
    run_suite(select_entries(["chi", "jaccard"], SUBMISSIONS), suite, folder / "store.sqlite", progress=NoProgress(), jobs=2)
    entries = {entry.name: entry for entry in score_suite(Store(folder / "store.sqlite", read_only=True), suite)}
    return [entries["chi"], entries["jaccard"]]


def values_by_stratum(entry: Scored, task: str, measure: str) -> dict[tuple[str, ...], list[float]]:
    score, values = entry.tasks[task], {}
    for unit in entry.suite.units(score.task):
        values.setdefault(unit.stratum, []).append(score.task.measure(unit, score.observed[unit.id]).values[measure])
    return values


def test_boxes_have_one_panel_per_pair_and_k_with_the_measures_of_all_repetitions(by_level):
    figure = draw_figure("boxes", by_level)
    titles = [annotation.text for annotation in figure.layout.annotations]
    accuracy = values_by_stratum(by_level[1], "known_similarity", "accuracy")
    assert titles == [" · ".join(stratum) for stratum in accuracy]
    assert len(titles) == 4
    boxes = [trace for trace in figure.data if trace.name == "jaccard"]
    for box, values in zip(boxes, accuracy.values(), strict=True):
        assert [y for x, y in zip(box.x, box.y, strict=True) if x == "accuracy"] == values
        assert box.boxmean
    assert len({box.yaxis for box in boxes}) == 4


def test_radar_has_one_panel_per_pair_and_k_with_means_and_published_robustness(by_level):
    figure = draw_figure("radar", by_level)
    monotonicity = values_by_stratum(by_level[0], "known_similarity", "monotonicity")
    size = by_level[0].tasks["convergence"].measures["size_robustness"].value        # of the only pair
    lines = [trace for trace in figure.data if trace.name == "chi"]
    for line, (stratum, values) in zip(lines, monotonicity.items(), strict=True):
        drawn = dict(zip(line.theta, line.r, strict=True))
        assert drawn["monotonicity"] == pytest.approx(max(0.0, np.mean(values)))
        assert drawn.get("S (size)") == (pytest.approx(size) if stratum[0] == "made_weather, made_trains" else None)
    assert sum("S (size)" in line.theta for line in lines) == 2


@pytest.mark.parametrize("kind", ["separation", "radar", "boxes"])
def test_figures_can_be_limited_to_a_pair_and_a_k(kind, by_level):
    def panels(pair: str | None, k: int | None) -> list[str]:
        return [annotation.text for annotation in draw_figure(kind, by_level, pair, k).layout.annotations]

    assert panels("made_weather, made_trains", 4) == ["made_weather, made_trains · k=4 n=8"]
    assert len(panels(None, 3)) == len(panels("made_weather, made_kitchen", None)) == 2
    with pytest.raises(TouchstoneError, match="this combination of --pair and --k; it contains --pair 'made_weather, made_trains' with k=3 n=8"):
        draw_figure(kind, by_level, "a, b", None)


def test_other_figures_have_no_pair(by_level):
    with pytest.raises(TouchstoneError, match="The figure convergence does not accept --pair and --k; separation, radar, boxes do"):
        draw_figure("convergence", by_level, None, 3)


def test_all_colours_are_different():
    assert len({colour_of(number) for number in range(60)}) == 60
    assert GREY not in {colour_of(number) for number in range(60)}


def test_a_line_and_its_interval_by_hand():
    # y = x + (.1, -.1, -.1, .1): the slope 1 and the mean are exact; the residual sd is sqrt(.04/2), t(.975, 2) = 4.303;
    # the half width at the mean is 4.303 * .1414 / 2
    x = np.array([0.0, 1, 2, 3])
    line, low, high = fit_line(x, x + np.array([0.1, -0.1, -0.1, 0.1]), np.array([1.5]))
    assert line == pytest.approx([1.5])
    assert (high - low) / 2 == pytest.approx([4.3027 * np.sqrt(0.02) / 2], rel=1e-4)


def test_an_interval_of_one_repetition_has_no_width():
    assert half_width(np.ones((1, 3))).tolist() == [0, 0, 0]


def test_convergence_is_relative_to_the_reference_distance(scored):
    figure = draw_figure("convergence", scored[:1])
    curve = select_traces(figure, "energy", "lines+markers")[0]
    observed = list(scored[0].tasks["convergence"].observed.values())
    star = np.mean([observation.far for observation in observed])
    assert list(curve.y) == pytest.approx((np.mean([observation.equal for observation in observed], axis=0) / star).tolist(), rel=1e-4)


@pytest.mark.parametrize("kind", ["separation", "radar", "boxes", "convergence"])
def test_every_figure_can_be_drawn_for_a_constant_too(kind, scored):
    assert len(draw_figure(kind, scored).data) >= 3


def test_files_need_no_network_and_the_png_is_one(scored, tmp_path):
    html, png = write_figure(draw_figure("radar", scored[:2]), tmp_path / "new folder", "radar")
    assert png.read_bytes().startswith(b"\x89PNG")
    content = html.read_text()
    assert "<script src=" not in content
    assert "plotly" in content


def test_without_a_browser_only_the_html_is_written(scored, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(TouchstoneError, match=r"radar\.html has been written, but the PNG has not.*Install Chromium"):
        write_figure(draw_figure("radar", scored[:1]), tmp_path, "radar")
    assert (tmp_path / "radar.html").exists()


def test_a_figure_without_results_is_refused(scored, smoke, tmp_path):
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["energy"], SUBMISSIONS), smoke, path, progress=NoProgress(), only=["convergence"])
    with pytest.raises(TouchstoneError, match=r"`touchstone run energy --suite smoke --only known_similarity`"):
        draw_figure("separation", score_suite(Store(path, read_only=True), smoke))
    with pytest.raises(TouchstoneError, match='The store has no results of "energy" on diagnostics'):
        draw_figure("faults", score_suite(Store(path, read_only=True), smoke))


def test_every_kind_has_a_function():
    assert set(FIGURES) == set(FigureKind)


def test_metrics_without_curves_are_refused(scored, monkeypatch):
    monkeypatch.setattr("leaderboard.figures.observations.collect_curves", lambda entry: [])
    with pytest.raises(TouchstoneError, match="None of these metrics has a curve of convergence"):
        draw_figure("convergence", scored[2:])
