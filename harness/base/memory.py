"""Return freed memory to the system: the C library keeps it otherwise, and each thread keeps its own."""

from __future__ import annotations

import ctypes

M_ARENA_MAX = -8                            # malloc.h


def limit_arenas(count: int) -> None:
    """Let the threads of this process share pools of freed memory; does nothing without the GNU C library."""
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(M_ARENA_MAX, count)


def return_freed_memory() -> None:
    """Return freed memory to the system; does nothing without the GNU C library."""
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.malloc_trim(0)
