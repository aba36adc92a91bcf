"""The board without a browser: pages, files, the API, releases, and the static copy."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fastapi.testclient import TestClient

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.evaluation.task import FaultDetection
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from leaderboard.board import rendering
from leaderboard.board.app import application
from leaderboard.board.components.insights import overlaps
from leaderboard.board.components.layout import PAGES, Links
from leaderboard.board.interface.pages import cite_metric
from leaderboard.board.rendering import ENVIRONMENT, embed_json
from leaderboard.board.router import Library, render_page, render_snapshot
from leaderboard.board.services import api
from leaderboard.board.services.downloads import FORMS, Ordering, escape_formula, make_table, write_table
from leaderboard.board.snapshot import Snapshot, of_release, of_store
from leaderboard.board.static_site import write_site
from leaderboard.papers.published_comparison import correlation_note
from leaderboard.publishing.citations import CITATIONS
from leaderboard.publishing.release import ENSEMBLES, REPLICATES, REPORT, SCORES, SUMMARY, SUMS, UNITS, read_release, release
from leaderboard.publishing.versions import versions
from leaderboard.report.schema import DatasetInfo
from leaderboard.scoring.comparison import compare_metrics
from tasks.suite_files import load_suite
from tests.support.serving import HOSTILE, SUITE
from tests.support.submissions import HEADER

TEMPLATES = Path(rendering.__file__).with_name("templates")
FAULTS = """
title = "Faults of made texts"
seed = 7
model = "minilm"
[tasks.diagnostics]
source = "made_weather"
elsewhere = "made_trains"
n = 40
repetitions = 2
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Suite:
    path = tmp_path_factory.mktemp("suite") / "ten.toml"
    path.write_text(SUITE)
    return load_suite(str(path))


