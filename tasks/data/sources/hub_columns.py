"""Conversion of the columns of datasets on the hub to the normal form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tasks.data.schema import Tables, normalize_tables

if TYPE_CHECKING:
    import pandas as pd

Shape: TypeAlias = "Callable[[list[pd.DataFrame]], Tables]"

COMPARISON_BATCHES = ("batch0_cnndm", "batch13", "batch18", "cnndm0", "edit_b2_eval_test")
MOST_STARS = 5.0


def corpus(text: str, label: str | None = None, drop: str | None = None) -> Shape:
    """Return a converter to texts of all splits, with their labels; rows with the label `drop` are removed."""
    def shape(parts: list[pd.DataFrame]) -> Tables:
        import pandas as pd

        rows = pd.concat(parts, ignore_index=True)
        if label is not None and drop is not None:
            rows = rows[rows[label] != drop]
        return {"data": normalize_tables(rename_columns(rows, {text: "text", **({label: "label"} if label else {})}), ("text",))}
    return shape


def documents(text: str) -> Shape:
    """Return a converter to documents."""
    return corpus(text)


def pairs(a: str, b: str, score: str | None = None, times: float = 1.0, groups: Sequence[str] = ()) -> Shape:
    """Return a converter to pairs of texts; `groups` names the splits."""
    def shape(parts: list[pd.DataFrame]) -> Tables:
        import pandas as pd

        if groups:
            parts = [part.assign(group=group) for part, group in zip(parts, groups, strict=True)]
        rows = pd.concat(parts, ignore_index=True)
        if score is not None:
            rows = rows.assign(**{score: rows[score].astype(float) * times})
        names = {a: "text_a", b: "text_b", **({score: "score"} if score else {}), **({"group": "group"} if groups else {})}
        return {"data": normalize_tables(rename_columns(rows, names), ("text_a", "text_b"))}
    return shape


def summarized(document: str, summary: str) -> Shape:
    """Return a converter to documents and summaries."""
    def shape(parts: list[pd.DataFrame]) -> Tables:
        import pandas as pd

        rows = rename_columns(pd.concat(parts, ignore_index=True), {document: "document", summary: "summary"})
        return {"data": normalize_tables(rows, ("document", "summary"))}
    return shape


def labelled(text: str, label: str, title: str | None = None, drop: str | None = None) -> Shape:
    """Return a converter to a clustering dataset of one text per row, preceded by its title if there is one."""
    def shape(parts: list[pd.DataFrame]) -> Tables:
        import pandas as pd

        rows = pd.concat(parts, ignore_index=True)
        rows = rows[rows[label] != drop] if drop is not None else rows
        texts = rows[text] if title is None else rows[title].astype(str) + "\n" + rows[text].astype(str)
        return {"data": normalize_tables(pd.DataFrame({"text": texts, "label": rows[label].astype(str), "split": ""}), ("text",))}
    return shape


def mteb_clustering(parts: list[pd.DataFrame]) -> Tables:
    """Convert a clustering dataset of MTEB: each row is a split, with lists of sentences and labels."""
    import pandas as pd

    splits = [pd.DataFrame({"text": list(row["sentences"]), "label": list(map(str, row["labels"])), "split": str(number)})
              for number, row in enumerate(list_rows(parts))]
    return {"data": normalize_tables(pd.concat(splits, ignore_index=True), ("text",))}


def beir_corpus(rows: pd.DataFrame) -> pd.DataFrame:
    """Convert the documents of BEIR."""
    return normalize_tables(rename_columns(rows, {"_id": "doc_id", "title": "title", "text": "text"}).astype({"doc_id": str}),
                            ("text",))


def beir(parts: list[pd.DataFrame]) -> Tables:
    """Convert a BEIR dataset: documents, queries that have judgements, and judgements."""
    documents, queries, judged = parts
    qrels = rename_columns(judged, {"query-id": "query_id", "corpus-id": "doc_id", "score": "relevance"}).astype(
        {"query_id": str, "doc_id": str, "relevance": int})
    texts = normalize_tables(rename_columns(queries, {"_id": "query_id", "text": "text"}).astype({"query_id": str}), ("text",))
    return {"corpus": beir_corpus(documents), "queries": texts[texts.query_id.isin(qrels.query_id)].reset_index(drop=True),
            "qrels": qrels.drop_duplicates(ignore_index=True)}


def climate_evidence(parts: list[pd.DataFrame]) -> Tables:
    """Convert Climate-FEVER: claims are queries; evidence that supports or refutes a claim is relevant."""
    import pandas as pd

    corpus, queries, qrels = [], [], []
    for row in list_rows(parts):
        queries.append({"query_id": str(row["claim_id"]), "text": str(row["claim"])})
        for evidence in row["evidences"]:
            corpus.append({"doc_id": str(evidence["evidence_id"]), "title": str(evidence["article"]),
                           "text": str(evidence["evidence"])})
            relevant = evidence["evidence_label"] in ("SUPPORTS", "REFUTES", 0, 1)
            qrels.append({"query_id": str(row["claim_id"]), "doc_id": str(evidence["evidence_id"]), "relevance": int(relevant)})
    return {"corpus": normalize_tables(pd.DataFrame(corpus), ("text",)).drop_duplicates("doc_id", ignore_index=True),
            "queries": normalize_tables(pd.DataFrame(queries), ("text",)),
            "qrels": pd.DataFrame(qrels).drop_duplicates(ignore_index=True)}


def list_rows(parts: list[pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the rows of all splits."""
    import pandas as pd

    rows: list[dict[str, Any]] = pd.concat(parts, ignore_index=True).to_dict("records")  # type: ignore[assignment]
    return rows


