"""Score texts of a user with fast metrics: two texts, or two corpora; nothing is stored.

Metrics run in the sandbox as in any run. A distance of two corpora says little by itself, so each corpus is also split into
random halves: the distances between halves of the same corpus show what chance does at this size.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from harness.base.errors import NotApplicable, TouchstoneError
from harness.base.hashing import digest_of, seed_of
from harness.base.paths import SUBMISSIONS
from harness.base.units import Source, Unit
from harness.environments.environment import HARNESS_ENVIRONMENT
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import MetricSession
from harness.models.embedding_process import ResidentEmbedding
from harness.models.vector_cache import VectorsInMemory
from harness.sandbox.faults import Fault, SupervisorLost
from harness.sandbox.layers import WorkerEnvironment
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.dependencies import unmet_dependencies
from harness.submission.selection import select_entries
from harness.submission.submission import Entry

# Fast metrics without `fit` that need no model but the suite's.
PAIR_METRICS = ("cosine", "word_overlap", "jaccard", "dice_bigrams", "containment", "levenshtein", "chrf", "bleu_sentence",
                "rouge1", "rouge2", "rouge_l")
CORPUS_METRICS = ("energy", "mmd", "sliced_wasserstein", "medoid", "fid", "cosine", "mauve", "pr", "dc", "classifier", "irpr",
                  "chi", "zipf", "vocabulary_jsd", "self_bleu", "jaccard", "levenshtein")
TEXT_CHARACTERS = 5_000
CORPUS_TEXTS, FEWEST_TEXTS = 2_000, 4       # two texts per half
LINE_CHARACTERS = 1_000
MOST_TEXTS = {"levenshtein": 300, "mauve": 1_000, "classifier": 1_000}     # of each corpus: one to two seconds
EMBEDDED_CHARACTERS = 150_000               # of both corpora: about eight processor seconds with MiniLM
SPLITS = 5
SEED = 7
LIMITS = Limits(seconds_per_unit=10.0, seconds_to_start=20.0, processor_seconds=60, memory_bytes=2_000_000_000, threads=8)
SECONDS = 60.0                              # for all metrics together
PATIENCE = 0.5                              # seconds to wait for vectors before metrics without vectors go first

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
    drawn: int | None = None                # texts drawn from each larger corpus; None: all texts

    @property
    def takes_vectors(self) -> bool:
        """Whether the metric is based on embeddings rather than on words and characters."""
        return takes_vectors(self.entry)


class Trial(NamedTuple):
    """A metric with its question."""

    entry: Entry
    ask: SessionCall
    drawn: int | None = None


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


def try_texts(a: str, b: str, model: str, names: Sequence[str] = PAIR_METRICS) -> Iterator[TriedMetric]:
    """Return an iterator over the scores of two texts by text metrics, as they answer; raise if a text is empty or too long."""
    for name, text in (("first", a), ("second", b)):
        if not text.strip():
            raise TouchstoneError(f"The {name} text is empty; enter a text.")
        if len(text) > TEXT_CHARACTERS:
            raise TouchstoneError(f"The {name} text has {len(text):,} characters; up to {TEXT_CHARACTERS:,} are accepted. "
                                  "Shorten it.")
    texts = [replace_surrogates(a), replace_surrogates(b)]
    return run_exclusively([Trial(entry, lambda session: session.pair_scores(texts[:1], texts[1:], 0, texts))
                            for entry in select_fast(names)], texts, model)


def try_corpora(a: str, b: str, model: str, names: Sequence[str] = CORPUS_METRICS) -> Iterator[TriedMetric]:
    """Return an iterator over the distances of two corpora (one text per line) and of their halves, as metrics answer.

    A metric that would take too long gets texts that are drawn at random.
    """
    p, q = (shuffle(split_lines("first", a)), shuffle(split_lines("second", b)))
    embedded = max(FEWEST_TEXTS, int(EMBEDDED_CHARACTERS / sum(sum(map(len, corpus)) / len(corpus) for corpus in (p, q))))
    trials = []
    for entry in select_fast(names):
        most = min(MOST_TEXTS.get(entry.name, CORPUS_TEXTS), embedded if takes_vectors(entry) else CORPUS_TEXTS)
        trials.append(Trial(entry, ask_halves(p[:most], q[:most]), most if max(len(p), len(q)) > most else None))
    return run_exclusively(trials, [*p[:embedded], *q[:embedded]], model)


def ask_halves(p: Sequence[str], q: Sequence[str]) -> SessionCall:
    """Return the question for the distances of two corpora and of their halves."""
    collection, pairs = split_in_halves(p, q)
    return lambda session: session.scale.as_distance(np.array(session.corpus_distances(collection, pairs))).tolist()


def select_fast(names: Sequence[str]) -> list[Entry]:
    """Return the entries of these names that can be run here, without variants, in the same order."""
    entries = [entry for entry in select_entries(names, SUBMISSIONS)
               if entry.variant is None and not unmet_dependencies(entry.header)]
    return sorted(entries, key=lambda entry: names.index(entry.name))


def takes_vectors(entry: Entry) -> bool:
    """Return whether an entry takes vectors of the suite's model."""
    return entry.takes_vectors


def shuffle(texts: Sequence[str]) -> list[str]:
    """Return the texts in an order in which every beginning is a random draw."""
    return [texts[row] for row in np.random.default_rng(SEED).permutation(len(texts)).tolist()]


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


# ---- running ------------------------------------------------------------------------------------------------------------

Answers = SimpleQueue[TriedMetric | Exception | None]     # None: no more come


