"""The command, as a person or a script uses it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time

import pytest

from harness.base.paths import PROJECT, SUBMISSIONS
from leaderboard.publishing.release import read_release
from leaderboard.scoring.signature import parse_signature
from tests.support.command import touchstone

pytestmark = pytest.mark.cli


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in which three metrics and two controls were asked the suite smoke."""
    path = tmp_path_factory.mktemp("cli") / "store.sqlite"
    done = touchstone("run", "energy", "jaccard", "cosine", "random", "constant", "--suite", "smoke", "--store", path)
    assert done.returncode == 0, done.stderr
    return path


def test_run_says_what_it_did_and_shows_the_ranking(tmp_path):
    done = touchstone("run", "levenshtein", "--suite", "smoke", "--store", tmp_path / "s.sqlite")
    assert done.returncode == 0
    assert re.search(r"Ran \d+ test units in \d+ s: \d+ answered", done.stderr)
    assert re.search(r"^ *1 +levenshtein +0\.\d\d", done.stdout, re.M)
    again = touchstone("run", "levenshtein", "--suite", "smoke", "--store", tmp_path / "s.sqlite")
    assert "Nothing to run" in again.stderr
    assert again.stdout == done.stdout


def test_show_ranks_metrics_and_lists_controls_apart(store):
    shown = touchstone("show", "--suite", "smoke", "--store", store).stdout
    names = re.findall(r"energy|jaccard|cosine|random|constant\[0\.875\]|constant|not ranked", shown)
    assert names.index("energy") < names.index("not ranked") < names.index("random")
    found = json.loads(touchstone("show", "--suite", "smoke", "--store", store, "--json").stdout)
    assert {entry["track"] for entry in found["entries"] if entry["name"] == "energy"} == {"corpus"}
    texts = {entry["name"]: entry for entry in found["entries"] if entry["track"] == "text"}
    assert sorted(entry["rank"] for entry in texts.values() if entry["rank"]) == [1, 2]
    assert not parse_signature(texts["jaccard"]["tasks"]["alignment"]["signature"]).lifted
    one = json.loads(touchstone("show", "--suite", "smoke", "--store", store, "--json", "--track", "corpus").stdout)["entries"]
    assert one == [entry for entry in found["entries"] if entry["track"] == "corpus"]
    wrong = touchstone("show", "--suite", "smoke", "--store", store, "--track", "txt")
    assert (wrong.returncode, 'no track "txt". Did you mean "text"' in wrong.stderr) == (2, True)
    entries = {entry["name"]: entry for entry in one}
    assert sorted(entry["rank"] for entry in entries.values() if entry["rank"]) == [1, 2, 3]
    assert entries["random"]["not_ranked"] == "control"
    assert entries["constant"]["tasks"]["known_similarity"]["score"]["value"] == 0.0
    assert entries["constant"]["tasks"]["known_similarity"]["measures"]["monotonicity"] is None
    signature = parse_signature(entries["energy"]["tasks"]["known_similarity"]["signature"])
    assert (signature.entry, signature.suite, signature.task, signature.model) == ("energy", "smoke", "ks", "minilm")
    assert parse_signature(entries["jaccard"]["tasks"]["known_similarity"]["signature"]).lifted


def test_card_shows_scores_with_intervals_axioms_and_provenance(store):
    card = touchstone("card", "energy", "--suite", "smoke", "--store", store)
    assert card.returncode == 0
    assert re.search(r"Most similar corpus metrics \(rank correlation of answers\):\s+\S+\s+\(-?\d\.\d\d\), ", card.stdout)
    for part in ("Energy distance", "95%", "rank ", "3 of 3 test units run", "monotonicity", "triangle", "numpy", "death-signal"):
        assert part in card.stdout, part
    found = json.loads(touchstone("card", "energy", "--suite", "smoke", "--store", store, "--json").stdout)
    assert found["runs"][0]["packages"]["numpy"]


@pytest.fixture(scope="module")
def released(store, tmp_path_factory):
    """The release that is written from the store."""
    folder = tmp_path_factory.mktemp("releases")
    done = touchstone("release", "2026.1", "--suite", "smoke", "--store", store, "--to", folder)
    assert done.returncode == 0, done.stderr
    return folder / "2026.1"


@pytest.mark.parametrize("words", [
    ["show"], ["show", "--track", "text"], ["show", "--borda"], ["show", "--weights", "alignment:2,retrieval:1"],
    ["card", "energy"], ["card", "jaccard"], ["card", "constant[0.875]"], ["compare", "cosine", "jaccard"],
    ["compare", "energy", "cosine", "--track", "corpus"], ["export"], ["export", "--format", "json"], ["export", "--format", "latex"],
    ["export", "--format", "markdown", "--track", "text"]], ids=" ".join)
