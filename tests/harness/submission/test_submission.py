"""Files, entries, digests, and how they are chosen on the command line."""

from __future__ import annotations

import json
import sys

import pyarrow.parquet as pq
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, SUBMISSIONS
from harness.submission.dependencies import unmet_dependencies
from harness.submission.selection import load_available, select_entries
from harness.submission.submission import current_digest, load_submission
from tests.support.equivalent_code import Comparison

pytestmark = pytest.mark.unit


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


@pytest.mark.parametrize(("old", "new"), [
    ('title = "A metric of the tests"', 'title = "Another title"'), ('license = "Apache-2.0"', 'license = "MIT"'),
    ("# license", '# paper = "https://example.org/paper"\n# license'), ("# license", "# on_request = true\n# license"),
    ("# ///\nd", '# [[tool.touchstone.variants]]\n# name = "v"\n# parameters = { k = 5 }\n# ///\nd')])
def test_descriptive_fields_of_the_header_do_not_change_the_digest(write, old, new):
    path = write("steady", "def distance(p, q, k=1): return 0.0\n")
    before = load_submission(path).entries[0]
    path.write_text(path.read_text().replace(old, new))
    after = load_submission(path).entries[0]
    assert after.submission.source != before.submission.source
    assert after.digest == before.digest
    assert after.digest_v1 != before.digest_v1


@pytest.mark.parametrize(("old", "new"), [
    ('returns = "distance"', 'returns = "similarity"'), ("range = [0.0, inf]", "range = [0.0, 1.0]"), ('input = "texts"', 'input = "tokens"'),
    ("# license", "# symmetric = true\n# license"), ("dependencies = []", 'dependencies = ["numpy>=2"]'), ('name = "steady"', 'name = "other"')])
def test_functional_fields_of_the_header_change_the_digest(write, old, new):
    path = write("steady", "def distance(p, q): return 0.0\n")
    before = load_submission(path).entries[0].digest
    path.write_text(path.read_text().replace(old, new))
    assert load_submission(path).entries[0].digest != before


# Entries of other code than in release 2026.2 under the same name.
CHANGED = {"classifier", "classifier[published]", "cosine_glove", "pos_distance", "pos_distance[nouns]", "wmd", "wmd[published]"}


def test_digests_of_published_entries_are_mapped_to_present_ones():
    for release in ("2026.1", "2026.2"):
        facts = json.loads((PROJECT / "leaderboard" / "releases" / release / "release.json").read_text())
        published = {entry["name"]: entry["digest"] for entry in facts["entries"]}
        for entry in (entry for submission in load_available(SUBMISSIONS) for entry in submission.entries):
            if entry.name in published:
                assert (current_digest(published[entry.name]) == entry.digest) == (entry.name not in CHANGED), entry.name
    assert current_digest("0" * 64) == "0" * 64


BYTECODE = pytest.mark.skipif(sys.version_info >= (3, 12), reason="compares bytecode, in which comprehensions have no scope of their own since Python 3.12")


@BYTECODE
def test_code_with_the_digest_of_published_code_differs_in_comments_names_and_messages_only():
    present = {entry.name: entry for submission in load_available(SUBMISSIONS) for entry in submission.entries}
    published = pq.read_table(PROJECT / "leaderboard" / "releases" / "2026.3" / "entries.parquet").to_pylist()
    same = [(row["source"].decode(), present[row["name"]]) for row in published if present[row["name"]].digest == row["digest"]]
    sources = {(source, entry.submission.source.decode()) for source, entry in same}
    assert len(sources) > 30
    assert [new for old, new in sources if not Comparison(old, new).is_equal] == []


@BYTECODE
@pytest.mark.parametrize(("new", "equal"), [
    ("def distance(p, q, k=1):\n    return scale(p, k)\ndef scale(x, factor):\n    'Doc.'\n    return factor * x  # comment", True),
    ("def distance(p, q, k=1):\n    return double(p, k)\ndef double(x, k):\n    return x * k", False),
    ("def distance(p, q, n=1):\n    return double(p, n)\ndef double(x, k):\n    return k * x", False),
    ("def distance(p, q, k=2):\n    return double(p, k)\ndef double(x, k):\n    return k * x", False),
    ("def distance(p, q, k=1):\n    return abs(p, k)\ndef double(x, k):\n    return k * x", False)])
def test_versions_of_code_are_compared_without_regard_to_names(new, equal):
    old = "def distance(p, q, k=1):\n    return double(p, k)\ndef double(x, k):\n    return k * x"
    assert Comparison(old, new).is_equal == equal


def test_a_variant_is_an_entry_of_its_own():
    default, variant = select_entries(["constant"], SUBMISSIONS)
    assert (default.name, variant.name) == ("constant", "constant[0.875]")
    assert default.digest != variant.digest
    assert [entry.name for entry in select_entries(["constant[0.875]"], SUBMISSIONS)] == ["constant[0.875]"]


@pytest.mark.parametrize(("word", "sentence"), [
    ("enregy", 'Did you mean "energy"'), ("constant[2]", 'no variant "2". Its variants: 0.875'), ("nowhere.py", "cannot be read")])
def test_what_is_not_there_is_said(word, sentence):
    with pytest.raises(TouchstoneError) as refused:
        select_entries([word], SUBMISSIONS)
    assert sentence in str(refused.value)


def test_two_files_may_not_claim_one_name(write, tmp_path):
    write("one", "")
    (tmp_path / "two.py").write_text((tmp_path / "one.py").read_text())
    with pytest.raises(TouchstoneError, match='two.py and one.py both have the name "one"'):
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
