"""`touchstone parity`: the pairs, which library ours is, and what is said of one that is not installed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from leaderboard.workflows.parity import PAIRS, compare_libraries, library_scores, make_pairs
from leaderboard.workflows.parity_libraries import COMPARISONS, Comparison, Library
from tests.support.command import touchstone


def test_pairs_are_always_the_same_and_of_many_kinds():
    a, b = make_pairs()
    assert (a, b) == make_pairs()
    assert make_pairs(seed=1) != (a, b)
    assert len(a) == len(b) == PAIRS
    same = sum(x == y for x, y in zip(a, b, strict=True))
    assert PAIRS / 20 < same < PAIRS / 2
    for differ in (str.lower, lambda text: text.replace(" ", ""), lambda text: "".join(c for c in text if c.isalnum() or c == " ")):
        assert any(x != y and differ(x) == differ(y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(("metric", "same"), [
    ("chrf", {"sacrebleu": "chrf", "nltk": "chrf[published]"}), ("rouge_l", {"rouge-score": "rouge_l", "rouge": "rouge_l[published]"}),
    ("bleu", {"nltk": "bleu", "sacrebleu": None}), ("bm25", {"rank-bm25": "bm25_plus[published]"})])
def test_which_library_ours_is(metric, same):
    rows = [row for row in compare_libraries(metric, NoProgress()) if row.missing is None]
    ours, theirs = [row for row in rows if row.call == "ours"], [row for row in rows if row.call != "ours"]
    assert (ours[0].difference, ours[0].correlation) == (0, pytest.approx(1))
    found = {}
    for row in theirs:
        found.setdefault(row.name.split()[0], row.same_as)
    assert {name: found[name] for name in same} == same
    assert any(row.difference > 0.05 and row.correlation < 0.999 for row in rows)         # the name alone says too little


@pytest.mark.parametrize(("metric", "same"), [("pr", "prdc"), ("dc", "prdc[density_coverage]"), ("c2st_knn", "sklearn_c2st"), ("rouge2", "rouge_score[rouge2]"),
                                              ("bleu_sentence", "sacrebleu[bleu]")])
def test_submissions_that_call_a_package_are_compared(metric, same):
    rows = {row.name: row for row in compare_libraries(metric, NoProgress())}
    assert rows[same].same_as == metric
    assert rows[same].call == f"submissions/{same.partition('[')[0]}.py"
    assert rows[metric].correlation == pytest.approx(1)


def test_findings_on_chrf_of_one_pair():
    """chrF("ab", "a b"): 100 in sacreBLEU, 33.3 in NLTK, which takes the space between words for a character."""
    values = {library.package: library_scores(library, ["ab"], ["a b"]) for library in COMPARISONS["chrf"].libraries if library.missing is None}
    assert values["sacrebleu"] == pytest.approx(1)
    assert np.all(values["nltk"] < 1)


def test_what_is_not_installed_is_said(monkeypatch):
    absent = Library("no-such-package", "no_such_package", "score", lambda a, b: [])
    monkeypatch.setitem(COMPARISONS, "chrf", Comparison("chrf", (absent,)))
    row = compare_libraries("chrf", NoProgress())[-1]
    assert row.difference is None
    assert "no-such-package is not installed" in (row.missing or "")
    with pytest.raises(TouchstoneError, match='Did you mean "chrf"'):
        compare_libraries("chrff", NoProgress())


def test_the_command():
    rows = json.loads(touchstone("parity", "levenshtein", "--json").stdout)
    assert rows[0]["name"] == "levenshtein"
    assert {row["name"].split()[0] for row in rows[1:]} == {"rapidfuzz"}
    assert all(row["difference"] > 0.1 for row in rows[1:])      # over the longer text, or with substitutions of 2
    shown = touchstone("parity", "chrf", environment={"COLUMNS": "200"})
    assert "chrf[published]" in shown.stdout
    assert touchstone("parity", "nothing").returncode == 2
