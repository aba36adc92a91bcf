"""The child process that embeds: the same vectors, little memory, and an end whenever either process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from harness.base.progress import NoProgress
from harness.models import embedding_process
from harness.models.embedding_process import EmbeddingProcess, ResidentEmbedding
from harness.models.encoders import READ_AT_ONCE, SAME_VECTOR
from harness.models.registry import MODELS
from harness.models.vector_cache import VectorCache, text_key
from tasks.data import loading as data
from tests.support.processes import alive, descendants
from tests.support.runs import SAME, stored

pytestmark = pytest.mark.sandbox

TEXTS = sorted({*data.load_corpus("made_weather")[:350], *data.load_corpus("made_kitchen")[:350], "", "a", "naïve 中文 text",
                *("long " * length for length in (40, 200, 300, 2000))})


def test_a_child_process_gives_the_same_vectors_to_the_bit(tmp_path):
    here, child = VectorCache("minilm", tmp_path / "here"), VectorCache("minilm", tmp_path / "child")
    here.fill(TEXTS[:-1], NoProgress(), threads=1)
    process = EmbeddingProcess(child, TEXTS[:-1], 2)
    assert sum(process.advances()) == len(TEXTS) - 1
    assert child.missing(TEXTS) == TEXTS
    child.refresh()
    assert child.missing(TEXTS) == TEXTS[-1:]
    assert np.array_equal(child.vectors(TEXTS[:-1]), here.vectors(TEXTS[:-1]))


def test_vectors_are_those_of_one_tensor_per_text_to_the_bit():
    """The route before token ids were kept in arrays."""
    encoder = MODELS["minilm"].encoder()
    inputs = []
    for start in range(0, len(TEXTS), READ_AT_ONCE):
        features = encoder._model.preprocess(TEXTS[start:start + READ_AT_ONCE], prompt=None)
        mask = features["attention_mask"]
        inputs += [{name: value[row][kept] for name, value in features.items() if getattr(value, "shape", None) == mask.shape}
                   for row, kept in enumerate(mask.bool())]
    for batch in encoder.batches(TEXTS):
        rows, times, _ = batch.content
        stacked = {name: torch.stack([inputs[row][name] for row in rows]) for name in inputs[0]}
        with torch.inference_mode():
            expected = encoder._model(stacked)["sentence_embedding"].numpy()
        assert np.array_equal(encoder.encode(batch), np.repeat(expected, times, axis=0))


def test_texts_with_the_same_tokens_are_those_that_a_dictionary_finds():
    texts = [*TEXTS, *TEXTS[::3], *(f"{text} " for text in TEXTS[::7])]
    _, _, tokenized = MODELS["minilm"].encoder().batches(texts)[0].content
    expected: dict[bytes, list[int]] = {}
    for row in range(len(texts)):
        expected.setdefault(tokenized.tokens("input_ids", row).tobytes(), []).append(row)
    assert list(tokenized.unique()) == sorted(expected.values(), key=lambda rows: (tokenized.length(rows[0]), rows[0]))


def test_filling_remembers_no_text(tmp_path):
    before = text_key.cache_info().currsize
    VectorCache("minilm", tmp_path).fill(["remembered by nobody", "nor is this"], NoProgress(), 1)
    assert text_key.cache_info().currsize == before


def test_token_ids_take_two_bytes_each():
    _, _, tokenized = MODELS["minilm"].encoder().batches(TEXTS)[0].content
    assert tokenized.features["input_ids"].dtype == np.uint16
    assert sum(values.nbytes for values in tokenized.features.values()) <= 4 * tokenized.ends[-1]


def test_a_model_that_cannot_be_used_is_said_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(TouchstoneError, match="set OPENAI_API_KEY"):
        list(EmbeddingProcess(VectorCache("text-embedding-3-small", tmp_path), ["a"], 1).advances())


@pytest.fixture
def resident() -> Iterator[ResidentEmbedding]:
    process = ResidentEmbedding("minilm", 2)
    yield process
    process.close()


def test_a_resident_process_gives_the_same_vectors_and_keeps_its_model(resident, tmp_path):
    here = VectorCache("minilm", tmp_path)
    here.fill(TEXTS, NoProgress(), threads=1)
    first = resident.embed(TEXTS, 100)
    process = resident._process.pid
    assert first.vectors(TEXTS) == pytest.approx(here.vectors(TEXTS), abs=SAME_VECTOR)
    assert resident.embed(["again"], 100).vectors(["again", "again"]).shape == (2, 384)
    assert resident._process.pid == process
    assert resident.embed([], 100).vectors([]).shape == (0, 384)
    with pytest.raises(KeyError):
        first.vectors(["again"])


def test_a_resident_process_that_died_is_replaced(resident):
    resident.embed(["a"], 100)
    resident._process.kill()
    assert resident.embed(["a"], 100).vectors(["a"]).shape == (1, 384)
    resident._process.kill()
    resident._process.wait()
    assert not resident.alive
    assert resident.embed(["a"], 100).has("a")


def test_a_resident_process_has_a_deadline(resident):
    with pytest.raises(TouchstoneError, match="not be embedded in time"):
        resident.embed(TEXTS, 0)
    assert not resident.alive


def test_a_resident_process_that_fails_is_said(resident, monkeypatch):
    monkeypatch.setattr(embedding_process, "__name__", "harness.no_such_module")
    with pytest.raises(TouchstoneError, match="the error is in the output"):
        resident.embed(["a"], 100)


def test_no_resident_process_uses_a_paid_service(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "somebody's")
    with pytest.raises(TouchstoneError, match="no local files"):
        ResidentEmbedding("text-embedding-3-small", 1).embed(["a"], 1)


def test_a_resident_process_ends_when_it_is_idle(monkeypatch):
    """Its signal is that of an alarm."""
    script = "from harness.models import embedding_process as e; e.IDLE_SECONDS = 1; e.serve_requests('wordllama', 1, 1)"
    done = subprocess.run([sys.executable, "-c", script], stdin=os.pipe()[0], capture_output=True, check=False, timeout=100, cwd=PROJECT)
    assert done.returncode == -signal.SIGALRM


def start_run(tmp_path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "leaderboard", "run", "energy", "word_overlap", "--suite", "smoke", "--only", SAME[0], "--only", SAME[1],
                             "--store", str(tmp_path / "store.sqlite")], cwd=PROJECT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "TOUCHSTONE_CACHE": str(tmp_path / "cache")})


def embedding_child(process: subprocess.Popen[str]) -> int:
    """Wait for the child process that embeds and return its number."""
    while process.poll() is None:
        for child in descendants(process.pid):
            if b"embedding_process" in subprocess.run(["cat", f"/proc/{child}/cmdline"], capture_output=True, check=False).stdout:
                return child
        time.sleep(0.02)
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_killed_child_is_said_and_a_repeated_command_goes_on(seconds, tmp_path):
    process = start_run(tmp_path)
    child = embedding_child(process)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "embeds texts with minilm was killed by SIGKILL; completed vectors are kept. Repeat the command to continue" in said
    assert "Traceback" not in said
    again = start_run(tmp_path)
    assert "touchstone:" not in again.communicate(timeout=120)[1]
    assert again.returncode == 0
    assert stored(tmp_path / "store.sqlite") == 10


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_child_ends_with_the_run(sent, tmp_path):
    process = start_run(tmp_path)
    child = embedding_child(process)
    process.send_signal(sent)
    process.communicate(timeout=30)
    until = time.monotonic() + 5
    while alive(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(child)


def test_units_without_vectors_are_answered_while_texts_are_embedded(tmp_path):
    process = start_run(tmp_path)
    child = embedding_child(process)
    os.kill(child, signal.SIGSTOP)
    until = time.monotonic() + 60
    while stored(tmp_path / "store.sqlite") < 5 and time.monotonic() < until:
        time.sleep(0.05)
    assert stored(tmp_path / "store.sqlite") == 5
    os.kill(child, signal.SIGCONT)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert stored(tmp_path / "store.sqlite") == 10


def test_a_run_imports_nothing_of_torch(tmp_path):
    script = ("import sys; from harness.evaluation.run import run_suite; from tasks.suite_files import load_suite\n"
              f"run_suite(['energy', 'zipf'], load_suite('smoke'), {str(tmp_path / 'store.sqlite')!r}, only=['known_similarity'])\n"
              "print([name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=False,
                          env={**os.environ, "TOUCHSTONE_CACHE": str(tmp_path / "cache")})
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
