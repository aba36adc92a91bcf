"""The public API: every exported name exists, and the notebook of the documentation runs."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

from harness import Limits, Store, TouchstoneError, open_metric, run_suite
from harness.base.paths import PROJECT
from leaderboard import build_ensemble, check, cite, compare, load_release, rank, score
from tasks.suite_files import load_suite

JACCARD = "submissions/jaccard.py"


@pytest.mark.parametrize("package", ["harness", "leaderboard", "tasks"])
def test_every_exported_name_exists_and_is_documented(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{package}.{name}"
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


def test_a_text_metric_is_opened_by_name_and_by_path():
    first, second = ["the train is late", "the train is late"], ["the train was late", "stir the lentils"]
    with open_metric("jaccard") as by_name, open_metric(PROJECT / JACCARD) as by_path:
        scores = by_name.pair_scores(first, second)
        assert scores == pytest.approx([3 / 5, 1 / 6])           # shared words over all words, by hand
        assert by_path.pair_scores(first, second) == pytest.approx(scores)
        np.testing.assert_allclose(by_name.score_matrix(first[:1], second), [scores])
        assert by_name.scale.returns == "similarity"


def test_vectors_are_those_of_the_named_model():
    from sentence_transformers import SentenceTransformer

    from harness.models.registry import MODELS

    texts = ["it rained all day", "rain fell from morning to night"]
    a, b = SentenceTransformer(str(MODELS["minilm"].path()), device="cpu").encode(texts)
    with open_metric("cosine") as metric:
        assert metric.pair_scores(texts[:1], texts[1:])[0] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)


def test_a_corpus_metric_returns_distances_and_no_pair_scores():
    with open_metric("energy") as metric:
        near = metric.corpus_distance(["a red fox", "a grey fox"], ["a brown fox", "an old fox"])
        far = metric.corpus_distance(["a red fox", "a grey fox"], ["the bank raised its rates", "prices fell again"])
        assert 0 < near < far
        with pytest.raises(TouchstoneError, match="is a corpus metric"):
            metric.pair_scores(["a"], ["b"])
        with pytest.raises(TouchstoneError, match="sequences of texts, not strings"):
            metric.corpus_distance("a text", ["another"])


def test_what_fails_is_one_sentence(write):
    path = write("broken", "def similarity(a, b): raise ValueError('no luck')", kind="text", returns="similarity", range="[0.0, 1.0]")
    with open_metric(path) as metric, pytest.raises(TouchstoneError, match=r"^broken failed: raised ValueError: no luck"):
        metric.pair_scores(["a"], ["b"])
    with open_metric("jaccard") as metric, pytest.raises(TouchstoneError, match="two sequences of equal length; they have 1 and 2 texts"):
        metric.pair_scores(["a"], ["b", "c"])
    with pytest.raises(TouchstoneError, match='Did you mean "jaccard"'), open_metric("jacard"):
        pass


def test_run_score_rank_compare_and_combine(tmp_path):
    suite, path = load_suite("smoke"), tmp_path / "results.sqlite"
    summary = run_suite(["jaccard", "levenshtein", PROJECT / "submissions/constant.py"], suite, path, only=["alignment", "axioms"],
                        limits=Limits(seconds_per_unit=60), jobs=2)
    assert summary.planned == summary.done > 0
    assert not summary.failures
    assert run_suite(["jaccard"], suite, path, only=["alignment"]).planned == 0
    scored = {entry.name: entry for entry in score(path, suite)}
    assert {"jaccard", "levenshtein", "constant"} <= set(scored)
    table = rank(Store(path, read_only=True), suite)["text"].to_frame().set_index("name")
    assert table.loc["jaccard", "alignment"] == pytest.approx(scored["jaccard"].tasks["alignment"].score.value)
    assert table["rank"].isna().all()                            # only one of the text track's tasks was run
    both = compare(path, suite, "jaccard", "levenshtein").set_index("task")
    assert both.loc["alignment", "difference"] == pytest.approx(
        table.loc["jaccard", "alignment"] - table.loc["levenshtein", "alignment"])
    with pytest.raises(TouchstoneError, match='Did you mean "jaccard"'):
        compare(path, suite, "jacard", "levenshtein")
    report = build_ensemble(path, suite, ["jaccard", "levenshtein"], task="comparisons", splits=3)
    assert set(report.tasks["comparisons"].ensemble.weights) == {"jaccard", "levenshtein"}
    with pytest.raises(TouchstoneError, match="two or more metrics"):
        build_ensemble(path, suite, ["jaccard"])


def test_a_submission_is_checked(write):
    report, = check(write("unsteady", "import random\ndef distance(p, q): return random.random() if p != q else 0.0"), load_suite("smoke"))
    assert report.entry.name == "unsteady"
    assert report.axioms is not None


def test_a_release_is_loaded_and_cited():
    release = load_release("2026.2")
    assert load_release().name >= release.name
    entry = next(entry for entry in release.report.entries if entry.name == "fid")
    score_of_fid = entry.tasks["known_similarity"].score
    assert f"{score_of_fid.value:.3f}" in cite(release, "fid", "known_similarity")
    assert cite(release, "fid", "known_similarity", "bibtex").startswith("@misc{")
    with pytest.raises(TouchstoneError, match="There is no release"):
        load_release("1999.1")


@pytest.mark.parametrize(("name", "last"), [("quickstart.ipynb", "ranking"), ("choose.ipynb", "measurement")])
def test_the_notebooks_of_the_documentation_run(tmp_path, monkeypatch, name, last):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((PROJECT / "docs" / name).read_text())
    namespace: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), namespace)  # a file of this project
    assert last in namespace
