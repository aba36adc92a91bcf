"""Texts that somebody brings: what is asked, what is refused, what the page says of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from markupsafe import Markup

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, SUBMISSIONS
from harness.base.progress import NoProgress
from harness.models import embedding_process
from harness.submission.selection import select_entries
from leaderboard.board.components.layout import Links
from leaderboard.board.pages import try_it as try_page
from leaderboard.workflows import try_texts as trying
from leaderboard.workflows.try_texts import (
    CORPUS_METRICS,
    MOST_TEXTS,
    PAIR_METRICS,
    SPLITS,
    Runner,
    TriedMetric,
    TryBusy,
    read_halves,
    select_fast,
    shuffle,
    split_in_halves,
    takes_vectors,
    try_corpora,
    try_texts,
    warm_up,
)
from tests.support.processes import alive

HOSTILE = "<img src=x onerror=document.title='owned'>\ud800\x00\u202e"
RAIN = "\n".join(f"rain fell on {town} all of day {day}" for day, town in enumerate(("rome", "oslo", "bern", "riga", "bonn", "cork")))
TRAINS = "\n".join(f"the {town} express is late again" for town in ("rome", "oslo", "bern", "riga", "bonn", "cork", "kyiv"))


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """The model is read beside everything else that these tests' machine does."""
    monkeypatch.setattr(trying, "SECONDS", 200.0)


@pytest.fixture
def cold(monkeypatch) -> Iterator[Runner]:
    """Nothing is warm."""
    runner = Runner()
    monkeypatch.setattr(trying, "RUNNER", runner)
    yield runner
    runner.close()


@pytest.fixture
def snapshot() -> SimpleNamespace:
    return SimpleNamespace(report=SimpleNamespace(suite=SimpleNamespace(model=SimpleNamespace(name="minilm")), entries=[]),
                           entry=lambda name, track=None: None, role_value=lambda entry, role: None)


def test_two_texts_by_hand():
    """Of {a, b, c} and {b, c, d} two of four words are shared; one of five letters and blanks differs twice."""
    found = {one.entry.name: one for one in try_texts("a b c", "b c d", "minilm")}
    assert sorted(found) == sorted(PAIR_METRICS)
    assert all(one.failure is None and len(one.values) == 1 for one in found.values())
    assert found["jaccard"].values == (0.5,)
    assert found["rouge1"].values[0] == pytest.approx(2 / 3)       # two of three words, both ways
    same = list(try_texts("rain fell on rome", "rain fell on rome", "minilm"))
    assert [one.values for one in same] == [pytest.approx((1.0,))] * len(PAIR_METRICS)


def test_what_takes_vectors_is_given_the_models_and_the_server_does_not_read_it(inputs):
    a, b = "rain fell on rome all day", "it rained in rome from morning to night"
    inputs.cache.fill([a, b], NoProgress(), threads=1)
    expected = np.prod(inputs.cache.vectors([a, b]), axis=0).sum()         # its vectors have length 1
    asking = "import json, sys; from leaderboard.workflows import try_texts; try_texts.SECONDS = 200; found = try_texts.try_texts(sys.argv[1], sys.argv[2], 'minilm')\n" \
             "print(json.dumps([dict((one.entry.name, one.values) for one in found)['cosine'][0], 'torch' in sys.modules]))"
    said = subprocess.run([sys.executable, "-c", asking, a, b], capture_output=True, text=True, check=True, cwd=PROJECT).stdout
    assert json.loads(said) == [pytest.approx(expected, abs=1e-6), False]


def test_no_service_is_asked_at_the_cost_of_who_serves(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "somebody's")
    found = {one.entry.name: one for one in try_texts("a b", "b c", "text-embedding-3-small")}
    assert "no local files" in found["cosine"].failure
    assert found["jaccard"].values == (pytest.approx(1 / 3),)           # who needs no vectors is asked all the same


def test_a_model_that_cannot_be_read_is_said(monkeypatch, cold):
    monkeypatch.setattr(embedding_process, "__name__", "leaderboard.no_such_module")      # the process ends with an error
    found = {one.entry.name: one for one in try_texts("a b", "b c", "minilm")}
    assert "could not be embedded; the error is in" in found["cosine"].failure
    assert found["jaccard"].failure is None


