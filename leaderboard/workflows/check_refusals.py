"""Explain what a metric attempts and the sandbox refuses: what, in which line, and how to do it here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from harness.results.outcomes import Failure
from harness.sandbox.inside.audit_hook import NETWORK, PROCESS, REFUSED, VARIABLE

ATTEMPT = tuple[str, str]                   # what was attempted, and the line of the submission
WEIGHTS = ('name models in the header (`models = ["minilm"]`, or a sentence-transformers model of the Hugging Face Hub) and load '
           "them in `setup(models)`, which receives their folders")
NO_SETTINGS = ("a metric has no environment variables and no secrets. Write settings into the file or into `parameters` of a "
               f"variant; for weights {WEIGHTS}; a metric that needs an API key cannot be ranked.")
HUB = re.compile(r"huggingface|hugging face|\bhf_hub|localentrynotfound|offlinemode|your internet connection", re.IGNORECASE)
SETTING = re.compile(r"environment variable|environ\b", re.IGNORECASE)
NAME_LOOKUPS = {what for what in REFUSED.values() if "host's name" in what} | {NETWORK}


def explain_refusal(filename: str, attempts: Iterable[ATTEMPT], failures: Sequence[Failure]) -> str | None:
    """Return the sentence about the first attempt that explains why a metric cannot work here, or None."""
    for failure in failures:
        if HUB.search(failure.sentence):
            return (f"The metric loads a model by its name{line_of(failure, filename)}; a metric has no network. Instead, "
                    f"{WEIGHTS}.")
    for what, line in attempts:
        attempt = f"The metric tries to {what} (line {line.rpartition(':')[2]}), and"
        if what.startswith(VARIABLE):
            return f"{attempt} {NO_SETTINGS}"
        if what in NAME_LOOKUPS:
            return (f"{attempt} a metric has no network. For weights {WEIGHTS}; a metric that needs a web "
                    "service cannot be ranked.")
        if what == PROCESS:
            return (f"{attempt} a metric is one Python process. Name a package that does the same in "
                    f"`dependencies` (wheels with compiled modules work); for weights {WEIGHTS}.")
    for failure in failures:
        if SETTING.search(failure.sentence):
            return f"The metric needs an environment variable{line_of(failure, filename)}, and {NO_SETTINGS}"
    return None


def line_of(failure: Failure, filename: str) -> str:
    """Return the line of the submission in a failure, in parentheses; empty if there is none."""
    lines = [match[1] for place in failure.places if (match := re.match(rf"{re.escape(filename)}:(\d+) in ", place))]
    return f" (line {lines[0]})" if lines else ""
