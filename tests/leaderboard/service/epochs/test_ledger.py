"""Epochs, private results and families in both databases, and what readers see of them."""

from __future__ import annotations

import datetime

import pytest

from harness.base.errors import TouchstoneError
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.epochs.disclosure import Gap, PrivateScore
from leaderboard.service.epochs.ledger import Epoch, Epochs, PrivateResult, verify_epoch
from leaderboard.service.epochs.scoring import PrivateDraw, open_epoch, private_store
from leaderboard.service.epochs.views import Level, Verification, find_verification, fold_families, view_private
from leaderboard.service.settings import Settings
from leaderboard.service.submissions import Submissions
from tests.support.service import make_file

RECIPE = 'name = "{name}"\nsuite = "smoke"\nexpires = {expires}\nleave_out = ["fine_tuning", "diagnostics"]\n'
SECRET = b"s" * 32
LENIENT = Settings(checks_per_hour=100)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def epochs(request, tmp_path) -> Epochs:
    address = str(tmp_path / "store.sqlite") if request.param == "sqlite" else request.getfixturevalue("database")
    return Epochs(ServiceDatabase(address))


def opened(epochs: Epochs, name: str = "2031Q1", expires: str = "2031-06-30") -> Epoch:
    return open_epoch(epochs, RECIPE.format(name=name, expires=expires), SECRET)


def result(name: str, value: float, owner: str | None = None, submission: str | None = None, tries: int = 1, flagged=(), digest=None) -> PrivateResult:
    score = PrivateScore("clustering", "Clustering", value, value - 0.1, value + 0.1, 0.1)
    return PrivateResult("2031Q1", digest or f"digest of {name}", name, submission, owner, tries, 0.0, (score,), {"clustering": Gap(0.1, 0.01)}, flagged)


def test_the_secret_is_stored_when_the_epoch_is_closed(epochs):
    epoch = opened(epochs)
    assert epoch.secret is None
    assert (epoch.visible.recipe, epoch.visible.sources, epoch.visible.fingerprint, epoch.visible.items) == ("", "", "", {})
    assert epoch.visible.commitment == epoch.commitment
    with pytest.raises(TouchstoneError, match="The secret does not belong to the epoch 2031Q1"):
        epochs.close("2031Q1", b"t" * 32)
    closed = epochs.close("2031Q1", SECRET)
    assert closed.visible == closed
    assert closed.secret == SECRET.hex()
    assert closed.closed >= closed.opened > 0


def test_a_lost_secret_ends_an_epoch_and_its_badges(epochs):
    suite = opened(epochs).public_fingerprint
    epochs.save(result("published", 0.5))
    closed = epochs.close("2031Q1", None)
    assert (closed.secret, closed.expired) == (None, True)
    with pytest.raises(TouchstoneError, match="was closed without its secret"):
        verify_epoch(closed)
    assert find_verification(epochs, suite, "published", [], "digest of published", False) == Verification(Level.REPRODUCED)
    assert opened(epochs, "2031Q2").closed is None


def test_what_is_refused(epochs):
    with pytest.raises(TouchstoneError, match='There is no epoch "2031Q1". There are none yet'):
        epochs.get("2031Q1")
    with pytest.raises(TouchstoneError, match="`expires` of the recipe is 2020-01-01; it must be in the future"):
        opened(epochs, expires="2020-01-01")
    opened(epochs)
    with pytest.raises(TouchstoneError, match="The epoch 2031Q1 already exists"):
        opened(epochs)
    with pytest.raises(TouchstoneError, match="The epoch 2031Q1 is open; close it first"):
        opened(epochs, "2031Q2")
    with pytest.raises(TouchstoneError, match='Did you mean "2031Q1"'):
        epochs.close("2031Q3", SECRET)
    epochs.close("2031Q1", SECRET)
    with pytest.raises(TouchstoneError, match="The epoch 2031Q1 is already closed"):
        epochs.close("2031Q1", SECRET)
    assert epochs.current() is None
    assert opened(epochs, "2031Q2").name == epochs.current().name


def test_an_altered_recipe_is_not_run(epochs):
    epoch = opened(epochs)
    with pytest.raises(TouchstoneError, match="or its recipe or sources were altered"):
        PrivateDraw.load(epochs, epoch.model_copy(update={"recipe": epoch.recipe + "#\n"}), SECRET, "unused")
    with pytest.raises(TouchstoneError, match="is not the one that was opened"):
        PrivateDraw.load(epochs, epoch.model_copy(update={"fingerprint": "0" * 64}), SECRET, "unused")


def test_private_answers_are_kept_apart(epochs, monkeypatch, tmp_path):
    monkeypatch.delenv("TOUCHSTONE_PRIVATE_STORE", raising=False)
    if "postgresql" in epochs.database.address:
        with pytest.raises(TouchstoneError, match="set TOUCHSTONE_PRIVATE_STORE"):
            private_store(epochs.database, "2031Q1")
    else:
        assert private_store(epochs.database, "2031Q1") == str(tmp_path / "private" / "2031Q1.sqlite")
    monkeypatch.setenv("TOUCHSTONE_PRIVATE_STORE", epochs.database.address)
    with pytest.raises(TouchstoneError, match="names the store of the service"):
        private_store(epochs.database, "2031Q1")
    monkeypatch.setenv("TOUCHSTONE_PRIVATE_STORE", "elsewhere.sqlite")
    assert private_store(epochs.database, "2031Q1") == "elsewhere.sqlite"


