"""Word vectors that somebody brings: which form they must have, what is noted of them, and runs without them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from harness.base.errors import ModelNotFetched, TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.models.local_files import BROUGHT, get_local_model, register_local
from harness.models.registry import find_model, find_models
from harness.submission.selection import load_available, scan_folder, select_entries
from harness.submission.submission import load_submission
from tests.support.command import touchstone
from tests.support.corpora import Direct

pytestmark = pytest.mark.sandbox

NAME, METRIC = "word2vec-google-news-300", "cosine_word2vec"
WORDS = ("river", "River", "bank", "money")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache with four words along three directions in the model's folder, nothing noted of them yet."""
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    folder = tmp_path / "models" / NAME
    folder.mkdir(parents=True)
    vectors = np.zeros((4, 300), np.float32)
    vectors[[0, 1, 2, 3], [0, 1, 0, 2]] = (2, 1, 1, 3)
    np.save(folder / "vectors.npy", vectors)
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return folder


def test_what_is_brought_is_noted_and_its_metric_can_be_asked(folder):
    assert METRIC in scan_folder(SUBMISSIONS).absent
    model = register_local(NAME)
    assert find_model(NAME) == model
    assert not model.verified
    assert find_models([NAME]) == {NAME: str(folder)}
    assert METRIC not in scan_folder(SUBMISSIONS).absent
    assert len(select_entries([METRIC], SUBMISSIONS)[0].digest) == 64
    with pytest.raises(TouchstoneError, match="does not embed texts"):
        model.encoder()


def test_other_files_under_the_name_are_refused(folder):
    first = register_local(NAME)
    np.save(folder / "vectors.npy", np.ones((4, 300), np.float32))
    for look in (get_local_model(NAME).verify, lambda: register_local(NAME)):
        with pytest.raises(TouchstoneError, match="differ from the registered ones"):
            look()
    assert register_local(NAME, again=True).fingerprint != first.fingerprint
    shutil.rmtree(folder)
    with pytest.raises(ModelNotFetched, match="is not available locally"):
        find_model(NAME)


@pytest.mark.parametrize(("vectors", "sentence"), [
    (np.ones((5, 300), np.float32), "(4, 300)"), (np.ones((4, 50), np.float32), "(4, 300)"), (np.ones((4, 300)), "float64"),
    (np.array([{}], dtype=object), "cannot be read")])
def test_another_form_is_refused(vectors, sentence, folder):
    np.save(folder / "vectors.npy", vectors, allow_pickle=True)
    with pytest.raises(TouchstoneError) as refused:
        register_local(NAME)
    assert sentence in str(refused.value)
    assert get_local_model(NAME).fingerprint == ""


def test_without_them_it_is_said_how_they_come(folder):
    (folder / "words.txt").unlink()
    for look in (lambda: register_local(NAME), lambda: find_model(NAME), lambda: select_entries([METRIC], SUBMISSIONS),
                 lambda: load_submission(SUBMISSIONS / f"{METRIC}.py")):
        with pytest.raises(ModelNotFetched) as refused:
            look()
        assert f"`touchstone models fetch {NAME}`" in str(refused.value)
        assert str(folder) in str(refused.value)


def test_a_typing_error_in_a_folder_is_still_refused(tmp_path, entry_of):
    path = tmp_path / "one.py"
    path.write_text((SUBMISSIONS / f"{METRIC}.py").read_text().replace(NAME, "word2vec-gogle"))
    with pytest.raises(TouchstoneError, match="no registered model"):
        scan_folder(tmp_path)


# The vectors: river 2 e1, River e2, bank e1, money 3 e3.  Means: of river and bank 1.5 e1, of bank and money (e1 + 3 e3)/2.  Minimum, maximum
# and mean: of river and bank e1, 2 e1, 1.5 e1; of bank and money 0, e1 + 3 e3, (e1 + 3 e3)/2; of bank e1 three times.
@pytest.mark.parametrize(("parameters", "river_bank", "bank_money"), [
    ({}, 4.5 / np.sqrt(7.25 * 3), 1.5 / np.sqrt(3 * 12.5)), ({"mean_only": True}, 1, 1 / np.sqrt(10))])
@pytest.mark.parametrize(("name", "model"), [("cosine_word2vec", NAME), ("cosine_fasttext", "fasttext-wiki-news-subwords-300")])
def test_the_metrics_by_hand(name, model, parameters, river_bank, bank_money, folder):
    assert model in BROUGHT
    metric = Direct(name, {model: str(folder)}, **parameters)
    a, b = ["river bank", "River", "RIVER", "bank", "nothing known", "the same"], ["Bank", "river", "river", "bank money", "river", "the same"]
    expected = [1 - river_bank, 1, 0, 1 - bank_money, 1, 0]
    assert metric.answer(a, b) == pytest.approx(expected, abs=1e-9)
    assert np.diag(metric.functions["matrix"](a, b)) == pytest.approx(expected, abs=1e-9)


def test_runs_without_names_leave_them_out_and_named_ones_are_refused(tmp_path, monkeypatch, capsys):
    from harness.evaluation import run as running
    from leaderboard.cli import app as cli

    asked = []
    monkeypatch.setattr(running, "run_suite", lambda entries, *_, **__: asked.extend(entries) or (_ for _ in ()).throw(TouchstoneError("enough")))
    monkeypatch.setattr("sys.argv", ["touchstone", "run", "--suite", "smoke", "--store", str(tmp_path / "store.sqlite")])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr().err
    assert f"Skipped: {METRIC} needs the model {NAME}" in " ".join(said.split())
    assert {entry.name for entry in asked} >= {"energy", "jaccard", "meteor[published]"}
    slow = [entry.name for submission in load_available(SUBMISSIONS) for entry in submission.entries if entry.on_request]
    assert {"bertscore", "rouge_l[published]", "wmd"} <= set(slow)
    assert f"Skipped slow metrics: {', '.join(slow)}." in " ".join(said.split())
    assert not {METRIC, "bertscore", "bertscore[idf]", "rouge_l[published]"} & {entry.name for entry in asked}
    assert "rouge_l" in {entry.name for entry in asked}
    refused = touchstone("run", METRIC, "--suite", "smoke", "--store", tmp_path / "store.sqlite")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "words.txt" in refused.stderr
