"""The tasks, the suites that fix their parameters, and the datasets they use.  May import `harness`.

The names below are the public API; everything else may change.
"""

from typing import TYPE_CHECKING

from harness.base.lazy import lazy_exports

if TYPE_CHECKING:
    from tasks.data.loading import add_dataset as add_dataset
    from tasks.data.loading import list_datasets as list_datasets
    from tasks.data.loading import load_dataset as load_dataset
    from tasks.registry import get_task as get_task
    from tasks.registry import list_tasks as list_tasks
    from tasks.suite_files import load_suite as load_suite

_EXPORTS = {
    "add_dataset": "tasks.data.loading",
    "get_task": "tasks.registry",
    "list_datasets": "tasks.data.loading",
    "list_tasks": "tasks.registry",
    "load_dataset": "tasks.data.loading",
    "load_suite": "tasks.suite_files",
}

__all__ = ["add_dataset", "get_task", "list_datasets", "list_tasks", "load_dataset", "load_suite"]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