def test_a_result_is_stored_once(epochs):
    opened(epochs)
    epochs.save(result("mine", 0.5, "ada", "1"))
    epochs.save(result("mine", 0.9, "ada", "1"))
    (stored,) = epochs.results("2031Q1")
    assert stored.scores == result("mine", 0.5).scores
    assert stored.gaps == {"clustering": Gap(0.1, 0.01)}
    assert epochs.tries("2031Q1", "ada", "digest of mine") == 1
    assert epochs.tries("2031Q1", "ada", "digest of another") == 2
    assert epochs.tries("2031Q1", "bob", "digest of another") == 1
    for owner, holder in (("bob", "1"), ("ada", "2")):              # the same file again, of another owner and of the same
        epochs.reassign("2031Q1", ["digest of mine"], "2", owner)
        assert [stored.submission for stored in epochs.results("2031Q1")] == [holder]


def test_while_an_epoch_is_open_the_ladder_decides_what_is_disclosed(epochs):
    opened(epochs)
    for number, value in enumerate((0.5, 0.5, 0.3, 0.7)):
        epochs.save(result(f"mine {number}", value, "ada", str(number), number + 1))
    epochs.save(result("theirs", 0.2, "bob", "theirs"))
    epochs.save(result("published", 0.9))

    def shown() -> list[tuple[float, bool]]:
        return [(score.value, score.improved) for number in range(4) for view in view_private(epochs, str(number)) for score in view.scores]
    assert shown() == [(0.5, True), (0.5, False), (0.5, False), (0.7, True)]
    (view,) = view_private(epochs, "theirs")
    assert (view.tries, view.scores[0].value, view.scores[0].ranks, view.scores[0].of) == (1, 0.2, (2, 2), 2)
    epochs.close("2031Q1", SECRET)
    assert shown() == [(0.5, True), (0.5, True), (0.3, True), (0.7, True)]


def test_families(epochs):
    submissions = Submissions(epochs.database, LENIENT)
    files = {"first": make_file("first"), "second": make_file("second").replace(b"len, p", b"len,  p"), "third": b"",
             "theirs": make_file("theirs")}
    files["third"] = make_file("third", "import math\ndef distance(p, q):\n    for a in p:\n        if a in q:\n            return 0.0\n    return math.pi\n")
    records = {name: submissions.receive("bob" if name == "theirs" else "ada", "address", f"{name}.py", source)[0] for name, source in files.items()}
    families = {name: epochs.assign_family(record.id, record.owner, name, files[name]) for name, record in records.items()}
    assert families == {"first": records["first"].id, "second": records["first"].id, "third": records["third"].id, "theirs": records["theirs"].id}
    assert epochs.assign_family(records["second"].id, "ada", "second", files["second"]) == records["first"].id      # again
    folded = fold_families(records.values(), epochs.families())
    assert [(record.name, variants) for record, variants in folded] == [("first", 1), ("third", 0), ("theirs", 0)]
    assert epochs.tries_of_family(records["first"].id) == 1         # nothing is scored yet


def test_levels(epochs):
    suite, today = opened(epochs, expires="2031-06-30").public_fingerprint, datetime.date(2031, 6, 30)
    for stored in (result("published", 0.5), result("mine", 0.5, "ada", "1"), result("flagged", 0.5, "ada", "2", flagged=("clustering",))):
        epochs.save(stored)
    verified, reproduced = Verification(Level.VERIFIED, "2031Q1", today), Verification(Level.REPRODUCED)
    assert find_verification(epochs, suite, "published", [], "digest of published", False) == verified
    assert find_verification(epochs, suite, "published", [], "another digest", False) == reproduced
    assert find_verification(epochs, "another suite", "published", [], "digest of published", False) == reproduced
    assert find_verification(epochs, suite, "published", [], "digest of published", True) == Verification(Level.CLAIMED)
    assert find_verification(epochs, suite, "mine", ["1"], None, False) == verified
    assert find_verification(epochs, suite, "mine", [], None, False) is None            # not published
    assert find_verification(epochs, suite, "flagged", ["2"], None, False) == reproduced
    assert find_verification(None, suite, "published", [], "digest of published", False) == reproduced


def test_a_badge_expires(epochs, monkeypatch):
    epoch = opened(epochs)
    epochs.save(result("published", 0.5))
    monkeypatch.setattr(Epoch, "expired", True)
    assert find_verification(epochs, epoch.public_fingerprint, "published", [], "digest of published", False) == Verification(Level.REPRODUCED)
    assert epoch.model_copy(update={"expires": datetime.date(2020, 1, 1)}).visible.expires == datetime.date(2020, 1, 1)
