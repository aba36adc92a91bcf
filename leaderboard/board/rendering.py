"""HTML from templates.  Autoescape is on: only what a template itself contains is markup."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaderboard.own_data.report import show_line
from leaderboard.scoring.estimates import Estimate

LONGEST = 2_000                             # characters of a submission's text that a page shows
UNKNOWN = "\N{EN DASH}"


class Macros(Protocol):
    """The macros of a template as functions."""

    def __getattr__(self, name: str) -> Callable[..., Markup]:
        """Return a macro."""


def render(template: str, **values: object) -> Markup:
    """Return a template as HTML."""
    return Markup(ENVIRONMENT.get_template(template).render(values))


def shorten(text: str) -> str:
    """Return a submission's text, cut at a length that no honest one has."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def format_decimal(value: float | None, digits: int = 2) -> str:
    """Return a number with fixed digits, or a dash."""
    return UNKNOWN if value is None else f"{value:z.{digits}f}"


def format_estimate(estimate: Estimate | None, digits: int = 2) -> str:
    """Return the value of an estimate without its interval, or a dash."""
    return UNKNOWN if estimate is None else f"{estimate.value:z.{digits}f}"


def format_cell(value: float | None) -> str:
    """Return a number as the ranked table has it: two digits, none from 100 on."""
    if value is None:
        return UNKNOWN
    return f"{value:z.2f}" if abs(value) < 100 else f"{value:,.0f}"


def external_address(address: str) -> str | None:
    """Return the address of a link that may be followed; None for other schemes than HTTP and DOI."""
    target = f"https://doi.org/{address.removeprefix('doi:')}" if address.startswith("doi:10.") else address
    return target if target.startswith(("https://", "http://")) else None


def format_percent(value: float) -> str:
    """Return a share as a CSS percentage between 0% and 100%."""
    return f"{100 * min(1.0, max(0.0, value)):.1f}%"


def embed_json(values: object) -> Markup:
    """Return plain values as JSON for a script element; no character of them can end the element."""
    content = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return Markup(content)


def make_environment() -> Environment:
    """Return the environment of all templates."""
    environment = Environment(loader=PackageLoader("leaderboard.board"), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shorten": shorten, "decimal": format_decimal, "number": format_estimate, "cell": format_cell,
                            "percent": format_percent, "external": external_address, "embed_json": embed_json, "line": show_line}
    return environment


ENVIRONMENT = make_environment()
UI = cast(Macros, ENVIRONMENT.get_template("macros.html").module)
