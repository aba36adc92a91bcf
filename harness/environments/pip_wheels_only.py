"""Run pip without subprocesses: `--only-binary` does not cover dependencies given by URL.

Run as `python -I pip_wheels_only.py ARGUMENTS`. A build backend or a version control program would be a subprocess; an audit hook
refuses to start one, so no code of a package runs.
"""

import sys
from typing import Any

PROCESSES = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "os.startfile"}


def refuse_source_archive(event: str, arguments: tuple[Any, ...]) -> None:
    """Exit if pip is about to start a process."""
    if event in PROCESSES:
        raise PermissionError("only wheels are installed: nothing may be built or executed during the installation")


if __name__ == "__main__":
    sys.addaudithook(refuse_source_archive)
    from pip._internal.cli.main import main

    sys.exit(main())
