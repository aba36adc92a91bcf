"""Controls on the text tasks: what `random`, the constants and `length_difference` score is what each task declares as chance, or says why not.

Their own files answer here, for many made questions, so that the noise is small; what they score on a suite is in test_usmb.
"""

from __future__ import annotations

import numpy as np
import pytest

from tasks.common.consistency import RecheckedAnswer
from tasks.registry import TASKS
from tasks.text import alignment, clustering, human_ordering, retrieval, robustness, sensitivity
from tests.support.corpora import Direct
from tests.support.text_answers import SIMILARITY, under, unit

DOCUMENTS = 4_000
ALL = (RecheckedAnswer((0, 0), 1.0, 1.0, 1.0),)


class Control:
    """A control, and what it says of so many pairs: what the texts are is nothing to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._similarity = Direct(name.split("[")[0], **({"value": 0.875} if "[" in name else {})).functions["similarity"]

    def answers(self, *shape: int) -> np.ndarray:
        texts = ["a text"] * int(np.prod(shape))
        return np.asarray(self._similarity(texts, texts)).reshape(shape)

    @property
    def random(self) -> bool:
        return self.name == "random"


@pytest.fixture(params=["random", "constant", "constant[0.875]"])
def control(request) -> Control:
    made = Control(request.param)
    np.random.seed(11)                      # noqa: NPY002  # as the worker does before each call
    return made


def rows(table: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, table.tolist()))


def test_alignment(control):
    """One half: of choices, and of 0.5(1 + r), where a constant's correlation is unknown and counts as 0."""
    people = np.random.default_rng(1).random(DOCUMENTS)
    places, chosen = tuple(range(DOCUMENTS)), tuple((people > 0.5).astype(int).tolist())
    words = ((9, 9),) * DOCUMENTS
    rated = alignment.AlignmentAnswers(places, tuple(control.answers(DOCUMENTS).tolist()), (), {"overall": tuple(people.tolist())}, (), words,
                                       SIMILARITY, ())
    compared = alignment.AlignmentAnswers(places, tuple(control.answers(DOCUMENTS).tolist()), tuple(control.answers(DOCUMENTS).tolist()), {}, chosen,
                                          words, SIMILARITY, ())
    span = {"start": 0, "stop": DOCUMENTS, "documents": DOCUMENTS}
    values = under(TASKS["alignment"], [unit("alignment", kind="axis", **span), unit("alignment", kind="comparisons", **span)], [rated, compared],
                  draws=2)
    # sd of r is .016, halved; of an accuracy .008; halved again in the mean
    assert values["score"] == pytest.approx(TASKS["alignment"].info.chance, abs=1e-12 if not control.random else 0.02)
    assert TASKS["alignment"].info.chance == 0.5


def test_robustness(control):
    """A random order of .05, .25, .25 by combinatorics; a constant nothing, since an order must be strict."""
    observation = robustness.RobustnessAnswers(tuple(range(DOCUMENTS)), rows(control.answers(DOCUMENTS, len(robustness.CONDITIONS))), (False,) * DOCUMENTS,
                                        SIMILARITY, ())
    values = under(TASKS["robustness"], [unit("robustness", start=0, stop=DOCUMENTS)], [observation], draws=2)
    if control.random:
        assert values["score"] == pytest.approx((0.05 + 0.25 + 0.25) / 3, abs=0.012)         # sd at most .004
        assert values["superficial_over_semantic"] == pytest.approx(1 / 20, abs=0.014)       # 1 of 6!/(3! 3!) parted orders
        assert TASKS["robustness"].info.chance == pytest.approx((0.05 + 0.25 + 0.25) / 3)
    else:
        assert values["score"] == 0


