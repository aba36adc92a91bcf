"""Releases: checksums, reading, verification, citations and exports."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from leaderboard.publishing import release as releases
from leaderboard.publishing.citations import cite, export, latex
from leaderboard.publishing.release import Release, read_release, release
from leaderboard.publishing.verify import find_changed_entries, find_changed_tasks, verify
from leaderboard.publishing.views import StoreView
from leaderboard.report.schema import SCHEMA_VERSION
from leaderboard.scoring.comparison import load_samples, paired_difference
from leaderboard.scoring.ranking import Ranking, rank_entries
from leaderboard.scoring.results import Results, score_suite
from tasks.suite_files import load_suite

NAMES = ["energy", "ahd", "zipf", "jaccard", "random"]
SUITE = """
title = "Twelve draws of made texts"
seed = 7
model = "minilm"
[tasks.known_similarity]
pairs = [["made_weather", "made_trains"]]
levels = [{ k = 5, n = 10 }]
repetitions = 12
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Suite:
    path = tmp_path_factory.mktemp("suite") / "twelve.toml"
    path.write_text(SUITE)
    return load_suite(str(path))


@pytest.fixture(scope="module")
def store(suite, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.sqlite"
    run_suite(select_entries(NAMES, SUBMISSIONS), suite, path, progress=NoProgress(), jobs=2)
    return path


@pytest.fixture(scope="module")
def ranking(suite, store) -> Ranking:
    return rank_entries(score_suite(Store(store, read_only=True), suite))


@pytest.fixture
def made(suite, store, tmp_path) -> Release:
    return release("2026.1", suite, Store(store, read_only=True), tmp_path)


def test_significant_differences_and_dividing_lines(ranking):
    names = [placed.scored.name for placed in ranking.ranked]
    assert set(names[:2]) == {"energy", "ahd"}
    assert names[-1] == "zipf"                          # synthetic texts of both domains have the same frequencies
    assert len(names) - 1 in ranking.lines
    assert ranking.ranked[-1].interval == (len(names), len(names))
    assert ranking.p("energy", "zipf") <= 0.05
    assert ranking.p("energy", "random") is None        # a control is not ranked


def test_paired_differences_use_common_units(ranking):
    samples = load_samples([ranking])
    scores = {placed.scored.name: placed.scored.tasks["known_similarity"].score for placed in ranking.places}
    result = paired_difference(samples["energy", "known_similarity"], samples["zipf", "known_similarity"])
    assert result.estimate.value == pytest.approx(scores["energy"].value - scores["zipf"].value)
    assert result.estimate.units == 12
    assert result.estimate.low > 0
    assert result.p == pytest.approx(2 ** -12, abs=2e-3)             # all twelve differences have one sign: one of 2^12 patterns
    alike = paired_difference(samples["energy", "known_similarity"], samples["energy", "known_similarity"])
    assert (alike.estimate.value, alike.estimate.low, alike.estimate.high) == (0, 0, 0)


def test_release_is_complete_and_read_again(made, ranking, suite):
    report = made.report
    assert report.suite.fingerprint == suite.fingerprint
    assert report.licence == "CC0-1.0"
    assert report.schema_version == SCHEMA_VERSION
    assert [entry.name for entry in report.entries] == [placed.scored.name for placed in ranking.places]
    energy = made.entry("energy")
    assert energy.license == "Apache-2.0"
    assert energy.environment.python
    assert len(energy.source_sha256) == 64
    table = list(csv.DictReader(io.StringIO((made.folder / releases.SCORES).read_text())))
    overall = next(row for row in table if (row["entry"], row["task"]) == ("energy", "all"))
    assert float(overall["value"]) == pytest.approx(energy.overall_above_chance)
    assert len(made.units) == 12 * len(ranking.places)
    assert re.search(r"1 +1-\d +0\.\d{3}  (energy|ahd)", (made.folder / releases.SUMMARY).read_text())
    assert read_release("2026.1", made.folder.parent).report == report
    assert read_release(None, made.folder.parent).name == "2026.1"


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "scores.csv").write_text((folder / "scores.csv").read_text().replace("0.9", "0.8", 1)),
    lambda folder: (folder / "units.parquet").unlink(),
    lambda folder: (folder / "another.txt").write_text("beside"),
    lambda folder: (folder / "SHA256SUMS").write_text("no sums"),
    lambda folder: (folder / "SHA256SUMS").unlink(),
], ids=["a number", "a file less", "a file more", "no sums", "no file of sums"])
def test_modified_release_is_refused(damage, made):
    damage(made.folder)
    with pytest.raises(TouchstoneError, match=r"2026\.1 (was modified|cannot be read)"):
        read_release("2026.1", made.folder.parent)


def test_releases_are_immutable(made, suite, store):
    before = {path.name: path.read_bytes() for path in made.folder.iterdir()}
    with pytest.raises(TouchstoneError, match="releases are immutable"):
        release("2026.1", suite, Store(store, read_only=True), made.folder.parent)
    assert {path.name: path.read_bytes() for path in made.folder.iterdir()} == before


@pytest.mark.parametrize("name", ["../2026.1", "2026.0", "26.1", "2026.1/x", "latest", ""])
def test_names_of_releases(name, suite, store, tmp_path):
    with pytest.raises(TouchstoneError, match=r"such as 2026\.1"):
        release(name, suite, Store(store, read_only=True), tmp_path)
    assert not list(tmp_path.iterdir())


