"""The documentation and the files for deployment: links resolve, schemas hold, generated files are current."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from harness.base.paths import PROJECT
from harness.supplied_answers.questions import CANARY
from leaderboard.board.space import write_space
from leaderboard.publishing.leaders import README, leaders_table, replace_table
from leaderboard.publishing.release import read_release
from tests.support.serving import free_port

DOCUMENTS = [path for path in sorted(PROJECT.rglob("*.md")) if not {"build", ".venv", "node_modules", ".pytest_cache"} & set(path.parts)]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SCHEMAS = {"vendor.github-workflows": ".github/workflows/*.yml", "vendor.github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
           "vendor.github-issue-config": ".github/ISSUE_TEMPLATE/config.yml", "vendor.compose-spec": "deploy/*compose.yaml",
           "vendor.citation-file-format": "CITATION.cff", "custom.github-workflows-require-timeout": ".github/workflows/tests.yml"}


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a document, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.unit
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_links_resolve_inside_the_repository(document):
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in LINK.findall(text):
        target, _, anchor = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), f"{link} does not exist"
        assert path.is_relative_to(PROJECT), link
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_other_programs_follow_their_schemas(schema):
    files = sorted(map(str, PROJECT.glob(SCHEMAS[schema])))
    assert files
    done = subprocess.run([Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", schema, *files], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
@pytest.mark.parametrize("unit", sorted((PROJECT / "deploy" / "systemd").glob("*.service")), ids=lambda path: path.stem)
def test_units_of_systemd_are_valid(unit, tmp_path):
    """With a command that exists, which systemd-analyze wants."""
    (tmp_path / unit.name).write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text()))
    done = subprocess.run(["systemd-analyze", "verify", str(tmp_path / unit.name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr, done.stderr


@pytest.mark.unit
def test_the_space_in_the_repository_is_what_the_command_writes(tmp_path):
    """But for the versions of Gradio and Python, which are those of the installation."""
    def contents(folder: Path) -> dict[str, str]:
        return {path.name: re.sub(r"(sdk|python)_version: .*", "", path.read_text()) for path in folder.iterdir() if path.is_file()}
    write_space(tmp_path)
    assert contents(tmp_path) == contents(PROJECT / "deploy" / "space")


@pytest.mark.cli
def test_the_space_starts(tmp_path):
    write_space(tmp_path)
    port = free_port()
    process = subprocess.Popen([sys.executable, "app.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, "PYTHONPATH": str(PROJECT), "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"})
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            try:
                page = httpx.get(f"http://127.0.0.1:{port}/", timeout=20)
                break
            except httpx.HTTPError:
                time.sleep(0.3)
        assert page.status_code == 200
        assert "Energy distance" in page.text
    finally:
        process.kill()
        process.communicate()


@pytest.mark.unit
def test_the_canary_is_documented():
    assert CANARY in (PROJECT / "docs" / "limitations.md").read_text()


@pytest.mark.cli
def test_the_documentation_site_is_built_without_warnings(tmp_path):
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(PROJECT / "docs"), str(tmp_path)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("index", "quickstart", "api", "limitations"):
        assert (tmp_path / f"{name}.html").is_file()
    assert "load_suite" in (tmp_path / "api.html").read_text(encoding="utf-8")


@pytest.mark.unit
def test_the_readme_is_short_and_its_leaders_are_those_of_the_latest_release():
    text = README.read_text(encoding="utf-8")
    assert replace_table(text, leaders_table(read_release())) == text, "run `python -m leaderboard.publishing.leaders`"
    assert len(text.split()) <= 900
