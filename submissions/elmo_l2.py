# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "h5py>=3.11"]
# [tool.touchstone]
# name = "elmo_l2"
# title = "Euclidean distance of mean ELMo vectors"
# summary = "Euclidean distance of the two texts' mean ELMo vectors, averaged over words and layers."
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
"""The two-layer language model of Peters et al. 2018, evaluated in NumPy, for each text separately and from a zero state.

The weights must be placed into the cache by hand, under the file names of the authors' library. They were not available during
development: the implementation is tested against torch with small random weights, and the means of Yamshchikov et al. 2020 were
not reproduced. Their paper does not state how the vector of a text is computed.
"""

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

CACHE_SIZE = 50_000                         # texts and words whose vectors are cached
WORD = re.compile(r"\w+|[^\w\s]")
# Special characters after the 256 bytes; row 0 of the table of embeddings is byte 0.
TEXT_BEGINS, TEXT_ENDS, WORD_BEGINS, WORD_ENDS, PADDING = range(256, 261)


class Direction(NamedTuple):
    """One direction of a layer of the language model."""

    inputs: np.ndarray                      # (in, 4 cells): input gate, candidate, forget gate, output gate
    states: np.ndarray                      # (out, 4 cells)
    bias: np.ndarray
    projection: np.ndarray                  # (cells, out)


class Highway(NamedTuple):
    """A highway layer: a gated sum of the input and its transformation."""

    carry: np.ndarray
    carry_bias: np.ndarray
    transform: np.ndarray
    transform_bias: np.ndarray


class Elmo(NamedTuple):
    """The weights and hyperparameters of the model."""

    characters: np.ndarray
    filters: list[tuple[np.ndarray, np.ndarray]]        # (width, character dimensions, filters), bias
    relu: bool
    highways: list[Highway]
    words: tuple[np.ndarray, np.ndarray]
    layers: list[tuple[Direction, Direction]]
    longest: int                            # characters per word, boundary markers included
    cell_clip: float
    projection_clip: float


elmo: Elmo


def setup(models: dict[str, str]) -> None:
    global elmo
    folder = Path(models["elmo-original"])
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    with h5py.File(folder / "weights.hdf5", "r") as file:
        elmo = read_weights(options["char_cnn"], options["lstm"], file)
    word_vector.cache_clear()
    vector.cache_clear()


def read_weights(characters: dict[str, Any], lstm: dict[str, Any], file: h5py.File) -> Elmo:
    def array(*path: str) -> np.ndarray:
        return np.asarray(file["/".join(path)], dtype=np.float32)

    def read_direction(number: int, layer: int) -> Direction:
        path = (f"RNN_{number}", "RNN", "MultiRNNCell", f"Cell{layer}", "LSTMCell")
        kernel, bias = array(*path, "W_0"), array(*path, "B")
        states = lstm["projection_dim"]
        bias[2 * lstm["dim"]:3 * lstm["dim"]] += 1      # the authors' library adds this to the forget gate
        return Direction(kernel[:-states], kernel[-states:], bias, array(*path, "W_P_0"))

    return Elmo(
        characters=array("char_embed"),
        filters=[(array("CNN", f"W_cnn_{i}")[0], array("CNN", f"b_cnn_{i}")) for i in range(len(characters["filters"]))],
        relu=characters["activation"] == "relu",
        highways=[Highway(*(array(f"CNN_high_{i}", part) for part in ("W_carry", "b_carry", "W_transform", "b_transform")))
                  for i in range(characters["n_highway"])],
        words=(array("CNN_proj", "W_proj"), array("CNN_proj", "b_proj")),
        layers=[(read_direction(0, layer), read_direction(1, layer)) for layer in range(lstm["n_layers"])],
        longest=characters["max_characters_per_token"], cell_clip=lstm["cell_clip"], projection_clip=lstm["proj_clip"])


def distance(a: list[str], b: list[str]) -> np.ndarray:
    return np.array([np.linalg.norm(vector(x) - vector(y)) for x, y in zip(a, b, strict=True)])


@lru_cache(CACHE_SIZE)
def vector(text: str) -> np.ndarray:
    """Return the mean over a text's words and the model's layers; zeros for a text without words."""
    words = WORD.findall(text)
    return in_context(words)[:, 1:-1].mean(axis=(0, 1)) if words else np.zeros(2 * elmo.words[1].size)


def in_context(words: list[str]) -> np.ndarray:
    """Return the vectors of all words and both sentence boundaries: layers x (words + 2) x dimensions."""
    boundaries = [word_vector((marker,)) for marker in (TEXT_BEGINS, TEXT_ENDS)]
    first = np.array([boundaries[0], *(word_vector(tuple(word.encode()[:elmo.longest - 2])) for word in words), boundaries[1]])
    layers, states = [np.concatenate([first, first], axis=1)], [first, first[::-1]]
    for number, layer in enumerate(elmo.layers):
        outputs = [run(direction, inputs) for direction, inputs in zip(layer, states, strict=True)]
        states = [new + old if number else new for new, old in zip(outputs, states, strict=True)]
        layers.append(np.concatenate([states[0], states[1][::-1]], axis=1))
    return np.array(layers)


@lru_cache(CACHE_SIZE)
def word_vector(characters: tuple[int, ...]) -> np.ndarray:
    """Return a word's context-free vector: character convolutions, highway layers and a projection."""
    padded = [WORD_BEGINS, *characters, WORD_ENDS]
    embedded = elmo.characters[padded + [PADDING] * (elmo.longest - len(padded))]
    features = []
    for weight, bias in elmo.filters:
        windows = np.lib.stride_tricks.sliding_window_view(embedded, len(weight), axis=0)       # positions x dimensions x width
        activations = np.einsum("pdw,wdn->pn", windows, weight).max(axis=0) + bias
        features.append(np.maximum(activations, 0) if elmo.relu else np.tanh(activations))
    word = np.concatenate(features)
    for highway in elmo.highways:
        gate = sigmoid(word @ highway.carry + highway.carry_bias)
        word = gate * np.maximum(word @ highway.transform + highway.transform_bias, 0) + (1 - gate) * word
    weight, bias = elmo.words
    return word @ weight + bias


def run(layer: Direction, inputs: np.ndarray) -> np.ndarray:
    """Return the outputs of one direction of a layer for a sequence of inputs."""
    projected = inputs @ layer.inputs + layer.bias
    state, cell = np.zeros(layer.projection.shape[1], np.float32), np.zeros(layer.projection.shape[0], np.float32)
    outputs = []
    for gates in projected:
        input_gate, candidate, forget_gate, output_gate = np.split(gates + state @ layer.states, 4)
        cell = np.clip(sigmoid(input_gate) * np.tanh(candidate) + sigmoid(forget_gate) * cell, -elmo.cell_clip, elmo.cell_clip)
        state = np.clip((sigmoid(output_gate) * np.tanh(cell)) @ layer.projection, -elmo.projection_clip, elmo.projection_clip)
        outputs.append(state)
    return np.array(outputs)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))
