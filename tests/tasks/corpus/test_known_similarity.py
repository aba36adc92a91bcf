"""Known-similarity corpora: the judgements, the measures, the draws, and a metric that cheats."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.submission.submission import load_submission
from tasks.common.consistency import RecheckedAnswer
from tasks.common.correlations import omega_squared
from tasks.common.mixtures import draw_balanced_mixtures, draw_mixtures, pair_equal_lengths, separated_pairs
from tasks.corpus.known_similarity import (
    CorpusSize,
    KnownSimilarity,
    MixtureDistances,
    Settings,
    list_judgements,
    measure_accuracies,
    measure_trend,
    pairs_to_recheck,
)

TASK = KnownSimilarity()


def tree_judgements(s: int, e: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The authors' recursion as tasks.md tells it: children, both recursions, one for each distinct deeper descendant."""
    if e - s < 2:
        return []
    children = [(s, e - 1), (s + 1, e)]
    deeper = {(q, r) for q in range(s, e) for r in range(q + 1, e + 1)} - {(s, e), *children}
    return ([(child, (s, e)) for child in children] + tree_judgements(*children[0]) + tree_judgements(*children[1])
            + [(inner, (s, e)) for inner in deeper])


@pytest.mark.parametrize(("k", "expected"), [(3, 2), (5, 25), (7, 105), (12, 935)])    # by hand for 3; sum (k-L)(L(L+1)/2-1)
def test_number_of_judgements(k, expected):
    assert len(list_judgements(k).inner) == expected


@pytest.mark.parametrize(("k", "expected"), [(7, 156), (8, 339), (12, 6053)])           # 6053: Kour et al. 2022; others by hand
def test_number_of_judgements_in_the_published_multiset(k, expected):
    assert list_judgements(k).in_tree.sum() == expected == len(tree_judgements(0, k - 1))


def test_each_judgement_is_counted_as_often_as_the_recursion_meets_it():
    j, pairs = list_judgements(7), separated_pairs(7)
    met = tree_judgements(0, 6)
    for inner, outer, times in zip(j.inner, j.outer, j.in_tree, strict=True):
        assert met.count((pairs[inner], pairs[outer])) == times


def test_accuracies_by_hand():
    # k=3: pairs 12, 13, 23; judgements 12 < 13 and 23 < 13, both of weight 1/(2-1).
    measures = measure_accuracies(np.array([1.0, 2.0, 2.0]), 3)
    assert measures == {"accuracy": 0.75, "weighted_accuracy": 0.75, "accuracy_tree": 0.5, "weighted_accuracy_tree": 0.5,
                     "accuracy_le": 1.0}


def test_weights_by_hand():
    # k=4: only the whole interval 14 is misjudged against 12, 13 (weights 1/2, 1): J has 3*0 + 2*2 + 1*5 = 9 judgements,
    # of weights 4*1 within the two of length 2, and 1/2, 1/2, 1/2, 1, 1 within the whole.
    distances = dict(zip(separated_pairs(4), [0.1, 0.3, 0.2, 0.1, 0.15, 0.1], strict=True))
    measures = measure_accuracies(np.array(list(distances.values())), 4)
    assert measures["accuracy"] == pytest.approx(8 / 9)                   # wrong: 13 (0.3) inside 14 (0.2)
    assert measures["weighted_accuracy"] == pytest.approx(1 - 1 / 7.5)


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_accuracy_is_the_share_over_all_nested_intervals(k, seed):
    distances = np.random.default_rng(seed).integers(0, 4, k * (k - 1) // 2).astype(float)
    d = dict(zip(separated_pairs(k), distances, strict=True))
    points = [1.0 if d[inner] < d[outer] else 0.5 if d[inner] == d[outer] else 0.0
              for outer, inner in itertools.product(d, d)
              if outer[0] <= inner[0] and inner[1] <= outer[1] and inner != outer]
    assert measure_accuracies(distances, k)["accuracy"] == pytest.approx(np.mean(points))


def test_trend_is_that_of_scipy():
    rng = np.random.default_rng(3)
    separation = np.array([j - i for i, j in separated_pairs(12)])
    distances = separation + rng.normal(0, 2, len(separation))
    measures = measure_trend(distances, separation)
    assert measures["monotonicity"] == pytest.approx(stats.spearmanr(separation, distances).statistic)
    assert measures["linearity_r"] == pytest.approx(stats.linregress(separation, distances).rvalue)
    assert measures["linearity"] == pytest.approx(stats.linregress(separation, distances).rvalue ** 2)
    # omega squared from scipy's F: (df (F - 1)) / (df F + residual df + 1)
    groups = [distances[separation == level] for level in range(1, 12)]
    f, df, residual = stats.f_oneway(*groups).statistic, 10, len(distances) - 11
    assert measures["separability"] == pytest.approx(df * (f - 1) / (df * f + residual + 1))


def test_omega_squared_by_hand():
    # two groups, 1 1 and 3 5: means 1, 4, grand 2.5; between 9, within 2, residual 2/2 = 1; (9 - 1)/(11 + 1)
    assert omega_squared(np.array([1.0, 1, 3, 5]), np.array([0, 0, 1, 1])) == pytest.approx(8 / 12)


def seen(distances: np.ndarray, k: int, returns: str = "distance", rechecked: tuple[RecheckedAnswer, ...] = ()) -> MixtureDistances:
    answers = tuple((distances if returns == "distance" else 1 - distances).tolist())
    checked = rechecked or (RecheckedAnswer((0, 1), 1.0, 1.0, 1.0),)
    return MixtureDistances(k, answers, answers, 0, ScoreScale(returns, None, 1.0), checked)


def measured(distances: np.ndarray, k: int, **more):
    return TASK.measure(Unit("known_similarity", 1, (), {}, (), None, 1), seen(distances, k, **more))


SEPARATION = np.array([j - i for i, j in separated_pairs(7)], dtype=float)


def test_the_perfect_metric_the_inverted_one_and_the_constant():
    assert measured(SEPARATION / 10, 7).score == pytest.approx(1.0)
    assert measured(SEPARATION / 10, 7, returns="similarity").score == pytest.approx(1.0)
    assert measured(-SEPARATION / 10, 7).score == pytest.approx(-1.0)
    constant = measured(np.full(21, 0.3), 7)
    assert constant.score == 0.0                        # chance, exactly
    assert constant.values["accuracy"] == 0.5
    assert constant.values["accuracy_le"] == 1.0        # the paper's formula gives a constant everything
    assert constant.values["monotonicity"] is None      # unknown, not 0


def test_random_distances_score_chance_on_average():
    rng = np.random.default_rng(1)
    scores = [measured(rng.random(21), 7).score for _ in range(400)]
    assert abs(np.mean(scores)) < 3 * np.std(scores) / 20


@given(st.floats(0.01, 100), st.floats(-10, 10), st.integers(0, 1000))
def test_scale_and_offset_change_nothing(scale, offset, seed):
    distances = np.random.default_rng(seed).random(21)
    assert measured(scale * distances + offset, 7).score == pytest.approx(measured(distances, 7).score, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-307, 1e-200, 1e200, 1e307])
