"""The signature that travels with every number, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import TouchstoneError
from leaderboard.scoring.signature import Signature, parse_signature

pytestmark = pytest.mark.unit

names = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,20}", fullmatch=True)
entries = st.one_of(names, st.builds("{}[{}]".format, names, st.from_regex(r"[a-z0-9][a-z0-9_.=-]{0,9}", fullmatch=True)))


def hexadecimal(digits: int) -> st.SearchStrategy[str]:
    return st.text("0123456789abcdef", min_size=digits, max_size=digits)


def test_the_form_is_the_one_in_the_readme():
    signature = Signature("energy", "d4e5ffff", "core", "1a2b3cff", "ks", 2, "0.1.0", model="minilm", model_fingerprint="9fff")
    assert str(signature) == "energy@d4e5|core@1a2b3c|ks.m2|emb:minilm@9f|ts:0.1.0"


@given(entries, hexadecimal(4), names, hexadecimal(6), st.sampled_from(["ks", "ax", "all"]), st.none() | st.integers(1, 99),
       st.booleans(), st.none() | names, hexadecimal(2))
def test_what_is_written_is_read_back(entry, digest, suite, fingerprint, task, measure, lifted, model, model_fingerprint):
    signature = Signature(entry, digest, suite, fingerprint, task, measure, "0.1.0", lifted, model,
                          model_fingerprint if model is not None else None)
    assert parse_signature(str(signature)) == signature


@pytest.mark.parametrize("text", ["", "energy", "energy@d4e5|core@1a2b3c", "e|x@d4e5|core@1a2b3c|ks.m2|ts:0.1.0",
                                  "energy@d4e5|core@1a2b3c|ks.m2|ts:0.1.0\n", "energy@zzzz|core@1a2b3c|ks.m2|ts:0.1.0"])
def test_what_is_no_signature_is_refused(text):
    with pytest.raises(TouchstoneError, match="is not a signature"):
        parse_signature(text)
