"""Signing in with an account at another service: the addresses under `/auth`, and the session in a cookie."""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from harness.base.errors import TouchstoneError, printable
from leaderboard.board.services.lookup import NotFound
from leaderboard.service.access import Sender, Service, stored_secret
from leaderboard.service.providers import Account
from leaderboard.service.settings import DAY

SESSION_DAYS = 7
ACCOUNT = "account"                         # in the session: the owner, and the name to display
PUBLIC_URL = "TOUCHSTONE_SERVICE_PUBLIC_URL"        # of the server, where a proxy is in front of it


def add_sign_in(site: FastAPI, service: Service) -> None:
    """Add the addresses for signing in and out. Authlib checks state, nonce and proof key; the cookie is signed, and SameSite=Lax."""
    from authlib.integrations.starlette_client import OAuth, OAuthError  # of the extra "service"
    from starlette.middleware.sessions import SessionMiddleware

    public = os.environ.get(PUBLIC_URL, "").rstrip("/")
    site.add_middleware(SessionMiddleware, secret_key=stored_secret(service.submissions.database, "session_key").hex(), same_site="lax",
                        session_cookie="touchstone", max_age=int(SESSION_DAYS * DAY), https_only=public.startswith("https://"))
    providers = {provider.name: provider for provider in service.providers}
    oauth = OAuth()
    for provider in service.providers:
        oauth.register(provider.name, **provider.options())

    def find(name: str) -> Any:
        if name not in providers:
            raise NotFound("This server does not support this provider; the page Submit lists the supported providers.")
        return oauth.create_client(name)

    @site.get("/auth/{provider}", include_in_schema=False)
    async def sign_in(request: Request, provider: str) -> Response:
        """Send the browser to the provider."""
        client = find(provider)
        callback = f"{public}/auth/{provider}/callback" if public else str(request.url_for("callback", provider=provider))
        try:
            response: Response = await client.authorize_redirect(request, callback)
        except Exception as error:          # noqa: BLE001  (of the provider's discovery: connections, JSON, missing fields)
            return refuse(f"{providers[provider].title} does not answer ({type(error).__name__}). Try again later.", 502)
        return response

    @site.get("/auth/{provider}/callback", include_in_schema=False)
    async def callback(request: Request, provider: str) -> Response:
        """Receive the browser from the provider, and begin a session."""
        client, chosen = find(provider), providers[provider]
        try:
            token = await client.authorize_access_token(request)
            account = chosen.account(token.get("userinfo") or await client.userinfo(token=token))
        except OAuthError as error:
            return refuse(f"{chosen.title} did not sign you in ({printable(str(error.error), 80)}). Begin again on the page Submit.", 403)
        except TouchstoneError as error:
            return refuse(str(error), 403)
        except Exception as error:          # noqa: BLE001  (wrong answers of the provider: signatures, JSON, connections)
            return refuse(f"{chosen.title} does not answer as expected ({type(error).__name__}). Try again later.", 502)
        request.session.clear()
        request.session[ACCOUNT] = list(account)
        return RedirectResponse("/submit", 303)

    @site.post("/auth/sign-out", include_in_schema=False)
    def sign_out(request: Request) -> Response:
        """End the session."""
        request.session.clear()
        return RedirectResponse("/submit", 303)


def refuse(sentence: str, status: int) -> Response:
    """Return a sentence for a reader in a browser."""
    return PlainTextResponse(sentence + "\n", status)


def client_host(request: Request) -> str:
    """Return the address of the client."""
    return request.client.host if request.client is not None else ""


def read_account(request: Request) -> Account | None:
    """Return the account in the session of a request, if there is one."""
    account = request.scope.get("session", {}).get(ACCOUNT)
    return None if account is None else Account(*account)


def browser_sender(request: Request, authorization: str | None = None) -> Sender:
    """Return what a request of a page says about its sender."""
    account = read_account(request)
    return Sender(client_host(request), authorization, None if account is None else account.owner)
