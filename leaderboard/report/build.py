"""Build the report of a suite from its rankings, and the views of it that the command line prints."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite, overall_axis
from harness.evaluation.task import FaultDetection
from harness.results.provenance import harness_commit, harness_version
from harness.submission.selection import parse_folder
from leaderboard.ensembles.baselines import KIND, Baselines
from leaderboard.ensembles.summary import TRACK, AddedValue, added_values, summarise_ensembles
from leaderboard.quality.admission import admit_tasks, check_axis
from leaderboard.quality.statistics import measure_quality
from leaderboard.report.example_pairs import collect_example_pairs
from leaderboard.report.rated_pairs import collect_rated_values
from leaderboard.report.schema import (
    SCHEMA_VERSION,
    AxisStanding,
    Card,
    Comparison,
    DatasetInfo,
    DescribedEntry,
    EntryReport,
    HarnessVersion,
    Overview,
    PairwiseP,
    Report,
    RunInfo,
    SourceVersion,
    Standing,
    SuiteInfo,
    TaskInfo,
    TaskRank,
    TaskResult,
    TrackQuality,
    TrackStanding,
    UnitCounts,
)
from leaderboard.report.series import collect_curves
from leaderboard.scoring.comparison import Samples, compare_metrics
from leaderboard.scoring.insights import agreement, borda_of
from leaderboard.scoring.ranking import RankedEntry, Ranking
from leaderboard.scoring.results import Results
from leaderboard.scoring.scores import Scored
from tasks.data.loading import DATASETS
from tasks.registry import TASKS


def build_report(suite: Suite, rankings: Mapping[str, Ranking], results: Results, release: str | None = None,
                 made: str | None = None) -> Report:
    """Return everything that pages, machines and releases show of a suite."""
    text_entries = [placed.scored for placed in rankings[TRACK].places] if TRACK in rankings else []
    baselines = Baselines(suite, text_entries, results.cache_get(KIND)) if text_entries else None
    added = added_values(baselines) if baselines is not None else {}
    tables = {track: agreement([placed.scored for placed in ranking.places]) for track, ranking in rankings.items()}
    pairs = {track: collect_example_pairs(placed.scored for placed in ranking.places)
             for track, ranking in rankings.items() if track == TRACK}
    return Report(
        schema_version=SCHEMA_VERSION, made=made, release=release, licence="CC0-1.0",
        harness=HarnessVersion(version=harness_version(), commit=harness_commit()), suite=describe_suite(suite),
        lines=dividing_lines(rankings), gameable=gameable_tasks(rankings),
        p={track: pairwise_p(ranking) for track, ranking in rankings.items() if ranking.parted is not None},
        agreement=tables, shown_pairs=pairs, ensembles=None if baselines is None else summarise_ensembles(baselines),
        quality={track: describe_quality(suite, ranking) for track, ranking in rankings.items()},
        entries=[entry for ranking in rankings.values() for entry in report_entries(ranking, results, added)])


def describe_quality(suite: Suite, ranking: Ranking) -> TrackQuality:
    """Return how well the tasks of a track measure, and whether they may be ranked."""
    quality = measure_quality(ranking)
    admission = admit_tasks(suite, ranking, quality)
    axis = ranking.places[0].scored.axis
    problems = check_axis(axis, suite.admission, ranking, quality, admission)
    return TrackQuality(axis=quality, admission=admission, problems=problems)


def report_entries(ranking: Ranking, results: Results, added: Mapping[str, Mapping[str, AddedValue]]) -> list[EntryReport]:
    """Return the entries of a track, the ranked ones first."""
    panel = [ranked_scores(placed.scored) for placed in ranking.ranked]
    entries = []
    for placed in ranking.places:
        scored, name = placed.scored, placed.scored.name
        published = results.published_details(scored) or {}
        details = {key: published[key] if published else collect(scored) for key, collect in FROM_OBSERVATIONS.items()}
        entries.append(EntryReport(
            **dict(describe_entry(placed, ranking, results)), **details, borda=borda_of(ranked_scores(scored), panel),
            adds=dict(added[name]) if scored.track == TRACK and name in added else None))
    return entries


def ranked_scores(scored: Scored) -> dict[str, float | None]:
    """Return the scores of an entry on the ranked tasks of its track."""
    return {score.task.name: score.score.value if score.score is not None else None for score in scored.ranked_tasks}


def describe_suite(suite: Suite) -> SuiteInfo:
    """Return the tasks, the datasets and the model of a suite."""
    sources = sorted({(source.name, source.fingerprint) for question in suite.task_units for source in question.unit.data})
    tasks = []
    for task in suite.tasks:
        declared, units = task.info, suite.units(task)
        tasks.append(TaskInfo(
            name=task.name, title=declared.title, track=declared.track, score=declared.score, chance=declared.chance,
            worst=declared.worst, unit=declared.unit, ranked=suite.is_ranked(task), observe_version=declared.observe_version,
            measure_version=declared.measure_version, measures=dict(declared.measures),
            asks=(type(task).__doc__ or "").split("\n")[0], units=len(units),
            data=sorted({source.name for unit in units for source in unit.data}), paper=declared.paper,
            presentation=declared.presentation, short=declared.short, descriptive=not declared.ranked))
    return SuiteInfo(name=suite.name, title=suite.title, fingerprint=suite.fingerprint, tasks=tasks, data=sources,
                     model=SourceVersion(name=suite.model.name, fingerprint=suite.model.fingerprint),
                     datasets=describe_datasets(sources), version=suite.version,
                     axes=list(suite.axes))


def describe_datasets(sources: Sequence[tuple[str, str]]) -> list[DatasetInfo]:
    """Return the registry's description of each dataset; only its name if it is not registered."""
    described = []
    for name, fingerprint in sources:
        dataset = DATASETS.get(name)
        described.append(DatasetInfo(name=name, fingerprint=fingerprint) if dataset is None else DatasetInfo(
            name=name, fingerprint=fingerprint, title=dataset.title, licence=dataset.licence, citation=dataset.citation,
            stands_for=dataset.stands_for, displayable=dataset.displayable))
    return described


