"""The Python client of docs/service.md, executed as it is written there but for the address of the server."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from harness.base.paths import PROJECT
from leaderboard.board.router import Library
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.settings import Settings
from tests.support.service import make_file, wait_until
from tests.support.serving import served


@pytest.mark.cli
def test_the_client_uploads_a_file_and_follows_it(board_snapshot, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "service.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) <= 10
    service = Service(ServiceDatabase(tmp_path / "store.sqlite"), Settings(), Auth.NONE)
    (tmp_path / "my_metric.py").write_bytes(make_file("mine"))
    with served(Library(board_snapshot, service=service)) as address:
        assert "http://127.0.0.1:7860" in code
        client = subprocess.Popen([sys.executable, "-c", code.replace("http://127.0.0.1:7860", address)], cwd=tmp_path, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        wait_until(lambda: bool(service.submissions.waiting()))
        (record,) = service.submissions.waiting()
        service.submissions.withdraw(record.id)                 # the last state, after which the stream ends
        output, errors = client.communicate(timeout=60)
    assert client.returncode == 0, errors
    assert "event: withdrawn" in output
    assert record.queue
