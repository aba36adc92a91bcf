"""The choice by judged pairs, its report and the Python file, with real metrics."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.submission.selection import select_entries
from leaderboard.own_data.answers import MetricAnswers, score_pairs, select_candidates
from leaderboard.own_data.pairs.choice import analyse_answers, choose_by_pairs
from leaderboard.own_data.pairs.data import read_judged_pairs
from leaderboard.own_data.pairs.report import report_on_pairs
from leaderboard.own_data.pairs.usage import write_usage
from tasks.data.loading import load_dataset

HOSTILE = "<script>alert(1)</script>\x1b[31mred"
NAMES = ["cosine", "cosine[wordllama]", "levenshtein", "jaccard", "tfidf_cosine", "length_difference", "constant", "random"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Pairs that overlap more the higher they are rated, with a hostile text that people and metrics see differently."""
    path, rows = tmp_path_factory.mktemp("judged") / "rated.csv", load_dataset("made_likeness").rows[["text_a", "text_b", "score"]]
    rows = pd.concat([rows, pd.DataFrame({"text_a": [HOSTILE], "text_b": [HOSTILE], "score": [rows.score.min()]})])
    rows.to_csv(path, index=False)
    return read_judged_pairs(str(path))


@pytest.fixture(scope="module")
def choice(judged):
    entries = [entry for entry in select_entries([name.split("[")[0] for name in NAMES], SUBMISSIONS) if entry.name in NAMES]
    return choose_by_pairs(judged, entries, NoProgress())


def test_metrics_are_ranked_with_intervals_and_costs(choice, judged):
    rows = {row.name: row for row in choice.rows}
    assert set(rows) == set(NAMES)
    values = [row.agreement.value for row in choice.rows]
    assert values == sorted(values, reverse=True)
    for name in ("cosine", "levenshtein", "jaccard"):
        assert rows[name].agreement.low < rows[name].agreement.value < rows[name].agreement.high
        assert rows[name].milliseconds > 0
    assert rows["cosine"].milliseconds > 10 * rows["levenshtein"].milliseconds      # an embedding takes longer than an edit distance
    assert choice.rows[0].tied
    assert not rows["constant"].tied


def test_trivial_and_dependent_metrics_are_shown_and_never_chosen(choice):
    rows = {row.name: row for row in choice.rows}
    assert rows["length_difference"].expected is rows["constant"].expected is rows["random"].expected is None
    assert not {part.entry.name for part in choice.parts} & {"length_difference", "constant", "random"}
    assert "trivial baseline" in rows["random"].notes


def test_thresholds_are_of_the_recommended_similarity(choice, judged):
    assert [item.false_alarms for item in choice.thresholds] == [0.05, 0.10]     # too few dissimilar pairs for 1%
    assert any("1% false alarms needs 99" in note for note in choice.notes)


def test_the_worst_disagreement_comes_first(choice):
    assert len(choice.disagreements) == 10
    gaps = [abs(item.human_percentile - item.metric_percentile) for item in choice.disagreements]
    assert gaps == sorted(gaps, reverse=True)
    assert HOSTILE in {item.a for item in choice.disagreements}


def test_reports_escape_texts(choice):
    report = report_on_pairs(choice)
    page = report.to_html()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    values = json.loads(json.dumps(report.values, allow_nan=False))
    assert values["recommended"] == choice.recommended
    assert values["pairs"]["count"] == len(choice.pairs)


