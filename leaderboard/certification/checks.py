"""Check a library's metric: identity in many scripts, batches, unusual input, range, and agreement with a reference."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from harness.base.errors import TouchstoneError, printable
from harness.base.paths import SUBMISSIONS
from harness.base.progress import Progress
from harness.evaluation.open_metric import OpenMetric, open_metric
from harness.sandbox.limits import Limits
from harness.submission.header import read_header
from harness.submission.selection import select_entries
from harness.submission.submission import Entry, Submission
from leaderboard.certification.wrappers import Target, submission_name, submission_source
from leaderboard.workflows.parity import make_pairs

TOLERANCE = 1e-6                            # of answers, relative to the width of the range or to the largest answer
PAIRS, TIMED = 200, 1_000
SCRIPTS = {
    "Latin": ("The early train leaves at nine.", "Nobody has watered the garden."),
    "Greek": ("Το πρώτο τρένο φεύγει στις εννέα.", "Κανείς δεν πότισε τον κήπο."),
    "Cyrillic": ("Первый поезд отправляется в девять.", "Никто не полил сад."),
    "Arabic": ("يغادر القطار الأول في الساعة التاسعة.", "لم يسق أحد الحديقة."),
    "Hebrew": ("הרכבת הראשונה יוצאת בתשע.", "איש לא השקה את הגינה."),
    "Devanagari": ("पहिलो रेल नौ बजे छुट्छ।", "कसैले बगैंचामा पानी हालेको छैन।"),
    "Bengali": ("প্রথম ট্রেন নয়টায় ছাড়ে।", "কেউ বাগানে জল দেয়নি।"),
    "Thai": ("รถไฟขบวนแรกออกเก้าโมง", "ไม่มีใครรดน้ำสวน"),
    "Chinese": ("第一班火车九点开。", "没有人给花园浇水。"),
    "Japanese": ("始発列車は九時に出る。", "誰も庭に水をやらなかった。"),
    "Korean": ("첫 기차는 아홉 시에 떠난다.", "아무도 정원에 물을 주지 않았다."),
    "Georgian": ("პირველი მატარებელი ცხრაზე გადის.", "ბაღი არავის მოურწყავს."),
}
AWKWARD = {
    "an empty text and a text": ("", "A train."), "a text and an empty text": ("A train.", ""), "two empty texts": ("", ""),
    "white space": (" \t\n", "A train."), "punctuation": ("...", "?!"), "one character": ("a", "b"),
    "emoji": ("🚂 🕘", "👩‍👩‍👧‍👦 🏳️‍🌈"), "combining characters": ("a" + "\u0301" * 50, "e\u0301"),
    "invisible characters": ("\u200b\u200b", "\ufeff"), "characters outside the basic plane": ("𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐍈𐍉"),
    "a NUL character": ("a\0b", "a b"), "one long word": ("x" * 3_000, "y" * 3_000),
    "a long text": ("A train leaves. " * 150, "A train."),
}


class Verdict(StrEnum):
    """The result of a check."""

    PASSED = "passed"
    FAILED = "failed"
    INFORMATION = "information"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check, with a counterexample where it failed."""

    check: str
    verdict: Verdict
    sentence: str
    code: str = ""                          # lines that reproduce it, where a call of the library does


@dataclass(frozen=True)
class Certificate:
    """All results for one metric of a library."""

    library: str                            # with its version
    metric: str
    results: tuple[CheckResult, ...]

    @property
    def failures(self) -> list[CheckResult]:
        """The failed checks."""
        return [result for result in self.results if result.verdict is Verdict.FAILED]


def target_entry(target: Target) -> Entry:
    """Return the entry of the submission that calls the metric."""
    source = submission_source(target).encode()
    filename = f"{submission_name(target)}.py"
    return Submission(filename, source, read_header(source, filename)).entries[0]


def certify_target(target: Target, limits: Limits, progress: Progress) -> Certificate:
    """Run all checks on a library's metric, in the sandbox and with the library in its own environment."""
    entry = target_entry(target)
    with open_metric(entry, limits=limits, progress=progress) as metric:
        session = Certification(target, metric)
        checks: list[Callable[[], CheckResult]] = [
            session.identity_in_scripts, session.identity, session.batch, session.repeatable, session.unusual_input,
            session.in_range, session.unicode_forms, session.cost]
        stage = progress.stage("Checking", len(checks) + 1, "checks")
        try:
            results = []
            for check in checks:
                results.append(check())
                stage.advance()
            if target.call.reference is not None:
                results.append(session.reference(reference_scores(target.call.reference, progress)))
            stage.advance()
        finally:
            stage.close()
    return Certificate(target.requirement, target.metric, tuple(results))


