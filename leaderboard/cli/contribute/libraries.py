"""The commands `touchstone wrap` and `touchstone certify`, for metrics of libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import ANSWERED, SOME_FAILED, LimitOption, MemoryOption, SecondsOption, read_limits, write_file

libraries_app = typer.Typer()


@libraries_app.command()
def wrap(
    target: Annotated[str, typer.Argument(metavar="LIBRARY:METRIC", help="For example sacrebleu:TER.")],
    file: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="The file to write; default: named after the metric.",
                                              show_default=False)] = None,
) -> None:
    """Write a submission that calls the metric of a library.

    [bold]touchstone wrap torchmetrics:CHRFScore[/bold]
    [bold]touchstone wrap sentence-transformers:sentence-transformers/all-mpnet-base-v2[/bold]
    [bold]touchstone wrap cross-encoder:cross-encoder/stsb-distilroberta-base[/bold]
    """
    from harness.base.errors import TouchstoneError
    from leaderboard.certification.wrappers import find_target, submission_name, submission_source
    from leaderboard.cli.console import messages

    wrapped = find_target(target)
    path = file or Path(f"{submission_name(wrapped)}.py")
    try:
        with path.open("x", encoding="utf-8") as written:
            written.write(submission_source(wrapped))
    except FileExistsError:
        raise TouchstoneError(f"{path} exists; remove it, or name another file with --to.") from None
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be written ({error.strerror}); name another file with --to.") from None
    for model in wrapped.call.models:
        if "/" in model:
            messages.print(f"The model is fetched with `touchstone models fetch {model}`.", soft_wrap=True, markup=False)
    messages.print(f"{path} calls {wrapped.metric} of {wrapped.requirement}. Next: touchstone check {path}", soft_wrap=True,
                   markup=False)


@libraries_app.command()
def certify(
    library: Annotated[str, typer.Argument(metavar="LIBRARY==VERSION", help="For example sacrebleu==2.6.0; "
                                           "\"all\" for one version of each library.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="[METRIC]...", help="Metrics of the library; default: all that "
                                                      "can be called.",
                                                      show_default=False)] = None,
    report: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write the report as Markdown.",
                                                show_default=False)] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.", show_default=False)] = None,
    matrix: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a table of metrics and checks as Markdown.",
                                                show_default=False)] = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
) -> None:
    """Check metrics of a library: identity in many scripts, batches, unusual input, range, and agreement with a reference.

    [bold]touchstone certify rouge-score==0.1.2 rougeL --junit report.xml[/bold]
    """
    from leaderboard.certification.checks import Certificate, certify_target
    from leaderboard.certification.report import to_junit, to_markdown, to_matrix
    from leaderboard.certification.wrappers import LIBRARIES, find_target, metric_names
    from leaderboard.cli.console import ConsoleProgress, messages, output
    from leaderboard.cli.fitted_table import plain_table

    certificates: list[Certificate] = []
    targets = [f"{chosen}:{name}" for chosen in (LIBRARIES if library == "all" else [library])
               for name in names or metric_names(chosen)]
    for target in targets:
        certificate = certify_target(find_target(target), read_limits(seconds, memory, limit), ConsoleProgress())
        certificates.append(certificate)
        output.print(f"{certificate.library} {certificate.metric}", markup=False, style="bold")
        output.print(plain_table(("check", "verdict", "result"), [
            (result.check, result.verdict.value, result.sentence) for result in certificate.results]))
    for path, text in ((report, "\n".join(map(to_markdown, certificates))), (junit, to_junit(certificates)),
                       (matrix, to_matrix(certificates))):
        if path is not None:
            write_file(path, text)
            messages.print(str(path), soft_wrap=True, markup=False)
    sys.exit(SOME_FAILED if any(certificate.failures for certificate in certificates) else ANSWERED)
