"""The registry of tasks: every class with `info` in a module of `tasks.corpus`, `tasks.text` and `tasks.properties`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.task import Task

PACKAGES = ("tasks.corpus", "tasks.text", "tasks.properties")


def discover_tasks() -> Iterator[Task[Any]]:
    """Yield an instance of every task, by folder and module name."""
    for package in PACKAGES:
        for module_info in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            module = import_module(module_info.name)
            for value in vars(module).values():
                own = getattr(value, "__module__", None) == module.__name__
                if own and isinstance(value, type) and issubclass(value, Task) and "info" in vars(value):
                    yield value()


TASKS: dict[str, Task[Any]] = {task.name: task for task in discover_tasks()}


def list_tasks() -> list[str]:
    """Return the names of all tasks."""
    return list(TASKS)


def get_task(name: str) -> Task[Any]:
    """Return a task of the registry."""
    if name not in TASKS:
        raise TouchstoneError(f'There is no task "{name}".{did_you_mean(name, TASKS)} The tasks are {", ".join(TASKS)}.')
    return TASKS[name]
