"""Grammar errors of texts, by a few rules of English that need no dictionary, or by a LanguageTool server.

The rules find less than LanguageTool and no errors of word order.  Their counts are comparable between corpora, but not with
published numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.corpus_profile.progress import track_texts

Checker = Callable[[str], int]              # the number of errors in a text

THIRD_PERSON = "he|she|it|this|that"
RULES: dict[str, re.Pattern[str]] = {name: re.compile(pattern, flags) for name, pattern, flags in (
    ("a word twice", r"\b(?!(?:that|had|is|no|so|very|really|bye|ha|many|long)\b)([a-z]+)\s+\1\b", re.I),
    ("a before a vowel", r"\ba\s+(?!(?:u[bcfhjkmnqrst][aeiou]|uni|use|usu|eu|ew|one|once|ou?ija)\w*)[aeiou]\w*", re.I),
    ("an before a consonant", r"\ban\s+(?!(?:hour|hono|heir|herb|[fhlmnrsx]\b|[A-Z]{2,}))[b-df-hj-np-tv-z]\w*", 0),
    ("i for I", r"(?<![\w.])i(?![\w.])", 0),
    ("a space before a comma or stop", r"\w\s+[,;:.!?](?=\s|$)", 0),
    ("no space after a comma", r"[a-z],[a-z]", re.I),
    ("a mark twice", r",,|;;|(?<!\.)\.\.(?!\.)", 0),
    ("could of", r"\b(?:could|would|should|must|might)\s+of\b", re.I),
    ("a singular with a plural verb",
     rf"(?:^|[.,;]\s+|\b(?:but|because|when)\s+)(?:{THIRD_PERSON})\s+(?:are|were|have|do|don't)\b", re.I),
    ("a plural with a singular verb", r"\b(?:we|they|you)\s+(?:is|was|has|does|doesn't|am)\b", re.I),
    ("I with another verb", r"\bI\s+(?:is|are|has|does|doesn't|were\s+(?:a|the|in|at))\b", 0),
    ("a base form after to be", r"\b(?:is|are|was|were|am)\s+(?:go|have|do|make|take|get|see|know|want|need)\b", re.I),
    ("a past form after did",
     r"\b(?:did|didn't|does|doesn't)\s+(?:\w+\s+)?(?:went|had|was|were|made|took|got|saw|knew|wanted|needed)\b", re.I),
    ("two determiners", r"\b(the|a|an|my|your|our|their|its)\s+(?!\1\b)(?:the|a|an|my|your|our|their|its)\b", re.I),
    ("many of what is one",
     r"\b(?:many|several|these|those)\s+(?:money|information|advice|water|furniture|luggage|news)\b", re.I),
    ("brackets left open", r"\([^)]*$|^[^(]*\)", 0),
)}


def count_rule_violations(text: str) -> int:
    """Return the number of violations of the built-in rules."""
    return sum(len(rule.findall(text)) for rule in RULES.values())


def language_tool(address: str) -> Checker:
    """Return a checker that uses the LanguageTool server at an address such as `http://localhost:8081`."""
    def check(text: str) -> int:
        body = urlencode({"language": "en-US", "text": text}).encode()
        try:
            with urlopen(f"{address.rstrip('/')}/v2/check", body, timeout=30) as response:
                return len(json.loads(response.read())["matches"])
        except (URLError, OSError, ValueError, KeyError) as error:
            raise TouchstoneError(f"LanguageTool at {address} does not answer ({error}). Start its server, or omit "
                                  "--languagetool.") from None
    check("It works.")                      # fail early if the server is not available
    return check


def errors_per_word(texts: Sequence[str], check: Checker, progress: Progress | None = None) -> list[float]:
    """Return the number of errors per word of each text."""
    return [check(text) / max(1, len(text.split())) for text in track_texts(texts, "Checking grammar", progress)]
