"""Compare two versions of a submission, regardless of comments, docstrings, error messages and the names that it defines."""

from __future__ import annotations

import ast
import dis
import inspect
from collections import ChainMap
from itertools import zip_longest
from types import CodeType
from typing import Any

CONTRACT = frozenset({"setup", "fit", "prepare", "similarity", "distance", "matrix"})
ATTRIBUTES = ("LOAD_ATTR", "STORE_ATTR", "LOAD_METHOD", "KW_NAMES")
SKIPPED = ("CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "LOAD_CLOSURE", "MAKE_CELL", "NOP")     # closures are sorted by name

Name = tuple[bool, str]                     # of an attribute or not


class Comparison:
    """Two versions that compile to the same instructions, and the names that correspond to each other."""

    def __init__(self, old: str, new: str) -> None:
        trees = ast.parse(old), ast.parse(new)
        self._defined = [names_defined_in(tree) for tree in trees]
        self.names: dict[Name, Name] = {}
        codes = [compile(without_messages(tree), "", "exec", dont_inherit=True, optimize=2) for tree in trees]
        self.is_equal = self._same_code(*codes, ChainMap()) and is_one_to_one(self.names)

    def _same_code(self, old: CodeType, new: CodeType, outer: ChainMap[str, str]) -> bool:
        arguments = [code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] for code in (old, new)]
        if len(arguments[0]) != len(arguments[1]) or (old.co_name in CONTRACT and arguments[0] != arguments[1]):
            return False
        local = outer.new_child(dict(zip(*arguments, strict=True)))
        in_class = not old.co_flags & inspect.CO_OPTIMIZED and old.co_name != "<module>"
        nested = []
        for x, y in zip_longest(instructions(old), instructions(new)):
            if x is None or y is None or x.opname != y.opname:
                return False
            if isinstance(x.argval, CodeType):
                nested.append((x.argval, y.argval))
            elif x.opcode in dis.haslocal + dis.hasfree:
                scope = outer if x.argval in old.co_freevars else local.maps[0]
                if scope.setdefault(x.argval, y.argval) != y.argval:
                    return False
            elif not self._same_value(x.argval, y.argval, in_class or x.opname in ATTRIBUTES):
                return False
        return all(self._same_code(*codes, local) for codes in nested) and is_one_to_one(local.maps[0])

    def _same_value(self, old: object, new: object, attribute: bool) -> bool:
        """Compare constants; strings may be names."""
        if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            return all(self._same_value(x, y, attribute) for x, y in zip(old, new, strict=True))
        if isinstance(old, str) and isinstance(new, str) and old in self._defined[0] and new in self._defined[1]:
            return self.names.setdefault((attribute, old), (attribute, new)) == (attribute, new)
        return type(old) is type(new) and old == new


def instructions(code: CodeType) -> list[dis.Instruction]:
    """Return the instructions of a code object without those that depend on the order of names."""
    return [instruction for instruction in dis.get_instructions(code) if instruction.opname not in SKIPPED]


def is_one_to_one(names: dict[Any, Any]) -> bool:
    return len(set(names.values())) == len(names)


def names_defined_in(tree: ast.Module) -> set[str]:
    """Return all names and attributes that a module defines, but for the functions that the harness calls."""
    stored = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)]
    named = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.id if isinstance(node, ast.Name) else node.attr for node in stored} | set(named) - CONTRACT


def without_messages(tree: ast.Module) -> ast.Module:
    """Remove the arguments of raised exceptions and the annotations of functions from a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = []
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return tree
