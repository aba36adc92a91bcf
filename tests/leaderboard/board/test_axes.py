"""A track with several axes on the board: columns, links, the ranking by another axis, and the figure of two axes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import AdmissionRule, Axis, AxisPart
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.board.components.charts import draw_scatter, draw_two_axes
from leaderboard.board.components.layout import Links
from leaderboard.board.router import render_snapshot
from leaderboard.board.snapshot import Snapshot, of_store
from leaderboard.figures.registry import draw_figure
from leaderboard.scoring.results import score_suite

AXES = (Axis("meaning", "Meaning", "text", (AxisPart("human_ordering", 0.125), AxisPart("retrieval", 0.149))),
        Axis("edits", "Edits", "text", (AxisPart("sensitivity", measure="edits"),), "0 is the best constant similarity."))
NAMES = ["jaccard", "levenshtein", "rouge1", "length_difference"]


@pytest.fixture(scope="module")
def suite(smoke):
    return replace(smoke, declared_axes=AXES, admission=AdmissionRule({"text": ("length_difference",)}))


@pytest.fixture(scope="module")
def store(smoke, tmp_path_factory) -> Store:
    path = tmp_path_factory.mktemp("axes") / "store.sqlite"
    run_suite(select_entries(NAMES, SUBMISSIONS), smoke, path, jobs=2, progress=NoProgress(),
              only=["human_ordering", "retrieval", "sensitivity", "robustness"])
    return Store(path, read_only=True)


@pytest.fixture(scope="module")
def snapshot(suite, store) -> Snapshot:
    return of_store(suite, store)


def page(snapshot, view="board", /, **query) -> str:
    rendered = render_snapshot(snapshot, Links(), view, query)
    assert rendered.status == 200
    return rendered.content


def metrics_in_order(html: str) -> list[str]:
    """Return the ranked metrics of the table; the rows of trivial baselines have a class."""
    return [name for name, style in re.findall(r'<tr data-name="([^"]+)"(?: class="([^"]*)")?>', html) if "baseline" not in style]


def test_the_default_order_is_that_of_the_first_axis(snapshot):
    ranked = snapshot.ranked_entries("text")
    html = page(snapshot, track="text")
    assert metrics_in_order(html) == [entry.name for entry in ranked]
    assert [entry.overall.value for entry in ranked] == sorted((entry.overall.value for entry in ranked), reverse=True)
    assert "Meaning: 0 is chance, 1 is one standard deviation of a frozen panel of metrics." in html
    constants = {snapshot.task(part.task).title: part.scale for part in AXES[0].parts}
    assert f"constant of the suite ({', '.join(f'{title} {scale}' for title, scale in constants.items())})" in html
    heads = re.findall(r'data-sort="\d+" title="[^"]*">([^<]+?) ?<', html)
    assert "Edits" in heads
    assert "Robustness" not in heads                                # not on the axis


def test_another_axis_orders_the_table(snapshot):
    html = page(snapshot, track="text", axis="edits")
    values = {entry.name: entry.axes["edits"].value.value for entry in snapshot.ranked_entries("text")}
    assert metrics_in_order(html) == sorted(values, key=lambda name: (-values[name], name))
    assert "0 is the best constant similarity." in html
    assert "constant of the suite" not in html
    assert 'order=axis.edits">Text metrics: Edits</a>' in html       # among the leaders
    assert page(snapshot, track="text", order="axis.edits") == html
    missing = render_snapshot(snapshot, Links(), "board", {"track": "text", "axis": "<i>"})
    assert missing.status == 404
    assert "<i>" not in missing.content


def test_tasks_show_their_use_and_quality(snapshot):
    html = page(snapshot, "tasks")
    sections = {name: html[html.index(f'id="task-{name}"'):] for name in ("human_ordering", "sensitivity", "robustness")}
    sections = {name: text[:text.index("</section>")] for name, text in sections.items()}
    assert "not ranked; part of Edits" in sections["sensitivity"]
    assert "property, not part of any score" in sections["robustness"]
    assert "Effective weight" in sections["human_ordering"]
    verdict = snapshot.report.quality["text"].verdict("human_ordering")
    assert ("Admitted to the ranking" in sections["human_ordering"]) == verdict.admitted
    for reason in snapshot.report.quality["text"].verdict("robustness").reasons:
        assert reason in sections["robustness"].replace("&#39;", "'")


def test_a_metric_page_has_all_axes(snapshot):
    html = page(snapshot, "metric", name="jaccard")
    entry = snapshot.entry("jaccard", "text")
    assert f"{entry.axes['edits'].value.value:.2f}" in html
    assert "ranks on single tasks" in html


def test_the_map_shows_two_axes(snapshot):
    assert "Edits against Meaning" in page(snapshot, "map")


def test_the_figure_has_the_values_and_intervals_of_both_axes(suite, store, smoke):
    scored = [entry for entry in score_suite(store, suite) if entry.name in NAMES[:3]]
    figure = draw_figure("axes", scored)
    for trace, entry in zip(figure.data, scored, strict=True):
        x, y = (entry.in_track("text", axis.name).overall_estimate for axis in AXES)
        assert (trace.name, trace.x[0], trace.y[0]) == (entry.name, x.value, y.value)
        assert trace.error_x.array[0] == pytest.approx(x.high - x.value)
        assert trace.error_y.arrayminus[0] == pytest.approx(y.value - y.low)
    with pytest.raises(TouchstoneError, match="fewer than two axes"):
        draw_figure("axes", score_suite(store, smoke)[:1])


def test_values_far_below_the_others_are_drawn_at_the_edge():
    """Of an outlier at -4 the point is at the height of -1, and its text says -4."""
    points = [("a", 1.0, 0.5), ("b", 2.0, -1.0), ("c", 3.0, -4.0)]
    picture = draw_two_axes(points, "x", "y", lambda name: f"metric?name={name}")
    heights = re.findall(r'cy="([\d.]+)"', picture)
    assert heights[1] == heights[2] != heights[0]
    assert "c: x 3.00, y -4.00" in picture
    assert 'href="metric?name=c"' in picture


@pytest.mark.parametrize("seed", range(5))
def test_no_name_overlaps_a_point_or_another_name(seed):
    """Names are cut where space is short: of 60 points at random some have one."""
    values = np.random.default_rng(seed).random((60, 2))
    points = [(f"metric_{number}", x, y) for number, (x, y) in enumerate(values.tolist())]
    scattered = draw_scatter([(name, 10 ** (3 * x), y) for name, x, y in points], "ms", "Score", str, [name for name, *_ in points[:20]])
    for chart in (draw_two_axes(points, "Meaning", "Edits", str), scattered):
        dots = [(float(x), float(y)) for x, y in re.findall(r'<circle[^>]* cx="([\d.]+)" cy="([\d.]+)"', chart)]
        names = [(float(x), float(y), anchor, name) for x, y, anchor, name in
                 re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)" class="name">([^<]+)<', chart)]
        boxes = [(x - 6 * len(name) if anchor == "end" else x, x if anchor == "end" else x + 6 * len(name), y) for x, y, anchor, name in names]
        assert 3 <= len(names) < 60
        assert len(dots) == 60
        assert not [1 for left, right, y in boxes for x, top in dots if left < x < right and y - 10 < top < y]
        assert not [1 for first, (a, b, y) in enumerate(boxes) for c, d, other in boxes[:first] if a < d and c < b and abs(y - other) < 10]
