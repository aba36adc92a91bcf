"""Files, entries, digests, and how they are chosen on the command line."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.submission.dependencies import unmet_dependencies
from harness.submission.selection import load_available, select_entries
from harness.submission.submission import load_submission


def test_the_digest_depends_on_source_parameters_and_models(write):
    path = write("one", "def distance(p, q): return 0.0\n")
    first = load_submission(path).entries[0].digest
    assert load_submission(path).entries[0].digest == first
    path.write_text(path.read_text().replace("0.0\n", "1.0\n"))
    assert load_submission(path).entries[0].digest != first
    path.write_text(path.read_text().replace('# license', '# models = ["minilm"]\n# license'))
    with_model = load_submission(path).entries[0].digest
    path.write_text(path.read_text().replace('["minilm"]', '["wordllama"]'))
    assert load_submission(path).entries[0].digest != with_model


def test_a_variant_is_an_entry_of_its_own():
    default, variant = select_entries(["constant"], SUBMISSIONS)
    assert (default.name, variant.name) == ("constant", "constant[0.875]")
    assert default.digest != variant.digest
    assert [entry.name for entry in select_entries(["constant[0.875]"], SUBMISSIONS)] == ["constant[0.875]"]


@pytest.mark.parametrize(("word", "sentence"), [
    ("enregy", 'Did you mean "energy"'), ("constant[2]", 'no variant "2"; it has 0.875'), ("nowhere.py", "cannot be read")])
def test_what_is_not_there_is_said(word, sentence):
    with pytest.raises(TouchstoneError) as refused:
        select_entries([word], SUBMISSIONS)
    assert sentence in str(refused.value)


def test_two_files_may_not_claim_one_name(write, tmp_path):
    write("one", "")
    (tmp_path / "two.py").write_text((tmp_path / "one.py").read_text())
    with pytest.raises(TouchstoneError, match='two.py and one.py both call themselves "one"'):
        load_available(tmp_path)


def test_unknown_models_are_refused(write):
    path = write("one", "")
    path.write_text(path.read_text().replace("# license", '# models = ["minilmm"]\n# license'))
    with pytest.raises(TouchstoneError, match='Did you mean "minilm"'):
        load_submission(path)


def test_what_a_submission_lacks_is_found(write):
    path = write("one", "")
    path.write_text(path.read_text().replace("dependencies = []", 'dependencies = ["numpy>=2", "no-such-package", "scipy>=99"]'))
    assert unmet_dependencies(load_submission(path).header) == ["no-such-package", "scipy>=99"]


def test_every_submission_of_the_project_can_be_read():
    names = [submission.header.name for submission in load_available(SUBMISSIONS)]
    assert {"energy", "ahd", "irpr", "cosine", "jaccard", "levenshtein", "random", "constant", "length_difference",
            "exact_match"} <= set(names)
