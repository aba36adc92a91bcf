"""Who answers alike, and who is good for what it costs, as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from leaderboard.board.components.charts import scatter, tree
from leaderboard.board.components.layout import Links, correlation
from leaderboard.board.pages.ranking import value_of
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.build import unbeaten


def overview(snapshot: Snapshot, links: Links) -> str:
    """Who answers alike, and who is good for what it costs."""
    parts = ['<h1>Map</h1><p class="lede">Who answers alike, and who is good for what it costs. Of metrics that answer alike, one is enough.</p>']
    for track in snapshot.tracks:
        found = cost_frontier(snapshot, track) + redundancy(snapshot, links, track)
        if found:
            parts.append(f'<h2>{TRACKS[track]}</h2><div class="grid">{found}</div>')
    return "".join(parts) if len(parts) > 1 else f"{parts[0]}<p>Nobody is ranked yet.</p>"


def cost_frontier(snapshot: Snapshot, track: str) -> str:
    """Cost against overall score; joined: whom nobody beats at no higher a cost."""
    known = [(entry["name"], cost, entry["overall_above_chance"]) for entry in snapshot.entries(track)
             if entry["rank"] is not None and (cost := value_of(entry, "timing.cost_in_chi")) is not None and cost > 0]
    if len(known) < 2:
        return ""
    kept = unbeaten(known)
    return (f'<section class="card w6"><h3>Cost</h3><figure>{scatter(known, "cost, times chi", "above chance", kept)}</figure>'
            f'<p class="cap">Nobody is better at no higher a cost than {escape(", ".join(kept))}.</p></section>')


def redundancy(snapshot: Snapshot, links: Links, track: str) -> str:
    """Who answers alike, as a tree of the ranked and as a table of rank correlations, each metric beside those it is most like."""
    known = snapshot.facts["agreement"].get(track)
    ranked = [entry["name"] for entry in snapshot.entries(track) if entry["rank"] is not None]
    names = [name for name in ranked if known and name in known["entries"]]
    if known is None or len(names) < 2:
        return ""
    places = [known["entries"].index(name) for name in names]
    values = np.array([[known["values"][a][b] for b in places] for a in places], dtype=float)
    joins = linkage(squareform(1 - np.nan_to_num(values, nan=0.0), checks=False), "average")
    order = leaves_list(joins).tolist()
    picture = tree([names[place] for place in order], joins_in_order(joins, order))
    head = "".join(f'<th scope="col" class="turned"><span>{escape(names[place])}</span></th>' for place in order)
    rows = []
    for a in order:
        cells = "".join(f'<td class="heat" style="--heat:{max(0.0, r or 0.0):.2f}">{correlation(r)}</td>'
                        for r in (known["values"][places[a]][places[b]] for b in order))
        rows.append(f'<tr><th scope="row"><a href="{escape(links.to("metric", metric=names[a]))}">{escape(names[a])}</a></th>{cells}</tr>')
    return ('<section class="card w6"><h3>Redundancy</h3><figure>' + picture + '</figure><p class="cap">Metrics, or groups of them, are joined '
            "at the mean rank correlation of their answers to the same questions: what is joined far to the right says the same, so that one of them is "
            'enough.</p><details><summary>All correlations</summary><div class="wide" tabindex="0" role="region" aria-label="Redundancy">'
            f'<table class="dense"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></details></section>')


def joins_in_order(joins: np.ndarray, order: Sequence[int]) -> list[tuple[int, int, float]]:
    """The joins of groups as (group, group, correlation), where leaves are numbered from the top and each join is the next number."""
    row = {leaf: place for place, leaf in enumerate(order)}
    return [(row.get(int(a), int(a)), row.get(int(b), int(b)), 1 - float(height)) for a, b, height, _ in joins]
