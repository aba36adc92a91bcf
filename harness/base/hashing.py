"""Content hashes and seeds derived from them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


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


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed that depends on the given parts only."""
    joined = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(joined).digest()[:8], "big") >> 1
