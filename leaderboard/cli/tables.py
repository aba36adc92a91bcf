"""Tables of checks, explanations, parity and findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from harness.sandbox.layers import Sandbox
from leaderboard.cli.console import axiom_table, format_duration, output
from leaderboard.cli.fitted_table import FittedTable, plain_table
from leaderboard.workflows.check import CheckReport, give_advice
from leaderboard.workflows.doctor import Finding
from leaderboard.workflows.explain import PERCENTILES, Explanation
from leaderboard.workflows.parity import ParityRow
from tasks.properties.axioms import AXIOMS, describe_verdict


def print_check(reports: Sequence[CheckReport], confinement: Sandbox) -> None:
    """Print the reports of a check."""
    for report in reports:
        header = report.entry.header
        output.print(Text.assemble((report.entry.name, "bold"), f"  {header.title}, {header.kind} metric, takes {header.input}, "
                                   f"returns a {header.returns}"))
        output.print(Text(f"{report.entry.submission.filename}: valid header. Entry digest {report.entry.digest[:12]}.",
                          style="dim"))
        if report.refusal is not None:
            label = "[red]Failed:[/red]" if report.failures else "[yellow]Consider:[/yellow]"
            output.print(f"\n{label} {escape(report.refusal)}")
        if report.axioms is not None and not (report.refusal and report.failures):
            worst_cases = {axiom: describe_verdict(verdict) for axiom, verdict in report.worst.items()}
            shares = {name: share for name, share in report.axioms.values.items() if share is not None}
            output.print("\nAxioms, a few trials of each on synthetic texts:")
            output.print(Padding(axiom_table(shares, AXIOMS, worst_cases), (0, 0, 0, 2)))
        for failure in report.failures:
            label = "[dim]The failure:[/dim]" if report.refusal else "[red]Failed:[/red]"
            output.print(f"\n{label} {escape(str(failure))}")
            for line in failure.places:
                output.print(f"  {escape(line)}")
            if failure.output:
                output.print(f"  output: {escape(failure.output)}", style="dim")
        if report.inversion is not None:
            output.print(f"\n[red]Failed:[/red] {escape(report.inversion)}")
        if report.answers is not None:
            low, high = header.range
            output.print(f"\nAnswers from {report.answers.lowest:.3g} to {report.answers.highest:.3g}; declared range {low:g} to "
                         f"{high:g}.")
        if report.accuracy is not None and report.calls_per_second is not None and report.seconds_on_core is not None:
            output.print(f"\nOn synthetic corpora, accuracy A = {report.accuracy:.2f} (0.5 is chance, 1 is perfect). About "
                         f"{report.calls_per_second:,.{0 if report.calls_per_second > 9 else 1}f} calls per second at "
                         f"n = {report.texts}; on core known similarity takes at most about "
                         f"{format_duration(report.seconds_on_core)} on one processor.")
        for sentence in give_advice(report):
            output.print(f"[yellow]Consider:[/yellow] {escape(sentence)}")
        verdict = (f"Valid. Next: touchstone run {report.entry.submission.filename}" if report.sound
                   else "Not valid yet. Fix the errors above and run the check again.")
        circumstances = f"checked in {format_duration(report.seconds)}; layers: {', '.join(confinement.layers)}"
        output.print(f"\n{escape(verdict)}   [dim]({circumstances})[/dim]\n")


def explanation_table(explanation: Explanation) -> FittedTable:
    """Return an explanation as a table."""
    return plain_table(
        ("pairs", "count", *(f"{percentile}%" for percentile in PERCENTILES), "less similar", "definition"),
        [
            (
                Text(position.of, style="bold"),
                f"{position.pairs:,}",
                *(f"{position.quantiles[str(percentile)]:.3g}" if position.quantiles else "-" for percentile in PERCENTILES),
                "unknown" if position.percentile is None else f"{position.percentile:.0f}%",
                Text(position.meaning, style="dim"),
            )
            for position in explanation.places
        ],
    )


def parity_table(rows: Sequence[ParityRow]) -> FittedTable:
    """Return a comparison of libraries as a table."""
    return plain_table(("", "call", "largest difference", "rank correlation", "the same as"), [
        (Text(row.name, style="bold"), *map(Text, (row.call, *((row.missing, "", "") if row.missing else (
            f"{row.difference:.3f}", "-" if row.correlation is None else f"{row.correlation:.3f}", row.same_as or "")))))
        for row in rows])


def print_findings(findings: list[Finding]) -> None:
    """Print the findings of the doctor."""
    output.print(plain_table(("", "", ""), [
        ("[green]ok[/green]" if finding.ok else "[red]no[/red]", finding.what, finding.says) for finding in findings]))
