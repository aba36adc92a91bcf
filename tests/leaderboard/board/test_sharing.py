"""Badges, feed, sitemap and images: their contents, hostile text in them, and what does not exist."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image, ImageChops

from leaderboard.board.router import Library
from leaderboard.board.services.api import add_api
from leaderboard.board.services.share_card import BACKGROUND, GOLD, SIZE, draw_card
from leaderboard.board.services.sharing import (
    Badge,
    add_sharing,
    badge_snippets,
    changelog,
    draw_badge,
    make_badge,
    render_feed,
    render_sitemap,
)
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.changelog import ReleaseNote
from tests.support.serving import HOSTILE, report_values, with_values

ATOM, SVG, SITEMAP = "{http://www.w3.org/2005/Atom}", "{http://www.w3.org/2000/svg}", "{http://www.sitemaps.org/schemas/sitemap/0.9}"
EVIL = f"{HOSTILE}]]>\"'&\x00\u202e\ud800"


@pytest.fixture(scope="module")
def two_axes(board_snapshot) -> Snapshot:
    """Return the snapshot with a second axis, on which the order of the ranked entries is reversed."""
    values = report_values(board_snapshot)
    first, = values["suite"]["axes"]
    values["suite"]["axes"].append({**first, "name": "second", "title": "Second <axis>"})
    ranked = [entry for entry in values["entries"] if entry["rank"] is not None]
    for number, entry in enumerate(reversed(ranked), start=1):
        entry["axes"] = {"second": {"value": entry["overall"], "rank": number, "rank_interval": [number, number], "not_ranked": None, "of": len(ranked)}}
    return with_values(board_snapshot, values)


@pytest.fixture
def client(two_axes, tmp_path, monkeypatch) -> TestClient:
    monkeypatch.delenv("TOUCHSTONE_SITE", raising=False)
    return make_client(Library(two_axes, folder=tmp_path))


def make_client(library: Library) -> TestClient:
    site = FastAPI()
    add_api(site, library)
    add_sharing(site, library)
    return TestClient(site)


def test_badge_has_the_rank_on_an_axis(client, two_axes):
    ranked = two_axes.ranked_entries("corpus")
    last, count = ranked[-1].name, len(ranked)
    assert client.get(f"/badge/{last}.json").json() == {
        "schemaVersion": 1, "label": "touchstone", "message": f"#{count} of {count} corpus metrics", "color": client.get(f"/badge/{last}.json").json()["color"],
        "isError": False}
    assert client.get(f"/badge/{last}.json?axis=second").json()["message"] == f"#1 of {count} second <axis>"
    assert make_badge(two_axes, "random").message == "not ranked"
    response = client.get(f"/badge/{last}.svg?track=corpus&axis=second")
    assert response.headers["content-type"] == "image/svg+xml"
    root = ET.fromstring(response.text)
    assert [text.text for text in root.iter(f"{SVG}text")] == ["touchstone", f"#1 of {count} second <axis>"]
    assert client.get(f"/badge/{last}.svg?track=corpus&axis=second", headers={"If-None-Match": response.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("address", ["nope", "energy?track=nope", "energy?axis=nope", "energy?release=1999.1", "energy?suite=nope", "%3Cscript%3E"])
def test_unknown_badges_say_so(address, client):
    name, _, query = address.partition("?")
    response = client.get(f"/badge/{name}.svg?{query}")
    assert response.status_code == 404
    assert [text.text for text in ET.fromstring(response.text).iter(f"{SVG}text")] == ["touchstone", "unknown"]
    values = client.get(f"/badge/{name}.json?{query}")
    assert (values.status_code, values.json()["isError"]) == (404, True)


def test_badges_escape_their_text():
    root = ET.fromstring(draw_badge(Badge("#1 of <script>x()</script>&", "#000")))
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>" in root.attrib["aria-label"]


def test_snippets_link_the_badge_to_the_page(monkeypatch):
    monkeypatch.delenv("TOUCHSTONE_SITE", raising=False)
    snippets = badge_snippets("http://board/", "pr[k=15]", track="corpus", axis="a&b")
    image, page = "http://board/badge/pr%5Bk%3D15%5D.svg?track=corpus&axis=a%26b", "http://board/metric?name=pr%5Bk%3D15%5D"
    assert snippets.markdown == rf"[![pr\[k=15\] on Touchstone]({image})]({page})"
    link = ET.fromstring(snippets.html)
    assert (link.tag, link.attrib["href"], link[0].attrib) == ("a", page, {"src": image, "alt": "pr[k=15] on Touchstone"})
    monkeypatch.setenv("TOUCHSTONE_SITE", "https://public.example/board/")
    assert badge_snippets("http://board/", '"><script>', None).html.count("https://public.example/board/") == 2
    assert "<script>" not in badge_snippets("http://board/", '"><script>', None).html


def test_sitemap_has_every_page_once(client, two_axes):
    root = ET.fromstring(client.get("/sitemap.xml").text)
    addresses = [item.text for item in root.iter(f"{SITEMAP}loc")]
    assert len(addresses) == len(set(addresses))
    assert {"http://testserver/", "http://testserver/?axis=second", "http://testserver/about"} <= set(addresses)
    assert {f"http://testserver/metric?{urlencode({'name': entry.name})}" for entry in two_axes.report.entries} <= set(addresses)
    robots = client.get("/robots.txt").text
    assert "Sitemap: http://testserver/sitemap.xml" in robots.splitlines()


def test_addresses_are_those_of_the_public_site(client, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_SITE", "https://public.example/board/")
    for path in ("/sitemap.xml", "/robots.txt", "/releases.atom"):
        text = client.get(path).text
        assert "https://public.example/board/" in text
        assert "testserver" not in text


def test_sitemap_escapes_names(two_axes):
    values = report_values(two_axes)
    for entry in values["entries"]:
        entry["name"] = f"{entry['name']}<&\"'>"
    root = ET.fromstring(render_sitemap(with_values(two_axes, values), "http://board"))
    assert "http://board/metric?name=energy%3C%26%22%27%3E" in [item.text for item in root.iter(f"{SITEMAP}loc")]


def test_feed_lists_releases_with_their_errata(tmp_path):
    notes = [ReleaseNote("2026.2", "2026-12-01", "core@1234", EVIL, 3, None, ()),
             ReleaseNote("2026.1", "2026-11-01", "core@1234", "Core", 2, f"This release is superseded by 2026.2: {EVIL}.", ("<b>wrong</b>", EVIL))]
    root = ET.fromstring(render_feed(notes, "http://board"))
    assert root.tag == f"{ATOM}feed"
    for required in ("id", "title", "updated", "author"):
        assert root.find(f"{ATOM}{required}") is not None
    assert root.find(f"{ATOM}updated").text == "2026-12-01T00:00:00Z"
    latest, first = root.findall(f"{ATOM}entry")
    assert (latest.find(f"{ATOM}title").text, latest.find(f"{ATOM}updated").text) == ("Touchstone 2026.2", "2026-12-01T00:00:00Z")
    assert latest.find(f"{ATOM}link").attrib["href"] == latest.find(f"{ATOM}id").text == "http://board/?release=2026.2"
    assert latest.find(f"{ATOM}summary").text.startswith("3 metrics on the suite core@1234")
    assert "superseded by 2026.2" in first.find(f"{ATOM}summary").text
    assert "<b>wrong</b>" in first.find(f"{ATOM}content").text      # as text
    assert [element.tag for element in root.iter() if not element.tag.startswith(ATOM)] == []


def test_feed_without_releases_is_valid(client):
    root = ET.fromstring(client.get("/releases.atom").text)
    assert root.findall(f"{ATOM}entry") == []
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", root.find(f"{ATOM}updated").text)


def test_changelog_of_the_published_releases(board_snapshot):
    notes = changelog(Library(board_snapshot))
    assert [note.name for note in notes][-2:] == ["2026.2", "2026.1"]
    assert notes[-1].metrics == 64
    assert notes[-1].status.startswith("This release is superseded by 2026.2")
    assert notes[-1].corrections


def picture(content: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


def test_image_shows_the_leaders(client, two_axes):
    response = client.get("/card.png")
    assert response.headers["content-type"] == "image/png"
    image = picture(response.content)
    assert (image.size, image.format) == (SIZE, "PNG")
    colours = {"#" + "".join(f"{value:02x}" for value in colour[:3]): count for count, colour in image.convert("RGB").getcolors(1 << 20)}
    assert max(colours, key=colours.get) == BACKGROUND
    assert colours[GOLD] >= SIZE[0] * 12                            # the bar, and rank ranges
    headings = image.convert("L").crop((64, 240, 1136, 285))
    assert headings.crop((0, 0, 516, 45)).getextrema()[0] < 100 > headings.crop((556, 0, 1072, 45)).getextrema()[0]     # two columns
    assert client.get("/card.png").content == response.content


def test_image_of_a_metric_differs(client, two_axes):
    general, metric, other = (picture(client.get(f"/card.png{query}").content) for query in ("", "?metric=energy", "?metric=zipf"))
    assert ImageChops.difference(general, metric).getbbox() is not None
    assert ImageChops.difference(metric, other).getbbox() is not None
    response = client.get("/card.png?metric=nope")
    assert (response.status_code, response.json()) == (404, {"error": 'There is no metric "nope".'})
    assert client.get("/card.png?release=1999.1").status_code == 404


def test_image_is_drawn_once(two_axes, monkeypatch):
    drawn = []
    monkeypatch.setattr("leaderboard.board.services.sharing.draw_card", lambda snapshot, metric: drawn.append(metric) or b"x")
    client = make_client(Library(two_axes, folder=Path("/nonexistent")))
    for _ in range(3):
        assert client.get("/card.png").content == client.get("/card.png?metric=energy").content == b"x"
    assert drawn == [None, "energy"]


@pytest.mark.parametrize("title", [EVIL, "W" * 1_000_000, "\n" * 500, "漢字" * 100, ""], ids=["hostile", "large", "blank", "chinese", "empty"])
def test_image_of_hostile_titles_is_drawn_within_the_margins(title, two_axes):
    values = report_values(two_axes)
    for entry in values["entries"]:
        entry["title"] = title
    image = picture(draw_card(with_values(two_axes, values), "energy"))
    assert image.convert("L").crop((1150, 20, 1200, 630)).getextrema() == (250, 250)        # nothing beyond the right margin
