"""Map the columns of a user's table to those of the normal form: guessed from names and values, or declared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean, printable
from tasks.data.schema import Kind, Tables

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["pairs", "choices", "documents", "labelled", "retrieval", "corpus"]
Mapped: TypeAlias = "dict[str, tuple[str, ...]]"


class Role(NamedTuple):
    """A column of the normal form and the names, in lower case, by which it is recognized."""

    names: tuple[str, ...]
    required: bool = True
    several: bool = False                   # several columns may be mapped to it


TEXT = Role(("text", "texts", "document", "doc", "content", "body", "article", "sentence", "message", "description", "question",
             "review", "comment", "abstract", "title", "utterance", "query"))
DOCUMENT = Role(("document", "source", "article", "prompt", "context", "question", "query", "original", "post", "input", "text"))
LABEL_NAMES = ("label", "labels", "category", "class", "intent", "topic", "tag", "target", "subject")
ROLES: Mapping[Form, Mapping[str, Role]] = {
    "pairs": {
        "text_a": Role(("text_a", "texta", "text1", "text_1", "text 1", "sentence1", "sentence_1", "sentence_a", "sent1", "s1",
                        "question1", "a", "first", "left", "premise", "reference", "references", "ref", "source", "original",
                        "gold", "expected", "document", "query", "input", "anchor", "ticket_a", "question")),
        "text_b": Role(("text_b", "textb", "text2", "text_2", "text 2", "sentence2", "sentence_2", "sentence_b", "sent2", "s2",
                        "question2", "b", "second", "right", "hypothesis", "candidate", "prediction", "predicted", "pred", "hyp",
                        "target", "rewritten", "paraphrase", "generated", "output", "actual", "summary", "response", "answer",
                        "positive", "ticket_b")),
        "judgement": Role(("score", "scores", "rating", "ratings", "similarity", "similarity_score", "human", "human_score",
                           "relatedness", "relatedness_score", "avg_score", "mean_score", "average", "mean", "overall", "label",
                           "is_duplicate", "duplicate", "is_paraphrase", "same", "match", "equivalent", "judgement", "judgment",
                           "quality", "grade", "stars", "gold_label", "annotation", "annotations"), required=False, several=True),
        "group": Role(("group", "domain", "genre"), required=False)},
    "choices": {
        "document": DOCUMENT,
        "summary_a": Role(("summary_a", "summary1", "summary_1", "a", "option_a", "response_a", "answer_a", "output_a", "left",
                           "candidate_a", "chosen", "first")),
        "summary_b": Role(("summary_b", "summary2", "summary_2", "b", "option_b", "response_b", "answer_b", "output_b", "right",
                           "candidate_b", "rejected", "second")),
        "choice": Role(("choice", "preference", "preferred", "winner", "better", "label", "chosen_side", "vote"),
                       required=False)},
    "documents": {"text": TEXT, "summary": Role(("summary", "highlights", "tldr"), required=False)},
    "labelled": {"text": TEXT, "label": Role(LABEL_NAMES)},
    "retrieval": {},
    "corpus": {"text": TEXT},
}
RETRIEVAL: Mapping[str, Mapping[str, Role]] = {
    "corpus": {"doc_id": Role(("doc_id", "docid", "_id", "id", "corpus-id", "corpus_id", "document_id")),
               "title": Role(("title",), required=False), "text": Role(TEXT.names[:7])},
    "queries": {"query_id": Role(("query_id", "query-id", "qid", "_id", "id")), "text": Role(("text", "query", "question"))},
    "qrels": {"query_id": Role(("query_id", "query-id", "qid")),
              "doc_id": Role(("doc_id", "docid", "corpus-id", "corpus_id", "document_id")),
              "relevance": Role(("relevance", "score", "label", "rating"), required=False)}}
FORMS: tuple[Form, ...] = get_args(Form)
RATER = re.compile(r"(rating|score|label|rater|annotator|human|judge|worker)s?[ _-]?(\d+|[a-z])")
POSITIVE = {"1", "1.0", "true", "yes", "y", "t", "same", "similar", "duplicate", "paraphrase", "equivalent", "match", "positive",
            "good", "correct", "relevant", "pos"}
NEGATIVE = {"0", "0.0", "-1", "false", "no", "n", "f", "different", "dissimilar", "not_duplicate", "not_paraphrase", "unrelated",
            "no_match", "negative", "bad", "incorrect", "irrelevant", "neg", "not duplicate", "not paraphrase"}
FIRST = {"a", "first", "left", "summary_a", "option_a", "response_a", "answer_a", "model_a", "output_a", "candidate_a"}
SECOND = {"b", "second", "right", "summary_b", "option_b", "response_b", "answer_b", "model_b", "output_b", "candidate_b"}
JUDGEMENTS = ("score", "label", "rating", "ratings")      # other names for the role of the judgements
MISSING = {"", "nan", "none", "null", "n/a", "na", "<na>"}
SHOWN_COLUMNS = 12


@dataclass(frozen=True)
class ShapedData:
    """A user's data in the normal form, how it was read, and what was changed or dropped."""

    kind: Kind
    tables: Tables
    columns: Mapping[str, tuple[str, ...]]
    notes: list[str] = field(default_factory=list)


