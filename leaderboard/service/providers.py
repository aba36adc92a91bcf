"""Services whose accounts identify owners by OAuth, read from environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.base.errors import TouchstoneError, printable

VARIABLE = re.compile(r"TOUCHSTONE_OAUTH_([A-Z0-9]{1,30})_ID")
GITHUB, GITHUB_URL = "github", "https://github.com"
TITLES = {GITHUB: "GitHub", "huggingface": "Hugging Face"}
URLS = {GITHUB: GITHUB_URL, "huggingface": "https://huggingface.co"}
LONGEST_ACCOUNT = 80                        # characters


class Account(NamedTuple):
    """Somebody who has signed in: the permanent identifier at the provider, and the name to display."""

    owner: str
    name: str


class Provider(NamedTuple):
    """A service that knows its users: GitHub (or GitHub Enterprise), or any provider of OpenID Connect."""

    name: str
    client_id: str
    client_secret: str
    url: str

    @property
    def title(self) -> str:
        """The name to display."""
        return TITLES.get(self.name, self.name.capitalize())

    def options(self) -> dict[str, Any]:
        """Return where the provider is asked, as Authlib expects it."""
        common = {"client_id": self.client_id, "client_secret": self.client_secret}
        if self.name != GITHUB:
            return {**common, "server_metadata_url": f"{self.url}/.well-known/openid-configuration",
                    "client_kwargs": {"scope": "openid profile", "code_challenge_method": "S256"}}
        api = "https://api.github.com" if self.url == GITHUB_URL else f"{self.url}/api/v3"
        pages = f"{self.url}/login/oauth"
        return {**common, "authorize_url": f"{pages}/authorize", "access_token_url": f"{pages}/access_token",
                "userinfo_endpoint": f"{api}/user", "client_kwargs": {"code_challenge_method": "S256"}}     # needs no scope

    def account(self, user: Mapping[str, object]) -> Account:
        """Return the account that the provider describes; names can change their holder, identifiers do not."""
        fields = ("id", "login") if self.name == GITHUB else ("sub", "preferred_username")
        identifier, name = map(user.get, fields)
        if not isinstance(identifier, str | int) or not 1 <= len(str(identifier)) <= LONGEST_ACCOUNT:
            raise TouchstoneError(f"{self.title} did not identify you. Try again, or use a token.")
        return Account(f"{self.name}:{identifier}", printable(str(name or identifier), LONGEST_ACCOUNT))


def read_providers(environment: Mapping[str, str] = os.environ) -> list[Provider]:
    """Return the providers that environment variables describe; raise if there is none, or one is incomplete."""
    providers = []
    for variable in sorted(environment):
        if match := VARIABLE.fullmatch(variable):
            prefix, name = variable.removesuffix("_ID"), match[1].lower()
            secret, url = environment.get(f"{prefix}_SECRET"), environment.get(f"{prefix}_URL", URLS.get(name, ""))
            if not environment[variable] or not secret:
                raise TouchstoneError(f"{variable} and {prefix}_SECRET are both needed; {TITLES.get(name, name)} shows them for "
                                      "your application.")
            if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
                raise TouchstoneError(f"{prefix}_URL must be the https:// address of a provider of OpenID Connect.")
            providers.append(Provider(name, environment[variable], secret, url.rstrip("/")))
    if not providers:
        raise TouchstoneError("--auth oauth needs the identifier and the secret of an app: TOUCHSTONE_OAUTH_GITHUB_ID and "
                              "TOUCHSTONE_OAUTH_GITHUB_SECRET, or those of another provider. See docs/service.md.")
    return providers
