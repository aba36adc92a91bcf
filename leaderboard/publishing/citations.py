"""How a number is quoted: of a release, with interval, rank and signature; and the table in the forms that papers take."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.task import Paper, Task
from leaderboard.publishing.release import Release, as_csv, table
from leaderboard.scoring.ranking import Ranking
from tasks.registry import TASKS

SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


def cite(release: Release, metric: str, task_name: str, form: str) -> str:
    """A metric's score on a task of a release, ready to be pasted."""
    known = {one["name"]: one["track"] for one in release.facts["suite"]["tasks"]}
    entry = release.entry(metric, known.get(task_name))
    asked = entry["tasks"]
    if task_name not in asked:
        raise TouchstoneError(f'The release {release.name} has no task "{task_name}".{did_you_mean(task_name, asked)} '
                              f"It has {', '.join(asked)}.")
    if asked[task_name]["score"] is None:
        raise TouchstoneError(f'"{metric}" has no score on {task_name} in {release.name}'
                              f"{': ' + asked[task_name]['not_applicable'] if asked[task_name]['not_applicable'] else ''}.")
    return CITATIONS[form](release, entry, TASKS[task_name])


def as_bibtex(release: Release, entry: Mapping[str, Any], task: Task[Any]) -> str:
    """The release, and the task's paper; the metric's own paper is named where its header does."""
    suite, score = release.facts["suite"], entry["tasks"][task.name]
    signature = score["signature"]
    items = [bibtex("misc", f"touchstone{release.name.replace('.', '_')}", {
        "title": f"{{Touchstone}} {release.name}: {latex(entry['title'])} on {latex(task.info.title.lower())}",
        "author": "{The Touchstone contributors}", "year": release.name.split(".")[0],
        "note": latex(f"Suite {suite['name']}@{suite['fingerprint'][:6]}, {in_words(entry, task)}, signature {signature}"),
        **({"annote": latex(f"The metric: {entry['paper']}")} if entry["paper"] else {})})]
    if task.info.paper is not None:
        items.append(paper_bibtex(task.info.paper))
    return "\n\n".join(items) + "\n"


def paper_bibtex(paper: Paper) -> str:
    return bibtex("inproceedings", paper.key, {
        "title": f"{{{latex(paper.title)}}}", "author": " and ".join(map(latex, paper.authors)),
        "booktitle": latex(paper.where), "year": str(paper.year), "url": paper.url})


def bibtex(kind: str, key: str, fields: Mapping[str, str]) -> str:
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


def as_latex(release: Release, entry: Mapping[str, Any], task: Task[Any]) -> str:
    """A row of a table: metric, score with interval, rank, release, signature."""
    score, rank = entry["tasks"][task.name], entry["rank"]
    cells = [latex(entry["name"]), f"${number(score['score'])}$ {latex(interval(score['score']))}",
             latex(f"{rank} {between(entry)}".strip()) if rank else "--", latex(f"Touchstone {release.name}"),
             rf"\texttt{{{latex(score['signature'])}}}"]
    return "% metric & score (95%) & rank & release & signature\n" + " & ".join(cells) + r" \\" + "\n"


def as_markdown(release: Release, entry: Mapping[str, Any], task: Task[Any]) -> str:
    return (f"**{markdown(entry['name'])}**: {in_words(entry, task)} (Touchstone {release.name}, "
            f"`{entry['tasks'][task.name]['signature']}`)\n")


def as_text(release: Release, entry: Mapping[str, Any], task: Task[Any]) -> str:
    standing = f" This release is {release.errata}." if release.errata else ""
    paper = task.info.paper
    behind = f" The task is that of {paper.authors[0].split(',')[0]} et al. {paper.year}, {paper.url}." if paper else ""
    return (f"{entry['name']} ({entry['title']}): {in_words(entry, task)}. Touchstone {release.name}, signature "
            f"{entry['tasks'][task.name]['signature']}.{behind}{standing}\n")


CITATIONS: Mapping[str, Callable[[Release, Mapping[str, Any], Task[Any]], str]] = {
    "bibtex": as_bibtex, "latex": as_latex, "markdown": as_markdown, "text": as_text}


def in_words(entry: Mapping[str, Any], task: Task[Any]) -> str:
    score, rank = entry["tasks"][task.name]["score"], entry["rank"]
    place = f"rank {rank} {between(entry)}".strip() if rank else f"not ranked ({entry['not_ranked']})"
    return f"{task.info.title.lower()} {number(score)} {interval(score)}, {place}"


def number(score: Mapping[str, Any]) -> str:
    return f"{score['value']:.3f}"


def interval(score: Mapping[str, Any]) -> str:
    return "(interval unknown)" if score["low"] is None else f"(95% {score['low']:.3f} to {score['high']:.3f})"


def between(entry: Mapping[str, Any]) -> str:
    low, high = entry["rank_interval"] or (None, None)
    return f"({low}-{high} for sure)" if low is not None and low != high else ""


def latex(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)


def markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+-!|" else character for character in text)


# ---- whole tables ------------------------------------------------------------------------------------------------------

def export(rankings: Mapping[str, Ranking], form: str, to: Path | None) -> str | None:
    """The table in a form for machines or papers, all tracks one after the other; a Parquet file is written, the others are
    returned.
    """
    rows = [row for ranking in rankings.values() for row in table(ranking.places)]
    if form == "parquet":
        if to is None:
            raise TouchstoneError("A Parquet table goes into a file: name it with --to table.parquet.")
        try:
            pd.DataFrame(rows).to_parquet(to, index=False)
        except OSError as wrong:
            raise TouchstoneError(f"{to} cannot be written ({wrong.strerror}).") from None
        return None
    if form == "csv":
        return as_csv(rows)
    if form == "json":
        return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(wide(ranking, form) for ranking in rankings.values())


def wide(ranking: Ranking, form: str) -> str:
    """A row an entry, a column a ranked task, for LaTeX and Markdown; lines where the ranking draws them."""
    tasks = [score.task for score in ranking.places[0].scored.ranked_tasks] if ranking.places else []
    escape = latex if form == "latex" else markdown
    heading = ["rank", "for sure", "metric", *(task.info.title for task in tasks)]
    rows: list[Sequence[str]] = []
    for place in ranking.ranked:
        low, high = place.interval or (None, None)
        scores = [score.score for score in place.scored.ranked_tasks]
        cells = [f"{one.value:.3f}" + (f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None else "") if one else "-"
                 for one in scores]
        rows.append([str(place.rank), "" if low is None else f"{low}-{high}", escape(place.scored.name), *map(escape, cells)])
    if form == "markdown":
        return "\n".join("| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows)) + "\n"
    lines = [rf"\begin{{tabular}}{{rrl{'r' * len(tasks)}}}", r"\toprule", " & ".join(heading) + r" \\", r"\midrule"]
    for number_, row in enumerate(rows, start=1):
        lines.append(" & ".join(row) + r" \\")
        lines += [r"\midrule"] if number_ in ranking.lines else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"