def guess_form(columns: Sequence[str]) -> Form:
    """Return the form that the names of columns suggest."""
    for form in ("choices", "pairs"):
        required = [role for role in ROLES[form].values() if role.required]
        if all(any(column.lower() in role.names for column in columns) for role in required):
            return form
    return "labelled" if any(column.lower() in LABEL_NAMES for column in columns) and len(columns) > 1 else "corpus"


def map_columns(rows: pd.DataFrame, roles: Mapping[str, Role], declared: Mapping[str, str], origin: str) -> Mapped:
    """Return the columns of each role: the declared ones, else those with a known name, else the longest texts.

    Raises:
        TouchstoneError: A required role has no column, or a declared one does not exist.
    """
    mapped: Mapped = {}
    for role, named in declared.items():
        if role not in roles:
            raise TouchstoneError(f'There is no role "{role}"; the roles are {", ".join(roles)}.'
                                  f"{did_you_mean(role, roles)}")
        columns = tuple(name.strip() for name in named.split(","))
        for name in columns:
            if name not in rows.columns:
                raise TouchstoneError(f'{origin} has no column "{printable(name, 60)}"; it has {list_columns(rows)}.')
        if len(columns) > 1 and not roles[role].several:
            raise TouchstoneError(f"{role} takes one column, not {len(columns)}.")
        mapped[role] = columns

    def free() -> list[str]:
        taken = {name for columns in mapped.values() for name in columns}
        return [name for name in rows.columns if name not in taken]
    for role, (names, _, several) in roles.items():
        if role not in mapped:
            by_name = {column.lower(): column for column in reversed(free())}
            match = next((by_name[name] for name in names if name in by_name), None)
            raters = [column for column in free() if several and RATER.fullmatch(column.lower())]
            if match is None and raters:
                mapped[role] = tuple(raters)
            elif match is not None:
                mapped[role] = (match,)
    lacking = [role for role, details in roles.items() if details.required and role not in mapped]
    textual = [role for role in lacking if role in ("text", "text_a", "text_b")]
    longest = sorted((column for column in free() if is_textual(rows[column])), key=lambda column: -mean_length(rows, column))
    if textual and len(longest) == len(textual):
        chosen = sorted(longest, key=list(rows.columns).index)
        mapped |= {role: (column,) for role, column in zip(textual, chosen, strict=True)}
        lacking = [role for role in lacking if role not in mapped]
    if lacking:
        raise lacking_column(lacking[0], rows, origin)
    return mapped


def lacking_column(role: str, rows: pd.DataFrame, origin: str) -> TouchstoneError:
    """Return the error for a table without a column for a role."""
    if role in ("text_a", "text_b") and len(rows.columns) == 1:
        return TouchstoneError(f"{origin} has one column, {list_columns(rows)}; pairs need a table with two columns of texts.")
    option = "score" if role == "judgement" else role
    return TouchstoneError(f"{origin} has no column that looks like {role}; it has {list_columns(rows)}. Name it with --column "
                           f"{option}=NAME of `touchstone choose` or `touchstone data add`.")


