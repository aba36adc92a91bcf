"""Yamshchikov et al. 2020: means and deviations of fourteen sets of rated pairs, their rank orders, and scores of the orders.

Scores are compared in three versions: as printed, recomputed from the printed means with misprints corrected, and ours.  The
first two differ because the printed orders contradict the printed means among the random sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import SUBMISSIONS
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import scan_folder
from harness.submission.submission import Entry
from leaderboard.papers.base import Cell, Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import PairSet, PublishedOrdering, yamshchikov2020_tables
from leaderboard.report.formats import MISSING, format_number
from tasks.common import rank_orders
from tasks.suite_files import load_suite
from tasks.text.human_ordering import RANDOM, Pair, read_pairs

SUITE, DATASET, HUMAN = "yamshchikov2020", "human_similarity_14", "human"
# The paper's metric, and our entry with the definition that reproduces the paper's means, where that is known.
METRICS = {"pos_distance": "pos_distance", "word_overlap": "word_overlap", "chrf": "chrf[published]",
           "cosine_word2vec": "cosine_word2vec", "cosine_fasttext": "cosine_fasttext", "wmd": "wmd[published]",
           "rouge1": "rouge1[published]", "rouge2": "rouge2[published]", "rougeL": "rouge_l[published]", "bleu": "bleu",
           "meteor": "meteor[published]", "bertscore": "bertscore", "elmo_l2": "elmo_l2"}
SUBSTITUTIONS = {"pos_distance": "GloVe vectors and Brill's tagger replace those of the paper: compare orders, not means",
                 "wmd": "GloVe vectors replace the paper's, which are not available: compare orders, not means",
                 "bertscore": "MiniLM replaces a large model: compare orders, not means"}
DISTANCES = frozenset({"pos_distance", "cosine_word2vec", "cosine_fasttext", "wmd", "elmo_l2"})
PARAPHRASES = frozenset({"paralex", "paraphrase"})          # the other five are sets of style transfer
# (metric, set): (printed mean, correct mean, evidence).
MISPRINTS: Mapping[tuple[str, PairSet], tuple[float, float, str]] = {
    ("wmd", ("paraphrase", True)): (0.34, 1.34, "the printed rank (14) and the printed correlation (.92) require it"),
    ("human", ("bible", False)): (3.54, 3.494, "the mean of the ratings"),
    ("chrf", ("gyafc_informal", False)): (0.34, 0.377, "every variant of chrF has this mean"),
}
SCORES = {"pearson_of_means": "Pearson, means", "spearman_of_order": "Spearman, orders", "coinciding_ranks": "equal ranks",
          "swaps": "swaps", "variability": "variability", "separates_paraphrases": "random below paraphrases",
          "separates_style": "random below style"}
CLOSE = 0.03                                # difference of means up to which a set counts as reproduced


@dataclass(frozen=True)
class Ordering:
    """Means of sets, their ranks, and the agreement of the order with the human one."""

    means: Mapping[PairSet, float]
    ranks: Mapping[PairSet, float]
    scores: Mapping[str, float | None]
    deviations: Mapping[PairSet, float] = field(default_factory=dict)   # over the pairs; none if recomputed


@dataclass(frozen=True)
class Row:
    """One metric of the paper, or the human raters."""

    metric: str
    entry: str                              # ours
    printed: Ordering
    recomputed: Ordering                    # from the printed means, with misprints corrected
    ours: Ordering | None                   # None: not run
    note: str

    @property
    def differences(self) -> list[float] | None:
        """Absolute differences between our means and the corrected printed means."""
        if self.ours is None:
            return None
        return [abs(self.ours.means[pair_set] - mean) for pair_set, mean in self.recomputed.means.items()]

    @property
    def orderings(self) -> list[tuple[str, str, Ordering]]:
        """(Name, version, ordering) of each version that is available."""
        versions = [(self.metric, "printed", self.printed), ("", "recomputed", self.recomputed)]
        return versions if self.ours is None else [*versions, (self.entry, "ours", self.ours)]


def reproduce(options: Options) -> Reproduction:
    """Run the metrics of the paper, and compare its tables with the results in the store."""
    entries, suite = paper_entries(options.metrics), load_suite(SUITE)
    tally = run_suite(entries, suite, options.store, only=options.only, jobs=options.jobs, progress=options.progress)
    rows, agreement = compare_store(Store(options.store, read_only=True), suite), measure_agreement(read_pairs(DATASET))
    return Reproduction(build_tables(rows, agreement), build_records(rows, agreement), [tally])


def paper_entries(metrics: Sequence[str] = ()) -> list[Entry]:
    """Return the entries of the paper's metrics, or of some by their names in the paper or ours, whose models are available."""
    folder = scan_folder(SUBMISSIONS)
    for name in metrics:
        if name not in METRICS and name not in METRICS.values():
            raise TouchstoneError(f'The paper has no metric "{name}".{did_you_mean(name, METRICS)} It has {", ".join(METRICS)}.')
        if name in folder.absent:
            raise TouchstoneError(f'{name} needs the model {folder.absent[name].model}, which is not available. '
                                  "`touchstone models list` says where to place its files.")
    names = {entry for metric, entry in METRICS.items() if not metrics or metric in metrics or entry in metrics}
    return [entry for submission in folder.here for entry in submission.entries if entry.name in names]


