"""In which languages and scripts a metric works: identical texts are nearest, and an edited text is nearer than another text.

Every sixth word of a text, or every sixth letter where no spaces separate words, is replaced by that of a second text. The other
text is a third one of similar length. In corpora a quarter of the texts is replaced.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Measures, Presentation, Task, TaskInfo
from harness.results.outcomes import StoredAs
from harness.sandbox.faults import Fault, FaultKind
from harness.submission.submission import Entry
from tasks.common.base import TaskSettings
from tasks.common.consistency import TOLERANCE
from tasks.data.loading import load_corpus
from tasks.data.sources.multilingual import LANGUAGES

EVERY = 6                                   # one word or letter of so many is replaced; leaves sequences of five
LEAST_UNITS = 8                             # words or letters of a text
CORPUS_TEXTS, REPLACED_TEXTS = 12, 3
NEARER_SHARE = 0.9                          # of the trials of a language that works; ties count one half
CACHED = 128
RIGHT_TO_LEFT_MARK = "\N{RIGHT-TO-LEFT MARK}"

Spelling = Callable[[str], str]
SPELLINGS: Mapping[str, Spelling] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "without_marks": lambda text: "".join(letter for letter in text if unicodedata.category(letter) != "Mn"),
    "direction_marks": lambda text: text.replace(" ", f"{RIGHT_TO_LEFT_MARK} ") if is_right_to_left(text) else text,
}
VOWELLED = "vowelled"                       # Arabic with vowel marks, of which the scripts above have few or none
TITLES = {**{language.title.lower(): language.title for language in LANGUAGES.values()}, VOWELLED: "Arabic with vowel marks"}


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    languages: Annotated[tuple[str, ...], Field(min_length=1)]         # codes of languages
    trials: Annotated[int, Field(ge=1, le=50)]
    vowelled: str = ""                      # a corpus of texts with vowel marks; empty: none


@dataclass(frozen=True)
class SpellingAnswers:
    """Answers for the texts that have another spelling: for text and spelling, and for spelling and other text."""

    spelling: str
    trials: tuple[int, ...]
    itself: tuple[float, ...]
    other: tuple[float, ...]


@dataclass(frozen=True)
class LanguageAnswers:
    """The raw answers for the texts of a language, or the fault that prevented them."""

    itself: tuple[float, ...]               # a text with itself
    edited: tuple[float, ...]               # with its edited copy
    other: tuple[float, ...]                # with another text
    spellings: tuple[SpellingAnswers, ...]
    scale: Annotated[ScoreScale, StoredAs("reading")]
    fault: str | None = None


@dataclass(frozen=True)
class Triple:
    """A text or corpus, its edited copy, and another of its kind."""

    own: list[str]
    edited: list[str]
    other: list[str]


class WorksIn(Task[LanguageAnswers]):
    """In which languages are identical texts nearest and edited texts nearer than other texts?"""

    name: ClassVar[str] = "works_in"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = LanguageAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Works in", short="wi", score="none (property)", chance=0.0, worst=0.0, unit="language", strata=("language",),
        observe_version=1, measure_version=1, ranked=False,
        measures={
            "languages": "share of the languages in which it works: identical texts are nearest, and 90% of edited texts are "
                         "nearer than another text",
            "identity": "share of texts that are nearest to themselves",
            "edited_nearer": "share of texts that are nearer to their edited copy than to another text",
            "without_spaces": "share of the languages without spaces between words in which it works",
            "canonical_equivalence": "share of texts whose answers stay the same when the text is decomposed (NFD)",
            "decomposed": "share of texts that are nearer to their decomposed spelling than to another text",
            "without_marks": "share of texts that are nearer to their spelling without vowel marks and accents than to another "
                             "text",
            "direction_marks": "share of right-to-left texts that are nearer to themselves with direction marks than to another "
                               "text",
            **{measure: f"1 if it works in {title}" for measure, title in TITLES.items()},
        },
        bounds=dict.fromkeys(("languages", "identity", "edited_nearer", "without_spaces", "canonical_equivalence", *SPELLINGS,
                              *TITLES), SHARE),
        presentation=Presentation(
            example="an article of the Universal Declaration of Human Rights in Nepali; it should be most similar to itself, and "
                    "more similar to a copy with replaced words than to another article.",
            columns=("languages",), titles={"languages": "Languages"}, listed=TITLES))

    def datasets(self, settings: Settings) -> set[str]:
        return {*(f"udhr_{code}" for code in settings.languages), *([settings.vowelled] if settings.vowelled else [])}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for code in settings.languages:
            if code not in LANGUAGES:
                raise TouchstoneError(f'tasks.works_in: there is no language "{code}".{did_you_mean(code, LANGUAGES)} The '
                                      f"languages are {', '.join(LANGUAGES)}.")
        corpora = {**{code: f"udhr_{code}" for code in settings.languages},
                   **({VOWELLED: settings.vowelled} if settings.vowelled else {})}
        for language, dataset in corpora.items():
            yield self.unit(context, (language,), {"language": language, "dataset": dataset, "trials": settings.trials},
                            (dataset,))

    def accepts(self, entry: Entry) -> bool:
        """Return True: corpus metrics compare corpora."""
        return True

    def texts(self, unit: Unit) -> Iterable[str]:
        for triple in (*text_triples(unit), *corpus_triples(unit)):
            yield from (*triple.own, *triple.edited, *triple.other)
            yield from (spell(text) for spell in SPELLINGS.values() for text in triple.own)

    def observe(self, unit: Unit, metric: MetricSession) -> LanguageAnswers:
        whole = metric.kind == "corpus"
        triples = corpus_triples(unit) if whole else text_triples(unit)
        scale = metric.scale if whole else metric.pair_scale
        respelled = {name: {trial: changed for trial, triple in enumerate(triples)
                            if (changed := list(map(spell, triple.own))) != triple.own} for name, spell in SPELLINGS.items()}
        pairs = [(triple.own, getattr(triple, part)) for part in ("own", "edited", "other") for triple in triples]
        for spelled in respelled.values():
            pairs += [(triples[trial].own, texts) for trial, texts in spelled.items()]
            pairs += [(texts, triples[trial].other) for trial, texts in spelled.items()]
        try:
            answers = iter(compare_corpora(metric, pairs) if whole else compare_texts(metric, pairs))
        except Fault as fault:
            if fault.kind is FaultKind.TIME:
                raise
            return LanguageAnswers((), (), (), (), scale, fault.sentence)

        def take(count: int) -> tuple[float, ...]:
            return tuple(itertools.islice(answers, count))

        itself, edited, other = (take(len(triples)) for _ in range(3))
        spellings = tuple(SpellingAnswers(name, tuple(spelled), take(len(spelled)), take(len(spelled)))
                          for name, spelled in respelled.items() if spelled)
        return LanguageAnswers(itself, edited, other, spellings, scale)

    def measure(self, unit: Unit, observation: LanguageAnswers) -> Measures:
        language = unit.parameters["language"]
        if observation.fault is not None:
            values: dict[str, float | None] = {"identity": 0.0, "edited_nearer": 0.0}
        else:
            itself, edited, other = (observation.scale.as_distance(np.array(answers)) for answers in (
                observation.itself, observation.edited, observation.other))
            slack = TOLERANCE * max(1.0, *np.abs(np.concatenate([itself, edited, other])))
            values = {"identity": float(((itself <= edited + slack) & (itself < other - slack)).mean()),
                      "edited_nearer": share_nearer(edited, other, slack)}
            for answers in observation.spellings:
                same = other[list(answers.trials)]
                respelled = observation.scale.as_distance(np.array(answers.other))
                values[answers.spelling] = share_nearer(observation.scale.as_distance(np.array(answers.itself)), same, slack)
                if answers.spelling == "decomposed":
                    values["canonical_equivalence"] = float((np.abs(respelled - same) <= slack).mean())
        works = float(values["identity"] == 1 and (values["edited_nearer"] or 0.0) >= NEARER_SHARE)
        if language == VOWELLED:
            return Measures(None, {"without_marks": values.get("without_marks"), VOWELLED: works})
        values |= {"languages": works, LANGUAGES[language].title.lower(): works}
        if not LANGUAGES[language].spaces:
            values["without_spaces"] = works
        return Measures(None, values)


def compare_texts(metric: MetricSession, pairs: Sequence[tuple[list[str], list[str]]]) -> list[float]:
    """Return the answers for pairs of texts, each in a list."""
    a, b = ([text for text, in side] for side in zip(*pairs, strict=True))
    return metric.pair_scores(a, b, 0, [*a, *b])


def compare_corpora(metric: MetricSession, pairs: Sequence[tuple[list[str], list[str]]]) -> list[float]:
    """Return the answers for pairs of corpora."""
    return metric.corpus_distances([corpus for pair in pairs for corpus in pair],
                                   [(2 * row, 2 * row + 1) for row in range(len(pairs))])


def share_nearer(near: np.ndarray, far: np.ndarray, slack: float) -> float:
    """Return the share of distances that are smaller than others, ties one half."""
    return float(np.where(near < far - slack, 1.0, np.where(near > far + slack, 0.0, 0.5)).mean())


@lru_cache(CACHED)
def text_triples(unit: Unit) -> list[Triple]:
    """Return texts, their edited copies, and for each the remaining text whose length is nearest."""
    spaces = has_spaces(unit.parameters["language"])
    texts = [text for text in load_corpus(unit.parameters["dataset"]) if len(split_units(text, spaces)) >= LEAST_UNITS]
    if len(texts) < 3:
        raise TouchstoneError(f"tasks.works_in: {unit.parameters['dataset']} has {len(texts)} texts of at least {LEAST_UNITS} "
                              "words; 3 are needed. Choose another corpus.")
    order = np.random.default_rng(unit.seed).permutation(len(texts)).tolist()
    triples = []
    for first, second in itertools.islice(itertools.pairwise(order), unit.parameters["trials"]):
        text = texts[first]
        other = min((row for row in order if row not in (first, second)), key=lambda row: abs(len(texts[row]) - len(text)))
        triples.append(Triple([text], [edit_text(text, texts[second], spaces)], [texts[other]]))
    return triples


@lru_cache(CACHED)
def corpus_triples(unit: Unit) -> list[Triple]:
    """Return disjoint corpora, and copies of the first of which a quarter of the texts is replaced by further texts."""
    texts, rng = load_corpus(unit.parameters["dataset"]), np.random.default_rng(unit.seed)
    n, changed, triples = CORPUS_TEXTS, REPLACED_TEXTS, []
    for _ in range(-(-unit.parameters["trials"] // CORPUS_TEXTS)):
        drawn = [texts[row] for row in rng.choice(len(texts), 2 * n + changed, replace=False)]
        triples.append(Triple(drawn[:n], drawn[changed:n] + drawn[2 * n:], drawn[n:2 * n]))
    return triples


def edit_text(text: str, donor: str, spaces: bool) -> str:
    """Return the text with every sixth word, or letter with its marks, replaced by those of another text."""
    units, others = (split_units(words, spaces) for words in (text, donor))
    for position in range(EVERY // 2, len(units), EVERY):
        units[position] = others[position % len(others)]
    return (" " if spaces else "").join(units)


def split_units(text: str, spaces: bool) -> list[str]:
    """Return the words of a text, or its letters, each with the marks that follow it."""
    if spaces:
        return text.split()
    units: list[str] = []
    for letter in text:
        if units and unicodedata.category(letter).startswith("M"):
            units[-1] += letter
        else:
            units.append(letter)
    return units


def has_spaces(language: str) -> bool:
    """Return whether spaces separate the words of a language."""
    return language == VOWELLED or LANGUAGES[language].spaces


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter of a text belongs to a right-to-left script."""
    return next((unicodedata.bidirectional(letter) in ("R", "AL") for letter in text if letter.isalpha()), False)
