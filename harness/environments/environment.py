"""Python environments for submissions whose dependencies the harness's own environment does not meet.

An environment is built once with network access, from wheels only, so that no code of a package is executed; it is used inside
the sandbox without network access. The resolved packages are locked by hash and stored with the results. In the cache folder,
`<list>.json` maps a list of dependencies to its lock, and `<lock>/` holds the libraries.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from harness.base.errors import TouchstoneError, format_bytes, printable
from harness.base.files import file_lock
from harness.base.hashing import digest_of
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.environments.programs import ProgramFile, find_program
from harness.models.registry import find_models
from harness.sandbox.inside.remove_tree import remove_tree
from harness.sandbox.layers import WorkerEnvironment
from harness.sandbox.limits import Limits
from harness.sandbox.supervisor import default_environment
from harness.submission.dependencies import unmet_dependencies
from harness.submission.submission import Entry, Submission

DISTRIBUTIONS = 100
DOWNLOAD_BYTES = 4_000_000_000
INSTALLED_BYTES = 10_000_000_000
INSTALLED_FILES = 200_000
SECONDS = 1_800.0
ZIP_END_BYTES = 65_557                      # the end record with a comment of maximal length
DIRECTORY_BYTES = 16_000_000
KEPT = 20                                   # environments to keep; the least recently used are removed
SAID_EVERY = 10.0

PIP_WHEELS_ONLY = Path(__file__).with_name("pip_wheels_only.py")


@dataclass(frozen=True)
class Environment:
    """What the workers of a submission can import."""

    folder: Path | None = None              # None: the harness's own
    lock: tuple[str, ...] = ()              # of a separate environment: name==version --hash=sha256:...; of a program likewise
    program: ProgramFile | None = None      # of a metric that is a program

    def ground(self, submission: Submission) -> WorkerEnvironment:
        models = find_models(submission.header.models).values()
        executable = self.program.executable if self.program else ()
        if self.folder is None:
            return default_environment(b"" if self.program else submission.source, models, executable)
        return WorkerEnvironment((str(self.folder),), models=tuple(sorted(models)), executable=executable)

    def command(self, submission: Submission) -> tuple[str, ...]:
        """Return the command of a metric that is a program; empty for Python."""
        return (self.program.path, *(submission.header.command or ())[1:]) if self.program else ()


HARNESS_ENVIRONMENT = Environment()


def prepare_environments(entries: Iterable[Entry], limits: Limits, progress: Progress, *,
                         refresh: bool = False) -> tuple[dict[str, Environment], list[str]]:
    """Return the environment of each entry by digest, and one sentence for each submission that cannot be run here."""
    environments: dict[str, Environment] = {}
    refused: dict[bytes, str] = {}
    made: dict[bytes, Environment] = {}
    for entry in entries:
        submission = entry.submission
        if submission.source not in made and submission.source not in refused:
            try:
                check_requested_limits(submission, limits)
                find_models(submission.header.models)
                environment = get_environment(submission, progress, refresh=refresh)
                made[submission.source] = with_program(environment, submission)
            except TouchstoneError as refusal:
                refused[submission.source] = str(refusal)
        if submission.source in made:
            environments[entry.digest] = made[submission.source]
    return environments, list(refused.values())


def with_program(environment: Environment, submission: Submission) -> Environment:
    """Return the environment with the program that a submission's command names, and its hash in the lock."""
    if not submission.header.command:
        return environment
    program = find_program(submission.header.command[0], submission.filename, environment.folder)
    return replace(environment, lock=(*environment.lock, program.lock), program=program)


def check_requested_limits(submission: Submission, limits: Limits) -> None:
    """Raise if a submission requests more time or memory than the limits grant."""
    header = submission.header
    if header.memory is not None and header.memory * 1e6 > limits.memory_bytes:
        raise TouchstoneError(f"{submission.filename} requests {header.memory:,} MB of memory; the limit is "
                              f"{limits.memory_bytes / 1e6:,.0f} MB. Raise it with `--memory {header.memory}`.")
    if header.time is not None and header.time > limits.seconds_per_unit:
        raise TouchstoneError(f"{submission.filename} requests {header.time:,.0f} seconds per test unit; the limit is "
                              f"{limits.seconds_per_unit:,.0f} seconds. Raise it with `--seconds {header.time:g}`.")


