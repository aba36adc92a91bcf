"""Parts of the report: the authors of papers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.submission.submission import parse_file
from leaderboard.publishing.release import read_release, releases
from leaderboard.report.build import describe_header, load_paper_authors


def test_authors_are_read_from_the_header_or_the_table(entry_of):
    entry = entry_of("plain", "def distance(p, q): return 0.0\n")
    header = entry.header.model_copy(update={"paper": "https://doi.org/10.1016/j.jspi.2013.03.018"})
    for changes, expected in (({}, (["Székely", "Rizzo"], 2013)), ({"authors": ("Doe", "Roe"), "year": 2021}, (["Doe", "Roe"], 2021)),
                              ({"paper": "https://example.org/unknown"}, (None, None))):
        submission = replace(entry.submission, header=header.model_copy(update=changes))
        described = describe_header(SimpleNamespace(entry=replace(entry, submission=submission), stored=SimpleNamespace(first_seen="")))
        assert (described.get("authors"), described.get("year")) == expected


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


def test_table_of_authors_has_only_papers_of_submissions_and_releases():
    papers = {parse_file(path).header.paper for path in SUBMISSIONS.glob("*.py") if path.name != "__init__.py"}
    published = {entry.paper for name in releases() for entry in read_release(name).report.entries}
    assert load_paper_authors().keys() <= papers | published
