"""Which files are near variants of each other."""

from __future__ import annotations

import pytest

from harness.base.paths import SUBMISSIONS
from leaderboard.service.epochs.families import SIMILAR, find_family, shingles, similarity

pytestmark = pytest.mark.unit
ENERGY = (SUBMISSIONS / "energy.py").read_bytes()


def test_a_changed_number_a_renamed_variable_and_comments_make_a_variant():
    variant = ENERGY.replace(b"import numpy as np", b"# another one\nimport numpy as np\nWEIGHT = 3", 1).replace(b"p", b"pp")
    assert similarity(shingles(ENERGY), shingles(ENERGY.replace(b"2", b"7"))) > 0.9
    assert find_family("mine", variant.replace(b"impport", b"import").replace(b"numppy", b"numpy"), [("first", "energy", ENERGY)]) == "first"


def test_different_metrics_are_not_variants():
    """Some files here share an implementation, such as ROUGE with other n; those by other ideas do not."""
    files = {name: shingles((SUBMISSIONS / f"{name}.py").read_bytes()) for name in ("energy", "jaccard", "levenshtein", "zipf", "chi", "bleu", "pr")}
    assert max(similarity(files[a], files[b]) for a in files for b in files if a < b) < 0.8 * SIMILAR
    assert similarity(*(shingles((SUBMISSIONS / f"{name}.py").read_bytes()) for name in ("rouge1", "rouge2"))) > SIMILAR


def test_a_version_under_the_same_name_belongs_to_the_family():
    other = (SUBMISSIONS / "jaccard.py").read_bytes()
    assert find_family("mine", ENERGY, [("first", "theirs", other), ("second", "mine", other)]) == "second"
    assert find_family("mine", ENERGY, [("first", "theirs", other)]) is None
    assert find_family("mine", b"'", [("first", "theirs", b"'")]) is None
