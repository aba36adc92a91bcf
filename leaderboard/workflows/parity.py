"""Compare a metric of ours with other libraries on the same pairs of synthetic texts, or of corpora."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import Progress
from harness.evaluation.open_metric import open_metric
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.workflows.parity_libraries import COMPARISONS, Library
from tasks.data.sources.synthetic import FRAMES, WORDS, make_corpus

PAIRS = 200                                 # of texts
CORPORA, TEXTS = 12, 60                     # pairs of corpora, texts per corpus
SEED = 14
SAME = 1e-6                                 # some libraries compute in single precision, or add 1e-8 to a divisor


@dataclass(frozen=True)
class ParityRow:
    """An entry of ours or a library; differences are from our default entry."""

    name: str
    call: str
    difference: float | None = None         # the largest
    correlation: float | None = None        # Spearman; None if one of the two is constant
    same_as: str | None = None              # our entry with the same scores
    missing: str | None = None              # why it was not run


def compare_libraries(metric: str, progress: Progress) -> list[ParityRow]:
    """Return one row per entry of ours, per library and per submission that calls a package; scores are scaled to [0, 1]."""
    if metric not in COMPARISONS:
        raise TouchstoneError(f'There is no comparison of "{metric}".{did_you_mean(metric, COMPARISONS)} There is one of '
                              f"{', '.join(COMPARISONS)}.")
    comparison = COMPARISONS[metric]
    a, b = make_pairs()
    ours = {entry.name: entry_scores(entry, a, b, progress) for entry in select_entries([comparison.ours], SUBMISSIONS)}
    default = ours[comparison.ours]
    rows = [ParityRow(name, "ours", *score_differences(values, default)) for name, values in ours.items()]

    def add(name: str, call: str, values: np.ndarray) -> None:
        same = next((name for name, own in ours.items() if np.abs(values - own).max() <= SAME), None)
        rows.append(ParityRow(name, call, *score_differences(values, default), same))

    for library in comparison.libraries:
        missing = library.missing
        if missing is not None:
            rows.append(ParityRow(library.package, library.call, missing=missing))
        else:
            add(library.name, library.call, library_scores(library, a, b))
    for name in comparison.wrappers:
        call = f"submissions/{name.partition('[')[0]}.py"
        try:
            entry, = (entry for entry in select_entries([name], SUBMISSIONS) if entry.name == name)
            values = entry_scores(entry, a, b, progress)
        except TouchstoneError as refusal:
            rows.append(ParityRow(name, call, missing=str(refusal)))
        else:
            add(name, call, values)
    return rows


def score_differences(values: np.ndarray, default: np.ndarray) -> tuple[float, float | None]:
    """Return the largest difference and the rank correlation."""
    varied = np.ptp(values) > 0 and np.ptp(default) > 0
    return float(np.abs(values - default).max()), float(spearmanr(values, default).statistic) if varied else None


def library_scores(library: Library, a: list[str], b: list[str]) -> np.ndarray:
    """Return the scores of a library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # about short texts and n-gram orders without matches
        values = np.array(library.ask(a, b), dtype=float)
    return (values - values.min()) / np.ptp(values) if library.scale is None else values / library.scale


def entry_scores(entry: Entry, a: list[str], b: list[str], progress: Progress) -> np.ndarray:
    """Return an entry's scores of the pairs of texts, or a corpus metric's distances of pairs of corpora."""
    header, high = entry.header, entry.header.range[1]
    with open_metric(entry, progress=progress, vectors=cache_folder()) as metric:
        if header.kind == "corpus":
            distances = np.array([metric.corpus_distance(p, q) for p, q in make_corpora()])
            return distances + 1 if header.returns == "similarity" and math.isinf(high) else distances
        values = metric.pair_scores(a, b)
    return values / high if math.isfinite(high) else (values - values.min()) / np.ptp(values)


# ---- the pairs -------------------------------------------------------------------------------------------------------------

def make_pairs(count: int = PAIRS, seed: int = SEED) -> tuple[list[str], list[str]]:
    """Return synthetic sentences and edited copies: case, punctuation, spaces, words deleted, swapped, replaced, repeated."""
    rng = np.random.default_rng(seed)
    frames = [frame for domain in FRAMES.values() for frame in domain]

    def sentence() -> str:
        chosen = {slot: words[rng.integers(len(words))] for slot, words in WORDS.items()}
        return frames[rng.integers(len(frames))].format(**chosen)

    references = [f"{sentence()[0].upper()}{sentence()[1:]}." for _ in range(count)]
    candidates = []
    for reference in references:
        edited = reference
        for _ in range(int(rng.integers(0, 5))):
            edited = EDITS[rng.integers(len(EDITS))](edited, sentence(), rng)
        candidates.append(edited)
    return references, candidates


def make_corpora(count: int = CORPORA, seed: int = SEED) -> list[tuple[list[str], list[str]]]:
    """Return pairs of corpora of synthetic texts: the second is a mixture of the first one's domain and another domain."""
    rng = np.random.default_rng(seed)
    first, other = (make_corpus(domain)["text"].tolist() for domain in list(FRAMES)[:2])
    pairs = []
    for step in range(count):
        rng.shuffle(first)
        rng.shuffle(other)
        mixed = round(TEXTS * step / (count - 1))
        pairs.append((first[:TEXTS], [*first[TEXTS:2 * TEXTS - mixed], *other[:mixed]]))
    return pairs


def cut(text: str, other: str, rng: np.random.Generator) -> str:
    """Delete a few words."""
    words = text.split()
    start = int(rng.integers(len(words))) if words else 0
    return " ".join(words[:start] + words[start + int(rng.integers(1, 5)):])


def swap(text: str, other: str, rng: np.random.Generator) -> str:
    """Swap the two halves."""
    words = text.split()
    half = int(rng.integers(len(words))) if words else 0
    return " ".join(words[half:] + words[:half])


def mix(text: str, other: str, rng: np.random.Generator) -> str:
    """Join halves of two sentences."""
    words = text.split()
    return " ".join(words[:len(words) // 2] + other.split()[len(words) // 2:])


def repeat(text: str, other: str, rng: np.random.Generator) -> str:
    """Repeat some words."""
    words = text.split()
    return " ".join(word for word in words for _ in range(1 + int(rng.random() < 0.3)))


EDITS: tuple[Callable[[str, str, np.random.Generator], str], ...] = (
    cut, swap, mix, repeat,
    lambda text, other, rng: text.lower(), lambda text, other, rng: text.upper(),
    lambda text, other, rng: text.replace(" ", "  ", 2), lambda text, other, rng: text.replace(" ", "", 1),
    lambda text, other, rng: text.replace(".", " !"), lambda text, other, rng: text.replace(" the ", ", the ", 1),
    lambda text, other, rng: f"{text} {int(rng.integers(10, 9999)):,}.5%", lambda text, other, rng: other,
    lambda text, other, rng: re.sub(r"s\b", "", text), lambda text, other, rng: f"\"{text}\" ({other})",
)