def test_corpora_that_differ_are_apart_and_one_from_itself_is_not():
    found = {one.entry.name: read_halves(one.values) for one in try_corpora(RAIN, TRAINS, "minilm")}
    assert set(found) == set(CORPUS_METRICS)
    assert found["jaccard"].apart
    assert found["vocabulary_jsd"].apart
    assert not any(read_halves(one.values).apart for one in try_corpora(RAIN, RAIN, "minilm"))


def test_halves_share_no_text_and_have_one_size():
    p, q = [f"p{i}" for i in range(9)], [f"q{i}" for i in range(6)]
    collection, pairs = split_in_halves(p, q)
    assert collection[:2] == [p, q]
    assert {len(half) for half in collection[2:]} == {3}
    assert len(pairs) == 1 + 3 * SPLITS
    across, within = pairs[1::3], [*pairs[2::3], *pairs[3::3]]
    assert all({text[0] for place in pair for text in collection[place]} == {"p", "q"} for pair in across)
    assert all(len({text[0] for place in pair for text in collection[place]}) == 1 for pair in within)
    assert all(not set(collection[a]) & set(collection[b]) for a, b in within)
    halves = read_halves([9.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    assert (halves.whole, halves.across, halves.within) == (9.0, (1, 4, 7, 10, 13), (2, 5, 8, 11, 14, 3, 6, 9, 12, 15))


@pytest.mark.parametrize(("ask", "a", "b", "said"), [
    (try_texts, " ", "b", "first text is empty"), (try_texts, "a", "", "second text is empty"),
    (try_texts, "a", "b" * 5_001, "5,001 characters"), (try_corpora, "a\n\nb\nc\n", RAIN, "first corpus has 3"),
    (try_corpora, RAIN, "a\n" * 2_001, "second corpus has 2,001"), (try_corpora, RAIN, RAIN + "\n" + "a" * 1_001, "1,001 characters")])
def test_what_cannot_be_tried_is_said(ask, a, b, said):
    with pytest.raises(TouchstoneError, match=said):
        ask(a, b, "minilm")                 # before any metric is run


def test_one_asks_at_a_time():
    with trying.LOCK:
        with pytest.raises(TryBusy):
            list(try_texts("a", "b", "minilm"))
    assert isinstance(trying.LOCK, type(threading.Lock()))
    assert not trying.LOCK.locked()


def test_when_the_time_is_up_the_rest_is_not_asked(monkeypatch, cold):
    monkeypatch.setattr(trying, "SECONDS", -1.0)
    found = {one.entry.name: one.failure for one in try_texts("a", "b", "minilm")}
    assert found.pop("cosine") == "was not run: The texts could not be embedded in time; try fewer or shorter texts."
    assert set(found.values()) == {"was not run: the time limit of -1 seconds was reached"}


@pytest.mark.parametrize("stream", [try_page.stream_texts, try_page.stream_corpora])
def test_what_is_pasted_never_comes_back_as_markup(stream, snapshot):
    text = HOSTILE if stream is try_page.stream_texts else "\n".join(f"{HOSTILE} {i}" for i in range(5))
    *_, html = stream(snapshot, Links(), text, text)
    assert "jaccard" in html
    assert "<img" not in html


def test_a_copy_without_a_server_says_that_it_needs_one():
    assert "needs" not in try_page.render_form(None, Links(), {})
    shown = try_page.render_form(None, Links(static=True), {})
    assert "touchstone serve" in shown
    assert "<form" not in shown


def test_a_metric_that_fails_is_said():
    entry = select_entries(["jaccard"], SUBMISSIONS)[0]
    failed = trying.TriedMetric(entry, (), "raised <b>ValueError</b>")
    snapshot = SimpleNamespace(entry=lambda name, track=None: None, report=SimpleNamespace(entries=[]))
    for shown in (try_page.render_texts(snapshot, Links(), [failed]), try_page.render_corpora(snapshot, Links(), [failed])):
        assert "raised &lt;b&gt;ValueError" in shown


# ---- a warm server ------------------------------------------------------------------------------------------------------

def test_a_second_request_needs_no_new_process(cold):
    first = [answer.values for answer in try_texts("a b c", "b c d", "minilm")]
    processes = cold._embedding._process.pid, {slot._hosts[0]._process.pid for slot in cold._slots.values()}
    started = time.process_time()
    second = [answer.values for answer in try_texts("a b c", "b c d", "minilm")]
    assert sorted(second) == sorted(first)
    assert (cold._embedding._process.pid, {slot._hosts[0]._process.pid for slot in cold._slots.values()}) == processes
    assert time.process_time() - started < 2


def test_the_metrics_answer_in_the_order_of_the_names_once_all_is_warm():
    names = ["rouge1", "cosine", "jaccard"]
    list(try_texts("a b c", "b c d", "minilm", names))
    assert [answer.entry.name for answer in try_texts("a b c", "b c d", "minilm", names)] == names


def test_surface_metrics_answer_while_the_model_is_loaded(cold, monkeypatch):
    monkeypatch.setattr(trying, "PATIENCE", 0.0)
    assert [answer.entry.name for answer in try_texts("a b c", "b c d", "minilm", ["cosine", "rouge1", "jaccard"])] == ["rouge1", "jaccard", "cosine"]


def test_processes_that_died_are_replaced():
    list(try_texts("a", "b", "minilm"))
    trying.RUNNER._embedding._process.kill()
    for slot in trying.RUNNER._slots.values():
        for host in slot._hosts:
            host._process.kill()
            host._process.wait()
    assert all(answer.failure is None for answer in try_texts("a b", "b c", "minilm"))


def test_warming_up_starts_everything_once(cold, monkeypatch):
    warm_up("minilm")
    warm_up("minilm")
    until = time.monotonic() + 60
    while cold.warming and time.monotonic() < until:
        time.sleep(0.05)
    assert cold.is_warm("minilm")
    assert not cold.is_warm("wordllama")
    monkeypatch.setattr(cold, "submit", lambda function: pytest.fail("warmed again"))
    warm_up("minilm")


def test_a_request_runs_to_its_end_when_nobody_takes_its_answers():
    answers = try_texts("a b", "b c", "minilm")
    next(answers)
    answers.close()
    until = time.monotonic() + 60
    while trying.LOCK.locked() and time.monotonic() < until:
        time.sleep(0.02)
    assert len(list(try_texts("a b", "b c", "minilm"))) == len(PAIR_METRICS)


def test_an_error_of_ours_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(trying, "run_metric", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(try_texts("a", "b", "minilm"))
    assert not trying.LOCK.locked()


def test_all_metrics_exist_and_large_corpora_are_drawn_from(monkeypatch):
    """Only what would take too long; the draw is that of the stated seed."""
    assert [entry.name for entry in select_fast(CORPUS_METRICS)] == list(CORPUS_METRICS)
    trials = []
    monkeypatch.setattr(trying, "run_exclusively", lambda made, texts, model: trials.append((made, texts)))
    corpora = ["\n".join(f"{letter} text {number}" for number in range(size)) for letter, size in (("p", 2_000), ("q", 900))]
    try_corpora(*corpora, "minilm")
    (made, texts), = trials
    drawn = {trial.entry.name: trial.drawn for trial in made}
    assert {name: drawn[name] for name in MOST_TEXTS} == MOST_TEXTS
    assert drawn["chi"] is drawn["energy"] is None
    assert len(texts) == 2_900
    try_corpora("\n".join("x" * 999 for _ in range(400)), "\n".join("y" * 1_000 for _ in range(10)), "minilm")
    made, texts = trials[1]
    assert {trial.drawn for trial in made if takes_vectors(trial.entry)} == {75}
    assert {trial.drawn for trial in made if not takes_vectors(trial.entry)} == {None, 300}
    assert len(texts) == 85
    assert shuffle(["a", "b", "c", "d"]) == shuffle(["a", "b", "c", "d"])
    assert sorted(shuffle(list("abcdef"))) == list("abcdef")


def test_a_server_that_ends_leaves_no_process(tmp_path):
    asking = "from leaderboard.workflows import try_texts as t; t.SECONDS = 200; list(t.try_texts('a', 'b', 'minilm'))\n" \
             "print(t.RUNNER._embedding._process.pid, *[host._process.pid for slot in t.RUNNER._slots.values() for host in slot._hosts], flush=True)\n" \
             "import os; os.kill(os.getpid(), 9)"
    said = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=False, cwd=PROJECT).stdout
    processes = list(map(int, said.split()))
    assert len(processes) >= 3
    until = time.monotonic() + 10
    while any(map(alive, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, processes))


# ---- what the page says ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("classes", "said"), [
    ([], None), ([("random", False)] * 9, "Only surface metrics"), ([("random", False)] * 9 + [("paraphrase", True)], "Only surface metrics"),
    ([("random", False), ("random", True), ("related", False)], "According to 2 of 3 metrics, the texts are typical of a random pair; a related pair: 1.")])
