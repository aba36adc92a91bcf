"""Tables in narrow terminals: numbers are never truncated, dropped columns are named, short headings explained."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from leaderboard.cli.fitted_table import Column, FittedTable, plain_table

pytestmark = pytest.mark.unit

NAMES = ["bm25_plus[published]", "rouge", "cosine"]
SCORES = ["0.123", "-0.456", "0.789"]


def render(table: FittedTable, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table)
    return console.file.getvalue()


def scores_table() -> FittedTable:
    columns = [Column("Metric", [Text(name) for name in NAMES], level=0)]
    for number in range(8):
        columns.append(Column(f"Task number {number}", [Text(score) for score in SCORES], short=f"t{number}"))
        columns.append(Column("95%", [Text("0.100 to 0.200")] * 3, level=4, label="intervals"))
    return FittedTable([*columns, Column("", [Text("a long note on the metric")] * 3, level=3, label="notes")],
                       keep_headings_above=3)


@pytest.mark.parametrize("width", range(30, 240, 7))
def test_every_number_is_shown_in_full_or_its_column_is_dropped_and_named(width):
    lines = render(scores_table(), width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    text = " ".join(" ".join(lines).split())
    displayed = next(line for line in lines if NAMES[0] in line).count("0.123")
    for number in range(8):
        dropped = f"Task number {number}" in text.partition("Not shown for lack of width:")[2]
        assert dropped == (number >= displayed)
    for name, score in zip(NAMES, SCORES, strict=True):
        assert next(line for line in lines if name in line).count(score) == displayed > 0
    if f"t{displayed - 1}" in text:
        assert f"t{displayed - 1}: Task number {displayed - 1}" in text
    assert ("0.100 to 0.200" in text) == (not text.partition("Not shown")[2].count("intervals"))


def test_intervals_are_dropped_before_notes_and_notes_before_scores():
    wide, narrow = scores_table().fit(120)[0], scores_table().fit(60)[0]
    assert not any(column.label == "intervals" for column in wide)
    assert [column.heading for column in narrow] == ["Metric", *(f"Task number {number}" for number in range(len(narrow) - 1))]


def test_long_texts_are_wrapped_and_numbers_right_aligned():
    table = plain_table(("name", "size", "licence"), [("a", "1,000", "terms of the publisher " * 3), ("b", "20", "MIT"), ("c", "?", "")])
    lines = render(table, 40).splitlines()
    assert lines[0].split() == ["name", "size", "licence"]
    assert "a     1,000  terms of the publisher" in lines[1]
    assert next(line for line in lines if line.startswith("b")).startswith("b        20  MIT")
    assert "…" not in "".join(lines)


def test_a_table_without_headings_has_no_heading_line():
    assert render(plain_table(("", ""), [("a", "b")]), 40).split() == ["a", "b"]
