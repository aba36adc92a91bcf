"""Suite files: reading a suite, which names tasks, datasets, parameters and a seed, from TOML."""

from __future__ import annotations

import contextlib
import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Source
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.suite import AdmissionRule, Axis, AxisPart, Suite
from harness.evaluation.task import Context
from harness.models.registry import model_fingerprint
from tasks.data.loading import dataset_fingerprint, load_dataset
from tasks.registry import get_task

FOLDER = Path(__file__).parent / "suites"


class PartTable(BaseModel):
    """A task of an axis."""

    model_config = ConfigDict(extra="forbid", strict=True)

    task: str
    scale: Annotated[float, Field(gt=0)] = 1.0
    measure: str | None = None


class AxisTable(BaseModel):
    """An axis; the first of a track is the one that it is ranked by."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    track: str
    parts: Annotated[list[PartTable], Field(min_length=1)]
    description: str = ""


class AdmissionTable(BaseModel):
    """What a task must fulfil to be ranked; what is not named has the value of `AdmissionRule`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    controls: dict[str, list[str]]
    score: float = AdmissionRule.score
    lower_end: float = AdmissionRule.lower_end
    stratum: float = AdmissionRule.stratum
    signal_to_noise: float = AdmissionRule.signal_to_noise
    clusters: int = AdmissionRule.clusters
    alpha: float = AdmissionRule.alpha
    on_axis: float = AdmissionRule.on_axis


class SuiteFile(BaseModel):
    """The contents of a suite's TOML file; each task validates its own table."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    version: Annotated[int, Field(ge=1)] = 1
    seed: int
    model: str                              # the embedding model behind the inputs `embeddings` and `tokens`
    tasks: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    axes: list[AxisTable] = []
    admission: AdmissionTable | None = None


def list_suites() -> list[str]:
    """Return the names of the built-in suites."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def suite_fingerprint(name: str) -> str:
    """Return the fingerprint of a suite; nodes of a cluster compute it to be compared."""
    return load_suite(name).fingerprint


def load_suite(name: str, overrides: Mapping[str, Mapping[str, Any]] | None = None, model: str | None = None,
               datasets: Mapping[str, Sequence[str]] | None = None) -> Suite:
    """Return a suite with all its test units.

    Args:
        name: Name of a built-in suite, such as "smoke" or "core", or the path of a TOML file.
        overrides: Settings that replace those of the file, by the name of the task.
        model: The embedding model; default: that of the file. The test units then draw the same texts but have other ids.
        datasets: Names or paths of other datasets, by the name of the task; the suite then has these tasks only, and lengths
            are not balanced, because that would leave few texts.

    Raises:
        TouchstoneError: If there is no such suite, or if its file is invalid.
    """
    content = read_suite_file(name)
    if datasets is not None:
        content = replace_datasets(content, datasets)
    tables = {task: {**table, **(overrides or {}).get(task, {})} for task, table in content.tasks.items()}
    suite = build_suite(name, content.model_copy(update={"tasks": tables, "model": model or content.model}))
    return suite if datasets is None else replace(suite, name=f"{suite.name}+data")


def replace_datasets(content: SuiteFile, datasets: Mapping[str, Sequence[str]]) -> SuiteFile:
    """Return the contents of a suite with some of its tasks only, each on other datasets."""
    tables: dict[str, dict[str, Any]] = {}
    for task, names in datasets.items():
        if task not in content.tasks:
            raise TouchstoneError(f'The suite has no task "{task}".{did_you_mean(task, content.tasks)} Its tasks are '
                                  f"{', '.join(content.tasks)}.")
        settings_type: Any = get_task(task).settings_type
        table = {key: value for key, value in content.tasks[task].items() if key != "balanced"}     # it leaves few texts
        try:
            refuse_copies(names)
            tables[task] = settings_type.replace_datasets(table, names)
        except TouchstoneError as error:
            raise TouchstoneError(f"The task {task} cannot use {', '.join(names)}: {error}") from None
    return content.model_copy(update={"title": f"{content.title}, on other datasets", "tasks": tables, "axes": [],
                                      "admission": None})


