# /// script
# requires-python = ">=3.11"
# dependencies = ["bert-score==0.3.13", "numpy>=2"]
# [tool.touchstone]
# name = "bert_score"
# title = "BERTScore of bert-score with MiniLM"
# summary = "F1 of the package bert-score on the last layer of MiniLM, without rescaling; the first text is the reference."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [-1.0, 1.0]
# symmetric = false
# lift = false
# on_request = true
# models = ["minilm"]
# paper = "https://arxiv.org/abs/1904.09675"
# authors = ["Zhang", "Kishore", "Wu", "Weinberger", "Artzi"]
# year = 2020
# license = "MIT"
# ///
"""The score of a pair with an empty text is 0, as in the package, whose own code for it needs transformers before version 5.

Batches of one pair: in larger ones the padding counts as tokens of similarity 0, which exceeds a negative best match.
"""

import numpy as np
from bert_score import BERTScorer

scorers: list[BERTScorer] = []


def setup(models: dict[str, str]) -> None:
    scorers.append(BERTScorer(model_type=models["minilm"], num_layers=6, batch_size=1, device="cpu"))


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    scores, rows = np.zeros(len(a)), [row for row in range(len(a)) if a[row].strip() and b[row].strip()]
    if rows:
        scores[rows] = scorers[0].score([b[row] for row in rows], [a[row] for row in rows], batch_size=1)[2].numpy()
    return scores
