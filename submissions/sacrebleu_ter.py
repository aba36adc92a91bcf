# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "sacrebleu==2.6.0"]
# [tool.touchstone]
# name = "sacrebleu_ter"
# title = "TER of sacreBLEU"
# summary = "`TER().sentence_score` of the package sacrebleu, in percent of the words of the first text, the reference."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, inf]
# symmetric = false
# lift = false
# on_request = true
# paper = "https://aclanthology.org/2006.amta-papers.25/"
# authors = ["Snover", "Dorr", "Schwartz", "Micciulla", "Makhoul"]
# year = 2006
# license = "Apache-2.0"
# ///
import numpy as np
from sacrebleu.metrics import TER


def distance(a: list[str], b: list[str]) -> np.ndarray:
    scorer = TER()
    return np.array([scorer.sentence_score(y, [x]).score for x, y in zip(a, b, strict=True)])
