"""Single cards of the board, computed by hand; an unfinished run; caching of the API."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from scipy.cluster.hierarchy import linkage

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.board.app import application
from leaderboard.board.components.layout import Links
from leaderboard.board.pages import try_it as try_page
from leaderboard.board.pages.map import order_joins
from leaderboard.board.router import Library, render_snapshot
from leaderboard.board.snapshot import Snapshot, of_store
from leaderboard.report.rated_pairs import KEPT
from leaderboard.report.schema import TaskRank
from leaderboard.workflows.try_texts import TriedMetric
from tasks.registry import TASKS
from tasks.suite_files import load_suite
from tasks.text.retrieval import ORIGINAL
from tests.support.serving import report_values, with_values

RETRIEVAL = """
title = "Questions"
seed = 7
model = "minilm"
[tasks.retrieval]
datasets = ["made_questions"]
documents = 40
queries = 12
needles = "made_reports"
"""
RATED = """
title = "Pairs that people rated"
seed = 7
model = "minilm"
[tasks.human_ordering]
datasets = ["made_likeness"]
pairs = 60
batch = 30
"""


@pytest.fixture(scope="module")
def client(board_snapshot) -> TestClient:
    return TestClient(application(Library(board_snapshot, {"other": lambda: replace(board_snapshot)})))


@pytest.mark.parametrize("path", ["/api/board", "/api/card/energy", "/api/compare?metrics=energy,zipf", "/api/board.csv", "/api/board.parquet",
                                  "/api/releases", "/api/suites"])
def test_unchanged_content_is_not_sent_again(path, client):
    response = client.get(path)
    assert response.status_code == 200
    again = client.get(path, headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"another"'}).content == response.content


def test_report_is_compressed_once(client, board_snapshot):
    assert gzip.decompress(board_snapshot.zipped) == board_snapshot.content
    zipped = client.get("/api/board", headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert int(zipped.headers["content-length"]) == len(board_snapshot.zipped)
    assert "content-encoding" not in client.get("/api/board", headers={"Accept-Encoding": "identity"}).headers


@pytest.mark.parametrize(("path", "status"), [
    ("/api/board?suite=other", 200), ("/api/card/energy?suite=other", 200), ("/api/board.csv?suite=other", 200), ("/api/board?suite=nope", 404),
    ("/api/card/energy?suite=nope", 404), ("/api/compare?metrics=energy,zipf&suite=nope", 404), ("/api/board.csv?order=borda", 200),
    ("/api/board.csv?order=task.known_similarity", 200), ("/api/board.csv?order=nope", 422)])
def test_suite_and_order_parameters(path, status, client):
    assert client.get(path).status_code == status


def test_list_of_suites(client):
    assert client.get("/api/suites").json() == ["ten", "other"]


def test_rank_on_the_only_task_is_the_overall_rank(board_snapshot):
    for entry in board_snapshot.entries("corpus"):
        if entry.rank is not None:
            assert entry.task_ranks["known_similarity"] == TaskRank(rank=entry.rank, rank_interval=entry.rank_interval)
    low, high = board_snapshot.entry("energy").rank_interval
    page = render_snapshot(board_snapshot, Links(), "metric", {"name": "energy"}).content
    row = re.search(r'<th scope="row">Known similarity</th>(.*?)</tr>', page)[1]
    assert f"<b>{board_snapshot.entry('energy').rank}</b>" in row
    assert (f"{low}\N{EN DASH}{high}" in row) == (low != high)


def test_metric_page_shows_signature_authors_and_failures(board_snapshot):
    energy, hostile = (render_snapshot(board_snapshot, Links(), "metric", {"name": name}).content for name in ("energy", "hostile"))
    of_task = board_snapshot.entry("energy").tasks["known_similarity"].signature
    of_all = re.sub(r"\|ks\.m\d+\|", "|all|", of_task)
    assert of_all != of_task
    assert of_all in energy[:energy.index("<details")]
    assert of_task in energy
    assert "Székely and Rizzo 2013</a>" in energy
    assert "0 of 10 test units failed." in energy
    units = board_snapshot.entry("hostile").tasks["known_similarity"].units
    assert units.failed > 0
    assert f"{units.failed} of {units.asked} test units failed." in hostile
    assert f">{units.failed} of {units.asked}</td>" in hostile[hostile.index('id="failures"'):]


def test_tree_joins_groups_at_their_correlation():
    """By hand: a and c at .9, b with both at the mean of .2 and .4."""
    joins = linkage(np.array([0.8, 0.1, 0.6]), "average")           # ab, ac, bc
    ordered = order_joins(joins, [0, 2, 1])
    assert [sorted(groups) for *groups, _ in ordered] == [[0, 1], [2, 3]]
    assert [at for *_, at in ordered] == pytest.approx([0.9, 0.3])


@pytest.fixture(scope="module")
def rated(tmp_path_factory) -> Snapshot:
    return run_once(tmp_path_factory.mktemp("rated"), RATED, ["jaccard", "levenshtein", "rouge1"])[1]


def run_once(folder, text: str, names: list[str]) -> tuple[object, Snapshot]:
    (folder / "suite.toml").write_text(text)
    suite = load_suite(str(folder / "suite.toml"))
    run_suite(select_entries(names, SUBMISSIONS), suite, folder / "store.sqlite", progress=NoProgress(), jobs=1)
    return suite, of_store(suite, Store(folder / "store.sqlite", read_only=True))


def test_value_among_human_rated_pairs(rated):
    """A value above all of a class is more similar than 100% of it, and the summary names the class."""
    entry, = (candidate for candidate in select_entries(["jaccard"], SUBMISSIONS) if candidate.variant is None)
    classes = rated.entry("jaccard", "text").known_values.classes
    assert set(classes) == {"random", "related", "paraphrase"}
    assert all(len(values.percentiles) == len(KEPT) for values in classes.values())
    alike, unlike = (try_page.render_texts(rated, Links(), [TriedMetric(entry, (value,))]) for value in (1.0, 0.0))
    assert "paraphrase</td>" in alike
    assert "Only surface metrics" in alike                          # jaccard alone gives no verdict
    assert "According to" not in alike
    assert ">100%</td>" in alike
    assert "random</td>" in unlike
    verdict = try_page.summarise_classes([("paraphrase", True), ("paraphrase", False), ("random", False)])
    assert verdict == "According to 2 of 3 metrics, the texts are typical of a paraphrase pair; a random pair: 1."
    assert "made_likeness" in alike
    other = replace(entry, parameters={"another": 1})               # another version, without values
    assert other.digest != entry.digest
    assert ">unknown</td>" in try_page.render_texts(rated, Links(), [TriedMetric(other, (1.0,))])
    assert "the texts are typical" not in try_page.render_texts(rated, Links(), [TriedMetric(other, (1.0,))])


def test_displayable_texts_are_shown_where_two_metrics_differ(rated):
    """The synthetic pairs are displayable; people and both metrics place them."""
    page = render_snapshot(rated, Links(), "compare", {"metrics": "jaccard,levenshtein"}).content
    assert sum(texts[0] in page for texts in rated.report.shown_pairs["text"].texts) >= 1
    assert "Closer to the human rating" in page
    hidden = replace(rated, report=rated.report.model_copy(update={"shown_pairs": {}}))
    assert "No texts are shown" in render_snapshot(hidden, Links(), "compare", {"metrics": "jaccard,levenshtein"}).content


def test_unfinished_run(tmp_path):
    """Only the unchanged documents of retrieval have results."""
    suite, whole = run_once(tmp_path, RETRIEVAL, ["jaccard"])
    assert whole.entry("jaccard").rank == 1
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        first = next(question.unit for question in suite.task_units if question.unit.parameters["condition"] == ORIGINAL)
        connection.execute("delete from outcomes where unit_id != ?", (first.id,))
    half = of_store(suite, Store(tmp_path / "store.sqlite", read_only=True))
    assert half.entry("jaccard").rank is None
    assert f"1 of {len(suite.task_units)} test units of retrieval run so far" in half.entry("jaccard").not_ranked
    json.dumps(report_values(half), allow_nan=False)
    for name, query in (("board", {}), ("metric", {"name": "jaccard"}), ("map", {}), ("choose", {}), ("tasks", {})):
        page = render_snapshot(half, Links(), name, query)
        assert page.status == 200
        assert not re.search(r"\bnan\b", page.content)
    assert "run so far" in render_snapshot(half, Links(), "board", {}).content


def test_short_list_compares_with_the_best_and_names_a_cheaper_metric(board_snapshot):
    """By hand: the second may be as good as the first in a sixth of the time; the third is worse, however cheap."""
    facts = report_values(board_snapshot)
    entries = [entry for entry in facts["entries"] if entry["rank"] is not None][:3]
    first, second, third = (entry["name"] for entry in entries)
    facts["p"] = {"corpus": {"entries": [first, second, third], "values": [[1, 0.3, 0.01], [0.3, 1, 0.2], [0.01, 0.2, 1]]}}
    for entry, cost in zip(entries, (3.0, 0.5, 0.1), strict=True):
        entry["tasks"]["timing"] = {**entry["tasks"]["known_similarity"], "score": None, "measures": {
            name: {"value": value, "low": None, "high": None, "units": 2} for name, value in (("cost_in_chi", cost), ("peak_megabytes", 61.4))}}
    facts["suite"]["tasks"].append({**facts["suite"]["tasks"][0], "name": "timing", "ranked": False, "presentation": TASKS["timing"].info.presentation})
    page = render_snapshot(with_values(board_snapshot, facts), Links(), "choose", {}).content
    rows = {name: page[page.index(f">{name}</a><br>"):].partition("</tr>")[0] for name in (first, second, third)}
    assert ["best of these" in rows[first], "no significant difference" in rows[second], "significantly worse" in rows[third]] == [True] * 3
    sentence = page[page.index("Cheaper alternative"):].partition("</p>")[0]
    assert f">{second}</a> is not significantly worse than {first} and is 6 times as fast" in sentence
    assert "; 61 MB" in rows[first]
    unknown = render_snapshot(with_values(board_snapshot, {**facts, "p": {}}), Links(), "choose", {}).content
    assert "not tested" in unknown
    assert "Cheaper alternative" not in unknown


def test_short_list_for_one_task_uses_the_paired_difference(board_snapshot):
    page = render_snapshot(board_snapshot, Links(), "choose", {"task": "known_similarity"}).content
    assert "for this pair and this task alone" in page
    assert "best of these" in page
    assert "significantly worse" in page                              # of ten draws energy is better than both others in nearly all


def test_unknown_metric_suggests_the_closest_name(board_snapshot):
    page = render_snapshot(board_snapshot, Links(), "metric", {"name": "enrgy"})
    assert page.status == 404
    assert "Did you mean &#34;energy&#34;?" in page.content
