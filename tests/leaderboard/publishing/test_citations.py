"""Citations of released scores: the rank of the cited task, unique keys, errata, ensembles, and valid BibTeX."""

from __future__ import annotations

import re
from dataclasses import replace

import bibtexparser
import pybtex.database
import pytest

from harness.base.errors import TouchstoneError
from leaderboard.publishing.citations import CITATIONS, OVERALL, cite, cite_release, find_score
from leaderboard.publishing.release import Correction, Erratum, Release, read_release


@pytest.fixture(scope="module")
def released() -> Release:
    return read_release("2026.2")


def ranked_scores(release: Release) -> list[tuple[str, str, str]]:
    """Return the metric, the track and the task of every ranked score."""
    return [(entry.name, entry.track, task) for entry in release.report.entries for task in entry.task_ranks]


def test_every_citation_prints_the_rank_on_its_task(released):
    by_track = {}
    for name, track, task in (scores := ranked_scores(released)):
        entry = next(entry for entry in released.report.entries if (entry.name, entry.track) == (name, track))
        rank, interval = entry.task_ranks[task].rank, entry.task_ranks[task].rank_interval
        by_track.setdefault((track, task), {})[name] = (rank, entry.score_on(task).value)
        text = cite(released, name, task)
        assert re.search(rf"rank {rank} of \d+( \(95% range {interval[0]}-{interval[1]}\))?\.", text), text
    assert len(scores) == 225
    for entries in by_track.values():           # the ranks are those of the scores, whatever the release says
        ordered = sorted(score for _, score in entries.values())
        for rank, score in entries.values():
            assert rank == 1 + sum(other > score for other in ordered)


def test_the_overall_score_is_cited_by_default_in_the_track_of_its_kind(released):
    cosine = next(entry for entry in released.report.entries if (entry.name, entry.track) == ("cosine", "text"))
    lifted = next(entry for entry in released.report.entries if (entry.name, entry.track) == ("cosine", "corpus"))
    assert f"{cosine.overall.value:.3f}" in cite(released, "cosine") == cite(released, "cosine", OVERALL, track="text")
    assert f"rank {lifted.rank} of 35" in cite(released, "cosine", track="corpus")
    assert "|all|lifted|" in cite(released, "cosine", track="corpus")


@pytest.mark.parametrize("site", [None, "https://board.example/"])
def test_all_entries_form_one_valid_bibliography(released, site):
    scores = ranked_scores(released)
    names = {(name, track) for name, track, _ in scores}
    parts = [cite_release(released, site), *(cite(released, name, task, "bibtex", site=site) for name, _, task in scores),
             *(cite(released, name, OVERALL, "bibtex", track, site) for name, track in names),
             *(cite(released, row.name, OVERALL, "bibtex", site=site) for row in released.report.ensembles.rows)]
    text = "\n".join(parts)
    papers = len({task.paper.key for task in released.report.suite.tasks if task.paper is not None})
    expected = 1 + papers + len(scores) + len(names) + len(released.report.ensembles.rows)
    assert len(bibtexparser.loads(text).entries_dict) == expected
    parsed = pybtex.database.parse_string(text, "bibtex").entries        # raises for a repeated key
    assert len(parsed) == expected
    assert {task.paper.key: parsed[task.paper.key].type for task in released.report.suite.tasks if task.paper is not None} == {
        "kour2022measuring": "inproceedings", "ackerman2023characterizing": "misc", "yamshchikov2020style": "inproceedings"}
    assert parsed["ackerman2023characterizing"].fields["howpublished"] == "arXiv preprint"
    fid = parsed["touchstone-2026.2-fid-known_similarity"].fields
    assert fid["version"] == "2026.2"
    assert fid["year"] == "2026"
    assert "rank 11 of 35" in fid["note"]
    assert fid.get("url") == (None if site is None else "https://board.example/metric?name=fid&release=2026.2")


@pytest.mark.parametrize("form", CITATIONS)
def test_errata_and_interval_and_signature_stand_in_every_format(released, form):
    withdrawn = replace(released, errata=Erratum(withdrawn=True, reason="a wrong fingerprint"))
    entry = released.entry("energy", "corpus")
    score, signature = entry.score_on("known_similarity"), entry.tasks["known_similarity"].signature
    text = cite(withdrawn, "energy", "known_similarity", form).replace("\\textbar{}", "|")
    for part in (f"{score.value:.3f}", f"{score.low:.3f}", f"{score.high:.3f}", signature, "This release is withdrawn: a wrong fingerprint."):
        assert part in text
    assert "withdrawn" not in cite(replace(released, errata=Erratum()), "energy", "known_similarity", form)


def test_only_corrections_of_the_cited_tasks_are_printed(released):
    corrected = replace(released, errata=Erratum(corrections=(
        Correction(text="Distances are doubled.", tasks=("known_similarity",)), Correction(text="Locality is wrong.", tasks=("local_perturbation",)))))
    assert "Correction: Distances are doubled." in cite(corrected, "energy", "known_similarity")
    assert "Distances" in cite(corrected, "energy")
    assert "Locality" not in cite(corrected, "energy") + cite(corrected, "energy", "fine_tuning")
    assert "Locality" in cite_release(corrected)


def test_a_latex_row_compiles_as_part_of_a_table(released):
    comment, row = cite(replace(released, errata=Erratum()), "fid", "known_similarity", "latex").splitlines()
    assert comment.startswith("%")
    assert row.endswith(r"\\")
    assert row.count(" & ") == comment.count(" & ") == 5
    assert r"known\_similarity" not in row
    assert "11 of 35 (95\\% range 10--11)" in row


def test_ensembles_are_cited(released):
    score = next(row for row in released.report.ensembles.rows if row.name == "ensemble").tasks["clustering"].score
    assert f"{score.value:.3f}" in cite(released, "ensemble", "clustering")
    assert "not ranked (ensemble)" in cite(released, "ensemble")


@pytest.mark.parametrize(("metric", "task", "options", "message"), [
    ("enrgy", OVERALL, {}, 'Did you mean "energy"'),
    ("energy", "known_similarty", {}, 'has no task "known_similarty". Did you mean "known_similarity"'),
    ("energy", "alignment", {}, '"energy" has no alignment score in 2026.2. It has scores on'),
    ("ensemble", "known_similarity", {}, 'The ensemble "ensemble" has no score on known_similarity'),
    ("energy", OVERALL, {"form": "ris"}, 'There is no format "ris"'),
    ("energy", OVERALL, {"track": "texts"}, 'has no track "texts"; it has corpus, text'),
    ("energy", OVERALL, {"track": "text"}, 'has no metric "energy" among its text metrics'),
])
def test_what_is_not_there_is_refused(released, metric, task, options, message):
    with pytest.raises(TouchstoneError, match=re.escape(message)):
        cite(released, metric, task, **options)


def test_a_control_is_cited_without_a_rank(released):
    assert find_score(released, "length_difference", "known_similarity").standing == "not ranked (control)"
