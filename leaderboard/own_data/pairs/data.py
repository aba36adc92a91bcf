"""Read judged pairs of a user, and say what could be wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.own_data.pairs.agreement import Judgements
from tasks.data.loading import get_dataset, load_dataset
from tasks.data.own.columns import describe_columns, guess_form
from tasks.data.own.files import read_tables
from tasks.data.own.registry import OwnSource, is_path, make_source, source_of_path
from tasks.data.schema import fingerprint_tables

FEWEST_PAIRS, MOST_PAIRS = 20, 5_000
FEWEST_OF_LABEL = 5
LONG_CHARACTERS = 20_000                    # longer texts are cut, because some metrics take time in proportion to the square
FUNCTION_WORDS = frozenset(re.findall(r"\w+", """
    the of and to a in is for on that with it as at by from this be are was an or not you your we have has had will can do does
    did what how who why which my i he she they his her their its but if"""))
ENGLISH_WORDS, ENGLISH_SHARE = 6, 0.8       # texts of so many words that have a function word
SEED = 23
PAIR = ("text_a", "text_b")


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs of texts with judgements, where they are from, and what is worth knowing about them."""

    name: str
    a: list[str]
    b: list[str]
    judgements: Judgements
    scale: tuple[float, float]              # the lowest and the highest judgement
    fingerprint: str
    columns: str
    notes: list[str]

    def __len__(self) -> int:
        return len(self.a)


def read_judged_pairs(source: str, columns: Mapping[str, str] | None = None, positive: str | None = None) -> JudgedPairs:
    """Return the judged pairs in a file, or in a dataset by its name; at most `MOST_PAIRS`, drawn at random.

    Raises:
        TouchstoneError: There are no judgements, too few pairs, or nothing that could be predicted.
    """
    if is_path(source):
        declared, of_path = source_of_path(source)
        form = declared or guess_form([*read_tables(of_path.files)[0][1].columns, *(columns or {})])
        shaped = make_source(of_path.files, "choices" if form == "choices" else "pairs", columns, positive).shaped()
        tables, described, notes = shaped.tables, describe_columns(shaped.columns), list(shaped.notes)
    else:
        dataset = get_dataset(source)
        if dataset.kind not in ("pairs", "rated_summaries", "preferences"):
            raise TouchstoneError(f'The dataset "{source}" has the kind {dataset.kind}; judged pairs are required.')
        own = dataset.source.shaped() if isinstance(dataset.source, OwnSource) else None
        tables, notes = load_dataset(source).tables, [] if own is None else list(own.notes)
        described = "" if own is None else describe_columns(own.columns)
    rows = tables["data"]
    if "choice" in rows.columns:
        rows = label_choices(rows)
        notes.append("Choices are used as labels: a document and the chosen text are similar, a document and the other are not.")
    rows = rows.rename(columns={"document": "text_a", "summary": "text_b", "overall": "score"})
    fingerprint = fingerprint_tables(tables)
    if "score" not in rows.columns:
        raise TouchstoneError(f"{source} has pairs without ratings or labels; name their column with --column judgement=NAME, or "
                              "use `touchstone choose --texts`, which needs none.")
    rows = rows[rows.score.notna()]
    labelled = rows.score.nunique() == 2
    human = rows.score.to_numpy(dtype=float)
    if len(rows) < FEWEST_PAIRS:
        raise TouchstoneError(f"{source} has {len(rows)} usable pairs; {FEWEST_PAIRS} are required to compare metrics, and "
                              "80 or more are better.")
    if np.ptp(human) == 0:
        raise TouchstoneError(f"All {len(rows):,} judgements of {source} are {human[0]:g}, so no metric can be better than "
                              "another. Add pairs that are judged differently.")
    if labelled:
        human = (human == human.max()).astype(float)
        if min(human.sum(), (1 - human).sum()) < FEWEST_OF_LABEL:
            raise TouchstoneError(f"{source} has {int(human.sum())} similar and {int((1 - human).sum())} dissimilar pairs; "
                                  f"{FEWEST_OF_LABEL} of each are required.")
    a, b = rows.text_a.astype(str).tolist(), rows.text_b.astype(str).tolist()
    if len(a) > MOST_PAIRS:
        notes.append(f"{MOST_PAIRS:,} of {len(a):,} pairs are used, drawn at random.")
        chosen = np.sort(np.random.default_rng(SEED).permutation(len(a))[:MOST_PAIRS])
        a, b, human = [a[row] for row in chosen], [b[row] for row in chosen], human[chosen]
    cut = sum(len(text) > LONG_CHARACTERS for text in (*a, *b))
    if cut:
        notes.append(f"{cut:,} texts are cut to {LONG_CHARACTERS:,} characters.")
        a, b = ([text[:LONG_CHARACTERS] for text in texts] for texts in (a, b))
    clusters = group_pairs(a, b)
    if clusters.max() + 1 < len(a):
        notes.append(f"Pairs that share a text stay together when pairs are drawn or split: {clusters.max() + 1:,} groups.")
    equal = sum(x == y for x, y in zip(a, b, strict=True))
    if equal:
        notes.append(f"{equal:,} pairs consist of two equal texts; every metric scores them as most similar.")
    notes += describe_language([*a, *b])
    return JudgedPairs(source, a, b, Judgements(human, labelled, clusters), (float(human.min()), float(human.max())),
                       fingerprint, described, notes)


