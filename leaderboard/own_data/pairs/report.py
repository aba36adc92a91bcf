"""The report on the choice of a metric by judged pairs."""

from __future__ import annotations

from leaderboard.own_data.pairs.choice import SIGNIFICANT, PairChoice
from leaderboard.own_data.report import Report, Section, format_estimate, format_small, to_values
from leaderboard.scoring.estimates import Estimate


def report_on_pairs(choice: PairChoice) -> Report:
    """Return the report."""
    pairs = choice.pairs
    kind = "labelled" if pairs.judgements.labelled else "rated"
    origin = [f"{len(pairs):,} {kind} pairs of {pairs.name} ({pairs.columns or 'columns of the dataset'}), fingerprint "
              f"{pairs.fingerprint[:16]}. Agreement is {choice.statistic} with the judgements."]
    values = {name: to_values(value) for name, value in vars(choice).items() if name != "pairs"}
    values["pairs"] = {"source": pairs.name, "count": len(pairs), "labelled": pairs.judgements.labelled,
                       "fingerprint": pairs.fingerprint, "columns": pairs.columns}
    sections = [Section("Metrics", describe_metrics(choice), METRIC_HEADINGS, [metric_row(choice, row) for row in range(
        len(choice.rows))])]
    if choice.thresholds:
        sections.append(Section("Thresholds", [
            f"Call two texts similar if the recommended similarity exceeds the threshold. False alarms are {choice.dissimilar}; "
            f"there are {choice.thresholds[0].negatives:,}. The share of false alarms holds on average over such "
            "samples; for this sample it is in the interval with a probability of 90%."],
            ("false alarms", "threshold", "90% interval", "similar pairs detected"), [
                (f"{item.false_alarms:.0%}", f"{item.value:.4f}", f"{item.low:.1%} to {item.high:.1%}", f"{item.detected:.0%}")
                for item in choice.thresholds]))
    sections.append(Section("Where the recommendation and people disagree most", [
        "Percentiles among the pairs: 100 is most similar. Look for wrong judgements and differences that the metric misses."],
        ("people", "metric", "first text", "second text"), [
            (f"{item.human_percentile:.0f}", f"{item.metric_percentile:.0f}", item.a, item.b) for item in choice.disagreements]))
    if choice.failures:
        sections.append(Section("Metrics without a result", [], ("metric", "reason"), list(choice.failures.items())))
    return Report(f"Which metric for {pairs.name}?", [*summarize(choice), *choice.notes], [Section("Data", origin), *sections],
                  values)


METRIC_HEADINGS = ("metric", "agreement", "95%", "tied", "ms per pair", "expected", "notes")


def metric_row(choice: PairChoice, number: int) -> tuple[str, ...]:
    """Return a metric as a row of the table."""
    row = choice.rows[number]
    marks = [mark for mark, name in (("best single metric", choice.best_single), ("cheapest", choice.cheapest))
             if name == row.name]
    notes = [*marks, *row.notes, *([f"same order as {', '.join(row.same_as)}"] if row.same_as else [])]
    return (row.name, f"{row.agreement.value:.3f}", format_estimate(row.agreement), "yes" if row.tied else "no",
            format_small(row.milliseconds), "-" if row.expected is None else f"{row.expected:.3f}", "; ".join(notes))


def describe_metrics(choice: PairChoice) -> list[str]:
    """Return what the table shows."""
    return [f"Tied: no significant difference from the metric with the highest agreement (p > {SIGNIFICANT}, adjusted for "
            "all pairs of metrics). Expected: the agreement on your pairs combined with that on other rated datasets; it "
            "determines the recommendation, because the highest agreement of many metrics on your pairs alone is optimistic. "
            "Milliseconds: on one thread, with embedding."]


def summarize(choice: PairChoice) -> list[str]:
    """Return the recommendation in sentences."""
    rows = {row.name: row for row in choice.rows}
    how = (f"the mean of the standardized scores of {' and '.join(part.entry.name for part in choice.parts)}" if choice.combined
           else rows[choice.recommended].name)
    sentences = [f"Recommended: {how}. Agreement on all pairs {show(choice.agreement)}."]
    held = choice.held_out
    if held is not None:
        sentences.append(f"Held-out pairs: recommendations that are chosen on one half of the pairs reach {held.agreement:.3f} "
                         f"on the other half ({held.splits} splits); regret {held.loss:+.3f} against the best single metric.")
    tied = [row.name for row in choice.rows if row.tied and row.expected is not None]
    sentences.append(f"Single metric with the highest expected agreement on other pairs: {choice.best_single}, on yours "
                     f"{show(rows[choice.best_single].agreement)}. Not distinguishable "
                     f"from the best with these pairs: {', '.join(tied)}. The cheapest of them is {choice.cheapest} "
                     f"({format_small(rows[choice.cheapest].milliseconds)} ms per pair).")
    if choice.combined and held is not None and held.gain_p is not None:
        better = held.gain_p <= SIGNIFICANT
        sentences.append(f"On held-out pairs, the combination is {'' if better else 'not '}significantly better than the best "
                         f"single metric ({held.agreement - held.best_single:+.3f}, p = {format_small(held.gain_p)})"
                         f"{'' if better else '; it is the safer choice with few pairs'}. Use --single for a single metric.")
    return sentences


def show(estimate: Estimate) -> str:
    """Return an estimate with its interval."""
    interval = format_estimate(estimate)
    return f"{estimate.value:.3f}" + (f" (95% {interval})" if interval != "-" else "")
