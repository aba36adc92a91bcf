"""Contrast: measures on answers made for the tests, settings, and on the real data what carries no information about meaning."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from tasks.phenomena.quads import Plan, Texts
from tasks.phenomena.selections import (
    PairSource,
    Quad,
    Request,
    digest_texts,
    generate_quads,
    load_selection,
    read_selection,
    regenerate_quads,
    write_selection,
)
from tasks.registry import TASKS
from tasks.suite_files import load_suite
from tasks.text import contrast
from tasks.text.contrast import RANKED, QuadAnswers, Settings
from tests.support.corpora import Direct
from tests.support.text_answers import SIMILARITY, under, unit

CORE = (PairSource("kjv_asv"), PairSource("sts_benchmark", 4.5))
CONTROLS = ["jaccard", "levenshtein", "length_difference", "constant"]


def answered(rows, phenomena=None, scale: ScoreScale = SIMILARITY) -> QuadAnswers:
    rows = [tuple(map(float, row)) for row in rows]
    return QuadAnswers(tuple(range(len(rows))), tuple(phenomena or ["antonym"] * len(rows)), tuple(rows), scale, ())


def part(count: int, start: int = 0):
    return unit("contrast", start=start, stop=start + count)


def test_comparisons_by_hand():
    p, n, e, f = 0.9, 0.8, 0.7, 0.6
    rows = [(p, n, e, f), (e, f, p, n), (0.5, 0.5, 0.5, 0.5), (f, p, n, e)]
    outcomes = contrast.compare(answered(rows))
    assert outcomes["hard"].tolist() == [1, 0, 0.5, 0]
    assert outcomes["easy"].tolist() == [1, 0, 0.5, 1]
    assert outcomes["joint"].tolist() == [1, 0, 0, 0]
    assert outcomes["score"].tolist() == [1, 0, 0.5, 0.5]
    assert outcomes["far"].tolist() == [1, 0, 0.5, 0]
    assert outcomes["near"].tolist() == [1, 0, 0.5, 1]
    turned = contrast.compare(answered(-np.array(rows), scale=ScoreScale("distance")))
    assert {name: values.tolist() for name, values in turned.items()} == {name: values.tolist() for name, values in outcomes.items()}


def test_differences_below_the_tolerance_are_ties():
    assert contrast.compare(answered([(0.5 + 1e-13, 0.5, 0.5, 0.5)]))["score"].tolist() == [0.5]


def test_phenomena_have_equal_weight_and_tense_none():
    right, wrong = (1, 1, 0, 0), (0, 0, 1, 1)
    observation = answered([right, right, right, wrong, wrong], ["antonym", "antonym", "antonym", "number", "tense"])
    values = under(TASKS["contrast"], [part(5)], [observation])
    assert values["score"] == values["hard"] == 0.5
    assert (values["antonym"], values["number"], values["tense"], values["hard: antonym"]) == (1, 0, 0, 1)
    assert TASKS["contrast"].measure(part(5), observation).score == 0.5


def test_failed_units_count_as_worst_and_unanswered_ones_as_chance():
    right = answered([(1, 1, 0, 0)] * 4)
    assert under(TASKS["contrast"], [part(4), part(4, 4)], [right, None])["score"] == 0.5
    assert under(TASKS["contrast"], [part(4)], [answered([])])["score"] == 0.5
    assert under(TASKS["contrast"], [part(4)], [None])["score"] == 0
    assert TASKS["contrast"].measure(part(4), answered([])).score is None


def test_quads_of_a_source_pair_are_resampled_together():
    observation = QuadAnswers((0, 0, 1), ("antonym", "number", "antonym"), ((1.0, 1, 0, 0), (1.0, 1, 0, 0), (0.0, 0, 1, 1)), SIMILARITY, ())
    counts = np.array([[1, 1], [2, 0], [0, 2]])
    values = TASKS["contrast"].replicates([part(2)], [observation], counts)
    assert values["antonym"].tolist() == [0.5, 1, 0]
    assert values["score"].tolist() == [0.75, 1, 0]


@pytest.mark.parametrize(("settings", "sentence"), [
    ({"phenomena": ("antonyms",)}, 'There is no phenomenon "antonyms". Did you mean "antonym"'),
    ({"selection": "cores", "digest": "0"}, 'There is no selection of quads "cores". Did you mean "core"'),
])
def test_wrong_settings(settings, sentence, context):
    with pytest.raises(TouchstoneError, match=sentence):
        list(TASKS["contrast"].units(Settings.model_validate({"sources": ({"name": "made_paraphrases"},), **settings}), context))


@pytest.mark.parametrize("wrong", [{"selection": "core"}, {"least": 20, "largest": 10}])
def test_settings_that_contradict_each_other(wrong, tmp_path):
    (tmp_path / "x.toml").write_text('title = "x"\nseed = 1\nmodel = "minilm"\n[tasks.contrast]\nsources = [{ name = "made_paraphrases" }]\n'
                                     + "".join(f"{name} = {value!r}\n" for name, value in wrong.items()))
    with pytest.raises(TouchstoneError, match=r"x.toml: tasks.contrast"):
        load_suite(str(tmp_path / "x.toml"))


def request(name: str, least: float | None = None) -> Request:
    return Request((PairSource(name, least),), "public", RANKED, 200, 300, 8)


@pytest.mark.parametrize(("source", "sentence"), [
    (request("made_paraphrases"), 'Contrast needs 200 quads for each of 8 phenomena; "made_paraphrases" give that many for 0'),
    (request("made_weather"), 'The dataset "made_weather" has the kind corpus; contrast needs pairs'),
    (request("made_paraphrases", 4.0), 'The pairs of "made_paraphrases" have no scores'),
])
def test_sources_that_do_not_fit(source, sentence):
    with pytest.raises(TouchstoneError, match=sentence):
        generate_quads(source)


def test_another_language_gives_too_few_quads(monkeypatch):
    german = {row: (f"Der König gab dem Hauptmann {row} Pferde und ging fort.", f"Der Hauptmann erhielt vom König dann {row} Pferde.") for row in range(50)}
    monkeypatch.setattr("tasks.phenomena.selections.read_pairs", lambda source: german)
    with pytest.raises(TouchstoneError, match="Name a larger source of English paraphrases"):
        generate_quads(request("made_paraphrases"))


def test_units_are_planned_without_the_data(monkeypatch):
    monkeypatch.setattr("tasks.phenomena.selections.load_dataset", lambda name: pytest.fail("read"))
    context = Context(1, None, {"kjv_asv": "a", "sts_benchmark": "b"})
    sources = ({"name": "kjv_asv"}, {"name": "sts_benchmark", "least": 4.5})
    checked_in = list(TASKS["contrast"].units(Settings.model_validate({"sources": sources, "selection": "core", "digest": "0"}), context))
    pairs = {(source, row) for source, row, _, _ in read_selection("core")}
    assert checked_in[-1].parameters["stop"] == len(pairs)
    generated = list(TASKS["contrast"].units(Settings.model_validate({"sources": sources, "largest": 200, "batch": 100}), context))
    assert len(generated) == 2 * len(contrast.PHENOMENA)


def test_a_selection_is_written_without_texts(tmp_path, monkeypatch):
    quads = [Quad("kjv_asv", 7, "number", Plan(1, 2, 3, 4, 5), Texts("secret", "secret", "secret", "secret", "secret"))]
    monkeypatch.setattr("tasks.phenomena.selections.FOLDER", tmp_path)
    write_selection(tmp_path / "mine.csv", quads)
    assert "secret" not in (tmp_path / "mine.csv").read_text()
    assert read_selection("mine") == (("kjv_asv", 7, "number", Plan(1, 2, 3, 4, 5)),)


@pytest.fixture(scope="module")
def quads():
    return regenerate_quads("core", CORE, "public")


@pytest.mark.network
def test_the_selection_of_core_has_enough_quads_of_every_phenomenon(quads):
    counts = {phenomenon: sum(quad.phenomenon == phenomenon for quad in quads) for phenomenon in contrast.PHENOMENA}
    assert min(counts.values()) >= 200
    assert len({(quad.source, quad.row, quad.phenomenon) for quad in quads}) == len(quads)
    assert load_selection("core", CORE, "public", digest_texts(quads)) == quads
    with pytest.raises(TouchstoneError, match="make a new"):
        load_selection("core", CORE, "private", digest_texts(quads))


def score_with(similarity, quads) -> np.ndarray:
    """The score of each quad by a function of two lists of texts."""
    anchors = [quad.texts.anchor for quad in quads for _ in range(4)]
    others = [text for quad in quads for text in quad.texts[1:]]
    rows = np.asarray(similarity(anchors, others), dtype=float).reshape(-1, 4)
    return contrast.compare(answered(rows, [quad.phenomenon for quad in quads]))["score"]


@pytest.mark.network
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("control", CONTROLS)
def test_overlap_and_length_score_one_half_in_every_quad(control, sign, quads):
    similarity = Direct(control).functions["similarity"]
    assert set(score_with(lambda a, b: sign * np.asarray(similarity(a, b)), quads)) == {0.5}


@pytest.mark.network
def test_random_answers_score_one_half_on_average(quads):
    scores = score_with(lambda a, b: np.random.default_rng(1).random(len(a)), quads)
    assert scores.mean() == pytest.approx(0.5, abs=3 * scores.std() / np.sqrt(len(scores)))


@pytest.mark.network
@pytest.mark.parametrize("target", np.arange(0.5, 1, 0.05).round(2))
def test_distance_from_a_given_overlap_tells_nothing(target, quads):
    similarity = Direct("jaccard").functions["similarity"]
    assert score_with(lambda a, b: -np.abs(np.asarray(similarity(a, b)) - target), quads).mean() <= 0.52