def reference_scores(name: str, progress: Progress) -> np.ndarray:
    """Return the scores of our entry on the synthetic pairs."""
    with open_metric(select_entries([name], SUBMISSIONS)[0], progress=progress) as metric:
        return metric.pair_scores(*make_pairs(PAIRS))


class Certification:
    """The checks of one open metric; every one is a method that returns its result."""

    def __init__(self, target: Target, metric: OpenMetric) -> None:
        self.target, self.metric, call = target, metric, target.call
        self.low, self.high = call.low, call.high
        self.a, self.b = make_pairs(PAIRS)
        self.answers: list[np.ndarray] = []

    @property
    def scale(self) -> float:
        """The width of the range, or the largest answer if the range is unbounded."""
        if np.isfinite([self.low, self.high]).all():
            return self.high - self.low
        return max(1.0, *(float(np.abs(values).max(initial=0)) for values in self.answers))

    def scores(self, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
        """Return similarities (distances are negated) of pairs."""
        values = self.metric.pair_scores(a, b)
        self.answers.append(values)
        return values if self.target.call.returns == "similarity" else -values

    def code(self, *pairs: tuple[str, str]) -> str:
        """Return the lines that print the scores of pairs."""
        call = self.target.call
        if call.together or call.models:
            return ""
        lines = [call.imports, *([call.setup] if call.setup else []), f"for x, y in {list(pairs)!r}:", f"    print({call.score})"]
        return "\n".join(lines)

    def result(self, check: str, failures: Sequence[str], passed: str, code: str = "") -> CheckResult:
        """Return a failed check if there are failures, else a passed one."""
        if not failures:
            return CheckResult(check, Verdict.PASSED, passed)
        more = f" ({len(failures)} cases)" if len(failures) > 1 else ""
        return CheckResult(check, Verdict.FAILED, f"{failures[0]}{more}", code)

    def identity_in_scripts(self) -> CheckResult:
        """A text is closer to itself than to another text, in every script."""
        failures: list[str] = []
        example: tuple[str, str] | None = None
        for script, (x, y) in SCRIPTS.items():
            with refusals(failures, script):
                same, other = self.scores([x, x], [x, y])
                if same <= other + TOLERANCE:
                    failures.append(f"{script}: identical texts score {abs(same):.4g}, different texts {abs(other):.4g}")
                    example = example or (x, x)
        result = self.result("identity in 12 scripts", failures, "identical texts are closer than different texts",
                             self.code(example) if example else "")
        if failures and self.target.call.models:        # the vocabulary of the model, not of the library
            return CheckResult(result.check, Verdict.INFORMATION, f"with this model, {result.sentence}")
        return result

    def identity(self) -> CheckResult:
        """No text is closer to a text than that text itself."""
        with self.failing("identity") as failed:
            same, other = self.scores(self.a, self.a), self.scores(self.a, self.b)
            rows = np.flatnonzero(other > same + TOLERANCE * self.scale).tolist()
            failures = [f"{quoted(self.a[row])} scores {abs(same[row]):.4g} with itself and {abs(other[row]):.4g} with "
                        f"{quoted(self.b[row])}" for row in rows]
            return self.result("identity", failures, f"no text is closer than the text itself, on {PAIRS} pairs",
                               self.code((self.a[rows[0]], self.a[rows[0]]), (self.a[rows[0]], self.b[rows[0]])) if rows else "")
        return failed[0]

    def batch(self) -> CheckResult:
        """The score of a pair does not depend on the other pairs of a call."""
        with self.failing("batch invariance") as failed:
            together = self.scores(self.a, self.b)
            alone = np.array([self.scores([x], [y])[0] for x, y in zip(self.a, self.b, strict=True)])
            differences = np.abs(together - alone)
            rows = np.flatnonzero(differences > TOLERANCE * self.scale).tolist()
            row = int(np.argmax(differences))
            failures = [f"{quoted(self.a[row])} and {quoted(self.b[row])} score {abs(together[row]):.6g} in a call with {PAIRS} "
                        f"pairs and {abs(alone[row]):.6g} alone"] * bool(rows)
            result = self.result("batch invariance", failures, f"scores of {PAIRS} pairs are the same in one call and alone")
            return CheckResult(result.check, result.verdict, result.sentence + (f"; {len(rows)} pairs differ" if rows else ""))
        return failed[0]

    def repeatable(self) -> CheckResult:
        """Repeated calls return equal scores, in any order of the pairs."""
        with self.failing("repeatability") as failed:
            first, again = self.scores(self.a, self.b), self.scores(self.a[::-1], self.b[::-1])[::-1]
            rows = np.flatnonzero(np.abs(first - again) > TOLERANCE * self.scale).tolist()
            failures = [f"{quoted(self.a[row])} and {quoted(self.b[row])} score {abs(first[row]):.6g}, then {abs(again[row]):.6g}"
                        for row in rows]
            return self.result("repeatability", failures, "repeated calls return equal scores, in any order")
        return failed[0]

    def unusual_input(self) -> CheckResult:
        """Unusual texts raise nothing and have a finite score."""
        failures: list[str] = []
        example = None
        for what, (x, y) in AWKWARD.items():
            before = len(failures)
            with refusals(failures, what):
                self.scores([x], [y])
            if len(failures) > before and example is None:
                example = (x, y)
        return self.result("unusual input", failures, f"{len(AWKWARD)} unusual pairs have finite scores",
                           self.code(example) if example else "")

    def in_range(self) -> CheckResult:
        """All scores so far are in the documented range."""
        values = np.concatenate(self.answers) if self.answers else np.zeros(0)
        outside = values[(values < self.low - TOLERANCE * self.scale) | (values > self.high + TOLERANCE * self.scale)]
        failures = [f"a score is {value:.6g}; the range is {self.low:g} to {self.high:g}" for value in outside.tolist()]
        return self.result("range", failures, f"all scores are from {self.low:g} to {self.high:g}")

    def unicode_forms(self) -> CheckResult:
        """Report the score of a text and its canonically equivalent form."""
        with self.failing("Unicode normalization") as failed:
            composed = "Café, naïve, Ångström: déjà vu."
            decomposed = unicodedata.normalize("NFD", composed)
            equivalent, same = self.scores([composed] * 2, [decomposed, composed])
            return CheckResult("Unicode normalization", Verdict.INFORMATION, f"a text and its decomposed form (NFD) score "
                               f"{abs(equivalent):.4g}; the text and itself {abs(same):.4g}")
        return failed[0]

    def cost(self) -> CheckResult:
        """Report time and memory."""
        with self.failing("cost") as failed:
            a, b = make_pairs(TIMED)
            started = time.perf_counter()
            self.scores(a, b)
            seconds, peak = time.perf_counter() - started, self.metric.peak_memory()
            memory = "unknown" if peak is None else f"{peak / 1e6:.0f} MB"
            return CheckResult("cost", Verdict.INFORMATION, f"{TIMED:,} pairs take {seconds:.3g} s; peak memory {memory}")
        return failed[0]

    def reference(self, expected: np.ndarray) -> CheckResult:
        """Compare the scores with those of the definition that users of the name expect."""
        with self.failing("reference") as failed:
            name, call = self.target.call.reference, self.target.call
            values = self.scores(self.a, self.b) / (call.high if np.isfinite(call.high) else 1)
            differences = np.abs(values - expected)
            row, differing = int(np.argmax(differences)), int((differences > TOLERANCE).sum())
            failures = [f"{differing} of {PAIRS} pairs differ from `{name}`, by up to {differences[row]:.4f}: "
                        f"{quoted(self.a[row])} and {quoted(self.b[row])} score {values[row]:.4f}, the reference "
                        f"{expected[row]:.4f}"] * bool(differing)
            return self.result("reference", failures, f"equal to `{name}` on {PAIRS} pairs",
                               self.code((self.a[row], self.b[row])))
        return failed[0]

    @contextmanager
    def failing(self, check: str) -> Iterator[list[CheckResult]]:
        """Yield a list that gets the failed check if a call fails."""
        failed: list[CheckResult] = []
        try:
            yield failed
        except TouchstoneError as error:
            failed.append(CheckResult(check, Verdict.FAILED, reason_of(error)))


@contextmanager
def refusals(failures: list[str], what: str) -> Iterator[None]:
    """Record a call that fails."""
    try:
        yield
    except TouchstoneError as error:
        failures.append(f"{what}: {reason_of(error)}")


def reason_of(error: TouchstoneError) -> str:
    """Return why a call failed, without the name of the submission, which the user did not write."""
    return str(error).partition(" failed: ")[2].rstrip(".") or str(error)


def quoted(text: str) -> str:
    """Return the beginning of a text in quotation marks, safe to print."""
    return f'"{printable(text, 60)}"'