def get_environment(submission: Submission, progress: Progress, *, refresh: bool = False) -> Environment:
    """Return the harness's own environment if it meets the dependencies, else a separate one, built on first use."""
    unmet = unmet_dependencies(submission.header)
    python = next((line for line in unmet if line.startswith("Python ")), None)
    if python is not None:
        raise TouchstoneError(f"{submission.filename} needs {python}, but this is Python {sys.version.split()[0]}; install "
                              "Touchstone with a matching version of Python.")
    if not unmet:
        return HARNESS_ENVIRONMENT
    wanted = sorted({*submission.header.dependencies, *([] if "numpy" in submission.header.distributions else ["numpy"])})
    folder = cache_folder() / "environments"
    pointer = folder / f"{digest_of({'wanted': wanted, 'python': sys.version, 'platform': sys.platform})[:32]}.json"
    with file_lock(folder / ".lock"):
        if refresh or not is_usable(pointer):
            progress.say(f"{submission.filename} needs {', '.join(unmet)}: building a separate environment …")
            try:
                write_lock(pointer, build_environment(wanted, folder, progress))
            except TouchstoneError as refusal:
                raise TouchstoneError(f"{submission.filename} needs {', '.join(unmet)}, but an environment with these packages "
                                      f"cannot be built: {refusal}") from None
            remove_old_environments(folder)
        pointer.touch()
        lock = read_lock(pointer)
        hold(folder / environment_name(lock))
    return Environment(folder / environment_name(lock), lock)


# ---- the folder of environments -----------------------------------------------------------------------------------------

def environment_name(lock: Sequence[str]) -> str:
    """Return the name of an environment: a hash of its lock."""
    return hashlib.sha256("\n".join(lock).encode()).hexdigest()[:32]


def read_lock(pointer: Path) -> tuple[str, ...]:
    """Return the lock that a list of dependencies was resolved to."""
    return tuple(json.loads(pointer.read_text())["lock"])


HELD: dict[Path, IO[str]] = {}              # environments in use by this process, locked against removal


def hold(environment: Path) -> None:
    """Lock an environment against removal while this process uses it."""
    if environment not in HELD:
        HELD[environment] = environment.with_suffix(".used").open("w")
        fcntl.flock(HELD[environment], fcntl.LOCK_SH)


def is_in_use(environment: Path) -> bool:
    """Return whether a living process uses the environment."""
    try:
        with environment.with_suffix(".used").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_usable(pointer: Path) -> bool:
    """Return whether a list of dependencies has been resolved and its environment exists."""
    try:
        return (pointer.parent / environment_name(read_lock(pointer))).is_dir()
    except (OSError, ValueError, KeyError):
        return False


def write_lock(pointer: Path, lock: Sequence[str]) -> None:
    """Record the lock of a list of dependencies, atomically."""
    part = pointer.with_suffix(".part")
    part.write_text(json.dumps({"lock": list(lock)}, indent=1))
    part.replace(pointer)


def remove_old_environments(folder: Path) -> None:
    """Remove the least recently used environments and incomplete ones of killed runs."""
    pointers = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    sound = [pointer for pointer in pointers if is_usable(pointer)]
    kept = {folder / environment_name(read_lock(pointer)) for pointer in sound[:KEPT]}
    for pointer in pointers:
        if pointer not in sound or not (
            folder / environment_name(read_lock(pointer)) in kept or is_in_use(folder / environment_name(read_lock(pointer)))
        ):
            pointer.unlink()
    for path in folder.iterdir():
        if path.is_dir() and path not in kept and not is_in_use(path):
            remove_tree(str(path))
            path.with_suffix(".used").unlink(missing_ok=True)


# ---- making one ---------------------------------------------------------------------------------------------------------

def build_environment(wanted: Sequence[str], folder: Path, progress: Progress) -> tuple[str, ...]:
    """Resolve, download and install the dependencies and return their lock; a failed attempt leaves nothing behind."""
    workshop = Path(tempfile.mkdtemp(prefix="making-", dir=folder))
    try:
        wheels, scratch = workshop / "wheels", workshop / "scratch"
        scratch.mkdir()
        listed, pins = workshop / "wanted.txt", workshop / "pins.txt"
        listed.write_text("".join(f"{Requirement(line)}\n" for line in wanted))
        pins.write_text("".join(f"{line}\n" for line in pinned_requirements()))
        run_pip(["download", "--dest", str(wheels), "--constraint", str(pins), "--requirement", str(listed)], workshop,
                DOWNLOAD_BYTES, progress)
        lock = lock_wheels(sorted(wheels.iterdir()))
        locked_list = workshop / "lock.txt"
        locked_list.write_text("".join(f"{line}\n" for line in lock))
        run_pip(["install", "--no-index", "--find-links", str(wheels), "--no-deps", "--require-hashes", "--target",
                 str(workshop / "libraries"), "--requirement", str(locked_list)], workshop,
                DOWNLOAD_BYTES + INSTALLED_BYTES, progress)
        final = folder / environment_name(lock)
        if not final.exists():
            (workshop / "libraries").rename(final)
        return lock
    finally:
        remove_tree(str(workshop))


