# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "one_side_only"
# title = "Control: the words of the second text alone"
# summary = "Mean word length of the second text in characters: the longer, the more similar; the first text is ignored."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# control = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "type_token_ratio"
# parameters = { statistic = "type_token_ratio" }
# summary = "Number of different words of the second text over its number of words."
# ///
import numpy as np

CHARACTERS = 5              # mean word length of a text whose score is 0.5


def similarity(a: list[str], b: list[str], statistic: str = "word_length") -> np.ndarray:
    function = type_token_ratio if statistic == "type_token_ratio" else word_length
    return np.array([function(text.split()) for text in b], dtype=float)


def matrix(a: list[str], b: list[str], statistic: str = "word_length") -> np.ndarray:
    return np.tile(similarity(a, b, statistic), (len(a), 1))


def word_length(words: list[str]) -> float:
    """Return the mean word length, mapped to [0, 1); 0 for a text without words."""
    mean = sum(map(len, words)) / len(words) if words else 0.0
    return mean / (CHARACTERS + mean)


def type_token_ratio(words: list[str]) -> float:
    return len(set(words)) / len(words) if words else 0.0