def refuse_copies(names: Sequence[str]) -> None:
    """Raise if two datasets have the same content, which would count twice."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(itertools.chain.from_iterable(union.split(" + ") for union in names)):
        other = first.setdefault(dataset_fingerprint(name), name)
        if other != name:
            raise TouchstoneError(f"{name} has the same content as {other}; name one of them.")


def read_suite_file(name: str) -> SuiteFile:
    """Return the contents of the file of a suite."""
    path = suite_path(name)
    try:
        return SuiteFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        names = list_suites()
        raise TouchstoneError(f'There is no suite "{name}".{did_you_mean(name, names)} The suites are {", ".join(names)}; '
                              "the path of a suite file ends in .toml.") from None
    except ValidationError as error:
        raise TouchstoneError(f"{path.name}: {first_error(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise TouchstoneError(f"{path.name} cannot be read: {error}.") from None


def build_suite(name: str, content: SuiteFile) -> Suite:
    """Return a suite with all its test units from the contents of its file."""
    path, units = suite_path(name), list[TaskUnit]()
    with errors_of(path):
        model = Source(content.model, model_fingerprint(content.model))
        settings = {task: read_settings(task, table) for task, table in content.tasks.items()}
        axes = read_axes(content)
    for task_name, own in settings.items():
        task = get_task(task_name)
        fingerprints = {dataset: dataset_fingerprint(dataset) for dataset in sorted(task.datasets(own))}
        units += [TaskUnit(task, unit) for unit in task.units(own, Context(content.seed, model, fingerprints))]
    rule = None if content.admission is None else AdmissionRule(**_to_tuples(content.admission.model_dump()))
    return Suite(path.stem, content.title, model, tuple(units), load_dataset, axes, content.version, rule)


@contextlib.contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Prefix errors with the name of a file."""
    try:
        yield
    except TouchstoneError as error:
        raise TouchstoneError(f"{path.name}: {error}") from None


def suite_path(name: str) -> Path:
    """Return the file of a suite."""
    return Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"


def read_settings(task: str, table: Mapping[str, Any]) -> BaseModel:
    """Return the settings of a task from its table in a suite."""
    try:
        return get_task(task).settings_type.model_validate(_to_tuples(dict(table)))
    except ValidationError as error:
        raise TouchstoneError(f"tasks.{task}.{first_error(error)}") from None


def read_axes(content: SuiteFile) -> tuple[Axis, ...]:
    """Return the declared axes; raise if one of them contains what the suite or the task does not allow."""
    axes: list[Axis] = []
    for table in content.axes:
        where = f'the axis "{table.name}" of {table.track} metrics'
        first = table.track not in {axis.track for axis in axes}
        if any((axis.track, axis.name) == (table.track, table.name) for axis in axes):
            raise TouchstoneError(f"{where} is declared twice.")
        for part in table.parts:
            if part.task not in content.tasks:
                raise TouchstoneError(f"{where} contains {part.task}, which is not among the tasks of the suite."
                                      f"{did_you_mean(part.task, content.tasks)}")
            info = get_task(part.task).info
            if info.track != table.track:
                raise TouchstoneError(f"{where} contains {part.task}, which is a task of {info.track} metrics.")
            if part.measure is None and not info.ranked:
                raise TouchstoneError(f"{where} contains {part.task}, a property without a ranked score.")
            if part.measure is None and info.refused is not None:
                raise TouchstoneError(f"{where} contains {part.task}, which may not be ranked: {info.refused}.")
            if part.measure is not None and (first or part.measure not in info.axis_measures):
                allowed = ", ".join(info.axis_measures) or "none"
                raise TouchstoneError(f'{where} contains the measure "{part.measure}" of {part.task}; the first axis of a '
                                      f"track contains scores only, and other axes only these of its measures: {allowed}.")
        axes.append(Axis(table.name, table.title, table.track,
                         tuple(AxisPart(part.task, part.scale, part.measure) for part in table.parts), table.description))
    return tuple(axes)


def _to_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_tuples(item) for key, item in value.items()}
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def first_error(invalid: ValidationError) -> str:
    """Return the first error of a file as a clause."""
    error = invalid.errors(include_url=False)[0]
    return f"{'.'.join(map(str, error['loc']))}: {error['msg'][0].lower()}{error['msg'][1:]}."
