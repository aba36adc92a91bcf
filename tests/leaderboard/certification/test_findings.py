"""The findings of docs/certification.md, repeated by its lines where the library and its model are installed."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys

import pytest

from harness.base.paths import PROJECT

TEXT = (PROJECT / "docs" / "certification.md").read_text(encoding="utf-8").partition("## Findings without a known report")[2]
CODES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
EXPECTED = {"mauve-text": ("0.4.0", r"0\.75"), "torchmetrics": ("1.9.0", r"tensor\(inf\) tensor\(inf\)")}     # as the document says


@pytest.mark.parametrize(("library", "code"), list(zip(EXPECTED, CODES, strict=False)))
def test_the_lines_repeat_the_finding(library, code):
    version, output = EXPECTED[library]
    installed = next((package.version for package in importlib.metadata.distributions(name=library)), None)
    if installed != version:
        pytest.skip(f"{library} {version} is not installed here, but {installed}")
    assert len(code.splitlines()) <= 5
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.match(output, done.stdout), done.stdout


def test_empty_texts_in_bert_score():
    """With the tokenizer of an installed model, because that of the document is downloaded."""
    from bert_score.utils import sent_encode
    from transformers import AutoTokenizer

    from harness.models.registry import find_model

    tokenizer = AutoTokenizer.from_pretrained(str(find_model("minilm").path()))
    assert sent_encode(tokenizer, "text")
    with pytest.raises(AttributeError, match="build_inputs_with_special_tokens"):
        sent_encode(tokenizer, "")