def test_the_python_file_gives_the_recommended_similarity_without_touchstone(choice, judged, tmp_path):
    path = tmp_path / "similarity.py"
    write_usage(choice, path)
    test = ("import json, sys; import similarity; assert not {'harness', 'tasks', 'leaderboard'} & set(sys.modules);"
            "print(json.dumps(similarity.similarity(*json.load(open('texts.json'))).tolist()))")
    (tmp_path / "texts.json").write_text(json.dumps([judged.a, judged.b]))
    done = subprocess.run([sys.executable, "-c", test], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin", "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"})
    found = np.array(json.loads(done.stdout.splitlines()[-1]))
    answers = score_pairs(judged.a, judged.b, [part.entry for part in choice.parts], NoProgress())
    expected = np.mean([(answer.similarities - part.mean) / part.spread
                        for answer, part in zip(answers, choice.parts, strict=True)], axis=0)
    assert found == pytest.approx(expected, abs=1e-4)        # vectors of other batches


def test_a_combination_is_written_too(choice, judged, tmp_path):
    entries = select_entries(["levenshtein", "chrf"], SUBMISSIONS)
    answers = score_pairs(judged.a, judged.b, [entry for entry in entries if entry.variant is None], NoProgress())
    rng = np.random.default_rng(1)
    human, error = rng.normal(size=len(judged)), rng.normal(size=len(judged))       # opposite errors: the mean has none
    parts = [MetricAnswers(answer.entry, human + sign * error, 1e-5) for answer, sign in zip(answers, (1, -1), strict=True)]
    pairs = type(judged)(**{**vars(judged), "judgements": type(judged.judgements)(human, False, np.arange(len(judged)))})
    combined = analyse_answers(pairs, parts)
    assert combined.combined
    assert combined.agreement.value > max(row.agreement.value for row in combined.rows)
    assert not analyse_answers(pairs, parts, combine=False).combined
    write_usage(combined, tmp_path / "combined.py")
    spec = importlib.util.spec_from_file_location("combined", tmp_path / "combined.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    values = {answer.name: answer.similarities for answer in answers}
    expected = np.mean([(values[part.entry.name] - part.mean) / part.spread for part in combined.parts], axis=0)
    assert module.similarity(judged.a, judged.b) == pytest.approx(expected)


def test_equal_metrics_are_one_row(judged):
    (entry,) = select_entries(["levenshtein"], SUBMISSIONS)
    other = select_entries(["rouge1"], SUBMISSIONS)[0]
    values = judged.judgements.human + np.random.default_rng(1).normal(size=len(judged))
    choice = analyse_answers(judged, [MetricAnswers(entry, values, 1e-5), MetricAnswers(other, np.exp(values), 1e-4)])
    assert [(row.name, row.same_as) for row in choice.rows] == [("levenshtein", ("rouge1",))]


def test_doubts_are_noted(judged):
    entries = select_entries(["levenshtein", "jaccard", "chrf"], SUBMISSIONS)
    rng = np.random.default_rng(2)
    reversed_ = analyse_answers(judged, [MetricAnswers(entry, rng.normal(size=len(judged)) - judged.judgements.human, 1e-5)
                                         for entry in entries])
    assert any("Reverse them" in note for note in reversed_.notes)


def test_failures_are_reported_and_the_rest_is_chosen_from(judged, write):
    path = write("broken", "def similarity(a, b): raise ValueError('no')\n", kind="text", returns="similarity", range="[0.0, 1.0]")
    entries = select_candidates("text", [str(path), "jaccard"], NoProgress())
    choice = choose_by_pairs(judged, entries, NoProgress())
    assert "ValueError" in choice.failures["broken"]
    assert choice.recommended.startswith("jaccard")
    with pytest.raises(TouchstoneError, match="all failed"):
        choose_by_pairs(judged, select_candidates("text", [str(path)], NoProgress()), NoProgress())


def test_a_rating_that_separates_similar_from_dissimilar_pairs_must_be_on_the_scale(judged):
    entry = select_entries(["levenshtein"], SUBMISSIONS)[0]
    with pytest.raises(TouchstoneError, match="not within the ratings"):
        analyse_answers(judged, [MetricAnswers(entry, judged.judgements.human, 1e-5)], similar_from=99)


def test_candidates_are_all_fast_text_metrics_or_the_named_ones(write):
    everything = select_candidates("text", [], NoProgress())
    assert all(entry.header.kind == "text" and not entry.on_request for entry in everything)
    path = write("mine", "def similarity(a, b): return [0.5] * len(a)\n", kind="text", returns="similarity", range="[0.0, 1.0]")
    assert [entry.name for entry in select_candidates("text", [f"+{path}"], NoProgress())] == [
        *(entry.name for entry in everything), "mine"]
    assert [entry.name for entry in select_candidates("text", ["levenshtein"], NoProgress())] == ["levenshtein"]
    with pytest.raises(TouchstoneError, match="compares corpora"):
        select_candidates("text", ["energy"], NoProgress())