@pytest.fixture(scope="module")
def store(suite, tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("board")
    text = HEADER.format(name="hostile", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    text = text.replace('title = "A metric of the tests"', f'title = "=HYPERLINK(1){HOSTILE[:40]}"').replace('summary = "', f'summary = "{HOSTILE} ')
    (folder / "hostile.py").write_text(text + f"# </script>{HOSTILE}\ndef distance(p, q): return float(len(p) + len(q[0]) % 7)\n")
    entries = [*select_entries(["energy", "zipf", "jaccard", "random"], SUBMISSIONS), *load_submission(folder / "hostile.py").entries]
    run_suite(entries, suite, folder / "store.sqlite", progress=NoProgress(), jobs=2)
    return Store(folder / "store.sqlite", read_only=True)


@pytest.fixture(scope="module")
def snapshot(suite, store) -> Snapshot:
    return of_store(suite, store)


@pytest.fixture(scope="module")
def folder(suite, store, tmp_path_factory):
    """Return a folder with one release."""
    made = tmp_path_factory.mktemp("releases")
    release("2031.1", suite, store, made)
    return made


@pytest.fixture
def client(snapshot, folder) -> TestClient:
    return TestClient(application(Library(snapshot, folder=folder)), follow_redirects=False)


def every_page(snapshot: Snapshot) -> list[str]:
    pages = [("board", {}), ("board", {"track": "corpus"}), *(("metric", {"name": entry.name}) for entry in snapshot.report.entries),
             ("metric", {"name": HOSTILE}), *((name, {}) for name in PAGES), ("compare", {"metrics": f"energy,hostile,{HOSTILE}"}),
             ("board", {"track": HOSTILE}), ("board", {"release": HOSTILE}), ("metric", {"name": "energy", "against": "hostile"})]
    return [render_page(Library(snapshot), name, query).content for name, query in pages]


def test_no_page_contains_unescaped_text_of_a_submission(snapshot):
    pages = every_page(snapshot)
    assert sum("onerror=" in page for page in pages) >= 5           # it is there, as text
    for page in pages:
        assert "<img" not in page
        assert "<b>of made" not in page                             # the suite's title too
        scripts = re.findall(r"<script[^>]*>", page)
        assert set(scripts) <= {'<script type="application/json" id="ts-data">'}


def test_no_value_closes_the_script_element():
    embedded = embed_json({"title": "</script><script>x()</script>\u2028&"})
    assert "<" not in embedded
    assert json.loads(embedded)["title"] == "</script><script>x()</script>\u2028&"


def test_api_returns_the_report_and_304_if_unchanged(client, snapshot):
    response = client.get("/api/board")
    assert response.status_code == 200
    assert response.json() == json.loads(snapshot.content)
    assert client.get("/api/board", headers={"If-None-Match": response.headers["etag"]}).status_code == 304
    card = client.get("/api/card/energy").json()
    assert card["tracks"][0]["tasks"]["known_similarity"]["score"] == snapshot.entry("energy").tasks["known_similarity"].score.to_dict()
    pair, = client.get("/api/compare?metrics=energy,zipf").json()["pairs"]
    assert pair["p_of_overall"] == snapshot.p("corpus", "energy", "zipf")
    assert set(client.get("/openapi.json").json()["paths"]) >= {"/api/board", "/api/card/{name}", "/api/compare", "/api/cite"}
    named = client.get("/gradio_api/info").json()
    assert {"/board", "/card", "/compare"} <= set(named["named_endpoints"])
    assert named["unnamed_endpoints"] == {}


def test_responses_are_described(client):
    """Every JSON response has a schema with fields, and errors have the same one everywhere."""
    openapi = client.get("/openapi.json").json()
    schemas = openapi["components"]["schemas"]
    for path, name in (("/api/board", "Report"), ("/api/card/{name}", "MetricCard"), ("/api/compare", "Comparison")):
        responses = openapi["paths"][path]["get"]["responses"]
        expected = {"$ref": f"#/components/schemas/{name}"}
        schema = responses["200"]["content"]["application/json"]["schema"]
        assert expected in schema["anyOf"] if path == "/api/board" else schema == expected
        assert responses["404"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert schemas[name]["properties"]
    assert {"schema_version", "suite", "entries"} <= set(schemas["Report"]["properties"])
    assert client.get("/api/compare").json()["error"] == "metrics: Field required."


def test_no_template_turns_escaping_off():
    assert ENVIRONMENT.autoescape is True
    for path in TEMPLATES.glob("*.html"):
        assert not re.search(r"\|\s*safe\b|autoescape", path.read_text()), path


@pytest.mark.parametrize(("path", "status", "message"), [
    ("/metric?name=nope", 404, None), ("/?release=1999.1", 404, None), ("/?track=nope", 404, None), ("/nope", 404, None),
    ("/metric?name=energy", 200, None), ("/?page=map", 308, None),  # Gradio reserves `page`
    ("/api/card/nope", 404, "no metric"), ("/api/board?release=1999.1", 404, "no release"), ("/api/board.exe", 404, "csv"),
    ("/api/compare?metrics=energy", 422, "2 to"), ("/api/compare?metrics=energy,nope", 404, "nope"),
    ("/api/board.csv?weights=known_similarity:0", 422, "Weights"), ("/api/board.csv?weights=known_similarity:-1", 422, "Weights"),
    ("/api/board.csv?weights=known_similarity:nan", 422, "Weights"), ("/api/board.csv?weights=nonsense", 422, "task:weight"),
    ("/api/board.csv?weights=nope:1", 422, "no ranked task"), ("/api/board.csv?names=nope", 422, "no ranked metric"),
    ("/api/board.csv?columns=nope", 422, "no column"), ("/api/board.csv?track=nope", 404, "no track"),
    ("/api/cite?metric=energy&task=known_similarity", 422, "not released"), ("/api/releases/1999.1/release.json", 404, "no release"),
    ("/api/releases/2031.1/..%2f..%2fetc", 404, None), ("/api/releases/2031.1/secret", 404, "no file"), ("/api/releases/2031.1/ensembles.csv", 404, "no such file"),
    ("/api/releases/2031.1/release.json", 200, None),
    ("/api/cite?metric=energy&task=known_similarity&release=2031.1&format=markdown", 200, None),
    ("/api/cite?metric=energy&task=known_similarity&release=2031.1&format=x", 422, "no format"),
    ("/api/cite?metric=nope&release=2031.1", 404, "no metric"), ("/api/cite?metric=energy&track=nope&release=2031.1", 404, "there are corpus"),
    ("/api/compare?metrics=energy,zipf&track=nope", 404, "no track"), ("/api/board?track=nope", 404, "there are corpus"),
    ("/api/board?fields=nam", 422, 'Did you mean "name"?'), ("/api/board?limit=0", 422, "limit"), ("/api/board?offset=-1", 422, "offset"),
    ("/api/nope", 404, "/docs"), ("/api/board/", 404, "/docs"), ("/api/", 404, "/docs")])
def test_errors_of_addresses(path, status, message, client):
    response = client.get(path)
    assert response.status_code == status
    if message is not None:
        assert message in response.json()["error"]


def test_metric_page_lists_earlier_versions(suite, tmp_path):
    """Two files of one name, the first of them released: the page of the second links to the first."""
    path, database = tmp_path / "changing.py", tmp_path / "store.sqlite"
    text = HEADER.format(name="changing", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    first = run_once(path, text + "def distance(p, q): return float(abs(len(p[0]) - len(q[0])))\n", suite, database)
    made = release("2031.1", suite, Store(database, read_only=True), tmp_path / "releases")
    second = run_once(path, text + "def distance(p, q): return float(abs(len(p[0]) - len(q[0]))) + 1\n", suite, database)
    history = versions(Store(database, read_only=True), tmp_path / "releases")["changing"]
    assert [version.digest for version in history] == [first, second]
    assert [[publication.release for publication in version.released] for version in history] == [["2031.1"], []]
    page = render_snapshot(replace(of_store(suite, Store(database, read_only=True)), versions={"changing": history}), Links(), "metric", {"name": "changing"}).content
    assert "metric?name=changing&amp;release=2031.1" in page
    assert page.index(second[:12]) < page.index(first[:12])
    (made.folder / "scores.csv").write_text("changed")
    assert [version.released for version in versions(Store(database, read_only=True), tmp_path / "releases")["changing"]] == [(), ()]


def run_once(path, source: str, suite: Suite, store) -> str:
    """Run the submission and return its digest."""
    path.write_text(source)
    entry, = load_submission(path).entries
    run_suite([entry], suite, store, progress=NoProgress(), jobs=1)
    return entry.digest


@pytest.mark.parametrize(("named", "expected"), [
    ("BoolQ", ["boolq_questions"]), ("Twitter", []), ("tweets, 2014", ["tweets"]), ("Wikipedia 2014", []), ("of the", []),
    ("XSum: BBC articles and their first sentences", ["xsum"])])
def test_declared_training_data_are_matched_by_name(named, expected):
    datasets = [DatasetInfo(name=name, fingerprint="") for name in ("boolq_questions", "tweets", "xsum", "unheard_of")]
    assert overlaps(named, datasets) == expected


def test_smallest_detectable_fault(tmp_path):
    """By hand: a metric that counts repeated texts detects copies from 10% on, and never texts of another domain."""
    suite_file, path, database = tmp_path / "faults.toml", tmp_path / "repeated.py", tmp_path / "store.sqlite"
    suite_file.write_text(FAULTS)
    text = HEADER.format(name="repeated", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    run_once(path, text + "def distance(p, q): return float(len(q) - len(set(q)))\n", load_suite(str(suite_file)), database)
    snapshot = of_store(load_suite(str(suite_file)), Store(database, read_only=True))
    detections = snapshot.entry("repeated").faults_noticed
    assert detections["mode_collapse"] == FaultDetection(1.0, 0.1)
    assert detections["contamination"] == FaultDetection(0.0, None)
    page = render_snapshot(snapshot, Links(), "metric", {"name": "repeated"}).content
    assert "unknown: its answers are constant" in page
    assert page.count('<span class="no">never</span>') == sum(detection.onset is None for detection in detections.values())


def test_published_numbers_are_compared_with_ours(snapshot):
    """Kour et al. 2022, table 3: MAUVE's A is .976 at k=7 and .888 at k=12; energy is not in it."""
    page = render_snapshot(snapshot, Links(), "tasks", {}).content
    row = dict(re.findall(r'<tr><th scope="row">(?:<a [^>]*>)?(mauve|energy)(?:</a>)?</th>(.*?)</tr>', page))
    assert row["mauve"].startswith("<td>0.976</td><td>0.888</td>")
    assert row["energy"].count("<td>\N{EN DASH}</td>") == 2
    ours = snapshot.entry("energy").tasks["known_similarity"].measures["accuracy_tree"].value
    assert f"{ours:.3f}" in row["energy"]
    assert "compare the order" in page                              # the paper uses other datasets
    assert 'href="notes/kour2022.md"' in page


def test_rank_correlation_with_published_numbers():
    """By hand: the last two of four pairs are swapped, 1 - 6 * 2/(4 * 15) = .8."""
    assert ".8" in correlation_note([(1, 1), (2, 2), (3, 4), (4, 3)])
    assert correlation_note([(1, 1), (2, 2), (3, 3)]) == ""
    assert correlation_note([(1, 1), (2, 1), (3, 1), (4, 1)]) == ""


def test_only_notes_are_served_from_the_folder_of_papers(client):
    assert client.get("/notes/usmb.md").text.startswith("# USMB")
    for file in ("kour2022.py", "..%2f..%2fREADME.md", "suite.py"):
        assert client.get(f"/notes/{file}").status_code == 404


def test_modified_release_is_refused(client, folder):
    scores = folder / "2031.1" / "scores.csv"
    kept = scores.read_bytes()
    scores.write_bytes(kept + b"\n")
    try:
        assert client.get("/api/board?release=2031.1").status_code == 404
        page = client.get("/?release=2031.1")
        assert page.status_code == 404
        assert "was modified" in page.text
    finally:
        scores.write_bytes(kept)
    assert client.get("/api/board?release=2031.1").json()["release"] == "2031.1"


def test_release_equals_its_store(snapshot, folder):
    released = of_release(read_release("2031.1", folder))
    assert [entry.name for entry in released.entries("corpus")] == [entry.name for entry in snapshot.entries("corpus")]
    assert "energy" in released.sources
    assert "hostile" not in released.sources                              # its file is not among the submissions
    names = ["energy", "zipf", "jaccard"]
    assert compare_metrics(released.samples, names, ["known_similarity"]) == compare_metrics(snapshot.samples, names, ["known_similarity"])
    assert "touchstone-2031.1-energy-overall-corpus" in cite_metric(Library(released), {"name": "energy"})


@pytest.mark.parametrize("form", ["csv", "parquet", "md", "tex"])
def test_downloads_contain_the_selected_rows_and_columns(form, client, snapshot):
    response = client.get(f"/api/board.{form}?names=zipf,energy&columns=known_similarity,known_similarity.accuracy")
    assert response.status_code == 200
    table = make_table(snapshot, "corpus", ["zipf", "energy"], ["known_similarity", "known_similarity.accuracy"])
    if form == "parquet":
        assert pd.read_parquet(io.BytesIO(response.content)).equals(table)
    else:
        assert response.content == write_table(table, form)
        assert response.text.index("zipf") < response.text.index("energy")


def test_no_cell_is_a_spreadsheet_formula(snapshot):
    text = write_table(make_table(snapshot, "corpus"), "csv").decode()
    assert "'=HYPERLINK" in text
    assert not re.search(r'(^|,)"?=', text)
    assert [escape_formula(cell) for cell in ("=1+1", "@x", "-2.5", "-x", "+1", "\tx")] == ["'=1+1", "'@x", "-2.5", "'-x", "+1", "'\tx"]


def test_custom_weights_of_one_task_keep_the_order(snapshot):
    plain, own = make_table(snapshot, "corpus"), make_table(snapshot, "corpus", ordering=Ordering({"known_similarity": 2.0}))
    assert own["above_chance_by_weights"].tolist() == pytest.approx(plain["above_chance"].tolist())     # one task: the same order
    assert own["rank"].tolist() == plain["rank"].tolist()


def test_links_of_the_static_copy_exist(snapshot, tmp_path):
    count = write_site(snapshot, tmp_path / "site")
    files = {path.name for path in (tmp_path / "site").iterdir()}
    assert len(files) == count
    for path in (tmp_path / "site").glob("*.html"):
        text = path.read_text()
        for target in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert target in files or target.startswith("https://") or target.replace("%5B", "[").replace("%5D", "]") in files, (path, target)
    with pytest.raises(TouchstoneError, match="cannot be written"):
        write_site(snapshot, tmp_path / "site" / "board.js")


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/board"), ("DELETE", "/api/card/energy"), ("PUT", "/api/releases/2031.1/scores.csv")])
def test_wrong_methods_are_refused_with_the_methods_that_exist(method, path, client):
    response = client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, "GET")
    assert response.json() == {"error": "The method of this address is GET."}


def test_failures_of_the_server_have_the_shape_of_errors(snapshot, monkeypatch):
    monkeypatch.setattr(api, "compare_in_track", lambda *arguments: 1 / 0)
    response = TestClient(application(Library(snapshot)), raise_server_exceptions=False).get("/api/compare?metrics=energy,zipf")
    assert (response.status_code, list(response.json())) == (500, ["error"])


def test_pages_of_entries(client, snapshot):
    entries = json.loads(snapshot.content)["entries"]
    page = client.get("/api/board?fields=overall,name&limit=2&offset=1").json()
    assert page == {"suite": "ten", "release": None, "total": len(entries), "offset": 1,
                    "entries": [{"overall": entry["overall"], "name": entry["name"]} for entry in entries[1:3]]}
    assert client.get("/api/board?limit=1").json()["entries"] == entries[:1]
    assert client.get("/api/board?track=corpus").json()["entries"] == entries
    assert client.get("/api/board?offset=99").json()["entries"] == []
    response = client.get("/api/board?fields=name")
    assert client.get("/api/board?fields=name", headers={"If-None-Match": response.headers["etag"]}).status_code == 304


def test_the_whole_report_is_compressed_once(client, snapshot):
    response = client.get("/api/board", headers={"Accept-Encoding": "gzip"})
    assert response.headers["etag"] == f'"{snapshot.tag}"'
    assert int(response.headers["content-length"]) == len(snapshot.zipped)


def test_choices_are_those_of_the_writers():
    assert list(api.TableFormat) == list(FORMS)
    assert list(api.CitationFormat) == list(CITATIONS)
    assert list(api.ReleaseFile) == [REPORT, SCORES, SUMMARY, SUMS, UNITS, REPLICATES, ENSEMBLES]


def test_every_operation_has_an_id_a_tag_and_errors(client):
    openapi = client.get("/openapi.json").json()
    operations = [operation for item in openapi["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 8
    for operation in operations:
        assert operation["operationId"].isidentifier()
        assert operation["tags"]
        assert operation["summary"]
        assert {"200", "304", "404", "422"} <= set(operation["responses"])
        assert "content" in operation["responses"]["200"]
        assert all("description" in parameter for parameter in operation.get("parameters", []))
    formats = openapi["components"]["schemas"]["CitationFormat"]
    assert formats["enum"] == list(CITATIONS)
