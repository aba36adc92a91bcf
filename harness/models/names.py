"""Valid names of models."""

from __future__ import annotations

import re


def is_model_name(name: str) -> bool:
    """Return whether a name is a registered name or `owner/name`, without `..` or `--`."""
    return MODEL_NAME.fullmatch(name) is not None and ".." not in name and "--" not in name

MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}|[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