def test_no_verdict_on_texts_comes_from_surface_metrics_alone(classes, said):
    summary = try_page.summarise_classes(classes)
    assert summary == said or (said and summary.startswith(said))
    assert summary is None or ("According to" in summary) == said.startswith("According")


@pytest.mark.parametrize(("verdicts", "said"), [
    ([], None), ([(True, False)] * 3, "Only surface metrics, which compare words and characters rather than meaning, answered"),
    ([(True, False)] * 3 + [(False, True)], "Only surface metrics, which compare words and characters rather than meaning, find the corpora different (3 of 4"),
    ([(True, False), (True, True)], "According to 2 of 2 metrics, the corpora differ."),
    ([(False, False), (False, True)], "According to none of 2 metrics, the corpora clearly differ.")])
def test_no_verdict_on_corpora_comes_from_surface_metrics_alone(verdicts, said):
    summary = try_page.summarise_corpora(verdicts)
    assert summary == said or summary.startswith(said)


def test_answers_are_streamed_with_the_verdict_at_the_end(board_snapshot):
    shown = list(try_page.stream_corpora(board_snapshot, Links(), RAIN, TRAINS))
    assert len(shown) == len(CORPUS_METRICS) + 1
    assert [html.count("<tr>") for html in shown] == [*range(2, len(CORPUS_METRICS) + 2), len(CORPUS_METRICS) + 1]
    assert all("are running" in html and "According to" not in html for html in shown[:-1])
    assert "are running" not in shown[-1]
    assert "According to" in shown[-1] or "Only surface metrics" in shown[-1]
    texts = list(try_page.stream_texts(board_snapshot, Links(), *try_page.EXAMPLE_TEXTS))
    assert len(texts) == len(PAIR_METRICS) + 1
    assert all(isinstance(html, Markup) for html in texts)


