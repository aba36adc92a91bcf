"""Diagnostics: the faults one by one, the band and the onset by hand, what metrics see and what they are blind to."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from harness.submission.selection import load_available
from harness.submission.submission import load_submission
from tasks.common.corpus_faults import CorpusFault, FaultMaterial, eda, insert_balanced_fault, insert_fault
from tasks.common.thesaurus import SYNONYMS, parse_groups
from tasks.corpus.diagnostics import (
    STRENGTHS,
    DiagnosticAnswers,
    Diagnostics,
    Settings,
    draw_samples,
    find_onset,
    measure_sensitivity,
    upper_limit,
)
from tasks.data.loading import load_corpus
from tests.support.corpora import Direct

TASK = Diagnostics()
TEXTS = tuple(load_corpus("made_kitchen")[:40])
MATERIAL = FaultMaterial(load_corpus("made_kitchen")[100:200], load_corpus("made_trains"))
SHORT, LONG = ([" ".join(words[i] for i in row)[:length] for row, length in zip(rng.integers(len(words), size=(900, 20)), rng.integers(least, least + 20, 900), strict=True)]
               for words, least, rng in ((" ".join(load_corpus("made_kitchen")).split(), 30, np.random.default_rng(1)),
                                         (" ".join(load_corpus("made_trains")).split(), 34, np.random.default_rng(2))))
EVERY = pytest.mark.parametrize("fault", CorpusFault)


def words(texts) -> list[str]:
    return [word for text in texts for word in text.split()]


# ---- faults ------------------------------------------------------------------------------------------------------------

@EVERY
def test_strength_0_changes_nothing_and_no_strength_changes_the_number_of_texts(fault):
    assert insert_fault(fault, TEXTS, 0.0, MATERIAL, 3) == list(TEXTS)
    for strength in STRENGTHS[1:]:
        faulty = insert_fault(fault, TEXTS, strength, MATERIAL, 3)
        assert len(faulty) == len(TEXTS)
        assert faulty != list(TEXTS)
        assert all(faulty)
        assert faulty == insert_fault(fault, TEXTS, strength, MATERIAL, 3)
        assert faulty != insert_fault(fault, TEXTS, strength, MATERIAL, 4)


@EVERY
def test_what_is_changed_stays_changed(fault):
    changed = [{row for row, (a, b) in enumerate(zip(TEXTS, insert_fault(fault, TEXTS, strength, MATERIAL, 3), strict=True)) if a != b}
               for strength in STRENGTHS]
    gone = {CorpusFault.MODE_COLLAPSE: 2, CorpusFault.EDA_NOISE: 4}.get(fault, 0)       # a mode is replaced by itself; a swap may undo a swap
    assert all(len(less - more) <= gone for less, more in itertools.pairwise(changed))


@pytest.mark.parametrize(("strength", "expected"), [(0.1, 4), (0.5, 20), (1.0, 40)])
def test_shares_of_replaced_texts(strength, expected):
    assert sum(text in MATERIAL.train for text in insert_fault(CorpusFault.PLAGIARISM, TEXTS, strength, MATERIAL, 3)) == expected
    assert sum(text in MATERIAL.elsewhere for text in insert_fault(CorpusFault.CONTAMINATION, TEXTS, strength, MATERIAL, 3)) == expected


def test_modes_are_few_and_of_the_corpus():
    collapsed = insert_fault(CorpusFault.MODE_COLLAPSE, TEXTS, 1.0, MATERIAL, 3)
    assert set(collapsed) <= set(TEXTS)
    assert len(set(collapsed)) == 2                         # one of twenty


def test_a_salad_has_as_many_words_of_the_corpus_in_no_order():
    salad = insert_fault(CorpusFault.WORD_SALAD, TEXTS, 1.0, MATERIAL, 3)
    assert [len(text.split()) for text in salad] == [len(text.split()) for text in TEXTS]
    assert set(words(salad)) <= set(words(TEXTS))
    assert not set(salad) & set(TEXTS)


def test_a_vocabulary_shrinks_from_its_rare_end():
    counts = Counter(words(TEXTS))
    sizes = [len(set(words(insert_fault(CorpusFault.VOCABULARY_SHRINK, TEXTS, strength, MATERIAL, 3)))) for strength in STRENGTHS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[5] == pytest.approx(len(counts) / 2, abs=1)
    assert sizes[-1] == 10
    left = set(words(insert_fault(CorpusFault.VOCABULARY_SHRINK, TEXTS, 0.5, MATERIAL, 3)))
    assert min(counts[word] for word in left) >= max(counts[word] for word in set(counts) - left)


def test_eda_by_its_operations():
    text = "we had lentils and thyme from a clay pot"
    changed = [eda(text, 0.4, np.random.default_rng(seed)) for seed in range(400)]
    lengths = np.array([len(variant.split()) for variant in changed])
    # nine words: 9 x 0.1 deletions and as many insertions are expected of each text
    assert lengths.mean() == pytest.approx(9, abs=4 * lengths.std() / 20)
    assert {7, 8, 9, 10, 11} <= set(lengths.tolist())
    assert any(sorted(variant.split()) == sorted(text.split()) and variant != text for variant in changed)        # a swap alone
    assert eda("one", 1.0, np.random.default_rng(1)) != ""                                          # the last word stays
    replaced = {eda("good", 1.0, np.random.default_rng(seed)).split()[0] for seed in range(60)}
    assert replaced <= {"good", *SYNONYMS["good"]}
    assert replaced & set(SYNONYMS["good"])


def test_synonyms_stand_for_each_other():
    assert parse_groups("a b; b c") == {"a": ("b",), "b": ("a", "c"), "c": ("b",)}
    assert all(word in SYNONYMS[other] for word, others in SYNONYMS.items() for other in others)
    assert not any(word in others for word, others in SYNONYMS.items())


# ---- balanced faults ---------------------------------------------------------------------------------------------------

BALANCED = [fault for fault in CorpusFault if fault is not CorpusFault.PLAGIARISM]
PARTNERS = [text[::-1] for text in TEXTS]


@pytest.mark.parametrize("fault", BALANCED)
def test_a_balanced_fault_grows_and_keeps_the_length_of_every_text(fault):
    series = [insert_balanced_fault(fault, TEXTS, strength, PARTNERS, 3) for strength in STRENGTHS]
    assert series[0] == list(TEXTS)
    assert all([len(text) for text in corpus] == [len(text) for text in TEXTS] for corpus in series)
    changed = [sum(a != b for a, b in zip(TEXTS, corpus, strict=True)) for corpus in series]
    assert all(less <= more + 2 for less, more in itertools.pairwise(changed))         # a swap may undo a swap
    assert changed[-1] > changed[1] > 0
    assert series == [insert_balanced_fault(fault, TEXTS, strength, PARTNERS, 3) for strength in STRENGTHS]
    assert series[5] != insert_balanced_fault(fault, TEXTS, 0.5, PARTNERS, 4)


def test_what_balanced_faults_leave():
    def whole(fault: CorpusFault) -> list[str]:
        return insert_balanced_fault(fault, TEXTS, 1.0, PARTNERS, 3)
    assert whole(CorpusFault.CONTAMINATION) == PARTNERS
    modes = whole(CorpusFault.MODE_COLLAPSE)
    assert set(modes) < set(TEXTS)
    assert len(set(modes)) == len({len(text) for text in TEXTS})
    for fault in (CorpusFault.WORD_SALAD, CorpusFault.VOCABULARY_SHRINK, CorpusFault.EDA_NOISE):
        assert set(words(whole(fault))) <= {*words(TEXTS), *(word for others in SYNONYMS.values() for word in others)}
    counts = Counter(words(TEXTS))
    left = set(words(whole(CorpusFault.VOCABULARY_SHRINK)))
    assert len(left) == len({len(word) for word in counts})                        # the most frequent word of each length
    assert all(counts[word] == max(count for other, count in counts.items() if len(other) == len(word)) for word in left)


# ---- the task ----------------------------------------------------------------------------------------------------------

def test_samples_share_no_text_and_strength_0_is_the_corpus():
    texts, others = load_corpus("made_kitchen"), load_corpus("made_trains")
    samples = draw_samples("made_kitchen", texts, "made_trains", others, 20, CorpusFault.CONTAMINATION, 5)
    assert len(samples.corpora) == 1 + 11 + 4
    assert samples.pairs == [*((0, index) for index in range(1, 12)), (1, 1), (12, 13), (14, 15)]
    fault_free = [set(samples.corpora[index]) for index in (0, 1, 12, 13, 14, 15)]
    assert len(set.union(*fault_free)) == sum(map(len, fault_free)) == 6 * 20
    with pytest.raises(TouchstoneError, match=r'n=100 needs 700 texts of "made_kitchen", which has 600'):
        draw_samples("made_kitchen", texts, "made_trains", others, 100, CorpusFault.CONTAMINATION, 5)


@pytest.mark.parametrize("fault", BALANCED)
def test_statistics_of_lengths_or_of_one_corpus_are_at_chance_in_every_balanced_unit(fault):
    samples = draw_samples("sms", SHORT, "tweets", LONG, 20, fault, 5, balanced=True)
    assert len(samples.corpora) == 1 + 11 + 4 + 1
    assert samples.pairs[14:] == [(16, column) for column in range(1, 12)]
    clean = [set(samples.corpora[index]) for index in (0, 1, 12, 13, 14, 15)]
    assert len(set.union(*clean)) == sum(map(len, clean))
    controls = {"length_difference": lambda p, q: float(sum(map(len, p)) - sum(map(len, q))), "of the second": lambda p, q: len(set(words(q))),
                "of the first": lambda p, q: len(set(words(p))), "shared texts": lambda p, q: -len(set(p) & set(q))}
    for name, control in controls.items():
        answers = [control(samples.corpora[i], samples.corpora[j]) for i, j in samples.pairs]
        observation = DiagnosticAnswers(tuple(answers[:11]), answers[11], tuple(answers[12:14]), ScoreScale("distance"), tuple(answers[14:]))
        unit = Unit("diagnostics", 1, (fault.value,), {"fault": fault.value, "source": "sms"}, (), None, 1)
        assert TASK.measure(unit, observation).score in (None, pytest.approx(0, abs=1e-12)), name


def test_a_balanced_score_is_the_mean_of_both_ends():
    unit = Unit("diagnostics", 1, ("word_salad",), {"fault": "word_salad", "source": "a"}, (), None, 1)
    def score(faulty, from_faulty):
        return TASK.measure(unit, DiagnosticAnswers(tuple(faulty), 0.0, (1.0, 2.0), ScoreScale("distance"), tuple(from_faulty))).score
    rising, falling, constant = range(11), range(10, -1, -1), [3.0] * 11
    assert score(rising, falling) == pytest.approx(1)
    assert score(falling, rising) == pytest.approx(-1)
    assert score(rising, rising) == pytest.approx(0)
    assert score(rising, constant) == score(constant, falling) == pytest.approx(0.5)
    assert score(constant, constant) is None


def test_bad_settings_of_balanced_diagnostics(context):
    settings = {"source": "made_kitchen", "elsewhere": "made_trains", "n": 20, "repetitions": 1}
    assert set(next(TASK.units(Settings(**settings), context)).parameters) == {"fault", "source", "elsewhere", "n", "repetition"}
    with pytest.raises(TouchstoneError, match="two corpora do not reveal plagiarism"):
        next(TASK.units(Settings(**settings, balanced=True), context))
    units = list(TASK.units(Settings(**settings, balanced=True, faults=("word_salad", "eda_noise")), context))
    assert [unit.stratum for unit in units] == [("word_salad",), ("eda_noise",)]
    with pytest.raises(TouchstoneError, match=r'n=200 needs 1,400 pairs of equally long texts, one of "a" and one of "b"; there are 5\. Choose'):
        draw_samples("a", SHORT[:5], "b", SHORT, 200, CorpusFault.EDA_NOISE, 1, balanced=True)


def test_the_band_and_the_onset_by_hand():
    # mean 2, sd 1, t(.975, 2) = 4.3027: 2 + 4.3027 sqrt(4/3)
    edge = upper_limit(np.array([1.0, 2.0, 3.0]))
    assert edge == pytest.approx(2 + 4.30265 * np.sqrt(4 / 3), abs=1e-4)
    curve = np.array([1, 2, 3, 5, 6.9, 7, 7.1, 8, 9, 10, 11])
    assert find_onset(curve, edge) == 0.5
    assert find_onset(-curve, edge) is None
    assert upper_limit(np.array([0.5])) == 0.5
    assert find_onset(np.full(11, 0.5), 0.5) is None
    assert find_onset(np.full(11, 9.0), 1.0) == 0.1              # strength 0 is no fault


def test_sensitivity_is_scipys_spearman_and_unknown_of_a_constant():
    curve = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5.0])
    assert measure_sensitivity(curve) == pytest.approx(stats.spearmanr(range(11), curve).statistic)
    assert measure_sensitivity(np.ones(11)) is None


def test_the_band_is_pooled_over_the_units_of_a_source():
    def unit(fault: CorpusFault) -> Unit:
        return Unit("diagnostics", 1, (fault.value,), {"fault": fault.value, "source": "a"}, (), None, 1)
    rising = tuple(float(10 - step) for step in range(11))              # similarities
    def seen(*free: float) -> DiagnosticAnswers:
        return DiagnosticAnswers(rising, 10.0, free, ScoreScale("similarity", None, 10.0))
    first, second = TASK.measure_all([unit(CorpusFault.WORD_SALAD), unit(CorpusFault.EDA_NOISE)], [seen(10.0, 9.0), seen(9.0, 8.0)])
    # distances 0, 1, 1, 2: mean 1, sd .8165, t(.975, 3) = 3.1824; the edge is 3.905
    assert first.values["onset"] == second.values["onset"] == 0.4
    assert first.values["word_salad"] == first.score == pytest.approx(1)
    assert "eda_noise" not in first.values
    assert first.values["itself_in_band"] == 1.0


DETERMINISTIC = [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries
                 if entry.header.kind == "corpus" and entry.header.name not in ("random", "mauve_text")]    # it sorts points
                 # with equal abscissa by a sort that is not stable: of equal histograms it answers 1 or 0.75 (docs/submissions.md)


@pytest.mark.parametrize("entry", DETERMINISTIC, ids=lambda entry: entry.name)
def test_a_corpus_is_no_further_from_itself_than_fault_free_samples_are(entry, smoke, worker_slot, inputs):
    units = [unit for unit in smoke.units(TASK) if unit.stratum == ("mode_collapse",)]
    outcomes = [worker_slot.run_unit(entry, TaskUnit(TASK, unit), inputs) for unit in units]
    assert {outcome.status for outcome in outcomes} == {Status.ANSWERED}
    measured = TASK.measure_all(units, [outcome.observation for outcome in outcomes])
    assert [measures.values["itself_in_band"] for measures in measured] == [1.0] * len(units)


def test_mode_collapse_is_seen_by_what_counts_words_and_not_by_the_precision_of_nearest_texts():
    """The texts that are left are all near the corpus they are of: only the way back from it is far."""
    corpora = [insert_fault(CorpusFault.MODE_COLLAPSE, TEXTS, strength, MATERIAL, 3) for strength in STRENGTHS]
    tokens = [[text.split() for text in corpus] for corpus in corpora]
    for name in ("self_bleu", "vocabulary_jsd"):
        metric = Direct(name)
        assert measure_sensitivity(np.array([metric(tokens[0], faulty) for faulty in tokens])) > 0.95
    index = {text: row for row, text in enumerate(TEXTS)}
    vectors = np.eye(len(TEXTS), dtype=np.float32)
    ahd = Direct("ahd")
    rows = [np.array([vectors[index[text]] for text in corpus]) for corpus in corpora]
    precision = [ahd.module.angular_distances((faulty @ rows[0].T).max(axis=1)).mean() for faulty in rows]
    recall = [ahd.module.angular_distances((faulty @ rows[0].T).max(axis=0)).mean() for faulty in rows]
    assert precision == [0.0] * 11
    assert measure_sensitivity(np.array(recall)) > 0.95


def test_real_metrics_are_asked(smoke, worker_slot, inputs):
    unit = smoke.units(TASK)[0]
    outcome = worker_slot.run_unit(load_submission(SUBMISSIONS / "jaccard.py").entries[0], TaskUnit(TASK, unit), inputs)
    assert len(outcome.observation.faulty) == 11
    assert len(outcome.observation.fault_free) == 2
    assert outcome.observation.itself == pytest.approx(0)
