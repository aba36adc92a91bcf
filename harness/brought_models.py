"""Vectors of words that no package index has: whoever has them puts them into a folder of the cache, in a form that is ours.

`words.txt` holds a word a line, `vectors.npy` a row of floats a word, in that order.  What they are is noted at
`touchstone models fetch NAME`: nothing could be pinned where this was written, so that they are unverified.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.embedding_model import Model, fingerprint_files
from harness.encoders import Encoder
from harness.errors import ModelAbsent, Refusal
from harness.noted import note, read_notes
from harness.places import cache_folder

WORDS, VECTORS = "words.txt", "vectors.npy"
FILES = (WORDS, VECTORS)


@dataclass(frozen=True)
class BroughtModel(Model):
    """One that papers use; its fingerprint is what was noted of its files, nothing before."""

    source: str                         # where people have it from

    @property
    def origin(self) -> str:
        return "brought by hand"

    @property
    def folder(self) -> Path:
        return cache_folder() / "models" / self.name

    def path(self) -> Path:
        if not self.fingerprint or not self.brought:
            raise ModelAbsent(self.name, f'The model "{self.name}" is not here, and no package index has it: put {WORDS} (a '
                              f"word a line) and {VECTORS} (float32, a row a word; in gensim `index_to_key` and `vectors` of "
                              f"{self.source}) into {self.folder}, then `touchstone models fetch {self.name}` notes them.")
        return self.folder

    @property
    def brought(self) -> bool:
        return all((self.folder / file).is_file() for file in FILES)

    def verify(self) -> None:
        found = fingerprint_files(self.path(), FILES)
        if found != self.fingerprint:
            raise Refusal(f'The files of the model "{self.name}" in {self.folder} are not those that were noted (fingerprint '
                          f"{found[:12]}, noted {self.fingerprint[:12]}); restore them, or `touchstone models fetch --again "
                          f"{self.name}` notes them anew.")

    def encoder(self) -> Encoder:
        raise Refusal(f'The model "{self.name}" has no vectors of texts: a suite needs another one.')


# Name: its title, its dimensions, its licence, and where people have it from.
BROUGHT = {
    "word2vec-google-news-300": ("word2vec, Google News, 3,000,000 words", 300, "not stated",
                                 '`gensim.downloader.load("word2vec-google-news-300")`'),
    "fasttext-wiki-news-subwords-300": ("fastText, Wikipedia and news, 999,999 words", 300, "CC-BY-SA-3.0",
                                        '`gensim.downloader.load("fasttext-wiki-news-subwords-300")`'),
}


def lock() -> Path:
    return cache_folder() / "brought.lock"


def declared(name: str) -> BroughtModel:
    """The model of that name, whether it is here or not."""
    title, dimensions, licence, source = BROUGHT[name]
    noted = read_notes(lock()).get(name)
    return BroughtModel(name, title, dimensions, noted if isinstance(noted, str) else "", licence, source)


def find_brought(name: str) -> BroughtModel:
    model = declared(name)
    model.path()
    return model


def bring(name: str, *, again: bool = False) -> BroughtModel:
    """Looks at the files that were put into a model's folder, and notes what they are."""
    model = declared(name)
    if not model.brought or (model.fingerprint and not again):
        model.verify()
        return model
    check(model)
    note(lock(), name, fingerprint_files(model.folder, FILES))
    return declared(name)


def check(model: BroughtModel) -> None:
    """Refuses files that are not in the form that metrics are told they are."""
    try:
        vectors = np.load(model.folder / VECTORS, mmap_mode="r", allow_pickle=False)
        with (model.folder / WORDS).open(encoding="utf-8", newline="\n") as file:
            words = sum(1 for _ in file)
    except (OSError, ValueError) as wrong:
        raise Refusal(f"The files in {model.folder} cannot be read ({wrong}); {VECTORS} must be one array of NumPy's, {WORDS} "
                      "UTF-8.") from None
    if vectors.dtype != np.float32 or vectors.shape != (words, model.dimensions):
        raise Refusal(f"{VECTORS} in {model.folder} is of {vectors.dtype} and of shape {vectors.shape}; the {words:,} lines of "
                      f"{WORDS} and the {model.dimensions} dimensions of {model.name} want float32 and "
                      f"({words}, {model.dimensions}).")
