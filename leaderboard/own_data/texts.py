"""Choose a text metric by English texts of a user, without judgements.

Four kinds of questions are made from the texts: edits of one word or phrase that change the meaning against edits of the same
kind that keep it, typing errors against edits that change the meaning, paraphrases by several edits that keep the meaning against
other texts with many of the same words, and shares of a text that are replaced by other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from harness.base.progress import Progress
from harness.evaluation.open_metric import SUITE_MODEL
from harness.submission.submission import Entry
from leaderboard.own_data.answers import MetricAnswers, score_pairs
from leaderboard.own_data.corpora import rank_correlation
from leaderboard.own_data.measure import draw_texts
from leaderboard.own_data.report import Report, Section, to_values
from leaderboard.scoring.estimates import Estimate, stratified_mean
from tasks.common.transformations import SEMANTIC, SUPERFICIAL, replace_tokens
from tasks.phenomena.meaning_changes import PHENOMENA
from tasks.phenomena.quads import SourcePair
from tasks.phenomena.surface import are_alike, distance

FEWEST_TEXTS, MOST_TEXTS = 20, 200
MOST_CHARACTERS, FEWEST_WORDS = 2_000, 4
SHARES = (0.2, 0.4, 0.6, 0.8)
FEWEST_QUESTIONS = 10
SEED = 41


@dataclass(frozen=True)
class TextRow:
    """How a metric answers; None if there are too few questions."""

    name: str
    contrast: Estimate | None               # share of pairs of edits in which the one that keeps the meaning is closer
    robustness: Estimate | None             # share of typing errors that are more similar than a change of meaning
    paraphrases: Estimate | None            # share of paraphrases that are more similar than another text with many equal words
    sensitivity: Estimate | None            # mean rank correlation of the share that is kept and the similarity
    trivial: bool

    @property
    def score(self) -> float:
        """The mean of the four, each from 0 for chance to 1."""
        parts = [2 * part.value - 1 for part in (self.contrast, self.robustness, self.paraphrases) if part is not None]
        return float(np.mean([*parts, *([] if self.sensitivity is None else [self.sensitivity.value])]))


@dataclass(frozen=True)
class TextChoice:
    """Which text metric answers best."""

    name: str
    texts: int
    questions: dict[str, int]
    phenomena: dict[str, int]               # edits by phenomenon
    rows: list[TextRow]                     # best first
    failures: dict[str, str]
    notes: list[str]


def choose_by_texts(texts: Sequence[str], name: str, entries: Sequence[Entry], progress: Progress, *, model: str = SUITE_MODEL,
                    jobs: int | None = None) -> TextChoice:
    """Return how each text metric answers to questions made from texts."""
    usable = [text for text in dict.fromkeys(texts) if len(text.split()) >= FEWEST_WORDS and len(text) <= MOST_CHARACTERS]
    if len(usable) < FEWEST_TEXTS:
        raise TouchstoneError(f"{name} has {len(usable)} different texts of at least {FEWEST_WORDS} words and at most "
                              f"{MOST_CHARACTERS:,} characters; {FEWEST_TEXTS} are required.")
    usable = draw_texts(usable, MOST_TEXTS, np.random.default_rng(SEED))
    contrast, phenomena = contrast_triples(usable)
    robustness, paraphrases, sensitivity = robustness_triples(usable), paraphrase_triples(usable), replacement_pairs(usable)
    triples = [*contrast, *robustness, *paraphrases]
    pairs = [(anchor, same) for anchor, same, _ in triples] + [(anchor, other) for anchor, _, other in triples] + sensitivity
    answers = score_pairs([a for a, _ in pairs], [b for _, b in pairs], entries, progress, model=model, jobs=jobs)
    rows = [read_row(answer, len(contrast), len(robustness), len(paraphrases)) for answer in answers if answer.failure is None]
    counts = {"contrast": len(contrast), "robustness": len(robustness), "paraphrases": len(paraphrases),
              "sensitivity": len(sensitivity) // len(SHARES)}
    notes = [f"Only {count} questions of {kind} could be made from these texts; they are left out."
             for kind, count in counts.items() if count < FEWEST_QUESTIONS]
    return TextChoice(name, len(usable), counts, phenomena, sorted(rows, key=lambda row: -row.score),
                      {answer.name: answer.failure for answer in answers if answer.failure is not None}, notes)


def contrast_triples(texts: Sequence[str]) -> tuple[list[tuple[str, str, str]], dict[str, int]]:
    """Return (text, edit that keeps the meaning, edit that changes it), alike on the surface, and their number by phenomenon."""
    triples, counts = [], dict[str, int]()
    for text in texts:
        source = SourcePair(text, text, "public")
        anchor = source.anchors[0]
        for phenomenon in PHENOMENA:
            keeping = [(edited := edit.apply(text), anchor.compare(edited)) for edit in source.keeping(phenomenon, 0)]
            changing = [(edited := edit.apply(text), anchor.compare(edited)) for edit in source.changing(phenomenon, 0)]
            alike = [(distance(kept, changed), same, other) for same, kept in keeping for other, changed in changing
                     if are_alike(kept, changed)]
            if alike:
                _, same, other = min(alike)
                triples.append((text, same, other))
                counts[phenomenon] = counts.get(phenomenon, 0) + 1
    return triples, counts


def robustness_triples(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (text, copy with typing errors, copy with another meaning), one per text with changing kinds of both."""
    triples = []
    for number, text in enumerate(texts):
        rng = np.random.default_rng([SEED, seed_of(text)])
        errors, changes = (list(table.values()) for table in (SUPERFICIAL, SEMANTIC))
        typed = errors[number % len(errors)](text, rng)
        changed = changes[0](text, rng) if number % 2 else changes[-1](text, rng)
        if typed is not None and changed is not None:
            triples.append((text, typed, changed))
    return triples


