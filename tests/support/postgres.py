"""A PostgreSQL server of the tests' own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


@contextmanager
def postgres_server(network: str = "", port: int = 5432, addresses: str = "") -> Iterator[str]:
    """Yield the address of a new server on a socket in a folder; it also accepts everybody in a network at its addresses there."""
    if POSTGRES is None:
        pytest.skip("no PostgreSQL server is installed here (apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="ts-pg-"))        # short: a socket's path is bounded
    ordinary = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []     # it refuses root
    if ordinary:
        os.chown(folder, 65534, 65534)

    def run(program: str, *words: str) -> None:
        done = subprocess.run([*ordinary, str(POSTGRES / program), *words], capture_output=True, text=True, cwd=folder, env={
            "PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"})
        assert done.returncode == 0, done.stderr + done.stdout
    run("initdb", "--auth=trust", "--username=tests", "--no-sync", "-D", f"{folder}/data")
    if network:
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network} trust\n")
    run("pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-o",
        f"-c listen_addresses='{addresses}' -c port={port} -c unix_socket_directories={folder}", "start")
    try:
        yield f"postgresql://tests@/postgres?host={folder}" + (f"&port={port}" if port != 5432 else "")
    finally:
        run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder)
