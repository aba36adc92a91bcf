"""Render a profile for the terminal, as an HTML page that needs no network, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape

import numpy as np
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.base.errors import printable
from leaderboard.corpus_profile.profile import Interval, Profile, Row, Test
from leaderboard.figures.style import GREY, PALETTE, apply_layout, colour_of, grid_position, make_facets
from leaderboard.report.formats import MISSING

MEASURES = ("texts", "Unique(n)", "Vocab", "grammar errors per word", "plausibility", "semantic precision", "semantic recall",
            "semantic F1", "syntactic precision", "syntactic recall", "syntactic F1")
ENVIRONMENT = Environment(loader=PackageLoader("leaderboard.corpus_profile"), undefined=StrictUndefined, autoescape=True)
MAX_COPIES, MAX_DOTS = 20, 3000


def format_row(row: Row) -> list[str]:
    """Return the measures of a corpus in the order of MEASURES."""
    intervals = [interval for overlap in (row.semantic, row.syntactic)
                 for interval in ((overlap.precision, overlap.recall, overlap.f1) if overlap else (None, None, None))]
    return [f"{row.texts:,}", f"{row.unique:.3f}", f"{row.vocabulary:,}", f"{row.grammar:.3f}",
            MISSING if row.perplexity is None else f"{row.perplexity:.1f}", *map(format_mean, intervals)]


def format_mean(interval: Interval | None) -> str:
    """Return a mean with the half width of its interval."""
    return MISSING if interval is None else f"{interval.value:.3f} ± {interval.high - interval.value:.3f}"


def describe_measures(profile: Profile) -> str:
    """Return the legend of the table."""
    return (f"Semantic measures compare a corpus with test, by vectors of {profile.vectors}; syntactic measures compare it with "
            "train, by words. Vocab is the number of different words of train; for the other corpora, the number of words that "
            "do not occur in train. "
            f"Grammar errors are counted by {profile.grammar}. Plausibility is perplexity under {profile.plausibility} (lower is "
            "more plausible). Intervals are 95% confidence intervals over texts.")


def describe_test(test: Test) -> str:
    """Return the means and p-values of a test in one line."""
    generated, baseline = test.means
    return (f"{test.quantity}: generated {generated:.3f}, {test.baseline} {baseline:.3f}; t = {test.t:+.1f}, p = {test.p_t:.2g}; "
            f"Mann-Whitney p = {test.p_mann_whitney:.2g}")


def to_terminal(profile: Profile) -> RenderableType:
    """Return the table, the tests and the suspected copies for a rich console."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("", *(row.name for row in profile.rows)):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for cells in zip(MEASURES, *map(format_row, profile.rows), strict=True):
        table.add_row(*cells)
    points = profile.unique_curve
    chosen = [points[number] for number in sorted({0, len(points) // 4, len(points) // 2, len(points) - 1})]
    lines = ["Unique(n): " + ", ".join(f"{share:.3f} at {n:,}" for n, share in chosen), *map(describe_test, profile.tests)]
    if profile.copies:
        lines += [f"{len(profile.copies):,} generated texts may be copies of training texts; the nearest:",
                  *(f"  {copy.distance:.2f}  {printable(copy.text, 70)}  <-  {printable(copy.nearest, 70)}"
                    for copy in profile.copies[:5])]
    else:
        lines.append("No generated text is nearly identical to a training text.")
    return Group(table, Text(""), *map(Text, lines), Text(""), Text(describe_measures(profile), style="dim"))


def to_json(profile: Profile) -> dict[str, object]:
    """Return a profile as JSON values, with a limited number of copies."""
    return {"rows": [asdict(row) for row in profile.rows], "unique_curve": [list(point) for point in profile.unique_curve],
            "tests": [asdict(test) for test in profile.tests], "suspected_copies": len(profile.copies),
            "copies": [asdict(copy) for copy in profile.copies[:MAX_COPIES]],
            "grammar_checker": profile.grammar, "plausibility_model": profile.plausibility, "vectors": profile.vectors}


def draw_unique_curve(profile: Profile) -> go.Figure:
    """Draw Unique(n) of the generated texts."""
    n, share = zip(*profile.unique_curve, strict=True)
    figure = go.Figure(go.Scatter(x=n, y=share, mode="lines+markers", line_color=PALETTE[0], name="generated"))
    figure.update_xaxes(title_text="n, number of generated texts")
    figure.update_yaxes(title_text="Unique(n)", range=[0, 1.02])
    return apply_layout(figure, "Share of unique texts")


def draw_similarities(generated: Mapping[str, tuple[Profile, Sequence[str]]], corpus: str = "") -> go.Figure:
    """Draw semantic similarity to test and syntactic similarity to train for each generated text (figures 1 and 2).

    There is one panel per generator, with the density of all texts and dots for an even sample. The syntactic axis is reversed,
    so that the best texts, near test in meaning and far from train in words, are in the upper right corner. Dotted lines are the
    means of real texts.

    Args:
        generated: Profile and texts of each generator.
        corpus: Name of the corpus for the title.
    """
    figure = make_facets(list(generated), columns=2)
    for number, (name, (profile, texts)) in enumerate(generated.items()):
        position, colour = grid_position(number, columns=2), colour_of(number)
        figure.add_histogram2dcontour(x=profile.semantic, y=profile.syntactic, name=name, ncontours=12, line_width=0,
                                      colorscale=[[0, "rgba(255,255,255,0)"], [1, colour]], showscale=False, hoverinfo="skip",
                                      **position)
        rows = np.unique(np.linspace(0, len(texts) - 1, min(MAX_DOTS, len(texts))).astype(int))
        figure.add_scatter(x=profile.semantic[rows], y=profile.syntactic[rows], mode="markers", name=name, showlegend=False,
                           marker={"size": 3, "opacity": 0.15, "color": colour},
                           text=[escape(printable(texts[row], 120)) for row in rows.tolist()],
                           hovertemplate="%{text}<extra></extra>", **position)
        train, test, _ = profile.rows
        if train.semantic and test.syntactic:
            figure.add_vline(train.semantic.precision.value, line_dash="dot", line_color=GREY, **position)
            figure.add_hline(test.syntactic.precision.value, line_dash="dot", line_color=GREY, **position)
    figure.update_xaxes(title_text="semantic similarity to the nearest test text", range=[0, 1.02])
    figure.update_yaxes(range=[1.02, 0.48])                     # SynSim is at least 1/2
    figure.update_yaxes(title_text="syntactic similarity to the nearest training text", col=1)
    title = "Similarity in meaning and in words (dotted: means of real texts)"
    return apply_layout(figure, f"{corpus} · {title}" if corpus else title)


def to_html(profile: Profile, generated: Sequence[str]) -> str:
    """Return one page with its scripts inside."""
    figures = [draw_unique_curve(profile).to_html(full_html=False, include_plotlyjs=True),
               draw_similarities({"generated": (profile, generated)}).to_html(full_html=False, include_plotlyjs=False)]
    return ENVIRONMENT.get_template("profile.html").render(
        profile=profile, measures=zip(MEASURES, *map(format_row, profile.rows), strict=True), legend=describe_measures(profile),
        tests=map(describe_test, profile.tests), figures=figures, copies=profile.copies[:MAX_COPIES], printable=printable)