def test_numbers_of_any_size_are_scored_and_tell_no_lies(scale):
    distances = np.random.default_rng(1).random(21)
    assert measured(distances * scale, 7).score == pytest.approx(measured(distances, 7).score)
    wild = RecheckedAnswer((0, 1), 1e308, -1e308, 1e308)
    assert all(value is None or np.isfinite(value) for value in measured(distances * scale, 7, rechecked=(wild,)).values.values())


def test_noise_that_is_put_on_when_alone_excuses_nothing():
    noisy = [measured(SEPARATION, 7, rechecked=(RecheckedAnswer((0, 1), 2.0, 0.0, 1e9),)) for _ in range(5)]
    assert "context-dependent" in TASK.marks(noisy)


def test_corpora_are_disjoint_and_mixed_as_the_paper_says():
    a, b = [f"a{i}" for i in range(300)], [f"b{i}" for i in range(300)]
    corpora = draw_mixtures("a", a, "b", b, 5, 20, np.random.default_rng(1))
    assert [sum(text.startswith("a") for text in corpus) for corpus in corpora] == [20, 15, 10, 5, 0]
    everything = [text for corpus in corpora for text in corpus]
    assert len(everything) == len(set(everything)) == 100
    assert corpora != draw_mixtures("a", a, "b", b, 5, 20, np.random.default_rng(2))
    assert corpora == draw_mixtures("a", a, "b", b, 5, 20, np.random.default_rng(1))


def test_too_few_texts_are_said_with_their_numbers():
    with pytest.raises(TouchstoneError, match='k=12 corpora of n=100 needs 600 texts of "atis", which has 412'):
        draw_mixtures("atis", ["x"] * 412, "yahoo", ["y"] * 600, 12, 100, np.random.default_rng(1))


def of_lengths(name: str, *lengths: int) -> list[str]:
    return [f"{name}{row:03}".ljust(length, "x") for row, length in enumerate(lengths)]


def test_as_many_texts_as_possible_are_paired_with_one_of_equal_length():
    a, b = of_lengths("a", 5, 9, 5, 7, 5, 12), of_lengths("b", 7, 5, 8, 5, 9, 9)
    pairs = pair_equal_lengths(tuple(a), tuple(b))
    assert sorted(len(a[i]) for i, _ in pairs) == [5, 5, 7, 9]
    assert all(len(a[i]) == len(b[j]) for i, j in pairs)
    assert all(len(set(side)) == len(pairs) for side in zip(*pairs, strict=True))


