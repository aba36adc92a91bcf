"""Embedding models of the Hugging Face Hub: any sentence-transformers model by its name.

Only safetensors weights and text files are downloaded, and code of a repository is never executed. The revision, the fingerprint
of the files and the number of dimensions are recorded in `models.lock` at the first fetch. No fingerprint is pinned, so all hub
models are unverified.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ValidationError

from harness.base.errors import ModelNotFetched, TouchstoneError, printable
from harness.base.files import read_entries, write_entry
from harness.base.paths import cache_folder
from harness.models.base import Model, fingerprint_files
from harness.models.encoders import Encoder, SentenceTransformerEncoder, read_tokenizer
from harness.models.hub_access import hub_is_reachable, local_clone
from harness.models.names import is_model_name

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DESCRIBED_BY = ["*.json", "*.txt", "*.model"]
NOT_NEEDED = ["onnx/*", "openvino/*", "*.md", "data_config.json", "train_script.py", "*/.*", ".*"]
WANTS_CODE = "its repository requires running its own code"


class HubModelCard(NamedTuple):
    """A model that a paper uses, with what its model card says and its files do not."""

    title: str
    licence: str
    prompt: str | None = None
    unusable: str | None = None         # why it cannot be used


# The embedding models that USMB names, with the prompts of their model cards.
HUB_MODEL_CARDS = {
    "BAAI/bge-m3": HubModelCard("BGE-M3", "MIT"),
    "intfloat/e5-large-v2": HubModelCard("E5-large-v2", "MIT", prompt="query: "),
    "nomic-ai/nomic-embed-text-v1.5": HubModelCard("nomic-embed-text-v1.5", "Apache-2.0", prompt="clustering: ",
                                                   unusable=WANTS_CODE),
    "dwzhu/e5rope-base": HubModelCard("E5-RoPE-base", "MIT", prompt="query: ",
                                      unusable=WANTS_CODE),
    "jinaai/jina-embeddings-v2-base-en": HubModelCard("jina-embeddings-v2-base", "Apache-2.0",
                                                      unusable=WANTS_CODE),
    "mosaicml/mosaic-bert-base": HubModelCard("MosaicBERT", "Apache-2.0",
                                              unusable=WANTS_CODE),
}


@dataclass(frozen=True)
class HubModel(Model):
    """A downloaded model; the fingerprint covers all its files."""

    folder: str
    files: tuple[str, ...]
    prompt: str | None

    has_token_vectors = True

    @property
    def origin(self) -> str:
        return "hub"

    def path(self) -> Path:
        folder = Path(self.folder)
        if not folder.is_dir():
            raise TouchstoneError(f'The files of the model "{self.name}" are no longer in {self.folder}; '
                                  f"`touchstone models fetch {self.name}` fetches them.")
        return folder

    def tokenizer(self) -> Tokenizer:
        return read_tokenizer(self.path() / "tokenizer.json")

    def verify(self) -> None:
        fingerprint = fingerprint_files(self.path(), self.files)
        if fingerprint != self.fingerprint:
            raise TouchstoneError(f'The files of the model "{self.name}" in {self.folder} have changed since the first fetch '
                                  f"(fingerprint {fingerprint[:12]} instead of {self.fingerprint[:12]}); restore them, or "
                                  f"replace them with `touchstone models fetch --again {self.name}`.")

    def encoder(self) -> Encoder:
        return SentenceTransformerEncoder(self.path(), self.prompt)


class LockedModel(BaseModel):
    """An entry of `models.lock`."""

    folder: str
    files: tuple[str, ...]
    revision: str | None                # on the hub; unknown for a local clone
    fingerprint: str
    dimensions: int


def lock_path() -> Path:
    """Return the path of `models.lock`."""
    return cache_folder() / "models.lock"


def downloaded_models() -> list[HubModel]:
    """Return the hub models that are available locally."""
    return [_from_lock(name, entry) for name, entry in sorted(read_entries(lock_path()).items())]


def find_downloaded(name: str) -> HubModel:
    """Return a downloaded model, or raise if it is not available."""
    entry = read_entries(lock_path()).get(name)
    if entry is None:
        raise ModelNotFetched(name, f'The model "{printable(name, 100)}" of the Hugging Face Hub is not available locally; '
                              f"`touchstone models fetch {printable(name, 100)}` fetches it.")
    return _from_lock(name, entry)


def _from_lock(name: str, entry: object) -> HubModel:
    card = HUB_MODEL_CARDS.get(name)
    try:
        locked = LockedModel.model_validate(entry)
    except ValidationError:
        raise TouchstoneError(f'{lock_path()} has an invalid entry for "{name}"; remove it, and fetch the model '
                              'again.') from None
    return HubModel(name, card.title if card else name, locked.dimensions, locked.fingerprint,
                    card.licence if card else "see the model's card", locked.folder, locked.files,
                    card.prompt if card else None)


def fetch_model(name: str, *, again: bool = False) -> HubModel:
    """Download a model, test it, and record it in `models.lock`."""
    if not is_model_name(name) or "/" not in name:
        raise TouchstoneError(f'"{printable(name, 100)}" is not the name of a Hugging Face Hub model; names have the form '
                              "owner/name.")
    card = HUB_MODEL_CARDS.get(name)
    if card and card.unusable:
        raise TouchstoneError(f'The model "{name}" cannot be used: {card.unusable}, which Touchstone never runs.')
    entry = None if again else read_entries(lock_path()).get(name)
    folder, revision = _folder(name, entry["revision"] if entry else None)
    files = _files(folder)
    fingerprint = fingerprint_files(folder, files)
    if entry and entry["fingerprint"] != fingerprint:
        raise TouchstoneError(f'The files of the model "{name}" in {folder} have the fingerprint {fingerprint[:12]} instead of '
                              f"{entry['fingerprint'][:12]}, which models.lock recorded at the first fetch. `touchstone models "
                              f"fetch --again {name}` accepts the new files.")
    import numpy as np

    try:
        encoder = SentenceTransformerEncoder(folder, card.prompt if card else None)
        vector = encoder.encode(encoder.batches(["A sentence to try it with."])[0])[0]
    except Exception as error:              # noqa: BLE001 - foreign files, read by three libraries: it may be anything
        raise TouchstoneError(f'The model "{name}" was fetched, but sentence-transformers cannot read it '
                              f"({type(error).__name__}: {printable(str(error), 200)}).") from None
    if not np.isfinite(vector).all() or not vector.any():
        raise TouchstoneError(f'The model "{name}" was fetched, but it returns no vector for a test sentence; use another model.')
    noted = LockedModel(folder=str(folder), files=files, revision=revision, fingerprint=fingerprint, dimensions=len(vector))
    write_entry(lock_path(), name, noted.model_dump())
    return _from_lock(name, noted.model_dump())


def _folder(name: str, revision: str | None) -> tuple[Path, str | None]:
    """Return the folder of a model's files, downloading them if needed, and their revision."""
    clone = local_clone(name)
    if clone is not None:
        _check_description(name, clone)
        return clone, None
    hub_is_reachable()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    try:
        for patterns in (DESCRIBED_BY, [*DESCRIBED_BY, "*.safetensors"]):
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=NOT_NEEDED,
                                            cache_dir=str(cache_folder() / "hub")))
            _check_description(name, folder)
            revision = folder.name
    except GatedRepoError:
        raise TouchstoneError(f'The model "{name}" is a gated model. Accept its terms on the Hugging Face Hub and set '
                              'HF_TOKEN.') from None
    except RepositoryNotFoundError:
        raise TouchstoneError(f'The Hugging Face Hub has no model "{name}", or it is private: check the name, or set HF_TOKEN to '
                              'a token with access.') from None
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise TouchstoneError(f'The model "{name}" could not be fetched from the Hugging Face Hub ({type(error).__name__}: '
                              f"{printable(str(error), 160)}). Check the connection and the free disk space in "
                              f"{cache_folder()}, or clone the repository of the model to <folder>/{name} and set TOUCHSTONE_HUB "
                              "to the folder.") from None
    return folder, revision


