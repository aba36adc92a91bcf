# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine_fasttext"
# title = "Cosine distance of fastText vectors"
# summary = "1 - cosine similarity of the concatenated minimum, maximum and mean of the texts' fastText word vectors."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, 2.0]
# symmetric = true
# models = ["fasttext-wiki-news-subwords-300"]
# trained_on = ["Wikipedia 2017", "UMBC webbase", "statmt.org news"]
# paper = "https://arxiv.org/abs/1711.06861"
# authors = ["Fu", "Tan", "Peng", "Zhao", "Yan"]
# year = 2018
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "mean"
# parameters = { mean_only = true }
# summary = "1 - cosine similarity of the means of the two texts' word vectors."
# ///
"""Content preservation of Fu et al. 2018, as used by Yamshchikov et al. 2020: minimum, maximum and mean of the word vectors.

A word's vector is that of fastText (Bojanowski et al. 2017) for the word as written or else in lower case; words without a vector
of their own are ignored, repeated words count repeatedly. A text without vectors has distance 1 from every other text. The
vectors are not on the package index and must be placed into the cache. The published means were not compared without them, and
the paper does not state how words are looked up.
"""

import re
from pathlib import Path

import numpy as np

WORD = re.compile(r"\w+")
rows: dict[str, int]
vectors: np.ndarray


def setup(models: dict[str, str]) -> None:
    global rows, vectors
    folder = Path(models["fasttext-wiki-news-subwords-300"])
    with (folder / "words.txt").open(encoding="utf-8", newline="\n") as words:
        rows = {word.removesuffix("\n"): row for row, word in enumerate(words)}
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")


def distance(a: list[str], b: list[str], mean_only: bool = False) -> np.ndarray:
    same = np.array([x == y for x, y in zip(a, b, strict=True)])
    return np.where(same, 0.0, np.clip(1 - np.einsum("nd,nd->n", directions(a, mean_only), directions(b, mean_only)), 0, 2))


def matrix(a: list[str], b: list[str], mean_only: bool = False) -> np.ndarray:
    same = np.array(a, dtype=object)[:, None] == np.array(b, dtype=object)[None, :]
    return np.where(same, 0.0, np.clip(1 - directions(a, mean_only) @ directions(b, mean_only).T, 0, 2))


def directions(texts: list[str], mean_only: bool) -> np.ndarray:
    """Return one row of unit length per text; zeros for a text without vectors."""
    rows_of_texts = [[row for word in WORD.findall(text) if (row := rows.get(word, rows.get(word.lower()))) is not None]
                     for text in texts]
    pooled = np.array([pool(np.asarray(vectors[text_rows], dtype=np.float64), mean_only) for text_rows in rows_of_texts])
    return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)


def pool(words: np.ndarray, mean_only: bool) -> np.ndarray:
    """Return the concatenated minimum, maximum and mean of the rows, or the mean only; zeros without rows."""
    if not len(words):
        return np.zeros(words.shape[1] * (1 if mean_only else 3))
    mean = words.mean(axis=0)
    return mean if mean_only else np.concatenate([words.min(axis=0), words.max(axis=0), mean])