def complete(report: Report) -> Report:
    """Return a report of an earlier version with what it lacks.

    Versions 1 and 2 ranked a track by all of its ranked tasks. Version 1 lacks the presentation of tasks, the datasets, and the
    authors of papers; these are taken from the current registries, for those tasks and datasets that still exist.
    """
    if report.schema_version < 3:
        axes = [overall_axis(track, [task.name for task in report.suite.ranked_tasks(track)]) for track in report.suite.tracks]
        tasks = [task.model_copy(update={"descriptive": not task.ranked}) for task in report.suite.tasks]
        report = report.model_copy(update={"suite": report.suite.model_copy(update={"axes": axes, "tasks": tasks})})
    if report.schema_version > 1:
        return report
    added = ("paper", "presentation", "short")
    tasks = [task.model_copy(update={field: getattr(TASKS[task.name].info, field) for field in added})
             if task.name in TASKS else task for task in report.suite.tasks]
    suite = report.suite.model_copy(update={"tasks": tasks, "datasets": describe_datasets(report.suite.data)})
    entries = [entry.model_copy(update=paper_authors().get(entry.paper or "", {})) for entry in report.entries]
    return report.model_copy(update={"suite": suite, "entries": entries})


def task_ranks(ranking: Ranking, name: str) -> dict[str, TaskRank]:
    """Return the rank and the rank range of an entry on each ranked task; empty if it is not ranked."""
    return {task: TaskRank(rank=rank, rank_interval=interval)
            for task, (rank, interval) in ranking.task_ranks.get(name, {}).items()}


def detect_faults(scored: Scored) -> dict[str, FaultDetection]:
    """Return how well the entry detects each fault of its tasks."""
    detections: dict[str, FaultDetection] = {}
    for score in scored.tasks.values():
        units = [unit for unit in scored.suite.units(score.task) if unit.id in score.observed]
        if units:
            detections |= score.task.detect_faults(units, [score.observed[unit.id] for unit in units])
    return detections


def find_counterexamples(scored: Scored) -> dict[str, str]:
    """Return the worst case of each property that the entry claims or is tested for and does not have."""
    cases: dict[str, str] = {}
    for score in scored.tasks.values():
        cases |= score.task.counterexamples(list(score.observed.values()))
    return cases


def dividing_lines(rankings: Mapping[str, Ranking]) -> dict[str, list[int]]:
    """Return, by track, after how many ranked entries a dividing line is drawn."""
    return {track: list(ranking.lines) for track, ranking in rankings.items()}


def gameable_tasks(rankings: Mapping[str, Ranking]) -> dict[str, dict[str, list[str]]]:
    """Return, by track, the tasks on which trivial baselines do as well as half of the ranked entries, and which do."""
    return {track: ranking.gameable for track, ranking in rankings.items()}


def pairwise_p(ranking: Ranking) -> PairwiseP:
    """Return the adjusted p-values of all pairs of ranked entries."""
    assert ranking.parted is not None
    return PairwiseP(entries=[placed.scored.name for placed in ranking.ranked],
                     values=[[round(float(p), 5) for p in row] for row in ranking.parted.p])