def compare_store(store: Store, suite: Suite, dataset: str = DATASET) -> list[Row]:
    """Compare every metric of the paper, and the human raters, with the results in the store."""
    stored_digests = {stored.entry.name: stored.digest for stored in store.entries()}
    answers: dict[str, Answers] = {HUMAN: ratings_by_set(read_pairs(dataset))}
    for metric, name in METRICS.items():
        entry_answers = answers_by_set(store, suite, stored_digests[name]) if name in stored_digests else None
        if entry_answers is not None:
            answers[metric] = entry_answers
    reasons = {metric: f"needs the model {error.model}" for metric, error in scan_folder(SUBMISSIONS).absent.items()}
    return compare(yamshchikov2020_tables(), answers, reasons)


Answers = Mapping[PairSet, Sequence[float]]


def answers_by_set(store: Store, suite: Suite, digest: str) -> Answers | None:
    """Return an entry's raw answers on each set, or None unless it has answers for all pairs."""
    outcomes = store.outcomes(digest, suite.observation_types)
    answers: dict[PairSet, list[float]] = {}
    for question in suite.task_units:
        outcome = outcomes.get(question.unit.id)
        if outcome is None or outcome.observation is None:
            return None
        kind, group = question.unit.stratum
        answers.setdefault((group, kind == RANDOM), []).extend(outcome.observation.answers)
    return answers


def ratings_by_set(pairs_by_set: Mapping[tuple[str, str], Sequence[Pair]]) -> Answers:
    """Return the ratings of the pairs of each set, each the mean over the raters."""
    return {(group, kind == RANDOM): [pair.score for pair in pairs] for (kind, group), pairs in pairs_by_set.items()}


def compare(published: Sequence[PublishedOrdering], answers: Mapping[str, Answers], reasons: Mapping[str, str]) -> list[Row]:
    """Compare published orderings with our answers; `reasons` tell why a metric was not run."""
    human, = (ordering for ordering in published if ordering.metric == HUMAN)
    human_means = correct_misprints(human)
    rows = []
    for ordering in published:
        metric = ordering.metric
        ours = order_answers(metric, answers[metric], answers[HUMAN]) if metric in answers else None
        note = SUBSTITUTIONS.get(metric, "") if ours else f"not run: {reasons.get(metric, 'results are incomplete')}"
        name = "mean of the ratings" if metric == HUMAN else METRICS.get(metric, MISSING)
        rows.append(Row(metric, name, Ordering(ordering.means, ordering.ranks, ordering.scores, ordering.deviations),
                        order_sets(metric, correct_misprints(ordering), human_means), ours, note))
    return rows


def order_answers(metric: str, answers: Answers, ratings: Answers) -> Ordering:
    """Rank the sets by the means of the answers, with the standard deviations over the pairs."""
    means, human_means = ({pair_set: float(np.mean(values)) for pair_set, values in by_set.items()}
                          for by_set in (answers, ratings))
    return replace(order_sets(metric, means, human_means),
                   deviations={pair_set: float(np.std(values, ddof=1)) for pair_set, values in answers.items()})


