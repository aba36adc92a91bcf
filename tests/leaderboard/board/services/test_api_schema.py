"""Requests of all kinds to every documented address, made from the OpenAPI document by schemathesis."""

from __future__ import annotations

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from leaderboard.board.app import make_site
from leaderboard.board.router import Library
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.states import State
from tests.support.service import make_file

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 25                               # of each address
LENIENT = Settings(uploads_per_day=100_000, checks_per_hour=100_000, queue_length=100_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Service:
    return Service(ServiceDatabase(tmp_path_factory.mktemp("service") / "store.sqlite"), LENIENT, Auth.NONE)


def test_every_answer_is_documented_and_no_request_breaks_the_server(service, board_snapshot):
    """The stream of events of a submission that waits has no end, so it is left out."""
    record, _ = service.submissions.receive("ada", "ada", "mine.py", make_file("mine"))
    site = make_site(Library(board_snapshot, service=service))
    document = schemathesis.openapi.from_asgi("/openapi.json", site)
    operations = [result.ok() for result in document.exclude(path_regex="events").get_all_operations()]
    assert len(operations) >= 14

    for operation in operations:
        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        def send(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)
        send()
    docs = TestClient(site).get("/docs")
    assert docs.status_code == 200
    assert "/api/submissions/IDENTIFIER/queue" in docs.text
    assert service.submissions.get(record.id).state is State.SCREENED
    assert service.submissions.counts()[State.REFUSED] > 0              # uploads arrived
