"""The tables of Zwerdling et al. 2021 beside ours: train, test, and EDA, which is built in.

The corpora are not the paper's own: other samples of the same kinds of text, of other sizes.  What its VAE and its GPT-2 wrote
cannot be built here; those rows stand as published, marked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from harness.base.progress import Progress
from harness.models.vector_cache import VectorCache
from leaderboard.corpus_profile.grammar import RULES, errors_by_rule
from leaderboard.corpus_profile.plausibility import ORDER, ngram_surprise
from leaderboard.corpus_profile.profile import Judges, Row, profile, unique_curve
from leaderboard.papers.published_tables import zwerdling2021_tables
from tasks.common.corpus_faults import augment_text
from tasks.data import loading as data

CORPORA = {"news_headlines": "huffpost_headlines", "amazon_phone_reviews": "amazon_phone_reviews",
           "yahoo_questions": "yahoo_answers_questions"}
MODEL, SEED, MOST = "minilm", 20260106, 9_000
TRAIN_SHARE = 8 / 9                         # 31,650 to 3,956, as in the paper
FIGURES = ("unique", "vocab", "grammar", "plausibility", "semantic_precision", "semantic_recall", "semantic_f1",
           "syntactic_precision", "syntactic_recall", "syntactic_f1")
NOT_BUILT = "not built here"


@dataclass(frozen=True)
class Compared:
    """One row of a table, published and ours."""

    corpus: str
    model: str
    published: dict[str, float | None]
    ours: dict[str, float | None] | None    # None: not built here


def reproduce(names: Sequence[str], cache: VectorCache, threads: int, progress: Progress) -> list[Compared]:
    """The rows of these corpora, by the paper's names."""
    found = []
    for corpus in names:
        train, test, generated = parts(CORPORA[corpus])
        progress.say(f"{corpus}: {len(train):,} texts of {CORPORA[corpus]} to train, {len(test):,} to test.")
        cache.fill(sorted({*train, *test, *generated}), progress, threads)
        judges = Judges(cache.vectors, MODEL, errors_by_rule, f"{len(RULES)} rules", ngram_surprise(train),
                        f"n-grams of order {ORDER}")
        rows = dict(zip(("train", "test", "EDA"), profile(train, test, generated, judges, progress).rows, strict=True))
        ours = {name: figures(row) for name, row in rows.items()}
        for name, texts, others in (("train", train, ()), ("test", test, train)):       # a number of sentences, as published
            ours[name]["unique"] = round(unique_curve(texts, others)[-1][1] * len(texts))
        found += [Compared(corpus, row.model, row.figures, ours.get(row.model))
                  for row in zwerdling2021_tables() if row.corpus == corpus]
    return found


def parts(name: str) -> tuple[list[str], list[str], list[str]]:
    """Train, test, and one EDA text for each of train."""
    texts = data.load_corpus(name)
    rows = np.random.default_rng(SEED).permutation(len(texts))[:MOST].tolist()
    first = round(TRAIN_SHARE * len(rows))
    train, test = [texts[row] for row in rows[:first]], [texts[row] for row in rows[first:]]
    rng = np.random.default_rng([SEED, 1])
    return train, test, [augment_text(text, rng) for text in train]


def figures(row: Row) -> dict[str, float | None]:
    found: dict[str, float | None] = {"unique": row.unique, "vocab": row.vocabulary, "grammar": row.grammar,
                                      "plausibility": row.perplexity}
    for name, one in (("semantic", row.semantic), ("syntactic", row.syntactic)):
        for part in ("precision", "recall", "f1"):
            found[f"{name}_{part}"] = getattr(one, part).value if one else None
    return found


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3f}".rstrip("0").rstrip(".")


def lines(rows: Sequence[Compared]) -> list[list[str]]:
    return [[row.corpus, row.model, *(shown(row.published[name]) + " | " + (shown(row.ours[name]) if row.ours else NOT_BUILT)
                                      for name in FIGURES)] for row in rows]


LEGEND = (f"published | ours. Ours: other samples of such texts, at most {MOST:,} of each; EDA with a small thesaurus in place "
          f"of WordNet; grammar by {len(RULES)} rules, which find less than LanguageTool; plausibility by n-grams of order "
          f"{ORDER}, not by a neural model: compare orders and signs within a column, not the numbers.")


def as_terminal(rows: Sequence[Compared]) -> Table:
    """A table on its side: figures down, the rows of the paper across."""
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("corpus", "model", "figure", "published", "ours"):
        drawn.add_column(heading, justify="right" if heading in ("published", "ours") else "left")
    for row in rows:
        for name in FIGURES:
            if row.published[name] is not None or (row.ours and row.ours[name] is not None):
                ours = shown(row.ours[name]) if row.ours else NOT_BUILT
                drawn.add_row(row.corpus, row.model, name, shown(row.published[name]),
                              Text(ours, style="" if row.ours else "dim"))
    return drawn


def as_markdown(rows: Sequence[Compared]) -> str:
    headings = ["corpus", "model", *FIGURES]
    table = [headings, ["---"] * len(headings), *([cell.replace(" | ", " / ") for cell in line] for line in lines(rows))]
    return "\n".join("| " + " | ".join(row) + " |" for row in table) + f"\n\n{LEGEND.replace(' | ', ' / ')}\n"


def as_csv(rows: Sequence[Compared]) -> str:
    """One line a figure, numbers in full."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["corpus", "model", "figure", "published", "ours", "note"])
    for row in rows:
        for name in FIGURES:
            writer.writerow([row.corpus, row.model, name, row.published[name], row.ours[name] if row.ours else None,
                             "" if row.ours else NOT_BUILT])
    return written.getvalue()