def test_balanced_mixtures_do_not_differ_in_length():
    rng = np.random.default_rng(1)
    a, b = (of_lengths(name, *rng.integers(least, least + 60, 2000)) for name, least in (("a", 10), ("b", 40)))
    corpora = draw_balanced_mixtures("a", a, "b", b, 5, 80, np.random.default_rng(1))
    assert [sum(text.startswith("a") for text in corpus) for corpus in corpora] == [80, 60, 40, 20, 0]
    texts = [text for corpus in corpora for text in corpus]
    assert len(set(texts)) == len(texts)
    of_a, of_b = ([len(text) for text in texts if text[0] == name] for name in "ab")
    assert min(*of_a, *of_b) >= 40
    assert max(*of_a, *of_b) < 70
    assert stats.ks_2samp(of_a, of_b).pvalue > 0.01
    assert corpora == draw_balanced_mixtures("a", a, "b", b, 5, 80, np.random.default_rng(1))
    assert corpora != draw_balanced_mixtures("a", a, "b", b, 5, 80, np.random.default_rng(2))
    with pytest.raises(TouchstoneError, match=r'k=5 corpora of n=80 needs 400 pairs of equally long texts, one of "a" and one of "b"; there are 0'):
        draw_balanced_mixtures("a", ["x"] * 900, "b", ["yy"] * 900, 5, 80, rng)


def test_units_that_are_not_balanced_have_the_ids_of_earlier_versions(context):
    plain, balanced = (next(TASK.units(Settings(pairs=(("made_weather", "made_trains"),), levels=(CorpusSize(k=5, n=10),), repetitions=1, **more), context))
                       for more in ({}, {"balanced": True}))
    assert set(plain.parameters) == {"source_a", "source_b", "k", "n", "repetition"}
    assert plain.id != balanced.id
    assert TASK.corpora(plain) != TASK.corpora(balanced)


def test_five_percent_of_the_pairs_and_at_least_five_are_asked_again_and_after_two_repetitions_one():
    assert len(pairs_to_recheck(12, 1, 0)) == len(pairs_to_recheck(12, 1, 1)) == 5        # 5% of 66 are three
    assert len(pairs_to_recheck(20, 1, 0)) == 10         # 5% of 190
    assert len(pairs_to_recheck(20, 1, 2)) == 1
    assert max(max(pairs_to_recheck(12, seed, 0)) for seed in range(50)) > 66            # the other direction too
    assert pairs_to_recheck(12, 1, 0) != pairs_to_recheck(12, 2, 0)
    assert len({index for seed in range(50) for index in pairs_to_recheck(12, seed, 9)}) > 25


def test_an_answer_that_changes_alone_is_context_dependent():
    same, other = RecheckedAnswer((0, 1), 0.5, 0.5, 0.5), RecheckedAnswer((0, 2), 0.5, 0.5 + 3e-6, 0.5 + 3e-6)
    assert measured(SEPARATION, 7, rechecked=(same,)).marks == frozenset()
    assert measured(SEPARATION, 7, rechecked=(same, other)).marks == {"context-dependent"}


def test_an_unrepeatable_metric_is_judged_against_its_own_spread():
    rng = np.random.default_rng(1)
    honest = [measured(SEPARATION, 7, rechecked=tuple(RecheckedAnswer((0, 1), *rng.normal(0, 0.1, 3)) for _ in range(7))) for _ in range(20)]
    assert TASK.marks(honest) == {"unrepeatable"}
    cheating = [measured(SEPARATION, 7, rechecked=tuple(RecheckedAnswer((0, 1), 5.0, *rng.normal(0, 0.1, 2)) for _ in range(7)))
                for _ in range(20)]
    assert TASK.marks(cheating) == {"unrepeatable", "context-dependent"}


ORDER = "def distance(p, q): return float(sum(map(len, p)) - {0} * sum(map(len, q))) ** 2\n"


@pytest.mark.parametrize(("weight", "claims", "mirrored"), [(1, True, True), (2, True, False), (1, False, False)])
def test_the_other_direction_is_asked_unless_symmetry_is_said_and_seen(weight, claims, mirrored, worker_slot, inputs, write, context):
    path = write("metric", ORDER.format(weight))
    if claims:
        path.write_text(path.read_text().replace("# license", "# symmetric = true\n# license"))
    settings = Settings(pairs=(("made_weather", "made_trains"),), levels=(CorpusSize(k=9, n=10),), repetitions=1)
    unit = next(TASK.units(settings, context))
    observation = worker_slot.run_unit(load_submission(path).entries[0], TaskUnit(TASK, unit), inputs).observation
    sizes = [sum(map(len, corpus)) for corpus in TASK.corpora(unit)]
    there = separated_pairs(9)
    assert list(observation.forward) == [float(sizes[i] - weight * sizes[j]) ** 2 for i, j in there]
    assert list(observation.backward) == [float(sizes[j] - weight * sizes[i]) ** 2 for i, j in there]
    assert observation.mirrored == (36 - 5 if mirrored else 0)
    assert "context-dependent" not in TASK.measure(unit, observation).marks
