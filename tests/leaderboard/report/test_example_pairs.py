"""Example pairs: which of them are shown for two metrics."""

from __future__ import annotations

from leaderboard.report.example_pairs import closer_pairs
from leaderboard.report.schema import ExamplePairs


def test_example_pairs_are_those_that_one_metric_places_closer_to_people():
    """By hand: of the first pair a is off by .1 and b by .5; of the second a by .3, b by 0; of the third both by .2."""
    pairs = ExamplePairs(texts=[("p", "q"), ("r", "s"), ("t", "u")], people=[0.5, 0.2, 0.9],
                         metrics={"a": [0.6, 0.5, 0.7], "b": [0.0, 0.2, 0.7]})
    assert closer_pairs(pairs, "a", "b", 3) == [(("p", "q"), 0.5, 0.6, 0.0)]
    assert closer_pairs(pairs, "b", "a", 3) == [(("r", "s"), 0.2, 0.2, 0.5)]