def _check_description(name: str, folder: Path) -> None:
    """Raise if a repository is no sentence-transformers model or needs its own code."""
    modules, config = folder / "modules.json", folder / "config.json"
    try:
        kinds = [str(module["type"]) for module in json.loads(modules.read_text(encoding="utf-8"))]
        own = "auto_map" in json.loads(config.read_text(encoding="utf-8")) if config.exists() else False
    except FileNotFoundError:
        raise TouchstoneError(f'"{name}" has no modules.json: it is not a sentence-transformers model.') from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TouchstoneError(f'The configuration of the model "{name}" in {folder} cannot be read '
                              f'({printable(str(error), 100)}).') from None
    if own or any(not kind.startswith("sentence_transformers.") for kind in kinds):
        raise TouchstoneError(f'The model "{name}" cannot be used: {WANTS_CODE}, which Touchstone never runs.')
    if not (folder / "tokenizer.json").exists():
        raise TouchstoneError(f'The model "{name}" cannot be used: it has no tokenizer.json, which defines its tokens.')


def _files(folder: Path) -> tuple[str, ...]:
    """Return the names of all files that influence a vector; raise if the weights are not safetensors."""
    names = sorted(str(path.relative_to(folder)) for pattern in (*DESCRIBED_BY, "*.safetensors") for path in folder.rglob(pattern)
                   if path.is_file())
    kept = tuple(name for name in names if not any(Path(name).match(pattern) for pattern in NOT_NEEDED))
    if not any(name.endswith(".safetensors") for name in kept):
        raise TouchstoneError(f"{folder} contains no safetensors weights; other formats are not read, because loading them can "
                              "execute code.")
    return kept
