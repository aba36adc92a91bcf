"""What all pages share: addresses, the head with the navigation, and the pieces of which pages are made.

Everything that comes from a submission goes through `escape` on its way into a page, or through `json_in_page`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

PAGES = {"board": "Board", "compare": "Compare", "choose": "Which metric?", "map": "Map", "try": "Try it", "tasks": "Tasks", "submit": "Submit",
         "about": "About and cite"}
SCRIPTS = ("ranked_table.js", "board.js")
ONLY_SERVED = ("compare", "choose")         # what a copy without a server cannot do

STATIC = Path(__file__).parents[1] / "static"
TAGS = re.compile("<[^>]*>")
LONGEST = 2_000                             # characters of a text of a submission that are shown

Estimate = Mapping[str, Any] | None


def script_of_pages() -> bytes:
    """The script of all pages, in the order in which its parts need each other."""
    return b"".join((STATIC / name).read_bytes() for name in SCRIPTS)


@dataclass(frozen=True)
class Links:
    """Where pages are: addresses of a server with a query, or files of a static copy."""

    static: bool = False
    release: str | None = None              # kept in every address, where it is not what is shown first
    suite: str | None = None                # likewise

    def to(self, page: str = "board", **wanted: str | None) -> str:
        asked = {key: value for key, value in wanted.items() if value}
        if self.static:
            return quote(file_of(page, asked.get("metric"), asked.get("track")))
        if page not in ("board", "metric"):             # not "page": Gradio takes that for its own
            asked = {"view": page, **asked}
        if self.release:
            asked["release"] = self.release
        if self.suite:
            asked["suite"] = self.suite
        return f"?{urlencode(asked)}"

    def note(self, file: str) -> str:
        """A page of words on a paper, as it stands beside the tasks."""
        return file if self.static else f"/notes/{file}"


def file_of(page: str, metric: str | None = None, track: str | None = None) -> str:
    """The name of a page's file in a static copy."""
    if page == "metric":
        return f"metric-{re.sub(r'[^a-z0-9._-]', '_', metric or '')}.html"
    if page == "board":
        return "index.html" if track in (None, "corpus") else f"index-{track}.html"
    return f"{page}.html"


class Choice(NamedTuple):
    """A suite or a release that can be shown: what stands in its address, and what it is called."""

    query: str
    title: str
    shown: bool


def framed(page: str, content: str, title: str, links: Links, errata: str | None = None, choices: Sequence[Choice] = ()) -> str:
    """A whole page below the browser's own frame."""
    shown = [one for one in PAGES if not (links.static and one in ONLY_SERVED)]
    navigation = "".join(f'<a href="{escape(links.to(one))}"{" aria-current=page" if one == page else ""}>{PAGES[one]}</a>'
                         for one in shown)
    warning = f'<p class="failed" role="alert">This release is {escape(errata)}.</p>' if errata else ""
    return (f'<div class="ts" data-page="{page}"><a class="skip" href="#ts-main">To the content</a>'
            f'<header><p class="brand"><a href="{escape(links.to())}"><b aria-hidden="true">◆</b> Touchstone</a></p>'
            f'<nav aria-label="Pages">{navigation}</nav>{picker(title, choices)}</header>'
            f'<main id="ts-main" tabindex="-1">{warning}{content}</main></div>')


def picker(title: str, choices: Sequence[Choice]) -> str:
    """What is shown; where there is more than that, a list of it."""
    if len(choices) < 2:
        return f'<span class="release">{escape(title)}</span>'
    none = "" if any(one.shown for one in choices) else '<option value="" selected disabled>choose another</option>'
    listed = "".join(f'<option value="{escape(one.query)}"{" selected" if one.shown else ""}>{escape(title if one.shown else one.title)}</option>'
                     for one in choices)
    return f'<select class="release" id="ts-shown" aria-label="Suite and release">{none}{listed}</select>'


def json_in_page(values: Any, name: str) -> str:
    """Plain values for the page's script; nothing in them can end the element that holds them."""
    content = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{name}">{content}</script>'


def brief(text: str) -> str:
    """Text of a submission as HTML, cut where no honest one is as long."""
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")


def number(estimate: Estimate, digits: int = 2) -> str:
    return "–" if estimate is None else f"{estimate['value']:.{digits}f}"


def correlation(r: float | None) -> str:
    return "–" if r is None else f"{r:.2f}"


def interval(estimate: Estimate, digits: int = 2) -> str:
    """The interval in words; grey where fewer than ten units tell it."""
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return ""
    words = f"{estimate['low']:.{digits}f} to {estimate['high']:.{digits}f}"
    return f'<small class="few" title="fewer than 10 units">{words}</small>' if estimate["units"] < 10 else f"<small>{words}</small>"


def rank_of(entry: Mapping[str, Any]) -> str:
    """The rank, and which ranks it may have."""
    if entry["rank"] is None:
        return "–"
    low, high = entry["rank_interval"] or (entry["rank"], entry["rank"])
    between = f"<small>{low}–{high}</small>" if low != high else ""
    return f"<b>{entry['rank']}</b>{between}"


def outside(address: str | None, words: str | None = None) -> str:
    """A link to somewhere else, if it is one that may be followed; else its words."""
    if not address:
        return "none named"
    target = f"https://doi.org/{address.removeprefix('doi:')}" if address.startswith("doi:10.") else address
    shown = escape(words or address)
    if not target.startswith(("https://", "http://")):
        return shown
    return f'<a href="{escape(target)}" rel="noreferrer nofollow external">{shown}</a>'


def table(heads: list[str], rows: list[list[str]], caption: str = "", words: bool = False, stacked: bool = False) -> str:
    """A plain table of cells that are HTML already, numbers or words; the first of a row names it.

    Stacked, as words always are: on a phone each cell of a row stands below the one before, behind the words of its head.
    """
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    labels = [f' data-head="{TAGS.sub("", one)}"' if words or stacked else "" for one in heads]
    body = "".join(f'<tr><th scope="row">{row[0]}</th>'
                   + "".join(f"<td{label}>{cell}</td>" for label, cell in zip(labels[1:], row[1:], strict=True)) + "</tr>" for row in rows)
    shown = f"<caption>{escape(caption)}</caption>" if caption else ""
    kind = ' class="words stacked"' if words else ' class="stacked"' if stacked else ""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption or "Table")}"><table{kind}>{shown}' \
           f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
