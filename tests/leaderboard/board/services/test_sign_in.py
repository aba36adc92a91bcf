"""Signing in by OAuth, against a local provider; the real ones cannot be reached from here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from harness.base.errors import TouchstoneError
from leaderboard.board.router import Library
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.providers import Provider, read_providers
from leaderboard.service.settings import Settings
from leaderboard.service.states import State
from tests.support.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider
from tests.support.service import make_file
from tests.support.serving import served, served_app

PROVIDERS = ["github", "local"]


@pytest.fixture(scope="module")
def provider() -> IdentityProvider:
    return IdentityProvider()


@pytest.fixture(scope="module")
def service(provider, tmp_path_factory) -> Iterator[Service]:
    with served_app(provider.app) as address:
        providers = [Provider(name, CLIENT_ID, CLIENT_SECRET, address) for name in PROVIDERS]
        yield Service(ServiceDatabase(tmp_path_factory.mktemp("service") / "store.sqlite"), Settings(), Auth.OAUTH, providers)


@pytest.fixture(scope="module")
def address(service, board_snapshot) -> Iterator[str]:
    with served(Library(board_snapshot, service=service)) as where:
        yield where


@pytest.fixture
def client(address) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, follow_redirects=True) as made:
        yield made


def begin(client: httpx.Client, name: str) -> httpx.Response:
    """Follow the redirections up to, but not including, the return to the board."""
    response = client.get(f"/auth/{name}", follow_redirects=False)
    return client.get(response.headers["location"], follow_redirects=False)


@pytest.mark.parametrize("name", PROVIDERS)
def test_signing_in_begins_a_session(client, name):
    response = client.get(f"/auth/{name}")
    assert response.status_code == 200
    assert response.url.path == "/submit"
    cookie = next(line for line in response.history[-1].headers.get_list("set-cookie") if line.startswith("touchstone="))
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_answer_for_another_browser_is_refused(client, address, name):
    """The attack on sign-in: a victim's browser is sent to the return address with the attacker's code."""
    returned = begin(client, name).headers["location"]
    with httpx.Client() as victim:
        refused = victim.get(returned)
    assert refused.status_code == 403
    assert "Begin again on the page Submit" in refused.text
    assert client.get(returned, follow_redirects=False).status_code == 303        # the control: the same answer in the right browser


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_answer_is_used_once(client, name):
    returned = begin(client, name).headers["location"]
    assert client.get(returned, follow_redirects=False).status_code == 303
    assert client.get(returned).status_code == 403


def test_a_refusal_and_wrong_answers_of_the_provider(client, provider, monkeypatch):
    monkeypatch.setattr(provider, "user", None)
    refused = client.get("/auth/local")
    assert refused.status_code == 403
    assert "access_denied" in refused.text
    monkeypatch.setattr(provider, "user", {"preferred_username": "nobody"})
    assert client.get("/auth/github").status_code == 403
    monkeypatch.undo()
    monkeypatch.setattr(provider, "wrong_nonce", True)
    assert client.get("/auth/local").status_code == 502
    assert client.get("/auth/unknown").status_code == 404


def test_a_forged_session_is_none(address):
    with httpx.Client(base_url=address, cookies={"touchstone": "eyJhY2NvdW50IjpbImdpdGh1YjoxNyIsIkFkYSJdfQ==.aaaaaa.bbbb"}) as forged:
        assert forged.post("/api/submissions?filename=a.py", content=b"x", headers={"Content-Type": "text/x-python"}).status_code == 401


def test_the_session_alone_does_not_change_anything_by_the_api(client):
    """A cookie is sent by any page; the API wants a token, which only pages of this server can use."""
    client.get("/auth/local")
    refused = client.post("/api/submissions?filename=a.py", content=make_file("cross-site"), headers={"Content-Type": "text/x-python"})
    assert refused.status_code == 401
    assert "Sign in on the page Submit" in refused.json()["error"]


def test_signing_in_submitting_and_a_token_in_a_browser(browser, service, address, tmp_path):
    (tmp_path / "signed.py").write_bytes(make_file("signed"))
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/submit")
    page.get_by_role("link", name="Local").click()
    page.get_by_text("You are signed in as Ada").wait_for()
    page.get_by_role("button", name="Create a token").click()
    issued = page.locator("#submission-issued textarea, #submission-issued input")
    page.wait_for_function("() => document.querySelector('#submission-issued textarea, #submission-issued input')?.value.startsWith('ts_')")
    token = issued.input_value()
    page.locator("#submission-file input[type=file]").set_input_files(tmp_path / "signed.py")
    page.get_by_text("signed.py").wait_for()
    page.locator("#submission-send").click()
    page.wait_for_url("**/submission?id=*")
    record = service.submissions.get(re.search("id=(.+)", page.url)[1])
    assert record.owner == "local:17"
    with httpx.Client(base_url=address) as other:
        assert other.post(f"/api/submissions/{record.id}/withdraw").status_code == 401
        assert other.post(f"/api/submissions/{record.id}/withdraw", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert service.submissions.get(record.id).state is State.WITHDRAWN
    page.goto(f"{address}/submit")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Local").wait_for()
    page.locator("#submission-file input[type=file]").set_input_files(tmp_path / "signed.py")
    page.get_by_text("signed.py").wait_for()
    page.locator("#submission-send").click()
    page.get_by_text("Sign in on the page Submit").wait_for()
    context.close()


@pytest.mark.parametrize(("variables", "sentence"), [
    ({}, "TOUCHSTONE_OAUTH_GITHUB_ID"),
    ({"TOUCHSTONE_OAUTH_GITHUB_ID": "a"}, "TOUCHSTONE_OAUTH_GITHUB_SECRET"),
    ({"TOUCHSTONE_OAUTH_OURS_ID": "a", "TOUCHSTONE_OAUTH_OURS_SECRET": "b"}, "TOUCHSTONE_OAUTH_OURS_URL"),
    ({"TOUCHSTONE_OAUTH_OURS_ID": "a", "TOUCHSTONE_OAUTH_OURS_SECRET": "b", "TOUCHSTONE_OAUTH_OURS_URL": "http://example.org"}, "https://")])
def test_incomplete_settings(variables, sentence):
    with pytest.raises(TouchstoneError, match=sentence):
        read_providers(variables)


def test_the_real_providers_have_their_addresses():
    """From the documentation of GitHub (authorizing OAuth apps) and Hugging Face (sign in with Hugging Face)."""
    names = {f"TOUCHSTONE_OAUTH_{name}_{part}": "x" for name in ("GITHUB", "HUGGINGFACE") for part in ("ID", "SECRET")}
    github, hugging_face = read_providers(names)
    assert github.options()["authorize_url"] == "https://github.com/login/oauth/authorize"
    assert github.options()["userinfo_endpoint"] == "https://api.github.com/user"
    assert hugging_face.options()["server_metadata_url"] == "https://huggingface.co/.well-known/openid-configuration"
    assert (github.title, hugging_face.title) == ("GitHub", "Hugging Face")