def pinned_requirements() -> list[str]:
    """Return the installed torch version as a requirement: its numerics are part of the benchmark."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return [f"torch=={importlib.metadata.version('torch').split('+')[0]}"]
    return []


def lock_wheels(wheels: Sequence[Path]) -> tuple[str, ...]:
    """Return every wheel with its hash; raise if there are too many or they are too large."""
    if len(wheels) > DISTRIBUTIONS:
        raise TouchstoneError(f"it needs {len(wheels)} packages; at most {DISTRIBUTIONS} are allowed.")
    size = files = 0
    lock = []
    for wheel in wheels:
        try:
            name, version, _, _ = parse_wheel_filename(wheel.name)
            check_zip_directory(wheel)
            with zipfile.ZipFile(wheel) as archive:
                size += sum(member.file_size for member in archive.infolist())
                files += len(archive.infolist())
        except (InvalidWheelFilename, zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
            raise TouchstoneError(f"{printable(wheel.name, 80)} is not a wheel; only wheels are installed.") from None
        with wheel.open("rb") as file:
            lock.append(f"{canonicalize_name(name)}=={version} --hash=sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}")
    if size > INSTALLED_BYTES or files > INSTALLED_FILES:
        raise TouchstoneError(f"its packages would take {format_bytes(size)} in {files:,} files; at most "
                              f"{format_bytes(INSTALLED_BYTES)} in {INSTALLED_FILES:,} files are allowed.")
    return tuple(lock)


def check_zip_directory(wheel: Path) -> None:
    """Raise if the member list of a zip file, whose size is stored near its end, would use too much memory."""
    with wheel.open("rb") as file:
        file.seek(max(0, wheel.stat().st_size - ZIP_END_BYTES))
        end = file.read()
    offset = end.rfind(b"PK\5\6")
    if offset < 0 or len(end) < offset + 22:
        raise zipfile.BadZipFile("no end record")
    # all ones in zip64 files, which store it elsewhere
    if int.from_bytes(end[offset + 12:offset + 16], "little") > DIRECTORY_BYTES:
        raise TouchstoneError(f"{printable(wheel.name, 80)} contains too many files.")


def run_pip(words: Sequence[str], workshop: Path, most: int, progress: Progress) -> None:
    """Run pip on wheels only, within limits on disk space and time."""
    command = [sys.executable, "-I", str(PIP_WHEELS_ONLY), "--disable-pip-version-check", "--no-input", "--retries", "2",
               words[0], "--only-binary", ":all:", "--quiet", *words[1:]]
    output_path = workshop / "said.txt"
    with output_path.open("w") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=workshop,
                                   env=pip_variables(workshop / "scratch"))
        try:
            watch_pip(process, workshop, most, progress)
        finally:
            process.kill()
            process.wait()
    if process.returncode:
        complaints = [line.removeprefix("ERROR: ") for line in output_path.read_text(errors="replace").splitlines()
                      if line.startswith("ERROR: ")]
        raise TouchstoneError("pip reports: "
                              f"{printable(complaints[-1] if complaints else output_path.read_text(errors='replace'), 300)} "
                              "(only wheels for this platform and version of Python are installed).")


def pip_variables(scratch: Path) -> dict[str, str]:
    """Return the environment variables that pip needs to reach the index; no unrelated secrets."""
    named = {"PATH", "HOME", "USER", "LANG", "VIRTUAL_ENV", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "NETRC", "REQUESTS_CA_BUNDLE",
             "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
    return {**{name: value for name, value in os.environ.items() if name.upper() in named or name.startswith("PIP_")},
            "TMPDIR": str(scratch)}


def watch_pip(process: subprocess.Popen[bytes], workshop: Path, most: int, progress: Progress) -> None:
    """Wait for pip; end it if it exceeds its disk space or time."""
    started = last_message = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
            return
        size = folder_size(workshop)
        if size > most:
            raise TouchstoneError(f"it takes more than {format_bytes(most)} of disk space.")
        if time.monotonic() - started > SECONDS:
            raise TouchstoneError(f"pip took longer than {SECONDS / 60:.0f} minutes; check that the package index is reachable.")
        if time.monotonic() - last_message > SAID_EVERY:
            last_message = time.monotonic()
            progress.say(f"  … {format_bytes(size)} after {last_message - started:.0f} s")


def folder_size(folder: Path) -> int:
    """Return the total size of the files in a folder; files may vanish meanwhile."""
    size = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += os.lstat(os.path.join(where, name)).st_size
    return size