def test_unverified_sources_are_not_released(suite, store, tmp_path, monkeypatch):
    question = suite.task_units[0]
    foreign = replace(question, unit=replace(question.unit, data=(replace(question.unit.data[0], name="clinc150"),)))
    with pytest.raises(TouchstoneError, match='the dataset "clinc150"'):
        release("2026.1", replace(suite, task_units=(foreign, *suite.task_units[1:])), Store(store, read_only=True), tmp_path)
    by_service = replace(suite, model=replace(suite.model, name="text-embedding-3-small"))
    with pytest.raises(TouchstoneError, match='the model "text-embedding-3-small"'):
        release("2026.1", by_service, Store(store, read_only=True), tmp_path)


def test_context_dependent_metric_is_not_ranked(suite, store, tmp_path, write):
    path = write("cheat", "seen = 0\ndef distance(p, q):\n    global seen\n    seen += 1\n    return float(seen)\n")
    copy = tmp_path / "store.sqlite"
    shutil.copy(store, copy)
    run_suite([load_submission(path).entries[0]], suite, copy, progress=NoProgress())
    cheat = release("2026.1", suite, Store(copy, read_only=True), tmp_path / "releases").entry("cheat")
    assert cheat.rank is None
    assert "context-dependent" in cheat.not_ranked


def test_empty_store_is_not_released(suite, tmp_path):
    Store(tmp_path / "empty.sqlite").close()
    with pytest.raises(TouchstoneError, match="No metric is ranked"):
        release("2026.1", suite, Store(tmp_path / "empty.sqlite", read_only=True), tmp_path)


def test_verification_reproduces_a_sample_and_detects_other_numbers(made, suite):
    entries = select_entries(NAMES, SUBMISSIONS)
    results = verify(made, suite, entries, 15, NoProgress())
    assert len(results) == 15
    assert all(result.agrees for result in results if result.entry != "random")
    forged = replace(made)
    units = made.units.assign(score=lambda frame: frame.score + 0.01)
    units.to_parquet(forged.folder / releases.UNITS)
    assert not any(result.agrees for result in verify(forged, suite, entries, 5, NoProgress()))
    others = [entry for entry in entries if entry.name != "energy"]
    assert find_changed_entries(made, entries) == {}
    assert find_changed_entries(made, others) == {"energy": "it is no longer in submissions/"}
    recomputed = verify(made, suite, others, 60, NoProgress())
    assert len(recomputed) >= 48
    assert "energy" not in {result.entry for result in recomputed}
    with pytest.raises(TouchstoneError, match="every entry has changed since"):
        verify(made, suite, [], 5, NoProgress())
    with pytest.raises(TouchstoneError, match="has changed since 2026"):
        verify(made, load_suite("smoke"), entries, 5, NoProgress())


def test_verification_skips_tasks_that_have_changed(made, suite, monkeypatch):
    info = suite.tasks[0].info
    assert find_changed_tasks(made, suite) == {}
    assert find_changed_tasks(made, load_suite("smoke")) == {"known_similarity": "its test units differ from those of the release"}
    monkeypatch.setattr(type(suite.tasks[0]), "info", replace(info, measure_version=9))
    assert find_changed_tasks(made, suite) == {
        "known_similarity": f"its measures have version 9, those of the release version {info.measure_version}"}


def test_errata_and_withdrawn_releases(made, suite, store):
    folder = made.folder.parent
    release("2026.2", suite, Store(store, read_only=True), folder)
    (folder / "errata.toml").write_text('["2026.2"]\nwithdrawn = true\nsuperseded_by = "2026.3"\nreason = "a wrong fingerprint"\n')
    assert read_release(None, folder).name == "2026.1"
    assert read_release("2026.2", folder).errata.status == "This release is withdrawn and superseded by 2026.3: a wrong fingerprint."
    assert "This release is withdrawn" in cite(read_release("2026.2", folder), "energy", "known_similarity", "text")
    (folder / "errata.toml").write_text("no toml")
    with pytest.raises(TouchstoneError, match=r"errata\.toml cannot be read"):
        read_release(None, folder)


def test_latex_escapes_special_characters():
    assert latex(r"100% \input{x} a_b & $c^2$ ~#|<>") == (
        r"100\% \textbackslash{}input\textbraceleft{}x\textbraceright{} a\_b \& \$c\textasciicircum{}2\$ \textasciitilde{}\#\textbar{}\textless{}\textgreater{}")


def test_exports_contain_the_same_numbers(suite, store, ranking, tmp_path):
    results = StoreView(Results(suite, Store(store, read_only=True)))
    rows = list(csv.DictReader(io.StringIO(export(results, ["corpus"], "csv", None))))
    as_json = json.loads(export(results, ["corpus"], "json", None))
    assert export(results, ["corpus"], "parquet", tmp_path / "t.parquet") is None
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert len(rows) == len(as_json) == len(frame)
    scores = {(row["entry"], row["task"], row["measure"]): float(row["value"]) for row in rows if row["value"]}
    assert scores["energy", "known_similarity", "accuracy"] == pytest.approx(
        frame[(frame.entry == "energy") & (frame.measure == "accuracy")].value.item())
    markdown, tabular = export(results, ["corpus"], "markdown", None), export(results, ["corpus"], "latex", None)
    assert markdown.count("\n") == 2 + len(ranking.ranked) + 2             # an empty line and the source
    assert tabular.startswith(f"% {results.suite.label}\n")
    for content in (markdown, tabular):
        assert results.suite.headline("corpus").title in content
        assert f"{ranking.ranked[0].scored.overall:.3f}" in content
    assert repr(ranking).startswith(f"<Ranking of {len(ranking.ranked)} metrics: 1 {ranking.ranked[0].scored.name}, ")
    assert len(repr(ranking)) < 200
    assert tabular.count(r"\midrule") == 1 + len(ranking.lines)
    with pytest.raises(TouchstoneError, match="--to"):
        export(results, ["corpus"], "parquet", None)
