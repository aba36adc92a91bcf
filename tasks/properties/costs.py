"""What the tasks share that measure the time of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.task import NONNEGATIVE, Context, Measures, Presentation, Role, Task
from tasks.common.base import TaskSettings
from tasks.data.loading import load_corpus

MILLISECONDS, WITH_VECTORS = "milliseconds", "milliseconds_with_vectors"
MEASURES = {
    MILLISECONDS: "embedding included, on one thread of the machine of the run",
    WITH_VECTORS: "the same if the vectors of all texts are at hand",
}
BOUNDS = dict.fromkeys(MEASURES, NONNEGATIVE)


@dataclass(frozen=True)
class Cost:
    """Seconds for all comparisons of a unit without communication, and for embedding their texts."""

    comparisons: int
    seconds: float
    embedding: float                        # 0 if the metric takes no vectors


class Settings(TaskSettings):
    """Settings of a task in a suite."""

    pair: tuple[str, str]                   # sources of the first and of the second texts or corpora
    repetitions: Annotated[int, Field(ge=1, le=100)]


class CostTask(Task[Cost]):
    """A property: the time of a comparison, on texts that each unit samples anew."""

    observation_type: ClassVar[type[Any]] = Cost

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.pair)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        a, b = settings.pair
        sizes = settings.model_dump(exclude={"pair", "repetitions"})
        for repetition in range(settings.repetitions):
            yield self.unit(context, (f"{a} / {b}",), {"source_a": a, "source_b": b, **sizes, "repetition": repetition},
                            dict.fromkeys(settings.pair))

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for texts in self.draw(unit) for text in texts)

    def draw(self, unit: Unit) -> tuple[list[str], list[str]]:
        """Return the texts of both sources."""
        p, rng = unit.parameters, np.random.default_rng(unit.seed)
        a, b = (draw_texts(self.name, p[source], self.needed(unit), rng) for source in ("source_a", "source_b"))
        return a, b

    def needed(self, unit: Unit) -> int:
        """Return how many texts of each source a unit needs."""
        raise NotImplementedError

    def measure(self, unit: Unit, cost: Cost) -> Measures:
        return Measures(None, {MILLISECONDS: 1000 * (cost.seconds + cost.embedding) / cost.comparisons,
                               WITH_VECTORS: 1000 * cost.seconds / cost.comparisons})


def describe_cost(unit: str) -> Presentation:
    """Return how the board shows the measures; the unit is, for example, "ms per pair of texts"."""
    return Presentation(columns=(MILLISECONDS,), titles={MILLISECONDS: unit},
                        units=dict.fromkeys(MEASURES, unit),
                        roles={Role.MILLISECONDS: MILLISECONDS, Role.MILLISECONDS_WITH_VECTORS: WITH_VECTORS})


def draw_texts(task: str, source: str, count: int, rng: np.random.Generator) -> list[str]:
    """Return distinct texts of a corpus; raise if it has too few."""
    texts: Sequence[str] = load_corpus(source)
    if len(texts) < count:
        raise TouchstoneError(f'tasks.{task} needs {count:,} texts of "{source}", which has {len(texts):,}. Choose smaller sizes '
                              "or another source.")
    return [texts[index] for index in rng.choice(len(texts), count, replace=False)]