def read_pairs(source: str, columns: Mapping[str, str] | None, progress: Progress) -> tuple[list[str], list[str]]:
    """Return the first and the second texts of the pairs in a file, or in a dataset by its name; judgements are not needed."""
    if is_path(source):
        shaped = make_source(source_of_path(source)[1].files, "pairs", columns, None).shaped(unique=False)
        for note in (f"Columns: {describe_columns({role: shaped.columns[role] for role in PAIR})}.", *shaped.notes):
            progress.say(note)
        tables = shaped.tables
    else:
        tables = load_dataset(source).tables
    rows = tables.get("data", pd.DataFrame()).rename(columns={"document": "text_a", "summary": "text_b"})
    if not {*PAIR} <= {*rows.columns}:
        raise TouchstoneError(f'The dataset "{source}" has no pairs of texts.')
    return rows.text_a.astype(str).tolist(), rows.text_b.astype(str).tolist()


def label_choices(rows: pd.DataFrame) -> pd.DataFrame:
    """Return choices of one of two texts as pairs that are labelled as similar if the text was chosen."""
    sides = [pd.DataFrame({"text_a": rows.document, "text_b": rows[name], "score": (rows.choice == number).where(
        rows.choice.notna()).astype(float)}) for number, name in enumerate(("summary_a", "summary_b"))]
    return pd.concat(sides, ignore_index=True)


def group_pairs(a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    """Return the number of each pair's group: pairs that share a text, directly or through others.

    If that connects most pairs, as when one text occurs everywhere, pairs are grouped by the side with fewer different texts.
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys([*a, *b]))}
    first, second = ([numbers[text] for text in side] for side in (a, b))
    graph = scipy.sparse.coo_array((np.ones(len(a)), (first, second)), shape=(len(numbers), len(numbers)))
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    groups = component[first]
    if np.bincount(groups).max() > max(2, len(a) / 4):
        groups = np.array(min((first, second), key=lambda side: len(set(side))))
    return np.asarray(np.unique(groups, return_inverse=True)[1])


def describe_language(texts: Iterable[str]) -> list[str]:
    """Return a note if many texts do not look English."""
    words = Counter[bool]()
    for text in texts:
        words_of_text = re.findall(r"\w+", text.lower()[:2_000])
        if len(words_of_text) >= ENGLISH_WORDS:
            words[any(word in FUNCTION_WORDS for word in words_of_text)] += 1
    total = sum(words.values())
    if total >= FEWEST_PAIRS and words[True] < ENGLISH_SHARE * total:
        return [f"{1 - words[True] / total:.0%} of the longer texts do not look English. The embedding models and the rated "
                "datasets behind the recommendation are English, so judge as many pairs as you can."]
    return []
