"""Citations of released scores, and whole tables in the formats that papers use."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.evaluation.suite import Axis
from harness.evaluation.task import Paper
from leaderboard.ensembles.summary import EnsembleRow
from leaderboard.publishing.release import Release, score_rows, write_csv
from leaderboard.publishing.views import ResultsView
from leaderboard.report.schema import EntryReport, TaskInfo
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.signature import signature_on_axis

OVERALL = "overall"
SITE_VARIABLE = "TOUCHSTONE_SITE"           # the public address of the board, for the url of citations
SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
           "{": r"\textbraceleft{}", "}": r"\textbraceright{}",       # BibTeX counts braces, escaped ones too
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}


@dataclass(frozen=True)
class CitedScore:
    """A released score, on one task or overall, with what a citation says about it."""

    release: Release
    name: str
    title: str
    track: str
    task: TaskInfo | None                   # None: the overall score, or that on an axis
    score: Estimate
    rank: str | None                        # on this task or overall, with its range: "2 of 20 (95% range 1-4)"
    not_ranked: str | None                  # why there is no rank
    signature: str
    paper: str | None                       # of the metric
    axis: Axis | None = None            # of the overall score
    site: str | None = None                 # the address of the board

    @property
    def key(self) -> str:
        """The BibTeX key: unique per release, metric, track and task."""
        axis = self.axis.name if self.axis is not None else OVERALL
        task = self.task.name if self.task is not None else f"{axis}-{self.track}"
        return f"touchstone-{self.release.name}-{re.sub('[^a-zA-Z0-9_.]+', '-', self.name).strip('-')}-{task}"

    @property
    def url(self) -> str | None:
        """The address of the metric's page in this release; None if the address of the board is not known."""
        query = urlencode({"name": self.name, "release": self.release.name})
        return f"{self.site.rstrip('/')}/metric?{query}" if self.site else None

    @property
    def errata(self) -> str:
        """What became known about the release and the cited tasks later; an empty string if there is nothing."""
        tasks = [task.name for task in self.release.report.suite.tasks if task.ranked and task.track == self.track]
        return " ".join(self.release.errata.sentences([self.task.name] if self.task is not None else tasks))

    @property
    def about(self) -> str:
        """What the score is of."""
        if self.task is not None:
            return f"{self.task.title.lower()} score"
        return "overall score" if self.axis is None or self.axis.name == OVERALL else f"score on the axis {self.axis.title}"

    @property
    def unit(self) -> str:
        """What 0 and 1 are on the axis, in brackets."""
        return f" ({self.axis.unit})" if self.axis is not None and self.axis.unit else ""

    @property
    def standing(self) -> str:
        """The rank, or why there is none."""
        return f"not ranked ({self.not_ranked})" if self.rank is None else f"rank {self.rank}"

    def __str__(self) -> str:
        what = self.about if self.task is not None else f"{self.about} of {self.track} metrics{self.unit}"
        interval = "interval unknown" if self.score.low is None else f"95% CI {self.score.low:.3f} to {self.score.high:.3f}"
        return f"{what} {self.score.value:.3f} ({interval}), {self.standing}"


def cite(release: Release, metric: str, task_name: str = OVERALL, form: str = "text", track: str | None = None,
         site: str | None = None) -> str:
    """Return a citation of a metric's score as text, bibtex, latex or markdown.

    Args:
        release: The release that contains the score.
        metric: The name of a metric or of an ensemble.
        task_name: The name of a task or of an axis, or `overall`.
        form: The format.
        track: The track of the overall score; by default `text` for metrics of text pairs and `corpus` for others.
        site: The address of the board, for the `url` of BibTeX entries; by default the variable TOUCHSTONE_SITE.
    """
    if form not in CITATIONS:
        raise TouchstoneError(f'There is no format "{printable(form, 20)}"; available are {", ".join(CITATIONS)}.')
    cited = find_score(release, metric, task_name, track)
    return CITATIONS[form](replace(cited, site=site or os.environ.get(SITE_VARIABLE)))


def find_score(release: Release, metric: str, task_name: str = OVERALL, track: str | None = None) -> CitedScore:
    """Return a released score of a metric or an ensemble."""
    task, suite = release.task(task_name), release.report.suite
    axes = [axis.name for axis in suite.axes]
    names = list(dict.fromkeys([OVERALL, *axes, *(item.name for item in suite.tasks)]))
    if task is None and task_name not in names:
        raise TouchstoneError(f'The release {release.name} has no task "{printable(task_name, 80)}".'
                              f"{did_you_mean(task_name, names)} It has {', '.join(names)}.")
    tracks = list(dict.fromkeys(entry.track for entry in release.report.entries))
    if track is not None and track not in tracks:
        raise TouchstoneError(f'The release {release.name} has no track "{printable(track, 40)}"; it has {", ".join(tracks)}.')
    if task is None and task_name != OVERALL:
        axis = suite.axis(task_name)
        if axis == suite.headline(axis.track):
            return score_of_metric(release, release.entry(metric, axis.track), None, task_name)
        by_axis = replace(release, report=release.report.on_axis(axis))
        return score_of_metric(by_axis, by_axis.entry(metric, axis.track), None, task_name, axis.name)
    ensembles = release.report.ensembles
    for row in ensembles.rows if ensembles is not None else ():
        if row.name == metric and ensembles is not None:
            return score_of_ensemble(release, row, ensembles.track, task, task_name)
    entries = [entry for entry in release.report.entries if entry.name == metric and track in (None, entry.track)]
    try:
        first = release.entry(metric, track)
    except TouchstoneError as error:
        raise TouchstoneError(f"{error} Only released scores can be cited.") from None
    preferred = task.track if task is not None and task.ranked else first.kind
    return score_of_metric(release, min(entries, key=lambda entry: entry.track != preferred), task, task_name)


