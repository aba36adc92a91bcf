"""A suite: which tasks, on which data, with which parameters and seeds.  It is named by its fingerprint."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import Refusal, did_you_mean
from harness.base.hashing import digest_of
from harness.evaluation.executor import Question
from harness.evaluation.task import Context, Source, Task, Unit
from harness.models.registry import model_fingerprint
from tasks.corpus.known_similarity import KnownSimilarity
from tasks.data import loading as data
from tasks.registry import TASKS

FOLDER = Path(__file__).parent / "suites"


class SuiteFile(BaseModel):
    """What stands in a suite's TOML file; what stands below `tasks.<name>` is that task's own affair."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    seed: int
    model: str                              # what `embeddings` and `tokens` mean
    tasks: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    model: Source
    questions: tuple[Question, ...]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the ids of all units and of the versions of all measures."""
        return digest_of([sorted(question.unit.id for question in self.questions),
                          sorted({f"{q.task.name}.m{q.task.declares.measure_version}" for q in self.questions})])

    @cached_property
    def forms(self) -> dict[str, type[Any]]:
        """What an observation of each unit is, by the unit's id."""
        return {question.unit.id: question.task.observation_form for question in self.questions}

    @property
    def tasks(self) -> tuple[Task[Any], ...]:
        return tuple({question.task.name: question.task for question in self.questions}.values())

    @property
    def tracks(self) -> tuple[str, ...]:
        """The tracks in which it ranks anybody."""
        return tuple(dict.fromkeys(task.declares.track for task in self.tasks if task.declares.ranked))

    def units(self, task: Task[Any]) -> list[Unit]:
        return [question.unit for question in self.questions if question.task.name == task.name]

    def of(self, only: Iterable[str]) -> list[Question]:
        """The questions of some tasks, or all."""
        names = set(only)
        known = [task.name for task in self.tasks]
        for name in names:
            if name not in known:
                raise Refusal(f'The suite "{self.name}" has no task "{name}".{did_you_mean(name, known)} '
                              f"It has {', '.join(known)}.")
        return [question for question in self.questions if not names or question.task.name in names]


def read_suite(name: str, repetitions: int | None = None) -> Suite:
    """The suite of that name, or in that TOML file; with another number of repetitions of known similarity if wanted."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        stated = SuiteFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        known = sorted(one.stem for one in FOLDER.glob("*.toml"))
        raise Refusal(f'There is no suite "{name}".{did_you_mean(name, known)} There are {", ".join(known)}; '
                      "a file of your own ends in .toml.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as wrong:
        raise Refusal(f"{path.name}: the suite cannot be read: {wrong}.") from None
    except ValidationError as wrong:
        raise Refusal(f"{path.name}: {_sentence(wrong)}") from None
    try:
        model = Source(stated.model, model_fingerprint(stated.model))
    except Refusal as wrong:
        raise Refusal(f"{path.name}: {wrong}") from None
    if repetitions is not None:
        stated.tasks[KnownSimilarity.name]["repetitions"] = repetitions
    questions: list[Question] = []
    for task_name, table in stated.tasks.items():
        if task_name not in TASKS:
            raise Refusal(f'{path.name}: there is no task "{task_name}".{did_you_mean(task_name, TASKS)} '
                          f"There are {', '.join(TASKS)}.")
        task = TASKS[task_name]
        try:
            settings = task.settings_form.model_validate(_tuples(table))
        except ValidationError as wrong:
            raise Refusal(f"{path.name}: tasks.{task_name}.{_sentence(wrong)}") from None
        fingerprints = {dataset: data.fingerprint(dataset) for dataset in sorted(task.datasets(settings))}
        context = Context(stated.seed, model, fingerprints)
        questions += [Question(task, unit) for unit in task.units(settings, context)]
    return Suite(path.stem, stated.title, model, tuple(questions))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _sentence(wrong: ValidationError) -> str:
    error = wrong.errors(include_url=False)[0]
    return f"{'.'.join(map(str, error['loc']))}: {error['msg'][0].lower()}{error['msg'][1:]}."
