"""What other sites show of the board: badges, a feed of releases, a sitemap, and images."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Query, Request, Response
from markupsafe import Markup
from PIL import ImageFont

from harness.base.errors import printable
from leaderboard.board.axis_rankings import rank_on_axis, ranking_query
from leaderboard.board.rendering import render
from leaderboard.board.router import Library
from leaderboard.board.services.api import make_tag, respond, respond_json
from leaderboard.board.services.lookup import NotFound, find_entries, find_snapshot, find_track
from leaderboard.board.services.share_card import draw_card
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.changelog import ReleaseNote, read_changelog
from leaderboard.publishing.citations import SITE_VARIABLE, markdown

LABEL = "touchstone"
BEST, RANKED, UNKNOWN = "#8a6410", "#2f5d62", "#6b6b6b"        # white text on each has a contrast of at least 4.5
LISTED = ("/compare", "/choose", "/map", "/try", "/tasks", "/submit", "/about", "/docs")
CARDS_KEPT = 256
SVG, XML, ATOM, PNG = "image/svg+xml", "application/xml", "application/atom+xml", "image/png"
PADDING, FONT_SIZE = 6, 11                  # pixels of a badge

Name = Annotated[str | None, Query(max_length=500)]


class Badge(NamedTuple):
    """The text and the colour of a badge."""

    message: str
    color: str
    known: bool = True


class BadgeSnippets(NamedTuple):
    """How to show a badge in a README or on a page."""

    markdown: str
    html: str


def add_sharing(site: FastAPI, library: Library) -> None:
    """Add the routes of badges, feed, sitemap and images."""

    @lru_cache(CARDS_KEPT)
    def card_of(release: str, suite: str, metric: str | None) -> bytes:
        return draw_card(find_snapshot(library, release, suite), metric)

    @site.get("/badge/{metric}.svg", include_in_schema=False)
    def badge_image(request: Request, metric: str, track: Name = None, axis: Name = None, release: Name = None, suite: Name = None) -> Response:
        badge = find_badge(library, metric, track, axis, release, suite)
        content = draw_badge(badge).encode()
        response = respond(request, content, make_tag(content), SVG)
        response.status_code = response.status_code if badge.known else 404
        return response

    @site.get("/badge/{metric}.json", include_in_schema=False)
    def badge_values(request: Request, metric: str, track: Name = None, axis: Name = None, release: Name = None, suite: Name = None) -> Response:
        badge = find_badge(library, metric, track, axis, release, suite)
        values = {"schemaVersion": 1, "label": LABEL, "message": badge.message, "color": badge.color, "isError": not badge.known}
        response = respond_json(request, values)
        response.status_code = response.status_code if badge.known else 404
        return response

    @site.get("/card.png", include_in_schema=False)
    def card(request: Request, metric: Name = None, release: Name = None, suite: Name = None) -> Response:
        snapshot = find_snapshot(library, release, suite)
        if metric is not None:
            find_entries(snapshot, metric)
        content = card_of(snapshot.report.release or "", suite or "", metric)
        return respond(request, content, make_tag(content), PNG)

    @site.get("/sitemap.xml", include_in_schema=False)
    def sitemap(request: Request) -> Response:
        return respond_text(request, render_sitemap(library.first, site_address(str(request.base_url))), XML)

    @site.get("/robots.txt", include_in_schema=False)
    def robots(request: Request) -> Response:
        return respond_text(request, render("robots.txt", site=site_address(str(request.base_url))), "text/plain")

    @site.get("/releases.atom", include_in_schema=False)
    def feed(request: Request) -> Response:
        return respond_text(request, render_feed(changelog(library), site_address(str(request.base_url))), ATOM)


def respond_text(request: Request, text: str, kind: str) -> Response:
    """Return a text with its ETag."""
    content = text.encode()
    return respond(request, content, make_tag(content), kind)


def site_address(base: str) -> str:
    """Return the public address of the board without a slash: the variable TOUCHSTONE_SITE, or else that of the request."""
    return (os.environ.get(SITE_VARIABLE) or base).rstrip("/")


# ---- badges ------------------------------------------------------------------------------------------------------------

def make_badge(snapshot: Snapshot, metric: str, track: str | None = None, axis: str | None = None) -> Badge:
    """Return the badge of a metric's rank on an axis, by default on the first axis of a track in which it is ranked."""
    entries = find_entries(snapshot, metric)
    axes = [candidate for candidate in snapshot.report.suite.axes if axis in (None, candidate.name)]
    if not axes:
        raise NotFound(f'There is no axis "{printable(axis or "", 80)}".')
    if track is None:
        tracks = [entry.track for entry in sorted(entries, key=lambda entry: (entry.rank is None, entry.track != entry.kind))]
        track = next((name for name in tracks if any(candidate.track == name for candidate in axes)), axes[0].track)
    find_track(snapshot, track)
    ranking = next((rank_on_axis(snapshot, candidate) for candidate in axes if candidate.track == track), None)
    entry = next((entry for entry in ranking.entries if entry.name == metric), None) if ranking is not None else None
    if ranking is None or entry is None:
        raise NotFound(f'There is no metric "{printable(metric, 80)}" on this axis of the track {track}.')
    if entry.rank is None:
        return Badge("not ranked", UNKNOWN)
    best = entry.rank_interval is not None and entry.rank_interval[0] == 1
    return Badge(f"#{entry.rank} of {len(ranking.ranked)} {ranking.label}", BEST if best else RANKED)


