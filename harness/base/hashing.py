"""Content hashes and seeds derived from them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from functools import cache
from pathlib import Path
from typing import Any

from harness.base.paths import PROJECT


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest_of(value: Any) -> str:
    """Return the sha256 of a JSON value's canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 checksum of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def code_digest(folders: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    """Return a digest of the Python files in folders of the project, and of the versions of libraries."""
    versions = (next((package.version for package in importlib.metadata.distributions(name=name)), None) for name in libraries)
    digest = hashlib.sha256(" ".join(f"{name}=={version}" for name, version in zip(libraries, versions, strict=True)).encode())
    for folder in folders:
        for path in sorted((PROJECT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed that depends on the given parts only."""
    joined = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(joined).digest()[:8], "big") >> 1