def score_of_metric(release: Release, entry: EntryReport, task: TaskInfo | None, task_name: str,
                    in_signature: str = "all") -> CitedScore:
    """Return the score of a metric on a task, or overall."""
    result = entry.tasks.get(task_name)
    score = entry.overall if task is None else result.score if result is not None else None
    if score is None:
        reason = result.not_applicable if result is not None else None
        scored = [name for name in entry.tasks if entry.score_on(name) is not None]
        raise TouchstoneError(f'"{entry.name}" has no {task_name} score in {release.name}{f": {reason}" if reason else ""}. '
                              f"It has scores on {', '.join(scored) or 'no task'}.")
    if task is None:
        first = next(iter(entry.tasks.values())).signature
        signature = signature_on_axis(first, entry.lifted, in_signature)
        rank, interval = entry.rank, entry.rank_interval
    else:
        signature = entry.tasks[task_name].signature
        on_task = entry.task_ranks.get(task_name)
        rank, interval = (on_task.rank, on_task.rank_interval) if on_task is not None else (None, None)
    ranked = [other for other in release.report.entries if other.track == entry.track and other.rank is not None]
    return CitedScore(release, entry.name, entry.title, entry.track, task, score,
                      None if rank is None else f"{rank} of {len(ranked)}{format_range(interval)}",
                      entry.not_ranked or "a property without ranks", signature, entry.paper,
                      None if task is not None else release.report.suite.headline(entry.track))


def score_of_ensemble(release: Release, row: EnsembleRow, track: str, task: TaskInfo | None, task_name: str) -> CitedScore:
    """Return the score of an ensemble on a task, or overall."""
    if task is not None and task_name not in row.tasks:
        raise TouchstoneError(f'The ensemble "{row.name}" has no score on {task_name} in {release.name}. It has scores on '
                              f"{', '.join((OVERALL, *row.tasks))}.")
    suite = release.report.suite
    score = row.overall if task is None else row.tasks[task_name].score
    signature = f"{row.name}|{suite.label}|{task_name}"
    return CitedScore(release, row.name, row.title, track, task, score, None, "ensemble", signature, None)


def format_range(interval: tuple[int, int] | None) -> str:
    """Return a 95% rank range in brackets; nothing if it is a single rank."""
    return f" (95% range {interval[0]}-{interval[1]})" if interval is not None and interval[0] != interval[1] else ""


def as_bibtex(cited: CitedScore) -> str:
    """Return a BibTeX entry of the score; the papers of the task and of the metric stand in its note."""
    suite, task = cited.release.report.suite, cited.task
    note = [f"{str(cited)[0].upper()}{str(cited)[1:]}", f"suite {suite.label}",
            f"signature {cited.signature}"]
    note += [f"task of {cite_paper(task.paper)}, {task.paper.url}"] if task is not None and task.paper is not None else []
    note += [f"metric of {cited.paper}"] if cited.paper else []
    about = cited.about.removesuffix(" score")
    return bibtex("misc", cited.key, {
        **release_fields(cited.release, cited.url),
        "title": f"{{Touchstone}} {cited.release.name}: {latex(cited.title)}, {latex(about)}",
        "note": latex(f"{'; '.join(note)}. {cited.errata}".rstrip())}) + "\n"


def release_fields(release: Release, url: str | None) -> dict[str, str]:
    """Return the BibTeX fields that identify a release: author, year, version, and its address or checksum."""
    return {"author": "{The Touchstone contributors}", "year": release.name.split(".")[0], "version": release.name,
            **({"url": url} if url else {}), "howpublished": f"Release folder with SHA-256 {release.checksum[:16]}"}


def bibtex(kind: str, key: str, fields: Mapping[str, str]) -> str:
    """Return one BibTeX entry; the fields are LaTeX."""
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


def paper_bibtex(paper: Paper) -> str:
    """Return the BibTeX entry of a task's paper."""
    kind, field = ("inproceedings", "booktitle") if paper.where.startswith("Proceedings") else ("misc", "howpublished")
    return bibtex(kind, paper.key, {
        "title": f"{{{latex(paper.title)}}}", "author": " and ".join(map(latex, paper.authors)),
        field: latex(paper.where), "year": str(paper.year), "url": paper.url})


def cite_paper(paper: Paper) -> str:
    """Return a short reference to a paper."""
    return f"{paper.authors[0].split(',')[0]} et al. {paper.year}"


