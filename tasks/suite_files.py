"""A suite: which tasks, on which data, with which parameters and seeds.  It is named by its fingerprint."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Source
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context
from harness.models.registry import model_fingerprint
from tasks.corpus.known_similarity import KnownSimilarity
from tasks.data.loading import dataset_fingerprint, load_dataset
from tasks.registry import TASKS

FOLDER = Path(__file__).parent / "suites"


class SuiteFile(BaseModel):
    """What stands in a suite's TOML file; what stands below `tasks.<name>` is that task's own affair."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    seed: int
    model: str                              # what `embeddings` and `tokens` mean
    tasks: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]


def load_suite(name: str, repetitions: int | None = None) -> Suite:
    """The suite of that name, or in that TOML file; with another number of repetitions of known similarity if wanted."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        stated = SuiteFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        known = sorted(one.stem for one in FOLDER.glob("*.toml"))
        raise TouchstoneError(f'There is no suite "{name}".{did_you_mean(name, known)} There are {", ".join(known)}; '
                              "a file of your own ends in .toml.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as wrong:
        raise TouchstoneError(f"{path.name}: the suite cannot be read: {wrong}.") from None
    except ValidationError as wrong:
        raise TouchstoneError(f"{path.name}: {_sentence(wrong)}") from None
    try:
        model = Source(stated.model, model_fingerprint(stated.model))
    except TouchstoneError as wrong:
        raise TouchstoneError(f"{path.name}: {wrong}") from None
    if repetitions is not None:
        stated.tasks[KnownSimilarity.name]["repetitions"] = repetitions
    questions: list[TaskUnit] = []
    for task_name, table in stated.tasks.items():
        if task_name not in TASKS:
            raise TouchstoneError(f'{path.name}: there is no task "{task_name}".{did_you_mean(task_name, TASKS)} '
                                  f"There are {', '.join(TASKS)}.")
        task = TASKS[task_name]
        try:
            settings = task.settings_type.model_validate(_tuples(table))
        except ValidationError as wrong:
            raise TouchstoneError(f"{path.name}: tasks.{task_name}.{_sentence(wrong)}") from None
        fingerprints = {dataset: dataset_fingerprint(dataset) for dataset in sorted(task.datasets(settings))}
        context = Context(stated.seed, model, fingerprints)
        questions += [TaskUnit(task, unit) for unit in task.units(settings, context)]
    return Suite(path.stem, stated.title, model, tuple(questions), load_dataset)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _sentence(wrong: ValidationError) -> str:
    error = wrong.errors(include_url=False)[0]
    return f"{'.'.join(map(str, error['loc']))}: {error['msg'][0].lower()}{error['msg'][1:]}."
