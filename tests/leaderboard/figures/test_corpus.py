"""The figures: what they show is what was answered, and the files need no network."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.figures import corpus as figures
from leaderboard.figures.corpus import draw, half_width, regression, write
from leaderboard.scoring.scores import Scored, score_suite


@pytest.fixture(scope="module")
def scored(smoke, tmp_path_factory) -> list[Scored]:
    path = tmp_path_factory.mktemp("figures") / "store.sqlite"
    run_suite(select_entries(["energy", "zipf", "constant"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["known_similarity", "convergence"])
    found = {one.name: one for one in score_suite(Store(path, read_only=True), smoke)}
    return [found["energy"], found["zipf"], found["constant"]]


def named(figure, name: str, mode: str):
    return [trace for trace in figure.data if trace.name == name and trace.mode == mode]


def test_separation_shows_standardised_means_and_the_least_squares_line(scored):
    figure = draw("separation", scored[:2])
    points, = named(figure, "energy", "markers")
    assert list(points.x) == [1, 2, 3, 4]
    observed = list(scored[0].tasks["known_similarity"].observed.values())
    z = [(d - d.mean()) / d.std() for d in (figures.distances(one) for one in observed)]
    assert points.y[-1] == pytest.approx(np.mean([one[3] for one in z]))        # of five corpora, the pair (1, 5) is the fourth
    line, = named(figure, "energy", "lines")
    assert np.diff(line.y) == pytest.approx(np.diff(line.y)[0])
    assert line.y[-1] > line.y[0]


def test_a_line_and_its_interval_are_those_of_the_textbook():
    # y = x + (.1, -.1, -.1, .1): the slope 1 and the mean are exact; the residual sd is sqrt(.04/2), t(.975, 2) = 4.303;
    # the half width at the mean is 4.303 * .1414 / 2
    x = np.array([0.0, 1, 2, 3])
    line, low, high = regression(x, x + np.array([0.1, -0.1, -0.1, 0.1]), np.array([1.5]))
    assert line == pytest.approx([1.5])
    assert (high - low) / 2 == pytest.approx([4.3027 * np.sqrt(0.02) / 2], rel=1e-4)


def test_an_interval_of_one_repetition_has_no_width():
    assert half_width(np.ones((1, 3))).tolist() == [0, 0, 0]


def test_convergence_is_relative_to_the_reference_distance(scored):
    figure = draw("convergence", scored[:1])
    curve = named(figure, "energy", "lines+markers")[0]
    observed = list(scored[0].tasks["convergence"].observed.values())
    star = np.mean([one.far for one in observed])
    assert list(curve.y) == pytest.approx((np.mean([one.equal for one in observed], axis=0) / star).tolist())


@pytest.mark.parametrize("kind", ["separation", "radar", "boxes", "convergence"])
def test_every_figure_can_be_drawn_of_any_metric_a_constant_too(kind, scored):
    assert len(draw(kind, scored).data) >= 3


def test_files_need_no_network_and_the_png_is_one(scored, tmp_path):
    html, png = write(draw("radar", scored[:2]), tmp_path / "new folder", "radar")
    assert png.read_bytes().startswith(b"\x89PNG")
    content = html.read_text()
    assert "<script src=" not in content
    assert "plotly" in content


def test_without_a_browser_the_html_is_there_and_it_is_said(scored, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(TouchstoneError, match=r"radar\.html is written; the PNG is not.*Install Chromium"):
        write(draw("radar", scored[:1]), tmp_path, "radar")
    assert (tmp_path / "radar.html").exists()


def test_what_was_not_asked_cannot_be_drawn(scored, smoke, tmp_path):
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["energy"], SUBMISSIONS), smoke, path, progress=NoProgress(), only=["convergence"])
    with pytest.raises(TouchstoneError, match=r"`touchstone run energy --suite smoke --only known_similarity`"):
        draw("separation", score_suite(Store(path, read_only=True), smoke))
