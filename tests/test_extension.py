"""A task and a metric are one file each: both are added to a copy of the tree and found everywhere."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.paths import PROJECT

pytestmark = pytest.mark.cli

TASK = '''"""A task of a test: is a corpus closer to itself than to another one?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, Presentation, Task, TaskInfo
from tasks.common.base import TaskSettings
from tasks.data.loading import load_corpus


class Settings(TaskSettings):
    """The two sources."""

    pair: tuple[str, str]
    repetitions: int


@dataclass(frozen=True)
class Distances:
    """Distances of a sample to another sample of its source, and to one of the other source."""

    near: float
    far: float
    scale: ScoreScale


class OddOneOut(Task[Distances]):
    """Is a sample closer to its own source than to another one?"""

    name: ClassVar[str] = "odd_one_out"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = Distances
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Odd one out", short="oo", score="share of samples closer to their own source", chance=0.5, worst=0.0,
        unit="repetition", strata=("pair",), observe_version=1, measure_version=1, measures={"margin": "far minus near distance"},
        presentation=Presentation(columns=("margin",), titles={"margin": "Margin of the odd one"}))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.pair)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for repetition in range(settings.repetitions):
            yield self.unit(context, settings.pair, {"repetition": repetition}, settings.pair)

    def samples(self, unit: Unit) -> list[list[str]]:
        rng = np.random.default_rng(unit.seed)
        a, b = (load_corpus(source.name) for source in unit.data)
        first, second = rng.permutation(len(a))[:24].reshape(2, 12)
        return [[a[i] for i in first], [a[i] for i in second], [b[i] for i in rng.permutation(len(b))[:12]]]

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for sample in self.samples(unit) for text in sample)

    def observe(self, unit: Unit, metric: MetricSession) -> Distances:
        near, far = metric.corpus_distances(self.samples(unit), [(0, 1), (0, 2)])
        return Distances(near, far, metric.scale)

    def measure(self, unit: Unit, observation: Distances) -> Measures:
        near, far = observation.scale.as_distance(np.array([observation.near, observation.far])).tolist()
        return Measures(float(near < far), {"margin": far - near})
'''

METRIC = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.touchstone]
# name = "shared_words"
# title = "Shared words"
# summary = "Share of the words of two corpora that occur in only one of them."
# kind = "corpus"
# input = "texts"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://example.org/shared-words"
# authors = ["Lovelace", "Babbage"]
# year = 1843
# license = "Apache-2.0"
# ///


def prepare(corpus):
    return {word for text in corpus for word in text.lower().split()}


def distance(p, q):
    return len(p ^ q) / max(1, len(p | q))
'''

SUITE = '''title = "A suite of a test"
seed = 3
model = "minilm"

[tasks.odd_one_out]
pair = ["made_weather", "made_trains"]
repetitions = 6
'''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with one more task, one more metric, and a store with results of both."""
    folder = tmp_path_factory.mktemp("tree")
    for package in ("harness", "tasks", "submissions", "leaderboard"):
        shutil.copytree(PROJECT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", folder)
    (folder / "tasks" / "corpus" / "odd_one_out.py").write_text(TASK)
    (folder / "submissions" / "shared_words.py").write_text(METRIC)
    (folder / "tasks" / "suites" / "odd.toml").write_text(SUITE)
    touchstone(folder, "run", "shared_words", "random", "energy", "--suite", "odd")
    return folder


def touchstone(folder: Path, *words: str) -> str:
    """Run the command of the copied tree and return what it prints."""
    done = subprocess.run([sys.executable, "-m", "leaderboard", *words], cwd=folder, capture_output=True, text=True, timeout=240,
                          env={**os.environ, "TOUCHSTONE_STORE": str(folder / "s.sqlite"), "PYTHONPATH": str(folder)}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_card_and_export_have_the_task_and_the_metric(tree):
    card = json.loads(touchstone(tree, "card", "shared_words", "--suite", "odd", "--json"))
    assert card["tasks"]["odd_one_out"]["score"]["value"] == 1.0      # two subjects without common content words
    rows = list(csv.DictReader(io.StringIO(touchstone(tree, "export", "--suite", "odd", "--format", "csv"))))
    assert {"shared_words", "energy", "random"} == {row["entry"] for row in rows}
    assert {("odd_one_out", "score"), ("odd_one_out", "margin")} <= {(row["task"], row["measure"]) for row in rows}


def test_the_board_shows_them_with_the_columns_that_the_task_declares(tree, tmp_path):
    touchstone(tree, "site", str(tmp_path / "site"), "--suite", "odd")
    pages = {path.name: path.read_text() for path in (tmp_path / "site").glob("*.html")}
    board = next(text for text in pages.values() if 'class="ranking"' in text)
    for words in ("Odd one out", "Margin of the odd one", "shared_words"):
        assert words in board, words
    page = next(text for name, text in pages.items() if "shared_words" in name)
    assert "Lovelace and Babbage 1843" in page


def test_a_release_of_them_can_be_cited(tree):
    touchstone(tree, "release", "2099.1", "--suite", "odd")
    cited = touchstone(tree, "cite", "shared_words", "--task", "odd_one_out", "--release", "2099.1")
    assert "odd one out score 1.000" in cited.lower()
    assert "shared_words@" in cited
