"""Brill's tagger with rules of our own: each kind of rule by hand; distances of tags and of nouns."""

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


def metric(folder, **parameters) -> Direct:
    return Direct("pos_distance", {"brill-tagger": str(folder)}, **parameters)


@pytest.mark.parametrize(("text", "tags"), [
    ("the dog", ["DT", "NN"]), ("The dog", ["DT", "NN"]), ("dog The", ["NN", "NNP"]),      # small letters help the first word alone
    ("Xylo", ["NNP"]), ("3.5", ["CD"]), ("dog slowly", ["NN", "RB"]), ("slow cats", ["NN", "NNS"]),
    ("the cats", ["DT", "NNX"]),                    # by the word before
    ("to run", ["TO", "VBX"]),                      # of two rules that fit the first tag the last counts
    ("dog barks", ["NN", "UH"]), ("the quick dog", ["PDT", "JJ", "NN"]), ("", [])])
def test_tags_by_hand(text, tags, folder):
    assert list(metric(folder).module.tags(text)) == tags


def test_distances_by_hand(folder):
    a, b = ["the dog", "the dog", "", "the dog runs"], ["the dog", "dog", "the dog", "the dog"]
    assert metric(folder).answer(a, b).tolist() == [0, 1, 2, 1]
    # distinct nouns in small letters: dog, Rex and cats against dog and rex
    assert metric(folder, nouns=True).answer(["dog Rex cats", ""], ["Dog dog rex", ""]).tolist() == [1, 0]
    assert np.all(metric(folder).answer(b, a) == metric(folder).answer(a, b))
