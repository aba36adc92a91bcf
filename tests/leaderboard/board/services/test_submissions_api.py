"""The API of the submission service: status codes, sentences, tokens, server-sent events."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from leaderboard.board.services.api import add_error_handlers
from leaderboard.board.services.submissions_api import add_submissions_api
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import TOKENS, ServiceDatabase
from leaderboard.service.logs import JsonLines
from leaderboard.service.settings import Settings
from leaderboard.service.states import RunDetails, State
from tests.support.service import age, make_file

PYTHON = {"Content-Type": "text/x-python"}


def make_client(path, auth: Auth = Auth.NONE, **limits) -> tuple[TestClient, Service]:
    service, site = Service(ServiceDatabase(path / "store.sqlite"), Settings(**limits), auth), FastAPI()
    add_error_handlers(site)
    add_submissions_api(site, service)
    return TestClient(site, raise_server_exceptions=False), service


@pytest.fixture
def client(tmp_path) -> TestClient:
    return make_client(tmp_path)[0]


def post(client: TestClient, source: bytes = make_file("mine"), token: str | None = None, **parameters):
    headers = PYTHON if token is None else {**PYTHON, "Authorization": f"Bearer {token}"}
    return client.post("/api/submissions", params={"filename": "mine.py", **parameters}, content=source, headers=headers)


def test_upload_and_the_same_file_again(client):
    first = post(client)
    assert first.status_code == 201
    assert first.json()["state"] == "screened"
    assert first.headers["location"] == f"/api/submissions/{first.json()['id']}"
    second = post(client)
    assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])
    assert [event["state"] for event in client.get(first.headers["location"]).json()["events"]] == ["received", "screened"]


@pytest.mark.parametrize(("source", "filename", "status", "sentence"), [
    (b"", "mine.py", 201, "The file is empty"), (b"x" * 256_001, "mine.py", 413, "at most 256,000 bytes"), (b"PK\0\0", "mine.py", 201, "not text"),
    (b"\xff", "mine.py", 201, "UTF-8"), (b"x", "mine.zip", 201, ".py")])
def test_wrong_files(client, source, filename, status, sentence):
    response = post(client, source, filename=filename)
    assert response.status_code == status
    assert sentence in response.json().get("error", response.json().get("reason"))


def test_a_form_of_another_site_cannot_upload(client):
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        response = client.post("/api/submissions?filename=mine.py", content=make_file("mine"), headers={"Content-Type": kind})
        assert response.status_code == 415
    assert client.get("/api/submissions").json()["waiting"] == []


def test_unknown_submissions(client):
    for method, address in (("GET", ""), ("GET", "/events"), ("POST", "/queue"), ("POST", "/withdraw")):
        response = client.request(method, f"/api/submissions/unknown{address}")
        assert response.status_code == 404
        assert response.json() == {"error": "There is no such submission; check the address."}


def test_the_public_queue_shows_no_identifiers(client):
    identifier = post(client).json()["id"]
    assert identifier not in client.get("/api/submissions").text
    assert client.get("/api/submissions").json()["waiting"][0]["name"] == "mine"


def test_limits_say_when_they_end(tmp_path):
    client, service = make_client(tmp_path, uploads_per_day=1)
    post(client)
    refused = post(client, make_file("other"))
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) == pytest.approx(86_400, abs=60)
    assert "Try again in 24 hours" in refused.json()["error"]
    age(service.submissions.database, 86_500)
    assert post(client, make_file("other")).status_code == 201


def test_tokens(tmp_path):
    client, service = make_client(tmp_path, Auth.TOKEN)
    assert post(client).status_code == 401
    assert post(client, token="ts_wrong").json()["error"].startswith("The token is not valid")
    ada, bob = service.tokens.create("ada"), service.tokens.create("bob")
    address = f"/api/submissions/{post(client, token=ada).json()['id']}"
    own, other = ({"Authorization": f"Bearer {token}"} for token in (ada, bob))
    assert client.post(f"{address}/queue", headers=other).status_code == 404          # as if it did not exist
    assert client.post(f"{address}/withdraw").status_code == 401
    assert client.post(f"{address}/queue", headers=own).status_code == 200
    with service.submissions.database.transaction() as connection:
        stored = connection.execute(sa.select(TOKENS.c.hash)).scalars().all()
        connection.execute(sa.update(TOKENS).where(TOKENS.c.owner == "bob").values(expires=1.0))
    assert not {ada, bob} & set(stored)
    assert client.post(f"{address}/queue", headers=other).json()["error"].startswith("The token has expired")
    service.tokens.revoke(next(info.id for info in service.tokens.list() if info.owner == "ada"))
    assert client.post(f"{address}/queue", headers=own).json()["error"].startswith("The token was revoked")


def test_results_are_the_owners_until_they_are_published(tmp_path):
    client, service = make_client(tmp_path, Auth.TOKEN)
    token, submissions = service.tokens.create("ada"), service.submissions
    identifier = post(client, token=token, queue=True).json()["id"]
    submissions.finish(submissions.claim("runner"), State.CHECKED, "valid")
    submissions.finish(submissions.claim("runner"), State.SCORED, "scored", RunDetails(seconds=1.0))
    address = f"/api/submissions/{identifier}"
    assert client.get(address).json()["results"] is None
    assert client.get(address, headers={"Authorization": f"Bearer {token}"}).json()["results"]["seconds"] == 1.0
    age(submissions.database, 8 * 86_400)
    submissions.tidy()
    assert client.get(address).json()["results"]["seconds"] == 1.0


def test_events_are_sent_until_the_end(tmp_path):
    client, service = make_client(tmp_path)
    submissions = service.submissions
    identifier = post(client).json()["id"]
    lines = []
    with client.stream("GET", f"/api/submissions/{identifier}/events") as response, ThreadPoolExecutor(1) as pool:
        assert response.headers["content-type"].startswith("text/event-stream")
        pool.submit(lambda: submissions.finish(submissions.claim("runner"), State.REFUSED, "It raises <b>.")).result()
        lines = list(response.iter_lines())
    sent = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert sent[-1]["state"] == "refused"
    assert sent[-1]["reason"] == "It raises <b>."


def test_operations(client):
    post(client)
    assert client.get("/health").text == "alive\n"
    assert client.get("/ready").text == "ready\n"
    client.get("/api/submissions/unknown")
    families = {family.name: {(sample.name, *sample.labels.values()): sample.value for sample in family.samples}
                for family in text_string_to_metric_families(client.get("/metrics").text)}
    assert families["touchstone_submissions"]["touchstone_submissions", "screened"] == 1
    assert families["touchstone_state_seconds"]["touchstone_state_seconds_count", "received"] == 1
    assert families["touchstone_state_seconds"]["touchstone_state_seconds_sum", "received"] < 60
    assert families["touchstone_refused_requests"]["touchstone_refused_requests_total", "404"] == 1


def test_changes_and_refusals_are_logged_as_json_lines(client, caplog):
    caplog.set_level(logging.INFO)
    post(client)
    client.get("/api/submissions/unknown")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "touchstone.service"]
    assert [line.get("state") for line in lines] == ["received", "screened", None]
    assert lines[-1]["status"] == 404
    assert lines[0]["submission"] == lines[1]["submission"]
    assert all(line["message"] and line["time"] and line["level"] == "INFO" for line in lines)


def test_a_database_that_is_away(tmp_path):
    client, _ = make_client(tmp_path)
    post(client)
    (tmp_path / "store.sqlite").rename(tmp_path / "away")
    (tmp_path / "store.sqlite").mkdir()
    for response in (post(client, make_file("other")), client.get("/ready")):
        assert response.status_code == 503
        assert "Try again in a minute" in response.json()["error"]
    (tmp_path / "store.sqlite").rmdir()
    (tmp_path / "away").rename(tmp_path / "store.sqlite")
    assert post(client, make_file("other")).status_code == 201


def test_200_concurrent_uploads_are_neither_lost_nor_doubled(tmp_path):
    """Each of 100 files is uploaded twice at the same time; the limit refuses the rest with a sentence."""
    client, service = make_client(tmp_path, uploads_per_day=80, checks_per_hour=1000)
    files = [make_file(f"metric-{number}") for number in range(100)]
    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(lambda number: post(client, files[number % 100], filename=f"metric-{number % 100}.py"), range(200)))
    accepted = [response.json()["id"] for response in responses if response.status_code in (200, 201)]
    refused = [response for response in responses if response.status_code == 429]
    assert len(set(accepted)) == 80 == sum(response.status_code == 201 for response in responses)
    assert len(accepted) + len(refused) == 200
    assert all("The limit of 80 uploads" in response.json()["error"] for response in refused)
    assert service.submissions.counts()[State.SCREENED] == 80


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory) -> TestClient:
    return make_client(tmp_path_factory.mktemp("fuzz"), uploads_per_day=10**6, checks_per_hour=10**6, queue_length=10**6)[0]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filename=st.text(max_size=250), source=st.binary(max_size=300) | st.text(max_size=300).map(str.encode), mutated=st.integers(0, 400),
       kind=st.sampled_from(["text/x-python", "application/octet-stream", "text/plain", "multipart/form-data", ""]))
def test_no_upload_makes_the_server_fail(fuzzed, filename, source, mutated, kind):
    """Arbitrary bytes, and a valid file with some of them inserted: a state or a sentence, never status 5xx."""
    valid = make_file("mine")
    for content in (source, valid[:mutated] + source + valid[mutated:]):
        response = fuzzed.post("/api/submissions", params={"filename": filename}, content=content, headers={"Content-Type": kind})
        assert response.status_code in (200, 201, 413, 415, 422)
        assert response.json().get("error") or response.json()["events"]


@settings(max_examples=200, deadline=None)
@given(identifier=st.text(min_size=1, max_size=120))
def test_no_identifier_makes_the_server_fail(fuzzed, identifier):
    for method, action in (("GET", ""), ("POST", "/queue"), ("POST", "/withdraw"), ("GET", "/events")):
        response = fuzzed.request(method, f"/api/submissions/{quote(identifier, safe='')}{action}", follow_redirects=False)
        assert response.status_code < 500
