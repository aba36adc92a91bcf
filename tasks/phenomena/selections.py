"""Selections of quads: generated from sources, kept in the cache, or checked in as rows and numbers of edits."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.files import file_lock
from harness.base.hashing import digest_of, seed_of
from harness.base.paths import cache_folder
from tasks.data.loading import dataset_fingerprint, load_dataset
from tasks.phenomena.matching import select_quads
from tasks.phenomena.quads import Candidate, Plan, SourcePair, Texts, find_candidates
from tasks.phenomena.words import LISTS, Half

RULES_VERSION = 1  # of generated selections in the cache; raise it when rules or filters change
FOLDER = Path(__file__).parent / "selections"


@dataclass(frozen=True)
class PairSource:
    """A dataset of pairs of paraphrases."""

    name: str
    least: float | None = None  # smallest score of a pair; None: all pairs


@dataclass(frozen=True)
class Request:
    """Which quads are wanted."""

    sources: tuple[PairSource, ...]
    half: Half
    phenomena: tuple[str, ...]
    least: int  # quads of a phenomenon; those with fewer are left out
    largest: int
    required: int  # phenomena


@dataclass(frozen=True)
class Quad:
    """A quad of a selection."""

    source: str
    row: int  # of the dataset
    phenomenon: str
    plan: Plan
    texts: Texts


@lru_cache(maxsize=8)
def read_pairs(source: PairSource) -> dict[int, tuple[str, str]]:
    """Return the pairs of a source by row."""
    loaded = load_dataset(source.name)
    rows = loaded.rows if loaded.dataset.kind == "pairs" else None
    if rows is None:
        raise TouchstoneError(
            f'The dataset "{source.name}" has the kind {loaded.dataset.kind}; contrast needs pairs of paraphrases.'
        )
    if source.least is not None and "score" not in rows.columns:
        raise TouchstoneError(f'The pairs of "{source.name}" have no scores. Remove the setting `least` of this source.')
    chosen = rows if source.least is None else rows[rows.score >= source.least]
    return {int(row): (str(a), str(b)) for row, a, b in zip(chosen.index, chosen.text_a, chosen.text_b, strict=True)}


def generate_quads(request: Request) -> list[Quad]:
    """Return a new selection of quads: the source pairs in an order that depends on their texts alone, each with all its quads.

    Raises:
        TouchstoneError: If the sources have too few quads of too many phenomena.
    """
    quads: list[Quad] = []
    counts = dict.fromkeys(request.phenomena, 0)
    places: list[tuple[str, int]] = []
    by_phenomenon: dict[str, list[tuple[int, Candidate]]] = {phenomenon: [] for phenomenon in request.phenomena}
    for source in request.sources:
        rows = read_pairs(source)
        first, numbers = len(places), list(rows)
        places += [(source.name, row) for row in numbers]
        for phenomenon, candidates in find_candidates(list(rows.values()), request.half, request.phenomena).items():
            by_phenomenon[phenomenon] += [(first + number, candidate) for number, candidate in candidates]
    for phenomenon, candidates in by_phenomenon.items():
        chosen = select_quads(candidates, request.least, request.largest)
        counts[phenomenon] = len(chosen)
        if len(chosen) >= request.least:
            quads += [
                Quad(*places[candidates[index][0]], phenomenon, candidates[index][1].plan, candidates[index][1].texts)
                for index in chosen
            ]
    enough = [phenomenon for phenomenon, count in counts.items() if count >= request.least]
    if len(enough) < request.required:
        named = " and ".join(f'"{source.name}"' for source in request.sources)
        largest = ", ".join(
            f"{phenomenon} {count}" for phenomenon, count in sorted(counts.items(), key=lambda item: -item[1])[:4]
        )
        raise TouchstoneError(
            f"Contrast needs {request.least} quads for each of {request.required} phenomena; {named} give that many for "
            f"{len(enough)} (most: {largest}). Name a larger source of English paraphrases, or lower `least`."
        )
    return sorted(quads, key=lambda quad: (seed_of(quad.source, *sorted(read_pairs_of(request, quad))), quad.source, quad.row))


def read_pairs_of(request: Request, quad: Quad) -> tuple[str, str]:
    """Return the source pair of a quad."""
    source = next(source for source in request.sources if source.name == quad.source)
    return read_pairs(source)[quad.row]


@lru_cache(maxsize=4)
def load_generated(request: Request) -> tuple[Quad, ...]:
    """Return the selection for a request, from the cache if it is there."""
    lists = {path.name: path.read_text(encoding="utf-8") for path in sorted(LISTS.glob("*.txt"))}
    fingerprints = [dataset_fingerprint(source.name) for source in request.sources]
    path = cache_folder() / "contrast" / f"{digest_of([RULES_VERSION, lists, fingerprints, repr(request)])[:32]}.json"
    with file_lock(path.with_suffix(".lock")):  # other processes wait instead of generating the same quads
        if path.exists():
            return tuple(
                Quad(source, row, phenomenon, Plan(*plan), Texts(*texts))
                for source, row, phenomenon, plan, texts in json.loads(path.read_text(encoding="utf-8"))
            )
        quads = generate_quads(request)
        partial = path.with_suffix(".partial")
        partial.write_text(
            json.dumps([[quad.source, quad.row, quad.phenomenon, quad.plan, quad.texts] for quad in quads]), encoding="utf-8"
        )
        partial.replace(path)
    return tuple(quads)


# ---- selections that are checked in -----------------------------------------------------------------------------------------


def write_selection(path: Path, quads: Sequence[Quad]) -> None:
    """Write the rows of a selection and the numbers of its edits, without texts."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", "row", "phenomenon", *Plan._fields])
        writer.writerows([quad.source, quad.row, quad.phenomenon, *quad.plan] for quad in quads)


