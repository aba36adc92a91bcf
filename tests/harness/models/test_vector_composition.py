"""Vectors made of others: where a text is cut, what becomes of its parts, and which models an entry is given."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import NoProgress
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.input_encoder import InputEncoder
from harness.models.vector_cache import VectorCache
from harness.models.vector_composition import split_text, vector_model_id
from harness.results.outcomes import Status
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from tests.support.submissions import embed_for

pytestmark = pytest.mark.sandbox

LONG = " ".join(f"The train number {i} leaves the station of the town in the evening." for i in range(60))
END = " Bread is baked of flour, water, salt and yeast; the dough must rest before it goes into the oven." * 8
TEXTS = ["A short text.", "Another one, as short.", LONG, LONG + END, ""]


def of(name: str):
    entry, = select_entries([name], SUBMISSIONS)[:1] if "[" not in name else select_entries([name], SUBMISSIONS)
    return entry


def cosines(name: str, a: list[str], b: list[str]) -> np.ndarray:
    """What cosine makes of an entry's vectors."""
    giver = InputEncoder(VectorCache("minilm", cache_folder())).vectors_for(of(name).vectors)
    giver.fill([*a, *b], NoProgress(), 2)
    x, y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (giver.vectors(a), giver.vectors(b)))
    return np.einsum("nd,nd->n", x, y)


@pytest.mark.parametrize(("words", "most", "expected"), [
    ([0, 1, 2], 3, ["aa bb cc"]),                       # fits
    ([0, 1, 2], 2, ["aa bb", "cc"]),
    ([0, 1, 1], 2, ["aa", "bb cc"]),                    # a word of two tokens stays whole
    ([0, 0, 0], 2, ["aa bb", "cc"]),                    # unless it is longer than a piece
    ([None, None, None], 1, ["aa", "bb", "cc"]),        # a tokenizer that knows no words
])
def test_a_text_is_cut_between_words(words, most, expected):
    assert split_text("aa bb cc", [(0, 2), (3, 5), (6, 8)], words, most) == expected


def test_chunks_hold_the_whole_text_and_fit_into_the_window():
    cache = VectorCache("minilm", cache_folder())
    part, = InputEncoder(cache).vectors_for(of("cosine[chunk_mean]").vectors)._parts
    pieces, = part.chunks([LONG + END])
    assert len(pieces) > 3
    assert "".join(pieces).replace(" ", "") == (LONG + END).replace(" ", "")
    lengths = [len(cache.model.tokenizer().encode(piece).ids) for piece in pieces]      # with the two marks
    assert max(lengths) <= cache.model.window == 256
    assert min(lengths[:-1]) > 250
    assert part.chunks(["short", ""]) == [["short"], [""]]


def test_the_end_of_a_long_text_counts_in_chunks_and_else_does_not():
    whole, chunked = (cosines(name, [LONG], [LONG + END])[0] for name in ("cosine", "cosine[chunk_mean]"))
    assert whole == pytest.approx(1, abs=1e-6)              # cut off: the same text to the model
    assert chunked < 0.99
    short = TEXTS[:1], TEXTS[1:2]
    assert cosines("cosine[chunk_mean]", *short) == pytest.approx(cosines("cosine", *short), abs=1e-6)


def test_a_chunked_vector_is_the_mean_of_the_unit_vectors_of_the_chunks():
    cache = VectorCache("minilm", cache_folder())
    part, = InputEncoder(cache).vectors_for(of("cosine[chunk_mean]").vectors)._parts
    cache.fill(part.embedded_texts(TEXTS)[0][1], NoProgress(), 2)
    for text, row in zip(TEXTS, part.vectors(TEXTS), strict=True):
        rows = cache.vectors(part.chunks([text])[0])
        assert row == pytest.approx((rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0), abs=1e-6)
    assert part.vectors([]).shape == (0, 384)


def test_averaged_is_the_mean_of_the_models():
    a, b = [TEXTS[0], TEXTS[2], LONG], [TEXTS[1], TEXTS[0], END]
    each = [cosines(f"cosine[{name}]", a, b) for name in ("minilm", "wordllama")]
    assert not np.allclose(*each, atol=0.01)
    assert cosines("cosine[averaged]", a, b) == pytest.approx(np.mean(each, axis=0), abs=1e-6)
    assert cosines("cosine", a, b) == pytest.approx(each[0])


def test_every_variant_answers_what_was_announced(worker_slot, smoke):
    """Through the harness, on a unit of a task: what is not announced would be a LookupError."""
    question = next(one for one in smoke.task_units if one.task.name == "robustness")
    cache = VectorCache("minilm", cache_folder())
    scores = {}
    for entry in select_entries(["cosine"], SUBMISSIONS):
        embed_for([TaskUnit(question.task, question.unit)], entry, cache)
        outcome = worker_slot.run_unit(entry, question, InputEncoder(cache))
        assert outcome.status is Status.ANSWERED, outcome.failure
        scores[entry.name] = np.array([row[1] for row in outcome.observation.answers])      # of summaries
    assert np.allclose(scores["cosine"], scores["cosine[minilm]"])
    assert not np.allclose(scores["cosine"], scores["cosine[wordllama]"], atol=0.01)
    assert scores["cosine[averaged]"] == pytest.approx((scores["cosine[minilm]"] + scores["cosine[wordllama]"]) / 2, abs=1e-5)


def test_the_signature_names_what_was_given(smoke):
    assert vector_model_id(of("cosine").vectors, smoke.model) == smoke.model
    names = {name: vector_model_id(of(f"cosine[{name}]").vectors, smoke.model).name for name in ("minilm", "wordllama", "averaged", "chunk_mean")}
    assert names == {"minilm": "minilm", "wordllama": "wordllama", "averaged": "minilm+wordllama", "chunk_mean": "minilm+chunks"}
    assert len({vector_model_id(of(f"cosine[{name}]").vectors, smoke.model).fingerprint for name in names}) == 4


def test_what_vectors_are_given_is_part_of_the_entry_and_an_unknown_model_is_refused(write):
    digests = {entry.digest for entry in select_entries(["cosine"], SUBMISSIONS)}
    assert len(digests) == 5
    path = write("other", "def similarity(a, b): return a\n", kind="text", input="embeddings", returns="similarity", range="[0.0, 1.0]")
    path.write_text(path.read_text().replace("# ///\nd", '# [[tool.touchstone.variants]]\n# name = "v"\n# vectors_of = ["minilmm"]\n# ///\nd'))
    with pytest.raises(TouchstoneError, match='no registered model "minilmm".*Did you mean "minilm"'):
        load_submission(path)