def list_columns(rows: pd.DataFrame) -> str:
    """Return the names of the columns, safe for a terminal."""
    names = [printable(str(column), 40) or '""' for column in rows.columns]
    return ", ".join(names[:SHOWN_COLUMNS]) + (f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else "")


def is_textual(column: pd.Series) -> bool:
    """Return whether most values contain a space between words."""
    values = [value for value in column.head(200).tolist() if isinstance(value, str)]
    return bool(values) and sum(" " in value.strip() for value in values) > len(values) / 2


def mean_length(rows: pd.DataFrame, column: str) -> float:
    """Return the mean length of the values of a column as text."""
    return float(rows[column].head(200).astype(str).str.len().mean())


def shape(tables: Sequence[tuple[str, pd.DataFrame]], form: Form, declared: Mapping[str, str],
          positive: str | None = None, unique: bool = True) -> ShapedData:
    """Return tables in the normal form; rows without a text are dropped, notes say so, and so are repeated rows if `unique`.

    Pairs are merged if `unique`, and otherwise have no judgements.
    """
    import pandas as pd

    origin = tables[0][0] if len(tables) == 1 else f"{tables[0][0]} and {len(tables) - 1} more"
    if form == "retrieval":
        return shape_retrieval(tables, declared)
    rows = pd.concat([rows for _, rows in tables], ignore_index=True) if len(tables) > 1 else tables[0][1]
    if not len(rows):
        raise TouchstoneError(f"{origin} has no rows.")
    if form == "pairs":
        declared = {"judgement" if role in JUDGEMENTS else role: names for role, names in declared.items()}
    mapped, notes = map_columns(rows, ROLES[form], declared, origin), list[str]()
    texts = [role for role in mapped if role in ("text", "text_a", "text_b", "document", "summary", "summary_a", "summary_b")]
    shaped = pd.DataFrame({role: clean_texts(rows[mapped[role][0]]) for role in texts})
    keep = (shaped[texts] != "").all(axis=1)
    if form == "pairs" and "judgement" in mapped and unique:
        shaped["ratings"] = read_judgements(rows, mapped["judgement"], positive, origin)
        keep &= shaped["ratings"].map(len) > 0
    if form == "choices":
        shaped["choice"] = read_choices(rows, mapped, origin)
        keep &= shaped["choice"].notna()
    for role in ("group", "label"):
        if role in mapped:
            shaped[role] = clean_texts(rows[mapped[role][0]])
            keep &= (shaped[role] != "") | (role == "group")
    if not keep.all():
        notes.append(f"{(~keep).sum():,} of {len(keep):,} rows are left out: a text or a judgement is missing.")
    shaped = shaped[keep].reset_index(drop=True)
    if not len(shaped):
        raise TouchstoneError(f"{origin} has no row with {' and '.join(mapped)}; check the columns "
                              f"({describe_columns(mapped)}) or name others with --column.")
    if form == "pairs":
        return ShapedData("pairs", {"data": merge_pairs(shaped, notes) if unique else shaped}, mapped, notes)
    repeated = int(shaped.duplicated().sum()) if unique else 0
    if repeated:
        notes.append(f"{repeated:,} repeated rows are left out.")
    if repeated:
        shaped = shaped.drop_duplicates(ignore_index=True)
    if form == "choices":
        return ShapedData("preferences", {"data": shaped.astype({"choice": int})}, mapped, notes)
    kind: Kind = "summarized" if "summary" in mapped else "documents" if form == "documents" else "corpus"
    if kind == "summarized":
        shaped = shaped.rename(columns={"text": "document"})
    return ShapedData(kind, {"data": shaped}, mapped, notes)


def clean_texts(column: pd.Series) -> pd.Series:
    """Return texts stripped, with unpaired surrogates replaced; missing values are empty."""
    return column.map(clean_text)


def clean_text(value: object) -> str:
    """Return a value as a stripped text; empty if it is missing."""
    if not isinstance(value, str) and (value is None or value != value):
        return ""
    text = str(value).encode("utf-8", "replace").decode("utf-8").strip()
    return "" if text.lower() == "nan" else text


