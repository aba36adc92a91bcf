"""Score texts of a user with fast metrics: two texts, or two corpora; nothing is stored.

Metrics run in the sandbox as in any run. A distance of two corpora says little by itself, so each corpus is also split into
random halves: the distances between halves of the same corpus show what chance does at this size.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.base.errors import NotApplicable, TouchstoneError
from harness.base.hashing import digest_of, seed_of
from harness.base.paths import SUBMISSIONS
from harness.base.units import Source, Unit
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import MetricSession
from harness.models.embedding_process import EmbeddingProcess
from harness.models.registry import find_model
from harness.models.vector_cache import VectorCache
from harness.sandbox.faults import Fault, SupervisorLost
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.dependencies import unmet_dependencies
from harness.submission.selection import select_entries
from harness.submission.submission import Entry

# Fast metrics without `fit` that need no model but the suite's.
PAIR_METRICS = ("cosine", "word_overlap", "jaccard", "dice_bigrams", "containment", "levenshtein", "chrf", "bleu_sentence",
                "rouge1", "rouge2", "rouge_l")
CORPUS_METRICS = ("energy", "mmd", "sliced_wasserstein", "medoid", "fid", "cosine", "chi", "zipf", "vocabulary_jsd", "self_bleu",
                  "jaccard", "levenshtein")
TEXT_CHARACTERS = 5_000
CORPUS_TEXTS, FEWEST_TEXTS = 200, 4         # two texts per half
LINE_CHARACTERS = 1_000
SPLITS = 5
SEED = 7
LIMITS = Limits(seconds_per_unit=5.0, seconds_to_start=20.0, processor_seconds=60, memory_bytes=2_000_000_000, threads=8)
SECONDS = 30.0                              # seconds for all metrics together

LOCK = threading.Lock()                   # held while a request is processed
SessionCall = Callable[[MetricSession], Sequence[float]]


class TryBusy(Exception):
    """Another request is being processed."""


@dataclass(frozen=True)
class TriedMetric:
    """The answers of one metric, or why there are none."""

    entry: Entry
    values: tuple[float, ...]               # one score for a pair of texts; for corpora those that `HalfDistances` reads
    failure: str | None = None


@dataclass(frozen=True)
class HalfDistances:
    """Distances of two corpora and of their halves; larger means more different."""

    whole: float
    across: tuple[float, ...]               # between halves of different corpora
    within: tuple[float, ...]               # between halves of the same corpus

    @property
    def apart(self) -> bool:
        """Whether halves of different corpora are always further apart than halves of the same one."""
        return min(self.across) > max(self.within)


def try_texts(a: str, b: str, model: str) -> list[TriedMetric]:
    """Return the scores of two texts by all fast text metrics; raise if a text is empty or too long."""
    for name, text in (("first", a), ("second", b)):
        if not text.strip():
            raise TouchstoneError(f"The {name} text is empty; enter a text.")
        if len(text) > TEXT_CHARACTERS:
            raise TouchstoneError(f"The {name} text has {len(text):,} characters; up to {TEXT_CHARACTERS:,} are accepted. "
                                  "Shorten it.")
    texts = [replace_surrogates(a), replace_surrogates(b)]
    return run_exclusively(PAIR_METRICS, texts, model, lambda session: session.pair_scores(texts[:1], texts[1:], 0, texts))


def try_corpora(a: str, b: str, model: str) -> list[TriedMetric]:
    """Return the distances of two corpora (one text per line) and of their halves by all fast corpus metrics."""
    p, q = (split_lines("first", a), split_lines("second", b))
    collection, pairs = split_in_halves(p, q)
    return run_exclusively(
        CORPUS_METRICS,
        [*p, *q],
        model,
        lambda session: session.scale.as_distance(np.array(session.corpus_distances(collection, pairs))).tolist(),
    )


def split_lines(name: str, text: str) -> list[str]:
    """Return the texts of a pasted corpus; raise if there are too few, too many or too long ones."""
    texts = [replace_surrogates(line.strip()) for line in text.splitlines() if line.strip()]
    if not FEWEST_TEXTS <= len(texts) <= CORPUS_TEXTS:
        raise TouchstoneError(f"Corpora of {FEWEST_TEXTS} to {CORPUS_TEXTS} texts are accepted, one per line; the {name} corpus "
                              f"has {len(texts):,}.")
    longest = max(map(len, texts))
    if longest > LINE_CHARACTERS:
        raise TouchstoneError(f"A text of the {name} corpus has {longest:,} characters; shorten it to {LINE_CHARACTERS:,}.")
    return texts


def replace_surrogates(text: str) -> str:
    """Return the text with unpaired surrogates replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_in_halves(p: Sequence[str], q: Sequence[str]) -> tuple[list[list[str]], list[tuple[int, int]]]:
    """Return the corpora and random halves of both, and the pairs to compare: the whole corpora, then p-q, p-p, q-q per split.

    All halves have half the size of the smaller corpus, because distances depend on the size.
    """
    rng, size = np.random.default_rng(SEED), min(len(p), len(q)) // 2
    collection, pairs = [list(p), list(q)], [(0, 1)]
    for _ in range(SPLITS):
        first = len(collection)
        for corpus in (p, q):
            rows = rng.permutation(len(corpus))[:2 * size].tolist()
            collection += [[corpus[row] for row in rows[:size]], [corpus[row] for row in rows[size:]]]
        pairs += [(first, first + 2), (first, first + 1), (first + 2, first + 3)]
    return collection, pairs


