"""USMB's tables: published, ours with confidence intervals, the datasets, and known causes of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base.paths import SUBMISSIONS
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import load_available
from harness.submission.submission import Entry
from leaderboard.papers.base import Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import UsmbFigure, usmb_tables
from leaderboard.papers.usmb_ensembles import learn_published
from leaderboard.report.formats import format_interval, format_number
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.scores import Scored
from tasks.suite_files import load_suite
from tasks.text.base import USMB

SUITE, CONDITION_SUITE = "papers_stand_ins", "usmb_by_condition"
BATCH_DEPENDENT = "bm25_plus[published]"    # runs with one call per condition, in the second suite
# The published name, and our entry; of BM25+ the variant that depends on its batch, which alone reproduces the numbers.
METRICS = {"cosine": "cosine", "levenshtein": "levenshtein", "rouge": "rouge", "jaccard": "jaccard",
           "bm25plus": BATCH_DEPENDENT}
# The ensembles' BM25+ does not depend on its batch; their cosine is that of one embedding model each.
ENSEMBLE_MEMBERS = {"jaccard": "jaccard", "levenshtein": "levenshtein", "bm25plus": "bm25_plus", "rouge": "rouge"}
COSINES = ("cosine[minilm]", "cosine[wordllama]")
TASKS = ("alignment", "robustness", "sensitivity", "clustering", "retrieval")
CONDITION_TASKS = ("robustness", "sensitivity")
ENSEMBLE_TASKS = {"axis": "alignment", "comparisons": "alignment", "robustness": "robustness", "sensitivity": "sensitivity"}
# Known causes of differences, by table and measure ("" for any measure).
EXPLANATIONS: Mapping[tuple[str, str], str] = {
    ("axis", ""): "published is 0.5(1+r); SummEval replaces OpenAI's ratings, of which there is no snapshot",
    ("comparisons", ""): "the number of words alone reaches .62",
    ("robustness", "superficial_over_summary"): "for embeddings it depends on where the model truncates texts",
    ("usmb", "sensitivity"): "a function of length alone comes close to 1; see constant_length on the page of the task",
    ("usmb", "clustering"): "V-measure of Ward linkage on rows of similarities; random labels score above 0 too",
    ("usmb", "retrieval"): "the score on changed texts that replace the originals; for retention with added copies see the notes",
    ("weights_comparisons", ""): "the paper repeats the row of the axis weights here",
}


@dataclass(frozen=True)
class Comparison:
    """One published number and ours."""

    figure: UsmbFigure
    entry: str
    ours: Estimate | None                   # None: not run
    data: str

    @property
    def note(self) -> str:
        """The known cause of a difference."""
        return explain_difference(self.figure)


def reproduce(options: Options) -> Reproduction:
    """Run the metrics of the paper on both suites, and compare its tables with the results in the store."""
    suite, condition_suite, only = load_suite(SUITE), load_suite(CONDITION_SUITE), options.only or TASKS
    entries = paper_entries()
    tallies = [run_suite(entries, suite, options.store, only=only, jobs=options.jobs, progress=options.progress)]
    condition_tasks = [task for task in only if task in CONDITION_TASKS]
    if condition_tasks:
        tallies.append(run_suite([entry for entry in entries if entry.name == BATCH_DEPENDENT], condition_suite, options.store,
                                 only=condition_tasks, jobs=options.jobs, progress=options.progress))
    store = Store(options.store, read_only=True)
    scored, by_condition = ({entry.name: entry.in_track("text") for entry in score_suite(store, each)}
                            for each in (suite, condition_suite))
    comparisons = compare_figures(scored, suite, by_condition.get(BATCH_DEPENDENT))
    return Reproduction([build_table(comparisons)], build_records(comparisons), tallies)


def paper_entries() -> list[Entry]:
    """Return the entries of the published tables that are available."""
    names = {*METRICS.values(), *ENSEMBLE_MEMBERS.values(), *COSINES}
    return [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries if entry.name in names]


def compare_figures(scored: Mapping[str, Scored], suite: Suite, by_condition: Scored | None = None) -> list[Comparison]:
    """Compare every published number with ours.

    `by_condition` holds the scores of the batch-dependent entry with one call per condition.
    """
    learned = learn_published(scored, ENSEMBLE_MEMBERS, COSINES)
    comparisons = []
    for figure in usmb_tables():
        name = METRICS.get(figure.metric, figure.metric)
        if name == "ensemble":
            value = learned.get((figure.table, figure.measure))
            ours = None if value is None else Estimate(value, None, None, len(COSINES))
        else:
            ours = estimate_figure(scored.get(name), figure)
        if name == BATCH_DEPENDENT:
            ours = estimate_figure(by_condition, figure) or ours
        comparisons.append(Comparison(figure, name, ours, list_datasets(suite, figure)))
    return comparisons


def explain_difference(figure: UsmbFigure) -> str:
    """Return what is known about the difference between a published number and ours."""
    return EXPLANATIONS.get((figure.table, figure.measure)) or EXPLANATIONS.get((figure.table, ""), "")


def estimate_figure(scored: Scored | None, figure: UsmbFigure) -> Estimate | None:
    """Return our estimate of a published number, on the published scale."""
    if scored is None:
        return None
    if figure.table == "usmb" and figure.measure == "overall":
        return None if scored.usmb is None else Estimate(scored.usmb, None, None, len(TASKS))
    task, measure = stands_for(figure)
    return on_their_scale(figure, scored.tasks[task].measures.get(measure) if task in scored.tasks else None)


def stands_for(figure: UsmbFigure) -> tuple[str, str]:
    """Return our task and our measure for a published number."""
    if figure.table == "usmb":
        return figure.measure, USMB
    if figure.table == "axis":
        return "alignment", f"pearson_{figure.measure}"
    task = "alignment" if figure.table == "comparisons" else figure.table
    return task, USMB if figure.measure == "overall" else figure.measure


def on_their_scale(figure: UsmbFigure, estimate: Estimate | None) -> Estimate | None:
    """Return our estimate on the scale of the published table, which has 0.5(1 + r) for correlations."""
    if estimate is None or figure.table != "axis":
        return estimate
    low, high = (None if edge is None else (1 + edge) / 2 for edge in (estimate.low, estimate.high))
    return Estimate((1 + estimate.value) / 2, low, high, estimate.units)


def list_datasets(suite: Suite, figure: UsmbFigure) -> str:
    """Return the names of the datasets behind our number."""
    table = figure.table.removeprefix("weights_")
    task = {**ENSEMBLE_TASKS, "usmb": figure.measure}.get(table, table)
    strata = [question.unit.stratum for question in suite.task_units if question.task.name == task]
    return ", ".join(dict.fromkeys(stratum[-1] for stratum in strata
                                   if table not in ("axis", "comparisons") or stratum[0] == table))


def build_table(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return the table for reading."""
    rows = [[table, metric, measure, format_number(published), format_number(ours), format_interval(low, high), data, note]
            for table, metric, measure, published, ours, low, high, data, note in map(list_values, comparisons)]
    return PaperTable(("table", "metric", "measure", "published", "ours", "95% CI", "data", "known cause of differences"), rows)


def build_records(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return one row per number, in full precision."""
    return PaperTable(("table", "metric", "measure", "published", "ours", "low", "high", "data", "note"),
                      [list_values(comparison) for comparison in comparisons])


def list_values(comparison: Comparison) -> tuple[str, str, str, float, float | None, float | None, float | None, str, str]:
    """Return the values of a record."""
    figure, ours = comparison.figure, comparison.ours
    value, low, high = (ours.value, ours.low, ours.high) if ours else (None, None, None)
    return figure.table, comparison.entry, figure.measure, figure.value, value, low, high, comparison.data, comparison.note
