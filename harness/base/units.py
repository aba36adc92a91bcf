"""Test units: the smallest pieces of work, identified by a hash of everything they depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.base.hashing import digest_of

if TYPE_CHECKING:

    pass



@dataclass(frozen=True)
class Source:
    """A dataset or a model with its fingerprint."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class Unit:
    """One independent piece of work, identified by everything that determines its answers."""

    task: str
    observe_version: int
    stratum: tuple[str, ...]                # its group in the task's design; means are taken by stratum
    parameters: Mapping[str, Any]           # plain JSON values
    data: tuple[Source, ...]
    model: Source                           # the model of `embeddings` and `tokens`
    seed: int

    def __hash__(self) -> int:              # make units hashable for `lru_cache`; the parameters are not
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        """The test unit's identifier: a hash of `described`."""
        return digest_of(self.described)[:32]

    @property
    def described(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Cluster:
    """What is resampled together, such as a document with its summaries or a query over all its test units."""

    stratum: tuple[str, ...]
    name: str
