"""Zwerdling et al. 2021: the profiles of train, test and EDA texts, published and ours.

The corpora are not the paper's: they are other samples of the same kinds of text, of other sizes.  The texts that the paper's
VAE and GPT-2 generated cannot be reproduced; those rows contain the published numbers only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import cache_folder
from harness.models.registry import find_model
from harness.models.vector_cache import VectorCache
from leaderboard.corpus_profile.grammar import RULES
from leaderboard.corpus_profile.plausibility import ORDER
from leaderboard.corpus_profile.profile import Profile, Row, Test, build_profile
from leaderboard.corpus_profile.report import draw_similarities
from leaderboard.corpus_profile.scorers import load_scorers
from leaderboard.papers.base import Cell, Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import zwerdling2021_tables
from leaderboard.report.formats import MISSING
from tasks.data.loading import load_corpus, load_dataset
from tasks.generators.easy_augmentation import WordNet, augment_text
from tasks.generators.ngrams import NGrams

CORPORA = {"news_headlines": "huffpost_headlines", "amazon_phone_reviews": "amazon_phone_reviews",
           "yahoo_questions": "yahoo_answers_questions"}
MODEL, SEED, MAX_TEXTS = "minilm", 20260106, 9_000
TRAIN_SHARE = 8 / 9                         # 31,650 to 3,956, as in the paper
MEASURES = ("unique", "vocab", "grammar", "plausibility", "semantic_precision", "semantic_recall", "semantic_f1",
            "syntactic_precision", "syntactic_recall", "syntactic_f1")
NOT_BUILT = "not built here"
# Why an order may be the reverse of the published one.
REASONS = {"plausibility": "The n-grams are learned from the training texts, and EDA consists mostly of parts of these.",
           "grammar": "EDA removes punctuation, and with it the errors that several of the rules find."}
NGRAMS = f"{ORDER}-grams (not in the paper)"
TESTED = {"semantic similarity to test": "semantic_precision", "syntactic similarity to train": "syntactic_precision",
          "surprise per word": "plausibility", "grammar errors per word": "grammar"}     # measures of the paper by our tests
NUMBERS = (
    f"Ours are other samples of such texts, at most {MAX_TEXTS:,} per corpus. Semantic measures use vectors of {MODEL} "
    "(all-MiniLM-L6-v2) instead of InferSent; the cosines of the two are not comparable. "
    f"Grammar uses {len(RULES)} rules, which find less than LanguageTool; plausibility uses {ORDER}-grams of the training texts "
    "instead of BERT. EDA is one text per training text, made with WordNet. Compare orders within a measure, not the numbers.")
TESTS = (
    "Means over texts; semantic and syntactic are the precisions. Plausibility (lower is more plausible) is published as the "
    "perplexity of the corpus, and ours is the mean surprise per word of a text. p is the larger value of Welch's t-test and the "
    "Mann-Whitney test.")


@dataclass(frozen=True)
class Comparison:
    """One row of a published table, and our numbers."""

    corpus: str
    model: str
    published: dict[str, float | None]
    ours: dict[str, float | None] | None    # None: not built here


@dataclass(frozen=True)
class Difference:
    """A test of EDA against train or test texts, and the published values of EDA and of that baseline."""

    corpus: str
    measure: str
    published: tuple[float, float]
    test: Test

    @property
    def is_reversed(self) -> bool:
        """Whether the order of our means is the reverse of the published one."""
        (published_eda, published_baseline), (eda, baseline) = self.published, self.test.means
        return (published_eda - published_baseline) * (eda - baseline) < 0


def reproduce(options: Options) -> Reproduction:
    """Profile the corpora, all or those in `options.only`, and compare them with the published tables and figures."""
    for name in options.only:
        if name not in CORPORA:
            raise TouchstoneError(f'The paper has no corpus "{name}".{did_you_mean(name, CORPORA)} It has {", ".join(CORPORA)}.')
    wordnet = WordNet(find_model("wordnet").path())
    cache = VectorCache(MODEL, cache_folder())
    profiled = {corpus: profile_corpus(corpus, wordnet, cache, options) for corpus in options.only or CORPORA}
    comparisons, differences = [], []
    for corpus, generated in profiled.items():
        profile, _ = generated["EDA"]
        comparisons += compare_profile(corpus, profile)
        differences += compare_orders(corpus, profile)
    figures = {f"similarities-{corpus}": draw_similarities(generated, corpus)
               for corpus, generated in profiled.items()} if options.with_figures else {}
    return Reproduction([build_table(comparisons), build_difference_table(differences)], build_records(comparisons, differences),
                        figures=figures)


def profile_corpus(corpus: str, wordnet: WordNet, cache: VectorCache,
                   options: Options) -> dict[str, tuple[Profile, list[str]]]:
    """Return the profile and texts of EDA, and for the figures also those of our n-gram generator."""
    train, test = split_corpus(CORPORA[corpus])
    options.progress.say(f"{corpus}: {len(train):,} training texts and {len(test):,} test texts of {CORPORA[corpus]}.")
    rng = np.random.default_rng([SEED, 1])
    texts = {"EDA": [augment_text(text, wordnet, rng) for text in train]}
    if options.with_figures:
        ngrams = NGrams(train, ORDER)
        texts[NGRAMS] = [ngrams.write(rng) for _ in train]
    cache.fill(sorted({*train, *test}.union(*texts.values())), options.progress, options.jobs)
    scorers = load_scorers(train, cache.vectors, MODEL)
    return {name: (build_profile(train, test, rows, scorers, options.progress), rows) for name, rows in texts.items()}


def compare_profile(corpus: str, profile: Profile) -> list[Comparison]:
    """Return the rows of a corpus, named as in the paper."""
    ours = {name: list_measures(row) for name, row in zip(("train", "test", "EDA"), profile.rows, strict=True)}
    for row in profile.rows[:2]:            # a number of texts, as published
        ours[row.name]["unique"] = round(row.unique * row.texts)
    return [Comparison(corpus, row.model, row.measures, ours.get(row.model))
            for row in zwerdling2021_tables() if row.corpus == corpus]


def compare_orders(corpus: str, profile: Profile) -> list[Difference]:
    """Return the tests of EDA against its baselines beside the published values."""
    published = {row.model: row.measures for row in zwerdling2021_tables() if row.corpus == corpus}
    differences = []
    for test in profile.tests:
        measure = TESTED[test.quantity]
        eda, baseline = published["EDA"][measure], published[test.baseline][measure]
        if eda is not None and baseline is not None:
            differences.append(Difference(corpus, measure, (eda, baseline), test))
    return differences


def split_corpus(name: str) -> tuple[list[str], list[str]]:
    """Return training and test texts."""
    texts = load_corpus(name)
    rows = np.random.default_rng(SEED).permutation(len(texts))[:MAX_TEXTS].tolist()
    train_size = round(TRAIN_SHARE * len(rows))
    return [texts[row] for row in rows[:train_size]], [texts[row] for row in rows[train_size:]]


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
    return PaperTable(("corpus", "model", "measure", "published", "ours"), rows,
                      [NUMBERS, *describe_topics(dict.fromkeys(comparison.corpus for comparison in comparisons))],
                      {number: "dim" for number, row in enumerate(rows) if row[-1] == NOT_BUILT})


def describe_topics(corpora: Iterable[str]) -> list[str]:
    """Return a sentence on the topics of our questions, if they are among the corpora."""
    if "yahoo_questions" not in corpora:
        return []
    labels = load_dataset(CORPORA["yahoo_questions"]).rows["label"].value_counts(normalize=True)
    topics = ", ".join(f"{topic} ({share:.0%})" for topic, share in labels.items())
    return [f"yahoo_questions: the questions of the paper are on health, ours are on {topics}."]


def build_difference_table(differences: Sequence[Difference]) -> PaperTable:
    """Return one row per test; reversed orders are marked and listed below."""
    def format_order(values: tuple[float, float]) -> str:
        eda, baseline = values
        return f"{format_measure(eda)} {'<' if eda < baseline else '>' if eda > baseline else '='} {format_measure(baseline)}"

    rows = [[difference.corpus, difference.measure.removesuffix("_precision"), difference.test.baseline,
             format_order(difference.published), format_order(difference.test.means),
             format_p(max(difference.test.p_t, difference.test.p_mann_whitney)), "reversed" if difference.is_reversed else "same"]
            for difference in differences]
    reversed_orders = [difference for difference in differences if difference.is_reversed]
    measures = dict.fromkeys(difference.measure for difference in reversed_orders)
    reversals = "; ".join(f"{measure} in " + ", ".join(difference.corpus for difference in reversed_orders
                                                       if difference.measure == measure) for measure in measures)
    summary = f"Our order is the reverse of the published one for {reversals}." if reversals else "All orders are as published."
    summary += "".join(f" {REASONS[measure]}" for measure in measures if measure in REASONS)
    return PaperTable(("corpus", "EDA in", "against", "published", "ours", "p", "order"), rows, [summary, TESTS],
                      {number: "yellow" for number, difference in enumerate(differences) if difference.is_reversed})


def format_p(p: float) -> str:
    """Return a p-value with three decimals."""
    return f"{p:.3f}" if p >= 0.001 else "< .001"


def build_records(comparisons: Sequence[Comparison], differences: Sequence[Difference]) -> PaperTable:
    """Return one row per measure and one per difference, in full precision."""
    rows: list[list[Cell]] = [
        [comparison.corpus, comparison.model, name, comparison.published[name],
         comparison.ours[name] if comparison.ours else None, None, None, "" if comparison.ours else NOT_BUILT]
        for comparison in comparisons for name in MEASURES]
    for difference in differences:
        published, ours = (eda - baseline for eda, baseline in (difference.published, difference.test.means))
        rows.append([difference.corpus, f"EDA minus {difference.test.baseline}", difference.measure, published, ours,
                     difference.test.p_t, difference.test.p_mann_whitney, "reversed" if difference.is_reversed else ""])
    return PaperTable(("corpus", "model", "measure", "published", "ours", "p_welch", "p_mann_whitney", "note"), rows)
