"""Limits on the time, memory and files of a metric."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.base.errors import TouchstoneError, did_you_mean, format_bytes, printable


@dataclass(frozen=True)
class Limits:
    """The limits of a metric. The record of a failure names the limit that stopped the metric."""

    seconds_per_unit: float = 300.0
    seconds_to_start: float = 120.0         # to load the file: a first import of torch is slow
    seconds_per_entry: float = 14_400.0     # of all test units together; the rest is given up
    processor_seconds: int = 14_400         # of one worker process
    failures_in_a_row: int = 3              # consecutive timeouts over all tasks, then the rest is given up
    memory_bytes: int = 8_000_000_000       # address space; torch alone maps more than 2 GB
    threads: int = 64
    file_bytes: int = 256_000_000           # of each file it writes
    temporary_bytes: int = 256_000_000      # of all files in its temporary folder
    temporary_files: int = 10_000
    open_files: int = 256
    output_characters: int = 2_000          # of its output, kept in a failure record

    def with_overrides(self, settings: Iterable[str]) -> Limits:
        """Return these limits with some of them replaced, each given as `name=value`."""
        types, values = {limit.name: limit.type for limit in dataclasses.fields(self)}, {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in types:
                raise TouchstoneError(f'There is no limit "{printable(name, 40)}".{did_you_mean(name, types)} '
                                      f'The limits: {", ".join(types)}.')
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not 0 < number < math.inf:
                raise TouchstoneError(f"--limit {printable(setting, 60)}: a limit must be a number greater than 0, for example "
                              f"{name}=1000.")
            values[name] = number if types[name] == "float" else math.ceil(number)
        return dataclasses.replace(self, **values)      # type: ignore[arg-type]  # of the type each field has

    def describe_start(self) -> str:
        """Return the time to load a file and how to raise it, for messages."""
        return (f"{self.seconds_to_start:g} seconds to load the file in all workers of a test unit (raise it with --limit "
                f"seconds_to_start={2 * self.seconds_to_start:g})")

    def explain_failure(self, exception: str, message: str) -> str:
        """Return which limit explains a failure, in parentheses; empty if none does."""
        if exception.endswith("MemoryError") or "[Errno 12]" in message:
            explanation = (f"it may use {format_bytes(self.memory_bytes)} of memory; raise the limit with --memory "
                           f"{self.memory_bytes // 500_000}")
        elif "[Errno 28]" in message:
            explanation = (f"its temporary folder holds {format_bytes(self.temporary_bytes)} in {self.temporary_files:,} files; "
                           "raise the limits with --limit temporary_bytes=... or temporary_files=...")
        elif "[Errno 27]" in message:
            explanation = f"a file may have {format_bytes(self.file_bytes)}; raise the limit with --limit file_bytes=..."
        elif "[Errno 24]" in message:
            explanation = f"it may have {self.open_files} files open; raise the limit with --limit open_files=..."
        elif "start new thread" in message:
            explanation = (f"it may have {self.threads} threads, and {format_bytes(self.memory_bytes)} of memory; raise the "
                           "limits with --limit threads=... or --memory")
        else:
            return ""
        return f" ({explanation})"
