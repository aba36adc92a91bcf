"""Supervisors: processes inside the sandbox that fork fresh workers in milliseconds."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.sandbox.cgroups import REAP_SECONDS
from harness.sandbox.faults import SupervisorLost
from harness.sandbox.inside.remove_tree import remove_tree
from harness.sandbox.inside.worker import FRAME_BYTES
from harness.sandbox.layers import INSIDE, Sandbox, WorkerEnvironment, interpreter_command, library_folders
from harness.sandbox.leftovers import remove_leftovers
from harness.sandbox.limits import Limits
from harness.sandbox.worker_client import Worker
from harness.sandbox.worker_output import WorkerOutput

PRELOADED = (                               # slow imports; done before forking if a submission names them
    "faiss", "mauve", "nltk", "ot", "pandas", "prdc", "rapidfuzz.distance", "rapidfuzz.process", "rouge_score",
    "rouge_score.rouge_scorer", "sacrebleu", "sacrebleu.metrics", "scipy.fft", "scipy.linalg", "scipy.optimize", "scipy.sparse",
    "scipy.spatial", "scipy.spatial.distance", "scipy.special", "scipy.stats", "sentence_transformers", "sklearn.cluster",
    "sklearn.feature_extraction.text", "sklearn.linear_model", "sklearn.metrics", "sklearn.metrics.pairwise",
    "sklearn.neighbors", "sklearn.svm", "tokenizers", "torch", "transformers")
ALWAYS_PRELOADED = ("numpy", "numpy.random", "numpy.linalg")


class Supervisor:
    """One supervisor process and its workers. Use it only from the thread that created it."""

    def __init__(self, confinement: Sandbox, limits: Limits, ground: WorkerEnvironment | None = None) -> None:
        self.ground = ground or default_environment()
        self.limits = limits
        remove_leftovers()
        self._folder = Path(tempfile.mkdtemp(prefix=f"touchstone-{os.getpid()}-"))
        try:
            self.group = confinement.group(self._folder.name, limits)
        except OSError as error:
            remove_tree(str(self._folder))
            raise SupervisorLost(f"A control group could be created before, but not any more ({error.strerror}).") from None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wanted = {"control": theirs.fileno(), "libraries": self.ground.libraries, "preload": self.ground.preload,
                  "restrictions": confinement.entry_settings(self.ground, limits)}
        output_end, output_write_end = os.pipe()
        self._killed = False
        worker = [*interpreter_command(), str(INSIDE / "worker.py"), json.dumps(wanted)]
        self._process = subprocess.Popen(
            confinement.command(worker, self.ground, self._folder, limits, self.group),
            stdin=subprocess.DEVNULL, stdout=output_write_end, stderr=output_write_end, cwd=self._folder,
            start_new_session=True, pass_fds=[theirs.fileno()], close_fds=True)
        theirs.close()
        self.control = ours
        self.control.settimeout(limits.seconds_to_start)
        os.close(output_write_end)
        self._output = WorkerOutput(output_end, limits.output_characters)
        try:
            self._control({})
        except (OSError, ValueError):
            output = self._output.last()
            self.close()
            raise SupervisorLost(f"The supervisor of a worker did not start: {output}.") from None

    def _control(self, frame: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Send a command to the supervisor and return its reply; kill it if it does not answer."""
        try:
            if frame:
                socket.send_fds(self.control, [json.dumps(frame).encode()], descriptors)
            reply: dict[str, Any] = json.loads(self.control.recv(FRAME_BYTES))
        except (OSError, ValueError):
            self.kill()
            raise
        return reply

    def fork(self) -> Worker:
        """Return a fresh worker, which shares no open file with another one."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        printed, printing = os.pipe()
        try:
            process = self._control({"do": "fork"}, [theirs.fileno(), printing])["worker"]
        except (OSError, ValueError):
            ours.close()
            os.close(printed)
            raise SupervisorLost("The supervisor of a worker has ended.") from None
        finally:
            theirs.close()
            os.close(printing)
        return Worker(self, process, ours, WorkerOutput(printed, self.limits.output_characters))

    def reap(self, process: int, patience: float) -> int | None:
        """Return the wait status of a worker that has ended; None if it had to be killed or the supervisor is lost."""
        try:
            status: int | None = self._control({"do": "bury", "worker": process, "patience": patience})["status"]
        except (OSError, ValueError):
            return None
        return status

    def peak_memory(self, process: int) -> int | None:
        """Return a worker's peak memory in bytes, including what it shares with the supervisor.

        0 if it has ended, None if unknown.
        """
        try:
            peak: int | None = self._control({"do": "weigh", "worker": process})["bytes"]
        except (OSError, ValueError):
            raise SupervisorLost("The supervisor of a worker has ended.") from None
        return peak

    def ran_out_of_memory(self) -> bool:
        """Return whether the control group has killed a process since the last call."""
        return self.group is not None and self.group.bit()

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return not self._killed and self._process.poll() is None

    def kill(self) -> None:
        """Kill the supervisor and thereby its workers. Any thread may call this; the owner must still call `close`."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """End the supervisor and remove its files."""
        self.control.close()
        self.kill()
        self._process.wait()
        self._output.wait_closed(REAP_SECONDS)        # inside bubblewrap it is not a child process and ends a moment later
        self._output.close()
        if self.group is not None:
            self.group.remove()
        remove_tree(str(self._folder))


def default_environment(source: bytes = b"", models: Iterable[str] = (), executable: Iterable[str] = ()) -> WorkerEnvironment:
    """Return the harness's own environment, preloading only those slow modules that the submission imports."""
    return WorkerEnvironment(library_folders(), (*ALWAYS_PRELOADED, *modules_to_preload(source)), tuple(sorted(models)),
                             tuple(executable))


@cache
def modules_to_preload(source: bytes) -> tuple[str, ...]:
    """Return the slow modules that a submission imports."""
    text = source.decode("utf-8", "replace")
    return tuple(module for module in PRELOADED if imports_module(text, module))


def imports_module(text: str, module: str) -> bool:
    """Return whether a line imports the module: `import a.b`, `from a.b import ...`, `from a import ..., b`."""
    parent, _, child = module.rpartition(".")
    forms = [rf"(?:import|from)[ \t]+{re.escape(module)}(?![\w.])"]
    if parent:
        forms.append(rf"from[ \t]+{re.escape(parent)}[ \t]+import[^\n#]*\b{re.escape(child)}\b")
    return re.search(rf"^[ \t]*(?:{'|'.join(forms)})", text, re.MULTILINE) is not None

