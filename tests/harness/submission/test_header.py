"""A header is read without executing the file, under bounds, and every mistake gets one sentence."""

from __future__ import annotations

import time

import pytest

from harness.base.errors import TouchstoneError
from harness.submission.header import read_header

pytestmark = pytest.mark.unit

GOOD = {
    "name": '"energy"', "title": '"Energy distance"', "summary": '"Twice the mean."', "kind": '"corpus"', "input": '"embeddings"',
    "returns": '"distance"', "range": "[0.0, inf]", "license": '"Apache-2.0"'}


def source(above: str = "", below: str = "", body: str = "", **changed: str | None) -> bytes:
    """A submission's source: the good header, changed."""
    fields = {key: value for key, value in {**GOOD, **changed}.items() if value is not None}
    toml = above + "[tool.touchstone]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items()) + below
    return ("# /// script\n" + "".join(f"# {line}\n" if line else "#\n" for line in toml.splitlines()) + "# ///\n" + body).encode()


def refusal(content: bytes) -> str:
    with pytest.raises(TouchstoneError) as refused:
        read_header(content, "my.py")
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.startswith("my.py")
    return sentence


def test_a_good_header_is_read_whole():
    header = read_header(source(above='requires-python = ">=3.11"\ndependencies = ["numpy>=2", "scipy"]\n', symmetric="true",
                                below='[[tool.touchstone.variants]]\nname = "k=2"\nparameters = { k = 2 }\n'), "my.py")
    assert header.name == "energy"
    assert header.range == (0.0, float("inf"))
    assert header.symmetric
    assert header.distributions == ["numpy", "scipy"]
    assert [variant.parameters for variant in header.variants] == [{"k": 2}]


def test_reading_executes_nothing(tmp_path):
    marker = tmp_path / "executed"
    read_header(source(body=f"open({str(marker)!r}, 'w')\n"), "my.py")
    assert not marker.exists()


