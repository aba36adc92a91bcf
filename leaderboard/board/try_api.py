"""The endpoint of the page Try it: one request at a time, bounded in size and time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from markupsafe import Markup

from leaderboard.board.pages.try_it import KINDS, TEXTS, render_corpora, render_texts
from leaderboard.board.router import Library
from leaderboard.workflows.try_texts import CORPUS_TEXTS, LINE_CHARACTERS, TryBusy, try_corpora, try_texts

BODY_BYTES = 8 * CORPUS_TEXTS * LINE_CHARACTERS     # two corpora, four bytes per character
JSON = "application/json"                           # a form of another site cannot send it


@dataclass(frozen=True)
class TryRequest:
    """A kind of `KINDS`, and two texts or two corpora."""

    kind: str
    a: str
    b: str

    @classmethod
    def parse(cls, body: bytes) -> TryRequest | None:
        """Return the request, or None if the body is not one.  Not with pydantic, which refuses lone surrogates."""
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(sent, dict) or sent.keys() != {"kind", "a", "b"} or not all(isinstance(value, str) for value in sent.values()):
            return None
        return cls(**sent)


def add_trying(site: FastAPI, library: Library) -> None:
    """Add the route /try."""
    @site.post("/try", include_in_schema=False)
    async def try_metrics(request: Request) -> JSONResponse:
        """Return the answers as HTML, or an error."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return respond_error(415, f"Send the texts as {JSON}.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY_BYTES:
                return respond_error(413, f"The request has more than {BODY_BYTES:,} bytes; send less text.")
        texts = TryRequest.parse(body)
        if texts is None:
            return respond_error(422, "Send three strings: kind (texts or corpora), a, and b.")
        if texts.kind not in KINDS:
            return respond_error(422, f"There is no such kind; there are {' and '.join(KINDS)}.")
        try:
            return JSONResponse({"html": await run_in_threadpool(render_answers, library, texts, dict(request.query_params))})
        except TryBusy:
            return respond_error(429, "Another request is running. Try again in a few seconds.")


def render_answers(library: Library, texts: TryRequest, query: Mapping[str, str]) -> Markup:
    """Run the metrics and return their answers as HTML."""
    release, suite = query.get("release"), query.get("suite")
    snapshot, links = library.snapshot(release, suite), library.links(release, suite)
    model = snapshot.report.suite.model.name
    if texts.kind == TEXTS:
        return render_texts(snapshot, links, list(try_texts(texts.a, texts.b, model)))
    return render_corpora(snapshot, links, list(try_corpora(texts.a, texts.b, model)))


def respond_error(status: int, message: str) -> JSONResponse:
    """Return an error."""
    return JSONResponse({"error": message}, status_code=status)
