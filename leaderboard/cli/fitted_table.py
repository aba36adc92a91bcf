"""Tables that fit the terminal: columns are dropped from the right rather than numbers truncated."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

WRAPPED_WIDTH = 14                          # columns with longer cells are wrapped, down to this width
GAP = 2
NUMBER = re.compile(r"[-+]?[\d.,]+[%*]?|-|\?|")


@dataclass(frozen=True)
class Column:
    """A column of a table, with what happens to it in a narrow terminal."""

    heading: str
    cells: Sequence[Text]
    short: str = ""                         # the heading where space is short, explained below the table
    level: int = 1                          # columns of the highest level are dropped first; those of level 0 never
    label: str = ""                         # columns with the same label are dropped together, and named by it
    style: str = ""

    @cached_property
    def is_wrapped(self) -> bool:
        """Whether the column is text that may be wrapped."""
        return self.cell_width > WRAPPED_WIDTH and not self.is_numeric and self.level > 0

    @cached_property
    def cell_width(self) -> int:
        """The width of the longest cell."""
        return max((cell.cell_len for cell in self.cells), default=0)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all cells are numbers or missing."""
        return all(NUMBER.fullmatch(cell.plain) for cell in self.cells)

    @property
    def rigid_width(self) -> int:
        """The width that the cells need at least."""
        return WRAPPED_WIDTH if self.is_wrapped else self.cell_width

    def wrap_heading(self, short: bool) -> list[str]:
        """Return the lines of the heading, which are no longer than the cells if the words allow it."""
        heading = self.short if short and self.short else self.heading
        width = max(1, *map(len, heading.split()), self.rigid_width)
        return textwrap.wrap(heading, width) or [""]

    def min_width(self, short: bool) -> int:
        """Return the width that the column needs at least."""
        return max(self.rigid_width, *map(len, self.wrap_heading(short)))


class FittedTable:
    """A table that is laid out for the width where it is printed.

    Args:
        columns: The columns; all have the same number of cells.
        sections: Numbers of the rows after which a line is drawn.
        box: The lines of the table.
        keep_headings_above: Short headings are used only after all columns above this level were dropped.
    """

    def __init__(self, columns: Sequence[Column], sections: Collection[int] = (), box: Box | None = None,
                 keep_headings_above: int = 0) -> None:
        self.columns, self.sections, self.box, self.keep_headings_above = list(columns), sections, box, keep_headings_above

    def fit(self, width: int) -> tuple[list[Column], bool]:
        """Return the columns that fit, and whether they need their short headings."""
        columns, short = list(self.columns), False

        def needed() -> int:
            return sum(column.min_width(short) + GAP for column in columns) - GAP

        while needed() > width:
            level = max(column.level for column in columns)
            if not short and level <= self.keep_headings_above:
                short = True
            elif level == 0:
                break
            else:
                last = [column for column in columns if column.level == level][-1]
                columns = [column for column in columns if column is not last and (not last.label or column.label != last.label)]
        return columns, short and any(column.short for column in columns)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns, short = self.fit(options.max_width)
        table = Table(box=self.box, show_edge=False, pad_edge=False, header_style="dim", border_style="dim",
                      padding=(0, GAP - (self.box is not None), 0, 0), show_header=any(column.heading for column in columns))
        for column in columns:
            table.add_column("\n".join(column.wrap_heading(short)), justify="right" if column.is_numeric else "left",
                             no_wrap=not column.is_wrapped, overflow="fold", min_width=column.min_width(short),
                             style=column.style)
        for number, row in enumerate(zip(*(column.cells for column in columns), strict=True), start=1):
            table.add_row(*row, end_section=number in self.sections)
        yield table
        if short:
            names = [f"{column.short}: {column.heading}" for column in columns if column.short]
            yield Text(f"\n{', '.join(names)}.", style="dim")
        dropped = dict.fromkeys(column.label or column.heading for column in self.columns if column not in columns)
        if dropped:
            yield Text(f"\nNot shown for lack of width: {', '.join(dropped)}. Use a wider terminal or --json.", style="dim")


def plain_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> FittedTable:
    """Return a table of rows; the first column is never dropped."""
    cells = [[Text.from_markup(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    return FittedTable([Column(heading, [row[index] for row in cells], level=min(index, 1))
                        for index, heading in enumerate(headings)])
