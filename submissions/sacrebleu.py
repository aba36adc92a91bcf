# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "sacrebleu==2.6.0"]
# [tool.touchstone]
# name = "sacrebleu"
# title = "chrF of sacreBLEU"
# summary = "`CHRF().sentence_score` of the package sacrebleu with default settings; the first text is the reference."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 100.0]
# symmetric = false
# lift = false
# on_request = true
# paper = "https://aclanthology.org/W18-6319/"
# authors = ["Post"]
# year = 2018
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "chrfpp"
# parameters = { metric = "chrfpp" }
# summary = "chrF++: character n-grams and words up to pairs."
#
# [[tool.touchstone.variants]]
# name = "bleu"
# parameters = { metric = "bleu" }
# summary = "`BLEU(effective_order=True).sentence_score`."
# ///
import numpy as np
from sacrebleu.metrics import BLEU, CHRF


def similarity(a: list[str], b: list[str], metric: str = "chrf") -> np.ndarray:
    scorer = BLEU(effective_order=True) if metric == "bleu" else CHRF(word_order=2 if metric == "chrfpp" else 0)
    return np.array([scorer.sentence_score(y, [x]).score for x, y in zip(a, b, strict=True)])
