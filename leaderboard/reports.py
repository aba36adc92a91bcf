"""Scores and checks as plain values for machines, and the report of `check` for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from harness.isolation import Confinement
from harness.statistics import Estimate
from leaderboard.checking import Report, advice
from leaderboard.ranking import Placed, Ranking
from leaderboard.terminal import axiom_table, describe, duration, output


def rankings_json(rankings: Mapping[str, Ranking], only: set[str] | None = None) -> dict[str, Any]:
    """Where lines are drawn, by track; and every entry, once a track."""
    return {"lines": {track: list(ranking.lines) for track, ranking in rankings.items()},
            "gameable": {track: ranking.gameable for track, ranking in rankings.items()},
            "entries": [place_json(place) for ranking in rankings.values() for place in ranking.places
                        if only is None or place.scored.name in only]}


def card_json(places: Iterable[Placed]) -> dict[str, Any]:
    """All about one entry: as its first track has it, with the tasks of all and its standing in each."""
    shown = [place_json(place) for place in places]
    standing = ("rank", "rank_interval", "not_ranked", "overall_above_chance", "usmb")
    tasks = {name: task for one in shown for name, task in one["tasks"].items()}
    return {**shown[0], "tasks": tasks, "tracks": {one["track"]: {key: one[key] for key in standing} for one in shown}}


def place_json(place: Placed) -> dict[str, Any]:
    scored = place.scored
    return {
        "name": scored.name, "track": scored.track, "title": scored.entry.header.title, "kind": scored.entry.header.kind,
        "lifted": scored.lifted,
        "digest": scored.stored.digest, "license": scored.entry.header.license, "rank": place.rank,
        "rank_interval": place.interval, "not_ranked": place.reason,
        "overall_above_chance": scored.overall, "usmb": scored.usmb, "marks": sorted(scored.marks),
        "tasks": {score.task.name: {
            "signature": str(scored.signature(score)), "score": estimate_json(score.score), "chance": score.chance,
            "above_chance": score.above_chance,
            "units": {"planned": score.planned, "asked": score.asked, "failed": len(score.failures)},
            "not_applicable": score.not_applicable, "failures": sorted({str(failure) for failure in score.failures}),
            "measures": {measure: estimate_json(score.measures.get(measure)) for measure in score.meanings},
        } for score in scored.shown_tasks},
    }


def estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high,
                                          "units": estimate.units}


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


def print_check(reports: Sequence[Report], confinement: Confinement) -> None:
    for report in reports:
        header = report.entry.header
        output.print(Text.assemble((report.entry.name, "bold"), f"  {header.title}, {header.kind} metric, takes {header.input}, "
                                   f"returns a {header.returns}"))
        output.print(Text(f"{report.entry.submission.filename}: the header is right. Entry digest {report.entry.digest[:12]}.",
                          style="dim"))
        if report.axioms is not None:
            known = {name: share for name, share in report.axioms.values.items() if share is not None}
            output.print("\nAxioms, a few trials of each on texts made here:")
            output.print(Padding(axiom_table(known, report.worst), (0, 0, 0, 2)))
        for failure in report.failures:
            output.print(f"\n[red]Failed:[/red] {escape(str(failure))}")
            for place in failure.places:
                output.print(f"  {escape(place)}")
            if failure.output:
                output.print(f"  it printed: {escape(failure.output)}", style="dim")
        if report.accuracy is not None and report.calls_per_second is not None and report.seconds_on_core is not None:
            output.print(f"\nOn corpora made here, A = {report.accuracy:.2f} (0.5 is chance, 1 is perfect). About "
                         f"{report.calls_per_second:,.0f} calls a second at n = 100; core would take it at most about "
                         f"{duration(report.seconds_on_core)} on one processor.")
        for sentence in advice(report):
            output.print(f"[yellow]Consider:[/yellow] {escape(sentence)}")
        verdict = (f"Sound. Next: touchstone run {report.entry.submission.filename}" if report.sound
                   else "Not sound yet: mend what is said above, then check again.")
        circumstances = f"checked in {duration(report.seconds)}; layers: {', '.join(confinement.layers)}"
        output.print(f"\n{escape(verdict)}   [dim]({circumstances})[/dim]\n")
