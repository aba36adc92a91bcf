"""How things are named by their content, so that the same thing has the same name everywhere."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> bytes:
    """One byte string for one value: JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest_of(value: Any) -> str:
    """sha256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def seed_of(*parts: object) -> int:
    """A 63-bit seed that depends on all parts and on nothing else."""
    joined = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.sha256(joined).digest()[:8], "big") >> 1
