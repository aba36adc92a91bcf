"""What the tests share: a cache of vectors for the whole session, submissions written to a folder, the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import NoProgress
from harness.base.units import Source, Unit
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context
from harness.models.registry import model_fingerprint
from harness.models.vector_cache import VectorCache
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries
from harness.submission.submission import Entry, load_submission
from tasks.suite_files import load_suite
from tests.support.postgres import postgres_server
from tests.support.submissions import HEADER

if TYPE_CHECKING:
    from leaderboard.board.snapshot import Snapshot

Write = Callable[..., Path]


MARK_OF_FIXTURE = {"browser": "browser", "postgres": "postgres", "database": "postgres", "worker_slot": "sandbox"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures that they use."""
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in MARK_OF_FIXTURE:
                item.add_marker(MARK_OF_FIXTURE[fixture])


@pytest.fixture(autouse=True)
def no_process_in_unit_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test with the marker `unit` that starts a process or connects to a network."""
    if request.node.get_closest_marker("unit") is None:
        return

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a test with the marker `unit` starts no process and uses no network")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "fork", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all tests of a session, made from nothing; the processes of pytest-xdist share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOUCHSTONE_CACHE", str(folder))
        patch.delenv("TOUCHSTONE_STORE", raising=False)
        patch.delenv("TOUCHSTONE_DATA", raising=False)
        yield folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a submission with a sound header and the given body; its path."""
    def writer(name: str, body: str, kind: str = "corpus", input: str = "texts", returns: str = "distance",
               range: str = "[0.0, inf]") -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(HEADER.format(name=name, kind=kind, input=input, returns=returns, range=range) + body)
        return path
    return writer


@pytest.fixture
def entry_of(write: Write) -> Callable[..., Entry]:
    def reader(name: str, body: str, **header: str) -> Entry:
        return load_submission(write(name, body, **header)).entries[0]
    return reader


@pytest.fixture(scope="session")
def smoke() -> Suite:
    return load_suite("smoke")


@pytest.fixture(scope="session")
def inputs(smoke: Suite) -> InputEncoder:
    """Texts as vectors and tokens, every text of smoke embedded."""
    vectors = VectorCache(smoke.model.name, cache_folder())
    vectors.fill(sorted({text for q in smoke.task_units for text in q.task.texts(q.unit)}), NoProgress(), threads=2)
    return InputEncoder(vectors)


@pytest.fixture
def worker_slot() -> Iterator[WorkerSlot]:
    """Where an entry can be asked, on the spot."""
    made = WorkerSlot(Conditions(probe_sandbox(), Limits(seconds_per_unit=5)))
    yield made
    made.close()


@pytest.fixture
def unit() -> Unit:
    """A unit of no task, for asking freely."""
    return Unit("none", 1, (), {}, (), Source("minilm", model_fingerprint("minilm")), 1)


@pytest.fixture
def context() -> Context:
    from tasks.data import loading as data

    names = ("made_weather", "made_kitchen", "made_trains")
    return Context(5, Source("minilm", model_fingerprint("minilm")), {name: data.dataset_fingerprint(name) for name in names})


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a real server of this session's own, on a socket in a folder."""
    with postgres_server() as address:
        yield address


@pytest.fixture
def database(postgres: str) -> str:
    """The address of an empty database on that server."""
    import psycopg

    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")       # a name of our own
    return postgres.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def object_server() -> Iterator[str]:
    """The address of a server with the protocol of Amazon S3."""
    server = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    made = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"http://{host}:{port}"
    made.stop()


@pytest.fixture
def object_store(object_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty folder in a bucket on that server."""
    import s3fs

    for name, value in (("AWS_ENDPOINT_URL", object_server), ("AWS_ACCESS_KEY_ID", "tests"), ("AWS_SECRET_ACCESS_KEY", "tests"),
                        ("AWS_DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    bucket = f"tests-{os.urandom(6).hex()}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(bucket)
    return f"s3://{bucket}/touchstone"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


# ---- a board -----------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def board_folder(tmp_path_factory) -> Path:
    """Return a folder with a suite and a store with the results of some metrics, one of them with a hostile header."""
    from harness.evaluation.run import run_suite
    from tests.support.serving import HOSTILE, SUITE

    folder = tmp_path_factory.mktemp("board")
    (folder / "ten.toml").write_text(SUITE)
    path = folder / "hostile.py"
    text = HEADER.format(name="hostile", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    text = text.replace('title = "A metric of the tests"', f'title = "{HOSTILE}"').replace('summary = "', f'summary = "{HOSTILE} ')
    path.write_text(text + f"# </script>{HOSTILE}\ndef distance(p, q): raise ValueError(\"{HOSTILE}\") if len(p[0]) % 2 else ZeroDivisionError\n")
    entries = [*select_entries(["energy", "zipf", "jaccard", "random"], SUBMISSIONS), *load_submission(path).entries]
    run_suite(entries, load_suite(str(folder / "ten.toml")), folder / "store.sqlite", progress=NoProgress(), jobs=2)
    return folder


@pytest.fixture(scope="session")
def board_snapshot(board_folder) -> Snapshot:
    from leaderboard.board.snapshot import of_store

    return of_store(load_suite(str(board_folder / "ten.toml")), Store(board_folder / "store.sqlite", read_only=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from tests.support.serving import CHROMIUM, FLAGS

    if CHROMIUM is None:
        pytest.skip("no Chromium is installed here: `apt-get install chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()
