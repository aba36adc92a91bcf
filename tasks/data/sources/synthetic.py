"""Texts generated from a seed for the smoke suite and the axioms, which need no download.

Each domain has a few sentence frames and word lists; sentences are drawn without repetition.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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


def make_corpus(domain: str, rows: int = ROWS) -> pd.DataFrame:
    """Return a corpus of `rows` different sentences of a domain; always the same."""
    import pandas as pd

    rng = np.random.default_rng([sum(map(ord, domain)), rows])
    sentences: dict[str, None] = {}
    while len(sentences) < rows:
        frame = FRAMES[domain][rng.integers(len(FRAMES[domain]))]
        sentences[frame.format(**{slot: words[rng.integers(len(words))] for slot, words in WORDS.items()})] = None
    return pd.DataFrame({"text": list(sentences)})


# ---- documents, summaries, choices, questions -----------------------------------------------------------------------------

SENTENCES = 6                               # per document
DOCUMENTS = 24


@lru_cache(maxsize=8)
def make_sentences(domain: str) -> tuple[str, ...]:
    """Return the sentences of a domain with capitals and full stops."""
    return tuple(text[:1].upper() + text[1:] + ("" if text.endswith("?") else ".") for text in make_corpus(domain).text)


def make_documents(domain: str) -> list[list[str]]:
    """Return documents as lists of sentences; no sentence is in two of them."""
    texts = make_sentences(domain)
    return [list(texts[SENTENCES * number:SENTENCES * (number + 1)]) for number in range(DOCUMENTS)]


def make_reports() -> pd.DataFrame:
    """Return documents of all domains, each with two of its sentences, shortened, as its summary."""
    import pandas as pd

    rows = [{"document": " ".join(document), "summary": shorten_document(document)}
            for documents in zip(*(make_documents(domain) for domain in FRAMES), strict=True) for document in documents]
    return pd.DataFrame(rows)


def shorten_document(document: list[str]) -> str:
    """Return two sentences of a document without their last words."""
    return " ".join(sentence.rstrip("?.").rsplit(" ", 2)[0] + "." for sentence in (document[1], document[3]))


def make_ratings() -> pd.DataFrame:
    """Return three summaries of each document of three sentences, rated by the number that are from the document."""
    import pandas as pd

    documents, rows = make_documents("weather"), []
    for number, document in enumerate(documents):
        other = documents[number - 1]
        for own in range(1, 4):
            summary = " ".join([*document[:own], *other[own:3]])
            rows.append({"document": " ".join(document), "summary": summary, "overall": float(own), "accuracy": float(own),
                         "coverage": float(own), "coherence": 2.0 + own % 2})
    return pd.DataFrame(rows)


def make_choices() -> pd.DataFrame:
    """Return two summaries of each document, one of them with a sentence of another document, and which one is better."""
    import pandas as pd

    documents, rows = make_documents("kitchen"), []
    for number, document in enumerate(documents):
        good, bad = " ".join(document[2:4]), " ".join([document[5], documents[number - 1][0]])
        chosen = number % 2
        rows.append({"document": " ".join(document), "summary_a": bad if chosen else good, "summary_b": good if chosen else bad,
                     "choice": chosen})
    return pd.DataFrame(rows)


def make_questions() -> dict[str, pd.DataFrame]:
    """Return short documents of two domains, and queries with half of the words of some of them."""
    import pandas as pd

    texts = [" ".join(document[:2]) for domain in ("trains", "weather") for document in make_documents(domain)]
    queries = [" ".join(text.split()[::2]) for text in texts[::3]]
    return {"corpus": pd.DataFrame({"doc_id": [f"d{number}" for number in range(len(texts))], "title": "", "text": texts}),
            "queries": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(queries))], "text": queries}),
            "qrels": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(queries))],
                                   "doc_id": [f"d{3 * number}" for number in range(len(queries))], "relevance": 1})}


def make_pairs(rows: int = ROWS) -> pd.DataFrame:
    """Return pairs of sentences with nearly the same meaning: two frames of one domain, filled with the same words."""
    import pandas as pd

    rng = np.random.default_rng([sum(map(ord, "paraphrases")), rows])
    domains = list(FRAMES)
    pairs: dict[tuple[str, str], None] = {}
    while len(pairs) < rows:
        frames = FRAMES[domains[rng.integers(len(domains))]]
        words = {slot: choices[rng.integers(len(choices))] for slot, choices in WORDS.items()}
        first, second = rng.permutation(len(frames))[:2].tolist()
        pairs[frames[first].format(**words), frames[second].format(**words)] = None
    return pd.DataFrame(list(pairs), columns=["text_a", "text_b"])


LIKENESS = {"weather": "kitchen", "trains": "weather"}     # the domain of random pairs for each domain


def make_rated_pairs() -> pd.DataFrame:
    """Return sentences paired with copies in which words are exchanged, rated by three raters, and random pairs."""
    import pandas as pd

    rng = np.random.default_rng(sum(map(ord, "likeness")))
    rows = []
    for group, elsewhere in LIKENESS.items():
        own, others = make_corpus(group).text.tolist(), make_corpus(elsewhere).text.tolist()
        for number in range(30):
            words, strange = own[number].split(), others[number].split()
            changed = number % 6
            for index in rng.permutation(len(words))[:changed].tolist():
                words[index] = strange[index % len(strange)]
            for random, text, best in ((False, " ".join(words), 5 - 0.8 * changed), (True, others[number + 40], 1.2)):
                ratings = np.clip(best + rng.normal(0, 0.4, 3), 1, 5).round().tolist()
                rows.append({"text_a": own[number], "text_b": text, "score": float(np.mean(ratings)), "group": group,
                             "random": random, "ratings": ratings})
    return pd.DataFrame(rows)
