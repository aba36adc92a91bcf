"""Yamshchikov et al. 2020 again: the means of fourteen sets of rated pairs, the orders that they make, the scores of the orders.

Scores are compared three ways: as printed, as they come out of the printed means (misprints mended), and ours.  The printed
orders contradict the printed means among the random sets, so that the first two differ without anybody asking a metric.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import scan_folder
from harness.submission.submission import Entry
from leaderboard.cli.console import plain_table
from leaderboard.papers.published_tables import PairSet, PublishedOrdering, yamshchikov2020_tables
from tasks.common import rank_orders as orders
from tasks.text.human_ordering import RANDOM, Pair, read_pairs

SUITE, DATASET, PEOPLE = "yamshchikov2020", "human_similarity_14", "human"
# The paper's metric: our entry, in the definition of which the paper's means come out, where that is known.
METRICS = {"pos_distance": "pos_distance[nouns]", "word_overlap": "word_overlap", "chrf": "chrf[published]",
           "cosine_word2vec": "cosine_word2vec", "cosine_fasttext": "cosine_fasttext", "wmd": "wmd[published]",
           "rouge1": "rouge1[published]", "rouge2": "rouge2[published]", "rougeL": "rouge_l[published]", "bleu": "bleu",
           "meteor": "meteor[published]", "bertscore": "bertscore", "elmo_l2": "elmo_l2"}
ANOTHER = {"pos_distance": "the paper's definition is not known; nouns that only one of the texts has",
           "wmd": "GloVe's vectors in place of the paper's, which cannot be had: compare orders, not means",
           "bertscore": "MiniLM in place of a large model: compare orders, not means"}
DISTANCES = frozenset({"pos_distance", "cosine_word2vec", "cosine_fasttext", "wmd", "elmo_l2"})
PARAPHRASES = frozenset({"paralex", "paraphrase"})          # the other five are sets of style transfer
# What is printed wrong, and what must have been meant: (metric, set): (printed, meant, how that is known).
MISPRINTS: Mapping[tuple[str, PairSet], tuple[float, float, str]] = {
    ("wmd", ("paraphrase", True)): (0.34, 1.34, "the printed rank (14) and the printed correlation (.92) need it"),
    ("human", ("bible", False)): (3.54, 3.494, "the mean of the ratings"),
    ("chrf", ("gyafc_informal", False)): (0.34, 0.377, "every variant of chrF has it"),
}
SCORES = {"pearson_of_means": "Pearson's of the means", "spearman_of_order": "Spearman's of the orders",
          "coinciding_ranks": "same ranks", "swaps": "swaps", "variability": "variability",
          "separates_paraphrases": "random below paraphrases", "separates_style": "random below style"}
NEAR = 0.03


@dataclass(frozen=True)
class Ordering:
    """Means of sets, the order they make, and what that is worth beside people's."""

    means: Mapping[PairSet, float]
    ranks: Mapping[PairSet, float]
    scores: Mapping[str, float | None]


@dataclass(frozen=True)
class Row:
    """One metric of the paper, or people."""

    metric: str
    entry: str                              # ours
    printed: Ordering
    mended: Ordering                        # of the printed means, ordered again
    ours: Ordering | None                   # None: not run
    note: str

    @property
    def off(self) -> list[float] | None:
        """How far our means are from the printed ones, misprints mended."""
        return None if self.ours is None else [abs(self.ours.means[one] - mean) for one, mean in self.mended.means.items()]


def compared() -> list[Entry]:
    """Our entries that can be asked here; of a family only those that stand for the paper's."""
    wanted = set(METRICS.values())
    return [entry for submission in scan_folder(SUBMISSIONS).here for entry in submission.entries if entry.name in wanted]


