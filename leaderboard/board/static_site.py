"""A copy of the board without a server: the same pages as files, for any web space."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from leaderboard.board.components.layout import ONLY_SERVED, PAGES, STATIC, Links, file_of, script_of_pages
from leaderboard.board.components.published import NOTES
from leaderboard.board.downloads import FORMS, table, written
from leaderboard.board.router import Page, drawn
from leaderboard.board.snapshot import Snapshot

NOTES_FOLDER = PROJECT / "leaderboard" / "papers"


def write_site(snapshot: Snapshot, folder: Path) -> int:
    """Writes every page, the tables and the facts into a folder; how many files there are."""
    links = Links(static=True)
    files: dict[str, bytes] = {"board.js": script_of_pages(), "style.css": (STATIC / "style.css").read_bytes()}
    for track in snapshot.tracks:
        files[file_of("board", track=track)] = document(drawn(snapshot, links, {"track": track}))
        files |= {f"board-{track}.{form}": written(table(snapshot, track), form) for form in FORMS}
    for name in {entry["name"] for entry in snapshot.facts["entries"]}:
        files[file_of("metric", name)] = document(drawn(snapshot, links, {"metric": name}))
    for page in PAGES:
        if page not in ("board", *ONLY_SERVED):
            files[file_of(page)] = document(drawn(snapshot, links, {"view": page}))
    files |= {note: (NOTES_FOLDER / note).read_bytes() for note in NOTES}
    files["board.json"] = json.dumps(snapshot.facts, ensure_ascii=False, allow_nan=False).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as wrong:
        raise TouchstoneError(f"{folder} cannot be written ({wrong.strerror}); name another folder.") from None
    return len(files)


def document(page: Page) -> bytes:
    """A page as a file of its own."""
    return (f'<!doctype html><html lang="en" data-static><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            f'initial-scale=1"><title>{escape(page.title)}</title><link rel="stylesheet" href="style.css"><script src="board.js"></script>'
            f"</head><body>{page.html}</body></html>").encode()
