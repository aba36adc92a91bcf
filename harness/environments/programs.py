"""Find the program that runs a submission which is not written in Python."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import TouchstoneError, printable

SEARCHED = ("/usr/local/bin", "/usr/bin", "/bin")
LOADER = re.compile(rb"\0?(/lib[\w./+-]*/ld[\w.+-]*)\0")     # what an ELF file names as its interpreter, near its beginning
HEAD_BYTES = 8_192


@dataclass(frozen=True)
class ProgramFile:
    """An executable file and the files that the kernel executes with it."""

    path: str
    executable: tuple[str, ...]
    sha256: str

    @property
    def lock(self) -> str:
        """The line that identifies the program among the locked packages of a result."""
        return f"{self.path} --hash=sha256:{self.sha256}"


def find_program(name: str, filename: str, libraries: Path | None) -> ProgramFile:
    """Return the program in the `bin` folder of the submission's packages, or of the system."""
    if "/" in name:
        raise TouchstoneError(f"{filename}: `command` starts with {printable(name, 60)!r}; write the name of a program without a "
                              'folder, such as "perl" or "node".')
    folders = [*([str(libraries / "bin")] if libraries else []), *SEARCHED]
    executable = shutil.which(name, path=os.pathsep.join(folders))
    if executable is None:
        raise TouchstoneError(f"{filename} runs with {printable(name, 60)}, which is not installed in {', '.join(folders)}; "
                              "install it, for example with apt-get.")
    path = os.path.realpath(executable)
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not head.startswith(b"\x7fELF"):
        raise TouchstoneError(f"{filename}: {path} is a script; `command` must start with a compiled program, such as the "
                              "interpreter of the script.")
    loader = LOADER.search(head)
    return ProgramFile(path, (path, *([os.path.realpath(os.fsdecode(loader[1]))] if loader else [])), digest)