def test_a_release_shows_the_same_text_as_its_store(words, store, released):
    of_store = touchstone(*words, "--suite", "smoke", "--store", store)
    assert of_store.returncode == 0, of_store.stderr
    assert touchstone(*words, "--release", released).stdout == of_store.stdout
    assert touchstone(*words, "--release", released, "--suite", "smoke").stdout == of_store.stdout


@pytest.mark.parametrize("words", [["show"], ["show", "--track", "corpus"], ["show", "--borda"], ["card", "jaccard"],
                                   ["compare", "energy", "cosine"]], ids=" ".join)
def test_json_has_the_same_structure_for_a_release_as_for_its_store(words, store, released):
    of_store = json.loads(touchstone(*words, "--suite", "smoke", "--store", store, "--json").stdout)
    of_release = json.loads(touchstone(*words, "--release", released, "--json").stdout)
    assert (of_store.pop("release"), of_release.pop("release")) == (None, "2026.1")
    assert of_release == of_store


def test_a_release_whose_metric_failed_shows_the_same_text(board_folder, tmp_path):
    named = ["--suite", board_folder / "ten.toml", "--store", board_folder / "store.sqlite"]
    assert touchstone("release", "2026.1", *named, "--to", tmp_path).returncode == 0
    for words in (["show"], ["card", "hostile"], ["compare", "hostile", "zipf"], ["compare", "energy", "zipf"], ["export"]):
        of_store = touchstone(*words, *named).stdout
        assert of_store
        assert touchstone(*words, "--release", tmp_path / "2026.1").stdout == of_store, words
    assert "\n  failed: " in touchstone("card", "hostile", "--release", tmp_path / "2026.1").stdout


@pytest.mark.parametrize("words", [["show"], ["card", "energy"], ["compare", "energy", "fid"], ["export", "--format", "latex"]],
                         ids=" ".join)
