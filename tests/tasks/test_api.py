"""The public names of the package `tasks`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tasks
from harness.base.errors import TouchstoneError


def test_every_public_name_is_importable():
    assert {name for name in dir(tasks) if callable(getattr(tasks, name))} == set(tasks.__all__)
    with pytest.raises(AttributeError, match="no attribute 'load_suites'"):
        tasks.load_suites  # noqa: B018


def test_importing_the_package_imports_no_task():
    script = "import sys, tasks; print(sorted(name for name in sys.modules if name.startswith(('tasks.', 'numpy', 'pydantic'))))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_task_by_name():
    assert [tasks.get_task(name).name for name in tasks.list_tasks()] == tasks.list_tasks()
    with pytest.raises(TouchstoneError, match='There is no task "retreival". Did you mean "retrieval"'):
        tasks.get_task("retreival")


def test_a_dataset_by_name():
    assert "made_trains" in tasks.list_datasets()
    assert len(tasks.load_dataset("made_trains").rows) == 600


def test_overrides_replace_settings_of_one_task():
    smoke, changed = tasks.load_suite("smoke"), tasks.load_suite("smoke", overrides={"known_similarity": {"repetitions": 5}})
    counts = {task.name: (len(smoke.units(task)), len(changed.units(task))) for task in smoke.tasks}
    assert counts.pop("known_similarity") == (3, 5)
    assert all(before == after for before, after in counts.values())
    with pytest.raises(TouchstoneError, match=r"smoke.toml: tasks.known_similarity.repetitions: input should be"):
        tasks.load_suite("smoke", overrides={"known_similarity": {"repetitions": 0}})
