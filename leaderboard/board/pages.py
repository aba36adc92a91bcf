"""The pages as HTML: pure functions of a snapshot.  Everything that comes from a submission goes through `escape`."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from harness.statistics import Estimate
from leaderboard.board.snapshot import Snapshot
from leaderboard.ranking import Placed, Ranking
from leaderboard.scores import Scored, TaskScore
from tasks.axioms import AXIOMS

BAR_WIDTH, BAR_HEIGHT = 200, 22


def board(snapshot: Snapshot, words: str = "") -> str:
    """The ranked tables, one a track."""
    sections = "".join(section(snapshot, track, ranking, words) for track, ranking in snapshot.rankings.items())
    return f"""<div class="ts">
<p class="lede"><strong>Which text-similarity metric is any good, and at what?</strong> Each metric answers the same questions, alone,
behind walls. A gold line parts metrics only where the data can; inside a group the order is noise.</p>
<p class="foot">Suite {escape(snapshot.suite.name)}@{snapshot.suite.fingerprint[:6]}: {escape(snapshot.suite.title)}.</p>
{sections}</div>"""


def section(snapshot: Snapshot, track: str, ranking: Ranking, words: str) -> str:
    """The ranked table of a track; controls and what is not ranked below it, with the reasons."""
    shown = snapshot.search(words)
    tasks = [task for task in snapshot.suite.tasks if task.declares.ranked and task.declares.track == track]
    heading = "".join(f'<th scope="col">{escape(task.declares.title)}</th>' for task in tasks)
    rows = []
    for number, place in enumerate(ranking.ranked, start=1):
        if place.scored.name in shown:
            rows.append(ranked_row(place))
        if number in ranking.lines and not words.strip():
            rows.append(f'<tr class="line" aria-label="a dividing line"><td colspan="{4 + len(tasks)}"></td></tr>')
    rest = [place for place in ranking.places if place.rank is None and place.scored.name in shown]
    found = sum(1 for place in ranking.ranked if place.scored.name in shown)
    count = f"{found} of {len(ranking.ranked)} ranked metrics" if words.strip() else f"{found} ranked metrics"
    heading_of = f"<h2>{escape(track.capitalize())} metrics</h2>" if len(snapshot.rankings) > 1 else ""
    return f"""{heading_of}<p class="foot" role="status">{count}.</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Rank</th><th scope="col">Metric</th><th scope="col" class="score">Above chance</th>{heading}<th scope="col">Axioms</th></tr></thead>
<tbody>{''.join(rows) or '<tr><td colspan="9">No ranked metric matches.</td></tr>'}</tbody></table></div>
<p class="foot">0 is chance, 1 is perfect. Beside a rank, the ranks it may have: how many are better for sure, and worse, judged for all
pairs at once (5%). Intervals are 95% and speak of new draws from these datasets.</p>
<details{' open' if words.strip() and rest else ''}><summary>Controls, variants and metrics that are not ranked ({len(rest)})</summary>
<table><tbody>{''.join(map(unranked_row, rest))}</tbody></table></details>"""


def ranked_row(place: Placed) -> str:
    scored = place.scored
    low, high = place.interval or (None, None)
    between = f"<small>{low}–{high}</small>" if low is not None and low != high else ""
    first = next(iter(scored.ranked_tasks))
    cells = "".join(f"<td>{number(score.score)}</td>" for score in scored.ranked_tasks)
    return (f'<tr><td class="rank"><b>{place.rank}</b>{between}</td>{name_cell(scored)}'
            f'<td class="score"><div>{bar(scored.overall, first.score if len(scored.ranked_tasks) == 1 else None)}</div></td>{cells}'
            f"<td>{axioms(scored)}</td></tr>")


def unranked_row(place: Placed) -> str:
    score = "-" if place.scored.overall is None else f"{place.scored.overall:.2f}"
    return f"<tr>{name_cell(place.scored)}<td>{score}</td><td class='reason'>{escape(place.reason or '')}</td></tr>"


def name_cell(scored: Scored) -> str:
    tags = "".join(f'<span class="tag">{escape(tag)}</span>' for tag in (["lifted"] if scored.lifted else []) + sorted(scored.marks))
    return (f'<td class="name"><a href="?metric={quote(scored.name)}">{escape(scored.name)}</a>{tags}'
            f"<small>{escape(scored.entry.header.title)}</small></td>")


def bar(value: float | None, interval: Estimate | None) -> str:
    """A bar from 0 to 1 with the interval on it; the numbers are its label."""
    if value is None:
        return "-"
    at = f"{value:.2f}"
    whisker = ""
    if interval is not None and interval.low is not None and interval.high is not None:
        at += f", {interval.low:.2f} to {interval.high:.2f}"
        left, right = (BAR_WIDTH * min(1.0, max(0.0, edge)) for edge in (interval.low, interval.high))
        whisker = f'<line x1="{left:.1f}" x2="{right:.1f}" y1="11" y2="11" class="whisker"/>'
    width = BAR_WIDTH * min(1.0, max(0.0, value))
    return (f'<span class="value">{value:.2f}</span><svg viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" preserveAspectRatio="none" role="img" '
            f'aria-label="{at}"><rect x="0" y="7" width="{BAR_WIDTH}" height="8" rx="4" class="rail"/>'
            f'<rect x="0" y="7" width="{width:.1f}" height="8" rx="4" class="bar"/>{whisker}</svg>')


def axioms(scored: Scored) -> str:
    score = scored.tasks.get("axioms")
    if score is None or not score.measures:
        return "-"
    known = [score.measures[name].value for name in AXIOMS if name in score.measures]
    return f"{sum(share == 1 for share in known)}/{len(known)}"


def number(estimate: Estimate | None, digits: int = 2) -> str:
    return "-" if estimate is None else f"{estimate.value:.{digits}f}"


# ---- one metric --------------------------------------------------------------------------------------------------------

def metric(snapshot: Snapshot, name: str) -> str:
    """All about one metric: facts, scores with intervals, properties, failures, source, and how to run it oneself."""
    places = snapshot.standing(name)
    back = '<p><a href="?">◂ all metrics</a></p>'
    if not places:
        return f'<div class="ts">{back}<p role="alert">There is no metric “{escape(name[:80])}” in this suite.</p></div>'
    scored = next(iter(places.values())).scored
    header = scored.entry.header
    standing = "<br>".join(standing_in(track, place, len(places) > 1) for track, place in places.items())
    facts: Mapping[str, str] = {
        "Kind": f"{header.kind} metric{', lifted to corpora' if scored.lifted else ''}", "Takes": header.input,
        "Returns": f"{header.returns}, {header.range[0]:g} to {header.range[1]:g}",
        "Licence": header.license, "Paper": header.paper or "none named", "Digest": scored.stored.digest[:16],
        "First asked": scored.stored.first_seen[:10], "Trained on": ", ".join(header.trained_on) or "nothing named"}
    paper = f'<a href="{escape(header.paper)}" rel="noreferrer nofollow">{escape(header.paper)}</a>' \
        if header.paper and header.paper.startswith(("https://", "http://")) else escape(facts["Paper"])
    listed = "".join(f"<dt>{key}</dt><dd>{paper if key == 'Paper' else escape(value)}</dd>" for key, value in facts.items())
    tasks = "".join(task_card(scored, score) for score in scored.tasks.values())
    source = scored.stored.submission.source.decode("utf-8", "replace")
    return f"""<div class="ts">{back}
