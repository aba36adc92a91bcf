"""What a model may be called."""

from __future__ import annotations

import re


def is_model_name(name: str) -> bool:
    """Whether a model may be called so: a registered name, or owner/name on the hub, whose names hold neither .. nor --."""
    return MODEL_NAME.fullmatch(name) is not None and ".." not in name and "--" not in name

MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}|[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
