"""`measure`: values of other libraries on the same files, p-values and bands."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import prdc.prdc as prdc
import pytest
from sacrebleu import sentence_bleu
from sacrebleu.metrics import CHRF
from scipy import spatial

from harness.base.errors import TouchstoneError
from harness.base.paths import cache_folder
from harness.models.vector_cache import VectorCache
from leaderboard import measure
from leaderboard.own_data.measure import report_measurements
from tasks.data.loading import load_corpus

WEATHER, KITCHEN = load_corpus("made_weather"), load_corpus("made_kitchen")
ROUNDING = 1e-9                             # of float64; vectors of another batch may differ by 1e-5, so they are taken from one cache


def write_lines(path, texts):
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    return write_lines(folder / "a.txt", WEATHER[:60]), write_lines(folder / "b.txt", KITCHEN[:60])


@pytest.fixture(scope="module")
def measured(files):
    return {item.metric: item for item in measure(["MAUVE", "PR", "DC", "energy", "IRPR", "classifier", "jaccard"], *files, draws=9)}


@pytest.fixture(scope="module")
def overlapping():
    """Two corpora of which the second is half like the first, and their values."""
    texts = list(WEATHER[:60]), [*WEATHER[60:90], *KITCHEN[:30]]
    return texts, {item.metric: item for item in measure(["MAUVE", "PR", "DC", "energy"], *texts, draws=1)}


@pytest.fixture(scope="module")
def vectors(overlapping):
    cache = VectorCache("minilm", cache_folder())
    return tuple(cache.vectors(texts).astype(np.float64) for texts in overlapping[0])


def test_precision_recall_density_and_coverage_are_those_of_prdc(overlapping, vectors):
    (p, q), measured = vectors, overlapping[1]
    with contextlib.redirect_stdout(io.StringIO()):
        found = prdc.compute_prdc(p, q, 5)

    def f1(a: float, b: float) -> float:
        return 2 * a * b / (a + b) if a + b else 0.0
    assert measured["pr"].value == pytest.approx(1 - f1(found["precision"], found["recall"]), abs=ROUNDING)
    assert measured["dc"].value == pytest.approx(1 - f1(min(1, found["density"]), found["coverage"]), abs=ROUNDING)


def test_mauve_is_that_of_mauve_text(overlapping, vectors):
    import mauve

    measured = overlapping[1]
    assert measured["mauve"].value == pytest.approx(mauve.compute_mauve(*vectors).mauve, abs=1e-6)
    assert measured["mauve"].returns == "similarity"


def test_energy_is_that_of_scipys_distances(overlapping, vectors):
    def mean_angle(p, q):
        angles = np.arccos(np.clip(1 - spatial.distance.cdist(p, q, "cosine"), -1, 1)) / np.pi
        return np.where(angles <= 0.005, 0, angles).mean()
    (p, q), measured = vectors, overlapping[1]
    assert 0 < measured["pr"].value < 1
    assert measured["energy"].value == pytest.approx(2 * mean_angle(p, q) - mean_angle(p, p) - mean_angle(q, q), abs=1e-7)


def test_different_corpora_have_the_smallest_p_and_lie_above_the_band_of_halves(measured):
    for name in ("energy", "irpr", "classifier", "jaccard"):
        item = measured[name]
        assert item.p == 0.1                 # 1 of 10: of nine permutations none is as far apart
        assert item.low <= item.value <= item.high
        assert item.halves > item.self_high
    assert measured["mauve"].halves < measured["mauve"].self_low
    assert 0 <= measured["mauve"].low <= measured["mauve"].high <= 1


def test_p_is_uniform_for_corpora_of_one_source():
    rng = np.random.default_rng(1)
    texts = np.array(load_corpus("trec_questions"))
    p = []
    for seed in range(20):
        drawn = texts[rng.permutation(len(texts))[:40]].tolist()
        p.append(measure("vocabulary_jsd", drawn[:20], drawn[20:], draws=19, seed=seed)[0].p)
    assert np.mean(np.array(p) <= 0.25) <= 0.6      # expected .25; 12 of 20 or more have a probability of .1%
    assert 0.3 <= np.mean(p) <= 0.75


def test_means_of_pairs_are_those_of_sacrebleu(tmp_path):
    a, b = list(WEATHER[:30]), [f"{text} Today." if number % 2 else text[5:] for number, text in enumerate(WEATHER[:30])]
    chrf, bleu = measure(["chrf", "bleu_sentence"], write_lines(tmp_path / "a.txt", a), write_lines(tmp_path / "b.txt", b), pairs=True, draws=9)
    scorer = CHRF()
    assert chrf.value == pytest.approx(np.mean([scorer.sentence_score(y, [x]).score for x, y in zip(a, b, strict=True)]) / 100)
    assert bleu.value == pytest.approx(np.mean([sentence_bleu(y, [x]).score for x, y in zip(a, b, strict=True)]) / 100)
    assert chrf.p == 0.1
    assert chrf.self_high < chrf.low <= chrf.value <= chrf.high


def test_only_the_named_variant_is_measured(files):
    assert [item.metric for item in measure("pr[k=2]", *files, draws=1)] == ["pr[k=2]"]


@pytest.mark.parametrize(("metrics", "a", "b", "options", "message"), [
    ("energy", list(WEATHER[:3]), list(KITCHEN[:60]), {}, "first corpus has 3 texts"),
    ("energy", list(WEATHER[:9]), list(KITCHEN[:9]), {"pairs": True}, "compares corpora"),
    ("jaccard", list(WEATHER[:9]), list(KITCHEN[:8]), {"pairs": True}, "these have 9 and 8"),
    ("enrgy", list(WEATHER[:9]), list(KITCHEN[:9]), {}, "Did you mean \"energy\""),
    ("energy", "missing.txt", list(KITCHEN[:9]), {}, "no file"),
    ("energy", "made_likeness", list(KITCHEN[:9]), {}, "no column of texts"),
    ("energy", list(WEATHER[:9]), list(KITCHEN[:9]), {"model": "text-embedding-3-small"}, "service that texts would be sent to"),
    ("energy", list(WEATHER[:9]), list(KITCHEN[:9]), {"draws": 0}, "at least 1")])
def test_what_cannot_be_measured_is_refused(metrics, a, b, options, message):
    with pytest.raises(TouchstoneError, match=message):
        measure(metrics, a, b, **options)


def test_empty_lines_of_paired_files_are_refused(tmp_path):
    a, b = write_lines(tmp_path / "a.txt", ["x y", "", "z"]), write_lines(tmp_path / "b.txt", ["x y", "k", "z"])
    with pytest.raises(TouchstoneError, match="empty texts"):
        measure("jaccard", a, b, pairs=True)


def test_a_metric_that_fails_is_reported_and_the_others_are_measured(write, files):
    path = write("broken_metric", "def distance(p, q): raise ValueError('no')\n")
    broken, energy = measure([path, "energy"], *files, draws=1)
    assert "ValueError" in broken.failure
    assert energy.value > 0
    report = report_measurements([broken, energy], "a.txt", "b.txt", False)
    assert "broken_metric" in report.summary[0]
    assert [row[0] for row in report.sections[0].rows] == ["energy"]
    assert not any("Lifted" in sentence for sentence in report.sections[0].sentences)


def test_the_report_names_lifted_text_metrics(measured):
    report = report_measurements([measured["energy"], measured["jaccard"]], "a.txt", "b.txt", False)
    assert any(sentence.startswith("Lifted: jaccard. ") for sentence in report.sections[0].sentences)