def find_badge(library: Library, metric: str, track: str | None, axis: str | None, release: str | None, suite: str | None) -> Badge:
    """Return the badge that an address names, or one that says that it is unknown."""
    try:
        return make_badge(find_snapshot(library, release, suite), metric, track, axis)
    except NotFound:
        return Badge("unknown", UNKNOWN, known=False)


def draw_badge(badge: Badge) -> Markup:
    """Return a badge as SVG."""
    font = ImageFont.load_default(FONT_SIZE)
    widths = [round(font.getlength(text) + 2 * PADDING) for text in (LABEL, badge.message)]
    return render("badge.svg", label=LABEL, badge=badge, widths=widths, padding=PADDING)


def badge_snippets(base: str, metric: str, track: str | None = None, axis: str | None = None) -> BadgeSnippets:
    """Return how to show the badge of a metric, linked to its page, in Markdown and in HTML."""
    site = site_address(base)
    query = urlencode({key: value for key, value in (("track", track), ("axis", axis)) if value})
    image = f"{site}/badge/{quote(metric, safe='')}.svg{f'?{query}' if query else ''}"
    page, text = f"{site}/metric?{urlencode({'name': metric})}", f"{metric} on Touchstone"
    return BadgeSnippets(f"[![{markdown(text)}]({image})]({page})", render("badge_embed.html", page=page, image=image, text=text).strip())


# ---- releases and pages ------------------------------------------------------------------------------------------------

def changelog(library: Library) -> list[ReleaseNote]:
    """Return the releases with their errata, the latest first."""
    return read_changelog(library.folder)


def render_feed(notes: list[ReleaseNote], site: str) -> Markup:
    """Return the releases as an Atom feed."""
    return render("releases.atom", site=site, notes=[note._replace(
        suite_title=printable(note.suite_title), status=note.status and printable(note.status, 2_000),
        corrections=tuple(printable(text, 2_000) for text in note.corrections)) for note in notes])


def render_sitemap(snapshot: Snapshot, site: str) -> Markup:
    """Return the addresses of all pages of a snapshot as a sitemap."""
    def address(path: str, **query: str) -> str:
        return f"{site}{path}{f'?{urlencode(query)}' if query else ''}"
    rankings = [ranking_query(snapshot, axis.track, axis.name) for axis in snapshot.report.suite.axes if axis.track in snapshot.tracks]
    metrics = dict.fromkeys(entry.name for entry in snapshot.report.entries)
    addresses = [address("/"), *(address("/", **query) for query in rankings if query), *map(address, LISTED),
                 *(address("/metric", name=name) for name in metrics)]
    return render("sitemap.xml", addresses=addresses, date=snapshot.report.made)
