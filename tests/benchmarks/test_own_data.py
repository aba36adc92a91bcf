"""What `choose` and `explain --difference` promise, measured on data that they have not used."""

from __future__ import annotations

import os
import resource
import time

import numpy as np
import pytest

from harness.base.paths import mirror_folder
from leaderboard.own_data.differences import WELL_CALIBRATED, calibration_error_of_curves, compare_corpora
from leaderboard.own_data.pairs.agreement import agreements
from leaderboard.own_data.pairs.recommend import posterior_mean, read_known, select_best
from leaderboard.own_data.pairs.thresholds import find_thresholds
from leaderboard.own_data.rated_sets import read_calibration, read_known_sets
from leaderboard.publishing.answers import published_results
from leaderboard.publishing.release import read_release
from leaderboard.scoring.results import Results
from tasks.data.loading import load_dataset
from tasks.suite_files import load_suite
from tests.support.command import touchstone
from tests.support.known_agreement import SIZES, RatedSet, calibration_rows, rated_sets

pytestmark = pytest.mark.benchmark
LABELLED, DRAWS = 80, 25
MIRROR = os.environ.get("TOUCHSTONE_DATA")          # a fixture removes it from the environment


@pytest.fixture(autouse=True)
def mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    if MIRROR is None:
        pytest.skip("TOUCHSTONE_DATA names no mirror with the rated pairs")
    monkeypatch.setenv("TOUCHSTONE_DATA", MIRROR)
    assert mirror_folder() is not None


@pytest.fixture(scope="module")
def sets() -> list[RatedSet]:
    with pytest.MonkeyPatch.context() as patch:
        if MIRROR is not None:
            patch.setenv("TOUCHSTONE_DATA", MIRROR)
        return list(rated_sets())


def test_the_table_of_known_agreement_is_that_of_the_data(sets):
    names, families, table = read_known()
    for row, rated in enumerate(sets):
        assert (names, families[row]) == (rated.candidates.names, rated.family)
        values = agreements(rated.candidates.similarities, rated.judged(np.arange(len(rated.human))))
        assert np.abs(values - table[row]).max() < 2e-3


def test_calibration_of_text_metrics_on_sets_that_were_left_out(sets):
    """Sets of the same family are left out together. Aimed at: at most .03 for 30 metrics."""
    errors = {(metric, int(size)): float(error) for metric, size, error in calibration_rows(sets)}
    assert set(read_known_sets()) == {metric for metric, _ in errors}
    for size in SIZES:
        of_size = {metric: error for (metric, measured), error in errors.items() if measured == size}
        print(f"{size} pairs: calibration error at most .03 for {sum(error <= 0.03 for error in of_size.values())} of {len(of_size)} "
              f"metrics, median {np.median(list(of_size.values())):.3f}")
        assert all(abs(error - read_calibration()[metric][size]) < 5e-3 for metric, error in of_size.items())
        assert sum(error <= 0.03 for error in of_size.values()) >= 30


def test_regret_with_80_judged_pairs(sets):
    """Prior knowledge from the set and from sets of the same family is left out. Aimed at: at most .02 in 90% of the draws."""
    rng, regret, unbiased = np.random.default_rng(1), [], []
    for rated in sets:
        single = rated.candidates.single
        of_set = []
        for _ in range(DRAWS):
            order = rng.permutation(len(rated.human))
            judged, rest = order[:LABELLED], order[LABELLED:]
            best, _ = select_best(rated.candidates, posterior_mean(rated.similarities(judged), rated.judged(judged), {rated.family}))
            halves = np.array_split(rest, 2)
            values, *of_halves = (agreements(rated.candidates.similarities[:, rows], rated.judged(rows))
                                  for rows in (rest, *halves))
            of_set.append(values[single].max() - values[best])
            # the best metric is chosen on one half and judged on the other, as chance chooses the best on the pairs it is judged on
            unbiased.append(np.mean([other[np.flatnonzero(single)[own[single].argmax()]] - other[best]
                                     for own, other in (of_halves, of_halves[::-1])]))
        regret += of_set
        print(f"{rated.name}: mean {np.mean(of_set):.4f}, at most .02 in {np.mean(np.array(of_set) <= 0.02):.0%}")
    print(f"regret: mean {np.mean(regret):.4f}, at most .02 in {np.mean(np.array(regret) <= 0.02):.0%} of {len(regret)} draws; "
          f"unbiased: mean {np.mean(unbiased):.4f}, {np.mean(np.array(unbiased) <= 0.02):.0%}")
    assert len(sets) >= 12
    assert np.mean(regret) <= 0.01
    assert np.mean(np.array(regret) <= 0.02) >= 0.78
    assert np.mean(np.array(unbiased) <= 0.02) >= 0.8


def test_thresholds_have_the_promised_false_alarms_on_held_out_pairs(sets):
    rng, shares = np.random.default_rng(2), {}
    for rated in sets:
        names = [name for name in ("cosine", "levenshtein", "chrf", "jaccard") if name in rated.candidates.names]
        middle = (rated.human.min() + rated.human.max()) / 2
        dissimilar = np.flatnonzero(rated.human < middle)
        if len(dissimilar) < 150:
            continue
        for name in names:
            similarity = rated.candidates.similarities[rated.candidates.names.index(name)]
            for _ in range(DRAWS):
                order = rng.permutation(dissimilar)
                (threshold,) = find_thresholds(similarity[order[:60]], np.empty(0), (0.05,))
                shares.setdefault((rated.name, name), []).append(np.mean(similarity[order[60:]] > threshold.value))
    means = {key: float(np.mean(values)) for key, values in shares.items()}
    inside = [0.03 <= mean <= 0.07 for mean in means.values()]
    print(f"5% promised, 60 dissimilar pairs: mean {np.mean(list(means.values())):.4f}; {np.mean(inside):.0%} of {len(inside)} sets "
          f"and metrics within 3-7%; {min(means.values()):.3f} to {max(means.values()):.3f}")
    assert 0.045 <= np.mean(list(means.values())) <= 0.055
    assert np.mean(inside) >= 0.9


def test_choosing_by_300_pairs_takes_less_than_5_minutes_and_2_gigabytes(tmp_path):
    path = tmp_path / "rated.csv"
    load_dataset("stsb").rows.sample(300, random_state=1)[["text_a", "text_b", "score"]].to_csv(path, index=False)
    started = time.monotonic()
    done = touchstone("choose", "--pairs", path, "--jobs", 2, "--json", separate=True)
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"{seconds:.0f} s, largest process {peak:.2f} GB")
    assert done.returncode == 0
    assert seconds <= 300
    assert peak <= 2


def test_calibration_on_sources_that_were_left_out():
    suite = load_suite("core")
    results = Results(suite, None, published_results(read_release(None), suite))
    for size in (30, 100):
        errors = {}
        for stored in results.entries():
            comparisons, _ = compare_corpora(stored.digest, size, results)
            if len(comparisons) > 1 and not stored.entry.header.control:
                errors[stored.entry.name] = calibration_error_of_curves(comparisons)
        good = sum(error <= WELL_CALIBRATED for error in errors.values())
        print(f"corpora of {size} texts: calibration error at most .03 for {good} of {len(errors)} metrics, median "
              f"{np.median(list(errors.values())):.3f}")
        assert good >= 30
