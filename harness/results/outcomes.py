"""Outcomes: the observation of an entry on a test unit, or the reason why there is none."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from harness.results.arrays import ArrayStore, StoredArray
from harness.results.provenance import Machine


class StoredAs(NamedTuple):
    """Annotation of an observation's field: its name in the store, where that is not the field's own."""

    name: str


class Status(enum.StrEnum):
    """Whether an assignment was answered."""

    ANSWERED = "answered"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Failure:
    """Why an assignment has no observation, in words."""

    kind: str
    sentence: str
    places: tuple[str, ...] = ()            # the last lines of the traceback: file, line, function
    output: str = ""                        # the end of what the metric printed

    def __str__(self) -> str:
        return f"{self.sentence} ({self.places[-1]})" if self.places else self.sentence


@dataclass(frozen=True)
class Outcome:
    """The outcome of one assignment."""

    unit_id: str
    entry_digest: str
    status: Status
    observation: Any                        # an instance of the task's observation dataclass, or None
    failure: Failure | None
    seconds: float
    machine: Machine | None = None           # the node of a cluster that ran it


@cache
def _adapters(form: Any) -> dict[str, TypeAdapter[Any]]:
    """Return the converters between each field of an observation's dataclass and JSON values."""
    return {name: TypeAdapter(hint) for name, hint in typing.get_type_hints(form).items() if hint is not np.ndarray}


@cache
def _stored_names(form: Any) -> dict[str, str]:
    """The name in the store of each field of an observation's dataclass."""
    hints = typing.get_type_hints(form, include_extras=True)
    return {name: next((extra.name for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, StoredAs)), name)
            for name, hint in hints.items()}


def pack_observation(observation: Any, arrays: ArrayStore) -> dict[str, Any]:
    """Return an observation as JSON values; arrays are stored separately and replaced by references."""
    packed: dict[str, Any] = {}
    form: Any = type(observation)
    for field in dataclasses.fields(observation):
        value = getattr(observation, field.name)
        stored_name = _stored_names(form)[field.name]
        if isinstance(value, np.ndarray):
            packed[stored_name] = {"array": dataclasses.asdict(arrays.put(value))}
        else:
            packed[stored_name] = _adapters(form)[field.name].dump_python(value, mode="json", by_alias=True)
    return packed


def unpack_observation(packed: Mapping[str, Any], form: Any, arrays: ArrayStore) -> Any:
    """Return the observation from its stored form."""
    values: dict[str, Any] = {}
    names = {stored_name: name for name, stored_name in _stored_names(form).items()}
    for stored_name, value in packed.items():
        name = names.get(stored_name, stored_name)
        if isinstance(value, dict) and value.keys() == {"array"}:
            stored = StoredArray(value["array"]["digest"], tuple(value["array"]["shape"]), value["array"]["bytes"])
            values[name] = arrays.get(stored)
        else:
            values[name] = _adapters(form)[name].validate_python(value)
    return form(**values)
