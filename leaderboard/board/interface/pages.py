"""The pages below the first: their content is rendered by the server, for the parameters of the address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gradio as gr

from leaderboard.board.interface.frame import PRIVATE, SITE, Frame, add_frame, add_html, read_query, show_errors
from leaderboard.board.interface.submissions import add_submission_form
from leaderboard.board.pages.choose import list_questions
from leaderboard.board.pages.compare import MOST_METRICS
from leaderboard.board.pages.difference import current_question, list_metrics
from leaderboard.board.pages.info import EXAMPLE
from leaderboard.board.pages.try_it import CORPORA, EXAMPLE_CORPORA, EXAMPLE_TEXTS, KINDS, TEXTS, stream_corpora, stream_texts
from leaderboard.board.router import Library
from leaderboard.board.services.sharing import badge_snippets
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import OVERALL, cite, cite_release
from leaderboard.workflows.try_texts import TryBusy, warm_up


def add_page(library: Library, blocks: gr.Blocks, name: str) -> None:
    """Add a page without controls of its own to the current context."""
    frame = add_frame(library, blocks, name)
    restore_content(library, frame, name, add_html(library.page(name, {}).content))


def add_changes(library: Library, blocks: gr.Blocks) -> None:
    """Add the page on what changed between releases; it reads another release, so it is not rendered at the start."""
    frame, content = add_frame(library, blocks, "changes"), add_html("", min_height=200)
    load_content(library, blocks, "changes", content)
    restore_content(library, frame, "changes", content)


def load_content(library: Library, blocks: gr.Blocks, name: str, content: gr.HTML) -> None:
    """Render the content whenever the page is opened."""
    def show(request: gr.Request) -> str:
        return str(library.page(name, read_query(request)).content)
    blocks.load(show, None, content, **PRIVATE)


def restore_content(library: Library, frame: Frame, name: str, content: gr.HTML, *others: Any,
                    values: Callable[[Mapping[str, str]], list[Any]] = lambda query: []) -> None:
    """Render the content for the parameters of the address when the page is opened, and set other components to `values`."""
    def restore(query: Mapping[str, str]) -> list[Any]:
        page = library.page(name, query)
        if page.status != 200:
            return [gr.skip(), str(page.content), *[gr.skip()] * len(others)]
        return [gr.Dropdown(value=library.selection(query)), str(page.content), *values(query)]
    frame.on_open(restore, [frame.selection, content, *others])


def add_compare(library: Library, blocks: gr.Blocks) -> None:
    """Add the page that compares metrics."""
    frame = add_frame(library, blocks, "compare")
    names = list(dict.fromkeys(entry.name for entry in library.first.report.entries))
    chosen = gr.Dropdown(names, value=[], multiselect=True, max_choices=MOST_METRICS, label=f"Metrics (2 to {MOST_METRICS})", elem_id="compared")
    content = add_html(library.page("compare", {}).content)

    def compare(metrics: list[str], request: gr.Request) -> str:
        return str(library.page("compare", {**read_query(request), "metrics": ",".join(metrics)}).content)
    chosen.input(compare, chosen, content, js="(metrics) => { Touchstone.remember({ metrics: metrics.join() }); return [metrics]; }", **PRIVATE)

    def values(query: Mapping[str, str]) -> list[Any]:
        selected, _ = library.selected(query)
        available = list(dict.fromkeys(entry.name for entry in selected.report.entries))
        return [gr.Dropdown(available, value=[name for name in query.get("metrics", "").split(",") if name in available][:MOST_METRICS])]
    restore_content(library, frame, "compare", content, chosen, values=values)


def add_choose(library: Library, blocks: gr.Blocks) -> None:
    """Add the page that recommends a metric."""
    frame = add_frame(library, blocks, "choose")
    questions = list_questions(library.first, {})
    with gr.Row(elem_classes="ts-controls"):
        controls = [gr.Dropdown([(title, value) for value, title in question.options.items()], value=question.answer, label=question.text,
                                filterable=False, elem_id=f"question-{question.name}") for question in questions]
    content = add_html(library.page("choose", {}).content)
    names = [question.name for question in questions]

    def updates(query: Mapping[str, str]) -> list[Any]:
        selected, _ = library.selected(query)
        return [gr.Dropdown([(title, value) for value, title in question.options.items()], value=question.answer)
                for question in list_questions(selected, query)]

    def choose(request: gr.Request, *answers: str) -> list[Any]:
        query = {**read_query(request), **dict(zip(names, answers, strict=True))}
        return [str(library.page("choose", query).content), *updates(query)]
    script = f"(...answers) => {{ Touchstone.remember(Object.fromEntries({names}.map((name, index) => [name, answers[index]]))); return answers; }}"
    for control in controls:
        control.input(choose, controls, [content, *controls], js=script, **PRIVATE)
    restore_content(library, frame, "choose", content, *controls, values=updates)


def add_difference(library: Library, blocks: gr.Blocks) -> None:
    """Add the page on what a difference means; its content needs all answers, so it is not rendered at the start."""
    frame, question = add_frame(library, blocks, "difference"), current_question(library.first, {})
    with gr.Row(elem_classes="ts-controls"):
        controls = [gr.Dropdown(list_metrics(library.first), value=question["name"] or None, label="Metric", elem_id="difference-name"),
                    gr.Textbox(question["difference"], label="Difference of two values", elem_id="difference-value"),
                    gr.Textbox(question["size"], label="Texts per corpus, or pairs per mean", elem_id="difference-size")]
    content = add_html("", min_height=200)

    def updates(query: Mapping[str, str]) -> list[Any]:
        selected, _ = library.selected(query)
        current = current_question(selected, query)
        return [gr.Dropdown(list_metrics(selected), value=current["name"] or None), current["difference"], current["size"]]

    def explain(request: gr.Request, *answers: str) -> str:
        return str(library.page("difference", {**read_query(request), **dict(zip(question, answers, strict=True))}).content)
    script = f"(...answers) => {{ Touchstone.remember(Object.fromEntries({list(question)}.map((name, index) => [name, answers[index]]))); return answers; }}"
    for event in (controls[0].input, controls[1].submit, controls[1].blur, controls[2].submit, controls[2].blur):
        event(explain, controls, content, js=script, **PRIVATE)
    load_content(library, blocks, "difference", content)
    restore_content(library, frame, "difference", content, *controls, values=updates)


def add_metric(library: Library, blocks: gr.Blocks) -> None:
    """Add the page of a metric."""
    frame = add_frame(library, blocks, "metric")
    with gr.Row(elem_classes="ts-controls", elem_id="compare-with"):
        rival = gr.Dropdown([], value=None, label="Compare with", allow_custom_value=True)
    content = add_html("", min_height=600)
    with gr.Accordion("Cite and embed", open=True, elem_id="cite"):
        citation = gr.Code("", language=None, label="BibTeX", buttons=["copy"], interactive=False, wrap_lines=True, lines=4)
        badge = gr.Code("", language=None, label="Badge in Markdown", buttons=["copy"], interactive=False, wrap_lines=True, lines=1)

    def values(query: Mapping[str, str]) -> list[Any]:
        selected, _ = library.selected(query)
        name = query.get("name", "")
        others = list(dict.fromkeys(entry.name for entry in selected.report.entries if entry.name != name))
        return [gr.Dropdown(others, value=query.get("against")), cite_metric(library, query), badge_snippets(query[SITE], name).markdown]

    def against(name: str, request: gr.Request) -> str:
        return str(library.page("metric", {**read_query(request), "against": name or ""}).content)
    rival.input(against, rival, content, js="(against) => { Touchstone.remember({ against }); return [against]; }", **PRIVATE)
    restore_content(library, frame, "metric", content, rival, citation, badge, values=values)


def cite_metric(library: Library, query: Mapping[str, str]) -> str:
    """Return the overall scores of a metric in each track as BibTeX, or why they cannot be cited."""
    selected, _ = library.selected(query)
    tracks = [entry.track for entry in selected.report.entries if entry.name == query.get("name") and entry.overall is not None]
    if selected.release is None or not tracks:
        return "These numbers are not released and may change, so they cannot be cited. To cite a release, select it above."
    return "\n\n".join(cite(selected.release, query["name"], OVERALL, "bibtex", track) for track in tracks)


def add_about(library: Library, blocks: gr.Blocks) -> None:
    """Add the page with the citation of the benchmark first; its content needs all releases, so it is not rendered at the start."""
    frame = add_frame(library, blocks, "about")
    citation = gr.Code(**release_citation(library.first), language=None, label="BibTeX of the benchmark", buttons=["copy"], interactive=False,
                       wrap_lines=True, elem_id="citation", lines=8, max_lines=16)
    content = add_html("", min_height=600)
    blocks.load(lambda: str(library.page("about", {}).content), None, content, **PRIVATE)
    restore_content(library, frame, "about", content, citation, values=lambda query: [gr.Code(**release_citation(library.selected(query)[0]))])


def release_citation(snapshot: Snapshot) -> dict[str, object]:
    """Return the citation of a release as a component has it; invisible if the results are not released."""
    released = snapshot.release is not None
    return {"value": cite_release(snapshot.release) if snapshot.release is not None else "", "visible": released}


def add_submit(library: Library, blocks: gr.Blocks) -> None:
    """Add the page that explains how to submit a metric."""
    frame = add_frame(library, blocks, "submit")
    if library.service is not None:
        add_submission_form(library.service, blocks)
    else:
        restore_content(library, frame, "submit", add_html(library.page("submit", {}).content))
    gr.Code(EXAMPLE, language=None, label="shared_words.py, a complete metric", buttons=["copy", "download"], interactive=False, wrap_lines=True)


def add_try(library: Library, blocks: gr.Blocks) -> None:
    """Add the page on which readers try metrics on their own texts."""
    frame = add_frame(library, blocks, "try")
    content = add_html(library.page("try", {}).content)
    forms = {TEXTS: (EXAMPLE_TEXTS, 4, ("First text", "Second text"), stream_texts),
             CORPORA: (EXAMPLE_CORPORA, 12, ("First corpus, one text per line", "Second corpus, one text per line"), stream_corpora)}
    with gr.Tabs() as tabs:
        for kind, (examples, lines, labels, stream) in forms.items():
            with gr.Tab(KINDS[kind], id=kind):
                with gr.Row():
                    a, b = (gr.Textbox(text, label=label, lines=lines, max_lines=lines) for text, label in zip(examples, labels, strict=True))
                button = gr.Button("Run metrics", variant="primary")
                answers = add_html("", elem_id=f"answers-{kind}")
                button.click(answer_with(library, stream), [a, b], answers, api_visibility="private", concurrency_limit=2, show_progress="hidden")
    blocks.load(lambda: warm_up(library.first.report.suite.model.name), None, None, **PRIVATE)
    restore_content(library, frame, "try", content, tabs,
                    values=lambda query: [gr.Tabs(selected=query["kind"] if query.get("kind") in KINDS else TEXTS)])


def answer_with(library: Library, stream: Any) -> Any:
    """Return an event that streams answers as HTML."""
    def run(a: str, b: str, request: gr.Request) -> Iterator[str]:
        with show_errors():
            try:
                yield from map(str, stream(*library.selected(read_query(request)), a, b))
            except TryBusy:
                raise gr.Error("Another request is running. Try again in a few seconds.", print_exception=False) from None
    return run


ADDERS = {"compare": add_compare, "choose": add_choose, "difference": add_difference, "try": add_try, "submit": add_submit, "about": add_about}
