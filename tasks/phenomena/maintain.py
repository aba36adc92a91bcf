"""Commands for maintainers: make a selection of quads to be checked in, and print sheets on which people judge edits.

python -m tasks.phenomena.maintain select --name core --least 200 --largest 220
python -m tasks.phenomena.maintain sheet --seed 1 --sheet sheet.tsv --key key.tsv
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import get_args

import numpy as np

from harness.base.hashing import seed_of
from tasks.phenomena.meaning_changes import PHENOMENA
from tasks.phenomena.selections import (
    FOLDER,
    PairSource,
    Quad,
    Request,
    digest_texts,
    generate_quads,
    read_pairs,
    write_selection,
)
from tasks.phenomena.words import Half

SOURCES = (PairSource("kjv_asv"), PairSource("sts_benchmark", 4.5))


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("select", "sheet"))
    parser.add_argument("--name", default="core", help="name of the selection")
    parser.add_argument("--half", choices=get_args(Half), default="public")
    parser.add_argument("--least", type=int, default=200)
    parser.add_argument("--largest", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edits", type=int, default=50, help="edits on the sheet, per phenomenon and for each of e and n")
    parser.add_argument("--sheet", type=Path, default=Path("sheet.tsv"))
    parser.add_argument("--key", type=Path, default=Path("key.tsv"))
    options = parser.parse_args()
    quads = generate_quads(Request(SOURCES, options.half, tuple(PHENOMENA), options.least, options.largest, 8))
    if options.command == "select":
        write_selection(FOLDER / f"{options.name}.csv", quads)
        print(f"{len(quads)} quads, digest {digest_texts(quads)}")
    else:
        write_sheet(quads, options.seed, options.edits, options.sheet, options.key)


def write_sheet(quads: list[Quad], seed: int, edits: int, sheet: Path, key: Path) -> None:
    """Write a sheet of texts and their edits in random order, and a key that says which phenomenon and edit each is.

    The reader notes for each line whether the second text is valid English, as far as the first is, and whether it has the same
    meaning; an edit is right if it is valid and has the meaning that the key says. Edits of both sides of a quad are drawn.
    """
    rows = []
    for phenomenon in PHENOMENA:
        of_phenomenon = [quad for quad in quads if quad.phenomenon == phenomenon]
        for kind in ("changed", "same"):
            rng = np.random.default_rng(seed_of(seed, phenomenon, kind))
            for index in rng.permutation(len(of_phenomenon))[:edits].tolist():
                texts, far = of_phenomenon[index].texts, bool(rng.integers(2))
                original = read_original(of_phenomenon[index]) if far else texts.anchor
                edited = (texts.f if far else texts.e) if kind == "changed" else (texts.p if far else texts.n)
                rows.append((original, edited, phenomenon, kind))
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    with sheet.open("w", encoding="utf-8", newline="") as blind, key.open("w", encoding="utf-8", newline="") as answers:
        questions, truth = csv.writer(blind, delimiter="\t"), csv.writer(answers, delimiter="\t")
        questions.writerow(["number", "text", "edited", "valid (y/n)", "same meaning (y/n)"])
        truth.writerow(["number", "phenomenon", "meaning"])
        for number, index in enumerate(order, 1):
            original, edited, phenomenon, kind = rows[index]
            questions.writerow([number, original, edited, "", ""])
            truth.writerow([number, phenomenon, kind])


def read_original(quad: Quad) -> str:
    """Return the paraphrase that the far texts of a quad are edits of."""
    source = next(source for source in SOURCES if source.name == quad.source)
    return read_pairs(source)[quad.row][1 - quad.plan.side]


if __name__ == "__main__":
    main()
