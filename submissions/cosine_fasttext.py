# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine_fasttext"
# title = "Cosine distance of mean fastText vectors"
# summary = "One less the cosine of the means of the two texts' fastText word vectors."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, 2.0]
# symmetric = true
# models = ["fasttext-wiki-news-subwords-300"]
# trained_on = ["Wikipedia 2017", "UMBC webbase", "statmt.org news"]
# paper = "https://aclanthology.org/Q17-1010/"
# authors = ["Bojanowski", "Grave", "Joulin", "Mikolov"]
# year = 2017
# license = "Apache-2.0"
# ///
"""Words as they are written, or else in small letters, as far as fastText has a vector for the whole word.

The vectors must be brought: put into the cache by hand.  Where this was written they could not be had, so that whether the means
of Yamshchikov et al. 2020 come out is not known; the paper does not say how it finds words either.
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


def distance(a: list[str], b: list[str]) -> np.ndarray:
    same = np.array([x == y for x, y in zip(a, b, strict=True)])
    return np.where(same, 0.0, np.clip(1 - np.einsum("nd,nd->n", directions(a), directions(b)), 0, 2))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    same = np.array(a, dtype=object)[:, None] == np.array(b, dtype=object)[None, :]
    return np.where(same, 0.0, np.clip(1 - directions(a) @ directions(b).T, 0, 2))


def directions(texts: list[str]) -> np.ndarray:
    """A row a text: the mean of its words' vectors, of length one, or of zeros: at 1 from every other text."""
    found = [[row for word in WORD.findall(text) if (row := rows.get(word, rows.get(word.lower()))) is not None]
             for text in texts]
    means = np.array([vectors[one].mean(axis=0, dtype=np.float64) if one else np.zeros(vectors.shape[1]) for one in found])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
