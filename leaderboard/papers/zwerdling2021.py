"""Zwerdling et al. 2021: the profiles of train, test and EDA texts, published and ours.

The corpora are not the paper's: they are other samples of the same kinds of text, of other sizes.  The texts that the paper's
VAE and GPT-2 generated cannot be reproduced; those rows contain the published numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.models.registry import find_model
from harness.models.vector_cache import VectorCache
from leaderboard.corpus_profile.grammar import RULES
from leaderboard.corpus_profile.plausibility import ORDER
from leaderboard.corpus_profile.profile import Row, build_profile, unique_curve
from leaderboard.corpus_profile.scorers import load_scorers
from leaderboard.papers.base import Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import zwerdling2021_tables
from leaderboard.report.formats import MISSING
from tasks.data.loading import load_corpus
from tasks.generators.easy_augmentation import WordNet, augment_text

CORPORA = {"news_headlines": "huffpost_headlines", "amazon_phone_reviews": "amazon_phone_reviews",
           "yahoo_questions": "yahoo_answers_questions"}
MODEL, SEED, MAX_TEXTS = "minilm", 20260106, 9_000
TRAIN_SHARE = 8 / 9                         # 31,650 to 3,956, as in the paper
MEASURES = ("unique", "vocab", "grammar", "plausibility", "semantic_precision", "semantic_recall", "semantic_f1",
            "syntactic_precision", "syntactic_recall", "syntactic_f1")
NOT_BUILT = "not built here"
LEGEND = (f"Ours are other samples of such texts, at most {MAX_TEXTS:,} per corpus. Grammar uses "
          f"{len(RULES)} rules, which find less than LanguageTool; plausibility uses n-grams of order "
          f"{ORDER} instead of a neural model. Compare orders and signs of differences within a measure, not the numbers.")


@dataclass(frozen=True)
class Comparison:
    """One row of a published table, and our numbers."""

    corpus: str
    model: str
    published: dict[str, float | None]
    ours: dict[str, float | None] | None    # None: not built here


def reproduce(options: Options) -> Reproduction:
    """Profile the corpora, all or those in `options.only`, and compare them with the published tables."""
    for name in options.only:
        if name not in CORPORA:
            raise TouchstoneError(f'The paper has no corpus "{name}".{did_you_mean(name, CORPORA)} It has {", ".join(CORPORA)}.')
    wordnet = WordNet(find_model("wordnet").path())
    cache = VectorCache(MODEL, cache_folder())
    comparisons = compare_profiles(options.only or list(CORPORA), wordnet, cache, options.jobs, options.progress)
    return Reproduction([build_table(comparisons)], build_records(comparisons))


def compare_profiles(names: Sequence[str], wordnet: WordNet, cache: VectorCache, threads: int,
                     progress: Progress) -> list[Comparison]:
    """Return the rows of these corpora, named as in the paper."""
    comparisons = []
    for corpus in names:
        train, test, generated = split_corpus(CORPORA[corpus], wordnet)
        progress.say(f"{corpus}: {len(train):,} training texts and {len(test):,} test texts of {CORPORA[corpus]}.")
        cache.fill(sorted({*train, *test, *generated}), progress, threads)
        profile = build_profile(train, test, generated, load_scorers(train, cache.vectors, MODEL), progress)
        ours = {name: list_measures(row) for name, row in zip(("train", "test", "EDA"), profile.rows, strict=True)}
        for name, texts, reference in (("train", train, ()), ("test", test, train)):    # a number of sentences, as published
            ours[name]["unique"] = round(unique_curve(texts, reference)[-1][1] * len(texts))
        comparisons += [Comparison(corpus, row.model, row.measures, ours.get(row.model))
                        for row in zwerdling2021_tables() if row.corpus == corpus]
    return comparisons


def split_corpus(name: str, wordnet: WordNet) -> tuple[list[str], list[str], list[str]]:
    """Return training texts, test texts, and one EDA text for each training text."""
    texts = load_corpus(name)
    rows = np.random.default_rng(SEED).permutation(len(texts))[:MAX_TEXTS].tolist()
    train_size = round(TRAIN_SHARE * len(rows))
    train, test = [texts[row] for row in rows[:train_size]], [texts[row] for row in rows[train_size:]]
    rng = np.random.default_rng([SEED, 1])
    return train, test, [augment_text(text, wordnet, rng) for text in train]


def list_measures(row: Row) -> dict[str, float | None]:
    """Return the measures of a profile by the names of the paper's columns."""
    measures: dict[str, float | None] = {"unique": row.unique, "vocab": row.vocabulary, "grammar": row.grammar,
                                         "plausibility": row.perplexity}
    for name, overlap in (("semantic", row.semantic), ("syntactic", row.syntactic)):
        for part in ("precision", "recall", "f1"):
            measures[f"{name}_{part}"] = getattr(overlap, part).value if overlap else None
    return measures


def format_measure(value: float | None) -> str:
    """Return a count without decimals, or another number with at most three."""
    return MISSING if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3f}".rstrip("0").rstrip(".")


def build_table(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return one row per measure, without those that neither table has."""
    rows = [[comparison.corpus, comparison.model, name, format_measure(comparison.published[name]),
             format_measure(comparison.ours[name]) if comparison.ours else NOT_BUILT]
            for comparison in comparisons for name in MEASURES
            if comparison.published[name] is not None or (comparison.ours and comparison.ours[name] is not None)]
    return PaperTable(("corpus", "model", "measure", "published", "ours"), rows, [LEGEND],
                      {number: "dim" for number, row in enumerate(rows) if row[-1] == NOT_BUILT})


def build_records(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return one row per measure, in full precision."""
    rows = [[comparison.corpus, comparison.model, name, comparison.published[name],
             comparison.ours[name] if comparison.ours else None, "" if comparison.ours else NOT_BUILT]
            for comparison in comparisons for name in MEASURES]
    return PaperTable(("corpus", "model", "measure", "published", "ours", "note"), rows)