def correct_misprints(ordering: PublishedOrdering) -> dict[PairSet, float]:
    """Return the printed means with misprints replaced by the correct means."""
    return ordering.means | {pair_set: mean for (metric, pair_set), (_, mean, _) in MISPRINTS.items()
                             if metric == ordering.metric}


def order_sets(metric: str, means: Mapping[PairSet, float], human_means: Mapping[PairSet, float]) -> Ordering:
    """Rank the sets by their means, and score the order against the human one; for the raters only the variability."""
    pair_sets = list(means)
    similarities = [-means[pair_set] if metric in DISTANCES else means[pair_set] for pair_set in pair_sets]
    human, is_random = [human_means[pair_set] for pair_set in pair_sets], [random for _, random in pair_sets]
    ranks, human_ranks = rank_orders.rank_means(similarities), rank_orders.rank_means(human)
    scores: dict[str, float | None] = {"variability": rank_orders.variability(similarities, is_random)}
    if metric != HUMAN:
        scores |= {"pearson_of_means": rank_orders.correlate(similarities, human),
                   "spearman_of_order": rank_orders.correlate(ranks, human_ranks),
                   "coinciding_ranks": rank_orders.count_coinciding_ranks(ranks, human_ranks),
                   "swaps": rank_orders.count_swaps(ranks, human_ranks)}
    for name, paraphrases in (("separates_paraphrases", True), ("separates_style", False)):
        selected = [not random and (dataset in PARAPHRASES) == paraphrases for dataset, random in pair_sets]
        scores[name] = float(rank_orders.separates(similarities, is_random, selected))
    return Ordering(means, dict(zip(pair_sets, ranks.tolist(), strict=True)), scores)


def contradicting_sets(row: Row) -> list[PairSet]:
    """Return the sets whose printed rank contradicts the printed means; ties do not count."""
    sign = 1 if row.metric in DISTANCES else -1
    means, ranks = {pair_set: sign * mean for pair_set, mean in row.recomputed.means.items()}, row.printed.ranks
    return [x for x in means if any((means[x] - means[y]) * (ranks[x] - ranks[y]) < 0 for y in means)]


# ---- agreement of raters ---------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class RaterAgreement:
    """The agreement of the raters with each other."""

    raters: tuple[tuple[float | None, float | None, float], ...]    # each against the others: Pearson, Spearman, swaps of sets
    bounds: Mapping[str, float | None]      # upper bounds of a correlation with the mean rating, by subset of the pairs
    random_indicator: float | None          # Spearman correlation of ratings with the indicator of random pairs


def measure_agreement(pairs_by_set: Mapping[tuple[str, str], Sequence[Pair]]) -> RaterAgreement:
    """Measure the agreement of raters; every pair must have the same number of ratings."""
    ratings = {key: np.array([pair.ratings for pair in pairs]) for key, pairs in pairs_by_set.items()}
    all_ratings = np.concatenate(list(ratings.values()))
    raters = []
    for rater in range(all_ratings.shape[1]):
        own_means = [float(matrix[:, rater].mean()) for matrix in ratings.values()]
        other_means = [float(np.delete(matrix, rater, axis=1).mean()) for matrix in ratings.values()]
        ranks = rank_orders.rank_means(own_means), rank_orders.rank_means(other_means)
        raters.append((rank_orders.correlate(own_means, other_means), rank_orders.correlate(*ranks),
                       rank_orders.count_swaps(*ranks)))
    bounds = {"all pairs": rank_orders.correlation_bound(all_ratings)}
    for kind in dict.fromkeys(kind for kind, _ in ratings):
        matrices = [matrix for (matrix_kind, _), matrix in ratings.items() if matrix_kind == kind]
        bounds[f"{kind} pairs"] = rank_orders.correlation_bound(np.concatenate(matrices))
    bounds |= {group: rank_orders.correlation_bound(matrix) for (kind, group), matrix in ratings.items() if kind != RANDOM}
    indicator = [float(kind != RANDOM) for (kind, _), pairs in pairs_by_set.items() for _ in pairs]
    scores = [pair.score for pairs in pairs_by_set.values() for pair in pairs]
    correlation = rank_orders.correlate(rank_orders.rank_means(indicator), rank_orders.rank_means(scores))
    return RaterAgreement(tuple(raters), bounds, correlation)


