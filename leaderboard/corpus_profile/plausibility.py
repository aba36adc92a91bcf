"""Plausibility of texts, as their perplexity per word or token under a language model.

The default is an n-gram model of the training texts; any causal or masked model of `transformers` can be used instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.corpus_profile.progress import track_texts
from tasks.generators.causal_lm import TunedGenerator, loading_error
from tasks.generators.ngrams import NGrams

ORDER = 3
MASK_BATCH = 64

Surprise = Callable[[str], tuple[float, int]]       # negative log probability, words or tokens


def ngram_surprise(train: Sequence[str]) -> Surprise:
    """Return the surprise under an n-gram model of the training texts."""
    return NGrams(train, ORDER).surprise


def model_surprise(name: str) -> Surprise:
    """Return the surprise under a causal model, or under a masked one (pseudo-perplexity, Salazar et al. 2020)."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise loading_error(name, error) from None
    architectures = config.architectures or []
    if any("MaskedLM" in architecture for architecture in architectures):
        return masked_surprise(name)
    if any("CausalLM" in architecture or "LMHead" in architecture for architecture in architectures):
        return TunedGenerator(name, 0).surprise
    raise TouchstoneError(f"\"{name}\" is neither a causal nor a masked language model (its architectures: "
                          f"{', '.join(architectures) or 'not declared'}). Use another model.")


def masked_surprise(name: str) -> Surprise:
    """Return the surprise under a masked model, which predicts each token in turn."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForMaskedLM.from_pretrained(name).eval()

    def surprise(text: str) -> tuple[float, int]:
        ids = tokenizer(text, return_tensors="pt", truncation=True)["input_ids"][0]
        special = tokenizer.get_special_tokens_mask(ids.tolist(), already_has_special_tokens=True)
        positions = [position for position, is_special in enumerate(special) if not is_special]
        total = 0.0
        for start in range(0, len(positions), MASK_BATCH):
            batch = torch.tensor(positions[start:start + MASK_BATCH])
            rows = ids.repeat(len(batch), 1)
            rows[torch.arange(len(batch)), batch] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(rows).logits[torch.arange(len(batch)), batch]
            total -= float(torch.log_softmax(logits, dim=-1)[torch.arange(len(batch)), ids[batch]].sum())
        return total, len(positions)
    return surprise


def surprises(texts: Sequence[str], surprise: Surprise, progress: Progress | None = None) -> np.ndarray:
    """Return an array of texts x (negative log probability, words)."""
    rows = [surprise(text) for text in track_texts(texts, "Plausibility", progress, step=500)]
    return np.array(rows, dtype=float).reshape(-1, 2)


def perplexity(rows: np.ndarray) -> float | None:
    """Return exp of the mean surprise per word, or None if there are no words."""
    total, words = rows.sum(axis=0)
    return math.exp(total / words) if words else None
