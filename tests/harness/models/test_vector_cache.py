"""The cache of vectors: right, the same in any order, and safe from being killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from harness.base.paths import PROJECT
from harness.base.progress import NoProgress
from harness.models.encoders import SAME_VECTOR, equal_length_groups
from harness.models.registry import MODELS
from harness.models.vector_cache import KEY_BYTES, VectorCache
from tasks.data import loading as data

pytestmark = pytest.mark.sandbox

TEXTS = [*data.load_corpus("made_weather")[:150], *data.load_corpus("made_kitchen")[:150], "", "a", "emoji \N{SLICE OF PIZZA}", "long " * 2000]


def test_vectors_are_those_of_sentence_transformers(tmp_path):
    from sentence_transformers import SentenceTransformer

    cache = VectorCache("minilm", tmp_path)
    cache.fill(TEXTS, NoProgress(), threads=2)
    theirs = SentenceTransformer(str(MODELS["minilm"].path()), device="cpu").encode(TEXTS)
    assert np.abs(cache.vectors(TEXTS) - theirs).max() < 1e-6


def test_wordllama_vectors_are_those_of_wordllama(tmp_path):
    from wordllama import WordLlama

    cache = VectorCache("wordllama", tmp_path)
    cache.fill(TEXTS, NoProgress(), threads=2)
    theirs = WordLlama.load(cache_dir=MODELS["wordllama"].path(), disable_download=True).embed(TEXTS)
    assert np.array_equal(cache.vectors(TEXTS), theirs)


FILL_IN_PARTS = """
import random, sys
from pathlib import Path
import numpy as np
from harness.models.vector_cache import VectorCache
from harness.base.progress import NoProgress
from tasks.data import loading as data
texts = sorted({*data.load_corpus("made_weather")[:350], *data.load_corpus("made_kitchen")[:350]})
folder = Path(sys.argv[1])
whole, parts, stopped = (VectorCache("minilm", folder / name) for name in ("whole", "parts", "stopped"))
whole.fill(texts, NoProgress(), threads=2)
shuffled = random.Random(1).sample(texts, len(texts))
for start, end, threads in ((0, 7, 1), (7, 8, 2), (8, 150, 1), (150, len(texts), 2)):
    parts.fill(shuffled[start:end], NoProgress(), threads=threads)


class Full(Exception):
    pass


def first_portions(append):
    def limited(some, vectors, left=[1]):
        if not left[0]:
            raise Full
        left[0] -= 1
        append(some, vectors)
    return limited


stopped._append = first_portions(stopped._append)
try:
    stopped.fill(texts, NoProgress(), threads=1)
except Full:
    pass
