"""The private pass of a runner when it cannot be made: what is logged, and what submitters read."""

from __future__ import annotations

import logging

import pytest

from harness.base.errors import TouchstoneError
from harness.sandbox.limits import Limits
from harness.submission.submission import load_submission
from leaderboard.service.database import DatabaseAway, ServiceDatabase
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.epochs.scoring import Origin, PrivateDraw, PrivatePass, create_private, open_epoch
from tasks.suite_files import load_suite
from tests.support.epochs import HONEST, make_text_metric

SECRET = b"s" * 32
RECIPE = 'name = "2031Q1"\nsuite = "smoke"\nexpires = 2031-06-30\nleave_out = ["fine_tuning", "diagnostics"]\n'


@pytest.fixture
def epochs(tmp_path) -> Epochs:
    return Epochs(ServiceDatabase(tmp_path / "store.sqlite"))


@pytest.fixture
def entry(tmp_path):
    (tmp_path / "honest.py").write_bytes(make_text_metric("honest", HONEST))
    return load_submission(tmp_path / "honest.py").entries[0]


def run(epochs: Epochs, entry, secret: bytes | None, suite: str = "smoke") -> None:
    PrivatePass(epochs, load_suite(suite), secret).run([entry], {}, Origin("1", "ada"), Limits(), 1)


def test_without_an_epoch_nothing_is_run(epochs, entry, tmp_path):
    run(epochs, entry, SECRET)
    assert not (tmp_path / "private").exists()


@pytest.mark.parametrize(("secret", "suite", "reason"), [(None, "smoke", "this runner has no secret"), (SECRET, "other", "it is a draw of another suite")])
def test_a_runner_that_cannot_draw_says_so_and_goes_on(epochs, entry, tmp_path, caplog, secret, suite, reason):
    (tmp_path / "other.toml").write_text('title = "Other"\nseed = 1\nmodel = "minilm"\n[tasks.axioms]\ntrials = 2\n')
    open_epoch(epochs, RECIPE, SECRET)
    with caplog.at_level(logging.WARNING):
        run(epochs, entry, secret, suite if suite == "smoke" else str(tmp_path / "other.toml"))
    assert reason in caplog.text
    assert not (tmp_path / "private").exists()


@pytest.mark.parametrize("sentence", ['The dataset "held_out" has changed.', "raised ValueError: a private text"])
def test_errors_of_a_private_run_are_not_told(epochs, entry, monkeypatch, sentence):
    open_epoch(epochs, RECIPE, SECRET)

    def fail(*values: object, **named: object) -> None:
        raise TouchstoneError(sentence)
    monkeypatch.setattr(PrivateDraw, "score", fail)
    with pytest.raises(TouchstoneError) as error:
        run(epochs, entry, SECRET)
    assert str(error.value) == "the private draw could not be run; `touchstone epoch score` shows the operator the reason"
    assert error.value.__suppress_context__


def test_a_wrong_secret_of_a_runner_is_no_reason_to_tell_more(epochs, entry):
    open_epoch(epochs, RECIPE, SECRET)
    with pytest.raises(TouchstoneError, match="^the private draw could not be run"):
        run(epochs, entry, b"t" * 32)


def test_a_runner_with_a_wrong_secret_does_not_start(epochs, monkeypatch):
    PrivatePass(epochs, load_suite("smoke"), b"t" * 32).check()             # no epoch is open
    open_epoch(epochs, RECIPE, SECRET)
    PrivatePass(epochs, load_suite("smoke"), SECRET).check()
    PrivatePass(epochs, load_suite("smoke"), None).check()
    with pytest.raises(TouchstoneError, match="The secret does not belong to the epoch 2031Q1"):
        PrivatePass(epochs, load_suite("smoke"), b"t" * 32).check()
    monkeypatch.setenv("TOUCHSTONE_PRIVATE_STORE", epochs.database.address)
    with pytest.raises(TouchstoneError, match="names the store of the service"):
        PrivatePass(epochs, load_suite("smoke"), SECRET).check()


def test_a_database_that_is_away_is_no_failure_of_the_draw(epochs, entry, monkeypatch):
    open_epoch(epochs, RECIPE, SECRET)

    def fail(*values: object, **named: object) -> None:
        raise DatabaseAway("The database does not answer.")
    monkeypatch.setattr(PrivateDraw, "score", fail)
    with pytest.raises(DatabaseAway):
        run(epochs, entry, SECRET)


def test_the_private_store_is_readable_by_its_owner_alone(tmp_path):
    create_private(str(tmp_path / "private" / "2031Q1.sqlite"))
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "private" / "2031Q1.sqlite").stat().st_mode & 0o777 == 0o600
    (tmp_path / "private" / "2031Q1.sqlite").write_text("answers")
    create_private(str(tmp_path / "private" / "2031Q1.sqlite"))
    assert (tmp_path / "private" / "2031Q1.sqlite").read_text() == "answers"
    create_private("postgresql://user@host/private")
    assert not (tmp_path / "postgresql:").exists()
