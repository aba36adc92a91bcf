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
    """A dataset or a model a unit rests on, with the fingerprint that makes it this one and no other."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class Unit:
    """One independent piece of work, named by everything that bears on its answers."""

    task: str
    observe_version: int
    stratum: tuple[str, ...]                # where it belongs in the task's design, for people and for the means
    parameters: Mapping[str, Any]           # plain JSON values
    data: tuple[Source, ...]
    model: Source                           # what `embeddings` and `tokens` mean in this unit
    seed: int

    def __hash__(self) -> int:              # so that what follows from a unit can be kept by it: its parameters have none
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        return digest_of(self.described)[:32]

    @property
    def described(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Cluster:
    """What is drawn again as one when scores are resampled: a document with its summaries, a query over all its units."""

    stratum: tuple[str, ...]
    name: str
