"""The first page: overview, and per track a tab with controls and the ranked table.

The browser searches, filters and sorts (`static/board.js`). Another order, other weights or columns are rendered by the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from leaderboard.board.components.layout import Links
from leaderboard.board.interface.frame import PRIVATE, add_frame, add_html, read_query
from leaderboard.board.pages.ranking import (
    INPUTS,
    KINDS,
    OVERALL,
    WEIGHTS,
    TableView,
    list_orders,
    render_overview,
    render_table,
)
from leaderboard.board.rendering import render
from leaderboard.board.router import WRONG_WEIGHTS, Library, read_view
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.scoring.custom_order import check_weights

ONLY = [("No neural model", "no-model"), ("Symmetric", "symmetric")]
HIDEABLE = [("Lifted text metrics", "lifted"), ("Trivial baselines", "baselines"), ("Ensembles", "ensembles")]
MOST_WEIGHT = 10


ATTACH = """
const attach = () => window.Touchstone ? Touchstone.attach(element, watch) : setTimeout(attach, 10);
attach();
"""


@dataclass
class TrackTab:
    """The components of a track: controls that the browser evaluates, controls that the server evaluates, and the table."""

    track: str
    filters: list[Any]                      # search, kind, input, cost, only, shown
    order: gr.Dropdown
    columns: gr.Dropdown
    weights: list[gr.Slider]
    weight_row: gr.Row
    problem: gr.HTML                        # what is wrong with the weights
    table: gr.HTML

    @property
    def view(self) -> list[Any]:
        """The controls that the server evaluates."""
        return [self.order, self.columns, *self.weights]

    @property
    def outputs(self) -> list[Any]:
        """All components, in the order of `restore_tab`."""
        return [*self.filters, *self.view, self.weight_row, self.problem, self.table]


def add_ranking(library: Library, blocks: gr.Blocks) -> None:
    """Add the components of the first page to the current context."""
    snapshot, links = library.first, Links()
    frame = add_frame(library, blocks, "board")
    overview = add_html(render_overview(snapshot, links) if snapshot.report.entries else library.page("board", {}).content)
    tabs: list[TrackTab] = []
    if not snapshot.tracks:                 # a group without tabs sometimes keeps Gradio from showing the page
        frame.on_open(lambda query: [gr.Dropdown(value=library.selection(query)), str(library.page("board", query).content)],
                      [frame.selection, overview])
        return
    with gr.Tabs(selected=snapshot.tracks[0]) as tab_group:
        for track in snapshot.tracks:
            with gr.Tab(TRACKS[track], id=track, elem_id=f"tab-{track}"):
                tabs.append(add_track(library, snapshot, links, track))

    def restore(query: Mapping[str, str]) -> list[Any]:
        page = library.page("board", query)
        if page.status != 200:
            selected, kept, query = library.first, Links(), {}
        else:
            selected, kept = library.selected(query)
        track = query.get("track", next(iter(selected.tracks), None))
        overview = page.content if page.status != 200 else render_overview(selected, kept)
        return [gr.Dropdown(value=library.selection(query)), str(overview), gr.Tabs(selected=track),
                *(change for tab in tabs for change in restore_tab(selected, kept, tab, query if tab.track == track else {}))]
    frame.on_open(restore, [frame.selection, overview, tab_group, *(part for tab in tabs for part in tab.outputs)])


def add_track(library: Library, snapshot: Snapshot, links: Links, track: str) -> TrackTab:
    """Add the controls and the table of a track."""
    entries, unit = snapshot.entries(track), snapshot.cost_unit(track)
    orders = [(title, key) for key, title in list_orders(snapshot, track).items()]
    columns = [(column.title, column.key) for column in snapshot.columns(track)]
    default = [column.key for column in snapshot.columns(track) if column.default]
    with gr.Row(elem_classes="ts-controls"):
        search = gr.Textbox(label="Search", placeholder="name, author, tag", elem_id=f"search-{track}", scale=2)
        order = gr.Dropdown(orders, value=orders[0][1], label="Rank by", elem_id=f"order-{track}", filterable=False)
    with gr.Row(visible=False, elem_classes="ts-controls") as weight_row:
        problem = add_html("")
        weights = [gr.Slider(0, MOST_WEIGHT, value=1, step=0.1, label=f"Weight of {task.title.lower()}", elem_id=f"weight-{track}-{task.name}")
                   for task in snapshot.ranked_tasks(track)]
    with gr.Accordion("Filters and columns", open=False, elem_id=f"filters-{track}"):
        with gr.Row():
            kind = gr.Dropdown([("any kind", ""), *((title, key) for key, title in KINDS.items() if key in {entry.kind for entry in entries})],
                               value="", label="Kind", filterable=False)
            taken = gr.Dropdown([("any input", ""), *((title, key) for key, title in INPUTS.items() if key in {entry.input for entry in entries})],
                                value="", label="Input", filterable=False)
            cost = gr.Number(value=None, minimum=0, label=f"At most ({unit})" if unit else "Highest cost", elem_id=f"cost-{track}")
        with gr.Row():
            only = gr.CheckboxGroup(ONLY, label="Only")
            shown = gr.CheckboxGroup(HIDEABLE, value=[value for _, value in HIDEABLE], label="Show")
        chosen = gr.Dropdown(columns, value=default, multiselect=True, label="Columns", elem_id=f"columns-{track}")
    table = add_html(render_table(snapshot, links, track), js_on_load=ATTACH, elem_id=f"table-{track}")
    tab = TrackTab(track, [search, kind, taken, cost, only, shown], order, chosen, weights, weight_row, problem, table)
    names = [task.name for task in snapshot.ranked_tasks(track)]

    def rerender(request: gr.Request, order: str, columns: list[str], *values: float) -> tuple[Any, ...]:
        selected, kept = library.selected(read_query(request))
        valid = order != WEIGHTS or check_weights(values)
        view = TableView(order if valid else OVERALL, dict(zip(names, values, strict=True)) if order == WEIGHTS else {}, columns)
        return (gr.Row(visible=order == WEIGHTS), "" if valid else str(render("problem.html", message=WRONG_WEIGHTS)),
                str(render_table(selected, kept, track, view)))

    script = f"(...values) => {{ Touchstone.filter({track!r}, Touchstone.choices(...values)); }}"
    search.change(None, search, None, js=f"(q) => {{ Touchstone.filter({track!r}, {{ q: q.trim() }}); }}", **PRIVATE)
    for control in tab.filters[1:]:
        control.input(None, tab.filters[1:], None, js=script, **PRIVATE)
    for control in tab.view:
        event = control.release if isinstance(control, gr.Slider) else control.input
        event(rerender, tab.view, [weight_row, problem, table], js=remember_view(track, names, default), **PRIVATE)
    return tab


def remember_view(track: str, tasks: Sequence[str], default: Sequence[str]) -> str:
    """Return the script that keeps order, columns and weights in the address and passes them on."""
    weights = ", ".join(f"'w.{task}': order === '{WEIGHTS}' ? weights[{index}] : ''" for index, task in enumerate(tasks))
    return (f"(order, columns, ...weights) => {{ Touchstone.remember({{ track: {track!r}, axis: '', order: order === 'overall' ? '' : order, "
            f"columns: columns.join() === {','.join(default)!r} ? '' : columns.join() || 'none', {weights} }}); "
            "return [order, columns, ...weights]; }")


def restore_tab(snapshot: Snapshot, links: Links, tab: TrackTab, query: Mapping[str, str]) -> list[Any]:
    """Return the values of all components of a track that an address names."""
    view, hidden = read_view(query), query.get("hide", "lifted" if query.get("without") == "lifted" else "").split(",")
    orders = [(title, key) for key, title in list_orders(snapshot, tab.track).items()]
    available = snapshot.columns(tab.track)
    columns = view.columns if view.columns is not None else [column.key for column in available if column.default]
    filters = [query.get("q", ""), query.get("kind", ""), query.get("input", ""), parse_number(query.get("cost")),
               [value for _, value in ONLY if value in query.get("only", "").split(",")],
               [value for _, value in HIDEABLE if value not in hidden]]
    weights = [view.weights.get(task.name, 1.0) for task in snapshot.ranked_tasks(tab.track)][:len(tab.weights)]
    order = view.order if view.order in [key for _, key in orders] else orders[0][1]
    return [*filters, gr.Dropdown(orders, value=order),
            gr.Dropdown([(column.title, column.key) for column in available], value=[column.key for column in available if column.key in columns]),
            *weights, *[gr.skip()] * (len(tab.weights) - len(weights)), gr.Row(visible=order == WEIGHTS), "",
            str(render_table(snapshot, links, tab.track, view))]


def parse_number(text: str | None) -> float | None:
    """Return a positive number, or None."""
    try:
        number = float(text or "nan")
    except ValueError:
        return None
    return number if number > 0 else None
