"""The pairs of corpora of each sanity check: a reference and a corpus that is changed more and more, or in several ways.

The checks port those of Räisä et al. 2025 (synthetic vectors) and of He et al. 2023 (generated texts) to corpora of texts. All
corpora of a test unit are drawn without replacement, so no text occurs in two of them by chance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.base.errors import TouchstoneError
from tasks.common.transformations import shuffle_sentences

Corpus = list[str]
Pair = tuple[Corpus, Corpus]
TOPICS = 4                                  # the largest labels of the labelled source
LONG = 20_000                               # characters of an outlier
GRAM, GIBBERISH = 4, 30                     # words of an n-gram; how many of the most frequent n-grams are used
ERRORS = 0.3                                # share of the words of a third of a document that are replaced


class Verdict(StrEnum):
    """What a curve must look like to pass."""

    GROWS = "grows"                         # the distance rises with the change, and is noticed at the end
    STAYS = "stays"                         # the distance does not depend on what is varied
    BOUNDED = "bounded"                     # a few texts change the distance only a little
    DETECTED = "detected"                   # every change is noticed


class Deck:
    """Texts by topic in random order, each of which is dealt once."""

    def __init__(self, topics: Mapping[str, Sequence[str]], rng: np.random.Generator) -> None:
        self.rng = rng
        largest = sorted(topics, key=lambda label: (-len(topics[label]), label))[:TOPICS]
        self._rest = {label: [topics[label][row] for row in rng.permutation(len(topics[label]))] for label in largest}
        self.labels = tuple(largest)

    def deal(self, counts: Mapping[str, int]) -> Corpus:
        """Return this many texts of each topic in random order."""
        texts: Corpus = []
        for label, count in counts.items():
            if count > len(self._rest[label]):
                raise TouchstoneError(f'Sanity checks need {count:,} more texts of the topic "{label}", which has '
                                      f"{len(self._rest[label]):,} left. Choose a smaller n or another source.")
            texts += self._rest[label][:count]
            self._rest[label] = self._rest[label][count:]
        return [texts[row] for row in self.rng.permutation(len(texts))]

    def sample(self, n: int, weights: Mapping[str, float] | None = None) -> Corpus:
        """Return n texts with these shares of topics, by default equal ones."""
        shares = np.array([1.0 if weights is None else weights.get(label, 0.0) for label in self.labels])
        edges = np.round(n * np.cumsum([0.0, *(shares / shares.sum())])).astype(int)
        return self.deal(dict(zip(self.labels, np.diff(edges).tolist(), strict=True)))


@dataclass(frozen=True)
class Material:
    """What the corpora of a test unit are drawn from."""

    source: Deck                            # texts by topic, or documents of several sentences
    elsewhere: Deck                         # texts of another domain, of one topic


@dataclass(frozen=True)
class Check:
    """A sanity check: what is varied, over which values, and what the distance should do."""

    description: str
    verdict: Verdict
    x: tuple[float, ...]
    build: Callable[[Material, int, tuple[float, ...]], list[Pair]]
    documents: bool = False                 # whether it is about documents, not about texts by topic


def replace_first(texts: Corpus, others: Sequence[str]) -> Corpus:
    """Return the texts with the first ones replaced."""
    return [*others, *texts[len(others):]]


def drop_simultaneously(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """The shares of all topics but one fall to 0 together."""
    deck, reference = material.source, material.source.sample(n)
    others = 1 - 1 / len(deck.labels)
    return [(reference, deck.sample(n, {label: 1 - others * (1 - at) if not row else (1 - at) * others / (len(deck.labels) - 1)
                                        for row, label in enumerate(deck.labels)})) for at in x]


def drop_sequentially(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """One topic after the other disappears."""
    deck, reference = material.source, material.source.sample(n)
    return [(reference, deck.sample(n, dict.fromkeys(deck.labels[:len(deck.labels) - round(at * (len(deck.labels) - 1))], 1.0)))
            for at in x]


def invent(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """A topic that the reference does not contain gets a share of x."""
    deck = material.source
    *real, invented = deck.labels
    reference = deck.sample(n, dict.fromkeys(real, 1.0))
    return [(reference, deck.sample(n, {**dict.fromkeys(real, (1 - at) / len(real)), invented: at})) for at in x]


def add_outliers(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """A share x of the texts is replaced by very long texts of another domain."""
    reference, changed = material.source.sample(n), material.source.sample(n)
    longest = max(1, round(max(x) * n))
    words = " ".join(material.elsewhere.sample(50))
    outliers = [(words + " ") * (1 + LONG // (1 + len(words))) for _ in range(longest)]
    return [(reference, replace_first(changed, [outlier[:LONG] for outlier in outliers[:round(at * n)]])) for at in x]


def duplicate(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """Every text of both corpora occurs x times."""
    a, b = material.source.sample(n), material.source.sample(n // 2) + material.elsewhere.sample(n - n // 2)
    return [(a * round(at), b * round(at)) for at in x]


def vary_size(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """Both corpora have x n texts; a quarter of the second is of another domain."""
    pairs = []
    for at in x:
        size = round(at * n)
        pairs.append((material.source.sample(size), mix(material, size, 0.25)))
    return pairs


def vary_balance(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """The first corpus has a share x of 2 n texts, the second the rest; a quarter of the second is of another domain."""
    return [(material.source.sample(round(at * 2 * n)), mix(material, 2 * n - round(at * 2 * n), 0.25)) for at in x]


def mix(material: Material, size: int, share: float) -> Corpus:
    """Return a corpus with a share of texts of another domain."""
    others = round(share * size)
    return material.source.sample(size - others) + material.elsewhere.sample(others)


def change_register(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """A share x of the texts loses capitals, punctuation and function words; the topics stay."""
    reference, changed = material.source.sample(n), material.source.sample(n)
    return [(reference, replace_first(changed, [telegraphic(text) for text in changed[:round(at * n)]])) for at in x]


FUNCTION_WORDS = frozenset([
    "a", "an", "and", "are", "at", "be", "been", "by", "did", "do", "does", "for", "from", "had", "has", "have", "in", "is", "it",
    "its", "of", "on", "or", "that", "the", "these", "this", "those", "to", "was", "were", "which", "who", "whom", "with"])


def telegraphic(text: str) -> str:
    """Return the text in lower case, without punctuation and function words."""
    words = re.findall(r"\w+", text.lower())
    return " ".join([word for word in words if word not in FUNCTION_WORDS] or words or [text])


def shuffle_order(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """The sentences of a share x of the documents are shuffled."""
    reference, changed, rng = material.source.sample(n), material.source.sample(n), material.source.rng
    shuffled = [shuffle_sentences(text, rng) or text for text in changed]
    return [(reference, replace_first(changed, shuffled[:round(at * n)])) for at in x]


def truncate(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """Every document loses a share x of its words at the end."""
    reference, changed = material.source.sample(n), material.source.sample(n)
    return [(reference, [cut(text, at) for text in changed]) for at in x]


def cut(text: str, share: float) -> str:
    """Return the text without a share of its words at the end."""
    words = text.split()
    return " ".join(words[:max(1, round((1 - share) * len(words)))]) if share else text


def place_errors(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """Words in the first, the middle or the last third of every document are replaced by words of other documents."""
    reference, changed, rng = material.source.sample(n), material.source.sample(n), material.source.rng
    words = [word for text in material.source.sample(n) for word in text.split()]
    return [(reference, [misplace(text, third, words, rng) for text in changed]) for third in range(len(x))]


def misplace(text: str, third: int, words: Sequence[str], rng: np.random.Generator) -> str:
    """Return the text with random words in one of its thirds."""
    tokens = text.split()
    rows = np.arange(third * len(tokens) // 3, (third + 1) * len(tokens) // 3)
    for row in rows[rng.random(len(rows)) < ERRORS]:
        tokens[row] = words[int(rng.integers(len(words)))]
    return " ".join(tokens)


def write_gibberish(material: Material, n: int, x: tuple[float, ...]) -> list[Pair]:
    """A share x of the texts consists of the most frequent n-grams of other texts of the source."""
    reference, changed, rng = material.source.sample(n), material.source.sample(n), material.source.rng
    frequent = most_frequent(reference)
    gibberish = []
    for text in changed:
        target = max(GRAM, len(text.split()))
        words = " ".join(frequent[row] for row in rng.integers(len(frequent), size=-(-target // GRAM))).split()
        gibberish.append(" ".join(words[:target]))
    return [(reference, replace_first(changed, gibberish[:round(at * n)])) for at in x]


def most_frequent(texts: Iterable[str]) -> list[str]:
    """Return the most frequent n-grams of words, ties in alphabetical order."""
    counts: Counter[str] = Counter()
    for text in texts:
        words = text.split()
        counts.update(" ".join(words[start:start + GRAM]) for start in range(max(1, len(words) - GRAM + 1)))
    return sorted(counts, key=lambda gram: (-counts[gram], gram))[:GIBBERISH]


CHECKS: Mapping[str, Check] = {
    "mode_dropping_simultaneous": Check("all topics but one become rare together", Verdict.GROWS, (0, 0.25, 0.5, 0.75, 1),
                                        drop_simultaneously),
    "mode_dropping_sequential": Check("one topic after the other disappears", Verdict.GROWS, (0, 1 / 3, 2 / 3, 1),
                                      drop_sequentially),
    "invention": Check("a topic appears that the reference does not contain", Verdict.GROWS, (0, 0.1, 0.25, 0.5), invent),
    "outliers": Check("1% to 5% of the texts are replaced by texts of 20,000 characters", Verdict.BOUNDED, (0, 0.01, 0.02, 0.05),
                      add_outliers),
    "duplication": Check("every text of both corpora occurs several times", Verdict.STAYS, (1, 2, 4), duplicate),
    "sample_size": Check("both corpora become larger", Verdict.STAYS, (0.5, 1, 2, 4), vary_size),
    "imbalance": Check("one corpus becomes larger than the other", Verdict.STAYS, (0.5, 0.35, 0.2), vary_balance),
    "disjoint_dimension": Check("texts lose capitals, punctuation and function words and keep their topics", Verdict.GROWS,
                                (0, 0.25, 0.5, 1), change_register),
    "sentence_order": Check("the sentences of documents are shuffled", Verdict.GROWS, (0, 0.5, 1), shuffle_order, documents=True),
    "truncation": Check("documents lose their ends", Verdict.GROWS, (0, 0.25, 0.5, 0.75), truncate, documents=True),
    "error_position": Check("words are replaced at the beginning, in the middle or at the end of documents", Verdict.DETECTED,
                            (1, 2, 3), place_errors, documents=True),
    "frequent_ngrams": Check("texts consist of the most frequent n-grams of the source", Verdict.GROWS, (0, 0.25, 0.5, 1),
                             write_gibberish),
}
