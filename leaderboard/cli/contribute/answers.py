"""The commands `touchstone questions` and `touchstone answers`, for metrics that cannot run here."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import ANSWERED, SOME_FAILED, DataOption, StoreOption, SuiteOption, set_mirror, store_address

answers_app = typer.Typer()
OnlyOption = Annotated[list[str] | None, typer.Option("--only", metavar="TASK", show_default=False,
                                                      help="Only this task of text metrics; may be repeated.")]


@answers_app.command()
def questions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write: JSON lines with id, task, first, second, canary.")],
    suite: SuiteOption = "core",
    only: OnlyOption = None,
    data_dir: DataOption = None,
) -> None:
    """Write every pair of texts that a suite asks a text metric to score, for metrics that cannot run here, such as LLM judges.

    [bold]touchstone questions questions.jsonl --only human_ordering[/bold]
    """
    from harness.base.errors import TouchstoneError
    from harness.supplied_answers.questions import CANARY, collect_questions
    from leaderboard.cli.console import ConsoleProgress, messages
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    counts: Counter[str] = Counter()
    try:
        with file.open("w", encoding="utf-8") as lines:
            for question in collect_questions(load_suite(suite), only or (), ConsoleProgress()):
                lines.write(json.dumps({**question._asdict(), "canary": CANARY}, ensure_ascii=False) + "\n")
                counts[question.task] += 1
    except OSError as error:
        raise TouchstoneError(f"{file} cannot be written ({error.strerror}); choose another file.") from None
    for task, count in counts.items():
        messages.print(f"{task}: {count:,} questions", markup=False)
    messages.print(f"{sum(counts.values()):,} questions are in {file}. Score each pair, write the answers as described in "
                   "docs/submissions.md, and read them with `touchstone answers`.", soft_wrap=True, markup=False)


@answers_app.command()
def answers(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines: the metric, then the id and score of each question.")],
    suite: SuiteOption = "core",
    only: OnlyOption = None,
    store: StoreOption = None,
    data_dir: DataOption = None,
) -> None:
    """Read answers to the questions of a suite. The entry is marked "claimed: answers supplied", and it is not ranked.

    [bold]touchstone answers answers.jsonl --only human_ordering[/bold]
    """
    from harness.supplied_answers.answers import read_answers, store_answers
    from leaderboard.cli.console import ConsoleProgress, messages
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    supplied = read_answers(file)
    summary = store_answers(supplied, load_suite(suite), only or (), store_address(store), ConsoleProgress())
    for task, count in summary.units.items():
        messages.print(f"{task}: {count:,} test units", markup=False)
    for failure in summary.failures[:5]:
        messages.print(f"failed: {failure}", soft_wrap=True, markup=False)
    messages.print(f'{summary.entry.name} is stored and marked "claimed: answers supplied". '
                   f"Next: touchstone show --suite {suite}", soft_wrap=True, markup=False)
    sys.exit(SOME_FAILED if summary.failures else ANSWERED)
