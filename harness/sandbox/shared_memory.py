"""Memory files for data that is too large for a frame, shared by the harness and one worker.

Only the harness can write to the *inbox* (it is sealed), the *outbox* is for the worker; neither can be resized. They are created
on demand and replaced when something larger has to pass. Vectors that the worker stores for later calls travel in a file of their
own that is sealed against all writing: a metric must not change what its later calls see.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Callable, Sequence
from typing import TypeGuard

import numpy as np

from harness.sandbox.inside.worker import ARGUMENT, ARRAY, HELD, LISTED, RAGGED

F_SEAL_FUTURE_WRITE = 0x10                  # linux/fcntl.h: existing writable mappings remain writable
FIXED_SIZE = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
FIRST_BYTES = 4 << 20                       # pages are allocated when touched
ALIGNED = 64

Texts = Sequence[str]
Tokens = Sequence[Sequence[str]]
TokenVectors = Sequence[np.ndarray]
Content = np.ndarray | Texts | Tokens | TokenVectors

Share = Callable[[int, int, int], None]     # passes inbox, outbox and their size to the worker


class SharedMemory:
    """A pair of memory files."""

    def __init__(self, share: Share) -> None:
        self._share = share
        self._size = 0                      # of each file; 0: not created yet
        self._outbox = -1

    def post(self, contents: Sequence[bytes | memoryview], answer_bytes: int = 0) -> list[int]:
        """Write contents to the inbox and return their offsets; ensure that an answer of the given size fits the outbox."""
        offsets, end = [], 0
        for content in contents:
            offsets.append(end)
            end += -(-len(content) // ALIGNED) * ALIGNED
        needed = max(end, answer_bytes)
        if needed > self._size:
            self._enlarge(max(FIRST_BYTES, 1 << (needed - 1).bit_length()))
        for offset, content in zip(offsets, contents, strict=True):
            self._inbox[offset:offset + len(content)] = content
        return offsets

    def post_arguments(self, arguments: Sequence[int | Content], answer_bytes: int) -> bytes:
        """Write the arguments of a call to the inbox and return their description; handles are passed as they are."""
        arguments = [join_arrays(argument) if is_ragged(argument) else argument for argument in arguments]
        packed = [pack_content(argument) for argument in arguments if not isinstance(argument, int)]
        offsets = iter(self.post(packed, answer_bytes) if packed or answer_bytes else ())
        contents = iter(packed)
        described = b""
        for argument in arguments:
            if isinstance(argument, int):
                described += ARGUMENT.pack(HELD, argument, 0, 0, 0, b"")
            elif isinstance(argument, np.ndarray):
                described += describe_array(RAGGED if isinstance(argument, RaggedArray) else ARRAY, argument, next(offsets))
                next(contents)
            else:
                described += ARGUMENT.pack(LISTED, next(offsets), len(next(contents)), 0, 0, b"")
        return described

    def collect(self, shape: tuple[int, ...], size: int) -> np.ndarray:
        """Return the float64 array that the worker wrote to the outbox."""
        content = bytearray(size)
        read = 0
        while read < size:                  # one call reads at most two gigabytes
            read += os.preadv(self._outbox, [memoryview(content)[read:]], read)
        return np.frombuffer(content).reshape(shape)

    def close(self) -> None:
        """Close the files."""
        if self._size:
            self._size = 0
            self._inbox.close()
            os.close(self._outbox)

    def _enlarge(self, size: int) -> None:
        self.close()
        inbox, self._outbox = (os.memfd_create("touchstone", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING) for _ in range(2))
        try:
            for descriptor in (inbox, self._outbox):
                os.ftruncate(descriptor, size)
            self._inbox = mmap.mmap(inbox, size)
            fcntl.fcntl(inbox, fcntl.F_ADD_SEALS, FIXED_SIZE | F_SEAL_FUTURE_WRITE)
            fcntl.fcntl(self._outbox, fcntl.F_ADD_SEALS, FIXED_SIZE)
            self._size = size
            self._share(inbox, self._outbox, size)
        finally:
            os.close(inbox)


class RaggedArray(np.ndarray):
    """The rows of several arrays below a row with their number; the last column is the number of the array."""


def is_ragged(content: int | Content) -> TypeGuard[TokenVectors]:
    """Return whether a content is one array per text."""
    return isinstance(content, list) and bool(content) and isinstance(content[0], np.ndarray)


def join_arrays(arrays: TokenVectors) -> RaggedArray:
    """Return several arrays with equally many columns as one."""
    joined = np.zeros((1 + sum(map(len, arrays)), arrays[0].shape[1] + 1), np.float32)
    joined[0, 0] = len(arrays)
    joined[1:, :-1] = np.concatenate(arrays)
    joined[1:, -1] = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return joined.view(RaggedArray)


def pack_content(content: Content) -> bytes | memoryview:
    """Return an array's bytes, or a list as JSON."""
    if not isinstance(content, np.ndarray):
        return json.dumps(list(content)).encode()
    return np.ascontiguousarray(content).data.cast("B") if content.size else b""


def describe_array(kind: bytes, array: np.ndarray, offset: int = 0) -> bytes:
    """Return the description of an array as an argument."""
    return ARGUMENT.pack(kind, offset, array.nbytes, *array.shape, array.dtype.str.encode())


def seal_array(array: np.ndarray) -> int:
    """Return a memory file with the contents of an array that cannot be changed any more."""
    descriptor = os.memfd_create("touchstone", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(pack_content(array))
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, FIXED_SIZE | F_SEAL_FUTURE_WRITE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
