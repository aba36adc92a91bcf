"""The parts that all reproductions share: the list of papers, the tables and their output formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leaderboard.report.formats import csv_text, markdown_table

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from harness.base.progress import Progress
    from harness.evaluation.loop import RunSummary

Cell = str | float | None


class Paper(StrEnum):
    """The key of a paper with a description; `leaderboard.papers.registry` maps each to its reproduction."""

    description: str

    def __new__(cls, key: str, description: str = "") -> Paper:
        """Create a member whose value is the key alone."""
        member = str.__new__(cls, key)
        member._value_, member.description = key, description
        return member

    kour2022 = "kour2022", "known-similarity corpora, table 3, run times and section 5"
    usmb = "usmb", "five tasks for text metrics"
    ackerman = "ackerman", "distributionality of corpus metrics"
    zwerdling2021 = "zwerdling2021", "profiles of generated corpora"
    yamshchikov2020 = "yamshchikov2020", "rank order of 14 sets of rated pairs"
    raisa2025 = "raisa2025", "15 checks of precision, recall, density and coverage"


@dataclass(frozen=True)
class PaperTable:
    """A table that compares published numbers with ours."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    legend: Sequence[str] = ()                  # paragraphs below the table
    row_styles: Mapping[int, str] = field(default_factory=dict)     # row number: style in the terminal

    def to_terminal(self) -> RenderableType:
        """Return the table and its legend for a rich console."""
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for number, name in enumerate(self.columns):
            cells = [str(row[number]) for row in self.rows if row[number] is not None]
            has_words = any(cell[:1].isalpha() for cell in cells)
            table.add_column(name, justify="left" if has_words else "right", no_wrap=number == 0, overflow="fold")
        for number, row in enumerate(self.rows):
            style = self.row_styles.get(number, "")
            table.add_row(*(Text("" if cell is None else str(cell), style=style) for cell in row))
        return Group(table, *(Text(f"\n{paragraph}") for paragraph in self.legend))

    def to_markdown(self) -> str:
        """Return the table and its legend in Markdown."""
        return "\n\n".join([markdown_table(self.columns, self.rows), *self.legend]) + "\n"

    def to_csv(self) -> str:
        """Return the rows as CSV, without the legend."""
        return csv_text(self.columns, self.rows)


@dataclass(frozen=True)
class Options:
    """How a paper is reproduced.

    `only` restricts a reproduction to some tasks (of zwerdling2021: corpora, of raisa2025: checks); `metrics` restricts what
    yamshchikov2020 runs; `repetitions` applies to known similarity in kour2022; `with_figures` draws the figures of
    ackerman and zwerdling2021.
    """

    store: str
    progress: Progress
    only: Sequence[str] = ()
    repetitions: int = 25
    jobs: int = 1
    with_figures: bool = False
    metrics: Sequence[str] = ()


@dataclass(frozen=True)
class Reproduction:
    """The result of a reproduction.

    `tables` are for reading, `records` holds every number in full precision, `tallies` describe the runs that were needed.
    """

    tables: Sequence[PaperTable]
    records: PaperTable
    tallies: Sequence[RunSummary] = ()
    figures: Mapping[str, go.Figure] = field(default_factory=dict)

    @property
    def has_failures(self) -> bool:
        """Whether the store holds failed units among those that the tables need."""
        return any(tally.failed_in_store for tally in self.tallies)

    def to_terminal(self) -> RenderableType:
        """Return all tables for a rich console."""
        return Group(*(part for number, table in enumerate(self.tables)
                       for part in ((Text(""), table.to_terminal()) if number else (table.to_terminal(),))))

    def to_markdown(self) -> str:
        """Return all tables in Markdown."""
        return "\n".join(table.to_markdown() for table in self.tables)

    def to_csv(self) -> str:
        """Return the records as CSV."""
        return self.records.to_csv()
