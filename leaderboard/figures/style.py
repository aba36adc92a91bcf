"""Palette, layout, shared traces and files of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import scipy
from plotly.subplots import make_subplots

from harness.base.errors import TouchstoneError, printable

PALETTE = ("#3b5bdb", "#e8590c", "#2b8a3e", "#ae3ec9", "#0c8599", "#c92a2a", "#5f3dc4", "#5c940d", "#e64980", "#fab005",
           "#7f4f24")
GREY = "#868e96"
WIDTH, HEIGHT = 900, 540
COLUMNS = 3


def colour_of(number: int) -> str:
    """Return the colour of the metric with this number; all are different."""
    if number < len(PALETTE):
        return PALETTE[number]
    hue = (number * 137.508) % 360          # the golden angle: the hues of any number of metrics are spread evenly
    return f"hsl({hue:.0f}, {70 - 25 * (number % 2)}%, {35 + 10 * (number % 3)}%)"


def grid_position(number: int, columns: int = COLUMNS) -> dict[str, int]:
    """Return the row and column of a facet."""
    return {"row": number // columns + 1, "col": number % columns + 1}


def make_facets(titles: Sequence[str], columns: int = COLUMNS) -> go.Figure:
    """Return a figure with one empty facet per title."""
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    figure = make_subplots(rows, columns, subplot_titles=titles, horizontal_spacing=0.06, vertical_spacing=0.22 / rows)
    figure.update_layout(height=max(HEIGHT, 320 * rows)).update_annotations(font_size=13)
    return figure


def add_band(figure: go.Figure, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str, name: str,
             position: Mapping[str, int]) -> None:
    """Fill the area between two curves."""
    figure.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", fill="toself", fillcolor=colour, opacity=0.15,
                       line_width=0, hoverinfo="skip", showlegend=False, legendgroup=name, **position)


def add_mean_curve(figure: go.Figure, x: Sequence[float], rows: np.ndarray, name: str, colour: str,
                   position: Mapping[str, int], in_legend: bool, dash: str = "solid") -> None:
    """Draw the mean of the rows with its 95% confidence band."""
    mean, margin = rows.mean(axis=0), half_width(rows)
    add_band(figure, list(x), (mean - margin).tolist(), (mean + margin).tolist(), colour, name, position)
    figure.add_scatter(x=list(x), y=mean, mode="lines+markers", line={"color": colour, "dash": dash}, name=name, legendgroup=name,
                       showlegend=in_legend, **position)


def half_width(rows: np.ndarray) -> np.ndarray:
    """Return the half width of the 95% confidence interval of each column's mean; 0 for a single row."""
    n = len(rows)
    if n < 2:
        return np.zeros(rows.shape[1])
    return np.asarray(scipy.stats.t.ppf(0.975, n - 1) * rows.std(axis=0, ddof=1) / np.sqrt(n))


def apply_layout(figure: go.Figure, title: str) -> go.Figure:
    """Set the title and the layout that all figures share."""
    figure.update_layout(title_text=title, template="plotly_white", width=WIDTH, legend={"orientation": "h", "y": -0.15},
                         font_family="system-ui, sans-serif", margin={"t": 90})
    if figure.layout.height is None:
        figure.update_layout(height=HEIGHT)
    return figure


def write_figure(figure: go.Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as HTML that needs no network, and as PNG; return both paths."""
    html, png = folder / f"{name}.html", folder / f"{name}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figure.write_html(html, include_plotlyjs=True)
    except OSError as error:
        raise TouchstoneError(f"{html} cannot be written ({error.strerror}). Choose another folder.") from None
    try:
        figure.write_image(png, scale=2)
    except Exception as error:              # noqa: BLE001 - it starts a browser, where anything can go wrong
        raise TouchstoneError(f"{html} has been written, but the PNG has not, because no browser could draw it ("
                              f"{printable(str(error), 160)}). Install Chromium, e.g. with `apt-get install chromium`.") from None
    return [html, png]
