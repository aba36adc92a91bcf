# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine_glove"
# title = "Cosine of GloVe vectors"
# summary = "Cosine of the concatenated minimum, maximum and mean of the GloVe vectors of a text; negative values become 0."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# models = ["glove-6b-50d"]
# trained_on = ["Wikipedia 2014", "Gigaword 5"]
# paper = "https://arxiv.org/abs/1711.06861"
# authors = ["Fu", "Tan", "Peng", "Zhao", "Yan"]
# year = 2018
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "mean"
# parameters = { mean_only = true }
# summary = "Cosine similarity of the means of the two texts' word vectors."
# ///
"""Content preservation of Fu et al. 2018, as used by Yamshchikov et al. 2020: minimum, maximum and mean of the word vectors.

The vectors are those of GloVe (Pennington et al. 2014) for lower-cased words; repeated words count repeatedly. A text without
GloVe vectors has similarity 0 to every other text.
"""

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


def similarity(a: list[str], b: list[str], mean_only: bool = False) -> np.ndarray:
    same = np.array([x == y for x, y in zip(a, b, strict=True)])
    return np.where(same, 1.0, np.clip(np.einsum("nd,nd->n", directions(a, mean_only), directions(b, mean_only)), 0, 1))


def matrix(a: list[str], b: list[str], mean_only: bool = False) -> np.ndarray:
    same = np.array(a, dtype=object)[:, None] == np.array(b, dtype=object)[None, :]
    return np.where(same, 1.0, np.clip(directions(a, mean_only) @ directions(b, mean_only).T, 0, 1))


def directions(texts: list[str], mean_only: bool) -> np.ndarray:
    """Return one row of unit length per text; zeros for a text without vectors."""
    rows_of_texts = [[row for word in WORD.findall(text.lower()) if (row := rows.get(word)) is not None] for text in texts]
    pooled = np.array([pool(np.asarray(vectors[text_rows], dtype=np.float64), mean_only) for text_rows in rows_of_texts])
    return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)


def pool(words: np.ndarray, mean_only: bool) -> np.ndarray:
    """Return the concatenated minimum, maximum and mean of the rows, or the mean only; zeros without rows."""
    if not len(words):
        return np.zeros(words.shape[1] * (1 if mean_only else 3))
    mean = words.mean(axis=0)
    return mean if mean_only else np.concatenate([words.min(axis=0), words.max(axis=0), mean])