def test_streams_refuse_what_cannot_be_tried(board_snapshot):
    with pytest.raises(TouchstoneError, match="first text is empty"):
        try_page.stream_texts(board_snapshot, Links(), "", "b")
    with pytest.raises(TouchstoneError, match="second corpus has 1"):
        try_page.stream_corpora(board_snapshot, Links(), RAIN, "b")
    with trying.LOCK, pytest.raises(TryBusy):
        next(try_page.stream_texts(board_snapshot, Links(), "a", "b"))


def test_what_people_agree_with_is_first():
    agreement = {"jaccard": 0.3, "cosine": 0.8, "rouge1": None}
    snapshot = SimpleNamespace(entry=lambda name, track: SimpleNamespace(name=name, rank={"rouge1": 2, "chrf": 1}.get(name)) if name != "levenshtein" else None,
                               role_value=lambda entry, role: agreement.get(entry.name))
    assert try_page.order_metrics(snapshot, ["levenshtein", "rouge1", "jaccard", "chrf", "cosine"], "text") == ["cosine", "jaccard", "chrf", "rouge1", "levenshtein"]
    assert try_page.order_metrics(snapshot, ["levenshtein", "jaccard", "rouge1", "chrf"], "corpus")[:2] == ["chrf", "rouge1"]


def test_rows_say_how_many_texts_were_drawn(board_snapshot):
    entry = select_entries(["energy"], SUBMISSIONS)[0]
    values = (1.0, *[1.0, 0.1, 0.1] * SPLITS)
    assert "up to 300 of each corpus, drawn with seed 7" in try_page.render_corpora(board_snapshot, Links(), [TriedMetric(entry, values, drawn=300)])
    assert "drawn with" not in try_page.render_corpora(board_snapshot, Links(), [TriedMetric(entry, values)])


def test_examples_are_valid():
    for corpus in try_page.EXAMPLE_CORPORA:
        assert len(trying.split_lines("first", corpus)) == 12
    assert len(set(try_page.EXAMPLE_TEXTS)) == 2