class Runner:
    """The thread in which metrics run, because a sandbox ends with its thread; sandboxes and the embedding process stay warm."""

    def __init__(self) -> None:
        self._thread, self._embedding_thread = ThreadPoolExecutor(1, "try-metrics"), ThreadPoolExecutor(1, "try-embedding")
        self._slots: dict[WorkerEnvironment, WorkerSlot] = {}
        self._embedding: ResidentEmbedding | None = None
        self.warming = False

    def is_warm(self, model: str) -> bool:
        """Return whether the model is loaded, or will be without another request."""
        return self.warming or (self._embedding is not None and self._embedding.model == model and self._embedding.alive)

    def submit(self, function: Callable[[], None]) -> None:
        """Call a function in the thread of the metrics."""
        self._thread.submit(function)

    def slot_for(self, entry: Entry) -> WorkerSlot:
        """Return the slot whose sandbox has the environment of an entry."""
        ground = HARNESS_ENVIRONMENT.ground(entry.submission)
        if ground not in self._slots:
            self._slots[ground] = WorkerSlot(Conditions(probe_sandbox(), LIMITS))
        return self._slots[ground]

    def embed(self, model: str, texts: Sequence[str], seconds: float) -> Future[VectorsInMemory]:
        """Return the future vectors of texts; the process that computes them keeps its model loaded."""
        if self._embedding is None or self._embedding.model != model:
            if self._embedding is not None:
                self._embedding.close()
            self._embedding = ResidentEmbedding(model, len(os.sched_getaffinity(0)))
        return self._embedding_thread.submit(self._embedding.embed, texts, seconds)

    def close(self) -> None:
        """End all sandboxes and the embedding process."""
        for slot in self._slots.values():
            slot.close()
        self._slots.clear()
        if self._embedding is not None:
            self._embedding.close()


RUNNER = Runner()
atexit.register(RUNNER.close)


def warm_up(model: str) -> None:
    """Start the embedding process and the sandboxes of text metrics, so that the first request need not wait for them."""
    if not RUNNER.is_warm(model):
        RUNNER.warming = True
        RUNNER.submit(lambda: start_processes(model))


def start_processes(model: str) -> None:
    """Load the model, and start a worker of each environment."""
    try:
        RUNNER.embed(model, [""], SECONDS)
        for entry in {HARNESS_ENVIRONMENT.ground(entry.submission): entry for entry in select_fast(PAIR_METRICS)}.values():
            RUNNER.slot_for(entry).start(entry).close()
    finally:
        RUNNER.warming = False


def run_exclusively(trials: Sequence[Trial], texts: Sequence[str], model: str) -> Iterator[TriedMetric]:
    """Yield every metric's answers as they come; one request at a time, within a time limit.

    The request runs to its end even if nobody takes the answers.
    """
    if not LOCK.acquire(blocking=False):
        raise TryBusy
    answers: Answers = SimpleQueue()
    RUNNER.submit(lambda: run_all(trials, texts, model, answers))
    while (answer := answers.get()) is not None:
        if isinstance(answer, Exception):
            raise answer
        yield answer


def run_all(trials: Sequence[Trial], texts: Sequence[str], model: str, answers: Answers) -> None:
    """Run metrics in order and put their answers into a queue; those that take vectors wait until the texts are embedded."""
    try:
        until = time.monotonic() + SECONDS
        future, pending = RUNNER.embed(model, texts, SECONDS), list(trials)
        plain = InputEncoder(VectorsInMemory(model, [], np.empty((0, 0), np.float32)))
        encoders: dict[bool, InputEncoder] = {False: plain}
        wait([future], PATIENCE)
        while pending and threading.main_thread().is_alive():       # else the program waits for this thread before it ends
            trial = next((trial for trial in pending if future.done() or not takes_vectors(trial.entry)), None)
            if trial is None:
                wait([future])
                continue
            pending.remove(trial)
            vectors = takes_vectors(trial.entry)
            if vectors and (error := future.exception()) is not None:
                answers.put(TriedMetric(trial.entry, (), f"was not run: {describe_failure(error)}"))
            elif time.monotonic() > until:
                answers.put(TriedMetric(trial.entry, (), f"was not run: the time limit of {SECONDS:.0f} seconds was reached"))
            else:
                if vectors and vectors not in encoders:
                    encoders[vectors] = InputEncoder(future.result())
                answers.put(run_metric(RUNNER.slot_for(trial.entry), trial, texts, encoders[vectors]))
    except Exception as error:              # noqa: BLE001  # raised again in the thread that takes the answers
        answers.put(error)
    finally:
        LOCK.release()
        answers.put(None)


def describe_failure(error: BaseException) -> str:
    """Return why there are no vectors; other errors than ours are raised again."""
    if not isinstance(error, TouchstoneError):
        raise error
    return str(error)


def run_metric(slot: WorkerSlot, trial: Trial, texts: Sequence[str], inputs: InputEncoder) -> TriedMetric:
    """Run one metric and return its answers or its failure."""
    model = Source(inputs.cache.model.name, inputs.cache.model.fingerprint)
    unit = Unit("trying", 1, (), {"texts": digest_of(list(texts))}, (), model, seed_of(SEED, "trying"))
    session = MetricSession(trial.entry, unit, inputs, slot.start, None, LIMITS)
    try:
        session.start()
        return TriedMetric(trial.entry, tuple(trial.ask(session)), drawn=trial.drawn)
    except (Fault, NotApplicable, SupervisorLost) as error:
        return TriedMetric(trial.entry, (), error.sentence if isinstance(error, Fault) else str(error), trial.drawn)
    finally:
        session.stop_worker()