def paraphrase_triples(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (text, paraphrase by all edits that keep its meaning, other text with the largest share of equal words)."""
    words = [frozenset(text.lower().split()) for text in texts]
    triples = []
    for number, text in enumerate(texts):
        paraphrase = text
        for phenomenon in PHENOMENA:
            edits = SourcePair(paraphrase, paraphrase, "public").keeping(phenomenon, 0)
            paraphrase = edits[0].apply(paraphrase) if edits else paraphrase
        if paraphrase != text:
            shares = [len(words[number] & other) / len(words[number] | other) if row != number else -1.0
                      for row, other in enumerate(words)]
            triples.append((text, paraphrase, texts[int(np.argmax(shares))]))
    return triples


def replacement_pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return each text with copies of which growing shares are replaced by the words of another text."""
    pairs = []
    for number, text in enumerate(texts):
        tokens = text.split()
        other = " ".join(texts[(number + offset) % len(texts)] for offset in range(1, 12)).split()
        if len(other) >= len(tokens):
            pairs += [(text, replace_tokens(tokens, share, "begin", other)) for share in SHARES]
    return pairs


def read_row(answer: MetricAnswers, contrast: int, robustness: int, paraphrases: int) -> TextRow:
    """Return how a metric answers from its scores: of all triples the same, then the changed texts, then the replaced ones."""
    similarities, count = answer.similarities, contrast + robustness + paraphrases
    right = (1 + np.sign(similarities[:count] - similarities[count:2 * count])) / 2
    kept = 1 - np.array(SHARES)
    correlations = np.array([rank_correlation(kept, row) for row in similarities[2 * count:].reshape(-1, len(SHARES))])

    def estimate(values: np.ndarray, low: float) -> Estimate | None:
        return stratified_mean([values.tolist()], (low, 1.0)) if len(values) >= FEWEST_QUESTIONS else None
    edited, typed, reworded = (estimate(values, 0.0) for values in np.split(right, [contrast, contrast + robustness]))
    return TextRow(answer.name, edited, typed, reworded, estimate(correlations, -1.0), answer.trivial)


def best_of_each(choice: TextChoice) -> list[str]:
    """Return the best metric by each kind of question, trivial baselines excluded."""
    sentences = []
    for kind in ("contrast", "robustness", "paraphrases", "sensitivity"):
        scored = [(estimate.value, row.name) for row in choice.rows if not row.trivial
                  and (estimate := getattr(row, kind)) is not None]
        if scored:
            value, name = max(scored)
            sentences.append(f"best by {kind}: {name}, {value:.2f}")
    return sentences


def report_on_texts(choice: TextChoice) -> Report:
    """Return the report."""
    best = next((row for row in choice.rows if not row.trivial), None)
    summary = [] if best is None else [
        f"Recommended: {best.name}, score {best.score:.2f}, the mean of the columns, each from 0 for chance to 1. "
        f"{'; '.join(best_of_each(choice))}. Without judgements, this says which metric reacts to meaning rather than to the "
        "surface, not which agrees with you; with 80 judged pairs use --pairs."]

    def show(estimate: Estimate | None) -> str:
        if estimate is None:
            return "-"
        interval = "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"
        return f"{estimate.value:.2f}{interval}"
    sections = [Section("Metrics", [
        f"From {choice.texts} texts of {choice.name}, with 95% intervals. Contrast ({choice.questions['contrast']} questions): "
        "an edit that keeps the meaning should be more similar than one that changes it; chance is 0.5. Robustness "
        f"({choice.questions['robustness']}): a copy with typing errors should be more similar than a negated or shuffled one; "
        f"chance is 0.5. Paraphrases ({choice.questions['paraphrases']}): a text reworded by all edits that keep its meaning "
        "should be more similar than the other text with the most equal words; chance is 0.5. Sensitivity "
        f"({choice.questions['sensitivity']}): the similarity should fall as more is replaced; chance is 0."],
        ("metric", "score", "contrast", "robustness", "paraphrases", "sensitivity", "notes"),
        [(row.name, f"{row.score:.2f}", show(row.contrast), show(row.robustness), show(row.paraphrases), show(row.sensitivity),
          "trivial baseline" if row.trivial else "") for row in choice.rows])]
    if choice.phenomena:
        sections.append(Section("Edits", ["Edits that change the meaning, by phenomenon."], ("phenomenon", "number"),
                                [(phenomenon.replace("_", " "), str(count)) for phenomenon, count in choice.phenomena.items()]))
    if choice.failures:
        sections.append(Section("Metrics without a result", [], ("metric", "reason"), list(choice.failures.items())))
    return Report(f"Which text metric for {choice.name}?", [*summary, *choice.notes], sections,
                  to_values(choice) | {"scores": {row.name: row.score for row in choice.rows}})