def reproduce(store: Store, suite: Suite, dataset: str = DATASET) -> list[Row]:
    """A row for each metric of the paper, and for people; what the store has no answers of is not run."""
    published = yamshchikov2020_tables()
    asked = {stored.entry.name: stored for stored in store.entries()}
    means: dict[str, dict[PairSet, float]] = {PEOPLE: human_means(read_pairs(dataset))}
    for metric, name in METRICS.items():
        found = set_means(store, suite, asked[name].digest) if name in asked else None
        if found is not None:
            means[metric] = found
    lacking = {metric: f"needs the model {why.model}" for metric, why in scan_folder(SUBMISSIONS).absent.items()}
    return compare(published, means, lacking)


def set_means(store: Store, suite: Suite, digest: str) -> dict[PairSet, float] | None:
    """The mean of an entry's raw answers on each set; None unless all pairs were answered."""
    outcomes = store.outcomes(digest, suite.forms)
    answers: dict[PairSet, list[float]] = {}
    for question in suite.questions:
        outcome = outcomes.get(question.unit.id)
        if outcome is None or outcome.observation is None:
            return None
        kind, group = question.unit.stratum
        answers.setdefault((group, kind == RANDOM), []).extend(outcome.observation.answers)
    return {one: float(np.mean(values)) for one, values in answers.items()}


def human_means(pairs: Mapping[tuple[str, str], Sequence[Pair]]) -> dict[PairSet, float]:
    return {(group, kind == RANDOM): float(np.mean([pair.score for pair in some])) for (kind, group), some in pairs.items()}


def compare(published: Sequence[PublishedOrdering], means: Mapping[str, Mapping[PairSet, float]],
            reasons: Mapping[str, str]) -> list[Row]:
    """Pure: every metric of the paper beside our means of it, where there are any, or the reason why not."""
    people, = (one for one in published if one.metric == PEOPLE)
    meant = mended(people)
    rows = []
    for one in published:
        repaired, found = mended(one), means.get(one.metric)
        printed = Ordering(one.means, one.ranks, one.scores)
        ours = None if found is None else ordering(one.metric, found, means[PEOPLE])
        reason = reasons.get(one.metric, "not all of its answers are stored")
        note = ANOTHER.get(one.metric, "") if ours else f"not run: {reason}"
        name = "mean of the ratings" if one.metric == PEOPLE else METRICS.get(one.metric, "-")
        rows.append(Row(one.metric, name, printed, ordering(one.metric, repaired, meant), ours, note))
    return rows


def mended(one: PublishedOrdering) -> dict[PairSet, float]:
    """The printed means, misprints replaced by what was meant."""
    meant = {where: mean for (metric, where), (_, mean, _) in MISPRINTS.items() if metric == one.metric}
    return one.means | meant


def ordering(metric: str, means: Mapping[PairSet, float], people: Mapping[PairSet, float]) -> Ordering:
    """The order of some means, and its scores beside people's; of people alone there is only the variability."""
    where = list(means)
    alike = [-means[one] if metric in DISTANCES else means[one] for one in where]
    human, random = [people[one] for one in where], [of_random for _, of_random in where]
    ranks, theirs = orders.ranks(alike), orders.ranks(human)
    scores: dict[str, float | None] = {"variability": orders.variability(alike, random)}
    if metric != PEOPLE:
        scores |= {"pearson_of_means": orders.pearson_of_means(alike, human),
                   "spearman_of_order": orders.spearman_of_order(ranks, theirs),
                   "coinciding_ranks": orders.coinciding_ranks(ranks, theirs), "swaps": orders.swaps(ranks, theirs)}
    for name, paraphrases in (("separates_paraphrases", True), ("separates_style", False)):
        among = [not of_random and (dataset in PARAPHRASES) == paraphrases for dataset, of_random in where]
        scores[name] = float(orders.separates(alike, random, among))
    return Ordering(means, dict(zip(where, ranks.tolist(), strict=True)), scores)


def contradicted(row: Row) -> list[PairSet]:
    """The random sets that the printed order has at another place than the printed means do, ties apart."""
    sign = 1 if row.metric in DISTANCES else -1
    means, ranks = {one: sign * mean for one, mean in row.mended.means.items()}, row.printed.ranks
    return [x for x in means if any((means[x] - means[y]) * (ranks[x] - ranks[y]) < 0 for y in means)]


