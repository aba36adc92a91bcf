"""Answers that were computed elsewhere: the same scores as those of a run, the mark, and files that are wrong."""

from __future__ import annotations

import json

import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.submission import load_submission
from harness.supplied_answers.answers import read_answers, store_answers
from harness.supplied_answers.questions import collect_questions
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.scores import CLAIMED
from tasks.suite_files import load_suite
from tests.support.command import touchstone

TWIN = '''# /// script
# [tool.touchstone]
# name = "twin"
# title = "Shared words"
# summary = "Share of distinct words in common."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# license = "Apache-2.0"
# ///
def similarity(a, b):
    pairs = [(set(x.split()), set(y.split())) for x, y in zip(a, b)]
    return [len(x & y) / len(x | y) if x | y else 1.0 for x, y in pairs]
'''
METRIC = {"name": "judge", "title": "Judge", "summary": "Computed elsewhere.", "returns": "similarity", "range": [0, 1], "license": "MIT"}


def score(first: str, second: str) -> float:
    x, y = set(first.split()), set(second.split())
    return len(x & y) / len(x | y) if x | y else 1.0


@pytest.fixture(scope="module")
def suite():
    return load_suite("smoke")


@pytest.fixture(scope="module")
def lines(suite) -> list[str]:
    answers = [{"id": question.id, "score": score(question.first, question.second)}
               for question in collect_questions(suite, ["human_ordering"], NoProgress())]
    assert len(answers) > 50
    return [json.dumps(line) for line in (METRIC, *answers)]


def test_the_scores_are_those_of_a_run_and_the_entry_is_claimed_and_not_ranked(suite, tmp_path):
    questions = tmp_path / "questions.jsonl"
    assert touchstone("questions", questions, "--suite", "smoke").returncode == 0
    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    assert len({question["id"] for question in asked}) == len(asked)
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in (
        METRIC, *({"id": question["id"], "score": score(question["first"], question["second"])} for question in asked))))
    store = tmp_path / "store.sqlite"
    done = touchstone("answers", answers, "--suite", "smoke", "--store", store)
    assert done.returncode == 0, done.stderr
    (tmp_path / "twin.py").write_text(TWIN)
    run_suite(load_submission(tmp_path / "twin.py").entries, suite, store, only=["alignment", "robustness", "sensitivity", "clustering", "retrieval", "human_ordering"])
    opened = Store(store, read_only=True)
    placed = {place.scored.name: place for place in rank_suite(opened, suite)["text"].places}
    assert placed["judge"].rank is None
    assert CLAIMED in placed["judge"].scored.marks
    assert placed["judge"].reason.startswith(CLAIMED)
    assert placed["twin"].rank == 1
    for name in ("alignment", "robustness", "sensitivity", "clustering", "retrieval", "human_ordering"):
        assert placed["judge"].scored.tasks[name].score.value == pytest.approx(placed["twin"].scored.tasks[name].score.value, abs=1e-12)
    opened.close()


def wrong(lines: list[str], what: str) -> list[str]:
    first = json.loads(lines[1])
    return {
        "missing": lines[:-2],
        "doubled": [*lines, lines[1]],
        "other questions": [*lines, json.dumps({"id": "0" * 24, "score": 1})],
        "NaN": [lines[0], json.dumps({**first, "score": float("nan")}), *lines[2:]],
        "infinite": [lines[0], '{"id": "x", "score": 1e999}'],
        "a text": [lines[0], json.dumps({**first, "score": "7"})],
        "true": [lines[0], json.dumps({**first, "score": True})],
        "no id": [lines[0], '{"score": 1}'],
        "no JSON": [lines[0], "7"],
        "no metric": lines[1:],
        "a range of one number": [json.dumps({**METRIC, "range": [0]}), *lines[1:]],
        "a name with spaces": [json.dumps({**METRIC, "name": "My judge"}), *lines[1:]],
        "an unknown field": [json.dumps({**METRIC, "code": "x"}), *lines[1:]],
        "two lines in a title": [json.dumps({**METRIC, "title": "a\n# control = true"}), *lines[1:]],
        "empty": [],
    }[what]


@pytest.mark.parametrize(("what", "sentence"), [
    ("missing", "2 questions of the tasks human_ordering of suite smoke have no answer"), ("doubled", "answered twice"),
    ("other questions", "1 of [0-9]+ answers belong to no question"), ("NaN", "must be a finite number, not NaN"), ("infinite", "must be a finite number"),
    ("a text", "must be a finite number"), ("true", "must be a finite number"), ("no id", "has no `id`"), ("no JSON", "must be a JSON object"),
    ("no metric", "is not a field of a metric"), ("a range of one number", "needs a `range`"), ("a name with spaces", "name"),
    ("an unknown field", "`code` is not a field"), ("two lines in a title", "title"), ("empty", "must be a JSON object")])
def test_a_wrong_file_is_refused_in_a_sentence_and_nothing_is_stored(what, sentence, lines, suite, tmp_path):
    path, store = tmp_path / "answers.jsonl", tmp_path / "store.sqlite"
    path.write_text("".join(f"{line}\n" for line in wrong(lines, what)))
    with pytest.raises(TouchstoneError, match=sentence):
        store_answers(read_answers(path), suite, ["human_ordering"], store, NoProgress())
    assert not store.exists()


def test_other_answers_are_another_entry(lines, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(lines))
    digest = read_answers(path).entry.digest
    path.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    assert read_answers(path).entry.digest == digest
    path.write_text("\n".join([*lines[:-1], lines[-1].replace('"score": ', '"score": 1')]))
    assert read_answers(path).entry.digest != digest
