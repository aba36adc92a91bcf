"""Embed texts on the nodes of a cluster in the batches of a local run, so that machines of one kind give the same vectors."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator

import numpy as np
from distributed import Future

from harness.evaluation.cluster.connection import CHECK_SECONDS, Connection
from harness.evaluation.cluster.node import embed_on_node
from harness.models.embedding_process import EmbeddingProcess
from harness.models.vector_cache import VectorCache, hash_text

PORTION_TEXTS = 512                         # sent to a node together: some seconds of work
Batches = list[list[str]]


class ClusterEmbedding:
    """Fills a vector cache; a child process plans the batches, nodes embed them."""

    def __init__(self, cluster: Connection, cache: VectorCache, texts: Iterable[str]) -> None:
        self._cluster, self._cache, self._texts = cluster, cache, sorted(set(texts))
        self._plan = EmbeddingProcess(cache, self._texts, 1, "plan")
        self._sent: dict[str, tuple[Future, Batches]] = {}      # by key
        self._results: queue.SimpleQueue[Future | None] = queue.SimpleQueue()

    def advances(self) -> Iterator[float]:
        """Yield how many texts have got vectors, whenever some have."""
        portions = list(self._portions())
        self._texts.clear()
        while portions or self._sent:
            while portions and len(self._sent) < 2 * max(1, self._cluster.threads):
                self._send(portions.pop())
            try:
                future = self._results.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                lost = self._cluster.lost(future for future, _ in self._sent.values())
                portions += [self._sent.pop(key)[1] for key in lost]
                continue
            if future is None:
                return
            if future.key in self._sent and future.status != "lost":
                _, batches = self._sent.pop(future.key)
                vectors: list[np.ndarray] = self._cluster.result(future, "texts were embedded")
                yield self._cache.add([hash_text(text) for batch in batches for text in batch], np.concatenate(vectors))

    def close(self) -> None:
        """Cancel what is not embedded yet."""
        self._plan.close()
        self._cluster.cancel([future for future, _ in self._sent.values()])
        self._results.put(None)

    def _send(self, batches: Batches) -> None:
        future = self._cluster.submit(embed_on_node, self._cache.model.name, batches)
        self._sent[future.key] = future, batches
        future.add_done_callback(self._results.put)

    def _portions(self) -> Iterator[Batches]:
        """Yield whole batches with texts that have no vector, in portions."""
        portion: Batches = []
        for rows in self._plan.advances():
            batch = [self._texts[row] for row in rows]
            if not all(map(self._cache.has, batch)):
                portion.append(batch)
            if sum(map(len, portion)) >= PORTION_TEXTS:
                yield portion
                portion = []
        if portion:
            yield portion
