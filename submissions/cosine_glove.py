# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine_glove"
# title = "Cosine of mean GloVe vectors"
# summary = "Cosine of the means of the two texts' GloVe word vectors, negative values counted as 0."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# models = ["glove-6b-50d"]
# trained_on = ["Wikipedia 2014", "Gigaword 5"]
# paper = "https://aclanthology.org/D14-1162/"
# authors = ["Pennington", "Socher", "Manning"]
# year = 2014
# license = "Apache-2.0"
# ///
"""Lower-cased words that GloVe knows, each as often as it occurs.  A text of which it knows none is like no other text."""

import re
from pathlib import Path

import numpy as np

WORD = re.compile(r"\w+")
rows: dict[str, int]
vectors: np.ndarray


def setup(models: dict[str, str]) -> None:
    global rows, vectors
    folder = Path(models["glove-6b-50d"])
    rows = {word: row for row, word in enumerate((folder / "words.txt").read_text(encoding="utf-8").split("\n"))}
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    same = np.array([x == y for x, y in zip(a, b, strict=True)])
    return np.where(same, 1.0, np.clip(np.einsum("nd,nd->n", directions(a), directions(b)), 0, 1))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    same = np.array(a, dtype=object)[:, None] == np.array(b, dtype=object)[None, :]
    return np.where(same, 1.0, np.clip(directions(a) @ directions(b).T, 0, 1))


def directions(texts: list[str]) -> np.ndarray:
    """A row a text: the mean of its words' vectors, of length one, or of zeros."""
    found = [[row for word in WORD.findall(text.lower()) if (row := rows.get(word)) is not None] for text in texts]
    means = np.array([vectors[one].mean(axis=0, dtype=np.float64) if one else np.zeros(vectors.shape[1]) for one in found])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
