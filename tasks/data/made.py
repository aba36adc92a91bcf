"""Texts made from a seed: what `smoke` and the axioms are asked on, so that they need no download.

Each domain is a handful of sentence frames and word lists; sentences are drawn without repetition.  The words are ours.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

FRAMES = {
    "weather": (
        "{sky} over the {place} this {time}, with {wind} from the {side}",
        "expect {sky} and {wind} near the {place} until the {time}",
        "the {place} wakes to {sky}; by {time} there is {wind}",
        "will there be {sky} at the {place} before {time}?",
        "{wind} and {sky} kept everybody away from the {place} all {time}",
    ),
    "kitchen": (
        "stir the {food} with {herb} in a {pan} until it smells of the {place}",
        "we had {food} and {herb} from a {pan} this {time}, {taste} as ever",
        "how long does {food} with {herb} stay {taste} in a {pan}?",
        "a {pan} of {food}, some {herb}, and dinner is {taste} before {time}",
        "never put {herb} on {food} that is {taste} by {time}",
    ),
    "trains": (
        "the {kind} train to {town} leaves platform {number} this {time}",
        "is the {kind} service from {town} delayed until {time}?",
        "a ticket for the {kind} train to {town} costs {number} crowns",
        "passengers for {town} change to the {kind} line at {time}, platform {number}",
        "the {kind} train from {town} was {number} minutes late this {time}",
    ),
}
WORDS = {
    "sky": ("low cloud", "thin mist", "bright sun", "steady rain", "heavy snow", "broken cloud", "a clear sky", "drizzle",
            "hail", "distant thunder"),
    "place": ("harbour", "valley", "northern hills", "old market", "lighthouse", "river mouth", "marsh", "high pass",
              "eastern shore", "castle road"),
    "time": ("morning", "afternoon", "evening", "midnight", "weekend", "noon"),
    "wind": ("a light breeze", "gusts", "a cold wind", "hardly any wind", "gales", "a warm draught"),
    "side": ("north", "south", "east", "west", "sea", "mountains"),
    "food": ("lentils", "barley", "pumpkin", "trout", "noodles", "beetroot", "chicken", "mushrooms", "rice", "plums"),
    "herb": ("dill", "thyme", "parsley", "garlic", "mint", "saffron", "black pepper", "bay leaves"),
    "pan": ("copper pan", "clay pot", "wide skillet", "steamer", "deep kettle", "small oven"),
    "taste": ("sweet", "salty", "bitter", "sour", "smoky", "bland", "crisp", "tender"),
    "kind": ("slow", "night", "express", "regional", "freight", "early", "crowded", "last"),
    "town": ("Altmoor", "Brisk", "Calder Bay", "Dunmere", "Eastwick", "Fallow", "Grinde", "Holm", "Ister", "Juniper Halt"),
    "number": ("two", "three", "four", "six", "seven", "nine", "eleven", "twelve"),
}
ROWS = 600


def make(domain: str, rows: int = ROWS) -> pd.DataFrame:
    """A corpus of `rows` different sentences of a domain, always the same."""
    rng = np.random.default_rng([sum(map(ord, domain)), rows])
    sentences: dict[str, None] = {}
    while len(sentences) < rows:
        frame = FRAMES[domain][rng.integers(len(FRAMES[domain]))]
        sentences[frame.format(**{slot: words[rng.integers(len(words))] for slot, words in WORDS.items()})] = None
    return pd.DataFrame({"text": list(sentences)})


def make_pairs(rows: int = ROWS) -> pd.DataFrame:
    """Pairs of sentences that say nearly the same: two frames of one domain, filled with the same words."""
    rng = np.random.default_rng([sum(map(ord, "paraphrases")), rows])
    domains = list(FRAMES)
    pairs: dict[tuple[str, str], None] = {}
    while len(pairs) < rows:
        frames = FRAMES[domains[rng.integers(len(domains))]]
        words = {slot: choices[rng.integers(len(choices))] for slot, choices in WORDS.items()}
        first, second = rng.permutation(len(frames))[:2].tolist()
        pairs[frames[first].format(**words), frames[second].format(**words)] = None
    return pd.DataFrame(list(pairs), columns=["text_a", "text_b"])
