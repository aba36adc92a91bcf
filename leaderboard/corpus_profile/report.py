"""A profile in the terminal, as a page that needs no network, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.base.errors import printable
from leaderboard.corpus_profile.profile import Interval, Profile, Row, Test
from leaderboard.figures.corpus import PALETTE, dressed

FIGURES = ("texts", "Unique(n)", "Vocab", "grammar errors per word", "plausibility", "semantic precision", "semantic recall",
           "semantic F1", "syntactic precision", "syntactic recall", "syntactic F1")
STYLE = """
body { font-family: system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: .9rem }
td, th { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
"""
SHOWN_COPIES, SHOWN_DOTS = 20, 3000


def cells(row: Row) -> list[str]:
    likenesses = [part for one in (row.semantic, row.syntactic)
                  for part in ((one.precision, one.recall, one.f1) if one else (None, None, None))]
    """In the order of FIGURES."""
    return [f"{row.texts:,}", f"{row.unique:.3f}", f"{row.vocabulary:,}", f"{row.grammar:.3f}",
            "-" if row.perplexity is None else f"{row.perplexity:.1f}", *map(shown, likenesses)]


def shown(one: Interval | None) -> str:
    return "-" if one is None else f"{one.value:.3f} ± {one.high - one.value:.3f}"


def legend(found: Profile) -> str:
    return (f"Semantic against test, by {found.vectors}; syntactic against train, by words. Vocab of train is its size, of the "
            f"others the words that train does not have. Grammar by {found.grammar}. Plausibility is perplexity, by "
            f"{found.plausibility}. Intervals are 95%, over texts.")


def sentence(test: Test) -> str:
    ours, theirs = test.means
    return (f"{test.of}: generated {ours:.3f}, {test.against} {theirs:.3f}; t = {test.t:+.1f}, p = {test.p_t:.2g}; "
            f"Mann-Whitney p = {test.p_mann_whitney:.2g}")


def as_terminal(found: Profile) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("", *(row.name for row in found.rows)):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for line in zip(FIGURES, *map(cells, found.rows), strict=True):
        table.add_row(*line)
    points = found.unique_curve
    chosen = [points[place] for place in sorted({0, len(points) // 4, len(points) // 2, len(points) - 1})]
    lines = [Text("Unique(n): " + ", ".join(f"{share:.3f} at {n:,}" for n, share in chosen))]
    lines += [Text(sentence(test)) for test in found.tests]
    if found.copies:
        lines += [Text(f"{len(found.copies):,} generated texts may be copies of training texts; the nearest:"),
                  *(Text(f"  {one.distance:.2f}  {printable(one.text, 70)}  <-  {printable(one.nearest, 70)}")
                    for one in found.copies[:5])]
    else:
        lines.append(Text("No generated text is nearly a training text."))
    return Group(table, Text(""), *lines, Text(""), Text(legend(found), style="dim"))


def as_json(found: Profile) -> dict[str, Any]:
    return {"rows": [asdict(row) for row in found.rows], "unique_curve": [list(point) for point in found.unique_curve],
            "tests": [asdict(test) for test in found.tests], "suspected_copies": len(found.copies),
            "copies": [asdict(one) for one in found.copies[:SHOWN_COPIES]],
            "grammar_checker": found.grammar, "plausibility_model": found.plausibility, "vectors": found.vectors}


def curve(found: Profile) -> go.Figure:
    n, share = zip(*found.unique_curve, strict=True)
    figure = go.Figure(go.Scatter(x=n, y=share, mode="lines+markers", line_color=PALETTE[0], name="generated"))
    figure.update_xaxes(title_text="n, generated texts looked at")
    figure.update_yaxes(title_text="Unique(n)", range=[0, 1.02])
    return dressed(figure, "Texts that no other text equals")


def scatter(found: Profile, generated: Sequence[str]) -> go.Figure:
    """Of each generated text, at most a few thousand drawn evenly: near the test texts in meaning, near train in words."""
    some = np.unique(np.linspace(0, len(generated) - 1, min(SHOWN_DOTS, len(generated))).astype(int))
    figure = go.Figure(go.Scattergl(
        x=found.syntactic[some], y=found.semantic[some], mode="markers", marker={"size": 5, "opacity": 0.5, "color": PALETTE[0]},
        text=[escape(printable(generated[place], 120)) for place in some.tolist()], hovertemplate="%{text}<extra></extra>"))
    figure.update_xaxes(title_text="syntactic similarity to the nearest training text")
    figure.update_yaxes(title_text="semantic similarity to the nearest test text")
    return dressed(figure, "Meaning and copying")


def as_html(found: Profile, generated: Sequence[str]) -> str:
    """One page, with its scripts inside."""
    head = "".join(f"<th>{escape(row.name)}</th>" for row in found.rows)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
                   for line in zip(FIGURES, *map(cells, found.rows), strict=True))
    tests = "".join(f"<li>{escape(sentence(test))}</li>" for test in found.tests)
    suspected = "".join(f"<tr><td>{one.distance:.2f}</td><td>{escape(printable(one.text, 300))}</td>"
                        f"<td>{escape(printable(one.nearest, 300))}</td></tr>" for one in found.copies[:SHOWN_COPIES])
    figures = curve(found).to_html(full_html=False, include_plotlyjs=True) + scatter(found, generated).to_html(
        full_html=False, include_plotlyjs=False)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Profile of a generated corpus</title>
<style>{STYLE}</style></head><body><h1>Profile of a generated corpus</h1>
<div style="overflow-x:auto"><table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>
<p>{escape(legend(found))}</p><ul>{tests}</ul>{figures}
<h2>Suspected copies ({len(found.copies):,})</h2>
<table><thead><tr><th>edits per word</th><th>generated</th><th>nearest training text</th></tr></thead>
<tbody>{suspected}</tbody></table>
</body></html>
"""
