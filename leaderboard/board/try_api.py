"""Where the page of one's own texts sends them: one request at a time, bounded in size and time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from leaderboard.board.components.layout import Links
from leaderboard.board.pages import try_it as try_page
from leaderboard.board.router import Shelf
from leaderboard.workflows.try_texts import CORPUS_TEXTS, LINE_CHARACTERS, TryBusy, try_corpora, try_texts

BODY_BYTES = 8 * CORPUS_TEXTS * LINE_CHARACTERS     # two corpora, four bytes a character
JSON = "application/json"                           # a form of another site cannot send it


@dataclass(frozen=True)
class Tried:
    """What is to be tried: a kind of `try_page.KINDS`, and two texts or two corpora."""

    kind: str
    a: str
    b: str

    @classmethod
    def read(cls, body: bytes) -> Tried | None:
        """What was sent; None if it is nothing of the kind.  Not pydantic, which takes no half a pair of surrogates."""
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(sent, dict) or sent.keys() != {"kind", "a", "b"} or not all(isinstance(one, str) for one in sent.values()):
            return None
        return cls(**sent)


def add_trying(site: FastAPI, shelf: Shelf) -> None:
    @site.post("/try", include_in_schema=False)
    async def tried(request: Request) -> JSONResponse:
        """The answers as HTML; a sentence where there are none."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return sentence(415, f"Send the texts as {JSON}.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY_BYTES:
                return sentence(413, f"That is more than {BODY_BYTES:,} bytes; send less.")
        wanted = Tried.read(body)
        if wanted is None:
            return sentence(422, "Send three strings: kind (texts or corpora), a, and b.")
        if wanted.kind not in try_page.KINDS:
            return sentence(422, f"There is no such kind; there are {' and '.join(try_page.KINDS)}.")
        try:
            return JSONResponse({"html": await run_in_threadpool(answers, shelf, wanted, dict(request.query_params))})
        except TryBusy:
            return sentence(429, "Somebody else is asking just now. Try again in some seconds.")


def answers(shelf: Shelf, wanted: Tried, asked: Mapping[str, str]) -> str:
    release, suite = asked.get("release"), asked.get("suite")
    snapshot = shelf.snapshot(release, suite)
    links = Links() if snapshot is shelf.first else Links(release=release, suite=None if release else suite)
    model = snapshot.facts["suite"]["model"]["name"]
    if wanted.kind == try_page.TEXTS:
        return try_page.texts_answered(snapshot, links, try_texts(wanted.a, wanted.b, model))
    return try_page.corpora_answered(snapshot, links, try_corpora(wanted.a, wanted.b, model))


def sentence(status: int, words: str) -> JSONResponse:
    return JSONResponse({"error": words}, status_code=status)
