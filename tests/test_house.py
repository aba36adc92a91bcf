"""The house itself: which package may know which, what is installed, what is shadowed."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile

import pytest

from harness.base.paths import PROJECT

PACKAGES = ("harness", "tasks", "submissions", "leaderboard")
MAY_IMPORT = {"harness": {"harness"}, "tasks": {"harness", "tasks"}, "submissions": set(), "leaderboard": {"harness", "tasks", "leaderboard"}}


@pytest.mark.parametrize("package", PACKAGES)
def test_dependencies_point_one_way(package):
    for path in (PROJECT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
            ours = {name.split(".")[0] for name in names} & set(PACKAGES)
            assert ours <= MAY_IMPORT[package], f"{path.name} imports {ours}"


FOREIGN = [*sorted((PROJECT / "harness/sandbox/inside").glob("*.py")), PROJECT / "harness/environments/pip_wheels_only.py"]


@pytest.mark.parametrize("script", FOREIGN, ids=lambda path: path.stem)
def test_what_runs_in_a_foreign_environment_needs_the_standard_library_and_numpy_alone(script):
    allowed = set(sys.stdlib_module_names) | {"numpy", "pip"}
    for node in ast.walk(ast.parse(script.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
        assert {name.split(".")[0] for name in names} <= allowed


def test_random_py_shadows_the_standard_library_nowhere(tmp_path):
    assert (PROJECT / "submissions" / "random.py").exists()
    for folder in (PROJECT, tmp_path):
        said = subprocess.run([sys.executable, "-c", "import random, leaderboard.cli.app; print(random.__file__)"], cwd=folder,
                              capture_output=True, text=True, check=True).stdout
        assert "submissions" not in said


def test_files_are_short_enough_to_hold_one_idea():
    for package in PACKAGES:
        for path in (PROJECT / package).rglob("*.py"):
            assert len(path.read_text().splitlines()) <= 400, path


def test_an_installed_copy_brings_no_tests(tmp_path):
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(PROJECT)],
                   check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith("tests")]
    assert {"submissions/random.py", "tasks/suites/core.toml", "harness/models/pinned/minilm.npy"} <= set(names)
