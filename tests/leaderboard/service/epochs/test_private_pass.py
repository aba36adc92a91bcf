"""From a recipe to a verified badge: the draw, runs of submissions on it, what is disclosed, and what is not."""

from __future__ import annotations

import datetime
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.results.store import Store
from leaderboard.scoring.results import Results
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.epochs.draws import derive_suite, read_secret
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.epochs.views import Level, find_verification
from leaderboard.service.settings import Settings
from leaderboard.service.states import RunProgress, State
from leaderboard.service.submissions import Submissions
from leaderboard.service.views import view_submission
from tasks.data.loading import add_dataset, remove_dataset
from tasks.suite_files import load_suite
from tests.support.epochs import HONEST, TELLTALE, make_text_metric, memorise, public_pairs, write_rated_pairs, write_suite
from tests.support.service import start_service, wait_until

pytestmark = [pytest.mark.sandbox, pytest.mark.cli]
COMPARED = ("jaccard", "dice_bigrams", "levenshtein", "exact_match")
LENIENT = Settings(checks_per_hour=100, runs_per_month=100, waiting_per_owner=100)


def run(*words: str, folder: Path) -> tuple[int, str, str]:
    process = subprocess.run([sys.executable, "-m", "leaderboard", *words], capture_output=True, text=True, check=False, cwd=folder)
    return process.returncode, process.stdout, process.stderr


@pytest.fixture
def folder(tmp_path):
    write_rated_pairs(tmp_path / "rated.csv", 420)
    add_dataset("rated_for_epochs", tmp_path / "rated.csv", "pairs")
    write_suite(tmp_path, "rated_for_epochs", 180)
    yield tmp_path
    remove_dataset("rated_for_epochs")


def scores_in(store: Path, suite) -> dict[str, float]:
    opened = Store(store, read_only=True)
    try:
        return {scored.name: scored.tasks["human_ordering"].score.value for scored in Results(suite, opened).scored}
    finally:
        opened.close()


