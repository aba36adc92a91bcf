"""The Hugging Face hub, for datasets and models: whether it answers, and the clones that are read in its stead.

TOUCHSTONE_HUB may name a folder of clones of hub repositories, `<folder>/<owner>/<name>`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

SECONDS_TO_ANSWER = 10.0


def local_clone(repository: str) -> Path | None:
    named = os.environ.get("TOUCHSTONE_HUB")
    if not named:
        return None
    folder = Path(named) / repository
    return folder if folder.is_dir() else None


@cache
def hub_is_reachable() -> bool:
    """Whether the hub answers.  If not, its own library is told so, or it would try for half a minute a file."""
    import requests

    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=SECONDS_TO_ANSWER)
    except requests.RequestException:
        os.environ["HF_HUB_OFFLINE"] = "1"              # what it has in its own cache can still be read
        return False
    return True
