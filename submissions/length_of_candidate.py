# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "length_of_candidate"
# title = "Control: the length of the second text"
# summary = "The longer the second text, the more similar; the first text is ignored."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# control = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "shorter"
# parameters = { shorter = true }
# summary = "The shorter the second text, the more similar."
# ///
import numpy as np

CHARACTERS = 100            # length of a text whose score is 0.5


def similarity(a: list[str], b: list[str], shorter: bool = False) -> np.ndarray:
    lengths = np.array([len(text) for text in b], dtype=float)
    return (CHARACTERS if shorter else lengths) / (CHARACTERS + lengths)


def matrix(a: list[str], b: list[str], shorter: bool = False) -> np.ndarray:
    return np.tile(similarity(a, b, shorter), (len(a), 1))
