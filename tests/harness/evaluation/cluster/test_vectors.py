"""Nodes with caches of their own: vectors are computed once, sent or fetched, and equal those of a local run to the bit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.models.vector_cache import KEY_BYTES
from tests.support.command import touchstone

pytest.importorskip("distributed")

from tests.support.clusters import answers, nodes

pytestmark = [pytest.mark.sandbox, pytest.mark.cli]
METRICS = ("cosine[minilm]", "jaccard", "--only", "sensitivity", "--suite", "smoke")


def rows(cache: Path) -> dict[tuple[str, bytes], bytes]:
    """Return the vectors in a cache by model and key; a key occurs once."""
    found = {}
    for folder in (cache / "vectors").glob("*"):            # none on a node that has run nothing
        keys, vectors = (folder / "keys").read_bytes(), (folder / "vectors").read_bytes()
        split = [keys[start:start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]
        width = len(vectors) // len(split)
        assert len(set(split)) == len(split)
        found |= {(folder.name, key): vectors[row * width:(row + 1) * width] for row, key in enumerate(split)}
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> tuple[Path, Path]:
    """Return the store and the cache of a local run."""
    folder = tmp_path_factory.mktemp("local")
    done = touchstone("run", *METRICS, "--store", folder / "store.sqlite", environment={"TOUCHSTONE_CACHE": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return folder / "store.sqlite", folder / "cache"


@pytest.mark.parametrize("remote", [None, "file", "s3"])
def test_vectors_are_embedded_on_nodes_and_reach_the_others(request, tmp_path, local, remote, monkeypatch):
    address = f"file://{tmp_path}/shared" if remote == "file" else request.getfixturevalue("object_store") if remote else None
    if address is not None:
        monkeypatch.setenv("TOUCHSTONE_CACHE_REMOTE", address)
    with nodes([{"TOUCHSTONE_CACHE": tmp_path / "first"}, {"TOUCHSTONE_CACHE": tmp_path / "second"}]) as cluster:
        done = touchstone("run", *METRICS, "--store", tmp_path / "store.sqlite", "--cluster", cluster.address,
                          environment={"TOUCHSTONE_CACHE": str(tmp_path / "own")})
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "store.sqlite") == answers(local[0])
    embedded = rows(local[1])
    assert len(embedded) > 100
    assert rows(tmp_path / "own") == embedded
    fetched = {**rows(tmp_path / "first"), **rows(tmp_path / "second")}
    assert fetched
    assert fetched.items() <= embedded.items()
    if remote == "file":
        check_damaged_objects(tmp_path, local)


def check_damaged_objects(folder: Path, local: tuple[Path, Path]) -> None:
    """Run once more with nodes that have nothing, after one object lost its end and another one byte."""
    objects = sorted((folder / "shared" / "sha256").iterdir())
    sound = {path: path.read_bytes() for path in objects}
    objects[0].write_bytes(sound[objects[0]][:-1])
    for path in objects[1:]:
        path.write_bytes(sound[path][:-1] + bytes([sound[path][-1] ^ 1]))
    with nodes([{"TOUCHSTONE_CACHE": folder / "third"}]) as cluster:
        done = touchstone("run", *METRICS, "--store", folder / "again.sqlite", "--cluster", cluster.address,
                          environment={"TOUCHSTONE_CACHE": str(folder / "own")})
    assert done.returncode == 0, done.stderr
    assert "was refused by the node" in done.stderr
    assert answers(folder / "again.sqlite") == answers(local[0])
    assert {path: path.read_bytes() for path in objects} == sound
    assert rows(folder / "third").items() <= rows(local[1]).items()


def test_a_metric_needs_no_remote_cache_where_nodes_share_a_folder(tmp_path, inputs):
    """The cache of the tests has all vectors, and nothing is written beside it."""
    before = {path: path.stat().st_size for path in inputs.cache.folder.iterdir()}
    done = touchstone("run", *METRICS, "--store", tmp_path / "store.sqlite", "--cluster", "local:1",
                      environment={"TOUCHSTONE_CACHE_REMOTE": f"file://{tmp_path}/shared"})
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_size for path in inputs.cache.folder.iterdir()} == before
    assert not os.path.exists(tmp_path / "shared" / "sha256")
