"""Signatures: short strings that identify how a number was computed.

    energy@d4e5|core@1a2b3c|ks.m2|emb:minilm@9f|ts:0.1.0

Fields are separated by `|`: entry@digest, suite@fingerprint, task.m<measure version> (`all` for an overall score), `lifted` for a
lifted text metric, `emb:model@fingerprint` if the entry takes vectors or tokens (`emb:minilm+wordllama@9f` for two models,
`emb:minilm+chunks@9f` for chunks), `ts:version`. Names never contain `|`, `@` or `:`, so a signature can be parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from harness.base.errors import TouchstoneError, printable

_ENTRY = r"[a-z0-9][a-z0-9_.-]*(?:\[[a-z0-9][a-z0-9_.=-]*\])?"
_MODEL = r"[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)?"
_GRAMMAR = re.compile(
    rf"(?P<entry>{_ENTRY})@(?P<digest>[0-9a-f]{{4,64}})"
    r"\|(?P<suite>[a-z0-9][a-z0-9_.-]*)@(?P<fingerprint>[0-9a-f]{6,64})"
    r"\|(?P<task>[a-z]+)(?:\.m(?P<measure_version>[0-9]+))?"
    r"(?P<lifted>\|lifted)?"
    rf"(?:\|emb:(?P<model>{_MODEL}(?:\+{_MODEL})*)@(?P<model_fingerprint>[0-9a-f]{{2,64}}))?"
    r"\|ts:(?P<version>[0-9A-Za-z.+]+)")


@dataclass(frozen=True)
class Signature:
    """The fields of a signature."""

    entry: str
    digest: str
    suite: str
    fingerprint: str
    task: str                           # a task's short name
    measure_version: int | None
    version: str
    lifted: bool = False
    model: str | None = None
    model_fingerprint: str | None = None

    def __str__(self) -> str:
        task = self.task if self.measure_version is None else f"{self.task}.m{self.measure_version}"
        parts = [f"{self.entry}@{self.digest[:4]}", f"{self.suite}@{self.fingerprint[:6]}", task]
        if self.lifted:
            parts.append("lifted")
        if self.model is not None and self.model_fingerprint is not None:
            parts.append(f"emb:{self.model}@{self.model_fingerprint[:2]}")
        return "|".join([*parts, f"ts:{self.version}"])


def signature_on_axis(of_task: str, lifted: bool, axis: str = "all") -> str:
    """Return the signature of a score on an axis, by default the overall score, from that of a score on a task."""
    return str(replace(parse_signature(of_task), task=axis, measure_version=None, lifted=lifted))


def parse_signature(text: str) -> Signature:
    """Parse a signature; digests and fingerprints remain abbreviated."""
    match = _GRAMMAR.fullmatch(text)
    if not match:
        raise TouchstoneError(f"{printable(text, 80)!r} is not a signature; one looks like "
                              "energy@d4e5|core@1a2b3c|ks.m2|emb:minilm@9f|ts:0.1.0.")
    version = match["measure_version"]
    return Signature(match["entry"], match["digest"], match["suite"], match["fingerprint"], match["task"],
                     int(version) if version else None, match["version"], bool(match["lifted"]),
                     match["model"], match["model_fingerprint"])
