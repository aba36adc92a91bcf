"""Recipes, secrets and commitments: what determines a draw, and what is refused."""

from __future__ import annotations

import hashlib

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from leaderboard.service.epochs.draws import (
    SECRET_VARIABLE,
    commitment_of,
    create_secret,
    derive_suite,
    digest_items,
    parse_recipe,
    read_recipe,
    read_secret,
    rename,
    seed_of_epoch,
    sources_of,
)
from leaderboard.service.epochs.remainders import public_texts, remove_texts
from tasks.data.loading import add_dataset, load_dataset, remove_dataset
from tasks.suite_files import load_suite, read_settings, read_suite_file
from tests.support.epochs import write_rated_pairs

RECIPE = 'name = "2031Q1"\nsuite = "smoke"\nexpires = 2031-06-30\n'
SECRET, OTHER = b"s" * 32, b"t" * 32


def test_the_secret_and_the_recipe_determine_the_draw():
    first, again, other = (derive_suite(RECIPE, secret) for secret in (SECRET, SECRET, OTHER))
    changed = derive_suite(RECIPE + "# changed\n", SECRET)
    assert first.fingerprint == again.fingerprint
    assert len({first.fingerprint, other.fingerprint, changed.fingerprint, load_suite("smoke").fingerprint}) == 4
    assert digest_items(first) == digest_items(again)
    assert digest_items(first).keys() == {task.name for task in first.tasks}
    assert not digest_items(first).items() & digest_items(other).items()
    public = load_suite("smoke")
    assert [task.name for task in first.tasks] == [task.name for task in public.tasks if public.is_ranked(task)]
    assert first.axes == public.axes


def test_a_seed_is_hmac_sha256():
    """HMAC computed from its definition in RFC 2104."""
    block, message = SECRET.ljust(64, b"\0"), b"touchstone epoch seed\n" + RECIPE.encode()
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
    assert seed_of_epoch(SECRET, RECIPE) == int.from_bytes(outer[:8], "big") // 4 < 2 ** 62


def test_the_commitment_is_a_hash_of_the_parts():
    sources = sources_of(load_suite("smoke"), derive_suite(RECIPE, SECRET))
    assert commitment_of(SECRET, RECIPE, sources) == hashlib.sha256(SECRET + RECIPE.encode() + sources.encode()).hexdigest()
    assert "\n" not in sources
    assert load_dataset("made_weather").fingerprint in sources


@pytest.mark.parametrize(("line", "sentence"), [
    ('leave_out = ["clusterin"]', 'Did you mean "clustering"?'), ('disjoint = ["axioms"]', "not a ranked task of smoke"), ("[tasks.nothing]", '`tasks` of the recipe names "nothing"'),
    ("[tasks.clustering]\ndatasets = [\"nothing\"]\ntexts = 30\nsamples = 2", 'There is no dataset "nothing"'), ("[tasks.clustering]\ntexts = 3", "tasks.clustering.datasets")])
def test_recipes_that_cannot_be_drawn(line, sentence):
    with pytest.raises(TouchstoneError) as error:
        derive_suite(f"{RECIPE}{line}\n", SECRET)
    assert sentence in str(error.value)


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "name: field required"), ("name = ", "is not TOML"), (RECIPE.replace("2031Q1", "../x"), "name: string should match"),
    (RECIPE + "secret = 1\n", "secret: extra inputs"), (RECIPE.replace("2031-06-30", '"soon"'), "expires: ")])
def test_files_that_are_no_recipes(tmp_path, text, sentence):
    (tmp_path / "recipe.toml").write_text(text)
    with pytest.raises(TouchstoneError) as error:
        read_recipe(tmp_path / "recipe.toml")
    assert sentence in str(error.value)
    with pytest.raises(TouchstoneError, match="cannot be read as a recipe"):
        read_recipe(tmp_path)


def test_a_recipe_that_leaves_out_everything():
    names = ", ".join(f'"{task.name}"' for task in load_suite("smoke").tasks if load_suite("smoke").is_ranked(task))
    with pytest.raises(TouchstoneError, match="leaves out all ranked tasks"):
        derive_suite(f"{RECIPE}leave_out = [{names}]\n", SECRET)


def test_secrets(tmp_path, monkeypatch):
    secret = create_secret(tmp_path / "secret")
    assert len(secret) == 32
    assert read_secret(tmp_path / "secret") == secret
    with pytest.raises(TouchstoneError, match="exists; each epoch needs a new secret"):
        create_secret(tmp_path / "secret")
    (tmp_path / "secret").chmod(0o640)
    with pytest.raises(TouchstoneError, match="can be read by others"):
        read_secret(tmp_path / "secret")
    with pytest.raises(TouchstoneError, match="cannot be read as the secret"):
        read_secret(tmp_path / "absent")
    monkeypatch.delenv(SECRET_VARIABLE, raising=False)
    with pytest.raises(TouchstoneError, match="The secret of the epoch is needed"):
        read_secret(None)
    monkeypatch.setenv(SECRET_VARIABLE, secret.hex())
    assert read_secret(None) == secret
    with pytest.raises(TouchstoneError, match="is needed"):         # it was removed, so that no child process inherits it
        read_secret(None)


