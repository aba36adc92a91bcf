"""The axes and the admission rule of a suite file: what they mean, and what is refused."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from harness.evaluation.suite import OVERALL, AxisPart
from tasks.suite_files import FOLDER, load_suite

MEANING = '[[axes]]\nname = "meaning"\ntitle = "Meaning"\ntrack = "text"\nparts = [{ task = "human_ordering", scale = 0.125 }]\n'


def suite_with(text: str, tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text((FOLDER / "smoke.toml").read_text() + text)
    return load_suite(str(path))


def test_without_axes_all_tasks_of_a_track_count_equally(smoke):
    assert [(axis.name, axis.track) for axis in smoke.axes] == [(OVERALL, "corpus"), (OVERALL, "text")]
    assert smoke.axis("corpus").parts == tuple(AxisPart(name) for name in ("known_similarity", "diagnostics", "fine_tuning"))
    assert all(smoke.is_ranked(task) == task.info.ranked for task in smoke.tasks)


def test_a_declared_axis_is_what_its_track_is_ranked_by(smoke, tmp_path):
    suite = suite_with(MEANING + 'description = "Whether."\n', tmp_path)
    assert suite.axis("text").parts == (AxisPart("human_ordering", 0.125),)
    assert [task.name for task in suite.tasks if task.info.track == "text" and suite.is_ranked(task)] == ["human_ordering"]
    assert suite.axis("corpus") == smoke.axis("corpus")
    assert suite.tracks == smoke.tracks
    assert [task_unit.unit.id for task_unit in suite.task_units] == [task_unit.unit.id for task_unit in smoke.task_units]


def test_axes_and_their_constants_are_part_of_the_fingerprint(smoke, tmp_path):
    fingerprints = {smoke.fingerprint, suite_with(MEANING, tmp_path).fingerprint,
                    suite_with(MEANING.replace("0.125", "0.126"), tmp_path).fingerprint}
    assert len(fingerprints) == 3
    described = MEANING.replace('title = "Meaning"', 'title = "Sense"')
    assert suite_with(described, tmp_path).fingerprint == suite_with(MEANING, tmp_path).fingerprint


EDITS = '[[axes]]\nname = "edits"\ntitle = "Edits"\ntrack = "text"\nparts = [{ task = "sensitivity", measure = "edits" }]\n'


@pytest.mark.parametrize(("text", "message"), [
    (MEANING.replace("human_ordering", "robustness"), 'the axis "meaning" of text metrics contains robustness, which may not be ranked: '
                                                      "a baseline that compares only lengths"),
    (MEANING.replace("human_ordering", "axioms"), "contains axioms, which is a task of corpus metrics"),
    (MEANING.replace("human_ordering", "human_odering"), "not among the tasks of the suite. Did you mean"),
    (MEANING.replace('"text"', '"corpus"').replace("human_ordering", "timing"), "contains timing, a property without a ranked score"),
    (MEANING.replace("0.125", "0.0"), "axes.0.parts.0.scale: input should be greater than 0"),
    (MEANING + MEANING, "is declared twice"),
    (MEANING.replace('"meaning"', '"Meaning of texts"'), "axes.0.name"),
    (EDITS, "the first axis of a track contains scores only"),
    (MEANING + EDITS.replace('measure = "edits"', 'measure = "quadratic"'), "other axes only these of its measures: usmb, edits"),
    ('[admission]\nscore = 0.1\n', "admission.controls: field required"),
])
def test_bad_axes_are_refused_in_one_sentence(text, message, tmp_path):
    with pytest.raises(TouchstoneError) as refused:
        suite_with(text, tmp_path)
    assert message in str(refused.value)
    assert str(refused.value).startswith("suite.toml: ")
    assert "\n" not in str(refused.value)


def test_unknown_axes_are_refused(smoke):
    with pytest.raises(TouchstoneError, match='no axis "usmb" of text metrics'):
        smoke.axis("text", "usmb")


def test_the_admission_rule_has_defaults(tmp_path):
    rule = suite_with('[admission.controls]\ntext = ["random"]\n', tmp_path).admission
    assert (rule.controls, rule.score, rule.weights) == ({"text": ("random",)}, 0.10, (0.5, 1.5))


RATED = "text_a,text_b,score\n" + "".join(f"the {n} cats sat,the {n} dogs sat {'x ' * (n % 5)},{n % 5}\n" for n in range(40))


def test_tasks_on_other_datasets(tmp_path):
    (tmp_path / "rated.csv").write_text(RATED)
    suite = load_suite("smoke", datasets={"human_ordering": [str(tmp_path / "rated.csv")], "known_similarity": ["made_kitchen", "made_trains"]})
    assert suite.name == "smoke+data"
    assert [task.name for task in suite.tasks] == ["human_ordering", "known_similarity"]
    used = {source.name for task_unit in suite.task_units for source in task_unit.unit.data}
    assert used == {str(tmp_path / "rated.csv"), "made_kitchen", "made_trains"}
    assert all(task_unit.unit.id not in {other.unit.id for other in load_suite("smoke").task_units} for task_unit in suite.task_units)


def test_other_datasets_are_not_balanced_and_not_counted_twice(tmp_path):
    for name in ("rated.csv", "copy.csv"):
        (tmp_path / name).write_text(RATED)
    suite = load_suite("core", datasets={"human_ordering": [str(tmp_path / "rated.csv")]})
    assert sum(unit.parameters["stop"] - unit.parameters["start"] for unit in suite.units(suite.tasks[0])) == 40       # all rows of RATED
    with pytest.raises(TouchstoneError, match=r"copy\.csv has the same content as .*rated\.csv; name one of them"):
        load_suite("core", datasets={"human_ordering": [str(tmp_path / "rated.csv"), str(tmp_path / "copy.csv")]})


def test_settings_that_belong_to_the_datasets_are_left_out():
    clustering = load_suite("core", datasets={"clustering": ["bbc_titles"]})
    assert len(clustering.task_units) == 8                              # `samples` in core.toml, and not `more_samples`
    contrast = load_suite("core", datasets={"contrast": ["made_paraphrases"]})
    assert not any("selection" in task_unit.unit.parameters for task_unit in contrast.task_units)


@pytest.mark.parametrize(("datasets", "message"), [
    ({"human_odering": ["made_likeness"]}, 'no task "human_odering". Did you mean "human_ordering"?'),
    ({"known_similarity": ["made_kitchen"]}, "The task known_similarity cannot use made_kitchen: it compares pairs of corpora"),
    ({"diagnostics": ["made_kitchen"]}, "its datasets differ in their roles; name them in a suite file"),
    ({"human_ordering": ["made_kitchen"]}, "made_kitchen"),
    ({"human_ordering": ["absent.csv"]}, "/absent.csv.")])
def test_other_datasets_that_cannot_be_used(datasets, message):
    with pytest.raises(TouchstoneError) as refusal:
        load_suite("smoke", datasets=datasets)
    assert message in str(refusal.value)