<h2>{escape(scored.name)} <small>{escape(header.title)}</small></h2><p class="lede">{escape(header.summary)}</p>
<p><strong>{standing}</strong></p><dl class="facts">{listed}</dl>{tasks}
<p class="foot">{conditions(snapshot.provenance.get(scored.stored.digest))}</p>
<p>Run it yourself: <code>touchstone run {escape(scored.name)} --suite {escape(snapshot.suite.name)}</code></p>
<details><summary>Source</summary><pre><code>{escape(source)}</code></pre></details></div>"""


def standing_in(track: str, place: Placed, named: bool) -> str:
    low, high = place.interval or (None, None)
    between = f" ({low}–{high} for sure)" if low is not None and low != high else ""
    words = f"Rank {place.rank}{between}" if place.rank is not None else f"Not ranked: {escape(place.reason or '')}"
    return f"{words} among {escape(track)} metrics" if named and place.rank is not None else words


def task_card(scored: Scored, score: TaskScore) -> str:
    declares = score.task.declares
    heading = f"<h3>{escape(declares.title)}{'' if declares.ranked else ' <small>a property, not part of any score</small>'}</h3>"
    lines = [heading, f'<p class="foot"><code>{escape(str(scored.signature(score)))}</code> · {score.asked} of {score.planned} units</p>']
    if score.not_applicable:
        return "".join([*lines, f"<p>Does not apply: {escape(score.not_applicable)}</p>"])
    rows = [("score", declares.score, score.score)] if declares.ranked else []
    rows += [(name, meaning, score.measures.get(name)) for name, meaning in score.meanings.items()]
    lines.append("<table><tbody>" + "".join(
        f"<tr><th scope='row'>{escape(name.replace('_', ' '))}</th><td>{number(estimate, 3) if estimate else 'unknown'}</td>"
        f"<td>{interval(estimate)}</td><td class='reason'>{escape(meaning)}</td></tr>" for name, meaning, estimate in rows)
        + "</tbody></table>")
    reasons = list(dict.fromkeys(map(str, score.failures)))[:5]
    lines += [f'<p class="failed">Failed: {escape(reason)}</p>' for reason in reasons]
    return "".join(lines)


def interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    shown = f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f'<span class="few" title="fewer than 10 units">{shown}</span>' if estimate.few else shown


def conditions(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return ""
    return (f"Last asked {escape(str(run['started'])[:10])} with Touchstone {escape(str(run['version']))}, Python "
            f"{escape(str(run['python']))}, on {escape(str(run['processor']))}; layers: {escape(', '.join(run['layers']))}.")
