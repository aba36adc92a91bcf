"""Plausibility of texts: how little they surprise a language model, as perplexity per word or token.

The embedded one is an n-gram model of the training texts; any causal or masked model of `transformers` can be named instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress, Progress
from tasks.generators.causal_lm import TunedGenerator, check_weights
from tasks.generators.ngrams import NGrams

ORDER = 3
MASKED_AT_ONCE = 64

Surprise = Callable[[str], tuple[float, int]]       # negative log probability, words or tokens


def ngram_surprise(train: Sequence[str]) -> Surprise:
    return NGrams(train, ORDER).surprise


def model_surprise(name: str) -> Surprise:
    """By a causal model, or by a masked one that guesses each token in turn (pseudo-perplexity, Salazar et al. 2020)."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as wrong:
        raise check_weights(name, wrong) from None
    architectures = config.architectures or []
    if any("MaskedLM" in one for one in architectures):
        return masked_surprise(name)
    if any("CausalLM" in one or "LMHead" in one for one in architectures):
        return TunedGenerator(name, 0).surprise
    raise TouchstoneError(f'"{name}" is neither a causal nor a masked language model '
                          f'({", ".join(architectures) or "it does not say"}).')


def masked_surprise(name: str) -> Surprise:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForMaskedLM.from_pretrained(name).eval()

    def surprise(text: str) -> tuple[float, int]:
        ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"][0]
        special = tokenizer.get_special_tokens_mask(ids.tolist(), already_has_special_tokens=True)
        places = [place for place, mark in enumerate(special) if not mark]
        total = 0.0
        for start in range(0, len(places), MASKED_AT_ONCE):
            some = torch.tensor(places[start:start + MASKED_AT_ONCE])
            rows = ids.repeat(len(some), 1)
            rows[torch.arange(len(some)), some] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(rows).logits[torch.arange(len(some)), some]
            total -= float(torch.log_softmax(logits, dim=-1)[torch.arange(len(some)), ids[some]].sum())
        return total, len(places)
    return surprise


def surprises(texts: Sequence[str], surprise: Surprise, progress: Progress | None = None) -> np.ndarray:
    """Texts x (negative log probability, words)."""
    stage = (progress or NoProgress()).stage("Plausibility", len(texts), "texts")
    try:
        found = np.zeros((len(texts), 2))
        for row, text in enumerate(texts):
            found[row] = surprise(text)
            if row % 500 == 499:
                stage.advance(500)
        stage.advance(len(texts) % 500)
        return found
    finally:
        stage.close()


def perplexity(found: np.ndarray) -> float | None:
    """exp of the mean surprise of a word; unknown where there are none."""
    total, words = found.sum(axis=0)
    return math.exp(total / words) if words else None