@lru_cache(maxsize=4)
def read_selection(name: str) -> tuple[tuple[str, int, str, Plan], ...]:
    """Return (source, row, phenomenon, plan) for each quad of a selection that is checked in."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        names = sorted(file.stem for file in FOLDER.glob("*.csv"))
        raise TouchstoneError(
            f'There is no selection of quads "{name}".{did_you_mean(name, names)} The selections are '
            f"{', '.join(names)}; without `selection` the quads are generated."
        )
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            (row["source"], int(row["row"]), row["phenomenon"], Plan(*(int(row[field]) for field in Plan._fields)))
            for row in csv.DictReader(file)
        )


def count_pairs(name: str) -> int:
    """Return the number of source pairs of a selection that is checked in."""
    return len({(source, row) for source, row, _, _ in read_selection(name)})


@lru_cache(maxsize=4)
def load_selection(name: str, sources: tuple[PairSource, ...], half: Half, digest: str) -> tuple[Quad, ...]:
    """Return the quads of a selection that is checked in, whose texts must have the given digest."""
    quads = regenerate_quads(name, sources, half)
    current = digest_texts(quads)
    if current != digest:
        raise TouchstoneError(
            f'The quads of the selection "{name}" have the digest {current[:16]}, the suite has {digest[:16]}: the sources, the '
            "word lists or the rules have changed. Name the selection's own sources and half in the suite, or make a new "
            "selection with `python -m tasks.phenomena.maintain select`."
        )
    return quads


def regenerate_quads(name: str, sources: Sequence[PairSource], half: Half) -> tuple[Quad, ...]:
    """Return the quads of a selection that is checked in, or none if the sources or the half are not those of the selection."""
    pairs = {source.name: read_pairs(source) for source in sources}
    made: dict[tuple[str, int], SourcePair] = {}
    quads = []
    try:
        for source, row, phenomenon, plan in read_selection(name):
            if (source, row) not in made:
                made[source, row] = SourcePair(*pairs[source][row], half)
            quads.append(Quad(source, row, phenomenon, plan, made[source, row].texts(phenomenon, plan)))
    except (KeyError, IndexError):
        return ()
    return tuple(quads)


def digest_texts(quads: Sequence[Quad]) -> str:
    """Return the sha256 of all texts of a selection."""
    return digest_of([[quad.phenomenon, *quad.texts] for quad in quads])