def build_overview(rankings: Mapping[str, Ranking]) -> Overview:
    """Return the scores of all entries, once per track."""
    return Overview(lines=dividing_lines(rankings), gameable=gameable_tasks(rankings),
                    entries=[describe_standing(placed, ranking) for ranking in rankings.values() for placed in ranking.places])


def build_card(standings: Sequence[Standing]) -> Card:
    """Return one entry as its first track has it, with the tasks of all its tracks and its standing in each."""
    tasks = {name: result for standing in standings for name, result in standing.tasks.items()}
    tracks = {standing.track: TrackStanding(**standing.model_dump(include=set(TrackStanding.model_fields)))
              for standing in standings}
    return Card(**{**dict(standings[0]), "tasks": tasks}, tracks=tracks)


def build_comparison(samples: Samples, names: Sequence[str], tasks: Sequence[str]) -> Comparison:
    """Return the paired comparison of metrics on some tasks."""
    return Comparison.model_validate(compare_metrics(samples, names, tasks))


def describe_standing(placed: RankedEntry, ranking: Ranking) -> Standing:
    """Return an entry's rank and scores."""
    scored = placed.scored
    header = scored.entry.header
    tasks = {score.task.name: TaskResult(
        signature=str(scored.signature(score)), score=score.score, chance=score.chance, above_chance=score.above_chance,
        units=UnitCounts(planned=score.planned, asked=score.asked, failed=len(score.failures)),
        not_applicable=score.not_applicable, failures=sorted({str(failure) for failure in score.failures}),
        measures={measure: score.measures.get(measure) for measure in score.meanings}) for score in scored.shown_tasks}
    return Standing(
        name=scored.name, track=scored.track, title=header.title, kind=header.kind, lifted=scored.lifted,
        digest=scored.stored.digest, license=header.license, rank=placed.rank, rank_interval=placed.interval,
        not_ranked=placed.reason, overall_above_chance=scored.overall, overall=scored.overall_estimate, usmb=scored.usmb,
        marks=sorted(scored.marks), tasks=tasks,
        axes={name: standing_on_axis(other, scored.name) for name, other in ranking.other_axes.items()})


def standing_on_axis(ranking: Ranking, name: str) -> AxisStanding:
    """Return the value and the rank of an entry in the ranking by an axis."""
    placed = next(entry for entry in ranking.places if entry.scored.name == name)
    return AxisStanding(value=placed.scored.overall_estimate, rank=placed.rank, rank_interval=placed.interval,
                        not_ranked=placed.reason, of=len(ranking.ranked))


def describe_entry(placed: RankedEntry, ranking: Ranking, results: Results) -> DescribedEntry:
    """Return an entry's ranks and scores, its header, its counterexamples, and the conditions of its last run."""
    runs, published = results.provenance(placed.scored.stored.digest), results.published_details(placed.scored)
    entry, header = placed.scored.entry, placed.scored.entry.header
    low, high = (edge if math.isfinite(edge) else None for edge in header.range)
    return DescribedEntry(
        **dict(describe_standing(placed, ranking)), family=header.name, variant=entry.variant, summary=header.summary,
        input=header.input, returns=header.returns, range=(low, high), symmetric=header.symmetric, repeatable=header.repeatable,
        control=header.control, paper=header.paper, models=list(header.models), trained_on=list(header.trained_on),
        filename=entry.submission.filename, source_sha256=hashlib.sha256(entry.submission.source).hexdigest(),
        first_seen=placed.scored.stored.first_seen, authors=list(header.authors), year=header.year,
        task_ranks=task_ranks(ranking, placed.scored.name), unseen=ranking.unseen.get(placed.scored.name),
        worst_cases=published["worst_cases"] if published else find_counterexamples(placed.scored),
        environment=RunInfo.model_validate(runs[0]) if runs else None)


# Parts of an entry's report that are computed from observations, besides its counterexamples.
FROM_OBSERVATIONS: Mapping[str, Callable[[Scored], Any]] = {
    "curves": collect_curves, "faults_noticed": detect_faults, "known_values": collect_rated_values}


@cache
def paper_authors() -> dict[str, dict[str, object]]:
    """Return the authors and the year of each paper that a published submission names, by address."""
    headers = [submission.header for submission in parse_folder(SUBMISSIONS)]
    return {header.paper: {"authors": list(header.authors), "year": header.year}
            for header in headers if header.paper and header.authors}
