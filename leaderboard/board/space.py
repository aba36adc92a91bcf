"""A folder that runs the board on Hugging Face Spaces, or anywhere with `python app.py`."""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.base.paths import DISTRIBUTION
from harness.results.provenance import harness_version
from leaderboard.board.rendering import render


def write_space(folder: Path, wheel: Path | None = None) -> list[Path]:
    """Write the app, its requirements and its description; return the files.

    Args:
        folder: Where the files are written; existing ones of the same names are replaced.
        wheel: A wheel of this package that is copied and installed; without one the package index is asked for this version.
    """
    if wheel is not None and (wheel.suffix != ".whl" or not wheel.is_file()):
        raise TouchstoneError(f"{wheel} is not a wheel; build one with `pip wheel --no-deps --wheel-dir dist .` in the clone.")
    version = harness_version()
    facts = {"version": version, "gradio": metadata.version("gradio"), "python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    contents: dict[str, str] = {name: render(f"space/{name}.jinja", **facts) + "\n" for name in ("app.py", "README.md")}
    contents["requirements.txt"] = f"./{wheel.name}\n" if wheel is not None else f"{DISTRIBUTION}=={version}\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
        if wheel is not None:
            shutil.copy(wheel, folder)
    except OSError as error:
        raise TouchstoneError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from None
    return [folder / name for name in (*contents, *([wheel.name] if wheel is not None else []))]
