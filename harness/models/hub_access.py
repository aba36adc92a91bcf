"""Access to the Hugging Face Hub, and local clones that replace it.

`TOUCHSTONE_HUB` may name a folder of clones of hub repositories: `<folder>/<owner>/<name>`.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

SECONDS_TO_ANSWER = 10.0


def local_clone(repository: str) -> Path | None:
    """Return the folder of a repository's local clone, or None."""
    named = os.environ.get("TOUCHSTONE_HUB")
    if not named:
        return None
    folder = Path(named) / repository
    return folder if folder.is_dir() else None


@cache
def hub_is_reachable() -> bool:
    """Return whether the hub answers; if not, set its client library to offline mode to avoid long timeouts."""
    import requests

    try:
        requests.head(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), timeout=SECONDS_TO_ANSWER)
    except requests.RequestException:
        os.environ["HF_HUB_OFFLINE"] = "1"              # files in its own cache can still be read
        for module in {"huggingface_hub.constants", "datasets.config"} & sys.modules.keys():
            vars(sys.modules[module])["HF_HUB_OFFLINE"] = True      # read from the environment when it was imported
        return False
    return True
