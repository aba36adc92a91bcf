"""What the ranked table can be narrowed down to, and what of an entry that is decided by."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

COSTS = {"1": "as quick as chi", "10": "up to 10 × chi", "100": "up to 100 × chi"}
KINDS = {"corpus": "made for corpora", "text": "made for texts"}
INPUTS = {"texts": "takes texts", "tokens": "takes tokens", "embeddings": "takes embeddings", "token_embeddings": "takes token embeddings"}


def filters(entries: list[dict[str, Any]], track: str) -> str:
    """Lists and boxes; of what tells nobody apart there is none."""
    kinds = {entry["kind"] for entry in entries}
    inputs = {entry["input"] for entry in entries}
    timed = any((entry["tasks"].get("timing") or {}).get("measures", {}).get("cost_in_chi") for entry in entries)
    lists = [("kind", "any kind", {key: words for key, words in KINDS.items() if key in kinds}, len(kinds) > 1),
             ("input", "any input", {key: words for key, words in INPUTS.items() if key in inputs}, len(inputs) > 1),
             ("cost", "any speed", COSTS, timed)]
    boxes = [("no-model", "no model"), ("symmetric", "symmetric"), *([("lifted", "lifted too")] if track == "corpus" else [])]
    return "".join(listed(name, words, options) for name, words, options, tells in lists if tells) + "".join(
        f'<label class="chip"><input type="checkbox" data-filter="{key}"{" checked" if key == "lifted" else ""}> {words}</label>'
        for key, words in boxes)


def listed(name: str, words: str, options: Mapping[str, str]) -> str:
    shown = "".join(f'<option value="{escape(key)}">{escape(said)}</option>' for key, said in options.items())
    return f'<select class="chip" data-narrow="{name}" aria-label="{name.capitalize()}"><option value="">{words}</option>{shown}</select>'


def tags(entry: Mapping[str, Any]) -> list[str]:
    """What is true of it."""
    found = {"no-model": entry["input"] == "texts" and not entry["models"], "symmetric": entry["symmetric"], "lifted": entry["lifted"],
             f"kind-{entry['kind']}": True, f"input-{entry['input']}": True}
    return [name for name, true in found.items() if true]
