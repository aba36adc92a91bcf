"""pip, kept from starting anything: `--only-binary` does not cover what a wheel requires by address.

Run as `python -I pip_alone.py ARGUMENTS`.  A build backend or a version control program would be another process; an audit
hook of Python's refuses that, and no code of a package runs in this one.
"""

import sys
from typing import Any

PROCESSES = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "os.startfile"}


def refuse_source_archive(event: str, arguments: tuple[Any, ...]) -> None:
    if event in PROCESSES:
        raise PermissionError("only wheels are installed: nothing may be built or run for that")


if __name__ == "__main__":
    sys.addaudithook(refuse_source_archive)
    from pip._internal.cli.main import main

    sys.exit(main())