def test_disjoint_draws_share_no_text_with_the_public_one():
    drawn = derive_suite(RECIPE + 'disjoint = ["clustering"]\n[tasks.clustering]\ndatasets = ["made_weather + made_kitchen + made_trains"]\n'
                         "texts = 30\nsamples = 2\nof_a_label = 5\n", SECRET)
    public, task = load_suite("smoke"), next(task for task in drawn.tasks if task.name == "clustering")
    texts = [{text for unit in suite.units(task) for text in task.texts(unit)} for suite in (public, drawn)]
    assert all(texts)
    assert not texts[0] & texts[1]
    assert texts[0] == public_texts("made_weather", "clustering", "smoke")
    rest = load_dataset(next(source.name for unit in drawn.units(task) for source in unit.data if source.name.startswith("made_weather")))
    assert len(rest.rows) == len(load_dataset("made_weather").rows) - sum(load_dataset("made_weather").rows.text.isin(texts[0]))


def test_a_dataset_that_the_public_draw_uses_up():
    with pytest.raises(TouchstoneError, match='The public draw of human_ordering uses all texts of "made_likeness"'):
        derive_suite(RECIPE.replace("smoke", "smoke") + 'disjoint = ["human_ordering"]\n', SECRET)


def test_removing_texts_of_a_collection():
    tables = {"corpus": pd.DataFrame({"doc_id": ["1", "2", "3"], "title": ["A", None, "C"], "text": ["a", "b", "c"]}),
              "queries": pd.DataFrame({"query_id": ["x", "y"], "text": ["which a?", "which c?"]}),
              "qrels": pd.DataFrame({"query_id": ["x", "y", "y"], "doc_id": ["1", "3", "2"], "relevance": [1, 1, 1]})}
    left = remove_texts(tables, frozenset({"A\na", "which a?", "b"}))
    assert left["corpus"].doc_id.tolist() == ["3"]
    assert left["queries"].query_id.tolist() == ["y"]
    assert left["qrels"].values.tolist() == [["y", "3", 1]]


def test_names_of_datasets_are_replaced_wherever_they_are():
    names = {"a": "a rest", "b": "b rest"}
    table = {"datasets": ["a + b", "c"], "more": {"a + b": 3}, "pairs": [["a", 5]], "n": 3, "sources": [{"name": "b"}], "ab": "ab"}
    assert rename(table, names) == {"datasets": ["a rest + b rest", "c"], "more": {"a rest + b rest": 3}, "pairs": [["a rest", 5]], "n": 3,
                                    "sources": [{"name": "b rest"}], "ab": "ab"}


def test_the_recipe_for_core_is_valid():
    """Deriving its draw needs the datasets; here its tables are those of tasks of the suite, with settings that these accept."""
    recipe = parse_recipe(read_recipe(PROJECT / "deploy" / "epoch.toml"))
    assert {*recipe.tasks, *recipe.disjoint} <= read_suite_file(recipe.suite).tasks.keys()
    for name, table in recipe.tasks.items():
        assert read_settings(name, table) != read_settings(name, read_suite_file(recipe.suite).tasks[name])


def test_held_out_sources(tmp_path):
    write_rated_pairs(tmp_path / "held_out.csv", 60)
    dataset = add_dataset("held_out_pairs", tmp_path / "held_out.csv", "pairs").dataset
    recipe = f'{RECIPE}disjoint = ["human_ordering"]\n[tasks.human_ordering]\ndatasets = ["held_out_pairs"]\npairs = 50\nbatch = 25\n'
    try:
        draw = derive_suite(recipe, SECRET)
        (source,) = {source for task_unit in draw.task_units if task_unit.task.name == "human_ordering" for source in task_unit.unit.data}
        assert (source.name, source.fingerprint) == ("held_out_pairs", dataset.fingerprint)       # nothing of it is public
        assert f'"held_out_pairs":"{dataset.fingerprint}"' in sources_of(load_suite("smoke"), draw)
        assert digest_items(draw)["human_ordering"]
    finally:
        remove_dataset("held_out_pairs")
    with pytest.raises(TouchstoneError, match='The recipe of 2031Q1 cannot be drawn.*There is no dataset "held_out_pairs"'):
        derive_suite(recipe, SECRET)
