"""A small WordNet in the form of its database files, and NLTK's own reader of such files."""

from __future__ import annotations

import warnings
from pathlib import Path

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

SYNSETS = {
    "noun": [["ferry", "boat"], ["dog", "domestic_dog"], ["mill", "factory"], ["garden"], ["morning", "forenoon"], ["man"], ["fly"],
             ["church", "cathedral"], ["harbour", "harbor", "Haven"], ["organization", "organisation"], ["box", "case"]],
    "verb": [["leave", "depart", "go_away"], ["chase", "pursue"], ["run", "go", "operate"], ["move", "go"], ["fly"], ["book", "hold"]],
    "adj": [["old", "aged(p)"], ["small", "little(a)"], ["quick", "fast"], ["well"], ["grey", "gray", "old"]],
    "adv": [["quickly", "fast"], ["well", "good"]],
}
EXCEPTIONS = {"noun": ["men man"], "verb": ["ran run", "left leave", "flew fly"], "adj": ["better good well"], "adv": ["best well"]}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def write_wordnet(folder: Path) -> Path:
    """Write a folder in the form of WordNet's database: data lines of which the index holds the offsets."""
    for part, synsets in SYNSETS.items():
        data, offsets = "  1 Not WordNet.\n", {}
        for lemmas in synsets:
            for lemma in lemmas:
                offsets.setdefault(lemma.partition("(")[0].lower(), []).append(len(data))
            words = " ".join(f"{lemma} 0" for lemma in lemmas)
            data += f"{len(data):08d} 00 {LETTERS[part]} {len(lemmas):02x} {words} 000 | made for a test\n"
        (folder / f"data.{part}").write_text(data)
        (folder / f"index.{part}").write_text("  1 Not WordNet.\n" + "".join(
            f"{lemma} {LETTERS[part]} {len(starts)} 0 {len(starts)} 0 {' '.join(f'{offset:08d}' for offset in starts)}\n"
            for lemma, starts in sorted(offsets.items())))
        (folder / f"{part}.exc").write_text("".join(f"{line}\n" for line in EXCEPTIONS[part]))
    (folder / "lexnames").write_text("00\tmade.all\t1\n")
    return folder


def read_with_nltk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> WordNetCorpusReader:
    """Return NLTK's reader of a folder of WordNet's database."""
    class Reader(WordNetCorpusReader):
        def map_wn(self, version="wordnet"):
            return None

    monkeypatch.setattr(nltk.data, "path", [str(folder)])       # NLTK reads nothing elsewhere
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(str(folder), None)
