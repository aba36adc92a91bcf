"""Brill's tagger with rules of our own: each kind of rule by hand; edits of tags, and distances of nouns by their vectors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.corpora import Direct

pytestmark = pytest.mark.unit

LEXICON = """;;; a lexicon of the tests
the DT
dog NN
dogs NNS
to TO
run NN
barks VBZ
quick JJ
"""
FORMS = "NN s fhassuf 1 NNS x\nly hassuf 2 RB x\nNN un faddpref 2 JJ x\nVBX un haspref 2 XX x\nthe goodright 1 NNX x\nquick deletesuf 5 ZZ x\n"
CONTEXT = "NN VB PREVTAG TO\nNN VBX PREVWD to\n* UH CURWD barks\nDT PDT SURROUNDTAG STAART JJ\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brill")
    for name, content in (("lexicon", LEXICON), ("morphology", FORMS), ("context", CONTEXT)):
        (folder / f"{name}.txt").write_text(content)
    return folder


@pytest.fixture(scope="module")
def glove(tmp_path_factory):
    """Vectors of dog (0, 0), cats (3, 4), rex (6, 8); none of trees."""
    folder = tmp_path_factory.mktemp("glove")
    (folder / "words.txt").write_text("dog\ncats\nrex\nruns")
    np.save(folder / "vectors.npy", np.array([[0, 0], [3, 4], [6, 8], [9, 9]], np.float32))
    return folder


def metric(folder, **parameters) -> Direct:
    return Direct("tag_edit_distance", {"brill-tagger": str(folder)}, **parameters)


@pytest.mark.parametrize(("text", "tags"), [
    ("the dog", ["DT", "NN"]), ("The dog", ["DT", "NN"]), ("dog The", ["NN", "NNP"]),      # small letters help the first word alone
    ("Xylo", ["NNP"]), ("3.5", ["CD"]), ("dog slowly", ["NN", "RB"]), ("slow cats", ["NN", "NNS"]),
    ("the cats", ["DT", "NNX"]),                    # by the word before
    ("to run", ["TO", "VBX"]),                      # of two rules that fit the first tag the last counts
    ("dog barks", ["NN", "UH"]), ("the quick dog", ["PDT", "JJ", "NN"]), ("", [])])
def test_tags_by_hand(text, tags, folder, glove):
    assert list(metric(folder).module.tags(text)) == tags
    nouns = Direct("pos_distance", {"brill-tagger": str(folder), "glove-6b-50d": str(glove)})
    assert [tag for _, tag in nouns.module.tag_text(text)] == tags


def test_distances_by_hand(folder):
    a, b = ["the dog", "the dog", "", "the dog runs"], ["the dog", "dog", "the dog", "the dog"]
    assert metric(folder).answer(a, b).tolist() == [0, 1, 2, 1]
    # distinct nouns in small letters: dog, Rex and cats against dog and rex
    assert metric(folder, nouns=True).answer(["dog Rex cats", ""], ["Dog dog rex", ""]).tolist() == [1, 0]
    assert np.all(metric(folder).answer(b, a) == metric(folder).answer(a, b))


# Distances: dog to cats 5, dog to rex 10, cats to rex 5.
@pytest.mark.parametrize(("x", "y", "expected"), [
    ("dog", "dog Cats", (0 + 2.5) / 2),             # from dog 0; from dog 0 and from cats 5
    ("dog cats", "Rex", (7.5 + 5) / 2),             # from dog 10 and from cats 5; from rex 5
    ("dog dog cats", "dog", (5 / 3 + 0) / 2),       # each as often as it occurs
    ("the dog", "DOG", 0), ("quick", "dog cats", 2.5),      # no noun: the mean length of the others, 0 and 5
    ("dogs", "Rex", 10),                            # a noun without a vector
    ("quick", "barks", 0), ("", "", 0)])
def test_pos_distance_by_hand(x, y, expected, folder, glove):
    nouns = Direct("pos_distance", {"brill-tagger": str(folder), "glove-6b-50d": str(glove)})
    assert nouns.answer([x, y], [y, x]).tolist() == pytest.approx([expected, expected])