def text_of(info: dict[str, Any]) -> str:
    """Return the summarized text in OpenAI's datasets: a post of Reddit or an article."""
    return str(info.get("post") or info.get("article") or "")


def openai_axis(parts: list[pd.DataFrame]) -> Tables:
    """Convert OpenAI's ratings of summaries on four axes, 1 to 7."""
    import pandas as pd

    rows = []
    for row in list_rows(parts):
        axes = row["summary"]["axes"]
        if axes.get("overall") is not None:
            rows.append({"document": text_of(row["info"]), "summary": str(row["summary"]["text"]),
                         **{axis: axes.get(axis) for axis in ("overall", "accuracy", "coverage", "coherence")}})
    table = pd.DataFrame(rows)
    axes = dict.fromkeys(("overall", "accuracy", "coverage", "coherence"), float)
    return {"data": normalize_tables(table.astype(axes), ("document", "summary"))}


def openai_comparisons(parts: list[pd.DataFrame]) -> Tables:
    """Convert OpenAI's choices between two summaries, for the batches in COMPARISON_BATCHES."""
    import pandas as pd

    rows = [{"document": text_of(row["info"]), "summary_a": str(row["summaries"][0]["text"]),
             "summary_b": str(row["summaries"][1]["text"]), "choice": int(row["choice"])}
            for row in list_rows(parts) if row["batch"] in COMPARISON_BATCHES]
    return {"data": normalize_tables(pd.DataFrame(rows), ("document", "summary_a", "summary_b"))}


def openai_posts(parts: list[pd.DataFrame]) -> Tables:
    """Convert OpenAI's posts to documents."""
    import pandas as pd

    texts = [str(info.get("post") or "") for info in pd.concat(parts, ignore_index=True)["info"]]
    return {"data": normalize_tables(pd.DataFrame({"text": texts}), ("text",))}


def openai_titles(whole: bool) -> Shape:
    """Return a converter to titles of posts, with the post if `whole`, labelled by subreddit."""
    def shape(parts: list[pd.DataFrame]) -> Tables:
        import pandas as pd

        posts = [info for info in pd.concat(parts, ignore_index=True)["info"] if info.get("subreddit")]
        texts = [f"{info['title']}\n{info['post']}" if whole else str(info["title"]) for info in posts]
        labels = [str(info["subreddit"]) for info in posts]
        return {"data": normalize_tables(pd.DataFrame({"text": texts, "label": labels, "split": ""}), ("text",))}
    return shape


def mteb_summeval(parts: list[pd.DataFrame]) -> Tables:
    """Convert MTEB's SummEval: each row is an article with 16 summaries; overall is the mean of four expert ratings."""
    import pandas as pd

    rows = []
    for row in list_rows(parts):
        for index, summary in enumerate(row["machine_summaries"]):
            coherence, accuracy, fluency, coverage = (
                float(scores[index]) for scores in (row["coherence"], row["consistency"], row["fluency"], row["relevance"]))
            rows.append({"document": row["text"], "summary": summary, "overall": (coherence + accuracy + fluency + coverage) / 4,
                         "accuracy": accuracy, "coverage": coverage, "coherence": coherence})
    return {"data": normalize_tables(pd.DataFrame(rows), ("document", "summary"))}


def rename_columns(rows: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Return these columns under new names, in this order; raises KeyError if one is missing."""
    lacking = [column for column in names if column not in rows.columns]
    if lacking:
        raise KeyError(f"no column {lacking[0]!r} among {', '.join(map(str, rows.columns))}")
    return rows[list(names)].rename(columns=names)
