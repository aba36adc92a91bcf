"""A session with one metric: tasks pass texts and get scores.

Texts are encoded as the input that the metric takes. Calls are executed in an order, and under handles, that reveal nothing about
the task; each call has its own seed, derived from the test unit and the call's position in the task's list, so the order of
execution does not matter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from harness.base.errors import NotApplicable
from harness.base.hashing import digest_of, seed_of
from harness.base.units import Unit
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.lifting import LiftingRule, lift_scores
from harness.evaluation.score_scale import ScoreScale
from harness.models.encoders import SAME_VECTOR
from harness.sandbox.faults import Fault, FaultKind
from harness.sandbox.limits import Limits
from harness.sandbox.shared_memory import Content
from harness.sandbox.worker_client import Worker
from harness.submission.submission import Entry

LIFTED_PAIRS = 1_000_000                    # a text metric without `matrix` is not applicable to more pairs
UNION_WASTE = 2.2                           # cells of one matrix of a collection against the cells that its pairs need
UNION_CELLS = 4_000_000                     # the largest such matrix, 32 MB
UNION_TOLERANCE = 1e-6                      # of its answers against those of single pairs; observed: 4e-16

CLOCK_TICK = 1e-6                           # seconds; the smallest duration reported per call
PINGS = 5                                   # calls without work, whose median time is that of the communication

Corpora = Sequence[Sequence[str]] | Sequence[np.ndarray]       # texts, or rows of vectors for metrics that take embeddings


class MetricSession:
    """One entry on one test unit. Faults of the metric are raised; the worker that caused one is replaced."""

    def __init__(self, entry: Entry, unit: Unit, inputs: InputEncoder, start: Callable[[Entry, float], Worker],
                 worker: Worker | None, limits: Limits) -> None:
        self.entry, self.unit = entry, unit
        self.worker = worker
        self._inputs, self._start, self._limits = inputs, start, limits
        self._loading_seconds = limits.seconds_to_start         # left for all workers of the test unit
        self._seconds = min(entry.header.time or math.inf, limits.seconds_per_unit)
        self._deadline = time.monotonic() + self._seconds
        remedy = "it with --seconds" if entry.header.time is None or entry.header.time > self._seconds else "`time` in its header"
        self._time_limit = f"{self._seconds:g} seconds per test unit (raise {remedy})"

    @property
    def kind(self) -> str:
        """`"corpus"` or `"text"`."""
        return self.entry.header.kind

    @property
    def is_fitted(self) -> bool:
        """Whether the metric of the current worker defines `fit`."""
        return self.worker is not None and "fit" in self.worker.functions

    @property
    def scale(self) -> ScoreScale:
        """The scale of the answers of `corpus_distances`; a lifted metric returns distances."""
        return ScoreScale("distance") if self.kind == "text" else self.pair_scale

    @property
    def pair_scale(self) -> ScoreScale:
        """The scale of the answers of `pair_scores`."""
        return ScoreScale.from_header(self.entry.header)

    def corpus_distances(self, corpora: Corpora, pairs: Sequence[tuple[int, int]], order: int = 0, first: int = 0) -> list[float]:
        """Return the metric's raw answer for each pair of corpora; a text metric is lifted.

        The calls are number `first`, `first` + 1, ... of the test unit; another `order` executes them in another order.
        """
        contents = self._contents(corpora, pairs)
        answers = self._many(self._ready(), contents, pairs, list(range(len(pairs))), order, first)
        return [require_finite(answers[t]) for t in range(len(pairs))]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts from the suite's model, for tasks with `needs_vectors`."""
        return self._inputs.cache.vectors(texts)

    def recheck_corpora(
        self, corpora: Corpora, pairs: Sequence[tuple[int, int]], indices: Sequence[int]
    ) -> list[tuple[float, float]]:
        """For each of the given positions in `pairs`, return two answers of a fresh worker that sees only that pair.

        A metric that is asked for whole collections at once has no seed of its own for a pair. Its second answer is another call
        with another seed, so a metric that draws at random answers differently.
        """
        answer_pairs = []
        contents = self._contents(corpora, [pairs[index] for index in indices])
        for index in indices:
            worker = self._fresh()
            seeds_of_again = len(pairs) if self._takes_collections(worker) else 0
            first, again = (self._many(worker, contents, pairs, [index], first=first)[index] for first in (0, seeds_of_again))
            answer_pairs.append((require_finite(first), require_finite(again)))
        return answer_pairs

    def pair_scores(self, a: Sequence[str], b: Sequence[str], call: int, collection: Sequence[str]) -> list[float]:
        """Return a text metric's raw scores of the pairs (a[0], b[0]), (a[1], b[1]), ...

        `call` numbers the call, for its seed; a metric with `fit` is fitted on the collection first.
        """
        return self._pairs(self._fitted(self._ready(), collection), a, b, call)

    def recheck_pairs(self, a: Sequence[str], b: Sequence[str], call: int, collection: Sequence[str],
                      indices: Sequence[int]) -> list[tuple[float, float]]:
        """For each of the given positions return two answers, one pair per call, of a fresh worker that sees only those pairs.

        The second answer is another call with its own seed, so a metric that draws at random answers differently.
        """
        worker = self._fitted(self._fresh(), collection)
        answers = [[self._pairs(worker, [a[index]], [b[index]], call + again)[0] for index in indices] for again in (0, 1)]
        return list(zip(*answers, strict=True))

    def _pairs(self, worker: Worker, a: Sequence[str], b: Sequence[str], call: int) -> list[float]:
        numbers = worker.call_array(self.entry.header.returns, [self._input(a), self._input(b)], (len(a),), self._seed(call))
        return [require_finite(number) for number in numbers.tolist()]

    def score_matrix(self, a: Sequence[str], b: Sequence[str], call: int, collection: Sequence[str]) -> np.ndarray | None:
        """Return a text metric's own `matrix` of a against b; None if it defines none."""
        worker = self._fitted(self._ready(), collection)
        if "matrix" not in worker.functions:
            return None
        return worker.call_array("matrix", [self._input(a), self._input(b)], (len(a), len(b)), self._seed(call))

    def same_input(self, a: Sequence[str], b: Sequence[str]) -> list[bool]:
        """Return for which pairs both texts reach the metric as the same input, for example after truncation."""
        first, second = self._input(a), self._input(b)
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            return (np.abs(first - second).max(axis=1) <= SAME_VECTOR).tolist() if len(first) else []
        return [np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y for x, y in zip(first, second, strict=True)]

    def time_corpora(self, corpora: Corpora, pairs: Sequence[tuple[int, int]], first: int = 0) -> float:
        """Return the seconds spent in the metric to prepare the corpora and to answer for the pairs.

        Communication is excluded: each call is preceded by a no-op call with the same arguments, and the median time of the no-
        ops is subtracted.
        """
        worker = self._ready()
        contents = [self._input(corpus) for corpus in corpora]
        empty_holds, empty_calls, total_seconds = [], [], 0.0
        for handle, content in enumerate(contents):
            empty_holds.append(time_call(worker.ping_with_corpus, content))
            total_seconds += time_call(worker.store_corpus, handle, content, seed_of(self.unit.id, "corpus", handle))
        for index, pair in enumerate(pairs):
            empty_calls.append(time_call(worker.ping, pair))
            total_seconds += time_call(self._answer, worker, pair, [contents[c] for c in pair], self._seed(first + index))
        overhead = sum(len(times) * float(np.median(times)) for times in (empty_holds, empty_calls) if times)
        return max(total_seconds - overhead, CLOCK_TICK * (len(corpora) + len(pairs)))

    def time_pairs(self, a: Sequence[str], b: Sequence[str], call: int, collection: Sequence[str]) -> float:
        """Return the seconds that a text metric takes for `pair_scores`, `fit` included; communication is excluded."""
        worker = self._ready()
        worker.fitted = None
        sent = [self._input(collection)] * ("fit" in worker.functions) + [self._input(a), self._input(b)]
        overhead = sum(float(np.median([time_call(worker.ping_with_corpus, content) for _ in range(PINGS)])) for content in sent)
        return max(time_call(self.pair_scores, a, b, call, collection) - overhead, CLOCK_TICK * len(a))

    def embedding_seconds(self, texts: Sequence[str]) -> float:
        """Return the seconds that one thread takes to embed texts for the metric; 0 if it takes no vectors."""
        return self._inputs.embedding_seconds(texts, self.entry)

    def peak_memory(self) -> int | None:
        """Return the peak memory of the current worker in bytes, Python and libraries included; None if unknown."""
        return None if self.worker is None else self.worker.peak_memory()

    def session_for(self, entry: Entry) -> MetricSession:
        """Return a session for another entry on this test unit.

        The current worker is stopped first, so the two never run together.
        """
        self.stop_worker()
        other = MetricSession(entry, self.unit, self._inputs, self._start, None, self._limits)
        other.start()
        other._deadline = self._deadline
        return other

    def _fitted(self, worker: Worker, collection: Sequence[str]) -> Worker:
        """Return the worker, fitted on the collection unless its last fit was on the same one.

        The seed is derived from the collection, so it does not matter when the fit happens.
        """
        if "fit" in worker.functions:
            name = digest_of(list(collection))
            if worker.fitted != name:
                worker.fitted = None        # until the fit has succeeded
                worker.fit(self._input(collection), seed_of("fit", name))
                worker.fitted = name
        return worker

    def _input(self, texts: Sequence[str] | np.ndarray) -> Content:
        return texts if isinstance(texts, np.ndarray) else self._inputs.of(texts, self.entry)

    def _contents(self, corpora: Corpora, pairs: Sequence[tuple[int, int]]) -> dict[int, Content]:
        """Return the encoded input of each corpus that occurs in a pair."""
        return {c: self._input(corpora[c]) for c in {c for pair in pairs for c in pair}}

    def start(self) -> None:
        """Start a worker and then the test unit's time; raise a fault if the entry cannot be loaded."""
        self._started()
        self._deadline = time.monotonic() + self._seconds

    def stop_worker(self) -> None:
        """Stop the worker; the next call starts a fresh one."""
        if self.worker is not None:
            self.worker.close()

    def _ready(self) -> Worker:
        """Return the current worker, without corpora of earlier calls."""
        worker = self._bounded(self._started())
        worker.clear_corpora()
        return worker

    def _started(self) -> Worker:
        """Return the current worker, or a fresh one if it has ended."""
        if self.worker is None or not self.worker.alive:
            started = time.monotonic()
            self.worker = self._start(self.entry, started + self._loading_seconds)
            loading = time.monotonic() - started
            self._loading_seconds -= loading
            self._deadline += loading           # imports do not count as answering time
        return self.worker

    def _bounded(self, worker: Worker) -> Worker:
        """Apply the deadline of the test unit to a worker."""
        worker.deadline, worker.time_limit = self._deadline, self._time_limit
        return worker

    def _fresh(self) -> Worker:
        """Start a fresh worker. The previous worker is stopped first so that the two cannot communicate.

        The fresh worker remains in use, so the next test unit need not start another.
        """
        self.stop_worker()
        return self._bounded(self._started())

    def _many(self, worker: Worker, contents: Mapping[int, Content], pairs: Sequence[tuple[int, int]],
              indices: Sequence[int], order: int = 0, first: int = 0) -> dict[int, float]:
        """Return answers by position, called in an order and under handles that are derived from the test unit's seed.

        A lifted metric with `matrix` gets one call for a collection whose pairs are about all pairs of its corpora.
        """
        rng = np.random.default_rng([self.unit.seed, len(indices), order])
        answers: dict[int, float] = {}
        if self._takes_collections(worker):
            for group in connected_pairs(pairs, indices):
                if fits_union([len(contents[c]) for c in {c for index in group for c in pairs[index]}],
                              [(len(contents[pairs[index][0]]), len(contents[pairs[index][1]])) for index in group]):
                    answers |= self._by_union(worker, contents, {index: pairs[index] for index in group}, rng,
                                              self._seed(first + min(group)))
            indices = [index for index in indices if index not in answers]
        needed = sorted({c for index in indices for c in pairs[index]})
        handles = dict(zip(needed, rng.choice(1 << 30, len(needed), replace=False).tolist(), strict=True))
        shuffled = [indices[i] for i in rng.permutation(len(indices))]
        for c in rng.permutation(needed).tolist():
            worker.store_corpus(handles[c], contents[c], seed_of(self.unit.id, "corpus", c))
        if self.kind == "corpus":
            calls = [([handles[c] for c in pairs[index]], self._seed(first + index)) for index in shuffled]
            return dict(zip(shuffled, worker.call_many(self.entry.header.returns, calls), strict=True))
        for index in shuffled:
            pair = pairs[index]
            answers[index] = self._answer(worker, [handles[c] for c in pair], [contents[c] for c in pair],
                                          self._seed(first + index))
        return answers

    def _takes_collections(self, worker: Worker) -> bool:
        """Return whether one call can answer for many pairs of corpora."""
        return self.kind == "text" and "matrix" in worker.functions and "fit" not in worker.functions

    def _by_union(self, worker: Worker, contents: Mapping[int, Content], pairs: Mapping[int, tuple[int, int]],
                  rng: np.random.Generator, seed: int) -> dict[int, float]:
        """Return a lifted metric's answers from one matrix of all texts of the pairs, in a random order of the corpora.

        They are those of single pairs up to `UNION_TOLERANCE`, unless the metric draws at random or depends on the batch.
        """
        corpora = rng.permutation(sorted({c for pair in pairs.values() for c in pair})).tolist()
        texts = concatenate(*(contents[c] for c in corpora))
        ends = np.cumsum([len(contents[c]) for c in corpora]).tolist()
        rows_of = {c: slice(end - len(contents[c]), end) for c, end in zip(corpora, ends, strict=True)}
        whole = worker.call_array("matrix", [texts, texts], (len(texts), len(texts)), seed)
        rule = LiftingRule.of(self.entry.header)
        return {index: lift_scores(require_all_finite(whole[rows_of[i], rows_of[j]]), rule) for index, (i, j) in pairs.items()}

    def _answer(self, worker: Worker, handles: Sequence[int], contents: Sequence[Content], seed: int) -> float:
        """Return the metric's answer for two corpora that the worker holds; a text metric is lifted."""
        if self.kind == "corpus":
            return worker.call(self.entry.header.returns, handles, seed)
        return lift_scores(self._cross(worker, handles, contents, seed), LiftingRule.of(self.entry.header))

    def _seed(self, call: int) -> int:
        return seed_of(self.unit.id, "call", call)

    def _cross(self, worker: Worker, handles: Sequence[int], contents: Sequence[Content], seed: int) -> np.ndarray:
        """Return a text metric's scores of all pairs of texts of two corpora that the worker holds."""
        g, t = contents
        shape = len(g), len(t)
        if "fit" in worker.functions:
            worker.fitted = None
            worker.fit(concatenate(g, t), seed)
        if "matrix" in worker.functions:
            cross = worker.call_array("matrix", handles, shape, seed)
        elif math.prod(shape) > LIFTED_PAIRS:
            raise NotApplicable(f"it has no `matrix`, and {len(g):,} x {len(t):,} pairs are too many to score one by one")
        else:
            rows, columns = (side.ravel().tolist() for side in np.indices(shape))
            function = self.entry.header.returns
            cross = worker.call_array(function, [take_rows(g, rows), take_rows(t, columns)], (len(rows),), seed).reshape(shape)
        return require_all_finite(cross)


