"""What is known of a suite's metrics as plain values: what machines are given, what releases keep, what pages are made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.evaluation.suite import Suite
from harness.results.provenance import harness_commit, harness_version
from harness.results.store import Store
from leaderboard.report.example_pairs import shown_pairs
from leaderboard.report.rated_pairs import known_values
from leaderboard.report.series import curves
from leaderboard.scoring.estimates import Estimate, answer_correlation, borda_share, pareto_front
from leaderboard.scoring.ranking import RankedEntry, Ranking, ranks_on
from leaderboard.scoring.scores import Scored
from tasks.properties.axioms import describe_verdict, find_worst_cases


def suite_facts(suite: Suite) -> dict[str, Any]:
    """What was asked: tasks, data, model."""
    sources = sorted({(source.name, source.fingerprint) for question in suite.questions for source in question.unit.data})
    return {
        "name": suite.name, "title": suite.title, "fingerprint": suite.fingerprint,
        "model": {"name": suite.model.name, "fingerprint": suite.model.fingerprint},
        "tasks": [{
            "name": task.name, "title": task.info.title, "track": task.info.track, "score": task.info.score,
            "chance": task.info.chance, "worst": task.info.worst, "unit": task.info.unit,
            "ranked": task.info.ranked, "observe_version": task.info.observe_version,
            "measure_version": task.info.measure_version, "measures": dict(task.info.measures),
            "asks": (type(task).__doc__ or "").split("\n")[0], "units": len(suite.units(task)),
            "data": sorted({source.name for unit in suite.units(task) for source in unit.data}),
        } for task in suite.tasks],
        "data": [list(source) for source in sources]}


def board_facts(suite: Suite, rankings: Mapping[str, Ranking], store: Store, release: str | None = None) -> dict[str, Any]:
    """Everything that pages and machines are told: the suite, the lines, who is better for sure, and every entry."""
    from leaderboard.ensembles.baselines import KIND, Baselines
    from leaderboard.ensembles.summary import TRACK, adds_facts, ensembles_facts  # which has its estimates from here

    entries = []
    texts = [place.scored for place in rankings[TRACK].places] if TRACK in rankings else []
    together = Baselines(suite, texts, store.cache_get(KIND)) if texts else None
    adds = adds_facts(together) if together is not None else {}
    for ranking in rankings.values():
        panel = [place.scored for place in ranking.ranked]
        on_tasks = ranks_by_task(panel)
        for place in ranking.places:
            runs = store.provenance(place.scored.stored.digest)
            entries.append({**place_facts(place), **header_facts(place.scored), "borda": borda_of(place.scored, panel),
                            "curves": curves(place.scored), "faults_noticed": faults_noticed(place.scored),
                            "known_values": known_values(place.scored), "task_ranks": on_tasks.get(place.scored.name, {}),
                            "adds": adds.get(place.scored.name) if place.scored.track == TRACK else None,
                            "environment": runs[0] if runs else None})
    return {
        "release": release, "licence": "CC0-1.0", "harness": {"version": harness_version(), "commit": harness_commit()},
        "suite": suite_facts(suite), **standing(rankings), "agreement": {
            track: agreement([place.scored for place in ranking.places]) for track, ranking in rankings.items()},
        "shown_pairs": {track: shown_pairs(place.scored for place in ranking.places)
                        for track, ranking in rankings.items() if track == "text"},
        "ensembles": None if together is None else ensembles_facts(together), "entries": entries}


def ranks_by_task(panel: Sequence[Scored]) -> dict[str, dict[str, dict[str, Any]]]:
    """Of each ranked entry and each ranked task of its track: its rank, and the ranks that it may have."""
    found: dict[str, dict[str, dict[str, Any]]] = {scored.name: {} for scored in panel}
    for task in (score.task.name for score in panel[0].ranked_tasks) if panel else ():
        for scored, (rank, interval) in zip(panel, ranks_on(panel, task), strict=True):
            found[scored.name][task] = {"rank": rank, "rank_interval": interval}
    return found


def faults_noticed(scored: Scored) -> dict[str, dict[str, float | None]]:
    """Of each fault: the share of units in which the distance leaves the self-distance band, and from which strength on."""
    score = scored.tasks.get("diagnostics")
    if score is None or not score.observed:
        return {}
    units = [unit for unit in scored.suite.units(score.task) if unit.id in score.observed]
    onsets: dict[str, list[float | None]] = {}
    for unit, measured in zip(units, score.task.measure_all(units, [score.observed[unit.id] for unit in units]), strict=True):
        onsets.setdefault(unit.stratum[0], []).append(measured.values["onset"])
    found: dict[str, dict[str, float | None]] = {}
    for fault, strengths in onsets.items():
        known = [strength for strength in strengths if strength is not None]
        found[fault] = {"noticed": len(known) / len(strengths), "onset": float(np.median(known)) if known else None}
    return found


def borda_of(scored: Scored, panel: Sequence[Scored]) -> float | None:
    """Mean over the ranked tasks of the share of the panel that is beaten, ties one half.

    The panel is everybody ranked: one variant a family, no controls.  A release freezes it.
    """
    shares = []
    for task, score in ((score.task.name, score.score) for score in scored.ranked_tasks):
        theirs = [other.tasks[task].score for other in panel]
        if score is None or not theirs:
            return None
        shares.append(borda_share(score.value, [one.value for one in theirs if one is not None]))
    return float(np.mean(shares)) if shares else None


def agreement(scored: Sequence[Scored]) -> dict[str, Any] | None:
    """Rank correlation of what metrics answered to the same questions of the track's ranked tasks, each with each."""
    rows: dict[str, np.ndarray] = {}
    for one in scored:
        found = [score.task.answers(score.observed[unit.id]) for score in one.ranked_tasks
                 for unit in one.suite.units(score.task) if unit.id in score.observed]
        if found and all(score.complete and not score.failures for score in one.ranked_tasks):
            rows[one.name] = np.concatenate([part for part in found if part is not None] or [np.empty(0)])
    longest = max((len(row) for row in rows.values()), default=0)
    names = [name for name, row in rows.items() if len(row) == longest]
    if longest < 2 or len(names) < 2:
        return None
    values = answer_correlation(np.array([rows[name] for name in names]))
    return {"entries": names, "values": [[round(float(r), 3) if np.isfinite(r) else None for r in row] for row in values]}


