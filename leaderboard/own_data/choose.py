"""Recommend a metric for the data of a user: what `touchstone choose`, the board and `leaderboard.choose` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress, Progress
from harness.evaluation.open_metric import SUITE_MODEL
from leaderboard.own_data.answers import select_candidates
from leaderboard.own_data.corpora import CorpusChoice, choose_by_corpora, report_on_corpora
from leaderboard.own_data.measure import read_texts
from leaderboard.own_data.pairs.choice import PairChoice, choose_by_pairs
from leaderboard.own_data.pairs.data import read_judged_pairs
from leaderboard.own_data.pairs.report import report_on_pairs
from leaderboard.own_data.pairs.usage import write_usage
from leaderboard.own_data.report import Report
from leaderboard.own_data.texts import TextChoice, choose_by_texts, report_on_texts


@dataclass(frozen=True)
class Choice:
    """A recommendation: the results in detail, and the report on them.

    `details.rows` are the results of the metrics, the best first; `report.to_html()` is a page.
    """

    details: PairChoice | CorpusChoice | TextChoice
    report: Report
    model: str = SUITE_MODEL

    @property
    def names(self) -> list[str]:
        """The names of the metrics, the best first."""
        return [row.name for row in self.details.rows]

    @property
    def recommended(self) -> str | None:
        """The metric to use, or several joined by " + "; None if none could be run."""
        return self.details.recommended if isinstance(self.details, PairChoice) else next(iter(self.names), None)

    def write_python(self, path: str | Path) -> list[Path]:
        """Write a Python file that computes the recommended similarity without Touchstone; return the files written."""
        if not isinstance(self.details, PairChoice):
            raise TouchstoneError("A Python file needs judged pairs: without judgements there is no threshold and no single best "
                                  "metric.")
        return write_usage(self.details, Path(path), self.model)


def choose(*, pairs: str | Path | None = None, corpora: Sequence[str | Path] | None = None, like: str | Path | None = None,
           texts: str | Path | None = None, metrics: Sequence[str | Path] = (), columns: Mapping[str, str] | None = None,
           positive: str | None = None, combine: bool = True, similar_from: float | None = None, model: str = SUITE_MODEL,
           jobs: int | None = None, progress: Progress | None = None) -> Choice:
    """Return which metric to use for your texts.  Give exactly one of `pairs`, `corpora` and `texts`.

    Args:
        pairs: Rated or labelled pairs of texts: a file, or the name of a dataset.
        corpora: Two corpora: files, folders or datasets.
        like: With `corpora`: a third corpus; the report says which of the two is nearer to it.
        texts: English texts without judgements: a file, a folder or a dataset.
        metrics: Names of metrics or paths of submissions to choose among; "+NAME" adds one to the default selection.
        columns: Columns of the pairs by role, such as `{"text_a": "question"}`, where they are not recognized.
        positive: The label of similar pairs.
        combine: Whether to consider means of several metrics, for pairs.
        similar_from: The lowest rating of a similar pair, for thresholds; default: the middle of the scale.
        model: Embedding model of metrics that take vectors.
        jobs: Number of metrics that run at the same time.
        progress: Receives progress.

    Examples:
        >>> choose(pairs="rated.csv").recommended
        'cosine'
    """
    if sum(source is not None for source in (pairs, corpora, texts)) != 1:
        raise TouchstoneError("Give exactly one of --pairs FILE, --corpora A B and --texts FILE.")
    if like is not None and corpora is None:
        raise TouchstoneError("--like needs --corpora.")
    progress, named = progress or NoProgress(), list(map(str, metrics))
    if pairs is not None:
        judged = read_judged_pairs(str(pairs), columns, positive)
        by_pairs = choose_by_pairs(judged, select_candidates("text", named, progress), progress, model=model, jobs=jobs,
                                   combine=combine, similar_from=similar_from)
        return Choice(by_pairs, report_on_pairs(by_pairs), model)
    if corpora is not None:
        sources = [*map(str, corpora), *([] if like is None else [str(like)])]
        if len(corpora) != 2:
            raise TouchstoneError(f"Two corpora are required; {len(corpora)} are named.")
        a, b, *rest = (read_texts(source) for source in sources)
        by_corpora = choose_by_corpora([a, b], sources, select_candidates("corpus", named, progress), progress,
                                       like=rest[0] if rest else None, model=model, jobs=jobs)
        return Choice(by_corpora, report_on_corpora(by_corpora), model)
    read = read_texts(str(texts))
    by_texts = choose_by_texts(read, str(texts), select_candidates("text", named, progress), progress, model=model, jobs=jobs)
    return Choice(by_texts, report_on_texts(by_texts), model)
