"""The structure of the project: imports, folders, what a wheel has."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile

import pytest

from harness.base.paths import PROJECT
from leaderboard.publishing.release import releases

LARGEST_WHEEL = 100_000_000                 # the limit of the package index
PACKAGES = ("harness", "tasks", "submissions", "leaderboard")


def imported_packages(source: str) -> set[str]:
    return {name.split(".")[0] for node in ast.walk(ast.parse(source))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom)
                         else [alias.name for alias in node.names] if isinstance(node, ast.Import) else [])}


@pytest.mark.parametrize("path", sorted((PROJECT / "submissions").glob("*.py")), ids=lambda path: path.stem)
def test_submissions_import_nothing_of_this_project(path):
    assert not imported_packages(path.read_text()) & set(PACKAGES)


FOREIGN = [*sorted((PROJECT / "harness/sandbox/inside").glob("*.py")), PROJECT / "harness/environments/pip_wheels_only.py"]


@pytest.mark.parametrize("script", FOREIGN, ids=lambda path: path.stem)
def test_what_runs_in_a_foreign_environment_needs_the_standard_library_and_numpy_alone(script):
    allowed = set(sys.stdlib_module_names) | {"numpy", "pip"}
    assert imported_packages(script.read_text()) <= allowed


def test_random_py_shadows_the_standard_library_nowhere(tmp_path):
    assert (PROJECT / "submissions" / "random.py").exists()
    for folder in (PROJECT, tmp_path):
        said = subprocess.run([sys.executable, "-c", "import random, leaderboard.cli.app; print(random.__file__)"], cwd=folder,
                              capture_output=True, text=True, check=True).stdout
        assert "submissions" not in said


@pytest.mark.parametrize("package", PACKAGES[:2] + PACKAGES[3:])
def test_a_folder_holds_one_subject(package):
    for folder in [PROJECT / package, *(PROJECT / package).rglob("*/")]:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= 12, f"{folder.relative_to(PROJECT)} has {len(modules)} modules"
        if modules:
            assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def test_no_function_imports_this_project_outside_the_command_line():
    for package in ("harness", "tasks", "leaderboard"):
        for path in (PROJECT / package).rglob("*.py"):
            functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
            inside = set().union(*(imported_packages(ast.unparse(function)) for function in functions))
            assert "cli" in path.parts or not inside & set(PACKAGES), path


def test_an_installed_copy_brings_no_tests(tmp_path):
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(PROJECT)],
                   check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith("tests")]
    answers = {name.split("/")[2] for name in names if name.endswith(("answers.parquet", "arrays.parquet", "task_scores.parquet"))}
    assert answers == {releases()[-1]}, "pyproject.toml leaves out the answers of earlier releases"
    assert wheel.stat().st_size < LARGEST_WHEEL
    assert {"submissions/random.py", "tasks/suites/core.toml", "harness/models/pinned/minilm.npy"} <= set(names)


def test_the_readme_shows_the_example():
    assert f"```python\n{(PROJECT / 'examples' / 'shared_words.py').read_text()}```" in (PROJECT / "README.md").read_text()
