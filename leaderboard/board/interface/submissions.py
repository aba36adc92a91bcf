"""The form for submissions, and the page of a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from leaderboard.board.interface.frame import PRIVATE, EventOptions, add_frame, add_html, read_query, show_errors
from leaderboard.board.pages.submission import load_submission_page, render_introduction, render_queue
from leaderboard.board.router import Library
from leaderboard.board.services.sign_in import browser_sender, read_account
from leaderboard.service.access import BEARER, Auth, Sender, Service
from leaderboard.service.states import FINAL, WITHDRAWABLE, State
from leaderboard.service.submissions import UnknownSubmission

QUEUE_SECONDS, PAGE_SECONDS = 5.0, 2.0
ACTION: EventOptions = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": 20}     # queued: only then Gradio shows errors
# The event ends before the page is left.
OPEN = "(id) => { if (id) setTimeout(() => { location.href = `submission?id=${encodeURIComponent(id)}`; }, 100); }"


def add_submission_form(service: Service, blocks: gr.Blocks) -> None:
    """Add a form for a file or its text, and the public queue, to the current context."""
    introduction = add_html("", min_height=200)
    with gr.Row(visible=False) as account:
        issue = gr.Button("Create a token for the command line", elem_id="submission-new-token")
        issued = gr.Textbox(label="Token, shown once; it replaces an earlier one", visible=False, buttons=["copy"], elem_id="submission-issued")
    with gr.Tabs():
        with gr.Tab("Upload a file"):
            file = gr.File(label="One Python file", file_types=[".py"], type="filepath", elem_id="submission-file")
        with gr.Tab("Paste the code"):
            code = gr.Code("", language="python", label="The content of the file", lines=12, max_lines=24, elem_id="submission-code")
    run = gr.Checkbox(True, label="Run the metric once its check has succeeded", elem_id="submission-run")
    token = gr.Textbox(label="Token", type="password", visible=service.auth is Auth.TOKEN, elem_id="submission-token")
    button = gr.Button("Submit", variant="primary", elem_id="submission-send")
    identifier = gr.Textbox("", visible=False)
    queue = add_html("", elem_id="submission-queue")

    def receive(file: str | None, code: str, run: bool, token: str, request: gr.Request) -> str:
        if bool(file) == bool(code.strip()):
            raise gr.Error("Either upload a file or paste its content.", print_exception=False)
        filename, source = (Path(file).name, read_upload(file, service)) if file else ("pasted.py", code.encode())
        with show_errors():
            caller = service.identify(sender_of(request, token))
            return service.submissions.receive(caller.owner, caller.address, filename, source, run)[0].id
    button.click(receive, [file, code, run, token], identifier, **ACTION)
    identifier.change(None, identifier, None, js=OPEN, **PRIVATE)

    def issue_token(request: gr.Request) -> Any:
        with show_errors():
            return gr.Textbox(service.tokens.create(service.identify(sender_of(request)).owner, replace=True), visible=True)
    issue.click(issue_token, None, issued, **ACTION)

    def open_page(request: gr.Request) -> list[Any]:
        reader = read_account(request.request)
        site = str(request.request.base_url)
        return [str(render_introduction(service, site, reader)), str(render_queue(service)), gr.Row(visible=reader is not None)]
    blocks.load(open_page, None, [introduction, queue, account], **PRIVATE)
    gr.Timer(QUEUE_SECONDS).tick(lambda: str(render_queue(service)), None, queue, **PRIVATE)


def add_submission_page(library: Library, service: Service, blocks: gr.Blocks) -> None:
    """Add the page of a submission."""
    frame = add_frame(library, blocks, "submission")
    content = add_html("", min_height=400)
    token = gr.Textbox(label="Token", type="password", visible=False, elem_id="submission-token")
    with gr.Row():
        queue = gr.Button("Run it", variant="primary", visible=False, elem_id="submission-queue-it")
        withdraw = gr.Button("Withdraw", visible=False, elem_id="submission-withdraw")
    timer = gr.Timer(PAGE_SECONDS)

    def refresh(request: gr.Request) -> list[Any]:
        query = read_query(request)
        try:
            content = load_submission_page(service, query.get("id", ""), sender_of(request))
        except UnknownSubmission:
            return [str(library.page("submission", query).content), *[gr.skip()] * 3, gr.Timer(active=False)]
        state = service.submissions.get(query["id"]).state
        return [str(content), gr.Textbox(visible=service.auth is Auth.TOKEN and state in WITHDRAWABLE),
                gr.Button(visible=state is State.CHECKED), gr.Button(visible=state in WITHDRAWABLE), gr.Timer(active=state not in FINAL)]

    outputs = [content, token, queue, withdraw, timer]
    for button, act in ((queue, service.submissions.enqueue), (withdraw, service.submissions.withdraw)):
        def change(token: str, request: gr.Request, act: Any = act) -> list[Any]:
            with show_errors():
                act(service.own(read_query(request).get("id", ""), sender_of(request, token)).id)
            return refresh(request)
        button.click(change, token, outputs, **ACTION)
    timer.tick(refresh, None, outputs, **PRIVATE)
    frame.query.change(refresh, None, outputs, **PRIVATE)


def sender_of(request: gr.Request, token: str = "") -> Sender:
    """Return what an event of a page says about its sender."""
    return browser_sender(request.request, f"{BEARER}{token}" if token else None)


def read_upload(path: str, service: Service) -> bytes:
    """Return an uploaded file, at most one byte more than allowed."""
    with open(path, "rb") as file:
        return file.read(service.submissions.settings.file_bytes + 1)