# ---- tables ----------------------------------------------------------------------------------------------------------------

def build_tables(rows: Sequence[Row], agreement: RaterAgreement) -> list[PaperTable]:
    """Return the tables of means, ranks and scores, and of the agreement of raters, with remarks below the last."""
    set_names = [name_set(pair_set) for pair_set in rows[0].printed.means]
    ranks: list[list[Cell]] = [[name, version, *(format_rank(ordering.ranks[pair_set]) for pair_set in row.printed.means)]
                               for row in rows for name, version, ordering in row.orderings]
    scores: list[list[Cell]] = [[name, version, *(format_score(score, ordering.scores.get(score)) for score in SCORES),
                                 row.note if version == "printed" else ""]
                                for row in rows if row.metric != HUMAN for name, version, ordering in row.orderings]
    people: list[list[Cell]] = [
        [f"rater {number} against the others", "14 sets", format_number(pearson, 3), format_number(spearman, 3),
         format_rank(swaps)]
        for number, (pearson, spearman, swaps) in enumerate(agreement.raters, start=1)]
    people += [["upper bound of a correlation with the mean rating", subset, format_number(bound, 3), "", ""]
               for subset, bound in agreement.bounds.items()]
    people.append(["indicator of random pairs", "all pairs", "", format_number(agreement.random_indicator, 3), ""])
    columns = (*set_names, "mean difference", "close")
    return [emphasize(PaperTable(("metric", "means", *columns), mean_rows(rows))),
            emphasize(PaperTable(("metric", "standard deviations", *columns), deviation_rows(rows))),
            emphasize(PaperTable(("metric", "ranks", *set_names), ranks)),
            correlate_orders(rows),
            emphasize(PaperTable(("metric", "scores", *SCORES.values(), "note"), scores)),
            PaperTable(("human raters", "", "Pearson", "Spearman", "swaps"), people, list_remarks(rows))]


def emphasize(table: PaperTable) -> PaperTable:
    """Return the table with our rows in bold in the terminal."""
    return PaperTable(table.columns, table.rows, table.legend,
                      {number: "bold" for number, row in enumerate(table.rows) if row[1] == "ours"})


def mean_rows(rows: Sequence[Row]) -> list[list[Cell]]:
    """Return the printed means of each metric, with a star at each misprint, and ours where available."""
    table_rows: list[list[Cell]] = []
    for row in rows:
        table_rows.append([row.metric, "printed", *(
            format_number(mean) + ("*" if (row.metric, pair_set) in MISPRINTS else "")
            for pair_set, mean in row.printed.means.items()), "", ""])
        if row.ours is not None and row.differences is not None:
            close = sum(difference <= CLOSE for difference in row.differences)
            table_rows.append([row.entry, "ours", *(format_number(row.ours.means[pair_set]) for pair_set in row.printed.means),
                               format_number(float(np.mean(row.differences)), 3), f"{close} of {len(row.differences)}"])
    return table_rows


def deviation_rows(rows: Sequence[Row]) -> list[list[Cell]]:
    """Return the printed standard deviations of each metric over the pairs of a set, and ours where available."""
    table_rows: list[list[Cell]] = []
    for row in rows:
        printed = row.printed.deviations
        table_rows.append([row.metric, "printed", *map(format_number, printed.values()), "", ""])
        if row.ours is not None:
            ours = [row.ours.deviations[pair_set] for pair_set in printed]
            differences = [abs(own - deviation) for own, deviation in zip(ours, printed.values(), strict=True)]
            close = sum(difference <= CLOSE for difference in differences)
            table_rows.append([row.entry, "ours", *map(format_number, ours), format_number(float(np.mean(differences)), 3),
                               f"{close} of {len(differences)}"])
    return table_rows


def correlate_orders(rows: Sequence[Row]) -> PaperTable:
    """Return figure 1 of the paper: Spearman correlations of the orders, as printed above the diagonal and ours below it."""
    names = [row.metric for row in rows]
    cells: list[list[Cell]] = [[row.metric, *(
        "" if row is column else format_number(correlate_ranks(row, column, number < position))
        for position, column in enumerate(rows))] for number, row in enumerate(rows)]
    return PaperTable(("orders", *names), cells, [
        "Spearman correlations of the orders of the sets (figure 1): printed orders above the diagonal, ours below it."])


