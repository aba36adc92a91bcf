"""Charts as SVG: pure functions of numbers.  Colours come from the style sheet, so that they adapt to dark mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from markupsafe import Markup

from harness.evaluation.task import Point
from leaderboard.report.schema import FigureData

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 24, 40
RADIUS = 105
LINE, CHARACTER = 11, 6.5                   # height of a name, and width of a character
Taken = tuple[float, float, float]          # where something is written or drawn: left, right, baseline
BESIDE = (("start", 4), ("end", 4))
OFF_THE_LINE = (("start", 15), ("end", -5), ("start", 27), ("end", -17), ("start", -17), ("end", 15))        # of a line that rises
LOWEST = -1.0                               # lower values are drawn there, because they would compress all others

RULE = Markup('<line class="rule" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
TEXT = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
NAME = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="name">{}</text>')
POLYLINE = Markup('<polyline class="line series{}" points="{}"/>')
DOT = Markup('<circle class="dot series{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>')


def draw_curves(figure: FigureData, *others: FigureData | None) -> Markup:
    """Return a curve with its 95% band, compared with others (the first one dashed); None skips a colour."""
    scaled = [None if other is None else scaled_points(other.points, figure.logarithmic) for other in (figure, *others)]
    points = [point for curve in scaled if curve is not None for point in curve]
    edges = [edge for point in points for edge in point[1:] if edge is not None]
    x = Axis([point[0] for point in points], LEFT, WIDTH - RIGHT, figure.logarithmic)
    y = Axis(edges, HEIGHT - BOTTOM, TOP, figure.logarithmic)
    parts = [draw_grid(x, y, figure.x, figure.y)]
    for index, curve in enumerate(scaled):
        if curve:
            low = [(x.at(at), y.at(edge)) for at, _, edge, _ in curve if edge is not None]
            high = [(x.at(at), y.at(edge)) for at, _, _, edge in curve if edge is not None]
            if low and len(low) == len(high):
                parts.append(Markup('<polygon class="band series{}" points="{}"/>').format(index, join_points([*low, *high[::-1]])))
            parts.append(POLYLINE.format(index, join_points([(x.at(at), y.at(value)) for at, value, _, _ in curve])))
            parts += [DOT.format(index, x.at(at), y.at(value), 2.8) for at, value, _, _ in curve]
    first, last = figure.points[0], figure.points[-1]
    label = f"{figure.title}: {figure.y} {first[1]:.2g} at {figure.x} {first[0]:g}, {last[1]:.2g} at {last[0]:g}"
    return make_picture(parts, label)


def scaled_points(points: Sequence[Point], logarithmic: bool) -> list[Point]:
    """Return the points, or their logarithms; an edge without a logarithm becomes None."""
    if not logarithmic:
        return list(points)

    def log(value: float | None) -> float | None:
        return math.log10(value) if value is not None and value > 0 else None
    return [(math.log10(x), math.log10(y), log(low), log(high)) for x, y, low, high in points if x > 0 and y > 0]


def draw_two_axes(points: Sequence[tuple[str, float, float]], x_title: str, y_title: str, address: Callable[[str], str]) -> Markup:
    """Return (name, x, y) as points that link to an address; a name is written where it overlaps no other."""
    x = Axis([max(LOWEST, value) for _, value, _ in points], LEFT, WIDTH - RIGHT)
    y = Axis([max(LOWEST, value) for _, _, value in points], HEIGHT - BOTTOM, TOP)
    parts, positions = [draw_grid(x, y, x_title, y_title)], [(x.at(max(LOWEST, first)), y.at(max(LOWEST, second))) for _, first, second in points]
    taken = take_points(positions)
    for (name, first, second), (left, top) in zip(points, positions, strict=True):
        label = write_name(name, left, top, taken, BESIDE if left <= WIDTH / 2 else BESIDE[::-1]) or Markup()
        parts.append(link_point(address(name), f"{name}: {x_title} {first:.2f}, {y_title} {second:.2f}", DOT.format(0, left, top, 3.4) + label))
    return make_picture(parts, f"{y_title} against {x_title}")


def take_points(positions: Iterable[tuple[float, float]]) -> list[Taken]:
    """Return what points take."""
    return [(left - 4, left + 4, top + 4) for left, top in positions]


def write_name(name: str, left: float, top: float, taken: list[Taken], places: Sequence[tuple[str, float]]) -> Markup | None:
    """Return a name beside a point, and add it to what is taken; None if it would overlap something in all places.

    A place is the anchor of the text, and how far below the point its baseline is.
    """
    width = CHARACTER * len(name)
    for anchor, down in places:
        start, baseline = (left - 6 - width if anchor == "end" else left + 6), top + down
        inside = start >= LEFT and start + width <= WIDTH
        if inside and all(abs(baseline - other) > LINE or start + width < begin or start > end for begin, end, other in taken):
            taken.append((start, start + width, baseline))
            return NAME.format(left + (-6 if anchor == "end" else 6), baseline, anchor, name)
    return None


def link_point(address: str, title: str, content: Markup) -> Markup:
    """Return a part of a chart as a link with a text for the pointer."""
    return Markup('<a href="{}"><title>{}</title>{}</a>').format(address, title, content)


def draw_scatter(points: Sequence[tuple[str, float, float]], x_title: str, y_title: str, address: Callable[[str], str],
                 joined: Sequence[str] = ()) -> Markup:
    """Return (name, x, y) as points on a logarithmic x axis that link to an address; those in `joined` are connected.

    Their names are written where they overlap nothing.
    """
    x = Axis([math.log10(cost) for _, cost, _ in points], LEFT, WIDTH - RIGHT, logarithmic=True)
    y = Axis([value for _, _, value in points], HEIGHT - BOTTOM, TOP)
    parts = [draw_grid(x, y, x_title, y_title)]
    positions = {name: (x.at(math.log10(cost)), y.at(value)) for name, cost, value in points}
    values = {name: f"{x_title} {cost:.3g}, {y_title} {value:.2f}" for name, cost, value in points}
    if joined:
        parts.append(POLYLINE.format(0, join_points([positions[name] for name in joined])))
    for name, (left, top) in positions.items():
        parts.append(link_point(address(name), f"{name}: {values[name]}", DOT.format(0 if name in joined else 1, left, top, 3.4)))
    taken = take_points(positions.values())
    parts += [write_name(name, *positions[name], taken, OFF_THE_LINE) or Markup() for name in joined]
    return make_picture(parts, f"{y_title} against {x_title}; Pareto-optimal: {', '.join(joined)}")


def draw_tree(names: Sequence[str], joins: Sequence[tuple[int, int, float]]) -> Markup:
    """Return a dendrogram; a join has two groups, numbered after the names, and the correlation at which they join."""
    left, right, top, step = 12, WIDTH - 130, 18, 15
    bottom = top + step * len(names)
    lowest = min((r for _, _, r in joins), default=0.0)
    x = Axis([min(lowest, 0.9), 1.0], left, right)
    positions = {number: (x.at(1.0), top + step * (number + 0.5)) for number in range(len(names))}
    parts = [RULE.format(x.at(value), x.at(value), top, bottom) + TEXT.format(x.at(value), top - 6, "middle", label)
             for value, label in x.marks()]
    for number, (a, b, r) in enumerate(joins, start=len(names)):
        (ax, ay), (bx, by), at = positions[a], positions[b], x.at(min(1.0, r))
        parts.append(Markup('<path class="line thin series0" d="M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}"/>').format(ax, ay, at, by, bx))
        positions[number] = at, (ay + by) / 2
    parts += [NAME.format(right + 6, positions[row][1] + 4, "start", name) for row, name in enumerate(names)]
    nearest = ", ".join(f"{names[a]} and {names[b]} at {r:.2f}" for a, b, r in joins if max(a, b) < len(names))
    return make_picture(parts, f"Similarity of answers; the closest pairs: {nearest}", bottom + 6)


def draw_radar(axes: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> Markup:
    """Return values between 0 and 1 around a circle, a line per metric; negative and unknown values are drawn as 0."""
    centre = (WIDTH / 2, HEIGHT / 2 + 4)

    def at(index: int, radius: float) -> tuple[float, float]:
        angle = 2 * math.pi * index / len(axes) - math.pi / 2
        return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
    rings = (join_points([at(index, RADIUS * share) for index in range(len(axes))]) for share in (0.25, 0.5, 0.75, 1.0))
    parts = [Markup('<polygon class="rule" points="{}"/>').format(ring) for ring in rings]
    for index, axis in enumerate(axes):
        left, top = at(index, RADIUS + 12)
        anchor = "middle" if abs(left - centre[0]) < 8 else "start" if left > centre[0] else "end"
        parts.append(TEXT.format(left, top + 4, anchor, axis))
    for number, (name, values) in enumerate(series.items()):
        corners = join_points([at(index, RADIUS * min(1.0, max(0.0, value or 0.0))) for index, value in enumerate(values)])
        parts.append(Markup('<polygon class="area series{}" points="{}"><title>{}</title></polygon>').format(number, corners, name))
    label = "; ".join(f"{name}: " + ", ".join(f"{axis} {value:.2f}" for axis, value in zip(axes, values, strict=True) if value is not None)
                      for name, values in series.items())
    return make_picture(parts, label)


class Axis:
    """Positions of values on an axis, and the marks along it."""

    def __init__(self, values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> None:
        self.low, self.high = min(values), max(values)
        if self.high - self.low < 1e-12:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.end, self.logarithmic = start, end, logarithmic

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def marks(self) -> list[tuple[float, str]]:
        """Return about five round values within the axis, with their labels."""
        span = self.high - self.low
        if self.logarithmic:
            factors = (1, 2, 5) if span < 2 else (1,)
            rounds = [factor * 10.0 ** power for power in range(math.floor(self.low), math.ceil(self.high) + 1) for factor in factors]
            marks = [(math.log10(value), f"{value:g}") for value in rounds if self.low <= math.log10(value) <= self.high]
            if len(marks) > 1:
                return marks
        step = 10 ** math.floor(math.log10(span / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 5)
        first = math.ceil(self.low / step - 1e-9)
        values = [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, f"{10 ** value:.2g}" if self.logarithmic else f"{value:.10g}") for value in values]


def draw_grid(x: Axis, y: Axis, x_title: str, y_title: str) -> Markup:
    """Return the grid lines, marks and titles of two axes."""
    parts = [RULE.format(LEFT, WIDTH - RIGHT, y.at(value), y.at(value)) + TEXT.format(LEFT - 6, y.at(value) + 4, "end", label)
             for value, label in y.marks()]
    parts += [TEXT.format(x.at(value), HEIGHT - BOTTOM + 16, "middle", label) for value, label in x.marks()]
    parts += [TEXT.format((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", x_title), TEXT.format(LEFT - 38, TOP - 12, "start", y_title)]
    return Markup().join(parts)


def join_points(points: Sequence[tuple[float, float]]) -> str:
    """Return points as an SVG attribute."""
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)


def make_picture(parts: Sequence[Markup], label: str, height: int = HEIGHT) -> Markup:
    """Return an SVG element that screen readers read as its label."""
    role = "group" if any("<a " in part for part in parts) else "img"             # the content of an image is not focusable
    return Markup('<svg viewBox="0 0 {} {}" role="{}" aria-label="{}">{}</svg>').format(WIDTH, height, role, label, Markup().join(parts))
