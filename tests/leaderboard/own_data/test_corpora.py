"""What corpus metrics see in two corpora of a user."""

from __future__ import annotations

import json

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.submission.selection import select_entries
from leaderboard.own_data.corpora import (
    DRAWS,
    choose_by_corpora,
    fault_groups,
    mixture_groups,
    report_on_corpora,
    size_groups,
    take,
)
from tasks.data.loading import load_corpus

QUESTIONS, TWEETS, SMS = (list(load_corpus(name)[:300]) for name in ("trec_questions", "tweets", "sms"))


@pytest.fixture(scope="module")
def choice(entry_of_bad):
    entries = [entry for entry in select_entries(["energy", "zipf"], SUBMISSIONS) if entry.variant is None]
    return choose_by_corpora([QUESTIONS, TWEETS], ["questions", "tweets", "sms"], [*entries, entry_of_bad], NoProgress(), like=SMS)


@pytest.fixture(scope="module")
def entry_of_bad(tmp_path_factory):
    from harness.submission.submission import load_submission
    from tests.support.submissions import HEADER

    path = tmp_path_factory.mktemp("bad") / "bad.py"
    path.write_text(HEADER.format(name="bad", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
                    + "def distance(p, q): return float(len(p[0]) % 7)\n")
    return load_submission(path).entries[0]


def test_a_good_metric_sees_what_a_bad_one_does_not(choice):
    rows = {row.name: row for row in choice.rows}
    assert choice.rows[0].name == "energy"
    assert rows["energy"].mixtures > 0.9
    assert rows["energy"].noticed_from <= 50
    assert rows["energy"].faults["word_salad"] > 0.8
    assert abs(rows["bad"].mixtures) < 0.5
    assert rows["bad"].noticed_from is None
    assert rows["bad"].score < rows["energy"].score - 0.4


def test_tweets_are_nearer_to_short_messages_than_questions(choice):
    assert next(row for row in choice.rows if row.name == "energy").nearer < 0.1        # share in which questions are nearer
    report = report_on_corpora(choice)
    assert "tweets is nearer to sms" in " ".join(report.summary)
    assert json.loads(json.dumps(report.values, allow_nan=False))["scores"]["energy"] > 0
    assert "<h2>Power</h2>" in report.to_html()


def test_samples_that_are_compared_share_no_text():
    rng = np.random.default_rng(1)
    first, second = take(range(50), 25, rng)
    assert not set(first) & set(second)
    for name, group in {**size_groups(QUESTIONS, TWEETS, rng), **mixture_groups(QUESTIONS, TWEETS, rng)}.items():
        for i, j in group.pairs:
            assert not set(group.corpora[i]) & set(group.corpora[j]), name
    assert len(size_groups(QUESTIONS, TWEETS, rng)["size 10"].pairs) == 2 * DRAWS


def test_the_reference_has_no_fault_and_faults_grow():
    group = fault_groups(QUESTIONS, TWEETS, np.random.default_rng(1))["fault contamination"]
    reference, *copies = group.corpora[:6]
    shares = [np.mean([text in set(TWEETS) for text in copy]) for copy in copies]
    assert not set(reference) & set(copies[0])
    assert shares == [0, 0.1, 0.25, 0.5, 1]


def test_small_corpora_are_refused_and_overlap_is_mentioned():
    entries = [select_entries(["vocabulary_jsd"], SUBMISSIONS)[0]]
    with pytest.raises(TouchstoneError, match="b has 59 texts; 60 are required"):
        choose_by_corpora([QUESTIONS, TWEETS[:59]], ["a", "b"], entries, NoProgress())
    overlapping = choose_by_corpora([QUESTIONS[:100], QUESTIONS[50:150]], ["a", "b"], entries, NoProgress())
    assert any("50% of the different texts" in note for note in overlapping.notes)
