"""Which extra of the package brings a module that is missing, read from the metadata of the installation."""

from __future__ import annotations

import re
from importlib import metadata

from harness.base.paths import DISTRIBUTION, is_clone

IMPORTED_AS = {"faiss": "faiss-cpu", "ot": "POT", "sklearn": "scikit-learn"}        # others differ in hyphens at most
EXTRA = re.compile(r"extra == [\"']([a-z]+)[\"']")


def find_extra(module: str) -> str | None:
    """Return the first extra that brings a module, if there is one."""
    from packaging.requirements import Requirement  # here, because every command imports this module
    from packaging.utils import canonicalize_name

    top = module.partition(".")[0]
    name = canonicalize_name(IMPORTED_AS.get(top, top))
    for requirement in map(Requirement, metadata.requires(DISTRIBUTION) or ()):
        if canonicalize_name(requirement.name) == name and (extra := EXTRA.search(str(requirement.marker or ""))):
            return extra[1]
    return None


def describe_missing(module: str) -> str | None:
    """Return how to install the extra that brings a module; None if no extra does."""
    extra = find_extra(module)
    target = "-e '.[{}]'" if is_clone() else "'" + DISTRIBUTION + "[{}]'"
    return None if extra is None else (f'This needs {module.partition(".")[0]}, which is part of the extra "{extra}": '
                                       f"pip install {target.format(extra)}")
