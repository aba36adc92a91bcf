"""Models that the user downloads and places in a folder of the cache.

Word vectors have a simple format: `words.txt` holds one word per line, `vectors.npy` one row per word in the same order. ELMo
uses the files of its authors. `touchstone models fetch NAME` records the fingerprint of the files; none is pinned, so these
models are unverified.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.base.errors import ModelNotFetched, TouchstoneError
from harness.base.files import read_entries, write_entry
from harness.base.paths import cache_folder
from harness.models.base import Model, fingerprint_files
from harness.models.encoders import Encoder

WORDS, VECTORS = "words.txt", "vectors.npy"
OPTIONS, WEIGHTS = "options.json", "weights.hdf5"
HDF5 = b"\x89HDF\r\n\x1a\n"                # the first bytes of every HDF5 file


@dataclass(frozen=True)
class LocalModel(Model):
    """A model from the user's files; the fingerprint is empty until the files are registered."""

    files: tuple[str, ...]
    instruction: str                    # the files and where to get them

    @property
    def origin(self) -> str:
        return "placed by hand"

    @property
    def folder(self) -> Path:
        return cache_folder() / "models" / self.name

    def path(self) -> Path:
        if not self.fingerprint or not self.brought:
            raise ModelNotFetched(self.name, f'The model "{self.name}" is not available locally or on the package index: place '
                                  f"{self.instruction} into {self.folder}, then `touchstone models fetch {self.name}` registers "
                                  "them.")
        return self.folder

    @property
    def brought(self) -> bool:
        return all((self.folder / file).is_file() for file in self.files)

    def verify(self) -> None:
        fingerprint = fingerprint_files(self.path(), self.files)
        if fingerprint != self.fingerprint:
            raise TouchstoneError(f'The files of the model "{self.name}" in {self.folder} differ from the registered ones '
                                  f"(fingerprint {fingerprint[:12]}; registered {self.fingerprint[:12]}); restore them, or "
                                  f"`touchstone models fetch --again {self.name}` registers the new files.")

    def encoder(self) -> Encoder:
        raise TouchstoneError(f'The model "{self.name}" does not embed texts, so a suite cannot use it; name another model.')


def check_words(model: LocalModel) -> None:
    """Raise if word vectors are not in the documented format."""
    try:
        vectors = np.load(model.folder / VECTORS, mmap_mode="r", allow_pickle=False)
        with (model.folder / WORDS).open(encoding="utf-8", newline="\n") as file:
            words = sum(1 for _ in file)
    except (OSError, ValueError) as error:
        raise TouchstoneError(f"The files in {model.folder} cannot be read ({error}); {VECTORS} must contain one NumPy array, "
                              f"and {WORDS} must be encoded as UTF-8.") from None
    if vectors.dtype != np.float32 or vectors.shape != (words, model.dimensions):
        raise TouchstoneError(f"{VECTORS} in {model.folder} has dtype {vectors.dtype} and shape {vectors.shape}; required are "
                              f"float32 and ({words}, {model.dimensions}): one row for each of the {words:,} lines of {WORDS}, "
                              f"and the {model.dimensions} dimensions of {model.name}.")


def check_elmo(model: LocalModel) -> None:
    """Raise if the files are not ELMo's options and weights, as far as this is visible without HDF5."""
    try:
        projection = json.loads((model.folder / OPTIONS).read_text(encoding="utf-8"))["lstm"]["projection_dim"]
        with (model.folder / WEIGHTS).open("rb") as file:
            begins = file.read(len(HDF5))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TouchstoneError(f"The files in {model.folder} cannot be read ({error!r}); {OPTIONS} must contain the "
                              "options of ELMo.") from None
    if begins != HDF5 or 2 * projection != model.dimensions:
        raise TouchstoneError(f"{WEIGHTS} in {model.folder} must be an HDF5 file, and lstm.projection_dim in {OPTIONS} must be "
                              f"{model.dimensions // 2}.")


class LocalModelCard(NamedTuple):
    """A model that papers use and that the user has to provide."""

    title: str
    dimensions: int
    licence: str
    files: tuple[str, ...]
    instruction: str
    check: Callable[[LocalModel], None]


def word_vectors(title: str, dimensions: int, licence: str, gensim: str) -> LocalModelCard:
    """Return the card of word vectors, named as in gensim."""
    return LocalModelCard(title, dimensions, licence, (WORDS, VECTORS),
                          f"{WORDS} (one word per line) and {VECTORS} (float32, one row per word; in gensim `index_to_key` and "
                          "`vectors` of "
                          f'`gensim.downloader.load("{gensim}")`)', check_words)


BROUGHT = {
    "word2vec-google-news-300": word_vectors("word2vec, Google News, 3,000,000 words", 300, "not stated",
                                             "word2vec-google-news-300"),
    "fasttext-wiki-news-subwords-300": word_vectors("fastText, Wikipedia and news, 999,999 words", 300, "CC-BY-SA-3.0",
                                                    "fasttext-wiki-news-subwords-300"),
    "elmo-original": LocalModelCard("ELMo, 93.6 million parameters", 1024, "not stated", (OPTIONS, WEIGHTS),
                                    f"its authors' options as {OPTIONS} and weights as {WEIGHTS} "
                                    "(elmo_2x4096_512_2048cnn_2xhighway)",
                                    check_elmo),
}


def lock_path() -> Path:
    """Return the path of the lock file of local models."""
    return cache_folder() / "brought.lock"


def get_local_model(name: str) -> LocalModel:
    """Return a model by name, whether its files are present or not."""
    card = BROUGHT[name]
    fingerprint = read_entries(lock_path()).get(name)
    return LocalModel(
        name,
        card.title,
        card.dimensions,
        fingerprint if isinstance(fingerprint, str) else "",
        card.licence,
        card.files,
        card.instruction,
    )


def find_local(name: str) -> LocalModel:
    """Return a model by name, or raise if its files are missing."""
    model = get_local_model(name)
    model.path()
    return model


def register_local(name: str, *, again: bool = False) -> LocalModel:
    """Check the files in a model's folder and record their fingerprint."""
    model = get_local_model(name)
    if not model.brought or (model.fingerprint and not again):
        model.verify()
        return model
    BROUGHT[name].check(model)
    write_entry(lock_path(), name, fingerprint_files(model.folder, model.files))
    return get_local_model(name)
