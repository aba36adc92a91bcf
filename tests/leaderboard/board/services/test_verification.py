"""The API of epochs and the badges of verification."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from harness.submission.submission import parse_file
from leaderboard.board.router import Library
from leaderboard.board.services.api import add_api
from leaderboard.board.services.verification import add_verification, verify_metric
from leaderboard.scoring.scores import CLAIMED
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.epochs.disclosure import PrivateScore
from leaderboard.service.epochs.ledger import PrivateResult
from leaderboard.service.epochs.scoring import open_epoch
from leaderboard.service.epochs.views import Level
from leaderboard.service.settings import DAY, Settings
from leaderboard.service.states import RunDetails, State
from tests.support.service import age, make_file
from tests.support.serving import HOSTILE, report_values, with_values

SECRET = b"s" * 32
RECIPE = 'name = "2031Q1"\nsuite = "smoke"\nexpires = 2031-06-30\nleave_out = ["fine_tuning", "diagnostics"]\n'
SCORE = PrivateScore("clustering", "Clustering", 0.5, 0.4, 0.6, 0.1)


@pytest.fixture
def library(board_snapshot, tmp_path) -> Library:
    service = Service(ServiceDatabase(tmp_path / "store.sqlite"), Settings(), Auth.NONE)
    epoch = open_epoch(service.epochs, RECIPE, SECRET)
    values = report_values(board_snapshot)
    values["suite"]["fingerprint"] = epoch.public_fingerprint
    return Library(with_values(board_snapshot, values), folder=tmp_path, service=service)


def make_client(library: Library) -> TestClient:
    site = FastAPI()
    add_verification(site, library)
    add_api(site, library)
    return TestClient(site)


def save(library: Library, digest: str, name: str, submission: str | None = None) -> None:
    library.service.epochs.save(PrivateResult("2031Q1", digest, name, submission, None, 1, 0.0, (SCORE,), {}, ()))


def test_an_open_epoch_shows_its_commitment_alone(library):
    client, stored = make_client(library), library.service.epochs.get("2031Q1")
    (epoch,) = client.get("/api/epochs").json()
    assert epoch == client.get("/api/epochs/2031Q1").json()
    assert epoch["commitment"] == stored.commitment
    assert (epoch["secret"], epoch["recipe"], epoch["sources"], epoch["fingerprint"], epoch["items"]) == (None, "", "", "", {})
    assert stored.fingerprint not in client.get("/api/epochs/2031Q1").text
    library.service.epochs.close("2031Q1", SECRET)
    closed = client.get("/api/epochs/2031Q1").json()
    assert (closed["secret"], closed["recipe"], closed["fingerprint"]) == (SECRET.hex(), RECIPE, stored.fingerprint)
    missing = client.get("/api/epochs/2031Q2")
    assert (missing.status_code, missing.json()) == (404, {"error": 'There is no epoch "2031Q2". Did you mean "2031Q1"? The epochs are 2031Q1.'})


def test_a_server_without_submissions_has_no_epochs(board_snapshot):
    client = make_client(Library(board_snapshot))
    assert client.get("/api/epochs").status_code == 404
    assert client.get("/api/epochs/2031Q1").status_code == 404
    name = board_snapshot.report.entries[0].name
    assert client.get(f"/badge/{name}/verification.json").json()["message"] == "reproduced"


def test_badges_of_the_release(library):
    client, entry = make_client(library), library.first.report.entries[0]
    assert client.get(f"/badge/{entry.name}/verification.json").json()["level"] == "reproduced"
    save(library, entry.digest, entry.name)
    values = client.get(f"/badge/{entry.name}/verification.json").json()
    assert (values["message"], values["level"], values["epoch"], values["expires"]) == ("verified 2031Q1", "verified", "2031Q1", "2031-06-30")
    image = client.get(f"/badge/{entry.name}/verification.svg")
    assert image.headers["content-type"] == "image/svg+xml"
    assert "verified 2031Q1" in "".join(ET.fromstring(image.text).itertext())
    assert client.get(f"/badge/{entry.name}/verification.svg", headers={"If-None-Match": image.headers["etag"]}).status_code == 304
    values = report_values(library.first)
    for other in values["entries"]:
        other["marks"] = [CLAIMED]
    assert verify_metric(Library(with_values(library.first, values), service=library.service), entry.name).level is Level.CLAIMED


def test_a_badge_of_a_submission_needs_its_publication(library, tmp_path):
    client, submissions = make_client(library), library.service.submissions
    source = make_file("mine")
    (tmp_path / "mine.py").write_bytes(source)
    record, _ = submissions.receive("ada", "address", "mine.py", source, True)
    submissions.finish(submissions.claim("runner"), State.CHECKED, "It is valid.")
    submissions.finish(submissions.claim("runner"), State.SCORED, "It has results.", RunDetails(seconds=1.0))
    save(library, parse_file(tmp_path / "mine.py").entries[0].digest, "mine", record.id)
    assert client.get("/badge/mine/verification.json").status_code == 404
    age(submissions.database, 8 * DAY)
    submissions.tidy()
    assert client.get("/badge/mine/verification.json").json()["message"] == "verified 2031Q1"


@pytest.mark.parametrize("name", ["nothing", HOSTILE, "../x", "\0"])
def test_unknown_metrics(library, name):
    response = make_client(library).get("/badge/" + name.replace("/", "%2F").replace("\0", "%00") + "/verification.svg")
    assert response.status_code == 404
    assert HOSTILE not in response.text
