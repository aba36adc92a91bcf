"""What a submitter wants to know before submitting: is the file right, does it behave, how fast is it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.base.errors import Refusal
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.base.units import Source
from harness.environments.environment import prepare
from harness.evaluation.assignment import Conditions, Question
from harness.evaluation.executor import Desk
from harness.evaluation.input_encoder import Inputs
from harness.evaluation.loop import announce
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context, Measures
from harness.models.package_index import fetch_models
from harness.models.vector_cache import EmbeddingCache
from harness.results.outcomes import Failure
from harness.sandbox.layers import Confinement
from harness.sandbox.limits import Limits
from harness.sandbox.probe import confine
from harness.submission.submission import Entry
from tasks.corpus.known_similarity import Level
from tasks.data import loading as data
from tasks.properties.axioms import DOMAINS, Trials, Verdict, describe, worst_cases
from tasks.registry import TASKS

SEED = 7
TRIALS = 3
SECONDS_PER_UNIT = 10.0


@dataclass(frozen=True)
class Report:
    """What was found out about one entry."""

    entry: Entry
    axioms: Measures | None                 # None: no trial got through
    worst: dict[str, Verdict]
    accuracy: float | None                  # A on corpora made here; None: not to be had
    calls_per_second: float | None          # at n=100
    seconds_on_core: float | None
    has_matrix: bool
    failures: tuple[Failure, ...]
    refused: tuple[tuple[str, str], ...]    # what it tried that the walls refuse, and in which line
    seconds: float

    @property
    def sound(self) -> bool:
        return not self.failures and self.axioms is not None and self.axioms.values["finite_when_awkward"] == 1


def conditions(entries: Sequence[Entry], trust: bool, progress: Progress) -> Conditions:
    """What a submission is checked under: its environment is made if it needs one, and its time is short."""
    fetch_models((name for entry in entries for name in entry.header.models), progress)
    environments, refused = prepare(entries, Limits(), progress)
    if refused:
        raise Refusal(refused[0])
    return Conditions(confine(trust), Limits(seconds_per_unit=SECONDS_PER_UNIT), environments, watched=True)


def check_all(entries: Sequence[Entry], suite: Suite, trust: bool, progress: Progress) -> tuple[list[Report], Confinement]:
    """A report on every entry of a submission, and behind which walls they were made."""
    made = conditions(entries, trust, progress)
    return [check(entry, suite, made, progress) for entry in entries], made.confinement


def check(entry: Entry, suite: Suite, conditions: Conditions, progress: Progress) -> Report:
    """Asks one entry a few axioms and one known-similarity collection, on texts made here; stores nothing."""
    started = time.monotonic()
    axioms, similarity = questions(suite.model)
    cache = EmbeddingCache(suite.model.name, cache_folder())
    announce([(entry, question) for question in (*axioms, similarity)], cache, progress, 2)
    desk, inputs = Desk(conditions), Inputs(cache)
    failures: list[Failure] = []
    seen: list[Trials] = []
    accuracy = rate = on_core = None
    try:
        for question in axioms:
            outcome = desk.ask(entry, question, inputs)
            if outcome.failure is not None:
                failures.append(outcome.failure)
                break
            seen.append(outcome.observation)
        if seen and similarity.task.meant_for(entry):
            outcome = desk.ask(entry, similarity, inputs)
            if outcome.failure is not None:
                failures.append(outcome.failure)
            else:
                accuracy = similarity.task.measure(similarity.unit, outcome.observation).values["accuracy"]
                rate = (2 * len(outcome.observation.forward) - outcome.observation.mirrored) / outcome.seconds
                sizes = [one.unit.parameters["k"] for one in suite.questions if one.task.name == similarity.task.name]
                on_core = sum(k * (k - 1) for k in sizes) / rate
    finally:
        desk.close()
    has_matrix = any(trial.axiom == "matrix_agrees" for one in seen for trial in one.trials)
    return Report(entry, merged(axioms, seen), worst_cases(seen), accuracy, rate, on_core, has_matrix, tuple(failures),
                  tuple(desk.noticed), time.monotonic() - started)


def questions(model: Source) -> tuple[list[Question], Question]:
    """Three trials of the axioms, and one collection of 7 corpora of 100 made texts."""
    context = Context(SEED, model, {name: data.fingerprint(name) for name in DOMAINS})
    axioms, similarity = TASKS["axioms"], TASKS["known_similarity"]
    trials = axioms.units(axioms.settings_form.model_validate({"trials": TRIALS}), context)
    collection = similarity.units(similarity.settings_form.model_validate(
        {"pairs": (("made_weather", "made_trains"),), "levels": (Level(k=7, n=100),), "repetitions": 1}), context)
    return [Question(axioms, unit) for unit in trials], Question(similarity, next(iter(collection)))


def merged(questions: Sequence[Question], seen: Sequence[Trials]) -> Measures | None:
    """The axioms over all trials together."""
    if not seen:
        return None
    whole = Trials(tuple(trial for one in seen for trial in one.trials), seen[0].scale, seen[0].low, seen[0].high)
    return questions[0].task.measure(questions[0].unit, whole)


def advice(report: Report) -> list[str]:
    """What a submitter can do about what was found."""
    header, said = report.entry.header, []
    shares: dict[str, Any] = dict(report.axioms.values) if report.axioms else {}
    if report.accuracy is not None and report.accuracy < 0.4:
        said.append(f'The distance falls as the corpora grow apart (A = {report.accuracy:.2f}, chance is 0.5): is '
                    f'`returns = "{header.returns}"` the wrong way round?')
    if header.symmetric and shares.get("symmetric", 1) < 1:
        said.append("The header claims `symmetric = true`, and it is not: correct the claim or the metric.")
    if not header.symmetric and shares.get("symmetric") == 1:
        said.append("It looks symmetric; the header may say `symmetric = true`.")
    if shares.get("within_range", 1) < 1:
        said.append(f"Answers lie outside the declared range {list(header.range)}: widen the range or clip.")
    if header.repeatable and shares.get("repeatable", 1) < 1:
        said.append("The same question gets different answers: draw from NumPy's or Python's global generator, which is seeded "
                    "before every call, or say `repeatable = false`.")
    if header.kind == "text" and not report.has_matrix and report.calls_per_second is not None and report.calls_per_second < 200:
        said.append("A function `matrix(a, b)` that answers all pairs at once would make it much faster on corpora.")
    if shares.get("company", 1) < 1 or shares.get("order_of_calls", 1) < 1:
        said.append("Answers depend on what else is asked: such a metric is shown, not ranked.")
    if report.refused:
        tries = ", ".join(f"{what} (line {place.rpartition(':')[2]})" for what, place in report.refused)
        said.append(f"It tried to {tries}. A metric is kept from that: it has its libraries, its models, an empty folder of its "
                    "own, and nothing else.")
    if shares.get("finite_when_awkward", 1) < 1:
        said.append("Awkward inputs (empty texts, identical corpora, ...) do not get finite numbers; each would cost a unit.")
    return said


def check_json(report: Report) -> dict[str, Any]:
    return {
        "name": report.entry.name, "digest": report.entry.digest, "sound": report.sound,
        "axioms": dict(report.axioms.values) if report.axioms else None,
        "worst": {axiom: describe(verdict) for axiom, verdict in report.worst.items()},
        "accuracy_on_made_texts": report.accuracy, "calls_per_second": report.calls_per_second,
        "seconds_on_core": report.seconds_on_core, "failures": [str(failure) for failure in report.failures],
        "refused": [{"tried": what, "place": place} for what, place in report.refused],
        "advice": advice(report), "seconds": report.seconds,
    }
