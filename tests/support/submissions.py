"""Submissions that tests write, and their vectors."""

from __future__ import annotations

from harness.base.progress import NoProgress
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.loop import embed_required_texts
from harness.models.vector_cache import VectorCache
from harness.submission.submission import Entry

HEADER = """\
# /// script
# dependencies = []
# [tool.touchstone]
# name = "{name}"
# title = "A metric of the tests"
# summary = "It does what a test wants."
# kind = "{kind}"
# input = "{input}"
# returns = "{returns}"
# range = {range}
# license = "Apache-2.0"
# ///
"""


def embed_for(questions: list[TaskUnit], entry: Entry, cache: VectorCache) -> None:
    embed_required_texts([(entry, question) for question in questions], cache, NoProgress(), 2)
