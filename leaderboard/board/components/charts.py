"""Pictures as SVG: pure functions of numbers; colours come from the page's style, so that they are right in the dark too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 24, 40
RADIUS = 105


def bar(overall: Mapping[str, Any] | None) -> str:
    """A bar from 0 to 1 with the interval on it, drawn by the style; the numbers are its label."""
    if overall is None:
        return "–"
    value, low, high = overall["value"], overall["low"], overall["high"]
    label, edges = f"{value:.2f}", ""
    if low is not None and high is not None:
        label += f", {low:.2f} to {high:.2f}"
        edges = f";--low:{percent(low)};--high:{percent(high)}"
    return (f'<span class="value">{value:.2f}</span><i class="bar" role="img" aria-label="{label}" '
            f'style="--value:{percent(value)}{edges}"></i>')


def percent(value: float) -> str:
    return f"{100 * min(1.0, max(0.0, value)):.1f}%"


def curve(drawn: Mapping[str, Any], *beside: Mapping[str, Any] | None) -> str:
    """A curve with its 95% band; others beside it, the first dashed.  None keeps its colour for nobody."""
    logarithmic = drawn.get("logarithmic", False)
    every = [None if one is None else shown_points(one, logarithmic) for one in (drawn, *beside)]
    points = [point for one in every if one is not None for point in one]
    xs = [point[0] for point in points]
    ys = [edge for point in points for edge in (point[1], point[2], point[3]) if edge is not None]
    x, y = Axis(xs, LEFT, WIDTH - RIGHT, logarithmic), Axis(ys, HEIGHT - BOTTOM, TOP, logarithmic)
    parts = [grid(x, y, drawn["x"], drawn["y"])]
    for place, one in enumerate(every):
        if one:
            low = [(x.at(p[0]), y.at(p[2])) for p in one if p[2] is not None]
            high = [(x.at(p[0]), y.at(p[3])) for p in one if p[3] is not None]
            if low and len(low) == len(high):
                parts.append(f'<polygon class="band series{place}" points="{path([*low, *high[::-1]])}"/>')
            parts.append(f'<polyline class="line series{place}" points="{path([(x.at(p[0]), y.at(p[1])) for p in one])}"/>')
            parts += [f'<circle class="dot series{place}" cx="{x.at(p[0]):.1f}" cy="{y.at(p[1]):.1f}" r="2.8"/>' for p in one]
    first, last = drawn["series"][0]["points"][0], drawn["series"][0]["points"][-1]
    label = f"{drawn['title']}: {drawn['y']} {first[1]:.2g} at {drawn['x']} {first[0]:g}, {last[1]:.2g} at {last[0]:g}"
    return picture(parts, label)


def shown_points(drawn: Mapping[str, Any], logarithmic: bool) -> list[tuple[float, float, float | None, float | None]]:
    """Where the points of a curve stand: their logarithms, if it is to be drawn so; an edge that has none is left out."""
    points = [tuple(point) for series in drawn["series"] for point in series["points"]]
    if not logarithmic:
        return points

    def log(value: float | None) -> float | None:
        return math.log10(value) if value is not None and value > 0 else None
    return [(math.log10(x), math.log10(y), log(low), log(high)) for x, y, low, high in points if x > 0 and y > 0]


def scatter(named: Sequence[tuple[str, float, float]], x_title: str, y_title: str, joined: Sequence[str] = ()) -> str:
    """Named points, x on a logarithmic scale; those of `joined` are connected and stand out."""
    xs = [math.log10(one[1]) for one in named]
    x, y = Axis(xs, LEFT, WIDTH - RIGHT, logarithmic=True), Axis([one[2] for one in named], HEIGHT - BOTTOM, TOP)
    parts = [grid(x, y, x_title, y_title)]
    places = {name: (x.at(math.log10(cost)), y.at(value)) for name, cost, value in named}
    if joined:
        parts.append(f'<polyline class="line series0" points="{path([places[name] for name in joined])}"/>')
    for name, (left, top) in places.items():
        kind = "series0" if name in joined else "series1"
        parts.append(f'<g><title>{escape(name)}</title><circle class="dot {kind}" cx="{left:.1f}" cy="{top:.1f}" r="3.4"/></g>')
    before = -math.inf
    for name in joined:
        left, top = places[name]
        top += 20 if left - before < 8 * len(name) else 0       # below the line, beside a neighbour's name
        before = left if top == places[name][1] else -math.inf
        anchor = "end" if left > WIDTH / 2 else "start"
        parts.append(f'<text x="{left + (-6 if anchor == "end" else 6):.1f}" y="{top - 5:.1f}" text-anchor="{anchor}" class="name">'
                     f"{escape(name)}</text>")
    return picture(parts, f"{y_title} against {x_title}; nobody is better and cheaper than {', '.join(joined)}")


def tree(names: Sequence[str], joins: Sequence[tuple[int, int, float]]) -> str:
    """Names below each other, joined where their correlation is; a join takes two groups, numbered after the names, and its place."""
    left, right, top, step = 12, WIDTH - 130, 18, 15
    bottom = top + step * len(names)
    lowest = min((at for _, _, at in joins), default=0.0)
    x = Axis([min(lowest, 0.9), 1.0], left, right)
    places = {number: (x.at(1.0), top + step * (number + 0.5)) for number in range(len(names))}
    parts = [f'<line class="rule" x1="{x.at(value):.1f}" x2="{x.at(value):.1f}" y1="{top}" y2="{bottom}"/>'
             f'<text x="{x.at(value):.1f}" y="{top - 6}" text-anchor="middle">{words}</text>' for value, words in x.marks()]
    for number, (a, b, at) in enumerate(joins, start=len(names)):
        (ax, ay), (bx, by), here = places[a], places[b], x.at(min(1.0, at))
        parts.append(f'<path class="line thin series0" d="M{ax:.1f} {ay:.1f}H{here:.1f}V{by:.1f}H{bx:.1f}"/>')
        places[number] = here, (ay + by) / 2
    parts += [f'<text x="{right + 6}" y="{places[row][1] + 4:.1f}" class="name">{escape(name)}</text>' for row, name in enumerate(names)]
    ends = ", ".join(f"{names[a]} and {names[b]} at {at:.2f}" for a, b, at in joins if max(a, b) < len(names))
    return picture(parts, f"Who answers alike; the nearest: {ends}", bottom + 6)


def radar(axes: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> str:
    """Values between 0 and 1 around a circle, one line a metric; below 0 and unknown are drawn as 0."""
    centre = (WIDTH / 2, HEIGHT / 2 + 4)

    def at(place: int, radius: float) -> tuple[float, float]:
        angle = 2 * math.pi * place / len(axes) - math.pi / 2
        return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
    rings = (path([at(place, RADIUS * share) for place in range(len(axes))]) for share in (0.25, 0.5, 0.75, 1.0))
    parts = [f'<polygon class="rule" points="{ring}"/>' for ring in rings]
    for place, axis in enumerate(axes):
        left, top = at(place, RADIUS + 12)
        anchor = "middle" if abs(left - centre[0]) < 8 else "start" if left > centre[0] else "end"
        parts.append(f'<text x="{left:.1f}" y="{top + 4:.1f}" text-anchor="{anchor}">{escape(axis)}</text>')
    for number, (name, values) in enumerate(series.items()):
        corners = path([at(place, RADIUS * min(1.0, max(0.0, value or 0.0))) for place, value in enumerate(values)])
        parts.append(f'<polygon class="area series{number}" points="{corners}"><title>{escape(name)}</title></polygon>')
    label = "; ".join(f"{name}: " + ", ".join(f"{axis} {value:.2f}" for axis, value in zip(axes, values, strict=True) if value is not None)
                      for name, values in series.items())
    return picture(parts, label)


def legend(names: Sequence[str | None]) -> str:
    """The colours of some names, in the order of the series; None has none."""
    return '<p class="legend">' + "".join(f'<span><i class="swatch series{place}"></i>{escape(name)}</span>'
                                          for place, name in enumerate(names) if name is not None) + "</p>"


class Axis:
    """Where values are on a line of the picture, and what is written along it."""

    def __init__(self, values: Sequence[float], start: float, end: float, logarithmic: bool = False) -> None:
        self.low, self.high = min(values), max(values)
        if self.high - self.low < 1e-12:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.end, self.logarithmic = start, end, logarithmic

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def marks(self) -> list[tuple[float, str]]:
        """Round values within, about five of them, and their words."""
        span = self.high - self.low
        if self.logarithmic:
            factors = (1, 2, 5) if span < 2 else (1,)
            round_ones = [factor * 10.0 ** power for power in range(math.floor(self.low), math.ceil(self.high) + 1) for factor in factors]
            known = [(math.log10(value), f"{value:g}") for value in round_ones if self.low <= math.log10(value) <= self.high]
            if len(known) > 1:
                return known
        step = 10 ** math.floor(math.log10(span / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 5)
        first = math.ceil(self.low / step - 1e-9)
        values = [place * step for place in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, f"{10 ** value:.2g}" if self.logarithmic else f"{value:.10g}") for value in values]


def grid(x: Axis, y: Axis, x_title: str, y_title: str) -> str:
    parts = [f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(value):.1f}" y2="{y.at(value):.1f}"/>'
             f'<text x="{LEFT - 6}" y="{y.at(value) + 4:.1f}" text-anchor="end">{words}</text>' for value, words in y.marks()]
    parts += [f'<text x="{x.at(value):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{words}</text>' for value, words in x.marks()]
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(f'<text x="{LEFT - 38}" y="{TOP - 12}">{escape(y_title)}</text>')
    return "".join(parts)


def path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)


def picture(parts: Sequence[str], label: str, height: int = HEIGHT) -> str:
    return (f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')
