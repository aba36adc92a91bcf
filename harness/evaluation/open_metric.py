"""Open one metric in the sandbox outside of a run, for notebooks and for commands that need a few scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.base.errors import NotApplicable, TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress, Progress
from harness.base.units import Source, Unit
from harness.environments.environment import prepare_environments
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.models.package_index import fetch_models
from harness.models.registry import model_fingerprint
from harness.models.vector_cache import VectorCache
from harness.sandbox.faults import Fault
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries
from harness.submission.submission import Entry

SUITE_MODEL = "minilm"                      # the embedding model of the default suite


class OpenMetric:
    """A metric that is open in the sandbox; scores are raw answers with the direction and range of `scale`."""

    def __init__(self, session: MetricSession, encoder: InputEncoder, progress: Progress) -> None:
        self.entry = session.entry
        self._session, self._encoder, self._progress = session, encoder, progress
        self._calls = count()

    @property
    def scale(self) -> ScoreScale:
        """The direction and range of `pair_scores` and `score_matrix`, or of `corpus_distance` for a corpus metric."""
        return self._session.pair_scale

    def pair_scores(self, a: Sequence[str], b: Sequence[str], collection: Sequence[str] | None = None) -> np.ndarray:
        """Return a text metric's scores of the pairs (a[0], b[0]), (a[1], b[1]), ...

        Args:
            a: First texts.
            b: Second texts, as many as first ones.
            collection: Texts that a metric with `fit` is fitted on; default: all texts of `a` and `b`.
        """
        if isinstance(a, str) or isinstance(b, str):
            raise TouchstoneError('pair_scores needs two sequences of texts, such as ["a text"] and ["another"], not strings.')
        if len(a) != len(b):
            raise TouchstoneError(f"pair_scores needs two sequences of equal length; they have {len(a):,} and {len(b):,} texts.")
        with self._call("text", [*a, *b], collection) as fit_texts:
            return np.array(self._session.pair_scores(a, b, next(self._calls), fit_texts))

    def score_matrix(self, a: Sequence[str], b: Sequence[str], collection: Sequence[str] | None = None) -> np.ndarray:
        """Return a text metric's scores of all pairs, one row per text of `a`."""
        with self._call("text", [*a, *b], collection) as fit_texts:
            matrix = self._session.score_matrix(a, b, next(self._calls), fit_texts)
            if matrix is None:
                rows, columns = np.indices((len(a), len(b))).reshape(2, -1).tolist()
                scores = self._session.pair_scores([a[i] for i in rows], [b[j] for j in columns], next(self._calls), fit_texts)
                matrix = np.array(scores).reshape(len(a), len(b))
            return matrix

    def corpus_distance(self, p: Sequence[str], q: Sequence[str]) -> float:
        """Return the distance of two corpora: larger means more different; a text metric is lifted."""
        if isinstance(p, str) or isinstance(q, str):
            raise TouchstoneError("corpus_distance needs two sequences of texts, not strings.")
        with self._call(self._session.kind, [*p, *q], ()):
            answer = self._session.corpus_distances([p, q], [(0, 1)], first=next(self._calls))
        return float(self._session.scale.as_distance(np.array(answer))[0])

    def peak_memory(self) -> int | None:
        """Return the peak memory of the metric in bytes; None if unknown."""
        return self._session.peak_memory()

    @contextmanager
    def _call(self, kind: str, texts: Sequence[str], collection: Sequence[str] | None) -> Iterator[list[str]]:
        """Prepare a call and yield the texts for `fit`; convert faults to TouchstoneError."""
        if self._session.kind != kind:
            raise TouchstoneError(f'"{self.entry.name}" is a corpus metric: it compares two corpora, not pairs of texts. '
                                  "Use corpus_distance.")
        fit_texts = list(dict.fromkeys(texts if collection is None else collection))
        try:
            self._session.start()
            if self.entry.takes_vectors:
                needed = {*texts, *fit_texts} if self._session.is_fitted else set(texts)
                self._encoder.vectors_for(self.entry.vectors).fill(needed, self._progress, 1)
            yield fit_texts
        except (Fault, NotApplicable) as problem:
            raise TouchstoneError(f"{self.entry.name} failed: {problem}.") from None


@contextmanager
def open_metric(metric: Entry | str | Path, *, model: str = SUITE_MODEL, limits: Limits | None = None, trust: bool = False,
                progress: Progress | None = None, vectors: Path | None = None) -> Iterator[OpenMetric]:
    """Open a metric in the sandbox, as in any run, and close it at the end of the block.

    Args:
        metric: An entry, the name of a submission (`"cosine"`, `"pr[k=5]"`), or the path of a submission file.
        model: The embedding model behind `input = "embeddings"`, `"token_embeddings"` and `"tokens"`.
        limits: Time, memory and other limits of each call.
        trust: Disable the sandbox, for code that you have reviewed.
        progress: Receives messages and progress; default: none.
        vectors: Folder in which vectors are cached; default: they are not cached.

    Raises:
        TouchstoneError: The metric cannot be loaded or a call fails; the message says why.

    Examples:
        >>> with open_metric("jaccard") as metric:
        ...     metric.pair_scores(["the train is late"], ["the train was late"])
        array([0.6])
    """
    progress = progress or NoProgress()
    entry = metric if isinstance(metric, Entry) else select_entries([str(metric)], SUBMISSIONS)[0]
    slot = WorkerSlot(prepare_conditions([entry], limits or Limits(), trust, progress))
    with TemporaryDirectory() as folder:
        encoder = InputEncoder(VectorCache(model, vectors or Path(folder)))
        unit = Unit("open_metric", 1, (), {}, (), Source(model, model_fingerprint(model)), 0)
        session = MetricSession(entry, unit, encoder, slot.start, None, slot.limits)
        try:
            yield OpenMetric(session, encoder, progress)
        finally:
            session.stop_worker()
            slot.close()


def prepare_conditions(entries: Sequence[Entry], limits: Limits, trust: bool, progress: Progress, *,
                       watched: bool = False) -> Conditions:
    """Fetch the models of entries, prepare their environments, and probe the sandbox; raise if an entry cannot be run here."""
    fetch_models((name for entry in entries for name in entry.header.models), progress)
    environments, refused = prepare_environments(entries, limits, progress)
    if refused:
        raise TouchstoneError(refused[0])
    return Conditions(probe_sandbox(trust), limits, environments, watched)
