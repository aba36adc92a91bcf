"""Lazily imported public names of a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that imports its public names on first use.

    Args:
        package: Name of the package.
        exports: For each public name its module, or `module:attribute` if the attribute has another name.
    """
    def get_attribute(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = exports[name].partition(":")
        return getattr(import_module(module), attribute or name)

    return get_attribute, lambda: sorted(exports)
