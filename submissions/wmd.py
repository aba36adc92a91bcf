# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "POT>=0.9.5,<0.10", "scipy>=1.14"]
# [tool.touchstone]
# name = "wmd"
# title = "Word mover's distance"
# summary = "How far the words of one text must travel to become those of the other, between GloVe vectors of unit length."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, 2.0]
# lift = false
# on_request = true
# symmetric = true
# models = ["glove-6b-50d"]
# trained_on = ["Wikipedia 2014", "Gigaword 5"]
# paper = "https://proceedings.mlr.press/v37/kusnerb15.html"
# authors = ["Kusner", "Sun", "Kolkin", "Weinberger"]
# year = 2015
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { centred = true }
# summary = "Vectors less the mean and the two top components of the words at hand: nearest to Yamshchikov et al. 2020."
# ///
"""Kusner et al. 2015, solved exactly by the network simplex of POT.

Lower-cased words that are no stop words and that GloVe knows, each with its share of the text; Euclidean distances.  What both
texts have of a word stays where it is: no plan is better, since the distances obey the triangle inequality.  A text of which no
word is left is as far as can be, 2, from any other; two such are at 0.  The vectors of the paper cannot be had; with GloVe's its
order of data sets comes out, but for two of the same printed mean, once the vectors lose the mean and the two top components of
the words at hand.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

FARTHEST = 2.0
STEPS = 1_000_000
WORD = re.compile(r"\w+")
# Function words of English, and what contractions leave.
STOP_WORDS = frozenset("""
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself
they them their theirs themselves what which who whom this that these those am is are was were be been being have has had
having do does did doing a an the and but if or because as until while of at by for with about against between into through
during before after above below to from up down in out on off over under again further then once here there when where why how
all any both each few more most other some such no nor not only own same so than too very s t can will just don should now d
ll m o re ve y ain aren couldn didn doesn hadn hasn haven isn ma mightn mustn needn shan shouldn wasn weren won wouldn
""".split())      # noqa: SIM905


rows: dict[str, int]
vectors: np.ndarray
known: np.ndarray                           # the vectors as GloVe has them
solve: Callable[..., tuple[float, dict[str, Any]]]


def setup(models: dict[str, str]) -> None:
    global solve, rows, vectors, known
    from ot import emd2 as solve

    folder = Path(models["glove-6b-50d"])
    rows = {word: row for row, word in enumerate((folder / "words.txt").read_text(encoding="utf-8").split("\n"))}
    vectors = known = np.load(folder / "vectors.npy", mmap_mode="r")
    bag.cache_clear()


def fit(texts: list[str], centred: bool = False) -> None:
    """Takes from all vectors the mean of those at hand, and their parts along its two directions of most variance."""
    global vectors
    here = sorted({rows[word] for text in texts for word in WORD.findall(text.lower()) if word in rows}) if centred else []
    if here:                                # Mu and Viswanath 2018, "All-but-the-top"
        wide = known.astype(np.float64)
        mean = wide[here].mean(axis=0)
        top = np.linalg.eigh((wide[here] - mean).T @ (wide[here] - mean))[1][:, -2:]
        vectors = (wide - mean) - ((wide - mean) @ top) @ top.T


def distance(a: list[str], b: list[str]) -> list[float]:
    return [wmd(x, y) for x, y in zip(a, b, strict=True)]


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    if a != b:
        return np.array([[wmd(x, y) for y in b] for x in a])
    there = np.array([[wmd(x, y) if i < j else 0.0 for j, y in enumerate(a)] for i, x in enumerate(a)])
    return there + there.T                  # and back: as far


def wmd(x: str, y: str) -> float:
    p, q = bag(x), bag(y)
    if not p or not q:
        return FARTHEST if p or q else 0.0
    supply = {row: share - q.get(row, 0.0) for row, share in p.items() if share > q.get(row, 0.0)}
    demand = {row: share - p.get(row, 0.0) for row, share in q.items() if share > p.get(row, 0.0)}
    return moved(supply, demand) if supply and demand else 0.0


@lru_cache(maxsize=20_000)
def bag(text: str) -> dict[int, float]:
    """The share of each word of the text, by its row among the vectors."""
    found = Counter(row for word in WORD.findall(text.lower())
                    if word not in STOP_WORDS and (row := rows.get(word)) is not None)
    return {row: count / found.total() for row, count in found.items()}


def moved(supply: dict[int, float], demand: dict[int, float]) -> float:
    """The least cost of bringing what there is to where it is wanted."""
    there, wanted = (np.array(list(side.values())) for side in (supply, demand))
    costs = euclidean(list(supply), list(demand))
    if len(there) == 1 or len(wanted) == 1:
        return float(there @ costs @ wanted / there.sum())
    total = there.sum()
    cost, log = solve(there / total, wanted / wanted.sum(), costs, numItermax=STEPS, log=True, center_dual=False,
                      check_marginals=False)
    if log["warning"] is not None:
        raise ArithmeticError(f"the transport was not solved in {STEPS:,} steps: {log['warning']}")
    return float(cost * total)


def euclidean(p: list[int], q: list[int]) -> np.ndarray:
    x, y = (unit(np.asarray(vectors[side], dtype=np.float64)) for side in (p, q))
    return np.asarray(cdist(x, y))          # from products, words that are nearly the same would be 1e-8 off


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