@pytest.mark.parametrize(("changed", "parts"), [
    ({"kind": '"corpora"'}, ("line 6", '`kind = "corpora"`', 'Use "corpus"', '"text"')),
    ({"returns": '"number"'}, ("line 8", '"distance"', '"similarity"')),
    ({"license": None}, ("`license`", 'license = "Apache-2.0"')),
    ({"sumary": '"x"'}, ("line 11", "`sumary`", 'Did you mean "summary"?')),
    ({"name": '"../evil"'}, ("line 3", "a-z", "../evil")),
    ({"name": '"a|b"'}, ("line 3", "a|b")),
    ({"name": '".hidden"'}, ("line 3",)),
    ({"name": '"' + "a" * 65 + '"'}, ("line 3",)),
    ({"title": '"two\\nlines"'}, ("line 4", "plain text")),
    ({"title": '"\\u202eright to left"'}, ("line 4", "invisible")),
    ({"summary": '"' + "x" * 301 + '"'}, ("line 5", "too long")),
    ({"range": "[1.0, 0.0]"}, ("line 9", "low < high")),
    ({"range": "[nan, 1.0]"}, ("line 9", "low < high")),
    ({"range": '"0 to 1"'}, ("line 9", "`range")),
    ({"symmetric": '"yes"'}, ("line 11", "`symmetric")),
    ({"paper": '"javascript:alert(1)"'}, ("line 11", "https://")),
    ({"paper": '"https://x/\\"><script>"'}, ("line 11", "https://")),
    ({"models": '["minilm", 3]'}, ("line 11", "`models")),
    ({"variants": "3"}, ("line 11", "`variants")),
    ({"license": '"A" # twice\nlicense = "B"'}, ("line 11", "TOML")),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_each_mistake_names_the_line_and_what_would_be_right(changed, parts):
    sentence = refusal(source(**changed))
    for part in parts:
        assert part in sentence, sentence


@pytest.mark.parametrize(("above", "part"), [
    ('dependencies = ["evil @ https://example.org/evil.whl"]\n', "no address"),
    ('dependencies = ["-r requirements.txt"]\n', "package name"),
    ('dependencies = ["./local"]\n', "package name"),
    ('dependencies = ["numpy\\n--index-url=https://example.org"]\n', "package name"),
    ('dependencies = ["git+https://example.org/x"]\n', "package name"),
    ('dependencies = ["uvicorn[standard]"]\n', "no extras"),
    ('dependencies = ["Harness"]\n', "is a package of the harness"),
    ('dependencies = ["Touchstone.Benchmark"]\n', "is a package of the harness"),
    ('dependencies = ["foo===${HOME}"]\n', "not ==="),
    ("dependencies = [" + ", ".join(f'"p{i}"' for i in range(31)) + "]\n", "too long"),
    ("dependencies = [" + ", ".join(f'"p{i}"' for i in range(10_000)) + "]\n", "at most 1,000"),
    ('name = "energy"\n', "below that line"),
])
def test_dependencies_are_names_with_bounds(above, part):
    sentence = refusal(source(above=above))
    assert part in sentence
    assert "line 2" in sentence


def test_too_many_variants_are_refused():
    below = "".join(f'[[tool.touchstone.variants]]\nname = "v{i}"\nparameters = {{ k = {i} }}\n' for i in range(13))
    assert "too long" in refusal(source(below=below))


@pytest.mark.parametrize(("variant", "parts"), [
    ('name = "k"\nparametres = { k = 1 }\n', ("line 13", "`parametres`", '"parameters"')),
    ('name = "k"\n', ("line 11", "has no `parameters`")),
    ('name = "k"\nvectors_of = ["../minilm"]\n', ("line 13", "`vectors_of", "must be a registered name")),
    ('name = "k"\nvectors_of = "minilm"\n', ("line 13", "`vectors_of")),
    ('name = "k"\nparameters = { k = [1] }\n', ("line 13", "parameters")),
    ('name = "k]|"\nparameters = { k = 1 }\n', ("line 12", "name")),
])
def test_a_variants_mistake_names_its_line(variant, parts):
    sentence = refusal(source(below="[[tool.touchstone.variants]]\n" + variant))
    for part in parts:
        assert part in sentence, sentence


def test_two_variants_of_the_same_parameters_are_refused():
    below = "".join(f'[[tool.touchstone.variants]]\nname = "{name}"\nparameters = {{ k = 1 }}\n' for name in "ab")
    assert "same parameters" in refusal(source(below=below))


def test_a_variant_may_name_vectors_if_vectors_are_given():
    below = '[[tool.touchstone.variants]]\nname = "other"\nvectors_of = ["minilm", "wordllama"]\nin_chunks = true\n'
    variant, = read_header(source(below=below), "my.py").variants
    assert (variant.parameters, variant.vectors_of, variant.in_chunks) == ({}, ("minilm", "wordllama"), True)
    assert 'sets vectors, which requires `input = "embeddings"`' in refusal(source(below=below, input='"texts"'))


@pytest.mark.parametrize(("content", "part"), [
    (b"x = 1\n", "no header"),
    (b"# /// script\n# x = 1", "never closed"),
    (b"# /// script\n# x = 1\n\nimport os\n", "its end, a line `# ///`"),
    (b"# /// script\nx = 1\n# ///\n", "must start with `# `"),
    (b"# /// script\n# x = \n# ///\n", "not valid TOML"),
    (b"# /// script\n# ///\n# /// script\n# ///\n", "second"),
    (b"# /// script\n# ///\n", "[tool.touchstone]"),
    (b"\xff\xfe", "UTF-8"),
    (b"# coding: latin-1\n", "only UTF-8"),
    (b"a = '\0'\n", "NUL"),
    (b"\r# coding: utf-7\n" + source() + b"x = 1 # +AAo-print('hidden')+AAo-\n", "line 1: the character U+000D"),
    (source() + "x = 1  # \u202e harmless\n".encode(), "U+202E"),
])
def test_files_that_are_no_submissions(content, part):
    assert part in refusal(content)


@pytest.mark.parametrize("content", [
    b"#" * 1_000_001,
    b"# /// script\n# " + b"a." * 50_000 + b"a = 1\n# ///\n",               # a 100 kB dotted key kept tomllib busy for 45 s
    b"# /// script\n" + b"# a = 1\n" * 40_000 + b"# ///\n",                 # defeats PEP 723's own expression
    b"# /// script\n# a = " + b"[" * 990 + b"\n# ///\n",
    b"# /// script\n" + b"# a = [\n# " * 1 + b"\n# ".join([b"[" * 900] * 16) + b"\n# ///\n",
    source(symmetric="[" * 400 + "]" * 400),
    b"# /// script\n# a = " + b"9" * 900 + b"\n# " + b"a" * 900 + b" = 0x" + b"f" * 80 + b"\n# ///\n",
    b"# /// script\n" + b"".join(b"# " + b".".join([b"a%d" % i] * 200) + b" = 1\n" for i in range(18)) + b"# ///\n",
], ids=["a megabyte", "dotted key", "many lines", "nested line", "nested lines", "nested value", "huge numbers", "many dotted keys"])
def test_bombs_are_refused_at_once(content):
    started = time.process_time()
    refusal(content)
    assert time.process_time() - started < 1.0
