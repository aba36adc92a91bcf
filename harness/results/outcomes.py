"""What is kept of one entry asked one unit: its observation, or why there is none."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from harness.results.arrays import Arrays, StoredArray


class Status(enum.StrEnum):
    ANSWERED = "answered"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Failure:
    """Why a unit has no observation, as a person is told."""

    kind: str
    sentence: str
    places: tuple[str, ...] = ()            # the last lines of the traceback: file, line, function
    output: str = ""                        # the last of what the metric printed

    def __str__(self) -> str:
        return f"{self.sentence} ({self.places[-1]})" if self.places else self.sentence


@dataclass(frozen=True)
class Outcome:
    """One unit, answered by one entry or not."""

    unit_id: str
    entry_digest: str
    status: Status
    observation: Any                        # a dataclass of the task, or None
    failure: Failure | None
    seconds: float


@cache
def _adapters(form: Any) -> dict[str, TypeAdapter[Any]]:
    """What turns each field of an observation's dataclass into JSON values and back."""
    return {name: TypeAdapter(hint) for name, hint in typing.get_type_hints(form).items() if hint is not np.ndarray}


def pack(observation: Any, arrays: Arrays) -> dict[str, Any]:
    """An observation as JSON values; its arrays go to files, and are named in their place."""
    packed: dict[str, Any] = {}
    form: Any = type(observation)
    for field in dataclasses.fields(observation):
        value = getattr(observation, field.name)
        if isinstance(value, np.ndarray):
            packed[field.name] = {"array": dataclasses.asdict(arrays.put(value))}
        else:
            packed[field.name] = _adapters(form)[field.name].dump_python(value, mode="json")
    return packed


def unpack(packed: Mapping[str, Any], form: Any, arrays: Arrays) -> Any:
    """The observation that was packed."""
    values: dict[str, Any] = {}
    for name, value in packed.items():
        if isinstance(value, dict) and value.keys() == {"array"}:
            stored = StoredArray(value["array"]["digest"], tuple(value["array"]["shape"]), value["array"]["bytes"])
            values[name] = arrays.get(stored)
        else:
            values[name] = _adapters(form)[name].validate_python(value)
    return form(**values)
