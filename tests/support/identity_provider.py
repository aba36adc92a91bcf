"""A provider of OpenID Connect that also speaks as GitHub does, in place of the real ones, which cannot be reached from here.

It checks what a provider must check: the client's secret, the address of return, the proof key, that a code is used once.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Form, Header, HTTPException, Request
from fastapi.responses import RedirectResponse
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "touchstone", "the application's secret"


class IdentityProvider:
    """The state of the provider: who is signed in there, and what it has given out."""

    def __init__(self) -> None:
        self.user: dict[str, Any] | None = {"sub": "17", "preferred_username": "Ada", "id": 17, "login": "Ada"}       # None: refuses
        self.wrong_nonce = False
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, dict[str, Any]] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.app = self._make_app()

    def _make_app(self) -> FastAPI:
        app = FastAPI()

        @app.get("/.well-known/openid-configuration")
        def discovery(request: Request) -> dict[str, Any]:
            base = str(request.base_url)
            return {"issuer": base.rstrip("/"), "authorization_endpoint": f"{base}authorize", "token_endpoint": f"{base}token",
                    "jwks_uri": f"{base}keys", "userinfo_endpoint": f"{base}userinfo", "id_token_signing_alg_values_supported": ["RS256"]}

        @app.get("/keys")
        def keys() -> dict[str, Any]:
            return {"keys": [self.key.as_dict(private=False)]}

        @app.get("/authorize")
        @app.get("/login/oauth/authorize")
        def authorize(request: Request) -> RedirectResponse:
            asked = dict(request.query_params)
            assert asked["client_id"] == CLIENT_ID
            assert asked["response_type"] == "code"
            answer = {"state": asked["state"], "error": "access_denied"}
            if self.user is not None:
                code = secrets.token_urlsafe(8)
                self.codes[code] = asked
                answer = {"state": asked["state"], "code": code}
            return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", 302)

        @app.post("/token")
        @app.post("/login/oauth/access_token")
        def token(request: Request, code: str = Form(), redirect_uri: str = Form(), code_verifier: str = Form(),
                  authorization: str = Header()) -> dict[str, Any]:
            asked = self.codes.pop(code, None)
            secret = base64.b64decode(authorization.removeprefix("Basic ")).decode()
            proof = base64.urlsafe_b64encode(hashlib.sha256(code_verifier.encode()).digest()).decode().rstrip("=")
            if asked is None or asked["redirect_uri"] != redirect_uri or asked["code_challenge"] != proof or \
                    secret.partition(":")[2] not in (CLIENT_SECRET, CLIENT_SECRET.replace(" ", "+").replace("'", "%27")):
                raise HTTPException(400, "invalid_grant")
            access = secrets.token_urlsafe(8)
            self.tokens[access] = dict(self.user or {})
            made = {"access_token": access, "token_type": "bearer"}
            if "nonce" in asked:
                claims = {"iss": str(request.base_url).rstrip("/"), "aud": CLIENT_ID, "iat": int(time.time()), "exp": int(time.time()) + 60,
                          "nonce": "another" if self.wrong_nonce else asked["nonce"], **self.tokens[access]}
                made["id_token"] = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
            return made

        @app.get("/userinfo")
        @app.get("/api/v3/user")
        def user(authorization: str = Header()) -> dict[str, Any]:
            return self.tokens[authorization.removeprefix("Bearer ")]
        return app