def cite_release(release: Release, site: str | None = None) -> str:
    """Return BibTeX entries of a release as a whole and of the papers of its tasks."""
    suite = release.report.suite
    papers = {task.paper.key: task.paper for task in suite.tasks if task.paper is not None}
    fields = {**release_fields(release, site or os.environ.get(SITE_VARIABLE)),
              "title": f"{{Touchstone}} {release.name}: a benchmark of text-similarity metrics",
              "note": latex(" ".join([f"Suite {suite.label}.",
                                      *release.errata.sentences()]))}
    return "\n\n".join([bibtex("misc", f"touchstone-{release.name}", fields), *map(paper_bibtex, papers.values())]) + "\n"


def as_latex(cited: CitedScore) -> str:
    """Return a row of a LaTeX table: metric, task, score with interval, rank, release, signature."""
    score = cited.score
    interval = "" if score.low is None else f" [{score.low:.3f}, {score.high:.3f}]"
    rank = "--" if cited.rank is None else cited.rank.replace("-", "--")
    cells = [latex(cited.name), latex(cited.task.title if cited.task is not None else "Overall"),
             f"${score.value:.3f}${interval}", rank.replace("%", r"\%"), f"Touchstone {cited.release.name}",
             rf"\texttt{{{latex(cited.signature)}}}"]
    errata = f"% {' '.join(cited.errata.split())}\n" if cited.errata else ""
    return f"% metric & task & score [95% CI] & rank & release & signature\n{errata}{' & '.join(cells)} \\\\\n"


def as_markdown(cited: CitedScore) -> str:
    """Return the score as a line of Markdown."""
    return (f"**{markdown(cited.name)}**: {cited} (Touchstone {cited.release.name}, `{cited.signature}`). "
            f"{markdown(cited.errata)}").rstrip() + "\n"


def as_text(cited: CitedScore) -> str:
    """Return the score as sentences, with the task's paper and the errata of the release."""
    paper = cited.task.paper if cited.task is not None else None
    origin = f" The task is from {cite_paper(paper)}, {paper.url}." if paper is not None else ""
    return (f"{cited.name} ({cited.title}): {cited}. Touchstone {cited.release.name}, signature {cited.signature}."
            f"{origin} {cited.errata}").rstrip() + "\n"


CITATIONS: Mapping[str, Callable[[CitedScore], str]] = {
    "bibtex": as_bibtex, "latex": as_latex, "markdown": as_markdown, "text": as_text}


def latex(text: str) -> str:
    """Return the text with the special characters of LaTeX escaped."""
    return "".join(SPECIAL.get(character, character) for character in text)


def markdown(text: str) -> str:
    """Return the text with the special characters of Markdown escaped."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+-!|" else character for character in text)


# ---- whole tables ------------------------------------------------------------------------------------------------------

def export(results: ResultsView, tracks: Sequence[str], form: str, to: Path | None) -> str | None:
    """Return the tables of some tracks in a format for machines or papers; Parquet is written to a file instead."""
    rows = score_rows(entry for track in tracks for entry in results.overview.standings(track).values())
    if form == "parquet":
        if to is None:
            raise TouchstoneError("A Parquet table needs a file: name it with --to table.parquet.")
        import pandas as pd

        try:
            pd.DataFrame(rows).to_parquet(to, index=False)
        except OSError as error:
            raise TouchstoneError(f"{to} cannot be written ({error.strerror}). Choose another file.") from None
        return None
    if form == "csv":
        return write_csv(rows)
    if form == "json":
        return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(score_table(results, track, form) for track in tracks)


def score_table(results: ResultsView, track: str, form: str) -> str:
    """Return a row per ranked entry, with its score on the axis and on every task, in LaTeX (with dividing lines) or Markdown."""
    tasks = results.suite.ranked_tasks(track)
    escape = latex if form == "latex" else markdown
    titles = [results.suite.headline(track).title, *(task.title for task in tasks)]
    heading = ["rank", escape("95% range"), "metric", *map(escape, titles)]
    rows: list[Sequence[str]] = []
    for entry in results.overview.ranked(track):
        rank_range = "-".join(map(str, entry.rank_interval)) if entry.rank_interval else ""
        scores = [format_score(score) for score in (entry.overall, *(entry.score_on(task.name) for task in tasks))]
        rows.append([str(entry.rank), rank_range, escape(entry.name), *map(escape, scores)])
    if form == "markdown":
        return "\n".join("| " + " | ".join(row) + " |" for row in (heading, ["---"] * len(heading), *rows)) \
            + f"\n\n{results.suite.label}\n"
    columns = "rrl" + "r" * len(titles)
    lines = [f"% {results.suite.label}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule",
             " & ".join(heading) + r" \\", r"\midrule"]
    for number, row in enumerate(rows, start=1):
        lines.append(" & ".join(row) + r" \\")
        lines += [r"\midrule"] if number in results.overview.lines[track] else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def format_score(score: Estimate | None) -> str:
    """Return a score with its interval, or a dash."""
    if score is None:
        return "-"
    return f"{score.value:.3f}" + (f" [{score.low:.3f}, {score.high:.3f}]" if score.low is not None else "")
