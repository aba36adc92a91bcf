"""The image that social networks show of a page: the leaders of each axis, or the ranks of one metric."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from harness.base.errors import printable
from leaderboard.board.axis_rankings import list_rankings, metric_rankings
from leaderboard.board.services.lookup import find_entries
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.schema import EntryReport

SIZE = (1200, 630)
MARGIN, GUTTER = 64, 40
BACKGROUND, INK, MUTED, GOLD, LINE = "#fbfaf7", "#1c1f24", "#5b6370", "#b8892b", "#e4e1d8"
MOST_COLUMNS, MOST_LEADERS = 4, 5
LONGEST = 80                                # characters of a title that are measured
ELLIPSIS = "..."                            # the font of Pillow has no other


class Column(NamedTuple):
    """A column of the image: a heading, and rows of a rank range and a name."""

    heading: str
    note: str
    rows: list[tuple[str, str]]


def draw_card(snapshot: Snapshot, metric: str | None = None) -> bytes:
    """Return the image as PNG; raise if there is no such metric."""
    if metric is None:
        columns = [Column(ranking.axis.title if ranking.axis.title.lower() == ranking.label else ranking.label.capitalize(),
                          f"95% rank ranges; {ranking.tied} of {len(ranking.ranked)} may be the best" if ranking.tied else f"{len(ranking.ranked)} metrics",
                          [(format_ranks(entry), entry.name) for entry in ranking.ranked[:MOST_LEADERS]]) for ranking in list_rankings(snapshot)]
        return draw("Touchstone", "Benchmark and leaderboard of text-similarity metrics", snapshot.title, columns)
    find_entries(snapshot, metric)
    rankings = metric_rankings(snapshot, metric)
    columns = [Column(ranking.label.capitalize(), f"of {ranking.among}", list_values(entry)) for ranking, entry in rankings]
    return draw(metric, rankings[0][1].title, f"Touchstone, {snapshot.title}", columns)


def list_values(entry: EntryReport) -> list[tuple[str, str]]:
    """Return the rank and the score of a metric with their ranges."""
    if entry.rank is None or entry.overall is None:
        return [("-", "not ranked")]
    score = entry.overall
    interval = f"95% interval {score.low:.2f} to {score.high:.2f}" if score.low is not None and score.high is not None else ""
    return [(f"#{entry.rank}", f"95% range {format_ranks(entry)}"), (f"{score.value:.2f}", interval)]


def format_ranks(entry: EntryReport) -> str:
    """Return the rank range, or the rank where there is no range."""
    low, high = entry.rank_interval or (entry.rank, entry.rank)
    return f"{low}-{high}" if low != high else f"{low}"


def draw(title: str, subtitle: str, source: str, columns: Sequence[Column]) -> bytes:
    """Return an image with a title and up to four columns as PNG."""
    image = Image.new("RGB", SIZE, BACKGROUND)
    canvas, (width, height) = ImageDraw.Draw(image), SIZE
    inner = width - 2 * MARGIN
    canvas.rectangle((0, 0, width, 12), fill=GOLD)
    write(canvas, (MARGIN, 56), title, 72, INK, inner, bold=True)
    write(canvas, (MARGIN, 148), subtitle, 30, MUTED, inner)
    columns = columns[:MOST_COLUMNS]
    each = (inner - GUTTER * (len(columns) - 1)) // max(1, len(columns))
    for number, column in enumerate(columns):
        left = MARGIN + number * (each + GUTTER)
        canvas.line((left, 224, left + each, 224), fill=LINE, width=3)
        write(canvas, (left, 242), column.heading, 32, INK, each, bold=True)
        write(canvas, (left, 286), column.note, 20, MUTED, each)
        for row, (rank, name) in enumerate(column.rows):
            top, indent = 332 + 44 * row, min(each // 3, 96)
            write(canvas, (left, top), rank, 26, GOLD, indent)
            write(canvas, (left + indent, top), name, 26, INK, each - indent)
    write(canvas, (MARGIN, height - 64), source, 24, MUTED, inner)
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()


def write(canvas: ImageDraw.ImageDraw, place: tuple[int, int], text: str, size: int, colour: str, width: int, bold: bool = False) -> None:
    """Write a line of text, shortened to a width in pixels."""
    font = ImageFont.load_default(size)
    text = printable(text, LONGEST)
    shortened = text
    while text and canvas.textlength(shortened, font) > width:
        text = text[:-1]
        shortened = text.rstrip() + ELLIPSIS
    canvas.text(place, shortened, colour, font, stroke_width=1 if bold else 0)
