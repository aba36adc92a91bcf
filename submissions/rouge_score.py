# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rouge-score==0.1.2"]
# [tool.touchstone]
# name = "rouge_score"
# title = "ROUGE-L of rouge-score"
# summary = "F-measure of ROUGE-L by Google's package rouge-score, without stemming; the first text is the reference."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# lift = false
# on_request = true
# paper = "https://aclanthology.org/W04-1013/"
# authors = ["Lin"]
# year = 2004
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "rouge1"
# parameters = { rouge = "rouge1" }
# summary = "ROUGE-1: shared words."
#
# [[tool.touchstone.variants]]
# name = "rouge2"
# parameters = { rouge = "rouge2" }
# summary = "ROUGE-2: shared pairs of words."
#
# [[tool.touchstone.variants]]
# name = "lsum"
# parameters = { rouge = "rougeLsum" }
# summary = "ROUGE-Lsum: longest common subsequences of lines."
#
# [[tool.touchstone.variants]]
# name = "stemmer"
# parameters = { stemmer = true }
# summary = "ROUGE-L of words that Porter's algorithm has stemmed."
# ///
import numpy as np
from rouge_score.rouge_scorer import RougeScorer


def similarity(a: list[str], b: list[str], rouge: str = "rougeL", stemmer: bool = False) -> np.ndarray:
    scorer = RougeScorer([rouge], use_stemmer=stemmer)
    return np.array([scorer.score(x, y)[rouge].fmeasure for x, y in zip(a, b, strict=True)])
