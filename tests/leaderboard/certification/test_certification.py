"""Submissions that `touchstone wrap` writes, and what `touchstone certify` finds in libraries that are installed."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from sacrebleu.metrics import TER

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.evaluation.open_metric import open_metric
from harness.sandbox.limits import Limits
from leaderboard.certification.checks import Certificate, CheckResult, Verdict, certify_target, target_entry
from leaderboard.certification.report import to_junit, to_markdown, to_matrix
from leaderboard.certification.wrappers import LIBRARIES, find_target, submission_source
from leaderboard.workflows.parity import make_pairs
from tests.support.command import touchstone


def verdicts(name: str) -> dict[str, CheckResult]:
    return {result.check: result for result in certify_target(find_target(name), Limits(), NoProgress()).results}


def failed(name: str) -> set[str]:
    return {check for check, result in verdicts(name).items() if result.verdict is Verdict.FAILED}


@pytest.mark.parametrize("name", [f"{library}:{metric}" for library, calls in LIBRARIES.items() for metric in calls.metrics]
                         + ["cross-encoder:owner/name", "sentence-transformers:owner/name", "bert-score:owner/name", "torchmetrics==1.9.0:CHRFScore", "evaluate:rouge"])
def test_a_written_submission_has_a_valid_header_and_compiles(name):
    target = find_target(name)
    compile(submission_source(target), name, "exec", dont_inherit=True)
    assert target.requirement in target_entry(target).header.dependencies


@pytest.mark.parametrize(("name", "sentence"), [
    ("sklearn:pipeline.pkl", r"\(\.pkl\) cannot be wrapped: reading a pickle executes code"), ("sacrebleu", "does not name a library and a metric"),
    ("sacrebleuu:TER", 'Did you mean "sacrebleu"'), ("sacrebleu:TERR", 'Did you mean "TER"'), ("evaluate:bleurt", "downloads the code of \"bleurt\""),
    ("sacrebleu==:TER", "does not name"), ("sacrebleu==x y:TER", "is not a package with a version")])
def test_what_cannot_be_wrapped_is_refused(name, sentence):
    with pytest.raises(TouchstoneError, match=sentence):
        find_target(name)


def test_the_command_writes_a_submission_that_gives_the_scores_of_the_library(tmp_path):
    path = tmp_path / "ter.py"
    done = touchstone("wrap", "sacrebleu:TER", "--to", path)
    assert done.returncode == 0, done.stderr
    a, b = make_pairs(20)
    with open_metric(path) as metric:
        np.testing.assert_array_equal(metric.pair_scores(a, b), [TER().sentence_score(y, [x]).score for x, y in zip(a, b, strict=True)])
    again = touchstone("wrap", "sacrebleu:TER", "--to", path)
    assert again.returncode == 2
    assert "exists" in again.stderr


@pytest.mark.parametrize("metric", LIBRARIES["sacrebleu"].metrics)
def test_no_false_alarm_on_sacrebleu(metric):
    assert failed(f"sacrebleu:{metric}") == set()


def test_rouge_score_gives_0_to_identical_texts_that_are_not_latin():
    results = verdicts("rouge-score:rougeL")
    finding = results["identity in 12 scripts"]
    assert finding.verdict is Verdict.FAILED
    assert "Greek: identical texts score 0" in finding.sentence
    assert "(11 cases)" in finding.sentence            # all but Latin
    printed: list[float] = []
    exec(finding.code.replace("print(", "printed.append("), {"printed": printed})     # the lines reproduce it
    assert printed == [0.0]
    assert results["reference"].verdict is Verdict.PASSED


def test_nltk_has_another_chrf():
    assert failed("nltk:sentence_chrf") == {"reference"}


def test_bert_score_depends_on_the_batch():
    results = verdicts("bert-score:F1")
    assert results["batch invariance"].verdict is Verdict.FAILED
    assert results["identity in 12 scripts"].verdict is not Verdict.FAILED       # it is the model that has no such words


def test_a_metric_that_fails_on_every_call_fails_every_check(monkeypatch):
    target = find_target("jiwer:wer")._replace(requirement="numpy", call=LIBRARIES["rapidfuzz"].metrics["ratio"].__class__("import math", "math.sqrt(-1)"))
    certificate = certify_target(target, Limits(), NoProgress())
    assert {result.verdict for result in certificate.results if result.check not in ("range",)} == {Verdict.FAILED}
    assert "math domain error" in certificate.failures[0].sentence


def test_reports():
    certificate = Certificate("lib==1", "m", (CheckResult("identity", Verdict.PASSED, "fine"), CheckResult("range", Verdict.FAILED, "a | b <\x00", "print(1)"),
                                              CheckResult("cost", Verdict.INFORMATION, "1 s")))
    root = ElementTree.fromstring(to_junit([certificate]))
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [("lib==1:m", "3", "1")]
    (failure,) = root.iter("failure")
    assert (failure.get("message"), failure.text) == ("a | b <\ufffd", "print(1)")
    assert "| range | failed | a \\| b \\<" in to_markdown(certificate)
    assert "| lib==1 | m | passed | **failed** |" in to_matrix([certificate])


def test_the_command_exits_with_1_if_a_check_fails_and_2_if_a_version_cannot_be_installed(tmp_path):
    junit, report = tmp_path / "report.xml", tmp_path / "report.md"
    assert touchstone("certify", "rouge-score==0.1.2", "rouge2", "--junit", junit, "--to", report).returncode == 1
    assert ElementTree.parse(junit).getroot()[0].get("name") == "rouge-score==0.1.2:rouge2"
    assert "identical texts score 0" in report.read_text()
    missing = touchstone("certify", "sacrebleu==999.0", "TER", environment={"TOUCHSTONE_CACHE": str(tmp_path)})
    assert (missing.returncode, "Traceback" in missing.stderr) == (2, False)
    assert "cannot be built" in missing.stderr
