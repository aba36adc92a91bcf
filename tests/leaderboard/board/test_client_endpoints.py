"""The endpoints of Gradio's clients: answers, and sentences for what does not exist."""

from __future__ import annotations

import gradio as gr
import pytest

from leaderboard.board.router import Library
from leaderboard.board.services.client_endpoints import add_client_endpoints


@pytest.fixture(scope="module")
def endpoints(board_snapshot):
    with gr.Blocks(analytics_enabled=False) as blocks:
        add_client_endpoints(Library(board_snapshot))
    return {function.api_name: function.fn for function in blocks.fns.values()}


def test_answers_equal_the_report(endpoints, board_snapshot):
    assert endpoints["board"]() == board_snapshot.report.model_dump(mode="json")
    card, = endpoints["card"]("energy")
    assert card["rank"] == board_snapshot.entry("energy").rank
    pair, = endpoints["compare"]("energy, zipf")["pairs"]
    assert (pair["a"], pair["b"]) == ("energy", "zipf")


@pytest.mark.parametrize(("endpoint", "arguments", "sentence"), [
    ("board", ("1999.1",), "no release"), ("board", ("", "nope"), "no results of a suite"), ("card", ("enrgy",), 'Did you mean "energy"?'),
    ("compare", ("energy,nope",), 'no metric "nope" in the track corpus'), ("compare", ("energy,zipf", "nope"), 'no track "nope"'),
    ("compare", ("energy",), "Name 2 to 8 metrics")])
def test_errors_are_sentences_without_a_traceback_in_the_log(endpoint, arguments, sentence, endpoints):
    with pytest.raises(gr.Error) as caught:
        endpoints[endpoint](*arguments)
    assert sentence in caught.value.message
    assert not caught.value.print_exception


def test_types_are_declared(endpoints):
    for function in endpoints.values():
        assert "return" in function.__annotations__