def test_sensitivity(control):
    """The best constant is chance; a random answer misses an ideal t by (t^2 + (1 - t)^2)/2, which is more."""
    count = len(sensitivity.CONDITIONS)
    observation = sensitivity.SensitivityAnswers(tuple(range(DOCUMENTS)), (1.0,) * DOCUMENTS, rows(control.answers(DOCUMENTS, count)),
                                          ((False,) * count,) * DOCUMENTS, SIMILARITY, ())
    score = under(TASKS["sensitivity"], [unit("sensitivity", start=0, stop=DOCUMENTS)], [observation], draws=2)["score"]
    chance = TASKS["sensitivity"].info.chance
    if control.name == "constant[0.875]":
        assert score == pytest.approx(chance)
    elif control.name == "constant":
        assert score < chance - 0.1
    else:
        ideal, published = sensitivity.IDEAL, sensitivity.IS_PUBLISHED
        missed = (ideal ** 2 + (1 - ideal) ** 2) / 2
        assert score == pytest.approx(1 - (missed[published].mean() + missed[~published].mean()) / 2, abs=0.003)
        assert score < chance


def test_clustering(control):
    """No adjusted information: 0 of a random order in the mean of many samples; of a constant unknown, which counts as 0."""
    labels = np.random.default_rng(2).integers(0, 5, 120)
    observations = [clustering.ScoreMatrix(control.answers(120, 120), tuple(labels.tolist()), SIMILARITY, ALL) for _ in range(30 if control.random else 1)]
    scores = [TASKS["clustering"].measure(unit("clustering"), observation).score for observation in observations]
    if control.random:
        assert np.mean(scores) == pytest.approx(TASKS["clustering"].info.chance, abs=4 * np.std(scores) / np.sqrt(30))
    else:
        assert scores == [None]
    assert TASKS["clustering"].info.chance == 0


def test_retrieval(control):
    """n of N: what is relevant is found as often as it is there."""
    relevant = tuple((index, index + 40) for index in range(40)) * 10
    observation = retrieval.RetrievalScores(control.answers(400, 80), relevant, SIMILARITY, ALL)
    units = [unit("retrieval", condition=condition, queries=400) for condition in retrieval.CONDITIONS]
    values = under(TASKS["retrieval"], units, [observation] * len(units), draws=2)
    assert TASKS["retrieval"].chance(units, [observation] * len(units)) == pytest.approx(2 / 80)
    assert values["score"] == pytest.approx(2 / 80, abs=0.022 if control.random else 1e-12)     # sd .0055


def test_human_ordering(control):
    people = tuple(np.random.default_rng(3).random(DOCUMENTS).tolist())
    observation = human_ordering.RatedAnswers(tuple(range(DOCUMENTS)), tuple(control.answers(DOCUMENTS).tolist()), people, ((),) * DOCUMENTS, SIMILARITY, ())
    values = human_ordering.measure_correlations(observation, np.ones((1, DOCUMENTS)))
    if control.random:
        assert values["spearman"][0] == pytest.approx(TASKS["human_ordering"].info.chance, abs=0.065)       # sd .016
    else:
        assert np.isnan(values["spearman"]).all()           # unknown, which counts as chance
    assert TASKS["human_ordering"].info.chance == 0


def test_the_difference_of_lengths_wins_what_depends_on_length_alone():
    """Of tokens of one length: near the ideal where the length changes, blind where it does not, and never below a typing error."""
    count = 100
    text = " ".join(["word"] * count)
    forms = [text if c.kind == sensitivity.REPLACEMENT else " ".join(["word"] * round(count * (1 + c.size if c.kind == sensitivity.INSERTION else 1 - c.size)))
             for c in sensitivity.CONDITIONS]
    similarity = Direct("length_difference").functions["similarity"]
    similarities = similarity([text] * len(forms), forms)
    observation = sensitivity.SensitivityAnswers((0,), (1.0,), rows(similarities[None, :]), ((False,) * len(forms),), SIMILARITY, ())
    values = under(TASKS["sensitivity"], [unit("sensitivity", start=0, stop=1)], [observation], draws=2)
    # it misses insertions alone, the ideals being 1 - x/2: .023 .041 .075 .083 0, and nothing of the four removals
    missed = [(1 - x / 2) - 1 / (1 + x) for x in (0.05, 0.1, 0.25, 0.5, 1.0)]
    assert values["changed_length"] == pytest.approx(1 - sum(missed) / 9, abs=0.002)        # tokens are whole
    assert values["changed_length"] > 0.97
    assert values["constant_length"] == pytest.approx(1 - (0.05 + 0.1 + 0.25 + 0.5) / 4)
    assert values["constant_length"] < 0.85                                                 # the constant .875 is better there
