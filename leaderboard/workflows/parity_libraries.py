"""Metrics of other libraries, with their default settings; the first text of a pair is the reference.

A library is imported only when it is used; the extra "parity" installs those that the harness does not need.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.models.package_index import PACKAGE_INDEX_MODELS

Texts = Sequence[str]
Values = Sequence[float]


@dataclass(frozen=True)
class Library:
    """A library's default implementation of a metric."""

    package: str                            # on the package index
    module: str
    call: str                               # the call as its users write it
    ask: Callable[[Texts, Texts], Values]
    scale: float | None = 1.0               # divisor that brings scores to [0, 1]; None if unbounded
    needs: str | None = None                # a model that it needs

    @property
    def missing(self) -> str | None:
        """Why the library cannot be used here, or None."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.package} is not installed (pip install -e '.[parity]')"
        if self.needs is not None and not PACKAGE_INDEX_MODELS[self.needs].folder.is_dir():
            return f"the model {self.needs} is not available locally (touchstone models fetch {self.needs})"
        return None

    @property
    def name(self) -> str:
        """The package and its version."""
        return f"{self.package} {importlib.metadata.version(self.package)}"


def sacrebleu_chrf(a: Texts, b: Texts) -> Values:
    """Return sacreBLEU's sentence chrF."""
    from sacrebleu.metrics import CHRF

    scorer = CHRF()
    return [scorer.sentence_score(y, [x]).score for x, y in zip(a, b, strict=True)]


def nltk_chrf(a: Texts, b: Texts) -> Values:
    """Return NLTK's sentence chrF."""
    from nltk.translate.chrf_score import sentence_chrf

    return [sentence_chrf(x, y) for x, y in zip(a, b, strict=True)]


def torchmetrics_chrf(a: Texts, b: Texts) -> Values:
    """Return torchmetrics' chrF."""
    from torchmetrics.functional.text import chrf_score

    return [float(chrf_score([y], [[x]])) for x, y in zip(a, b, strict=True)]


def sacrebleu_bleu(a: Texts, b: Texts) -> Values:
    """Return sacreBLEU's sentence BLEU."""
    from sacrebleu import sentence_bleu

    return [sentence_bleu(y, [x]).score for x, y in zip(a, b, strict=True)]


def nltk_bleu(a: Texts, b: Texts) -> Values:
    """Return NLTK's sentence BLEU."""
    from nltk.translate.bleu_score import sentence_bleu

    return [float(sentence_bleu([x.split()], y.split())) for x, y in zip(a, b, strict=True)]


def torchmetrics_bleu(a: Texts, b: Texts) -> Values:
    """Return torchmetrics' BLEU."""
    from torchmetrics.functional.text import bleu_score

    return [float(bleu_score([y], [[x]])) for x, y in zip(a, b, strict=True)]


def google_rouge_l(a: Texts, b: Texts) -> Values:
    """Return ROUGE-L of rouge-score."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return [scorer.score(x, y)["rougeL"].fmeasure for x, y in zip(a, b, strict=True)]


def rouge_rouge_l(a: Texts, b: Texts) -> Values:
    """Return ROUGE-L of the package rouge."""
    from rouge import Rouge

    package = Rouge(metrics=["rouge-l"], stats=["f"])
    return [package.get_scores(y, x)[0]["rouge-l"]["f"] if x.strip(".") and y.strip(".") else 0.0      # it rejects such texts
            for x, y in zip(a, b, strict=True)]


def nltk_meteor(a: Texts, b: Texts) -> Values:
    """Return NLTK's METEOR."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.translate.meteor_score import single_meteor_score

    class Reader(WordNetCorpusReader):      # type: ignore[misc]  # WordNet 3.0 itself needs no mapping to 3.0
        def map_wn(self, version: str = "wordnet") -> None:
            return None

    folder = str(PACKAGE_INDEX_MODELS["wordnet"].path())
    nltk.data.path.append(folder)
    wordnet = Reader(folder, None)
    return [single_meteor_score(x.split(), y.split(), wordnet=wordnet) for x, y in zip(a, b, strict=True)]


