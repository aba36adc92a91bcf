"""Tasks, datasets and suites of Touchstone.

The names below are imported on first use, so that `import tasks` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.data.loading import list_datasets, load_dataset
    from tasks.registry import get_task, list_tasks
    from tasks.suite_files import load_suite

__all__ = ["get_task", "list_datasets", "list_tasks", "load_dataset", "load_suite"]

_MODULES = {"get_task": "tasks.registry", "list_datasets": "tasks.data.loading", "list_tasks": "tasks.registry",
            "load_dataset": "tasks.data.loading", "load_suite": "tasks.suite_files"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