def correlate_ranks(a: Row, b: Row, printed: bool) -> float | None:
    """Return the Spearman correlation of two orders, printed or ours; None if a metric was not run."""
    x, y = (a.printed, b.printed) if printed else (a.ours, b.ours)
    if x is None or y is None:
        return None
    return rank_orders.correlate([x.ranks[pair_set] for pair_set in x.ranks], [y.ranks[pair_set] for pair_set in x.ranks])


def name_set(pair_set: PairSet) -> str:
    """Return a short name of a set, such as "yelp random"."""
    dataset, random = pair_set
    return dataset.replace("gyafc_", "").replace("yelp_rewrite", "yelp") + (" random" if random else "")


def format_rank(rank: float | None) -> str:
    """Return a rank, or a number of swaps, without needless decimals."""
    return MISSING if rank is None else f"{rank:g}"


def format_score(name: str, value: float | None) -> str:
    """Return a score in the form that suits it."""
    if name.startswith("separates"):
        return MISSING if value is None else "yes" if value else "no"
    if name in ("coinciding_ranks", "swaps"):
        return format_rank(value)
    return format_number(value, 3 if name == "variability" else 2)


def list_remarks(rows: Sequence[Row]) -> list[str]:
    """Return what is misprinted, which orders contradict the means, and how to read the tables."""
    remarks = [f"Misprint: {metric}, {name_set(pair_set)}: {printed:g} is printed, {correct:g} is correct: {evidence}."
               for (metric, pair_set), (printed, correct, evidence) in MISPRINTS.items()]
    sets_by_metric = {row.metric: contradicting_sets(row) for row in rows}
    contradictions = [f"{metric} ({', '.join(map(name_set, pair_sets))})"
                      for metric, pair_sets in sets_by_metric.items() if pair_sets]
    return [*remarks,
            f"The printed order of {len(contradictions)} of {len(rows)} rows contradicts the printed means: "
            f"{'; '.join(contradictions)}.",
            "Recomputed: from the printed means, with misprints corrected. Mean difference: between our means and those. Close: "
            f"number of sets that differ by at most {CLOSE:g}. The paper prints Pearson correlations without sign; we reverse "
            "the sign for distances."]


def build_records(rows: Sequence[Row], agreement: RaterAgreement) -> PaperTable:
    """Return one row per number, in full precision: means, ranks, scores, and the agreement of raters."""
    records: list[list[Cell]] = []
    for row in rows:
        ours, name = row.ours, [row.metric, row.entry]
        for pair_set, mean in row.printed.means.items():
            misprint = MISPRINTS.get((row.metric, pair_set))
            records.append([*name, "mean", name_set(pair_set), mean, row.recomputed.means[pair_set],
                            ours.means[pair_set] if ours else None, f"misprint: {misprint[2]}" if misprint else row.note])
            records.append([*name, "standard deviation", name_set(pair_set), row.printed.deviations[pair_set], None,
                            ours.deviations[pair_set] if ours else None, row.note])
            records.append([*name, "rank", name_set(pair_set), row.printed.ranks[pair_set], row.recomputed.ranks[pair_set],
                            ours.ranks[pair_set] if ours else None, row.note])
        records += [[*name, "score", score, row.printed.scores.get(score), value, ours.scores[score] if ours else None, row.note]
                    for score, value in row.recomputed.scores.items()]
    records += [[a.metric, a.entry, "correlation of orders", b.metric, correlate_ranks(a, b, True), None,
                 correlate_ranks(a, b, False), ""] for a, b in combinations(rows, 2)]
    for number, values in enumerate(agreement.raters, start=1):
        records += [[HUMAN, f"rater {number} against the others", "agreement", score, None, None, value, ""]
                    for score, value in zip(("pearson_of_means", "spearman_of_order", "swaps"), values, strict=True)]
    records += [[HUMAN, "", "upper bound", subset, None, None, bound, ""] for subset, bound in agreement.bounds.items()]
    records.append([HUMAN, "", "indicator of random pairs", "spearman", None, None, agreement.random_indicator, ""])
    return PaperTable(("metric", "entry", "quantity", "item", "printed", "recomputed", "ours", "note"), records)