def read_halves(values: Sequence[float]) -> HalfDistances:
    """Return the distances in the order of `split_in_halves`."""
    return HalfDistances(values[0], tuple(values[1::3]), (*values[2::3], *values[3::3]))


def run_exclusively(names: Sequence[str], texts: Sequence[str], model: str, question: SessionCall) -> list[TriedMetric]:
    """Return every metric's answers about some texts; one request at a time, within a time limit."""
    if not LOCK.acquire(blocking=False):
        raise TryBusy
    try:
        return run_in_turn(names, texts, model, question)
    finally:
        LOCK.release()


def run_in_turn(names: Sequence[str], texts: Sequence[str], model: str, question: SessionCall) -> list[TriedMetric]:
    """Run the metrics in order; those without vectors run while a subprocess embeds the texts."""
    entries = [entry for entry in select_entries(names, SUBMISSIONS)
               if entry.variant is None and not unmet_dependencies(entry.header)]
    slot, until, results = WorkerSlot(Conditions(probe_sandbox(), LIMITS)), time.monotonic() + SECONDS, {}

    def ask_all(some: Sequence[Entry], cache: VectorCache) -> None:
        inputs = InputEncoder(cache)
        for entry in some:
            late = time.monotonic() > until
            results[entry.name] = TriedMetric(entry, (), f"was not run: the {SECONDS:.0f} seconds were up") if late \
                else run_metric(slot, entry, texts, inputs, question)

    of_vectors = [entry for entry in entries if entry.header.input == "embeddings"]
    others = [entry for entry in entries if entry not in of_vectors]
    with TemporaryDirectory() as folder, closing(slot):
        cache = VectorCache(model, Path(folder))
        try:
            find_model(model).path()        # raises for a paid web API, which would charge the owner of the server
            with closing(EmbeddingProcess(cache, texts, len(os.sched_getaffinity(0)))) as embedding:
                ask_all(others, cache)
                require_embedded(embedding.wait(until - time.monotonic()))
            cache.refresh()
            ask_all(of_vectors, cache)
        except TouchstoneError as wrong:
            ask_all([entry for entry in others if entry.name not in results], cache)
            results |= {entry.name: TriedMetric(entry, (), f"was not run: {wrong}") for entry in of_vectors}
    return [results[entry.name] for entry in entries]


def require_embedded(code: int | None) -> None:
    """Raise unless the process that embeds has ended without error."""
    if code is None:
        raise TouchstoneError("The texts could not be embedded in time; try fewer or shorter texts.")
    if code:
        raise TouchstoneError("The texts could not be embedded; the error is in the output of the server.")


def run_metric(slot: WorkerSlot, entry: Entry, texts: Sequence[str], inputs: InputEncoder, question: SessionCall) -> TriedMetric:
    """Run one metric and return its answers or its failure."""
    model = Source(inputs.cache.model.name, inputs.cache.model.fingerprint)
    unit = Unit("trying", 1, (), {"texts": digest_of(list(texts))}, (), model, seed_of(SEED, "trying"))
    session = MetricSession(entry, unit, inputs, slot.start, None, LIMITS)
    try:
        session.start()
        return TriedMetric(entry, tuple(question(session)))
    except (Fault, NotApplicable, SupervisorLost) as wrong:
        return TriedMetric(entry, (), wrong.sentence if isinstance(wrong, Fault) else str(wrong))
    finally:
        session.stop_worker()