def test_the_latest_release_is_shown_if_there_is_no_store_yet(words, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.base.paths.default_store", lambda: str(tmp_path / "store.sqlite"))
    latest = read_release()
    shown = touchstone(*words)
    assert shown.stdout == touchstone(*words, "--release", latest.name).stdout != ""
    assert shown.stderr == f"There is no results store yet; showing the release {latest.name} (suite {latest.report.suite.label}).\n"
    assert touchstone(*words, "--suite", "core").stdout == shown.stdout
    other = touchstone(*words, "--suite", "smoke")
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr.startswith("touchstone: There is no results store at ")


def test_a_superseded_release_says_so():
    shown = touchstone("show", "--release", "2026.1", "--track", "text")
    assert shown.stderr.startswith("This release is superseded by 2026.2: ")
    assert "text metrics" in shown.stdout


@pytest.mark.parametrize(("words", "sentence"), [
    (["show", "--suite", "core"], "The release 2026.1 is of the suite smoke@"),
    (["show", "--track", "texts"], 'no track "texts". Did you mean "text"'),
    (["show", "--store", "x.sqlite"], "Use either --store or --release"),
    (["card", "enregy"], 'The release 2026.1 has no metric "enregy". Did you mean "energy"'),
    (["compare", "energy", "jacard"], 'Did you mean "jaccard"'),
    (["export", "--format", "parquet"], "needs a file"),
])
def test_what_a_release_does_not_have_is_refused(words, sentence, released):
    done = touchstone(*words, "--release", released)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr


def test_a_modified_release_is_not_shown(released, tmp_path):
    shutil.copytree(released, tmp_path / "2026.1")
    (tmp_path / "2026.1" / "scores.csv").unlink()
    for words in (["show"], ["card", "energy"], ["compare", "energy", "jaccard"], ["export"]):
        done = touchstone(*words, "--release", tmp_path / "2026.1")
        assert (done.returncode, done.stdout) == (2, "")
        assert "The release 2026.1 was modified: the checksums of scores.csv do not match." in done.stderr


@pytest.mark.parametrize(("words", "sentence"), [
    (["run", "enregy"], 'Did you mean "energy"'),
    (["run", "no_such.py"], "no_such.py: the file cannot be read"),
    (["run", "energy", "--suite", "cor"], 'Did you mean "core"'),
    (["run", "energy", "--suite", "smoke", "--only", "axiom"], 'Did you mean "axioms"'),
    (["run", "energy", "--suite", "smoke", "--store", "/proc/store.sqlite"], "cannot be"),
    (["run", "energy", "--suite", "smoke", "--data-dir", "/nonexistent"], "which is not a folder"),
    (["show", "--store", "/nonexistent.sqlite"], "There is no results store"),
    (["check", "/nonexistent.py"], "cannot be read"),
    (["data", "show", "tweet"], 'Did you mean "tweets"'),
    (["data", "fetch", "nf_cats"], "cannot be downloaded automatically"),
])
def test_bad_input_gets_one_sentence_and_exit_code_2(words, sentence, tmp_path):
    extra = [] if "--store" in words or words[0] in ("check", "data") else ["--store", tmp_path / "s.sqlite"]
    done = touchstone(*words, *extra)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.startswith("touchstone: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_card_of_what_was_never_asked(store):
    done = touchstone("card", "enregy", "--suite", "smoke", "--store", store)
    assert done.returncode == 2
    assert 'Did you mean "energy"' in done.stderr


def test_answers_to_another_state_of_the_suite_are_not_shown(store, tmp_path):
    text = (PROJECT / "tasks" / "suites" / "smoke.toml").read_text()
    (tmp_path / "other.toml").write_text(text.replace("seed = ", "seed = 9"))
    done = touchstone("show", "--suite", tmp_path / "other.toml", "--store", store)
    assert done.returncode == 2
    assert "has no results of this version of the suite other (other@" in done.stderr


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ("k = 5", "k = 2", "tasks.known_similarity.levels.0.k"), ("repetitions", "repetition", "tasks.known_similarity.repetitions"),
    ('"made_trains"', '"made_train"', 'Did you mean "made_trains"'), ('"minilm"', '"minilmm"', 'Did you mean "minilm"'),
    ("tasks.axioms", "tasks.axiom", 'Did you mean "axioms"'), ("title = ", "title ", "cannot be read"),
    ("n = 12", "n = 1000", "needs 2,500 texts"),
])
def test_mistakes_in_a_suite_are_said(old, new, sentence, tmp_path):
    text = (PROJECT / "tasks" / "suites" / "smoke.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace(old, new))
    done = touchstone("run", "jaccard", "--suite", tmp_path / "mine.toml", "--store", tmp_path / "s.sqlite")
    assert done.returncode == 2, done.stdout
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_check_reports_what_a_submitter_can_act_on(write):
    sound = touchstone("check", write("sound", "def distance(p, q): return abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q))\n"))
    assert sound.returncode == 0, sound.stdout
    assert "Valid. Next: touchstone run sound.py" in sound.stdout
    assert re.search(r"A = \d\.\d\d .* calls per second", " ".join(sound.stdout.split()))
    broken = touchstone("check", write("broken", "def distance(p, q): return 1 / min(map(len, p)) - 1 / max(map(len, q))\n"))
    assert broken.returncode == 1
    for part in ("ZeroDivisionError", "declared range", "Not valid yet"):
        assert part in broken.stdout, part
    refused = touchstone("check", write("refused", "", kind="corpora"))
    assert refused.returncode == 2
    assert "line 7" in refused.stderr


def test_check_notices_an_inverted_metric(write):
    body = "def distance(p, q):\n    words = lambda c: set(' '.join(c).split())\n    return len(words(p) & words(q)) / 10\n"
    assert "wrong direction" in touchstone("check", write("inverted", body)).stdout


def test_check_of_a_hanging_metric_ends_in_time(write):
    started = time.monotonic()
    done = touchstone("check", write("hangs", "def distance(p, q):\n    while True: pass\n"))
    assert done.returncode == 1
    assert "did not answer within the time allowed" in done.stdout
    assert time.monotonic() - started < 60              # its own limit is 10 s; the rest is this machine's


def test_a_run_with_failures_leaves_with_1(write, tmp_path):
    path = write("fails", "def distance(p, q): raise ValueError('\\x1b[31mno')\n")
    for _ in range(2):                                  # and again when there is nothing left to ask
        done = touchstone("run", path, "--suite", "smoke", "--only", "known_similarity", "--store", tmp_path / "s.sqlite")
        assert done.returncode == 1
        assert "\x1b" not in done.stdout + done.stderr
    assert "3 of 3 test units of known similarity failed" in " ".join(done.stdout.split())


def test_check_says_what_was_tried_and_in_which_line(write):
    path = write("tries", """
import socket, subprocess
def distance(p, q):
    for attempt in (lambda: open('/etc/passwd'), lambda: socket.create_connection(('localhost', 80)),
                    lambda: subprocess.run(['true'])):
        try:
            attempt()
        except OSError:
            pass
    return float(abs(sum(map(len, p)) - sum(map(len, q))))
""")
    lines = path.read_text().splitlines()
    here = {what: next(n for n, line in enumerate(lines, 1) if what in line) for what in ("/etc/passwd", "subprocess.run")}
    tried = {(one["tried"], one["place"]) for one in json.loads(touchstone("check", path, "--json").stdout)[0]["refused"]}
    assert ("open the file /etc/passwd", f"tries.py:{here['/etc/passwd']}") in tried
    assert ("look up a host's name", f"tries.py:{here['/etc/passwd']}") in tried
    assert ("start another process", f"tries.py:{here['subprocess.run']}") in tried
    assert json.loads(touchstone("check", SUBMISSIONS / "jaccard.py", "--json").stdout)[0]["refused"] == []


def test_markup_in_a_header_is_shown_as_it_is_written(write, tmp_path):
    path = write("marked", "def distance(p, q): return float(abs(len(p) - len(q)))\n")
    path.write_text(path.read_text().replace("A metric of the tests", "[red]<script>x[/red]").replace("It does what", "[link=http://x]y[/link]"))
    touchstone("run", path, "--suite", "smoke", "--only", "axioms", "--store", tmp_path / "s.sqlite")
    for words in (("check", path), ("card", "marked", "--suite", "smoke", "--store", tmp_path / "s.sqlite")):
        assert "[red]<script>x[/red]" in touchstone(*words).stdout


def test_help_teaches(tmp_path):
    done = touchstone("--help")
    assert "touchstone check my_metric.py" in done.stdout
    for verb in ("run", "check", "show", "card", "data", "doctor"):
        assert verb in done.stdout
    assert "Exit codes" in done.stdout


def test_help_imports_nothing_heavy():
    """What makes it quick on any machine; the seconds themselves are asserted by the benchmarks."""
    program = ("import sys; sys.argv = ['x', '--help']\nfrom leaderboard.cli.app import main\ntry: main()\nexcept SystemExit: pass\n"
               "heavy = {'numpy', 'scipy', 'pandas', 'pydantic', 'sqlalchemy', 'torch', 'packaging', 'tokenizers'}\n"
               "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()")
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_reading_a_release_imports_neither_databases_nor_statistics():
    program = ("import sys; sys.argv = ['x', *sys.argv[1:]]\nfrom leaderboard.cli.app import main\ntry: main()\nexcept SystemExit: pass\n"
               "heavy = {'pandas', 'sqlalchemy', 'scipy.special', 'scipy.stats', 'torch', 'sklearn', 'harness.evaluation.executor'}\n"
               "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()")
    for words in (["show"], ["card", "energy"], ["export"], ["cite", "energy"]):
        subprocess.run([sys.executable, "-c", program, *words, "--release", "2026.3"], check=True, capture_output=True)


def test_showing_a_store_imports_no_statistics(store):
    program = ("import sys; sys.argv = ['x', *sys.argv[1:]]\nfrom leaderboard.cli.app import main\ntry: main()\nexcept SystemExit: pass\n"
               "heavy = {'pandas', 'scipy.stats', 'sqlalchemy.dialects.postgresql', 'harness.evaluation.executor'}\n"
               "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()")
    subprocess.run([sys.executable, "-c", program, "show", "--suite", "smoke", "--store", str(store)], check=True, capture_output=True)


def test_lexical_work_does_not_import_torch(store):
    program = ("import sys; sys.argv = {}\nfrom leaderboard.cli.app import main\ntry: main()\nexcept SystemExit: pass\n"
               "assert 'torch' not in sys.modules and 'sentence_transformers' not in sys.modules")
    for words in (["x", "show", "--suite", "smoke", "--store", str(store)], ["x", "data", "list"],
                  ["x", "run", "jaccard", "--suite", "smoke", "--store", str(store)]):
        subprocess.run([sys.executable, "-c", program.format(words)], check=True, capture_output=True)


def test_the_doctor_finds_this_machine_well():
    done = touchstone("doctor", "--json")
    found = {one["what"]: one for one in json.loads(done.stdout)}
    for what in ("Python", "Workers", "Model minilm", "Model wordllama", "Cache"):
        assert found[what]["ok"], found[what]
    assert "a text alone from the same text in a batch of 20 by" in found["Model minilm"]["says"]


def test_the_data_commands():
    listed = json.loads(touchstone("data", "list", "--json").stdout)
    assert {"sms", "kjv_asv", "made_trains"} <= {one["name"] for one in listed}
    assert all(one["licence"] and one["citation"] for one in listed)
    shown = touchstone("data", "show", "made_trains")
    assert "600" in shown.stdout
    assert touchstone("data", "verify", "made_trains", "made_weather").returncode == 0
