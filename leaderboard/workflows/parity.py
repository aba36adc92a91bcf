"""Compare a metric of ours with the defaults of other libraries on the same pairs of synthetic texts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import SUBMISSIONS
from harness.base.progress import Progress
from harness.evaluation.open_metric import open_metric
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.workflows.parity_libraries import LIBRARIES, Library
from tasks.data.sources.synthetic import FRAMES, WORDS

PAIRS = 200
SEED = 14
SAME = 1e-7                                 # some libraries add 1e-8 where they could divide by 0


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
    """Return one row per entry of ours and per library; unbounded scores are scaled to [0, 1] over the pairs."""
    if metric not in LIBRARIES:
        raise TouchstoneError(f'There is no comparison of "{metric}".{did_you_mean(metric, LIBRARIES)} There is one of '
                              f"{', '.join(LIBRARIES)}.")
    submission, libraries = LIBRARIES[metric]
    a, b = make_pairs()
    ours = entry_scores(select_entries([submission], SUBMISSIONS), a, b, progress)
    rows = [ParityRow(name, "ours", *score_differences(values, ours[submission])) for name, values in ours.items()]
    for library in libraries:
        missing = library.missing
        if missing is not None:
            rows.append(ParityRow(library.package, library.call, missing=missing))
            continue
        values = library_scores(library, a, b)
        same = [name for name, own in ours.items() if np.abs(values - own).max() <= SAME]
        rows.append(
            ParityRow(library.name, library.call, *score_differences(values, ours[submission]), same[0] if same else None)
        )
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


def entry_scores(entries: list[Entry], a: list[str], b: list[str], progress: Progress) -> dict[str, np.ndarray]:
    """Return the scores of our entries by name."""
    scores = {}
    for entry in entries:
        with open_metric(entry, progress=progress) as metric:
            scores[entry.name] = metric.pair_scores(a, b)
    return scores


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
