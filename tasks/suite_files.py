"""Suite files: reading a suite, which names tasks, datasets, parameters and a seed, from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Source
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context
from harness.models.registry import model_fingerprint
from tasks.data.loading import dataset_fingerprint, load_dataset
from tasks.registry import get_task

FOLDER = Path(__file__).parent / "suites"


class SuiteFile(BaseModel):
    """The contents of a suite's TOML file; each task validates its own table."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    seed: int
    model: str                              # the embedding model behind the inputs `embeddings` and `tokens`
    tasks: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]


def load_suite(name: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Suite:
    """Return a suite with all its test units.

    Args:
        name: Name of a built-in suite, such as "smoke" or "core", or the path of a TOML file.
        overrides: Settings that replace those of the file, by the name of the task.

    Raises:
        TouchstoneError: If there is no such suite, or if its file is invalid.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        content = SuiteFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        model = Source(content.model, model_fingerprint(content.model))
    except FileNotFoundError:
        names = sorted(file.stem for file in FOLDER.glob("*.toml"))
        raise TouchstoneError(f'There is no suite "{name}".{did_you_mean(name, names)} The suites are {", ".join(names)}; '
                              "the path of a suite file ends in .toml.") from None
    except ValidationError as error:
        raise TouchstoneError(f"{path.name}: {_first_error(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise TouchstoneError(f"{path.name} cannot be read: {error}.") from None
    except TouchstoneError as error:
        raise TouchstoneError(f"{path.name}: {error}") from None
    units: list[TaskUnit] = []
    for task_name, table in content.tasks.items():
        try:
            task = get_task(task_name)
            settings = task.settings_type.model_validate(_to_tuples({**table, **(overrides or {}).get(task_name, {})}))
        except TouchstoneError as error:
            raise TouchstoneError(f"{path.name}: {error}") from None
        except ValidationError as error:
            raise TouchstoneError(f"{path.name}: tasks.{task_name}.{_first_error(error)}") from None
        fingerprints = {dataset: dataset_fingerprint(dataset) for dataset in sorted(task.datasets(settings))}
        units += [TaskUnit(task, unit) for unit in task.units(settings, Context(content.seed, model, fingerprints))]
    return Suite(path.stem, content.title, model, tuple(units), load_dataset)


def _to_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_tuples(item) for key, item in value.items()}
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _first_error(invalid: ValidationError) -> str:
    error = invalid.errors(include_url=False)[0]
    return f"{'.'.join(map(str, error['loc']))}: {error['msg'][0].lower()}{error['msg'][1:]}."
