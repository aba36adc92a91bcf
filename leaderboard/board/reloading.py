"""Show new results while the board is served: the application is replaced after each run on its store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from harness.base.errors import TouchstoneError
from harness.base.memory import return_freed_memory

SECONDS_BETWEEN_LOOKS = 2.0
SECONDS_FOR_OPEN_REQUESTS = 30.0            # which the replaced application still answers
LOG = logging.getLogger("touchstone.board")


class RunningApp:
    """An ASGI application between its startup and its shutdown, which run in one task."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Run what the application does at startup."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(started))
        await started

    async def _live(self, started: asyncio.Future[None]) -> None:
        try:
            async with self.app.router.lifespan_context(self.app):
                started.set_result(None)
                await self._stop.wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)

    async def stop(self) -> None:
        """Run what the application does at shutdown."""
        self._stop.set()
        await self._task


class ReloadingApp:
    """An ASGI application that is replaced when its results have changed, without an interruption.

    `make_if_changed` returns a new application, or None if the results are those of the last one.
    """

    def __init__(self, app: Any, make_if_changed: Callable[[], Any | None]) -> None:
        self._app, self._make_if_changed = app, make_if_changed
        self._lifespan = Router(lifespan=self._live)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._lifespan if scope["type"] == "lifespan" else self._app)(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _live(self, _: object) -> AsyncIterator[None]:
        first = RunningApp(self._app)
        await first.start()
        watching = asyncio.create_task(self._watch(first))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, running: RunningApp) -> None:
        async with asyncio.TaskGroup() as retiring:
            try:
                while True:
                    await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
                    if (app := await asyncio.to_thread(self._renewed)) is not None:
                        new = RunningApp(app)
                        await new.start()
                        retiring.create_task(retire(running))
                        self._app, running = app, new
            finally:
                await running.stop()

    def _renewed(self) -> Any | None:
        try:
            return self._make_if_changed()
        except Exception as error:          # the application that runs goes on
            LOG.warning("The board still shows the earlier results. %s", error, exc_info=not isinstance(error, TouchstoneError))
            return None


async def retire(running: RunningApp) -> None:
    """Shut an application down when its open requests have had time to end."""
    try:
        await asyncio.sleep(SECONDS_FOR_OPEN_REQUESTS)
    finally:
        await running.stop()
        return_freed_memory()
