"""Numbers, intervals and tables as plain text."""

from __future__ import annotations

import csv
import io

import pytest

from leaderboard.report.formats import csv_text, format_authors, format_interval, format_number, markdown_table

pytestmark = pytest.mark.unit


def test_numbers_and_intervals():
    assert format_number(0.126) == "0.13"
    assert format_number(None) == "-"
    assert format_interval(0.1, 0.25, 1) == "0.1 to 0.2"
    assert format_interval(0.1, None) == ""


def test_markdown_escapes_its_own_characters():
    assert markdown_table(["a", "b"], [["x|y", None], ["2 *", 3]]) == "| a | b |\n| --- | --- |\n| x\\|y |  |\n| 2 \\* | 3 |"


def test_csv_keeps_numbers_in_full():
    assert list(csv.reader(io.StringIO(csv_text(["a", "b"], [[1 / 3, None]])))) == [["a", "b"], [repr(1 / 3), ""]]


@pytest.mark.parametrize(("authors", "year", "expected"), [
    (["Lin"], 2004, "Lin 2004"), (["Doe", "Roe"], 2021, "Doe and Roe 2021"), (["A", "B", "C"], None, "A, B and C"),
    (["A", "B", "C", "D", "E"], 2020, "A et al. 2020"), ([], None, "")])
def test_authors_as_a_citation(authors, year, expected):
    assert format_authors(authors, year) == expected