def rapidfuzz_normalized(a: Texts, b: Texts) -> Values:
    """Return RapidFuzz's normalized Levenshtein similarity."""
    from rapidfuzz.distance import Levenshtein

    return [Levenshtein.normalized_similarity(x, y) for x, y in zip(a, b, strict=True)]


def rapidfuzz_ratio(a: Texts, b: Texts) -> Values:
    """Return RapidFuzz's ratio."""
    from rapidfuzz.fuzz import ratio

    return [ratio(x, y) for x, y in zip(a, b, strict=True)]


def rank_bm25(name: str) -> Callable[[Texts, Texts], Values]:
    """Return the scores of a class of rank-bm25."""
    def ask(a: Texts, b: Texts) -> Values:
        """Second texts as queries, the first ones as documents, as USMB's figures need."""
        import rank_bm25 as package

        scorer = getattr(package, name)([text.split() for text in a])
        return [float(scorer.get_scores(y.split())[index]) for index, y in enumerate(b)]
    return ask


class Comparison(NamedTuple):
    """Our submission, the libraries, and the submissions that call a package (`submissions/prdc.py` and others)."""

    ours: str
    libraries: tuple[Library, ...] = ()
    wrappers: tuple[str, ...] = ()


COMPARISONS = {
    "chrf": Comparison("chrf", (
        Library("sacrebleu", "sacrebleu", "CHRF().sentence_score", sacrebleu_chrf, 100),
        Library("nltk", "nltk", "sentence_chrf", nltk_chrf),
        Library("torchmetrics", "torchmetrics", "chrf_score", torchmetrics_chrf)), ("sacrebleu", "sacrebleu[chrfpp]")),
    "bleu": Comparison("bleu", (
        Library("nltk", "nltk", "sentence_bleu", nltk_bleu),
        Library("sacrebleu", "sacrebleu", "sentence_bleu", sacrebleu_bleu, 100),
        Library("torchmetrics", "torchmetrics", "bleu_score", torchmetrics_bleu)), ("sacrebleu[bleu]",)),
    "bleu_sentence": Comparison("bleu_sentence", wrappers=("sacrebleu[bleu]",)),
    "rouge1": Comparison("rouge1", wrappers=("rouge_score[rouge1]",)),
    "rouge2": Comparison("rouge2", wrappers=("rouge_score[rouge2]",)),
    "rouge_l": Comparison("rouge_l", (
        Library("rouge-score", "rouge_score", "RougeScorer(['rougeL'])", google_rouge_l),
        Library("rouge", "rouge", "Rouge().get_scores", rouge_rouge_l)),
        ("rouge_score", "rouge_score[lsum]", "rouge_score[stemmer]")),
    "meteor": Comparison("meteor", (Library("nltk", "nltk", "single_meteor_score", nltk_meteor, needs="wordnet"),),
                         ("nltk_meteor",)),
    "levenshtein": Comparison("levenshtein", (
        Library("rapidfuzz", "rapidfuzz", "Levenshtein.normalized_similarity", rapidfuzz_normalized),
        Library("rapidfuzz", "rapidfuzz", "fuzz.ratio", rapidfuzz_ratio, 100))),
    "bm25": Comparison("bm25_plus", tuple(
        Library("rank-bm25", "rank_bm25", f"{name}.get_scores", rank_bm25(name), None)
        for name in ("BM25Plus", "BM25Okapi", "BM25L")), ("rank_bm25", "rank_bm25[okapi]", "rank_bm25[l]")),
    "bertscore": Comparison("bertscore", wrappers=("bert_score",)),
    "mauve": Comparison("mauve", wrappers=("mauve_text",)),
    "pr": Comparison("pr", wrappers=("prdc", "prdc[precision]", "prdc[recall]")),
    "dc": Comparison("dc", wrappers=("prdc[density_coverage]", "prdc[density]", "prdc[coverage]")),
    "c2st_knn": Comparison("c2st_knn", wrappers=("sklearn_c2st",)),
}