# ---- what people agree on --------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Ceilings:
    """How near people come to each other."""

    raters: tuple[tuple[float | None, float | None, float], ...]    # each beside the others: Pearson, Spearman, swaps of sets
    bounds: Mapping[str, float | None]                  # of a correlation of pairs with the mean rating, by which pairs
    random_alone: float | None                          # Spearman's with people of knowing of each pair whether it is random


def ceilings(pairs: Mapping[tuple[str, str], Sequence[Pair]]) -> Ceilings:
    """Of pairs that each have a rating of as many people."""
    ratings = {key: np.array([pair.ratings for pair in some]) for key, some in pairs.items()}
    everything = np.concatenate(list(ratings.values()))
    raters = []
    for rater in range(everything.shape[1]):
        one = [float(some[:, rater].mean()) for some in ratings.values()]
        others = [float(np.delete(some, rater, axis=1).mean()) for some in ratings.values()]
        ranks = orders.ranks(one), orders.ranks(others)
        raters.append((orders.pearson_of_means(one, others), orders.spearman_of_order(*ranks), orders.swaps(*ranks)))
    bounds = {"all pairs": orders.bound(everything)}
    for kind in dict.fromkeys(kind for kind, _ in ratings):
        bounds[f"{kind} pairs"] = orders.bound(np.concatenate([some for (its, _), some in ratings.items() if its == kind]))
    bounds |= {group: orders.bound(some) for (kind, group), some in ratings.items() if kind != RANDOM}
    alike = np.concatenate([np.full(len(some), float(kind != RANDOM)) for (kind, _), some in pairs.items()])
    human = np.array([pair.score for some in pairs.values() for pair in some])
    flag = orders.spearman_of_order(orders.ranks(alike.tolist()), orders.ranks(human.tolist()))
    return Ceilings(tuple(raters), bounds, flag)


# ---- how it is shown -------------------------------------------------------------------------------------------------------

Lines = list[list[str]]


def short(where: PairSet) -> str:
    return where[0].replace("gyafc_", "").replace("yelp_rewrite", "yelp") + (" random" if where[1] else "")


