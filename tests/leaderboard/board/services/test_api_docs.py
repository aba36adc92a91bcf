"""The page of the API: every operation with its parameters and a request that succeeds; no request to another host."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from leaderboard.board.router import Library
from leaderboard.board.services.api import add_api
from leaderboard.board.services.api_docs import describe_type, render_api_docs


@pytest.fixture
def client(board_snapshot) -> TestClient:
    site = FastAPI(title="Touchstone", description="<b>bold</b>", docs_url=None, redoc_url=None)
    add_api(site, Library(board_snapshot))
    return TestClient(site)


def test_the_page_lists_all_operations_and_loads_nothing(client):
    html = client.get("/docs").text
    openapi = client.get("/openapi.json").json()
    for path, item in openapi["paths"].items():
        assert path in html
        for parameter in item["get"].get("parameters", []):
            assert f"<code>{parameter['name']}</code>" in html
    assert not re.search(r"<script|<link|src=|@import|url\(", html)
    assert "&lt;b&gt;bold" in html
    targets = re.findall(r'href="([^"]+)"', html)
    assert {target for target in targets if not target.startswith("#")} == {"openapi.json", "./"}
    assert {target[1:] for target in targets if target.startswith("#")} <= set(re.findall(r'id="([^"]+)"', html))


def test_examples_are_valid_requests(client):
    examples = re.findall(r"curl 'http://testserver([^']+)'", unescape(client.get("/docs").text))
    assert len(examples) == len(client.get("/openapi.json").json()["paths"])
    for example in examples:                # the small board of the tests has no releases, fid and cosine
        response = client.get(example)
        reason = "" if response.status_code == 200 else response.json()["error"]
        absent = "not released" in reason or "fewer than two sources" in reason
        assert response.status_code == 200 or any(
            name in example for name in ("2026.3", "fid", "cosine")) or absent, example
        assert response.status_code != 422 or absent, example


def test_types_in_words():
    openapi = {"components": {"schemas": {"Form": {"enum": ["csv", "md"]}, "Report": {"properties": {}}}}}
    assert describe_type(openapi, {"$ref": "#/components/schemas/Form"}) == "csv | md"
    assert describe_type(openapi, {"anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/Report"}}, {"type": "null"}]}) == "list of Report or null"
    assert describe_type(openapi, {}) == "any"


def test_hostile_descriptions_are_text():
    hostile = "<img src=x onerror=alert(1)>"
    operation = {"operationId": "x", "tags": [hostile], "summary": hostile, "responses": {"200": {"description": hostile}}, "parameters": [
        {"name": hostile, "in": "query", "required": False, "schema": {"type": "string", "default": hostile}, "description": hostile}]}
    html = render_api_docs({"info": {"title": hostile, "description": hostile}, "components": {"schemas": {}}, "paths": {"/x": {"get": operation}}}, "http://x/")
    assert "<img" not in html
    assert html.count("&lt;img") >= 7
