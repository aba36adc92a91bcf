"""A copy of the board without a server: the same pages as files, for any web space."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from leaderboard.board.components.layout import PAGES, SERVER_ONLY, STATIC, Links, page_file, render_frame
from leaderboard.board.pages.ranking import render_overview, render_table
from leaderboard.board.rendering import render
from leaderboard.board.router import render_snapshot
from leaderboard.board.services.downloads import FORMS, make_table, write_table
from leaderboard.board.snapshot import Snapshot
from leaderboard.papers.published_comparison import NOTES

NOTES_FOLDER = PROJECT / "leaderboard" / "papers"


def write_site(snapshot: Snapshot, folder: Path) -> int:
    """Write every page, the tables and the report into a folder; return the number of files."""
    links = Links(static=True)
    files: dict[str, bytes] = {name: (STATIC / name).read_bytes() for name in ("board.js", "style.css", "favicon.svg")}
    for track in snapshot.tracks:
        table = render_table(snapshot, links, track)
        board = render("static_table.html", overview=render_overview(snapshot, links), table=table, links=links,
                         track=track, tracks=snapshot.tracks)
        files[page_file("board", track=track)] = render_document(snapshot, links, "board", board, "Touchstone")
        files |= {f"board-{track}.{form}": write_table(make_table(snapshot, track), form) for form in FORMS}
    for name in {entry.name for entry in snapshot.report.entries}:
        files[page_file("metric", name)] = render_file(snapshot, links, "metric", {"name": name})
    for page in PAGES:
        if page not in ("board", *SERVER_ONLY):
            files[page_file(page)] = render_file(snapshot, links, page, {})
    files |= {note: (NOTES_FOLDER / note).read_bytes() for note in NOTES}
    files["board.json"] = snapshot.content
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise TouchstoneError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from None
    return len(files)


def render_file(snapshot: Snapshot, links: Links, name: str, query: dict[str, str]) -> bytes:
    """Return a page as a complete HTML file."""
    page = render_snapshot(snapshot, links, name, query)
    return render_document(snapshot, links, name, page.content, page.title)


def render_document(snapshot: Snapshot, links: Links, name: str, content: Markup, title: str) -> bytes:
    """Return content as a complete HTML file."""
    return render("document.html", title=title, html=render_frame(name, content, snapshot.title, links)).encode()
