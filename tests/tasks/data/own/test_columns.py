"""The columns of a user's table: guessed, declared, and what they may contain."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from tasks.data.own.columns import guess_form, shape


def shaped(rows: dict, form: str = "pairs", declared: dict | None = None, positive: str | None = None):
    return shape([("my.csv", pd.DataFrame(rows))], form, declared or {}, positive)


A, B = ["one text", "two texts", "three texts"], ["a b", "c d", "e f"]


@pytest.mark.parametrize("names", [("text_a", "text_b"), ("Sentence1", "Sentence2"), ("question1", "question2"),
                                   ("reference", "candidate"), ("source", "target"), ("document", "summary"),
                                   ("old ticket", "new ticket")])
def test_pairs_are_recognized_by_names_or_as_the_two_columns_of_texts(names):
    data = shaped({names[0]: A, names[1]: B, "rating": [1, 2, 3]})
    rows = data.tables["data"]
    assert data.kind == "pairs"
    assert (rows.text_a.tolist(), rows.text_b.tolist(), rows.score.tolist()) == (A, B, [1, 2, 3])


def test_a_declared_column_goes_before_a_guessed_one():
    rows = shaped({"a": A, "b": B, "c": B[::-1], "score": [1, 2, 3]}, declared={"text_b": "c"}).tables["data"]
    assert rows.text_b.tolist() == B[::-1]


@pytest.mark.parametrize(("columns", "expected"), [
    ({"rating_1": [1, 2, 3], "rating_2": [3, 2, 5]}, [[1, 3], [2, 2], [3, 5]]),
    ({"ratings": [[1, 3], [2, 2], [3, 5]]}, [[1, 3], [2, 2], [3, 5]]),
    ({"scores": ["1;3", "2;2", "3;5"]}, [[1, 3], [2, 2], [3, 5]]),
    ({"ratings": ["[1, 3]", "[2, 2]", "[3, 5]"]}, [[1, 3], [2, 2], [3, 5]]),
])
def test_ratings_of_several_raters_are_averaged(columns, expected):
    rows = shaped({"a": A, "b": B, **columns}).tables["data"]
    assert rows.ratings.tolist() == expected
    assert rows.score.tolist() == [2, 2, 4]


@pytest.mark.parametrize("labels", [[1, 0, 1], ["yes", "no", "yes"], [True, False, True], ["duplicate", "different", "duplicate"],
                                    [1.0, 0.0, 1.0], [5, 2, 5]])
def test_two_values_are_labels(labels):
    rows = shaped({"a": A, "b": B, "label": labels}).tables["data"]
    assert rows.label.tolist() == rows.score.tolist() == [1, 0, 1]


def test_unknown_labels_need_the_similar_one_named():
    rows = {"a": A, "b": B, "label": ["foo", "bar", "foo"]}
    with pytest.raises(TouchstoneError, match="--positive"):
        shaped(rows)
    assert shaped(rows, positive="Foo").tables["data"].label.tolist() == [1, 0, 1]


def test_empty_texts_and_missing_ratings_are_left_out_and_counted():
    data = shaped({"a": [*A, "", "nan", "x"], "b": [*B, "y", "z", None], "score": ["1", "nan", "3", "4", "5", "1"]})
    assert data.tables["data"].text_a.tolist() == ["one text", "three texts"]
    assert data.notes == ["4 of 6 rows are left out: a text or a judgement is missing."]


def test_repeated_pairs_are_averaged_and_contradicting_labels_left_out():
    rated = shaped({"a": [*A, A[0]], "b": [*B, B[0]], "score": [1, 2, 3, 5]})
    assert rated.tables["data"].score.tolist() == [3, 2, 3]
    assert rated.notes == ["Repeated pairs: 1; the ratings of equal pairs are averaged."]
    labelled = shaped({"a": [*A, A[0]], "b": [*B, B[0]], "label": [1, 0, 1, 0]})
    assert labelled.tables["data"].text_a.tolist() == A[1:]


@pytest.mark.parametrize(("rows", "form", "message"), [
    ({"foo": [1], "bar": [2]}, "pairs", "no column that looks like text_a; it has foo, bar"),
    ({"a": A, "b": B, "score": ["1", "high", "3"]}, "pairs", "contains \"high\", which is not a number"),
    ({"a": A, "b": B, "score": ["1", "inf", "3"]}, "pairs", "ratings must be finite"),
    ({"a": [], "b": []}, "pairs", "has no rows"),
    ({"a": ["", ""], "b": ["x", "y"]}, "pairs", "has no row with text_a and text_b"),
    ({"text": A}, "labelled", "looks like label"),
    ({"text": A}, "pairs", "pairs need a table with two columns of texts"),
    ({"document": A, "a": A, "b": B}, "choices", "looks like choice"),
    ({"document": A, "a": A, "b": B, "choice": [0, 1, 2]}, "choices", "contains 0, 1 and 2"),
    ({"document": A, "a": A, "b": B, "choice": ["x", "y", "z"]}, "choices", "write a and b"),
])
def test_what_cannot_be_read_is_refused_with_a_sentence(rows, form, message):
    with pytest.raises(TouchstoneError, match=message):
        shaped(rows, form)


@pytest.mark.parametrize(("declared", "message"), [({"text_c": "a"}, 'no role "text_c"'), ({"text_a": "z"}, 'no column "z"'),
                                                   ({"text_a": "a,b"}, "one column")])
def test_wrong_declarations_are_refused(declared, message):
    with pytest.raises(TouchstoneError, match=message):
        shaped({"a": A, "b": B, "score": [1, 2, 3]}, declared=declared)


@pytest.mark.parametrize("choices", [["a", "b", "a"], [0, 1, 0], [1, 2, 1], ["A", "B", "A"], ["summary_a", "summary_b", "summary_a"]])
def test_choices(choices):
    data = shaped({"document": A, "summary_a": B, "summary_b": B[::-1], "choice": choices}, "choices")
    assert (data.kind, data.tables["data"].choice.tolist()) == ("preferences", [0, 1, 0])


def test_choices_between_chosen_and_rejected_texts_and_ties():
    assert shaped({"prompt": A, "chosen": B, "rejected": B[::-1]}, "choices").tables["data"].choice.tolist() == [0, 0, 0]
    tied = shaped({"prompt": A, "a": B, "b": B[::-1], "winner": ["a", "tie", "b"]}, "choices")
    assert tied.tables["data"].choice.tolist() == [0, 1]


def test_documents_labels_and_corpora():
    assert shaped({"text": A}, "corpus").kind == "corpus"
    assert shaped({"text": A}, "documents").kind == "documents"
    summarized = shaped({"article": A, "summary": B}, "documents")
    assert (summarized.kind, list(summarized.tables["data"].columns)) == ("summarized", ["document", "summary"])
    assert shaped({"utterance": A, "intent": B}, "labelled").tables["data"].label.tolist() == B


def test_retrieval_tables_are_recognized_by_their_columns_and_unknown_judgements_left_out():
    tables = [("1.csv", pd.DataFrame({"_id": ["d1", "d2"], "text": A[:2]})), ("2.csv", pd.DataFrame({"qid": ["q1"], "text": A[2:]})),
              ("3.csv", pd.DataFrame({"query-id": ["q1", "q1"], "corpus-id": ["d2", "d9"], "score": [1, 1]}))]
    data = shape(tables, "retrieval", {})
    assert data.tables["qrels"].to_dict("records") == [{"query_id": "q1", "doc_id": "d2", "relevance": 1.0}]
    assert data.tables["corpus"].columns.tolist() == ["doc_id", "title", "text"]
    assert data.notes == ["1 relevance judgements are left out: their query or document is missing."]
    with pytest.raises(TouchstoneError, match="qrels is missing"):
        shape(tables[:2], "retrieval", {})


@pytest.mark.parametrize(("columns", "form"), [(["text_a", "text_b"], "pairs"), (["question1", "question2", "x"], "pairs"),
                                               (["prompt", "a", "b", "choice"], "choices"), (["text"], "corpus"),
                                               (["text", "label"], "labelled")])
def test_the_form_of_a_path_is_guessed_from_its_columns(columns, form):
    assert guess_form(columns) == form
