"""Addresses of pages, and the frame around each page of a static copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from leaderboard.board.rendering import render

PAGES = {"board": "Ranking", "compare": "Compare", "choose": "Which metric?", "map": "Map", "difference": "Differences", "try": "Try it", "tasks": "Tasks", "submit": "Submit",
         "about": "Cite and about"}
HEADED = ("compare", "choose", "difference", "about")    # pages with controls between heading and content
SERVER_ONLY = ("compare", "choose", "difference")         # pages that a static copy does not have
STATIC = Path(__file__).parents[1] / "static"


@dataclass(frozen=True)
class Links:
    """Addresses relative to a page: paths of a server, or files of a static copy."""

    static: bool = False
    release: str | None = None              # kept in every address if it is not the default
    suite: str | None = None                # likewise

    def to(self, page: str = "board", **parameters: str | None) -> str:
        """Return the address of a page."""
        query = {key: value for key, value in parameters.items() if value}
        if self.static:
            return quote(page_file(page, query.get("metric"), query.get("track")))
        if page == "metric" and "metric" in query:
            query = {"name": query.pop("metric"), **query}
        return self._address("./" if page == "board" else page, query)

    def to_metric(self, name: str) -> str:
        """Return the address of a metric's page."""
        return self.to("metric", metric=name)

    def fragment(self, name: str) -> str:
        """Return the address of a part of the current metric's page; a plain fragment refers to Gradio's base address."""
        return f"#{name}"

    def api(self, path: str, **parameters: str) -> str:
        """Return an address of the API."""
        return self._address(f"api/{path}", parameters)

    def _address(self, path: str, query: dict[str, str]) -> str:
        query |= {key: value for key, value in (("release", self.release), ("suite", self.suite)) if value}
        return f"{path}?{urlencode(query)}" if query else path

    def note(self, file: str) -> str:
        """Return the address of the notes on a paper."""
        return file if self.static else f"notes/{file}"


def page_file(page: str, metric: str | None = None, track: str | None = None) -> str:
    """Return the name of a page's file in a static copy."""
    if page == "metric":
        return f"metric-{re.sub(r'[^a-z0-9._-]', '_', metric or '')}.html"
    if page == "board":
        return "index.html" if track in (None, "corpus") else f"index-{track}.html"
    return f"{page}.html"


class Choice(NamedTuple):
    """A suite or release that can be selected: its query and its title."""

    query: str
    title: str


def render_frame(page: str, content: Markup, title: str, links: Links) -> Markup:
    """Return a page with header and navigation, for browsers without JavaScript and for static copies."""
    pages = {name: heading for name, heading in PAGES.items() if not (links.static and name in SERVER_ONLY)}
    return render("frame.html", page=page, content=content, title=title, links=links, pages=pages, headed=HEADED)
