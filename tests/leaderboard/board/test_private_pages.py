"""What the pages of submissions show of private draws and families."""

from __future__ import annotations

import pytest

from leaderboard.board.pages.submission import render_introduction, render_queue, render_submission
from leaderboard.scoring.estimates import Estimate
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.epochs.scoring import open_epoch
from leaderboard.service.epochs.views import PrivateScoreView, PrivateView
from leaderboard.service.settings import Settings
from leaderboard.service.states import RunDetails, State
from leaderboard.service.views import SubmissionView, correct_position
from tests.support.service import make_file, make_position
from tests.support.serving import HOSTILE

SECRET = b"s" * 32
RECIPE = 'name = "2031Q1"\nsuite = "smoke"\nexpires = 2031-06-30\nleave_out = ["fine_tuning", "diagnostics"]\n'
POSITION = make_position(name=HOSTILE, overall=Estimate(0.5, 0.5 - 0.195996, 0.5 + 0.195996, 50))


def score(**changed) -> PrivateScoreView:
    return PrivateScoreView(**{"task": "clustering", "title": HOSTILE, "value": 0.65, "low": 0.55, "high": 0.7, "improved": True, "ranks": (2, 4),
                               "of": 9, **changed})


def view(tries: int, *private: PrivateView) -> SubmissionView:
    return SubmissionView(
        id="1", name=HOSTILE, filename="mine.py", state=State.HELD, reason="Published in 7 days.", final=False, created=0.0, place=None,
        seconds_left=None, progress=None, events=[], check=None, results=RunDetails(positions=[correct_position(POSITION, tries)]), tries=tries,
        private=list(private))


def test_private_scores_and_flags():
    page = str(render_submission(view(1, PrivateView(epoch="2031Q1", name=HOSTILE, tries=2, flagged=("clustering",), scores=[score(), score(improved=False)]))))
    assert HOSTILE not in page
    assert "private draw 2031Q1" in page
    assert "The private draw does not confirm the score on clustering" in page
    assert "<td>0.65</td><td>0.55 to 0.7</td><td>2\N{EN DASH}4 of 9</td>" in page
    assert "<td>0.65 *</td>" in page
    assert "does not exceed by half an interval" in page
    assert "corrected for 2 entries of this owner" in page
    assert "of a family" not in page


def test_a_private_draw_without_a_score():
    page = str(render_submission(view(1, PrivateView(epoch="2031Q1", name="mine", tries=1, flagged=(), scores=[]))))
    assert "No score on this draw." in page
    assert "corrected for 1 entry of this owner" in page


def test_the_interval_of_the_second_try_is_wider():
    """0.195996 is a tenth of the normal quantile at 95%; at sqrt(95%) it is 0.223648."""
    page = str(render_submission(view(2)))
    assert "One of 2 scored submissions of a family" in page
    assert "is 0.500 (95% interval 0.276 to 0.724" in page


def test_the_queue_folds_families_and_the_form_shows_the_commitment(tmp_path):
    service = Service(ServiceDatabase(tmp_path / "store.sqlite"), Settings(), Auth.NONE)
    assert "Commitment" not in str(render_introduction(service, "http://here"))
    for name in ("first", "second", "third"):
        record, _ = service.submissions.receive("ada", "address", "mine.py", make_file(name))
        service.epochs.assign_family(record.id, "ada", name, make_file(name))
    queue = str(render_queue(service))
    assert "and 2 variants" in queue
    assert "second" not in queue
    epoch = open_epoch(service.epochs, RECIPE, SECRET)
    introduction = str(render_introduction(service, "http://here"))
    assert f"Private draw 2031Q1, open; badges are valid until 2031-06-30. Commitment: <code>{epoch.commitment}</code>" in introduction
    assert "api/epochs" not in introduction
    service.epochs.close("2031Q1", SECRET)
    assert '<a href="api/epochs/2031Q1">secret and recipe</a>' in str(render_introduction(service, "http://here"))


@pytest.mark.parametrize("rank", [(1, 1), (2, 5)])
def test_a_rank_that_is_certain_is_one_number(rank):
    page = str(render_submission(view(1, PrivateView(epoch="2031Q1", name="mine", tries=1, flagged=(), scores=[score(ranks=rank)]))))
    assert ("<td>1 of 9</td>" in page) == (rank == (1, 1))
