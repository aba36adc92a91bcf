"""Clustering (USMB): do similarities group texts by their labels?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, SHARE, Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.sampling import sample_labelled
from tasks.text.base import CONTEXT_BOUNDS, CONTEXT_MEASURES, USMB, USMB_MEANING, TextTask, score_all_pairs, usmb_presentation

Linkage = Literal["average", "complete", "ward"]
LINKAGES: tuple[Linkage, ...] = ("average", "complete", "ward")


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]          # labelled ones, or corpora to be separated: "a + b"
    texts: Annotated[int, Field(ge=4, le=500)]                         # per sample
    samples: Annotated[int, Field(ge=1, le=100)]                       # disjoint samples per dataset
    more_samples: Annotated[dict[str, int], Field(default_factory=dict)]        # of larger datasets, instead
    of_a_label: Annotated[int, Field(ge=2, le=100)] = 25               # minimum per label

    @classmethod
    def replace_datasets(cls, table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        return {**super().replace_datasets(table, names), "more_samples": {}}


@dataclass(frozen=True)
class ScoreMatrix:
    """The raw answers for every text of a sample with every other, and their labels."""

    answers: np.ndarray                     # texts x texts
    labels: tuple[int, ...]
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Clustering(TextTask[ScoreMatrix]):
    """Do similarities group texts by their labels?"""

    name: ClassVar[str] = "clustering"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = ScoreMatrix
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Clustering", short="clu", score="adjusted mutual information of the labels and clusters by average linkage",
        chance=0.0, worst=0.0, unit="text sample", strata=("dataset",), observe_version=1, measure_version=2, track="text",
        measures={
            USMB: f"{USMB_MEANING}: V-measure of Ward's linkage on the rows of similarities",
            "v_measure": "V-measure of average linkage; not corrected for chance",
            "v_measure_of_chance": "V-measure of random labels of the same sizes",
            "complete": "adjusted mutual information of complete linkage",
            "ward": "adjusted mutual information of Ward's linkage on the rows",
            "labels": "number of labels of the samples",
            **CONTEXT_MEASURES,
        },
        bounds={**dict.fromkeys(("score", "complete", "ward"), CORRELATION),
                **dict.fromkeys((USMB, "v_measure", "v_measure_of_chance"), SHARE), **CONTEXT_BOUNDS}, axis_measures=(USMB,),
        presentation=usmb_presentation(
            "posts on two subjects: those on one subject should be more similar to each other than to the others."))

    def datasets(self, settings: Settings) -> set[str]:
        return {part for name in settings.datasets for part in name.split(" + ")}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name in settings.more_samples:
            if name not in settings.datasets:
                raise TouchstoneError(f'tasks.clustering.more_samples names "{name}", which is not among the datasets: '
                                      f"{', '.join(settings.datasets)}.")
        for name in settings.datasets:
            for sample in range(settings.more_samples.get(name, settings.samples)):
                yield self.unit(context, (name,), {"dataset": name, "sample": context.seed, "part": sample,
                                                   "texts": settings.texts, "of_a_label": settings.of_a_label}, name.split(" + "))

    def texts(self, unit: Unit) -> Iterable[str]:
        return [text for text, _ in sample_texts(unit)]

    def observe(self, unit: Unit, metric: MetricSession) -> ScoreMatrix:
        labelled = sample_texts(unit)
        texts = [text for text, _ in labelled]
        answers, rechecked = score_all_pairs(metric, texts, texts, texts)
        numbers = {label: number for number, label in enumerate(dict.fromkeys(label for _, label in labelled))}
        labels = tuple(numbers[label] for _, label in labelled)
        return ScoreMatrix(answers, labels, ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: ScoreMatrix) -> Measures:
        from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

        labels = np.array(observation.labels)
        by_chance = np.random.default_rng(unit.seed).permutation(labels)
        values: dict[str, float | None] = {"v_measure_of_chance": float(v_measure_score(labels, by_chance)),
                                           "labels": float(len(set(observation.labels)))}
        values |= context_measures(observation.rechecked, observation.answers.ravel())
        similarity = symmetrize(observation)
        marks = context_marks(observation.rechecked)
        if np.ptp(similarity[~np.eye(len(labels), dtype=bool)]) == 0:       # a constant metric has no clusters
            return Measures(None, values, marks)
        predictions = {linkage: cluster_texts(similarity, linkage, len(set(observation.labels))) for linkage in LINKAGES}
        information = {linkage: float(adjusted_mutual_info_score(labels, predicted))
                       for linkage, predicted in predictions.items()}
        values |= {USMB: float(v_measure_score(labels, predictions["ward"])), "complete": information["complete"],
                   "v_measure": float(v_measure_score(labels, predictions["average"])), "ward": information["ward"]}
        return Measures(information["average"], values, marks)


def sample_texts(unit: Unit) -> list[tuple[str, str]]:
    """Return the texts and labels of a unit; the samples of a dataset are disjoint."""
    p = unit.parameters
    return draw_samples(p["dataset"], p["sample"], p["part"] + 1, p["texts"], p["of_a_label"])[-1]


@lru_cache(maxsize=64)
def draw_samples(name: str, seed: int, count: int, texts: int, of_a_label: int) -> list[list[tuple[str, str]]]:
    """Return disjoint samples: as many labels as fit, `of_a_label` texts of each, and then random texts of these labels."""
    remaining_by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in sample_labelled(name, seed):
        remaining_by_label[label].append(text)
    parts = []
    for part in range(count):
        rng = np.random.default_rng(seed_of(seed, name, part))
        large = [label for label in sorted(remaining_by_label) if len(remaining_by_label[label]) >= of_a_label]
        if len(large) < 2:
            raise TouchstoneError(f'Clustering needs two labels with {of_a_label} texts each; "{name}" has {len(large)} such '
                                  f"labels left for sample {part + 1}. Choose fewer samples, or fewer texts per label.")
        labels = [large[index] for index in rng.permutation(len(large))[:texts // of_a_label]]
        chosen = [(text, label) for label in labels for text in remaining_by_label[label][:of_a_label]]
        rest = [(text, label) for label in labels for text in remaining_by_label[label][of_a_label:]]
        chosen += [rest[index] for index in rng.permutation(len(rest))[:texts - len(chosen)]]
        taken = set(chosen)
        remaining_by_label = {label: [text for text in remaining if (text, label) not in taken]
                              for label, remaining in remaining_by_label.items()}
        parts.append([chosen[index] for index in rng.permutation(len(chosen))])
    return parts


def symmetrize(observation: ScoreMatrix) -> np.ndarray:
    """Return the mean similarity of both directions in [0, 1], with 1 on the diagonal."""
    raw = observation.answers.astype(float)
    similarity: np.ndarray = observation.scale.to_unit_interval(raw, np.diag(raw)[:, None])
    similarity = np.asarray((similarity + similarity.T) / 2)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def cluster_texts(similarity: np.ndarray, linkage: Linkage, count: int) -> np.ndarray:
    """Return agglomerative clusters, as many as there are labels, of 1 - similarity; for Ward, of the rows of similarities."""
    from scipy.cluster.hierarchy import linkage as agglomerate
    from scipy.spatial.distance import squareform

    if linkage == "ward":
        merges = agglomerate(similarity, "ward")
    else:
        merges = agglomerate(squareform(1 - similarity, checks=False), linkage)
    members = {row: [row] for row in range(len(similarity))}
    for number, (a, b) in enumerate(merges[:len(similarity) - count, :2].astype(int)):
        members[len(similarity) + number] = members.pop(a) + members.pop(b)
    labels = np.empty(len(similarity), dtype=int)
    for number, rows in enumerate(members.values()):
        labels[rows] = number
    return labels
