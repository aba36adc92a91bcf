"""What Gradio leaves open for its pages: status, title, description, content without JavaScript, HEAD, addresses of earlier versions.

A server that reads files of its user also refuses requests from elsewhere.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode, urlsplit

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaderboard.board.components.layout import PAGES, render_frame
from leaderboard.board.interface.frame import parse_query
from leaderboard.board.rendering import render
from leaderboard.board.router import Library, Page
from leaderboard.board.services.page_meta import PageMeta, page_meta

RESERVED = frozenset({"page", "view", "deep_link", "__theme"})      # parameters that Gradio evaluates
PATHS = {"/": "board", **{f"/{name}": name for name in ("metric", "submission", "changes", "own", *PAGES) if name != "board"}}
HEAD = re.compile(r"<title>.*?</title>|<meta\s+(?:name|property)=\"(?:description|title|author|keywords|og:[^\"]*|twitter:[^\"]*)\"[^>]*>", re.DOTALL)


LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class LocalOnly:
    """Middleware that refuses requests through a proxy, by another name than those of this machine, and from other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request of this machine on."""
        if scope["type"] == "http" and not is_local(Headers(scope=scope)):
            await PlainTextResponse("This server accepts requests from its own machine only.", 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def is_local(headers: Headers) -> bool:
    """Return whether a browser on this machine sends a request, from a page of this server."""
    hosts = [headers.get("host", ""), *(urlsplit(origin).netloc for origin in headers.getlist("origin"))]
    return not any(name in headers for name in FORWARDED) and all(re.sub(r":\d+$", "", host) in LOCAL_HOSTS for host in hosts)


class Pages:
    """Middleware for the pages of the app; other requests pass through."""

    def __init__(self, app: ASGIApp, library: Library) -> None:
        self.app, self.library = app, library

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a page; pass everything else on."""
        name = PATHS.get(scope.get("path", "")) if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") else None
        if name is None:
            await self.app(scope, receive, send)
            return
        query = parse_query(scope["query_string"].decode("latin-1"))
        if query.keys() & RESERVED or (name == "board" and "metric" in query):
            await RedirectResponse(current_address(query), 308)(scope, receive, send)
            return
        page = await run_in_threadpool(self.library.page, name, query)
        meta = await run_in_threadpool(page_meta, self.library, scope["path"], query, str(URL(scope=scope).replace(path="/", query="")))
        start: Message = {}
        body = b""

        async def collect(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            content = self.complete(body.decode(), name, query, page, meta).encode() if start["status"] == 200 else body
            headers = MutableHeaders(raw=list(start["headers"]))
            headers["content-length"] = str(len(content))
            status = max(start["status"], page.status, meta.status)
            await send({**start, "status": status, "headers": headers.raw})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
        await self.app({**scope, "method": "GET"}, receive, collect)

    def complete(self, html: str, name: str, query: dict[str, str], page: Page, meta: PageMeta) -> str:
        """Return Gradio's page with the metadata of its content, and the content for browsers without JavaScript."""
        snapshot, links = self.library.selected(query) if page.status == 200 else (self.library.first, self.library.links(None, None))
        frame = render_frame(name, page.content, snapshot.title, links)
        head = render("head.html", meta=meta)
        html = HEAD.sub("", html).replace("</head>", f"{head}</head>", 1)
        return html.replace("</body>", Markup("<noscript>{}</noscript></body>").format(frame), 1)


def current_address(query: dict[str, str]) -> str:
    """Return the address of a page whose parameters are those of earlier versions, or reserved by Gradio."""
    names = {key: value for key, value in query.items() if key not in RESERVED}
    page = query.get("view") or query.get("page") or "board"
    if "metric" in names:
        page, names = "metric", {"name": names.pop("metric"), **names}
    path = "/" if page == "board" else f"/{quote(page[:80], safe='')}"         # quoted, so that it leads to no other host
    return f"{path}?{urlencode(names)}" if names else path
