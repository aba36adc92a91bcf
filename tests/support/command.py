"""Run the command: in this process, which is quick, or in a separate process."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

from leaderboard.cli.app import main


def touchstone(*words: object, environment: dict[str, str] | None = None, timeout: float = 240,
               folder: Path | None = None, separate: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command with these arguments; a separate process only where the environment, the folder or the test needs one."""
    arguments = list(map(str, words))
    if separate or environment or folder is not None:
        return subprocess.run([sys.executable, "-m", "leaderboard", *arguments], capture_output=True, text=True,
                              timeout=timeout, env={**os.environ, **(environment or {})}, cwd=folder, stdin=subprocess.DEVNULL)
    output, errors, status = io.StringIO(), io.StringIO(), 0
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with (mock.patch.dict(os.environ), mock.patch.object(sys, "argv", ["touchstone", *arguments]),
          mock.patch.object(sys, "stdin", io.StringIO()), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors)):
        try:
            main()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return subprocess.CompletedProcess(["touchstone", *arguments], status, output.getvalue(), errors.getvalue())
