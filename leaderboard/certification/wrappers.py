"""Write submissions that call the metric of a library."""

from __future__ import annotations

import importlib.metadata
import json
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement

from harness.base.errors import TouchstoneError, did_you_mean, printable

PLACEHOLDER = "MODEL"                       # replaced by the name of a model
VERSION = re.compile(r"(?P<library>[A-Za-z0-9._-]+)(?P<bound>==[^:]+)?")


@dataclass(frozen=True)
class Call:
    """How a library's metric is called: the reference is `x`, or `a` for many texts, the candidate `y` or `b`."""

    imports: str
    score: str                              # an expression of a pair x, y; or of lists a, b, if `together`
    low: float = 0.0
    high: float = 1.0
    returns: str = "similarity"
    setup: str = ""                         # module-level statements, or the body of `setup(models)` if it uses a model
    reference: str | None = None            # our entry with the definition that users of the name expect
    together: bool = False                  # whether the library scores a list of pairs at once
    models: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()          # packages that it needs besides the library
    variables: str = ""                     # global names that the body of `setup` assigns


@dataclass(frozen=True)
class LibraryCalls:
    """A library on the package index and its metrics."""

    license: str
    version: str                            # if none is given or installed
    metrics: dict[str, Call]
    aliases: dict[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()          # packages that its metrics need besides


class Target(NamedTuple):
    """What to wrap."""

    library: str
    requirement: str
    metric: str
    call: Call
    license: str
    requires: tuple[str, ...]


def rapidfuzz_ratio(name: str) -> Call:
    """Return the call of a ratio of RapidFuzz."""
    return Call(f"from rapidfuzz.fuzz import {name}", f"{name}(x, y)", high=100.0)


def rouge_score(name: str, reference: str | None) -> Call:
    """Return the call of a type of rouge-score."""
    return Call("from rouge_score.rouge_scorer import RougeScorer", f'scorer.score(x, y)["{name}"].fmeasure',
                setup=f'scorer = RougeScorer(["{name}"])', reference=reference)


def sacrebleu(name: str, constructor: str, reference: str | None, **more: object) -> Call:
    """Return the call of a class of sacreBLEU."""
    return Call(f"from sacrebleu.metrics import {name}", "scorer.sentence_score(y, [x]).score", setup=f"scorer = {constructor}",
                reference=reference, **{"high": 100.0, **more})      # type: ignore[arg-type]


def torchmetrics(name: str, reference: str | None, **more: object) -> Call:
    """Return the call of a function of torchmetrics that takes a list of references per text."""
    return Call(f"from torchmetrics.functional.text import {name}", f"float({name}([y], [[x]]))", reference=reference,
                **more)                     # type: ignore[arg-type]


BERT_SCORE = Call(
    "from bert_score import BERTScorer", "scorer.score(list(b), list(a))[2].numpy()", -1.0, 1.0, together=True,
    setup=f'scorer = BERTScorer(model_type=models["{PLACEHOLDER}"], num_layers=layers(models["{PLACEHOLDER}"]), device="cpu")',
    models=(PLACEHOLDER,), variables="scorer")
SENTENCE_TRANSFORMERS = Call(
    "from sentence_transformers import SentenceTransformer, util",
    "util.pairwise_cos_sim(*(model.encode(list(side), convert_to_tensor=True) for side in (a, b))).numpy()", -1.0, 1.0,
    together=True, setup=f'model = SentenceTransformer(models["{PLACEHOLDER}"], device="cpu")', models=(PLACEHOLDER,),
    variables="model")
CROSS_ENCODER = Call(
    "from sentence_transformers import CrossEncoder", "model.predict(list(zip(a, b, strict=True)))", -math.inf, math.inf,
    together=True, setup=f'model = CrossEncoder(models["{PLACEHOLDER}"], device="cpu")', models=(PLACEHOLDER,), variables="model")
LAYERS = '''

def layers(folder: str) -> int:
    return json.loads((Path(folder) / "config.json").read_text())["num_hidden_layers"]
'''
MODEL_LIBRARIES = {"sentence-transformers": SENTENCE_TRANSFORMERS, "cross-encoder": CROSS_ENCODER, "bert-score": BERT_SCORE}
PACKAGE_OF = {"cross-encoder": "sentence-transformers"}

LIBRARIES: dict[str, LibraryCalls] = {
    "sacrebleu": LibraryCalls("Apache-2.0", "2.6.0", {
        "CHRF": sacrebleu("CHRF", "CHRF()", "chrf"),
        "BLEU": sacrebleu("BLEU", "BLEU(effective_order=True)", "bleu_sentence"),
        "TER": sacrebleu("TER", "TER()", None, high=math.inf, returns="distance")}),
    "torchmetrics": LibraryCalls("Apache-2.0", "1.9.0", {
        "chrf_score": torchmetrics("chrf_score", "chrf"),
        "bleu_score": torchmetrics("bleu_score", "bleu"),
        "rouge_score": Call("from torchmetrics.functional.text.rouge import rouge_score",
                            'float(rouge_score(y, x, rouge_keys="rougeL")["rougeL_fmeasure"])', reference="rouge_l"),
        "sacre_bleu_score": torchmetrics("sacre_bleu_score", "bleu_sentence"),
        "translation_edit_rate": torchmetrics("translation_edit_rate", None, returns="distance", high=math.inf),
        "extended_edit_distance": torchmetrics("extended_edit_distance", None, returns="distance"),
        "char_error_rate": Call("from torchmetrics.functional.text import char_error_rate", "float(char_error_rate([y], [x]))",
                                returns="distance", high=math.inf),
        "bert_score": Call(
            "from torchmetrics.functional.text.bert import bert_score",
            'bert_score(list(b), list(a), model_name_or_path=folder, num_layers=layers(folder))["f1"].numpy()', -1.0, 1.0,
            together=True, setup=f'folder = models["{PLACEHOLDER}"]', models=(PLACEHOLDER,), variables="folder",
            requires=("transformers",)),
    }, {"BERTScore": "bert_score", "CHRFScore": "chrf_score", "BLEUScore": "bleu_score", "ROUGEScore": "rouge_score",
        "SacreBLEUScore": "sacre_bleu_score",
        "TranslationEditRate": "translation_edit_rate", "ExtendedEditDistance": "extended_edit_distance",
        "CharErrorRate": "char_error_rate"}, requires=("nltk", "regex")),
    "nltk": LibraryCalls("Apache-2.0", "3.10.4", {
        "sentence_chrf": Call("from nltk.translate.chrf_score import sentence_chrf", "sentence_chrf(x, y)", reference="chrf"),
        "sentence_bleu": Call("from nltk.translate.bleu_score import sentence_bleu", "sentence_bleu([x.split()], y.split())",
                              reference="bleu"),
        "sentence_gleu": Call("from nltk.translate.gleu_score import sentence_gleu", "sentence_gleu([x.split()], y.split())"),
        "edit_distance": Call("from nltk.metrics.distance import edit_distance", "edit_distance(x, y)", returns="distance",
                              high=math.inf),
        "jaro_winkler_similarity": Call("from nltk.metrics.distance import jaro_winkler_similarity",
                                        "jaro_winkler_similarity(x, y)")}),
    "rouge-score": LibraryCalls("Apache-2.0", "0.1.2", {
        "rouge1": rouge_score("rouge1", "rouge1"), "rouge2": rouge_score("rouge2", "rouge2"),
        "rougeL": rouge_score("rougeL", "rouge_l"), "rougeLsum": rouge_score("rougeLsum", None)}),
    "rouge": LibraryCalls("Apache-2.0", "1.0.1", {
        "rouge-1": Call("from rouge import Rouge", 'scorer.get_scores(y, x)[0]["rouge-1"]["f"]', setup="scorer = Rouge()",
                        reference="rouge1"),
        "rouge-l": Call("from rouge import Rouge", 'scorer.get_scores(y, x)[0]["rouge-l"]["f"]', setup="scorer = Rouge()",
                        reference="rouge_l")}),
    "bert-score": LibraryCalls("MIT", "0.3.13", {"F1": BERT_SCORE}),
    "rapidfuzz": LibraryCalls("MIT", "3.14.6", {
        **{name: rapidfuzz_ratio(name) for name in ("ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "WRatio",
                                                    "QRatio")},
        "normalized_similarity": Call("from rapidfuzz.distance import Levenshtein", "Levenshtein.normalized_similarity(x, y)")}),
    "jellyfish": LibraryCalls("MIT", "1.3.0", {
        name: Call(f"from jellyfish import {name}", f"{name}(x, y)") for name in ("jaro_similarity", "jaro_winkler_similarity",
                                                                                  "jaccard_similarity")}),
    "textdistance": LibraryCalls("MIT", "4.6.3", {
        name: Call("import textdistance", f"textdistance.{name}.normalized_similarity(x, y)")
        for name in ("jaccard", "cosine", "sorensen_dice", "overlap", "jaro_winkler", "levenshtein", "lcsseq")}),
    "jiwer": LibraryCalls("Apache-2.0", "4.0.0", {
        "wer": Call("import jiwer", "jiwer.wer(x, y)", returns="distance", high=math.inf),
        "cer": Call("import jiwer", "jiwer.cer(x, y)", returns="distance", high=math.inf),
        "mer": Call("import jiwer", "jiwer.mer(x, y)", returns="distance")}),
}
# Modules of evaluate that call a package: their code is downloaded when they are loaded, and the package gives the same scores.
EVALUATE = {"chrf": ("sacrebleu", "CHRF"), "sacrebleu": ("sacrebleu", "BLEU"), "ter": ("sacrebleu", "TER"),
            "rouge": ("rouge-score", "rougeL"), "bertscore": ("bert-score", "F1"), "wer": ("jiwer", "wer"),
            "cer": ("jiwer", "cer")}


def find_target(name: str) -> Target:
    """Return what LIBRARY:METRIC names; the library may have a version, as in sacrebleu==2.6.0:TER."""
    library, _, metric = name.partition(":")
    match = VERSION.fullmatch(library)
    if match is None or not metric:
        raise TouchstoneError(f"{printable(name, 60)} does not name a library and a metric; write for example sacrebleu:TER or "
                              "sentence-transformers:owner/name.")
    library, bound = match["library"].lower().replace("_", "-"), match["bound"] or ""
    if library in ("sklearn", "scikit-learn"):
        what = PurePath(metric).suffix or "such a file"
        raise TouchstoneError(f"A fitted scikit-learn pipeline ({what}) cannot be wrapped: reading a pickle executes code that "
                              "nobody can review. Write a submission that builds and fits the pipeline in `fit(texts)`.")
    if library == "evaluate":
        if metric not in EVALUATE:
            raise TouchstoneError(f'evaluate downloads the code of "{printable(metric, 40)}" when it is loaded, and a metric '
                                  f"has no network; wrap the package that it calls. Available: {', '.join(EVALUATE)}.")
        (library, metric), bound = EVALUATE[metric], ""
    if (library in MODEL_LIBRARIES and "/" in metric) or library in ("sentence-transformers", "cross-encoder"):
        call, package = MODEL_LIBRARIES[library], PACKAGE_OF.get(library, library)
        return Target(package, pinned(package, bound), metric, with_model(call, metric), "Apache-2.0", ())
    if library not in LIBRARIES:
        names = [*LIBRARIES, *(name for name in MODEL_LIBRARIES if name not in LIBRARIES), "evaluate"]
        raise TouchstoneError(f'There is no wrapper for the library "{printable(library, 40)}".{did_you_mean(library, names)} '
                              f"There are wrappers for {', '.join(names)}.")
    calls = LIBRARIES[library]
    metric = calls.aliases.get(metric, metric)
    if metric not in calls.metrics:
        raise TouchstoneError(f'{library} has no metric "{printable(metric, 40)}" that can be wrapped.'
                              f"{did_you_mean(metric, calls.metrics)} Its metrics: {', '.join(calls.metrics)}.")
    return Target(library, pinned(library, bound), metric, with_model(calls.metrics[metric], "minilm"), calls.license,
                  (*calls.requires, *calls.metrics[metric].requires))


def metric_names(library: str) -> list[str]:
    """Return the metrics of a library, which may have a version, that can be called."""
    name = library.partition("==")[0].lower().replace("_", "-")
    find_target(f"{library}:{next(iter(LIBRARIES[name].metrics)) if name in LIBRARIES else '?'}")
    return list(LIBRARIES[name].metrics)


def pinned(library: str, bound: str) -> str:
    """Return the requirement with the given version, else the installed one, else that of the table."""
    if not bound:
        try:
            bound = f"=={importlib.metadata.version(library)}"
        except importlib.metadata.PackageNotFoundError:
            bound = f"=={LIBRARIES[library].version}" if library in LIBRARIES else ""
    try:
        return str(Requirement(f"{library}{bound}"))
    except InvalidRequirement:
        raise TouchstoneError(f"{printable(library + bound, 60)} is not a package with a version, such as "
                              "sacrebleu==2.6.0.") from None


def with_model(call: Call, model: str) -> Call:
    """Return the call with a model in place of the placeholder."""
    return replace(call, setup=call.setup.replace(PLACEHOLDER, model), models=tuple(model for _ in call.models))


def submission_name(target: Target) -> str:
    """Return a valid name of a submission."""
    return re.sub(r"[^a-z0-9_.-]+", "_", f"{target.library}_{target.metric}".lower()).strip("_.-")[:64]


def submission_source(target: Target) -> str:
    """Return the source of a submission that calls the metric."""
    call = target.call
    model = call.models[0] if call.models else None
    header = [
        'requires-python = ">=3.11"',
        f"dependencies = {json.dumps(sorted({'numpy>=2', target.requirement, *target.requires}))}",
        "[tool.touchstone]",
        f"name = {json.dumps(submission_name(target))}",
        f"title = {json.dumps(f'{target.metric} of {target.library}'[:80])}",
        f"summary = {json.dumps(f'{target.metric} of the package {target.requirement}; the first text is the reference.'[:300])}",
        'kind = "text"', 'input = "texts"', f'returns = "{call.returns}"', f"range = [{call.low}, {call.high}]",
        "symmetric = false", "lift = false", *([f"models = {json.dumps(list(call.models))}"] if model else []),
        f'license = "{target.license}"',
    ]
    uses_layers = "layers(" in call.setup + call.score
    imports = [*(["import json", "from pathlib import Path", ""] if uses_layers else []), "import numpy as np", call.imports]
    body = call.score if call.together else f"np.array([{call.score} for x, y in zip(a, b, strict=True)])"
    loading = (f"\n\ndef setup(models: dict[str, str]) -> None:\n    global {call.variables}\n    {call.setup}\n" if model
               else f"\n{call.setup}\n" if call.setup else "")
    empty = "    if not a:\n        return np.zeros(0)\n" if call.together else ""
    return "".join((
        "# /// script\n", *(f"# {line}\n" for line in header), "# ///\n", "\n".join(imports), "\n",
        LAYERS if uses_layers else "", loading,
        f"\n\ndef {call.returns}(a: list[str], b: list[str]) -> np.ndarray:\n{empty}    return {body}\n"))
