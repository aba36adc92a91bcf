"""Tables of reproductions in their output formats, and the registry of papers."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from harness.base.errors import TouchstoneError
from leaderboard.papers.base import Paper, PaperTable, Reproduction
from leaderboard.papers.registry import REPRODUCTIONS, reproduce
from tests.support.command import touchstone

TABLE = PaperTable(("metric", "k", "ours"), [("fid", 7, 1 / 3), ("a|b*", None, None)], ["First [legend].", "Second."], {0: "bold"})


def test_a_table_in_three_formats():
    assert TABLE.to_markdown() == ("| metric | k | ours |\n| --- | --- | --- |\n| fid | 7 | 0.3333333333333333 |\n"
                                   "| a\\|b\\* |  |  |\n\nFirst [legend].\n\nSecond.\n")
    rows = list(csv.DictReader(io.StringIO(TABLE.to_csv())))
    assert float(rows[0]["ours"]) == 1 / 3
    assert rows[1] == {"metric": "a|b*", "k": "", "ours": ""}
    console = Console(file=io.StringIO(), width=80)
    console.print(Reproduction([TABLE, TABLE], TABLE).to_terminal())
    assert console.file.getvalue().count("First [legend].") == 2
    assert "fid     7  0.3333333333333333" in console.file.getvalue()


def test_every_paper_has_a_reproduction():
    assert set(REPRODUCTIONS) == set(Paper)
    with pytest.raises(TouchstoneError, match='There is no reproduction of "kour".*kour2022'):
        reproduce("kour")


@pytest.mark.parametrize(("words", "sentence"), [
    (("zwerdling2021", "--only", "news"), 'The paper has no corpus "news"'),
    (("kour2022", "--figures", "x"), "Figures are available for ackerman and zwerdling2021, not for kour2022"),
    (("zwerdling2021", "--figures", __file__), "is a file. Name a folder.")])
def test_wrong_options_are_refused_in_one_sentence(words, sentence):
    refused = touchstone("reproduce", *words)
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1
