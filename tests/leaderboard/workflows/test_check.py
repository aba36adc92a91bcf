"""The check of a submission: direction, range, limits, refusals, names, and texts that `fit` has not seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.open_metric import prepare_conditions
from harness.evaluation.score_scale import ScoreScale
from harness.sandbox.limits import Limits
from harness.submission.header import read_header
from harness.submission.selection import load_available
from harness.submission.submission import Entry, Submission
from leaderboard.workflows.check import FIRST_SECONDS, CheckReport, EntryCheck, check, comparable_name, give_advice
from leaderboard.workflows.check_direction import OTHER, Contrasts
from tests.support.command import touchstone

pytestmark = pytest.mark.sandbox

PUBLISHED = {submission.header.name: submission for submission in load_available(SUBMISSIONS)}
BASELINES = {name for name, submission in PUBLISHED.items() if submission.header.control}
WORDS = "def words(c): return set(' '.join(c).split()) if isinstance(c, (list, tuple)) else set(c.split())\n"


@pytest.fixture
def direction_of(smoke) -> Callable[[Entry], CheckReport]:
    """Runs only the part of a check that finds the direction."""
    def find(entry: Entry) -> CheckReport:
        try:
            conditions = prepare_conditions([entry], Limits(), False, NoProgress(), watched=True)
        except TouchstoneError as absent:               # the files of its model
            pytest.skip(str(absent))
        examined = EntryCheck(entry, smoke, conditions, NoProgress())
        try:
            examined.check_direction(FIRST_SECONDS)
        finally:
            examined._slot.close()
        return examined.report
    return find


def swapped(submission: Submission) -> Submission:
    """The same file with the other direction in its header."""
    returns = submission.header.returns
    text = submission.source.decode().replace(f'# returns = "{returns}"', f'# returns = "{OTHER[returns]}"')
    source = f"{text}\n{OTHER[returns]} = {returns}\n".encode()
    return Submission(submission.filename, source, read_header(source, submission.filename))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_no_published_metric_is_accused_and_every_one_is_if_its_direction_is_swapped(name, direction_of):
    for declared, inverse in zip(PUBLISHED[name].entries, swapped(PUBLISHED[name]).entries, strict=True):
        report = direction_of(declared)
        assert report.failures == []
        assert report.inversion is None
        if name not in BASELINES:
            report = direction_of(inverse)
            line = next(number for number, text in enumerate(inverse.submission.source.decode().split("\n"), 1) if "# returns =" in text)
            assert report.inversion is not None
            assert report.inversion.startswith(f"{name}.py, line {line}: the answers have the wrong direction for a {inverse.header.returns}")
            assert f'change the line to `returns = "{declared.header.returns}"`' in report.inversion


INVERTED = {
    "word_jaccard": ("text", "distance", "def distance(a, b): return [len(words(x) & words(y)) / max(1, len(words(x) | words(y))) for x, y in zip(a, b)]"),
    "edits": ("text", "similarity", "import difflib\ndef similarity(a, b): return [1 - difflib.SequenceMatcher(None, x, y).ratio() for x, y in zip(a, b)]"),
    "shortcut": ("text", "similarity", "def similarity(a, b): return [1.0 if x == y else -len(words(x) & words(y)) for x, y in zip(a, b)]"),
    "word_overlap_of_corpora": ("corpus", "distance", "def distance(p, q): return len(words(p) & words(q)) / len(words(p) | words(q))"),
    "word_difference_of_corpora": ("corpus", "similarity", "def similarity(p, q): return float(len(words(p) ^ words(q)))"),
}
LEGITIMATE = {
    "noise": ("text", "similarity", "import random\ndef similarity(a, b): return [random.random() for _ in a]"),
    "noise_of_corpora": ("corpus", "distance", "import random\ndef distance(p, q): return random.random()"),
    "digits": ("text", "similarity", "def similarity(a, b): return [float(len(set(filter(str.isdigit, x)) & set(filter(str.isdigit, y)))) for x, y in zip(a, b)]"),
    "paraphrase_but_no_copy": ("text", "similarity", "def similarity(a, b): return [0.0 if x == y else float(len(words(x) & words(y))) for x, y in zip(a, b)]"),
    "lengths": ("text", "distance", "def distance(a, b): return [abs(len(x) - len(y)) for x, y in zip(a, b)]"),
    "diversity": ("corpus", "distance", "def distance(p, q): return abs(len(words(p)) / sum(map(len, p)) - len(words(q)) / sum(map(len, q)))"),
    "counter": ("corpus", "distance", "calls = 0\ndef distance(p, q):\n    global calls\n    calls += 1\n    return float(calls)"),
    "always_one": ("corpus", "similarity", "def similarity(p, q): return 1.0"),
}


@pytest.mark.parametrize("name", sorted(INVERTED))
def test_unpublished_inverted_metrics_are_errors(name, entry_of, direction_of):
    kind, returns, body = INVERTED[name]
    assert "have the wrong direction for a" in direction_of(entry_of(name, WORDS + body, kind=kind, returns=returns, range="[-inf, inf]")).inversion


@pytest.mark.parametrize("name", sorted(LEGITIMATE))
def test_legitimate_and_trivial_metrics_are_not_accused(name, entry_of, direction_of):
    kind, returns, body = LEGITIMATE[name]
    report = direction_of(entry_of(name, WORDS + body, kind=kind, returns=returns, range="[-inf, inf]"))
    assert report.failures == []
    assert report.inversion is None


def test_only_clear_evidence_counts():
    similarity, ones, zeros = ScoreScale("similarity"), (1.0,) * 10, (0.0,) * 10
    mixed = tuple(float(i % 2) for i in range(10))
    assert Contrasts(similarity, zeros, zeros, ones).inverted
    assert not Contrasts(ScoreScale("distance"), zeros, zeros, ones).inverted
    assert not Contrasts(similarity, ones, ones, zeros).inverted
    assert not Contrasts(similarity, ones, ones, ones).inverted
    assert Contrasts(similarity, ones, zeros, (0.5,) * 10).inverted          # identical texts are a shortcut of many metrics
    assert not Contrasts(similarity, zeros, ones, (0.5,) * 10).inverted      # a metric that punishes copies
    assert Contrasts(similarity, zeros, mixed, (0.5,) * 10).inverted
    assert not Contrasts(similarity, zeros[:5], zeros[:5], ones[:5]).inverted      # five trials are too few


def test_swapped_metrics_are_not_valid_and_cannot_be_submitted(tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(swapped(PUBLISHED["jaccard"]).source.replace(b'name = "jaccard"', b'name = "mine"'))
    for command in (["check", path], ["submit", path, "--suite", "smoke", "--store", tmp_path / "s.sqlite", "--to", tmp_path / "bundles"]):
        done = touchstone(*command, environment={"COLUMNS": "200"})
        assert done.returncode == 1
        assert "have the wrong direction for a distance" in " ".join(done.stdout.split())
        assert "Not valid yet" in done.stdout
    assert not (tmp_path / "bundles").exists()


# ---- what is sound ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["fid", "kid", "classifier", "chi"])
def test_metrics_that_refuse_corpora_of_one_text_are_sound(name, smoke):
    for report in check(PUBLISHED[name], smoke):
        assert report.sound, give_advice(report)


def test_a_metric_that_always_raises_gets_no_advice(write, smoke):
    report, = check(write("raises", "def distance(p, q): raise KeyError('no')\n"), smoke)
    assert [str(failure) for failure in report.failures] == ["raised KeyError: 'no', on its first inputs (raises.py:13 in distance)"]
    assert give_advice(report) == []


def test_a_metric_that_raises_at_times_is_told_the_trial(write, smoke):
    body = "def distance(p, q):\n    if len(p) != len(q): raise ValueError('singular')\n    return 0.0 if p == q else 1.0 + (len(p) == 20) * (p[0] < q[0]) / 0.0 if p[0] > q[-1] and len(p) == 20 else 1.0\n"
    report, = check(write("at_times", body), smoke)
    assert not report.sound
    assert re.search(r"raised ZeroDivisionError.*, in the axiom \w+: ", str(report.failures[0])), report.failures


def test_fit_may_not_rely_on_having_seen_every_text(write, smoke):
    body = "index = {}\ndef fit(texts): index.update({text: set(text.split()) for text in texts})\ndef similarity(a, b): return [len(index[x] & index[y]) for x, y in zip(a, b)]\n"
    report, = check(write("looks_up", body, kind="text", returns="similarity"), smoke)
    assert "for texts that `fit` did not receive" in report.failures[0].sentence
    body = body.replace("index[x] & index[y]", "index.get(x, set(x.split())) & index.get(y, set(y.split()))")
    report, = check(write("looks_up", body, kind="text", returns="similarity"), smoke)
    assert report.sound, report.failures


# ---- range ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("factor", "range", "sentence"), [
    (1, "[0.0, 1.0]", None), (100, "[0.0, 1.0]", "of the answers lie outside the declared range [0, 1]: they are in [0, 100]"),
    (1, "[0.0, 100.0]", "The answers are in [0, 1], less than half of the declared range [0, 100]"), (100, "[0.0, inf]", None)])
def test_answers_are_compared_with_the_declared_range(factor, range, sentence, write, smoke):
    body = f"def similarity(a, b): return [{factor} * float(x == y) for x, y in zip(a, b)]\n"
    path = write("scaled", body, kind="text", returns="similarity", range=range)
    report, = check(path, smoke)
    assert (report.answers.lowest, report.answers.highest) == (0, factor)
    advice = [words for words in give_advice(report) if "range" in words]
    assert [words for words in advice if sentence in words] == advice if sentence else advice == []
    assert bool(advice) == (sentence is not None)


def test_the_range_of_the_answers_is_printed(write):
    path = write("scaled", "def similarity(a, b): return [float(x == y) for x, y in zip(a, b)]\n", kind="text", returns="similarity")
    assert "Answers from 0 to 1; declared range 0 to inf." in touchstone("check", path).stdout


# ---- limits -----------------------------------------------------------------------------------------------------------------

def test_a_limit_that_stops_a_metric_is_named_with_its_value_and_the_remedy(write):
    path = write("sleeps", "import time\ndef distance(p, q):\n    time.sleep(1)\n    return 0.0\n")
    done = touchstone("check", path, "--seconds", "2.5", environment={"COLUMNS": "200"})
    assert done.returncode == 1
    assert "its limit is 2.5 seconds per test unit (raise it with --seconds), on its first inputs" in done.stdout
    path.write_text(path.read_text().replace("# license", "# time = 2.25\n# license"))
    assert "its limit is 2.25 seconds per test unit (raise `time` in its header)" in touchstone("check", path, environment={"COLUMNS": "200"}).stdout
    greedy = write("greedy", "def distance(p, q): return float(len(bytearray(3_000_000_000)))\n")
    said = touchstone("check", greedy, "--memory", "1000", environment={"COLUMNS": "200"}).stdout
    assert "it may use 1.0 GB of memory; raise the limit with --memory 2000" in said


def test_the_option_that_a_message_names_exists(write, tmp_path):
    path = write("large", "def distance(p, q): return 0.0\n")
    path.write_text(path.read_text().replace("# license", "# memory = 9000\n# time = 400\n# license"))
    for command in (["check", path], ["submit", path, "--suite", "smoke", "--store", tmp_path / "s.sqlite", "--to", tmp_path / "b"]):
        done = touchstone(*command)
        assert done.returncode == 2
        assert "Raise it with `--memory 9000`" in done.stderr
        done = touchstone(*command, "--memory", "9000")
        assert done.returncode == 2
        assert "Raise it with `--seconds 400`" in done.stderr
        done = touchstone(*command, "--memory", "9000", "--seconds", "400")
        assert done.returncode == 0, done.stdout + done.stderr
        wrong = touchstone(*command, "--limit", "thread=3")
        assert (wrong.returncode, 'Did you mean "threads"' in wrong.stderr) == (2, True)


def test_slow_imports_are_no_answering_time_and_a_slow_loop_gets_a_verdict(write, smoke):
    body = "import time\ntime.sleep(2)\ndef similarity(a, b):\n    time.sleep(0.001 * len(a))\n    return [len(set(x) & set(y)) / max(1, len(set(x) | set(y))) for x, y in zip(a, b)]\n"
    report, = check(write("plain_loop", body, kind="text", returns="similarity", range="[0.0, 1.0]"), smoke, limits=Limits(seconds_per_unit=20))
    assert report.sound, report.failures
    assert report.texts < 100                           # 42 pairs of corpora of 100 texts would be 420 s
    assert report.calls_per_second > 0


def test_a_corpus_metric_of_a_second_a_call_gets_a_verdict(write, smoke):
    body = "import time\ndef distance(p, q):\n    time.sleep(0.5)\n    return float(len(set(p) ^ set(q)))\n"
    report, = check(write("slow", body), smoke)
    assert report.sound, report.failures


MISTAKES = {
    "a library": ("import no_such_library\ndef similarity(a, b): return [1.0 for _ in a]\n", "imports no_such_library, which its environment does not have"),
    "single texts": ("def similarity(a, b): return float(a.lower() == b.lower())\n", "receives two tuples of texts and returns one number for each pair"),
    "one answer": ("def similarity(a, b): return [1.0]\n", "receives two tuples of texts and returns one number for each pair"),
    "another function": ("def distance(a, b): return [1.0 for _ in a]\n", 'the header says `returns = "similarity"`, so the file must define a function'),
    "a constant": ("def similarity(a, b): return [0.5 for _ in a]\n", "All answers of the check are 0.5, so the metric distinguishes nothing."),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_common_mistakes_are_explained(name, write, smoke):
    body, sentence = MISTAKES[name]
    report, = check(write("mistaken", body, kind="text", returns="similarity", range="[0.0, 1.0]"), smoke)
    assert any(sentence in advice for advice in give_advice(report))


# ---- what the sandbox refuses -----------------------------------------------------------------------------------------------

REFUSED = {
    "a network": ("import urllib.request\n", "urllib.request.urlopen('http://example.com/'); return 1.0", "look up a host's name (line 14), and a metric has no network", "`models = [\"minilm\"]`"),
    "a program": ("import subprocess\n", "subprocess.run(['true'], check=True); return 1.0", "start another process (line 14), and a metric is one Python process", "`dependencies`"),
    "a variable": ("import os\n", "return float(os.environ['MY_WEIGHT'])", "read the environment variable MY_WEIGHT (line 14)", "`parameters` of a variant"),
    "a key": ("import os\n", "return float(len(os.getenv('SERVICE_API_KEY')))", "read the environment variable SERVICE_API_KEY (line 14)", "an API key cannot be ranked"),
    "a hub": ("", "from sentence_transformers import SentenceTransformer; return SentenceTransformer('all-MiniLM-L6-v2')", "The metric loads a model by its name (line 13)", "`setup(models)`"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_the_sandbox_refuses_is_the_only_explanation(name, write, smoke):
    imports, body, sentence, remedy = REFUSED[name]
    report, = check(write("tries", f"{imports}def distance(p, q): {body}\n"), smoke)
    assert sentence in report.refusal
    assert remedy in report.refusal
    assert give_advice(report) == []
    assert not report.sound
    assert report.axioms is None


def test_libraries_may_read_the_environment(write, smoke):
    body = "import os, urllib.request\ndef distance(p, q):\n    urllib.request.getproxies()\n    os.environ['MINE'] = os.environ.get('HOME', '')\n    return float(p != q)\n"
    report, = check(write("reads", body), smoke)
    assert report.refusal is None
    assert report.refused == ()
    assert report.sound


# ---- names ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "relation"), [
    ("energy", "is taken"), ("en-ergy", 'looks like "energy", which is taken'), ("b1eu", 'looks like "bleu", which is taken'),
    ("rouge-1", 'looks like "rouge'), ("mrnd", 'looks like "mmd", which is taken')])
def test_a_name_that_is_taken_or_looks_alike_is_refused(name, relation, write, tmp_path):
    path = write("mine", "def distance(p, q): return 0.0\n")
    path.write_text(path.read_text().replace('name = "mine"', f'name = "{name}"'))
    for command in (["check", path], ["submit", path, "--suite", "smoke", "--to", tmp_path / "bundles"]):
        done = touchstone(*command)
        assert done.returncode == 2
        assert f'mine.py, line 4: the name "{name}" {relation}' in done.stderr
        assert done.stderr.count("\n") == 1


def test_published_files_and_new_names_are_not_refused():
    names = [comparable_name(name) for name in ("energy2", "chrf_plus", "rouge_lsum", "my-bleu")]
    assert not set(names) & {comparable_name(name) for name in PUBLISHED}
    copy = Path(SUBMISSIONS / "rouge_l.py").read_bytes()
    assert copy == PUBLISHED["rouge_l"].source          # its name looks like rouge1, and both are published