resumed = VectorCache("minilm", folder / "stopped")
pending = len(resumed.missing(texts))
resumed.fill(shuffled, NoProgress(), threads=2)
vectors = whole.vectors(texts)
print(pending, float(np.abs(parts.vectors(texts) - vectors).max()), int(np.array_equal(resumed.vectors(texts), vectors)))
"""


@pytest.mark.parametrize("processor", [{}, {"MKL_CBWR": "COMPATIBLE"}], ids=["this processor", "MKL compatible"])
def test_vectors_depend_on_the_batch_by_rounding_only_and_not_on_being_stopped(tmp_path, processor):
    """Under `MKL_CBWR=COMPATIBLE` kernels round differently by the size of a batch, as they do on Intel processors with AMX."""
    done = subprocess.run([sys.executable, "-c", FILL_IN_PARTS, str(tmp_path)], env={**os.environ, **processor}, cwd=PROJECT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pending, difference, same_after_stop = done.stdout.split()
    assert int(pending) > 0, "texts were missing when it was stopped"
    assert float(difference) <= SAME_VECTOR
    assert same_after_stop == "1"


def test_a_text_is_embedded_once(tmp_path):
    cache = VectorCache("minilm", tmp_path)
    assert cache.fill(TEXTS[:10], NoProgress(), threads=1) == 10
    assert cache.fill(TEXTS[:12], NoProgress(), threads=1) == 2
    again = VectorCache("minilm", tmp_path)
    assert again.fill(TEXTS[:12], NoProgress(), threads=1) == 0
    assert again.missing(TEXTS[10:14]) == TEXTS[12:14]


def test_an_unannounced_text_is_an_error_of_the_task(tmp_path):
    with pytest.raises(LookupError, match="`texts` of its task does not return"):
        VectorCache("minilm", tmp_path).vectors(["never filled"])


FILL = """
import sys
from pathlib import Path
from harness.models.vector_cache import VectorCache
from harness.base.progress import NoProgress
from tasks.data import loading as data
VectorCache("wordllama", Path(sys.argv[1])).fill(data.load_corpus("made_trains") + data.load_corpus("made_weather"), NoProgress(), threads=2)
"""


def test_being_killed_loses_nothing_that_was_committed(tmp_path):
    """Killed between the first commit and the last, three times; then filled: as if nothing had happened."""
    texts = [*data.load_corpus("made_trains"), *data.load_corpus("made_weather")]
    keys = VectorCache("wordllama", tmp_path / "killed").folder / "keys"
    killed_at_work = 0
    for _ in range(20):
        known = keys.stat().st_size if keys.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", FILL, str(tmp_path / "killed")])
        while process.poll() is None and (keys.stat().st_size if keys.exists() else 0) == known:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = VectorCache("wordllama", tmp_path / "killed")
        killed_at_work += 0 < len(done.missing(texts)) < len(texts)
        if killed_at_work == 3 or not done.missing(texts):
            break
    assert killed_at_work, "work was pending when it was killed"
    with keys.open("ab") as file:                       # and a key that was half written
        file.write(b"half")
    survivor, undisturbed = VectorCache("wordllama", tmp_path / "killed"), VectorCache("wordllama", tmp_path / "new")
    survivor.fill(texts, NoProgress(), threads=2)
    undisturbed.fill(texts, NoProgress(), threads=2)
    assert np.array_equal(survivor.vectors(texts), undisturbed.vectors(texts))
    assert keys.stat().st_size % KEY_BYTES == 0


def test_several_processes_share_a_cache(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", FILL, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    texts = [*data.load_corpus("made_trains"), *data.load_corpus("made_weather")]
    shared, alone = VectorCache("wordllama", tmp_path), VectorCache("wordllama", tmp_path / "alone")
    alone.fill(texts, NoProgress(), threads=1)
    assert shared.missing(texts) == []
    assert np.array_equal(shared.vectors(texts), alone.vectors(texts))
    assert os.path.getsize(shared.folder / "vectors") == os.path.getsize(shared.folder / "keys") // KEY_BYTES * 4 * 256


def test_batches_hold_texts_of_equal_length_only():
    groups = equal_length_groups([3, 5, 3, 3, 5, 1], tokens=6)
    assert groups == [[1], [4], [0, 2], [3], [5]]


def test_texts_that_are_the_same_where_the_model_cuts_them_off_are_computed_once(tmp_path):
    encoder = MODELS["minilm"].encoder()
    long = "the ferry waits at the old harbour " * 60
    texts = ["a short one", long, long + "and then", "a short one, longer", long + "it leaves"]
    batches = encoder.batches(texts)
    assert sorted(row for batch in batches for row in batch.rows) == [0, 1, 2, 3, 4]
    assert sum(len(batch.content[0]) for batch in batches) == 3
    cache = VectorCache("minilm", tmp_path)
    cache.fill(texts, NoProgress(), threads=2)
    first, second, third = cache.vectors([texts[1], texts[2], texts[4]])
    assert np.array_equal(first, second)
    assert np.array_equal(first, third)
    alone = VectorCache("minilm", tmp_path / "alone")
    alone.fill([texts[4]], NoProgress(), threads=1)
    assert np.array_equal(alone.vectors([texts[4]])[0], third)
    assert not np.array_equal(*cache.vectors([texts[0], texts[3]]))
