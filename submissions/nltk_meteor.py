# /// script
# requires-python = ">=3.11"
# dependencies = ["nltk==3.10.4", "numpy>=2"]
# [tool.touchstone]
# name = "nltk_meteor"
# title = "METEOR of NLTK"
# summary = "`single_meteor_score` of NLTK on words split at white space; the first text is the reference."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# lift = false
# on_request = true
# models = ["wordnet"]
# paper = "https://aclanthology.org/W05-0909/"
# authors = ["Banerjee", "Lavie"]
# year = 2005
# license = "Apache-2.0"
# ///
import nltk
import numpy as np
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.translate.meteor_score import single_meteor_score

readers: list[WordNetCorpusReader] = []


class Reader(WordNetCorpusReader):            # type: ignore[misc]
    def map_wn(self, version: str = "wordnet") -> None:
        """WordNet 3.0 needs no mapping to WordNet 3.0."""


def setup(models: dict[str, str]) -> None:
    nltk.data.path.append(models["wordnet"])
    readers.append(Reader(models["wordnet"], None))


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return np.array([single_meteor_score(x.split(), y.split(), wordnet=readers[0]) for x, y in zip(a, b, strict=True)])
