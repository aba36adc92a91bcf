"""Texts that somebody brings: what is asked, what is refused, what the page says of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, SUBMISSIONS
from harness.base.progress import NoProgress
from harness.models import embedding_process
from harness.submission.selection import select_entries
from leaderboard.board.components.layout import Links
from leaderboard.board.pages import try_it as try_page
from leaderboard.board.try_api import BODY_BYTES, add_trying
from leaderboard.workflows import try_texts as trying
from leaderboard.workflows.try_texts import (
    CORPUS_METRICS,
    PAIR_METRICS,
    SPLITS,
    TryBusy,
    read_halves,
    split_in_halves,
    try_corpora,
    try_texts,
)

HOSTILE = "<img src=x onerror=document.title='owned'>\ud800\x00\u202e"
RAIN = "\n".join(f"rain fell on {town} all of day {day}" for day, town in enumerate(("rome", "oslo", "bern", "riga", "bonn", "cork")))
TRAINS = "\n".join(f"the {town} express is late again" for town in ("rome", "oslo", "bern", "riga", "bonn", "cork", "kyiv"))


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """The model is read beside everything else that these tests' machine does."""
    monkeypatch.setattr(trying, "SECONDS", 200.0)


@pytest.fixture
def client() -> TestClient:
    snapshot = SimpleNamespace(report=SimpleNamespace(suite=SimpleNamespace(model=SimpleNamespace(name="minilm")), entries=[]),
                               entry=lambda name, track=None: SimpleNamespace(name=name) if name == "jaccard" else None)
    site = FastAPI()
    add_trying(site, SimpleNamespace(snapshot=lambda release, suite: snapshot, links=lambda release, suite: Links()))
    return TestClient(site)


def test_two_texts_by_hand():
    """Of {a, b, c} and {b, c, d} two of four words are shared; one of five letters and blanks differs twice."""
    found = {one.entry.name: one for one in try_texts("a b c", "b c d", "minilm")}
    assert list(found) == sorted(PAIR_METRICS, key=PAIR_METRICS.index)
    assert all(one.failure is None and len(one.values) == 1 for one in found.values())
    assert found["jaccard"].values == (0.5,)
    assert found["rouge1"].values[0] == pytest.approx(2 / 3)       # two of three words, both ways
    same = try_texts("rain fell on rome", "rain fell on rome", "minilm")
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


def test_a_model_that_cannot_be_read_is_said(monkeypatch):
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
    (try_corpora, RAIN, "a\n" * 201, "second corpus has 201"), (try_corpora, RAIN, RAIN + "\n" + "a" * 1_001, "1,001 characters")])
def test_what_cannot_be_tried_is_said(ask, a, b, said):
    with pytest.raises(TouchstoneError, match=said):
        ask(a, b, "minilm")


def test_one_asks_at_a_time(client):
    with trying.LOCK:
        with pytest.raises(TryBusy):
            try_texts("a", "b", "minilm")
        assert client.post("/try", json={"kind": "texts", "a": "a", "b": "b"}).status_code == 429
    assert isinstance(trying.LOCK, type(threading.Lock()))
    assert not trying.LOCK.locked()


def test_when_the_time_is_up_the_rest_is_not_asked(monkeypatch):
    monkeypatch.setattr(trying, "SECONDS", -1.0)
    found = {one.entry.name: one.failure for one in try_texts("a", "b", "minilm")}
    assert found.pop("cosine") == "was not run: The texts could not be embedded in time; try fewer or shorter texts."
    assert set(found.values()) == {"was not run: the -1 seconds were up"}


@pytest.mark.parametrize("kind", ["texts", "corpora"])
def test_what_is_pasted_never_comes_back_as_markup(kind, client):
    text = HOSTILE if kind == "texts" else "\n".join(f"{HOSTILE} {i}" for i in range(5))
    found = client.post("/try", content=json.dumps({"kind": kind, "a": text, "b": text}), headers={"content-type": "application/json"})
    assert found.status_code == 200
    assert "<img" not in found.json()["html"]
    assert 'href="?metric=jaccard"' in found.json()["html"]


@pytest.mark.parametrize(("body", "kind", "status"), [
    ("{}", "application/json", 422), ("nonsense", "application/json", 422), ("[" * 100_000, "application/json", 422), ('{"kind": "x", "a": "a", "b": "b"}', "application/json", 422),
    ('{"kind": "texts", "a": "a", "b": 1}', "application/json", 422), ("kind=texts&a=a&b=b", "application/x-www-form-urlencoded", 415),
    ('{"kind": "texts", "a": "a", "b": "b"}', "text/plain", 415), ("a" * (BODY_BYTES + 1), "application/json", 413)])
def test_a_request_that_is_none_gets_a_sentence(body, kind, status, client):
    found = client.post("/try", content=body, headers={"content-type": kind})
    assert found.status_code == status
    assert found.json()["error"].endswith(".")


def test_a_copy_without_a_server_says_that_it_needs_one():
    assert "needs" not in try_page.render_form(None, Links(), {})
    shown = try_page.render_form(None, Links(static=True), {})
    assert "touchstone serve" in shown
    assert "<form" not in shown


def test_a_metric_that_fails_is_said(monkeypatch, client):
    entry = select_entries(["jaccard"], SUBMISSIONS)[0]
    failed = trying.TriedMetric(entry, (), "raised <b>ValueError</b>")
    snapshot = SimpleNamespace(entry=lambda name, track=None: None, report=SimpleNamespace(entries=[]))
    for shown in (try_page.render_texts(snapshot, Links(), [failed]), try_page.render_corpora(snapshot, Links(), [failed])):
        assert "raised &lt;b&gt;ValueError" in shown