def most_alike(name: str, scored: Sequence[Scored], count: int = 3) -> list[tuple[str, float]]:
    """The entries whose answers go most with its own, up or down, and the rank correlation."""
    found = agreement(scored)
    if found is None or name not in found["entries"]:
        return []
    row = found["values"][found["entries"].index(name)]
    others = [(other, r) for other, r in zip(found["entries"], row, strict=True) if other != name and r is not None]
    return sorted(others, key=lambda other: -abs(other[1]))[:count]


def cost_frontier(ranking: Ranking) -> list[str]:
    """The ranked entries that nobody beats at no more cost, where both are known."""
    known = []
    for scored in (place.scored for place in ranking.ranked):
        timing = scored.tasks.get("timing")
        cost = timing.measures.get("cost_in_chi") if timing is not None else None
        if cost is not None and scored.overall is not None:
            known.append((scored.name, cost.value, scored.overall))
    return unbeaten(known)


def unbeaten(known: Sequence[tuple[str, float, float]]) -> list[str]:
    """Of entries with cost and score: those than which none at no higher a cost is better."""
    return [known[place][0] for place in pareto_front([cost for _, cost, _ in known], [score for _, _, score in known])]


def standing(rankings: Mapping[str, Ranking]) -> dict[str, Any]:
    """Where lines are drawn, on what tasks controls do well, and the p-values of all pairs of ranked entries, by track."""
    return {"lines": {track: list(ranking.lines) for track, ranking in rankings.items()},
            "gameable": {track: ranking.gameable for track, ranking in rankings.items()},
            "p": {track: {"entries": [place.scored.name for place in ranking.ranked],
                          "values": [[round(float(p), 5) for p in row] for row in ranking.parted.p]}
                  for track, ranking in rankings.items() if ranking.parted is not None}}


def rankings_facts(rankings: Mapping[str, Ranking], only: set[str] | None = None) -> dict[str, Any]:
    """Where lines are drawn, by track; and every entry, once a track."""
    return {"lines": {track: list(ranking.lines) for track, ranking in rankings.items()},
            "gameable": {track: ranking.gameable for track, ranking in rankings.items()},
            "entries": [place_facts(place) for ranking in rankings.values() for place in ranking.places
                        if only is None or place.scored.name in only]}


def card_facts(places: Iterable[RankedEntry]) -> dict[str, Any]:
    """All about one entry: as its first track has it, with the tasks of all and its standing in each."""
    shown = [place_facts(place) for place in places]
    of_track = ("rank", "rank_interval", "not_ranked", "overall_above_chance", "usmb")
    tasks = {name: task for one in shown for name, task in one["tasks"].items()}
    return {**shown[0], "tasks": tasks, "tracks": {one["track"]: {key: one[key] for key in of_track} for one in shown}}


def place_facts(place: RankedEntry) -> dict[str, Any]:
    scored = place.scored
    return {
        "name": scored.name, "track": scored.track, "title": scored.entry.header.title, "kind": scored.entry.header.kind,
        "lifted": scored.lifted,
        "digest": scored.stored.digest, "license": scored.entry.header.license, "rank": place.rank,
        "rank_interval": place.interval, "not_ranked": place.reason,
        "overall_above_chance": scored.overall, "overall": estimate_facts(scored.overall_estimate),
        "usmb": scored.usmb,
        "marks": sorted(scored.marks),
        "tasks": {score.task.name: {
            "signature": str(scored.signature(score)), "score": estimate_facts(score.score), "chance": score.chance,
            "above_chance": score.above_chance,
            "units": {"planned": score.planned, "asked": score.asked, "failed": len(score.failures)},
            "not_applicable": score.not_applicable, "failures": sorted({str(failure) for failure in score.failures}),
            "measures": {measure: estimate_facts(score.measures.get(measure)) for measure in score.meanings},
        } for score in scored.shown_tasks},
    }


def header_facts(scored: Scored) -> dict[str, Any]:
    """What a submission says of itself, and the worst that was seen of its claims."""
    entry, header = scored.entry, scored.entry.header
    low, high = header.range
    axioms = scored.tasks.get("axioms")
    worst = find_worst_cases(axioms.observed.values()) if axioms is not None else {}
    return {
        "family": header.name, "variant": entry.variant, "summary": header.summary, "input": header.input,
        "returns": header.returns, "range": [low if math.isfinite(low) else None, high if math.isfinite(high) else None],
        "symmetric": header.symmetric, "repeatable": header.repeatable, "control": header.control, "paper": header.paper,
        "models": list(header.models), "trained_on": list(header.trained_on), "filename": entry.submission.filename,
        "source_sha256": hashlib.sha256(entry.submission.source).hexdigest(), "first_seen": scored.stored.first_seen,
        "worst_cases": {axiom: describe_verdict(verdict) for axiom, verdict in worst.items()}}


def estimate_facts(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high,
                                          "units": estimate.units}