def shown(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def whole_or_half(rank: float | None) -> str:
    return "-" if rank is None else f"{rank:g}"


def mean_lines(rows: Sequence[Row]) -> Lines:
    """Two a metric; a star marks a misprint."""
    lines = [["metric", "means", *map(short, rows[0].printed.means), "off", "near"]]
    for row in rows:
        stars = {where: "*" if (row.metric, where) in MISPRINTS else "" for where in row.printed.means}
        lines.append([row.metric, "printed", *(shown(mean) + stars[where] for where, mean in row.printed.means.items()), "", ""])
        if row.ours is not None and row.off is not None:
            near = f"{sum(one <= NEAR for one in row.off)} of {len(row.off)}"
            lines.append([row.entry, "ours", *(shown(row.ours.means[where]) for where in row.printed.means),
                          shown(float(np.mean(row.off)), 3), near])
    return lines


def three(row: Row) -> list[tuple[str, str, Ordering]]:
    """What there is of a metric: who, from where, and the ordering."""
    found = [(row.metric, "printed", row.printed), ("", "from means", row.mended)]
    return found if row.ours is None else [*found, (row.entry, "ours", row.ours)]


def rank_lines(rows: Sequence[Row]) -> Lines:
    lines = [["metric", "ranks", *map(short, rows[0].printed.means)]]
    return lines + [[who, source, *(whole_or_half(one.ranks[where]) for where in row.printed.means)]
                    for row in rows for who, source, one in three(row)]


def score_lines(rows: Sequence[Row]) -> Lines:
    lines = [["metric", "scores", *SCORES.values(), ""]]
    for row in rows:
        if row.metric != PEOPLE:
            lines += [[who, source, *(score_cell(name, one.scores.get(name)) for name in SCORES),
                       row.note if source == "printed" else ""] for who, source, one in three(row)]
    return lines


def score_cell(name: str, value: float | None) -> str:
    if name.startswith("separates"):
        return "-" if value is None else "yes" if value else "no"
    if name in ("coinciding_ranks", "swaps"):
        return whole_or_half(value)
    return shown(value, 3 if name == "variability" else 2)


def ceiling_lines(most: Ceilings) -> Lines:
    lines = [["people", "", "Pearson's", "Spearman's", "swaps"]]
    lines += [[f"rater {place} against the others", "14 sets", shown(pearson, 3), shown(spearman, 3), whole_or_half(swapped)]
              for place, (pearson, spearman, swapped) in enumerate(most.raters, start=1)]
    lines += [["bound of a correlation with the mean rating", which, shown(bound, 3), "", ""]
              for which, bound in most.bounds.items()]
    return [*lines, ["knowing whether a pair is random", "all pairs", "", shown(most.random_alone, 3), ""]]


def remarks(rows: Sequence[Row]) -> list[str]:
    """What is printed wrong, and how much of it."""
    told = [f"Misprint: {metric}, {short(where)}: {printed:g} is printed, {meant:g} is meant: {why}."
            for (metric, where), (printed, meant, why) in MISPRINTS.items()]
    against = [f"{row.metric} ({', '.join(short(one) for one in found)})" for row in rows if (found := contradicted(row))]
    told.append(f"The printed order of {len(against)} of {len(rows)} rows contradicts the printed means: {'; '.join(against)}.")
    return [*told, "From means: what the printed means give, misprints mended. Off: mean distance of our means from those; near: "
            f"sets within {NEAR:g}. Pearson's correlation is printed without its sign; that of a distance is turned here."]


def as_terminal(rows: Sequence[Row], most: Ceilings) -> RenderableType:
    tables: list[RenderableType] = []
    for lines in (mean_lines(rows), rank_lines(rows), score_lines(rows), ceiling_lines(most)):
        tables += [plain_table(lines[0], [[Text(cell, style="bold" if "ours" in line[:2] else "") for cell in line]
                                          for line in lines[1:]]), ""]
    return Group(*tables)


def as_markdown(rows: Sequence[Row], most: Ceilings) -> str:
    tables = []
    for lines in (mean_lines(rows), rank_lines(rows), score_lines(rows), ceiling_lines(most)):
        ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
        tables.append("\n".join("| " + " | ".join(cell.replace("*", r"\*") for cell in line) + " |" for line in ruled))
    return "\n\n".join([*tables, *remarks(rows)]) + "\n"


def as_csv(rows: Sequence[Row], most: Ceilings) -> str:
    """One line a number, in full: means, ranks, scores, and what people agree on."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["metric", "entry", "what", "of", "printed", "of_printed_means", "ours", "note"])
    for row in rows:
        one, again, ours, name = row.printed, row.mended, row.ours, [row.metric, row.entry]
        for where in one.means:
            note = f"misprint: {MISPRINTS[row.metric, where][2]}" if (row.metric, where) in MISPRINTS else row.note
            writer.writerow([*name, "mean", short(where), one.means[where], again.means[where], ours and ours.means[where], note])
            writer.writerow([*name, "rank", short(where), one.ranks[where], again.ranks[where], ours and ours.ranks[where],
                             row.note])
        for score in again.scores:
            writer.writerow([*name, "score", score, one.scores.get(score), again.scores[score], ours and ours.scores[score],
                             row.note])
    for place, values in enumerate(most.raters, start=1):
        for score, value in zip(("pearson_of_means", "spearman_of_order", "swaps"), values, strict=True):
            writer.writerow([PEOPLE, f"rater {place} against the others", "ceiling", score, None, None, value, ""])
    for which, bound in most.bounds.items():
        writer.writerow([PEOPLE, "", "bound", which, None, None, bound, ""])
    writer.writerow([PEOPLE, "", "random pair or not", "spearman", None, None, most.random_alone, ""])
    return written.getvalue()
