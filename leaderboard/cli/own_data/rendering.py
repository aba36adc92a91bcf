"""Reports in the terminal, and files of reports."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from harness.base.errors import printable
from leaderboard.cli.console import messages, output
from leaderboard.cli.fitted_table import plain_table
from leaderboard.cli.options import print_json, write_file
from leaderboard.own_data.report import Report

SHOWN_ROWS, CELL_CHARACTERS = 12, 70


def show_report(report: Report, html: Path | None, as_json: bool) -> None:
    """Write the HTML page if a file is named, and print the report, or its values as JSON."""
    if html is not None:
        write_file(html, report.to_html())
        messages.print(str(html), soft_wrap=True, markup=False)
    if as_json:
        print_json(report.values)
        return
    for sentence in report.summary:
        output.print(printable(sentence, 1_000), markup=False, highlight=False)
    for section in report.sections:
        output.print()
        output.print(section.heading, style="bold", markup=False)
        for sentence in section.sentences:
            output.print(printable(sentence, 1_000), style="dim", markup=False, highlight=False)
        if section.rows:
            output.print(plain_table(tuple(section.headings), [
                tuple(Text(printable(cell, CELL_CHARACTERS)) for cell in row) for row in section.rows[:SHOWN_ROWS]]))
        if len(section.rows) > SHOWN_ROWS:
            output.print(f"and {len(section.rows) - SHOWN_ROWS} more; --html FILE has all.", style="dim")
