"""Reports on data of a user: sections of sentences and tables, as HTML, and as plain values."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.base.errors import printable
from harness.submission.submission import Entry
from leaderboard.scoring.estimates import Estimate

CELL_CHARACTERS = 600
NUMBER = re.compile(r"[-+<>]?[\d.,]+[%*]?( (to|of) -?[\d.,]+%?)?|-||(yes|no)")
FOOTER = "Made by touchstone on this machine; no text has left it."


def show_line(text: str) -> str:
    """Return text as it is shown in a cell: one line without control characters, cut."""
    return printable(text, CELL_CHARACTERS)


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    heading: str
    sentences: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def printed(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [[show_line(cell) for cell in row] for row in self.rows]

    @cached_property
    def numeric(self) -> set[int]:
        """The columns whose cells are numbers."""
        return {column for column in range(len(self.headings)) if all(NUMBER.fullmatch(row[column]) for row in self.rows)}


@dataclass(frozen=True)
class Report:
    """A report: what matters first, then the details, and everything as plain values."""

    title: str
    summary: Sequence[str]
    sections: Sequence[Section]
    values: Mapping[str, object] = field(default_factory=dict)
    footer: str = FOOTER

    def to_html(self) -> str:
        """Return the report as one HTML page without scripts; texts are escaped."""
        return ENVIRONMENT.get_template("report.html").render(report=self)


ENVIRONMENT = Environment(loader=PackageLoader("leaderboard.own_data"), autoescape=True, undefined=StrictUndefined,
                          trim_blocks=True)
ENVIRONMENT.filters["line"] = show_line


def format_estimate(estimate: Estimate) -> str:
    """Return the interval of an estimate."""
    return "-" if estimate.low is None or estimate.high is None else f"{estimate.low:.3f} to {estimate.high:.3f}"


def format_small(value: float | None) -> str:
    """Return a p-value, a duration or another positive number with two or three significant digits."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else "<0.001"


def to_values(value: Any) -> Any:
    """Return dataclasses, arrays and entries as plain JSON values; numbers that are not finite become None."""
    if isinstance(value, Entry):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_values(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return to_values(value.tolist())
    if isinstance(value, list | tuple):
        return [to_values(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