def read_judgements(rows: pd.DataFrame, columns: Sequence[str], positive: str | None, origin: str) -> list[tuple[float, ...]]:
    """Return the ratings of each row as numbers, several per row if there are several columns or lists; empty where missing.

    Two different words, such as yes and no, become 1 and 0; `positive` names the word that becomes 1.
    """
    cells = [[part for name in columns for part in split_cell(row[name])]
             for row in rows[list(dict.fromkeys(columns))].to_dict("records")]
    words = {part.lower() for parts in cells for part in parts}
    numbers = {word: float(word) for word in words if is_number(word)}
    if positive is not None or len(numbers) < len(words):
        if len(words) != 2:
            example = next((word for word in sorted(words) if not is_number(word)), "")
            raise TouchstoneError(f'{origin}: the column {columns[0]} contains "{printable(example, 40)}", which is not a '
                                  "number. Ratings must be numbers with a decimal point, and labels two different words.")
        chosen = {positive.lower()} if positive is not None else {word for word in words if word in POSITIVE} or {
            word for word in words if words & NEGATIVE and word not in NEGATIVE}
        if len(chosen & words) != 1:
            raise TouchstoneError(f"{origin}: which of the labels {' and '.join(printable(word, 30) for word in sorted(words))} "
                                  "means that the texts are similar? Name it with --positive LABEL.")
        numbers = {word: float(word in chosen) for word in words}
    infinite = next((word for word, number in numbers.items() if not np.isfinite(number)), None)
    if infinite is not None:
        raise TouchstoneError(f"{origin}: the column {', '.join(columns)} contains {infinite}; ratings must be finite.")
    return [tuple(numbers[part.lower()] for part in parts) for parts in cells]


def is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def split_cell(value: object) -> list[str]:
    """Return the ratings in a cell: one, a list, or several separated by semicolons or within brackets."""
    if isinstance(value, list | tuple | np.ndarray):
        return [part for item in value for part in split_cell(item)]
    if isinstance(value, bool | np.bool_):
        return ["1" if value else "0"]
    text = clean_text(value)
    parts = re.split(r"[;,\s]+", text.strip("[]() ")) if text.startswith(("[", "(")) or ";" in text else [text]
    return [part for part in (part.strip("'\" ") for part in parts) if part.lower() not in MISSING]


def read_choices(rows: pd.DataFrame, mapped: Mapped, origin: str) -> list[int | None]:
    """Return 0 or 1 for the first or the second text; None where there is no choice, as in a tie."""
    if "choice" not in mapped:
        if mapped["summary_a"][0].lower() == "chosen":
            return [0] * len(rows)
        raise lacking_column("choice", rows, origin)
    words = [clean_text(value).lower().removesuffix(".0") for value in rows[mapped["choice"][0]]]
    numbers = {word for word in words if word in ("0", "1", "2")}
    if {"0", "2"} <= numbers:
        raise TouchstoneError(f"{origin}: the column {mapped['choice'][0]} contains 0, 1 and 2; use 0 and 1, or a and b.")
    first, second = (FIRST | {mapped["summary_a"][0].lower()}, SECOND | {mapped["summary_b"][0].lower()})
    codes = dict.fromkeys(first, 0) | dict.fromkeys(second, 1) | ({"1": 0, "2": 1} if "2" in numbers else {"0": 0, "1": 1})
    choices = [codes.get(word) for word in words]
    if not any(choice is not None for choice in choices):
        raise TouchstoneError(f'{origin}: the column {mapped["choice"][0]} contains "{printable(words[0], 40)}"; write a and b, '
                              "0 and 1, or the names of the columns of the two texts.")
    return choices


