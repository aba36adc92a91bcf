# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine_fasttext"
# title = "Cosine distance of fastText vectors"
# summary = "1 - cosine of the concatenated minimum, maximum and mean of the fastText word vectors of a text."
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
# summary = "1 - cosine of the means of the two texts' word vectors."
# ///
"""The content preservation of Fu et al. 2018, which Yamshchikov et al. 2020 use: minimum, maximum and mean of the word vectors.

Vectors: fastText (Bojanowski et al. 2017), of words as they are written or else in lower case, if fastText has a vector for
the whole word, each as often as it occurs.  A text without such a word is at 1 from every other text.  The vectors are on no
package index: place them into the cache.  Without them the published means could not be compared, and the paper does not say how
it looks words up.
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
    """Return one row per text, of length one, or zeros for a text without known words."""
    rows_of_texts = [[row for word in WORD.findall(text) if (row := rows.get(word, rows.get(word.lower()))) is not None]
                     for text in texts]
    pooled = np.array([pool(np.asarray(vectors[numbers], dtype=np.float64), mean_only) for numbers in rows_of_texts])
    return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)


def pool(words: np.ndarray, mean_only: bool) -> np.ndarray:
    """Return minimum, maximum and mean of the rows, concatenated, or the mean alone; zeros without rows."""
    if not len(words):
        return np.zeros(words.shape[1] * (1 if mean_only else 3))
    mean = words.mean(axis=0)
    return mean if mean_only else np.concatenate([words.min(axis=0), words.max(axis=0), mean])
