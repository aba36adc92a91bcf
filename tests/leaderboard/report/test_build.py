"""Parts of the report: the authors of papers."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.submission.selection import parse_folder
from harness.submission.submission import parse_file
from leaderboard import load_release


def test_authors_of_a_release_of_version_1_come_from_the_submissions():
    report = load_release("2026.1").report
    energy = next(entry for entry in report.entries if entry.name == "energy")
    assert (energy.authors, energy.year) == (["Székely", "Rizzo"], 2013), "the paper: doi 10.1016/j.jspi.2013.03.018"


def test_header_names_authors_and_year(write):
    path = write("plain", "def distance(p, q): return 0.0\n")
    text = path.read_text()
    path.write_text(text.replace("# license", '# authors = ["Doe", "Roe"]\n# year = 2021\n# license'))
    header = parse_file(path).header
    assert (header.authors, header.year) == (("Doe", "Roe"), 2021)
    for line, message in (('authors = ["a\\u0007"]', "plain text"), ("year = 3000", "less than or equal to 2200"), ('year = "2021"', "integer")):
        path.write_text(text.replace("# license", f"# {line}\n# license"))
        with pytest.raises(TouchstoneError, match=message):
            parse_file(path)


def test_every_submission_that_names_a_paper_names_its_authors():
    headers = [submission.header for submission in parse_folder(SUBMISSIONS)]
    assert [header.name for header in headers if header.paper and not (header.authors and header.year)] == []
