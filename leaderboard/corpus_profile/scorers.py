"""The models and checkers that score the texts of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.corpus_profile.grammar import RULES, Checker, count_rule_violations, language_tool
from leaderboard.corpus_profile.plausibility import ORDER, Surprise, model_surprise, ngram_surprise

Embedder = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Scorers:
    """What embeds texts, counts their grammar errors and measures their surprise, with names for the legend."""

    embed: Embedder
    embed_name: str
    count_errors: Checker
    checker_name: str
    surprise: Surprise
    surprise_name: str


def load_scorers(train: Sequence[str], embed: Embedder, embed_name: str, *, language_model: str | None = None,
                 languagetool: str | None = None) -> Scorers:
    """Return the scorers of a profile.

    Args:
        train: Training texts, from which the default n-gram model is built.
        embed: Function that returns a vector for each text.
        embed_name: Name of the embedding model.
        language_model: Causal or masked model of `transformers` for plausibility; n-grams if omitted.
        languagetool: Address of a LanguageTool server for grammar; a few built-in rules if omitted.
    """
    checker, checker_name = ((language_tool(languagetool), f"LanguageTool at {languagetool}") if languagetool else
                             (count_rule_violations, f"{len(RULES)} built-in rules, which find less than LanguageTool"))
    surprise, surprise_name = ((model_surprise(language_model), language_model) if language_model else
                               (ngram_surprise(train), f"Kneser-Ney n-grams of order {ORDER} of the training texts"))
    return Scorers(embed, embed_name, checker, checker_name, surprise, surprise_name)