def test_an_epoch_from_its_recipe_to_its_verification(folder):
    store, public = folder / "store.sqlite", load_suite(str(folder / "small.toml"))
    code, commitment, errors = run("epoch", "new", "recipe.toml", "--secret", "secret", "--store", str(store), folder=folder)
    assert code == 0, errors
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    code, _, errors = run("run", *COMPARED, "--suite", "small.toml", "--store", str(store), folder=folder)
    assert code == 0, errors
    code, _, errors = run("epoch", "score", *COMPARED, "--secret", "secret", "--store", str(store), folder=folder)
    assert code == 0, errors

    known = public_pairs(public)
    files = {"memoriser": memorise("memoriser", known), "honest": make_text_metric("honest", HONEST),
             "telltale": memorise("telltale", known, TELLTALE), "variant": make_text_metric("variant", HONEST + "unused = 3\n")}
    submissions = Submissions(ServiceDatabase(store), LENIENT)
    owners = {name: "ada" if name in ("honest", "variant") else name for name in files}
    records = {name: submissions.receive(owners[name], owners[name], f"{name}.py", source, True)[0] for name, source in files.items()}
    process = start_service("runner", "--once", "--suite", str(folder / "small.toml"), "--store", str(store), "--epoch-secret", str(folder / "secret"),
                            runs_per_month=100, waiting_per_owner=100, checks_per_hour=100)
    log, _ = process.communicate(timeout=300)
    assert process.returncode == 0, log
    states = {name: submissions.events(record.id)[-1] for name, record in records.items()}
    assert {name: event.state for name, event in states.items()} == dict.fromkeys(files, State.HELD), states

    # the memoriser loses its gain and is flagged
    epochs = Epochs(submissions.database)
    secret = read_secret(folder / "secret")
    draw = derive_suite(epochs.get("2031Q1").recipe, secret)
    on_public, on_private = scores_in(store, public), scores_in(folder / "private" / "2031Q1.sqlite", draw)
    gain, kept = (scores["memoriser"] - scores["honest"] for scores in (on_public, on_private))
    assert gain > 0.5
    assert kept <= 0.05 * gain
    flags = {result.name: result.flagged for result in epochs.results("2031Q1")}
    assert flags == {**dict.fromkeys(flags, ()), **dict.fromkeys(("memoriser", "telltale"), ("human_ordering",))}

    # nothing but rounded scores is disclosed
    private_texts = [text for task_unit in draw.task_units for text in task_unit.task.texts(task_unit.unit)]
    hidden = [secret.hex(), *(task_unit.unit.id for task_unit in draw.task_units), *private_texts, repr(on_private["honest"]), repr(on_private["memoriser"])]
    views = {name: view_submission(submissions, epochs, submissions.get(record.id), True) for name, record in records.items()}
    content = b"".join(path.read_bytes() for path in folder.glob("store.sqlite*") if path.is_file()).decode(errors="replace")
    content += log + "".join(view.model_dump_json() for view in views.values())
    assert "telltale" in content
    assert [text for text in hidden if text in content] == []
    private_store = b"".join(path.read_bytes() for path in folder.glob("private/*.sqlite*"))
    assert any(text.encode() in private_store for text in private_texts)        # the control: the telltale metric did raise one
    assert stat.S_IMODE((folder / "private").stat().st_mode) == 0o700
    (result,) = views["honest"].private
    (score,) = result.scores
    assert abs(score.value - on_private["honest"]) <= (score.high - score.low) / 2
    assert score.of == 1 + sum(bool(other.scores) for other in epochs.results("2031Q1") if other.submission is None) >= len(COMPARED)
    assert views["telltale"].private[0].scores == []

    # variants of one owner are a family, and the second try is corrected for
    assert (views["honest"].tries, views["memoriser"].tries) == (2, 1)
    assert sorted(result.tries for result in epochs.results("2031Q1", owner="ada")) == [1, 2]

    # the badge needs publication and no flag
    def level(name: str, published: bool) -> Level | None:
        found = find_verification(epochs, public.fingerprint, name, [records[name].id] if published else [], None, False)
        return None if found is None else found.level
    assert (level("honest", True), level("honest", False), level("memoriser", True)) == (Level.VERIFIED, None, Level.REPRODUCED)
    assert find_verification(epochs, public.fingerprint, "honest", [records["honest"].id], None, False).expires == datetime.date(2031, 6, 30)

    # closing reveals the secret, and the draw can be derived from the record alone
    at = ("--store", str(store))
    (folder / "wrong").write_text("00" * 32)
    (folder / "wrong").chmod(0o600)
    assert commitment.strip() in run("epoch", "list", *at, folder=folder)[1]
    for words, sentence in ((("verify", "2031Q1"), "The epoch 2031Q1 is open"), (("close", "2031Q9", "--secret", "secret"), 'There is no epoch "2031Q9"'),
                            (("close", "2031Q1", "--secret", "wrong"), "The secret does not belong to the epoch 2031Q1"),
                            (("close", "2031Q1", "--secret", "secret", "--lost"), "Use either --secret or --lost"),
                            (("new", "recipe.toml", "--secret", "other"), "The epoch 2031Q1 already exists"),
                            (("score", "nothing", "--secret", "secret"), 'There is no submission "nothing"')):
        code, output, errors = run("epoch", *words, *at, folder=folder)
        assert (code, output) == (2, ""), errors
        assert sentence in errors
        assert errors.rstrip().rpartition("\n")[2].startswith("touchstone: ")
    assert not (folder / "other").exists()
    assert run("epoch", "close", "2031Q1", "--secret", "secret", "--store", str(store), folder=folder)[1].strip() == secret.hex()
    assert "is already closed" in run("epoch", "close", "2031Q1", "--secret", "secret", *at, folder=folder)[2]
    record = epochs.get("2031Q1").visible
    assert record.commitment == commitment.strip()
    (folder / "record.json").write_text(record.model_dump_json())
    code, _, errors = run("epoch", "verify", "record.json", folder=folder)
    assert code == 0, errors
    for changed, sentence in (({"recipe": record.recipe.replace("disjoint = [\"human_ordering\"]", "disjoint = []")}, "were altered"),
                              ({"secret": "00" * 32}, "were altered"), ({"items": {"human_ordering": "0" * 64}}, "differ from those of the record"),
                              ({"fingerprint": "0" * 64}, "has the fingerprint"), ({"secret": "xyz"}, "64 hexadecimal digits")):
        (folder / "record.json").write_text(record.model_copy(update=changed).model_dump_json())
        code, _, errors = run("epoch", "verify", "record.json", folder=folder)
        assert code == 2
        assert sentence in errors
        assert "Traceback" not in errors


def test_a_runner_that_is_killed_in_the_private_pass_is_replaced(folder):
    store = folder / "store.sqlite"
    code, _, errors = run("epoch", "new", "recipe.toml", "--secret", "secret", "--store", str(store), folder=folder)
    assert code == 0, errors
    submissions = Submissions(ServiceDatabase(store), LENIENT)
    slow = "import time\ndef similarity(a, b):\n    if len(a) > 40: time.sleep(1)\n    return [weak(x, y) for x, y in zip(a, b)]\n"
    record, _ = submissions.receive("ada", "ada", "slow.py", make_text_metric("slow", slow), True)
    words = ("runner", "--once", "--suite", str(folder / "small.toml"), "--store", str(store), "--epoch-secret", str(folder / "secret"))
    process = start_service(*words)
    wait_until(lambda: "private draw" in ((submissions.get(record.id).progress or RunProgress()).message or ""))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert submissions.get(record.id).state is State.RUNNING
    wait_until(lambda: submissions.tidy() or submissions.get(record.id).state is State.QUEUED)
    output, _ = start_service(*words).communicate(timeout=120)
    assert submissions.get(record.id).state is State.HELD, output
    assert [event.state for event in submissions.events(record.id)].count(State.SCORED) == 1
    (result,) = Epochs(submissions.database).results()
    assert (result.name, result.tries, len(result.scores)) == ("slow", 1, 1)
