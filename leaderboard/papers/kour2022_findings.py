"""Kour et al. 2022: the findings of the paper, judged by the published numbers and by ours.

Only the shape of run times and of section 5, which has a figure and no table, can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import scipy

from leaderboard.papers.base import Cell, PaperTable
from leaderboard.papers.published_tables import kour2022_speeds
from leaderboard.report.formats import MISSING
from leaderboard.scoring.estimates import Estimate

Means = Mapping[tuple[str, int | None, str], float]     # by the published name of a metric, k and measure
KS = (7, 12)
A, AW, MONOTONICITY = "accuracy_tree", "weighted_accuracy_tree", "monotonicity"
NEAR_BEST = 0.03                            # difference from the best metric
STRONG_RANK = 3
GAP = 2.0                                   # standard deviations of the self-distances
DISTRIBUTIONAL = ("MAUVE", "FID", "PR", "DC")


def values_of(means: Means, k: int, measure: str) -> dict[str, float]:
    """Return the values of all metrics."""
    return {metric: value for (metric, own_k, own_measure), value in means.items() if (own_k, own_measure) == (k, measure)}


def mauve_is_near_best(means: Means) -> bool:
    """Return whether MAUVE is near the best metric in A and monotonicity."""
    columns = [values_of(means, k, measure) for k in KS for measure in (A, MONOTONICITY)]
    return all(values["MAUVE"] >= max(values.values()) - NEAR_BEST for values in columns)


def chi_is_strong(means: Means) -> bool:
    """Return whether CHI is among the best in A and monotonicity."""
    columns = [values_of(means, k, measure) for k in KS for measure in (A, MONOTONICITY)]
    return all(sum(value > values["CHI"] for value in values.values()) < STRONG_RANK for values in columns)


def pr_and_irpr_are_weakest(means: Means) -> bool:
    """Return whether PR and IRPR have the lowest A."""
    columns = [values_of(means, k, A) for k in KS]
    return all(set(sorted(values, key=values.__getitem__)[:2]) == {"PR", "IRPR"} for values in columns)


def accuracy_falls_with_k(means: Means) -> bool:
    """Return whether A falls from k = 7 to k = 12 for every metric."""
    few, many = (values_of(means, k, A) for k in KS)
    return all(few[metric] > many[metric] for metric in few)


def weighted_accuracy_is_lower(means: Means) -> bool:
    """Return whether Aw is below A for every metric."""
    return all(values_of(means, k, AW)[metric] < value for k in KS for metric, value in values_of(means, k, A).items())


BOTH, SECOND = (0, 1), (1,)                 # pairs that a finding concerns
FINDINGS: Sequence[tuple[str, Sequence[int], Callable[[Means], bool]]] = (
    (f"MAUVE within {NEAR_BEST:g} of the best in A and monotonicity", BOTH, mauve_is_near_best),
    ("A falls from k = 7 to 12 for every metric", BOTH, accuracy_falls_with_k),
    ("Aw below A for every metric", BOTH, weighted_accuracy_is_lower),
    (f"CHI among the best {STRONG_RANK} in A and monotonicity", SECOND, chi_is_strong),
    ("PR and IRPR have the lowest A", SECOND, pr_and_irpr_are_weakest))


def judge_table3(pairs: Sequence[tuple[str, Means, Means]]) -> PaperTable:
    """Return whether the findings hold in the published numbers and in ours; `pairs` are (name, published, ours)."""
    rows: list[list[Cell]] = []
    for finding, concerned, holds in FINDINGS:
        for number in concerned:
            name, published, ours = pairs[number]
            complete = set(ours) >= {key for key in published if key[2] in (A, AW, MONOTONICITY)}
            rows.append([finding, name, format_verdict(holds(published)), format_verdict(holds(ours)) if complete else "not run"])
    return PaperTable(("findings on table 3", "pair", "published", "ours"), rows)


def format_verdict(holds: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if holds else "no"


def compare_costs(costs: Mapping[str, Estimate], pair: tuple[str, str]) -> PaperTable:
    """Return run times T(d) as multiples of that of CHI: published for k = 12, and ours."""
    speeds = {metric: speed for (metric, k), speed in kour2022_speeds(pair).items() if k == max(KS) and metric in costs}
    published = {metric: speeds["CHI"] / speed for metric, speed in speeds.items()}
    ours = {metric: costs[metric].value / costs["CHI"].value for metric in speeds}
    published_ranks, ranks = rank_values(published), rank_values(ours)
    rows: list[list[Cell]] = [
        [metric, f"{speeds[metric]:.0f}", f"{published[metric]:.1f}", f"{ours[metric]:.1f}", f"{published_ranks[metric]:g}",
         f"{ranks[metric]:g}"] for metric in sorted(published, key=published.__getitem__)]
    slowest = max((metric for metric in DISTRIBUTIONAL if metric in ours), key=ours.__getitem__)
    remark = f"Of FID, MAUVE, PR and DC the paper finds MAUVE fastest, and PR and DC slowest. Here {slowest} is slowest"
    if slowest == "MAUVE":
        remark += (", because the others compute the same numbers faster than the packages that the authors use: FID from "
                   "singular values instead of the root of a matrix, PR and DC in one process, where prdc distributes each "
                   "distance matrix over eight jobs")
    return PaperTable(("T(d), k=12", "published calls/s", "published cost (CHI = 1)", "our cost (CHI = 1)", "published rank",
                       "our rank"), rows, [f"{remark}. Seconds depend on the machine; compare ranks."])


def rank_values(values: Mapping[str, float]) -> dict[str, float]:
    """Return ranks from 1, the smallest; equal values share the lowest rank."""
    return dict(zip(values, scipy.stats.rankdata(list(values.values()), "min").tolist(), strict=True))


Curves = Mapping[str, Mapping[str, Estimate]]           # measures of fine-tuning by metric


def most_distances_fall(curves: Curves) -> bool:
    """Return whether the distance falls with training for most metrics."""
    values = [measures["ifc_monotonicity"].value for measures in curves.values() if "ifc_monotonicity" in measures]
    return sum(value > 0 for value in values) > len(values) / 2


def chi_is_least_gradual(curves: Curves) -> bool:
    """Return whether CHI has the lowest monotonicity of all metrics but ZIPF."""
    values = {metric: measures["ifc_monotonicity"].value for metric, measures in curves.items() if metric != "ZIPF"}
    return values["CHI"] == min(values.values())


def fid_and_irpr_see_a_gap(curves: Curves) -> bool:
    """Return whether the last distance of FID and IRPR exceeds the self-distances."""
    return all(curves[metric]["ifc_gap"].value > GAP for metric in ("FID", "IRPR"))


def zipf_rises(curves: Curves) -> bool:
    """Return whether the distance of ZIPF rises with training."""
    return curves["ZIPF"]["ifc_monotonicity"].value < 0


TRAINING_FINDINGS: Sequence[tuple[str, Callable[[Curves], bool]]] = (
    ("the distance falls with training for most metrics", most_distances_fall),
    ("CHI is the least gradual but ZIPF", chi_is_least_gradual),
    (f"FID and IRPR still see a gap at the end (above {GAP:g} SD)", fid_and_irpr_see_a_gap),
    ("ZIPF rises", zipf_rises))


def judge_training(by_source: Mapping[str, Curves]) -> list[PaperTable]:
    """Return the measures of section 5 for each source, and whether its findings hold."""
    forms = {"ifc_monotonicity": ".2f", "first_gap": ".3g", "ifc_gap": ".3g"}
    rows: list[list[Cell]] = [
        [source, metric, *(f"{values[name].value:{form}}" if name in values else MISSING for name, form in forms.items())]
        for source, curves in by_source.items() for metric, values in curves.items()]
    verdicts: list[list[Cell]] = [[finding, *(judge_curves(holds, curves) for curves in by_source.values())]
                                  for finding, holds in TRAINING_FINDINGS]
    return [PaperTable(("section 5", "metric", "monotonicity", "first gap (SD)", "last gap (SD)"), rows),
            PaperTable(("findings of section 5", *by_source), verdicts, [
                "Monotonicity is 1 if the distance to the source falls at every step of the training. Gaps are distances minus "
                "the mean distance of two samples of the source, in standard deviations of the latter. The paper "
                "fine-tunes GPT-2 in 40 steps of 1,000 texts and prints a figure; here n-gram models generate 500 texts in each "
                "of 20 steps. CHI as published is nearly 0 for two samples of a source, so that its gaps mean little."])]


def judge_curves(holds: Callable[[Curves], bool], curves: Curves) -> str:
    """Return whether a finding holds; "unknown" if a metric that it names lacks the measure."""
    try:
        return format_verdict(holds(curves))
    except KeyError:
        return "unknown"