def concatenate(*contents: Content) -> Content:
    """Return the texts of some corpora as one input."""
    if isinstance(contents[0], np.ndarray):
        return np.concatenate(contents)
    return cast(Content, [text for texts in contents for text in texts])


def connected_pairs(pairs: Sequence[tuple[int, int]], indices: Sequence[int]) -> list[list[int]]:
    """Return the positions of pairs in groups that share no corpus."""
    groups: list[tuple[set[int], list[int]]] = []
    for index in indices:
        corpora, members = set(pairs[index]), [index]
        for group in [group for group in groups if group[0] & corpora]:
            groups.remove(group)
            corpora, members = corpora | group[0], group[1] + members
        groups.append((corpora, members))
    return [members for _, members in groups]


def fits_union(sizes: Sequence[int], pair_sizes: Sequence[tuple[int, int]]) -> bool:
    """Return whether one matrix of all texts is small, and not much larger than the matrices of the pairs together."""
    cells = sum(sizes) ** 2
    return cells <= min(UNION_CELLS, UNION_WASTE * sum(rows * columns for rows, columns in pair_sizes))


def take_rows(content: Content, rows: list[int]) -> Content:
    """Return the selected rows of an input."""
    return content[rows] if isinstance(content, np.ndarray) else cast(Content, [content[row] for row in rows])


def time_call(call: Callable[..., object], *arguments: object) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - started


def require_finite(answer: float) -> float:
    """Return the answer, or raise a fault if it is not finite."""
    if not math.isfinite(answer):
        raise not_finite_fault(answer)
    return answer


def require_all_finite(cross: np.ndarray) -> np.ndarray:
    """Return the scores, or raise a fault if one is not finite."""
    if not np.isfinite(cross).all():
        raise not_finite_fault(cross[~np.isfinite(cross)][0])
    return cross


def not_finite_fault(answer: float) -> Fault:
    """Return the fault of an answer that is not finite."""
    return Fault(FaultKind.FORM, f"answered {answer}; every answer must be finite")
