"""ELMo in NumPy against torch, on a small model with random weights in the files that its authors' library reads.

The real weights could not be had, so that no published vector is compared: the names in the file, the order of the gates and the
one that is added to the forget gate are as that library's code has them.
"""

from __future__ import annotations

import json
import math

import h5py
import numpy as np
import pytest
import torch

from harness.base.errors import TouchstoneError
from harness.models.local_files import check_elmo, get_local_model, register_local
from tests.support.corpora import Direct

pytestmark = pytest.mark.unit

NAME = "elmo-original"
OPTIONS = {"char_cnn": {"activation": "relu", "embedding": {"dim": 4}, "filters": [[1, 4], [2, 8], [3, 6]], "n_highway": 2,
                        "max_characters_per_token": 20},
           "lstm": {"dim": 12, "n_layers": 2, "projection_dim": 5, "cell_clip": 3, "proj_clip": 3}}
TEXTS = ["The ferry leaves at noon.", "Café, déjà vu: an unbelievablyoverlongword indeed", "noon"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("elmo"), np.random.default_rng(5)
    filters, lstm = OPTIONS["char_cnn"]["filters"], OPTIONS["lstm"]
    size, out, cells = sum(count for _, count in filters), lstm["projection_dim"], lstm["dim"]
    shapes = {"char_embed": (261, 4), "CNN_proj/W_proj": (size, out), "CNN_proj/b_proj": (out,)}
    for i, (width, count) in enumerate(filters):
        shapes |= {f"CNN/W_cnn_{i}": (1, width, 4, count), f"CNN/b_cnn_{i}": (count,)}
    for i in range(2):
        shapes |= {f"CNN_high_{i}/{part}": (size, size) if part[0] == "W" else (size,) for part in ("W_carry", "b_carry", "W_transform", "b_transform")}
        for way in range(2):
            at = f"RNN_{way}/RNN/MultiRNNCell/Cell{i}/LSTMCell/"
            shapes |= {f"{at}W_0": (2 * out, 4 * cells), f"{at}B": (4 * cells,), f"{at}W_P_0": (cells, out)}
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, shape in shapes.items():
            file[name] = rng.normal(0, 0.15 if name.startswith("RNN") else 0.5, shape).astype(np.float32)
    (folder / "options.json").write_text(json.dumps(OPTIONS))
    return folder


def by_torch(words: list[str], folder) -> np.ndarray:
    """Convolutions, highways and recurrent layers of torch's own, layers x (words + 2) x dimensions."""
    functional = torch.nn.functional
    with h5py.File(folder / "weights.hdf5", "r") as file:
        def w(name: str) -> torch.Tensor:
            return torch.tensor(np.asarray(file[name]))

        rows = [[258, kind, 259] + [260] * 17 for kind in (256, 257)]
        spelled = [[258, *word.encode()[:18], 259] for word in words]
        ids = torch.tensor([rows[0], *(one + [260] * (20 - len(one)) for one in spelled), rows[1]])
        characters = functional.embedding(ids, w("char_embed")).transpose(1, 2)
        heard = torch.cat([functional.relu(functional.conv1d(characters, w(f"CNN/W_cnn_{i}")[0].permute(2, 1, 0), w(f"CNN/b_cnn_{i}")).amax(dim=2))
                           for i in range(3)], dim=1)
        for i in range(2):
            gate = torch.sigmoid(functional.linear(heard, w(f"CNN_high_{i}/W_carry").T, w(f"CNN_high_{i}/b_carry")))
            heard = torch.lerp(heard, functional.relu(functional.linear(heard, w(f"CNN_high_{i}/W_transform").T, w(f"CNN_high_{i}/b_transform"))), gate)
        first = functional.linear(heard, w("CNN_proj/W_proj").T, w("CNN_proj/b_proj"))
        layers, ways = [torch.cat([first, first], dim=1)], [first, first.flip(0)]
        for i in range(2):
            for way in range(2):
                at = f"RNN_{way}/RNN/MultiRNNCell/Cell{i}/LSTMCell/"
                whole, bias = w(at + "W_0"), w(at + "B")
                order = torch.cat([torch.arange(12 * gate, 12 * gate + 12) for gate in (0, 2, 1, 3)])       # torch: input, forget, candidate, output
                bias[24:36] += 1
                lstm = torch.nn.LSTM(5, 12, proj_size=5)
                lstm.load_state_dict({"weight_ih_l0": whole[:5].T[order], "weight_hh_l0": whole[5:].T[order], "bias_ih_l0": bias[order],
                                      "bias_hh_l0": torch.zeros(48), "weight_hr_l0": w(at + "W_P_0").T})
                with torch.inference_mode():
                    out, (_, cell) = lstm(ways[way][:, None])
                assert cell.abs().max() < 3         # torch does not clip
                ways[way] = out[:, 0] + ways[way] if i else out[:, 0]
            layers.append(torch.cat([ways[0], ways[1].flip(0)], dim=1))
        return torch.stack(layers).numpy()


def test_every_layer_is_torchs(folder):
    module = Direct("elmo_l2", {NAME: str(folder)}).module
    for text in TEXTS:
        words = module.WORD.findall(text)
        np.testing.assert_allclose(module.in_context(words), by_torch(words, folder), rtol=0, atol=2e-6)     # float32


def test_the_distance_is_euclids_of_the_means(folder):
    metric = Direct("elmo_l2", {NAME: str(folder)})
    means = [by_torch(metric.module.WORD.findall(text), folder)[:, 1:-1].mean(axis=(0, 1)) for text in TEXTS]
    found = metric.answer([*TEXTS, TEXTS[0], ""], [*TEXTS[1:], TEXTS[0], TEXTS[0], ""])
    expected = [math.dist(means[0], means[1]), math.dist(means[1], means[2]), math.dist(means[2], means[0]), 0, 0]
    assert found == pytest.approx(expected, abs=1e-5)
    assert min(expected[:3]) > 0.01


def test_what_is_clipped_stays_within(folder):
    module = Direct("elmo_l2", {NAME: str(folder)}).module
    free = module.in_context(["noon"])
    module.elmo = module.elmo._replace(cell_clip=0.05, projection_clip=0.02)
    clipped = module.in_context(["noon"])
    assert np.abs(free[1]).max() > 0.02
    assert np.abs(clipped[1]).max() <= 0.02 + 1e-7


def test_files_that_are_no_elmo_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    here = get_local_model(NAME).folder
    here.mkdir(parents=True)
    (here / "weights.hdf5").write_bytes((folder / "weights.hdf5").read_bytes())
    for options, said in (("{}", "must contain the options of ELMo"), (json.dumps(OPTIONS), "projection_dim in options.json must be 512")):
        (here / "options.json").write_text(options)
        with pytest.raises(TouchstoneError, match=said):
            register_local(NAME)
    (here / "options.json").write_text('{"lstm": {"projection_dim": 512}}')
    assert register_local(NAME).fingerprint
    (here / "weights.hdf5").write_bytes(b"no HDF5")
    with pytest.raises(TouchstoneError, match="must be an HDF5 file"):
        check_elmo(get_local_model(NAME))
