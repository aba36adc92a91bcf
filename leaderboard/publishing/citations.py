"""Citations of released scores, and whole tables in the formats that papers use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.task import Paper
from leaderboard.publishing.release import Release, score_rows, write_csv
from leaderboard.report.schema import EntryReport, TaskInfo
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.ranking import Ranking

SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def cite(release: Release, metric: str, task_name: str, form: str = "text") -> str:
    """Return a citation of a metric's score on a task of a release: as `text`, `bibtex`, `latex` or `markdown`."""
    task = release.task(task_name)
    entry = release.entry(metric, task.track if task is not None else None)
    result = entry.tasks.get(task_name)
    if task is None or result is None:
        raise TouchstoneError(f'The release {release.name} has no task "{task_name}".{did_you_mean(task_name, entry.tasks)} '
                              f"It has {', '.join(entry.tasks)}.")
    if result.score is None:
        raise TouchstoneError(f'"{metric}" has no score on {task_name} in {release.name}'
                              f"{': ' + result.not_applicable if result.not_applicable else ''}.")
    return CITATIONS[form](release, entry, task)


def as_bibtex(release: Release, entry: EntryReport, task: TaskInfo) -> str:
    """Return BibTeX entries of the release and of the task's paper."""
    suite = release.report.suite
    note = f"Suite {suite.name}@{suite.fingerprint[:6]}, {in_words(entry, task)}, signature {entry.tasks[task.name].signature}"
    items = [bibtex("misc", f"touchstone{release.name.replace('.', '_')}", {
        "title": f"{{Touchstone}} {release.name}: {latex(entry.title)} on {latex(task.title.lower())}",
        "author": "{The Touchstone contributors}", "year": release.name.split(".")[0], "note": latex(note),
        **({"annote": latex(f"The metric: {entry.paper}")} if entry.paper else {})})]
    if task.paper is not None:
        items.append(paper_bibtex(task.paper))
    return "\n\n".join(items) + "\n"


def paper_bibtex(paper: Paper) -> str:
    """Return the BibTeX entry of a task's paper."""
    return bibtex("inproceedings", paper.key, {
        "title": f"{{{latex(paper.title)}}}", "author": " and ".join(map(latex, paper.authors)),
        "booktitle": latex(paper.where), "year": str(paper.year), "url": paper.url})


def bibtex(kind: str, key: str, fields: Mapping[str, str]) -> str:
    """Return one BibTeX entry; the fields are LaTeX."""
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


def as_latex(release: Release, entry: EntryReport, task: TaskInfo) -> str:
    """Return a row of a LaTeX table: metric, score with interval, overall rank, release, signature."""
    result = entry.tasks[task.name]
    assert result.score is not None
    rank = f"{entry.rank} {format_rank_range(entry)}".strip() if entry.rank else "--"
    cells = [latex(entry.name), f"${result.score.value:.3f}$ {latex(format_interval(result.score))}", latex(rank),
             latex(f"Touchstone {release.name}"), rf"\texttt{{{latex(result.signature)}}}"]
    return "% metric & score (95% CI) & overall rank & release & signature\n" + " & ".join(cells) + r" \\" + "\n"


def as_markdown(release: Release, entry: EntryReport, task: TaskInfo) -> str:
    """Return the score as a line of Markdown."""
    return (f"**{markdown(entry.name)}**: {in_words(entry, task)} (Touchstone {release.name}, "
            f"`{entry.tasks[task.name].signature}`)\n")


def as_text(release: Release, entry: EntryReport, task: TaskInfo) -> str:
    """Return the score as sentences, with the task's paper and the errata of the release."""
    errata = f" This release is {release.errata}." if release.errata else ""
    paper = task.paper
    origin = f" The task is from {paper.authors[0].split(',')[0]} et al. {paper.year}, {paper.url}." if paper else ""
    return (f"{entry.name} ({entry.title}): {in_words(entry, task)}. Touchstone {release.name}, signature "
            f"{entry.tasks[task.name].signature}.{origin}{errata}\n")


CITATIONS: Mapping[str, Callable[[Release, EntryReport, TaskInfo], str]] = {
    "bibtex": as_bibtex, "latex": as_latex, "markdown": as_markdown, "text": as_text}


def in_words(entry: EntryReport, task: TaskInfo) -> str:
    """Return the score, its interval and the overall rank in words."""
    score = entry.tasks[task.name].score
    assert score is not None
    rank = f"overall rank {entry.rank} {format_rank_range(entry)}".strip() if entry.rank else f"not ranked ({entry.not_ranked})"
    return f"{task.title.lower()} {score.value:.3f} {format_interval(score)}, {rank}"


def format_interval(score: Estimate) -> str:
    """Return the 95% interval in brackets."""
    return "(interval unknown)" if score.low is None else f"(95% CI {score.low:.3f} to {score.high:.3f})"


def format_rank_range(entry: EntryReport) -> str:
    """Return the 95% rank range in brackets, nothing if it is a single rank."""
    low, high = entry.rank_interval or (None, None)
    return f"(95% range {low}-{high})" if low is not None and low != high else ""


def latex(text: str) -> str:
    """Return the text with the special characters of LaTeX escaped."""
    return "".join(SPECIAL.get(character, character) for character in text)


def markdown(text: str) -> str:
    """Return the text with the special characters of Markdown escaped."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+-!|" else character for character in text)


# ---- whole tables ------------------------------------------------------------------------------------------------------

def export(rankings: Mapping[str, Ranking], form: str, to: Path | None) -> str | None:
    """Return the tables of all tracks in a format for machines or papers; Parquet is written to a file instead."""
    rows = [row for ranking in rankings.values() for row in score_rows(ranking.places)]
    if form == "parquet":
        if to is None:
            raise TouchstoneError("A Parquet table needs a file: name it with --to table.parquet.")
        try:
            pd.DataFrame(rows).to_parquet(to, index=False)
        except OSError as error:
            raise TouchstoneError(f"{to} cannot be written ({error.strerror}).") from None
        return None
    if form == "csv":
        return write_csv(rows)
    if form == "json":
        return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(score_table(ranking, form) for ranking in rankings.values())


def score_table(ranking: Ranking, form: str) -> str:
    """Return a row per ranked entry and a column per ranked task, in LaTeX (with dividing lines) or Markdown."""
    tasks = [score.task for score in ranking.places[0].scored.ranked_tasks] if ranking.places else []
    escape = latex if form == "latex" else markdown
    heading = ["rank", escape("95% range"), "metric", *(task.info.title for task in tasks)]
    rows: list[Sequence[str]] = []
    for placed in ranking.ranked:
        rank_range = "-".join(map(str, placed.interval)) if placed.interval else ""
        scores = [format_score(score.score) for score in placed.scored.ranked_tasks]
        rows.append([str(placed.rank), rank_range, escape(placed.scored.name), *map(escape, scores)])
    if form == "markdown":
        return "\n".join("| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows)) + "\n"
    lines = [rf"\begin{{tabular}}{{rrl{'r' * len(tasks)}}}", r"\toprule", " & ".join(heading) + r" \\", r"\midrule"]
    for number, row in enumerate(rows, start=1):
        lines.append(" & ".join(row) + r" \\")
        lines += [r"\midrule"] if number in ranking.lines else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def format_score(score: Estimate | None) -> str:
    """Return a score with its interval, or a dash."""
    if score is None:
        return "-"
    return f"{score.value:.3f}" + (f" [{score.low:.3f}, {score.high:.3f}]" if score.low is not None else "")
