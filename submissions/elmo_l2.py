# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "h5py>=3.11"]
# [tool.touchstone]
# name = "elmo_l2"
# title = "Euclidean distance of mean ELMo vectors"
# summary = "Euclidean distance of the means, over words and layers, of the two texts' ELMo vectors."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, inf]
# lift = false
# on_request = true
# symmetric = true
# models = ["elmo-original"]
# trained_on = ["1 Billion Word Benchmark"]
# paper = "https://arxiv.org/abs/1802.05365"
# authors = ["Peters", "Neumann", "Iyyer", "Gardner", "Clark", "Lee", "Zettlemoyer"]
# year = 2018
# license = "Apache-2.0"
# ///
"""The two-layer language model of Peters et al. 2018, computed in NumPy, each text by itself and from an empty state.

Its weights must be brought: put into the cache by hand, named as their authors' library reads them.  Where this was written they
could not be had: the computation is tested on small random weights against torch, and whether the means of Yamshchikov et al.
2020 come out is not known; the paper does not say either how it makes one vector of a text.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

KEPT = 50_000                               # texts and words whose vectors are at hand
WORD = re.compile(r"\w+|[^\w\s]")
# What stands for characters beside the 256 bytes; the table of vectors begins with byte 0.
TEXT_BEGINS, TEXT_ENDS, WORD_BEGINS, WORD_ENDS, PADDING = range(256, 261)


class Direction(NamedTuple):
    """One layer of the language model, read one way."""

    inputs: np.ndarray                      # (in, 4 cells): input gate, candidate, forget gate, output gate
    states: np.ndarray                      # (out, 4 cells)
    bias: np.ndarray
    projection: np.ndarray                  # (cells, out)


class Highway(NamedTuple):
    """A layer that changes as much of a word's vector as it says itself."""

    carry: np.ndarray
    carry_bias: np.ndarray
    transform: np.ndarray
    transform_bias: np.ndarray


class Elmo(NamedTuple):
    """Its weights."""

    characters: np.ndarray
    filters: list[tuple[np.ndarray, np.ndarray]]        # (width, characters' dimensions, how many), bias
    relu: bool
    highways: list[Highway]
    words: tuple[np.ndarray, np.ndarray]
    layers: list[tuple[Direction, Direction]]
    longest: int                            # characters of a word, its marks included
    cell_clip: float
    projection_clip: float


elmo: Elmo


def setup(models: dict[str, str]) -> None:
    global elmo
    folder = Path(models["elmo-original"])
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    with h5py.File(folder / "weights.hdf5", "r") as file:
        elmo = read(options["char_cnn"], options["lstm"], file)
    of_word.cache_clear()
    vector.cache_clear()


def read(characters: dict[str, Any], lstm: dict[str, Any], file: h5py.File) -> Elmo:
    def array(*path: str) -> np.ndarray:
        return np.asarray(file["/".join(path)], dtype=np.float32)

    def direction(way: int, layer: int) -> Direction:
        at = (f"RNN_{way}", "RNN", "MultiRNNCell", f"Cell{layer}", "LSTMCell")
        both, bias = array(*at, "W_0"), array(*at, "B")
        states = lstm["projection_dim"]
        bias[2 * lstm["dim"]:3 * lstm["dim"]] += 1      # its library adds this to the forget gate
        return Direction(both[:-states], both[-states:], bias, array(*at, "W_P_0"))

    return Elmo(
        characters=array("char_embed"),
        filters=[(array("CNN", f"W_cnn_{i}")[0], array("CNN", f"b_cnn_{i}")) for i in range(len(characters["filters"]))],
        relu=characters["activation"] == "relu",
        highways=[Highway(*(array(f"CNN_high_{i}", part) for part in ("W_carry", "b_carry", "W_transform", "b_transform")))
                  for i in range(characters["n_highway"])],
        words=(array("CNN_proj", "W_proj"), array("CNN_proj", "b_proj")),
        layers=[(direction(0, layer), direction(1, layer)) for layer in range(lstm["n_layers"])],
        longest=characters["max_characters_per_token"], cell_clip=lstm["cell_clip"], projection_clip=lstm["proj_clip"])


def distance(a: list[str], b: list[str]) -> np.ndarray:
    return np.array([np.linalg.norm(vector(x) - vector(y)) for x, y in zip(a, b, strict=True)])


@lru_cache(KEPT)
def vector(text: str) -> np.ndarray:
    """The mean over a text's words and the model's layers; of a text without words, zeros."""
    words = WORD.findall(text)
    return in_context(words)[:, 1:-1].mean(axis=(0, 1)) if words else np.zeros(2 * elmo.words[1].size)


def in_context(words: list[str]) -> np.ndarray:
    """Every layer's vector of every word and of the two ends: layers x (words + 2) x dimensions."""
    ends = [of_word((kind,)) for kind in (TEXT_BEGINS, TEXT_ENDS)]
    first = np.array([ends[0], *(of_word(tuple(word.encode()[:elmo.longest - 2])) for word in words), ends[1]])
    found, ways = [np.concatenate([first, first], axis=1)], [first, first[::-1]]
    for number, layer in enumerate(elmo.layers):
        read_so = [run(one, way) for one, way in zip(layer, ways, strict=True)]
        ways = [new + old if number else new for new, old in zip(read_so, ways, strict=True)]
        found.append(np.concatenate([ways[0], ways[1][::-1]], axis=1))
    return np.array(found)


@lru_cache(KEPT)
def of_word(characters: tuple[int, ...]) -> np.ndarray:
    """A word's vector out of context: filters over its characters, highways, a projection."""
    spelled = [WORD_BEGINS, *characters, WORD_ENDS]
    here = elmo.characters[spelled + [PADDING] * (elmo.longest - len(spelled))]
    parts = []
    for weight, bias in elmo.filters:
        windows = np.lib.stride_tricks.sliding_window_view(here, len(weight), axis=0)       # places x dimensions x width
        heard = np.einsum("pdw,wdn->pn", windows, weight).max(axis=0) + bias
        parts.append(np.maximum(heard, 0) if elmo.relu else np.tanh(heard))
    word = np.concatenate(parts)
    for highway in elmo.highways:
        share = sigmoid(word @ highway.carry + highway.carry_bias)
        word = share * np.maximum(word @ highway.transform + highway.transform_bias, 0) + (1 - share) * word
    weight, bias = elmo.words
    return word @ weight + bias


def run(layer: Direction, inputs: np.ndarray) -> np.ndarray:
    """What a layer makes of each word after those before it."""
    driven = inputs @ layer.inputs + layer.bias
    state, cell = np.zeros(layer.projection.shape[1], np.float32), np.zeros(layer.projection.shape[0], np.float32)
    found = []
    for gates in driven:
        entry, candidate, forget, out = np.split(gates + state @ layer.states, 4)
        cell = np.clip(sigmoid(entry) * np.tanh(candidate) + sigmoid(forget) * cell, -elmo.cell_clip, elmo.cell_clip)
        state = np.clip((sigmoid(out) * np.tanh(cell)) @ layer.projection, -elmo.projection_clip, elmo.projection_clip)
        found.append(state)
    return np.array(found)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))
