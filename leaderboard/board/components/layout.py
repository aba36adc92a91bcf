"""Addresses of pages, and the frame with the navigation around each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from leaderboard.board.rendering import render

PAGES = {"board": "Board", "compare": "Compare", "choose": "Which metric?", "map": "Map", "try": "Try it", "tasks": "Tasks", "submit": "Submit",
         "about": "About and cite"}
SCRIPTS = ("ranked_table.js", "board.js")
SERVER_ONLY = ("compare", "choose")         # pages that a static copy does not have
STATIC = Path(__file__).parents[1] / "static"


def join_scripts() -> bytes:
    """Return the script of all pages, its parts in the order in which they depend on each other."""
    return b"".join((STATIC / name).read_bytes() for name in SCRIPTS)


@dataclass(frozen=True)
class Links:
    """Addresses of pages: queries of a server, or files of a static copy."""

    static: bool = False
    release: str | None = None              # kept in every address if it is not the default
    suite: str | None = None                # likewise

    def to(self, page: str = "board", **parameters: str | None) -> str:
        """Return the address of a page."""
        query = {key: value for key, value in parameters.items() if value}
        if self.static:
            return quote(page_file(page, query.get("metric"), query.get("track")))
        if page not in ("board", "metric"):             # `view` because Gradio reserves `page`
            query = {"view": page, **query}
        if self.release:
            query["release"] = self.release
        if self.suite:
            query["suite"] = self.suite
        return f"?{urlencode(query)}"

    def note(self, file: str) -> str:
        """Return the address of the notes on a paper."""
        return file if self.static else f"/notes/{file}"


def page_file(page: str, metric: str | None = None, track: str | None = None) -> str:
    """Return the name of a page's file in a static copy."""
    if page == "metric":
        return f"metric-{re.sub(r'[^a-z0-9._-]', '_', metric or '')}.html"
    if page == "board":
        return "index.html" if track in (None, "corpus") else f"index-{track}.html"
    return f"{page}.html"


class Choice(NamedTuple):
    """A suite or release that can be selected: its query, its title, whether it is the current one."""

    query: str
    title: str
    current: bool


def render_frame(page: str, content: Markup, title: str, links: Links, errata: str | None = None, choices: Sequence[Choice] = ()) -> Markup:
    """Return a page with header and navigation."""
    pages = {name: heading for name, heading in PAGES.items() if not (links.static and name in SERVER_ONLY)}
    return render("frame.html", page=page, content=content, title=title, links=links, errata=errata, choices=choices, pages=pages)
