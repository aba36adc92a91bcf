"""Base classes of settings and of tasks that pool observations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.task import Measures, Task
from harness.submission.header import Header

Observation = TypeVar("Observation")


class TaskSettings(BaseModel):
    """Settings of a task in a suite; unknown names and wrong types are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def replace_datasets(cls, table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Return the table of the task in a suite with other datasets; by default those of its field `datasets`.

        A task whose datasets have other fields overrides this, or can be given other datasets in a suite file only.
        """
        if "datasets" not in cls.model_fields:
            raise TouchstoneError("its datasets differ in their roles; name them in a suite file, see docs/own_data.md.")
        return {**table, "datasets": names}


class SourcesSettings(TaskSettings):
    """Settings of a task whose sources are tables with a name."""

    @classmethod
    def replace_datasets(cls, table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        return {**table, "sources": [{"name": name} for name in names]}


class PairsSettings(TaskSettings):
    """Settings of a task that needs two different sources for each pair."""

    pairs: Annotated[tuple[tuple[str, str], ...], Field(min_length=1)]

    @classmethod
    def replace_datasets(cls, table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        if len(names) % 2:
            raise TouchstoneError("it compares pairs of corpora; name an even number of datasets.")
        return {**table, "pairs": list(zip(names[::2], names[1::2], strict=True))}


class PooledTask(Task[Observation]):
    """A task whose measures of a unit depend on the observations of other units; subclasses define `measure_all`."""

    def measure(self, unit: Unit, observation: Observation) -> Measures:
        return self.measure_all([unit], [observation])[0]


class VerdictTask(PooledTask[Observation]):
    """A property whose units name a check in their parameters; each check has one verdict, on all its observations together."""

    def judge(self, check: str, observations: Sequence[Observation]) -> float | None:
        """Return 1 if a check passes and 0 if it fails; None if there is no verdict."""
        raise NotImplementedError

    def measure_all(self, units: Sequence[Unit], observations: Sequence[Observation]) -> list[Measures]:
        """Return the verdict of each unit's check, which all its repetitions share."""
        by_check: dict[str, list[Observation]] = defaultdict(list)
        for unit, observation in zip(units, observations, strict=True):
            by_check[unit.parameters["check"]].append(observation)
        verdicts = {check: self.judge(check, answers) for check, answers in by_check.items()}
        return [Measures(None, {"passed": verdicts[check], check: verdicts[check]})
                for check in (unit.parameters["check"] for unit in units)]


class PointsTask(PooledTask[Observation]):
    """A task that passes points without text to corpus metrics that take embeddings, and needs no dataset."""

    def datasets(self, settings: Any) -> set[str]:
        return set()

    def texts(self, unit: Unit) -> Iterable[str]:
        return ()

    def inapplicable_reason(self, unit: Unit, header: Header) -> str | None:
        if header.kind != "corpus" or header.input != "embeddings":
            return "points without text apply only to corpus metrics that take embeddings"
        return None


def refuse_unknown_checks(task: str, names: Iterable[str], checks: Iterable[str]) -> None:
    """Raise if a suite names a check that a task does not have."""
    available = tuple(checks)
    for name in names:
        if name not in available:
            raise TouchstoneError(f'tasks.{task}: there is no check "{name}". The checks are {", ".join(available)}.')
