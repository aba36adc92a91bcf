"""The harness's end of a worker: starting it, asking it, and surviving what it does.

A `Host` is one supervisor process (`harness/worker.py`) from which fresh workers are forked in milliseconds; a `Worker`
holds one metric and answers numbered questions.  Whatever a worker does wrong becomes a `Fault` here.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from harness.errors import printable
from harness.faults import Fault, FaultKind
from harness.isolation import HERE, Confinement, Limits, environment, interpreter, libraries
from harness.mailboxes import Content, Mailboxes
from harness.worker import ANSWER, FRAME_BYTES, FUNCTIONS, QUESTION, remove_tree

DRAINED_READS = 64
QUICK = struct.pack("ll", 0, 5_000)         # struct timeval: 5 ms
PRELOADED = {                               # by distribution: what is worth importing once, before workers are forked
    "numpy": ["numpy", "numpy.random", "numpy.linalg"],
    "scipy": ["scipy.linalg", "scipy.sparse", "scipy.spatial.distance", "scipy.special", "scipy.stats"],
    "rapidfuzz": ["rapidfuzz.distance", "rapidfuzz.process"],
    "scikit-learn": ["sklearn.neighbors", "sklearn.linear_model", "sklearn.cluster"],
}
PATIENCE = 0.5                              # seconds between a closed channel and a kill


class Host:
    """One supervisor process and the workers it forks.  To be used by one thread, the one that made it."""

    def __init__(self, confinement: Confinement, limits: Limits, preloaded: frozenset[str] = frozenset()) -> None:
        """Starts it; libraries that many workers would import are imported once, before they are forked."""
        self.limits, self.preloaded = limits, preloaded
        sweep()
        self._temporary = Path(tempfile.mkdtemp(prefix=f"touchstone-{os.getpid()}-"))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wanted = {"control": theirs.fileno(), "libraries": libraries(),
                  "preload": [module for name in sorted({"numpy", *preloaded}) for module in PRELOADED[name]],
                  "walls": confinement.walls(limits)}
        worker = [*interpreter(), str(HERE / "worker.py"), json.dumps(wanted)]
        self._process = subprocess.Popen(
            confinement.command(worker, environment(self._temporary), limits),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self._temporary,
            start_new_session=True, pass_fds=[theirs.fileno()], close_fds=True)
        theirs.close()
        self.control = ours
        self.control.settimeout(limits.seconds_to_start)
        self._streams = [stream.fileno() for stream in (self._process.stdout, self._process.stderr) if stream]
        for stream in self._streams:
            os.set_blocking(stream, False)
        self._output = b""
        try:
            self._control({})
        except (OSError, ValueError):
            output = self.output()
            self.close()
            raise RuntimeError(f"the worker's supervisor did not start: {output}") from None

    def _control(self, frame: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Tells the supervisor something and takes its answer; one that does not answer is ended."""
        try:
            if frame:
                socket.send_fds(self.control, [json.dumps(frame).encode()], descriptors)
            reply: dict[str, Any] = json.loads(self.control.recv(FRAME_BYTES))
        except (OSError, ValueError):
            self.kill()
            raise
        return reply

    def fork(self) -> Worker:
        """A fresh worker: it has seen nothing, and what others printed is not laid at its door."""
        self.output()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            process = self._control({"do": "fork"}, [theirs.fileno()])["worker"]
        except (OSError, ValueError):
            ours.close()
            raise Fault(FaultKind.DIED, "the worker's supervisor was gone") from None
        finally:
            theirs.close()
        return Worker(self, process, ours)

    def bury(self, process: int, patience: float) -> int | None:
        """The wait status of a worker that ended, None if it had to be killed or the supervisor is gone too."""
        try:
            status: int | None = self._control({"do": "bury", "worker": process, "patience": patience})["status"]
        except (OSError, ValueError):
            return None
        return status

    def drain(self) -> None:
        """Takes what was printed, so that no printer waits for us; keeps the last of it."""
        for stream in self._streams:
            with contextlib.suppress(OSError):
                for _ in range(DRAINED_READS):          # a printer as quick as we are would keep us for ever
                    printed = os.read(stream, 65_536)
                    self._output = (self._output + printed)[-self.limits.output_characters:]
                    if not printed:
                        break

    def output(self) -> str:
        """The last of what was printed since this was last asked, harmless in a terminal."""
        self.drain()
        printed, self._output = self._output, b""
        return printable(printed.decode("utf-8", "replace"), self.limits.output_characters)

    @property
    def streams(self) -> list[int]:
        return self._streams

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the supervisor, and by its death its workers.  Any thread may call this; the owner still closes."""
        self._process.kill()

    def close(self) -> None:
        """Ends the supervisor and cleans up after it."""
        self.control.close()
        self.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        self._streams = []
        remove_tree(str(self._temporary))


class Worker:
    """One metric in one process.  A fault that ends it leaves `alive` False; the host forks another."""

    def __init__(self, host: Host, process: int, channel: socket.socket) -> None:
        self._host, self._process, self._channel = host, process, channel
        self._number = 0
        self._mail = Mailboxes(self._share)
        self.alive = True
        self.functions: frozenset[str] = frozenset()
        self.deadline = time.monotonic() + host.limits.seconds_to_start
        self._poll = select.poll()
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, QUICK)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, QUICK)
        for descriptor in (channel.fileno(), *host.streams):
            self._poll.register(descriptor, select.POLLIN)

    def load(self, source: bytes, filename: str, parameters: Mapping[str, Any],
             models: Mapping[str, str]) -> None:
        """Executes the submission in the worker, which says what functions it defines."""
        self._mail.post([source])
        functions = self._ask({"do": "load", "filename": filename, "parameters": dict(parameters),
                               "models": dict(models), "bytes": len(source)}).get("functions")
        if not isinstance(functions, list) or not all(isinstance(name, str) for name in functions):
            self._broken("its reply to `load` names no functions")
        self.functions = frozenset(functions)

    def hold(self, handle: int, corpus: Content, seed: int) -> None:
        """Gives a corpus to keep under a handle, prepared if the metric prepares."""
        self._question("prepare", [corpus], seed, handle=handle)

    def forget(self) -> None:
        self._ask({"do": "forget"})

    def fit(self, texts: Content, seed: int) -> None:
        self._question("fit", [texts], seed)

    def number(self, function: str, arguments: Sequence[int | Content], seed: int) -> float:
        """One number from `distance(p, q)` or `similarity(p, q)`; held corpora are given by their handles."""
        return self._question(function, arguments, seed)

    def numbers(self, function: str, arguments: Sequence[int | Content], shape: tuple[int, ...], seed: int) -> np.ndarray:
        """An array of the given shape, of one or two dimensions, from a call on lists or arrays."""
        size = 8 * math.prod(shape)
        if not size:
            return np.empty(shape)
        self._question(function, arguments, seed, shape=shape)
        return self._mail.collect(shape, size)

    def close(self) -> None:
        """Ends the process."""
        if self.alive:
            self._end(0)

    def _question(self, function: str, arguments: Sequence[int | Content], seed: int, handle: int = 0,
                  shape: tuple[int, ...] = ()) -> float:
        """Calls one function of the submission; the number it answered, 0 where it answers an array or nothing."""
        described = self._mail.post_arguments(arguments, 8 * math.prod(shape) if shape else 0)
        self._number += 1
        rows, columns = (*shape, 0, 0)[:2]
        head = QUESTION.pack(b"?", self._number, seed, FUNCTIONS.index(function), handle, rows, columns)
        reply = self._exchange(head + described)
        if reply.get("shape") != (rows, columns):
            self._broken(f"its reply to `{function}` is no answer of the shape it was asked for")
        value: float = reply["value"]
        return value

    def _share(self, inbox: int, outbox: int, size: int) -> None:
        try:
            self._ask({"do": "share", "size": size}, [inbox, outbox])
        except Fault:                       # it would go on with the mailboxes of before
            if self.alive:
                self._end(0)
            raise

    def _ask(self, frame: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        self._number += 1
        return self._exchange(json.dumps({"n": self._number, **frame}).encode(), descriptors)

    def _exchange(self, packet: bytes, descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Sends a question and takes the reply that carries its number."""
        if not self.alive:
            raise Fault(FaultKind.DIED, "the worker has ended")
        try:
            if descriptors:
                socket.send_fds(self._channel, [packet], descriptors)
            else:
                self._channel.send(packet)
        except BlockingIOError:             # answers in advance, and reads no questions any more
            self._broken("it does not take the next question")
        except OSError:
            self._died()
        reply = self._receive()
        if type(reply.get("n")) is not int or reply["n"] != self._number:
            self._broken("its reply does not carry the question's number")
        if "wrong" in reply:
            raise self._reported(reply["wrong"])
        return reply

    def _receive(self) -> dict[str, Any]:
        packet = self._quick_packet() or self._packet()
        if len(packet) > FRAME_BYTES:
            self._broken("its reply is longer than a frame may be")
        if packet.startswith(b"=") and len(packet) == ANSWER.size:
            _, number, value, *shape = ANSWER.unpack(packet)
            return {"n": number, "value": value, "shape": tuple(shape)}
        try:
            reply = json.loads(packet)
        except (ValueError, RecursionError):
            self._broken("its reply cannot be read")
        if not isinstance(reply, dict):
            self._broken("its reply is not a frame")
        return reply

    def _quick_packet(self) -> bytes:
        """The next packet if it comes within moments, at the price of one system call."""
        try:
            return self._channel.recv(FRAME_BYTES + 1)
        except OSError:                     # the time set on the socket is over
            return b""

    def _packet(self) -> bytes:
        """The next packet by the deadline; takes what is printed in the meantime."""
        channel = self._channel.fileno()
        while True:
            left = self.deadline - time.monotonic()
            ready = self._poll.poll(left * 1000) if left > 0 else []
            if not ready:
                self._end(0)
                raise Fault(FaultKind.TIME, "did not answer within the time allowed and was stopped",
                            output=self._host.output())
            if any(descriptor == channel for descriptor, _ in ready):
                break
            self._host.drain()
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in ready):
                self._died()
        packet = self._quick_packet()
        if not packet:
            self._died()
        return packet

    def _reported(self, wrong: Any) -> Fault:
        """A fault as the worker itself describes it: a claim, bounded and made harmless."""
        if not isinstance(wrong, dict):
            wrong = {}
        message, places = printable(str(wrong.get("message", "")), 400), wrong.get("places")
        shown = [printable(str(place), 180) for place in places[:8]] if isinstance(places, list) else []
        if wrong.get("form") is True:
            return Fault(FaultKind.FORM, message, shown, self._host.output())
        name = printable(str(wrong.get("type", "an exception")), 80)
        return Fault(FaultKind.RAISED, f"raised {name}: {message}" if message else f"raised {name}", shown,
                     self._host.output())

    def _end(self, patience: float) -> int | None:
        self.alive = False
        self._mail.close()
        self._channel.close()
        return self._host.bury(self._process, patience)

    def _died(self) -> NoReturn:
        status = self._end(PATIENCE)
        if status is None:
            sentence = "closed its channel in the middle of a question and was stopped"
        elif os.WIFSIGNALED(status):
            sentence = f"was killed by {signal_name(os.WTERMSIG(status))} in the middle of a question"
        else:
            sentence = f"left with exit code {os.WEXITSTATUS(status)} in the middle of a question"
        raise Fault(FaultKind.DIED, sentence, output=self._host.output())

    def _broken(self, what: str) -> NoReturn:
        self._end(0)
        raise Fault(FaultKind.PROTOCOL, f"broke the protocol: {what}", output=self._host.output())


@cache
def sweep() -> None:
    """Removes what runs that were killed have left in the temporary folder."""
    for left in Path(tempfile.gettempdir()).glob("touchstone-[0-9]*-*"):
        if not Path(f"/proc/{left.name.split('-')[1]}").exists():
            remove_tree(str(left))


def signal_name(number: int) -> str:
    """What people call a signal: SIGSEGV (Segmentation fault); real-time signals have numbers only."""
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:
        return f"signal {number}"


def worth_preloading(distributions: Iterable[str]) -> frozenset[str]:
    """Those of a submission's dependencies that a host should import; no more, since a larger process forks more slowly."""
    return frozenset(distributions) & PRELOADED.keys() - {"numpy"}
