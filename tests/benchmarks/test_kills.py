"""Fifty kills at random moments."""

from __future__ import annotations

import random

import pytest

from harness.results.store import Store
from tests.support.runs import SLOW, killed_and_resumed, start, stored

pytestmark = pytest.mark.benchmark


def test_fifty_kills_lose_and_double_nothing(write, tmp_path, smoke, inputs, report):
    write("slow", SLOW, kind="text", returns="similarity", range="[0.0, 1.0]")
    words = [str(tmp_path / "slow.py"), "jaccard", "length_difference", "levenshtein", "energy"]
    calm, rough = tmp_path / "calm.sqlite", tmp_path / "rough.sqlite"
    start(calm, *words).communicate()
    planned = stored(calm)
    assert planned == 5 * 5
    pending = killed_and_resumed(rough, words, planned, 50, random.Random(2))
    assert pending == 50
    assert Store(rough, read_only=True).raw() == Store(calm, read_only=True).raw()
    report(f"{pending} kills while units were pending: the final observations are those of an undisturbed run, to the bit")