def merge_pairs(shaped: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return each pair of texts once, with the mean of its ratings as `score`, and as `label` if there are only two."""
    if "ratings" not in shaped.columns:
        return shaped.drop_duplicates(["text_a", "text_b"], ignore_index=True)
    values = {value for ratings in shaped.ratings for value in ratings}
    first = shaped.drop_duplicates(["text_a", "text_b"], ignore_index=True)
    if len(first) < len(shaped):
        notes.append(f"Repeated pairs: {len(shaped) - len(first):,}; the ratings of equal pairs are averaged.")
        combined: dict[tuple[str, str], list[float]] = {}
        for a, b, ratings in zip(shaped.text_a, shaped.text_b, shaped.ratings, strict=True):
            combined.setdefault((a, b), []).extend(ratings)
        first["ratings"] = list(combined.values())
    means = first.ratings.map(lambda ratings: float(np.mean(ratings)))
    first = first.assign(score=means)
    if len(values) == 2:
        low, high = sorted(values)
        tied = means == (low + high) / 2
        if tied.any():
            notes.append(f"{tied.sum():,} pairs are left out because their labels contradict each other equally.")
        first = first[~tied].reset_index(drop=True)
        first = first.assign(score=(first.score > (low + high) / 2).astype(float))
        first = first.assign(label=first.score.astype(int))
    several = first.ratings.map(len).max() > 1 if len(first) else False
    equal_counts = first.ratings.map(len).nunique() == 1
    first = first.assign(ratings=first.ratings.map(list)) if several and equal_counts else first.drop(columns="ratings")
    return first[[name for name in ("text_a", "text_b", "score", "label", "group", "ratings") if name in first.columns]]


def shape_retrieval(tables: Sequence[tuple[str, pd.DataFrame]], declared: Mapping[str, str]) -> ShapedData:
    """Return documents, queries and relevance judgements, each recognized by the name of its file or by its columns."""
    by_table: dict[str, tuple[str, pd.DataFrame]] = {}
    for origin, rows in tables:
        names = {column.lower() for column in rows.columns}
        table = next((table for table in RETRIEVAL if table in origin.rsplit("/", 2)[-1].lower()), None)
        if table is None:
            pointing = all(names & set(RETRIEVAL["qrels"][role].names) for role in ("query_id", "doc_id"))
            table = "qrels" if pointing else "queries" if names & {"query", "query_id", "qid"} else "corpus"
        by_table.setdefault(table, (origin, rows))
    missing = [table for table in RETRIEVAL if table not in by_table]
    if missing:
        raise TouchstoneError(f"A retrieval dataset needs three files: corpus, queries and qrels; {missing[0]} is missing. Use "
                              "these words in the names, as in corpus.jsonl, queries.jsonl and qrels.tsv.")
    columns: Mapped = {}
    shaped: Tables = {}
    for table, (origin, rows) in by_table.items():
        own = {key.partition(".")[2]: value for key, value in declared.items() if key.startswith(f"{table}.")}
        mapped = map_columns(rows, RETRIEVAL[table], own, origin)
        shaped[table] = rows.assign(**{role: clean_texts(rows[names[0]]) for role, names in mapped.items()})
        for role, default in (("title", ""), ("relevance", "1")):
            if role in RETRIEVAL[table] and role not in mapped:
                shaped[table][role] = default
        shaped[table] = shaped[table][list(RETRIEVAL[table])].reset_index(drop=True)
        columns |= {f"{table}.{role}": names for role, names in mapped.items()}
    try:
        shaped["qrels"] = shaped["qrels"].astype({"relevance": float})
    except ValueError as error:
        raise TouchstoneError(f"The relevance in {by_table['qrels'][0]} must be a number "
                              f"({printable(str(error), 100)}).") from None
    unknown = ~(shaped["qrels"].query_id.isin(shaped["queries"].query_id) & shaped["qrels"].doc_id.isin(shaped["corpus"].doc_id))
    if unknown.all():
        raise TouchstoneError("No relevance judgement names a query and a document of the files; check their identifiers.")
    notes = [f"{unknown.sum():,} relevance judgements are left out: their query or document is missing."] if unknown.any() else []
    shaped["qrels"] = shaped["qrels"][~unknown].reset_index(drop=True)
    return ShapedData("retrieval", shaped, columns, notes)


def describe_columns(columns: Mapping[str, Sequence[str]]) -> str:
    """Return a mapping of columns in words, safe for a terminal."""
    return "; ".join(f"{role} = {' + '.join(printable(name, 40) for name in names)}" for role, names in columns.items())
