"""The harness's end of a worker: make calls, and survive anything it does.

A `Worker` holds one metric and answers numbered calls (`inside/worker.py` is the other end). Any misbehaviour is raised as a
`Fault`. Workers are created by `supervisor.py`.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import select
import signal
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from harness.base.errors import format_bytes, printable
from harness.sandbox.faults import Fault, FaultKind, WorkerLost
from harness.sandbox.inside.worker import ANSWER, CALL, FRAME_BYTES, FUNCTIONS, SEALED, SERIES, SERIES_ITEM
from harness.sandbox.shared_memory import Content, SharedMemory, describe_array, seal_array
from harness.sandbox.worker_output import WorkerOutput

if TYPE_CHECKING:
    from harness.sandbox.supervisor import Supervisor

QUICK = struct.pack("ll", 0, 5_000)         # struct timeval: 5 ms
LONGEST_SERIES = 2_000                      # calls in one frame
PATIENCE = 0.5                              # seconds from a closed channel to a kill


class Worker:
    """One metric in one process. After a fault that ends it, `alive` is False."""

    def __init__(self, host: Supervisor, process: int, channel: socket.socket, output: WorkerOutput) -> None:
        self._host, self._process, self._channel, self._output = host, process, channel, output
        self._number = 0                    # number of the current call, random so that an answer cannot precede it
        self._mail = SharedMemory(self._share)
        self.alive = True
        self.functions: frozenset[str] = frozenset()
        self.fitted: str | None = None      # hash of the collection of the last `fit`
        self.deadline, self.time_limit = time.monotonic() + host.limits.seconds_to_start, host.limits.describe_start()
        self._poll = select.poll()
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, QUICK)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, QUICK)
        for descriptor in (channel.fileno(), output.descriptor):
            self._poll.register(descriptor, select.POLLIN)

    def load(self, source: bytes, filename: str, parameters: Mapping[str, Any],
             models: Mapping[str, str], watch: bool = False, command: Sequence[str] = ()) -> None:
        """Execute the submission in the worker and receive the names of its functions.

        With a command, it is a program that the command executes.
        """
        self._mail.post([source])
        functions = self._ask({"do": "load", "filename": filename, "parameters": dict(parameters),
                               "models": dict(models), "bytes": len(source), "watch": watch,
                               "command": list(command)}).get("functions")
        if not isinstance(functions, list) or not all(isinstance(name, str) for name in functions):
            self._broken("its reply to `load` names no functions")
        self.functions = frozenset(functions)

    def store_corpus(self, handle: int, corpus: Content, seed: int) -> None:
        """Store a corpus under a handle, prepared if the metric defines `prepare`."""
        self._pass_corpus("prepare", corpus, seed, handle)

    def clear_corpora(self) -> None:
        """Clear the stored corpora."""
        self._ask({"do": "forget"})

    def fit(self, texts: Content, seed: int) -> None:
        """Call `fit`."""
        self._question("fit", [texts], seed)

    def call(self, function: str, arguments: Sequence[int | Content], seed: int) -> float:
        """Return one number from `distance(p, q)` or `similarity(p, q)`; stored corpora are given by handle."""
        return self._question(function, arguments, seed)

    def call_many(self, function: str, questions: Sequence[tuple[Sequence[int], int]]) -> list[float]:
        """Return the numbers for many pairs of stored corpora, each with a seed, in one exchange."""
        values: list[float] = []
        for start in range(0, len(questions), LONGEST_SERIES):
            part = questions[start:start + LONGEST_SERIES]
            self._number = secrets.randbits(63)
            head = SERIES.pack(b"*", self._number, FUNCTIONS.index(function), len(part))
            reply = self._exchange(head + b"".join(SERIES_ITEM.pack(seed, *handles) for handles, seed in part))
            values_of_part = reply.get("values")
            if not isinstance(values_of_part, tuple) or len(values_of_part) != len(part):         # JSON never gives a tuple
                self._broken(f"its reply to a series of `{function}` does not have as many answers as calls")
            values += values_of_part
        return values

    def ping(self, handles: Sequence[int]) -> None:
        """Send handles as for `call` and receive a reply without calling the metric."""
        self._question("", handles, 0)

    def ping_with_corpus(self, corpus: Content) -> None:
        """Send a corpus as for `store_corpus` and receive a reply without storing it."""
        self._pass_corpus("", corpus, 0, 0)

    def call_array(self, function: str, arguments: Sequence[int | Content], shape: tuple[int, ...], seed: int) -> np.ndarray:
        """Return an array of the given shape (one or two dimensions) from a call on lists or arrays."""
        size = 8 * math.prod(shape)
        if not size:
            return np.empty(shape)
        self._question(function, arguments, seed, shape=shape)
        return self._mail.collect(shape, size)

    def refused_attempts(self) -> list[tuple[str, str]]:
        """Return what a watched submission attempted and where: claims of the worker, sanitized."""
        attempts = self._ask({"do": "tell"}).get("noticed")
        return [(sanitize_claim(attempt[0], 200), sanitize_claim(attempt[1], 100)) for attempt in attempts[:20]
                if isinstance(attempt, list) and len(attempt) == 2] if isinstance(attempts, list) else []

    def peak_memory(self) -> int | None:
        """Return the peak memory in bytes since the fork, as read by the supervisor; None if unknown."""
        peak = self._host.peak_memory(self._process)
        if peak == 0:                       # it was counted before: it has ended since
            self._died()
        return peak

    def close(self) -> None:
        """End the process."""
        if self.alive:
            self._end(0)

    def _question(self, function: str, arguments: Sequence[int | Content], seed: int, handle: int = 0,
                  shape: tuple[int, ...] = ()) -> float:
        """Call one function and return its number, or 0 if it returns an array or nothing."""
        described = self._mail.post_arguments(arguments, 8 * math.prod(shape) if shape else 0)
        return self._call(function, described, seed, handle, shape)

    def _pass_corpus(self, function: str, corpus: Content, seed: int, handle: int) -> None:
        """Call a function with a corpus that the worker may keep: vectors travel in a sealed file."""
        if not isinstance(corpus, np.ndarray) or not corpus.size:
            self._question(function, [corpus], seed, handle)
            return
        descriptor = seal_array(corpus)
        try:
            self._call(function, describe_array(SEALED, corpus), seed, handle, (), [descriptor])
        finally:
            os.close(descriptor)

    def _call(self, function: str, described: bytes, seed: int, handle: int, shape: tuple[int, ...],
              descriptors: Sequence[int] = ()) -> float:
        """Send a call and return the number that the reply carries."""
        self._number = secrets.randbits(63)
        rows, columns = (*shape, 0, 0)[:2]
        head = CALL.pack(b"?", self._number, seed, FUNCTIONS.index(function), handle, rows, columns)
        reply = self._exchange(head + described, descriptors)
        if reply.get("shape") != (rows, columns):
            self._broken(f"its reply to `{function}` does not have the requested shape")
        value: float = reply["value"]
        return value

    def _share(self, inbox: int, outbox: int, size: int) -> None:
        try:
            self._ask({"do": "share", "size": size}, [inbox, outbox])
        except Fault:                       # it would continue with the old memory files
            if self.alive:
                self._end(0)
            raise

    def _ask(self, frame: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        self._number = secrets.randbits(63)
        return self._exchange(json.dumps({"n": self._number, **frame}).encode(), descriptors)

    def _exchange(self, packet: bytes, descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Send a frame and return the reply that carries its number."""
        if not self.alive:
            raise Fault(FaultKind.DIED, "the worker has ended")
        if time.monotonic() > self.deadline:            # a metric that always answers at once never reaches a wait, so check here
            self._out_of_time()
        try:
            if descriptors:
                socket.send_fds(self._channel, [packet], descriptors)
            else:
                self._channel.send(packet)
        except BlockingIOError:             # it sends answers in advance and does not read calls any more
            self._broken("it does not accept the next call")
        except OSError:
            self._died()
        reply = self._receive()
        if type(reply.get("n")) is not int or reply["n"] != self._number:
            self._broken("its reply does not carry the number of the call")
        if "wrong" in reply:
            raise self._reported(reply["wrong"])
        return reply

    def _receive(self) -> dict[str, Any]:
        packet = self._quick_packet() or self._packet()
        if len(packet) > FRAME_BYTES:
            self._broken("its reply is longer than a frame allows")
        if packet.startswith(b"=") and len(packet) == ANSWER.size:
            _, number, value, *shape = ANSWER.unpack(packet)
            return {"n": number, "value": value, "shape": tuple(shape)}
        if packet.startswith(b"*") and len(packet) >= SERIES.size and (len(packet) - SERIES.size) % 8 == 0:
            _, number, _, _ = SERIES.unpack_from(packet)
            return {"n": number, "values": tuple(np.frombuffer(packet, "<f8", offset=SERIES.size).tolist())}
        try:
            reply = json.loads(packet)
        except (ValueError, RecursionError):
            self._broken("its reply cannot be read")
        if not isinstance(reply, dict):
            self._broken("its reply is not a frame")
        return reply

    def _quick_packet(self) -> bytes:
        """Return the next packet if it arrives within milliseconds, at the price of one system call."""
        try:
            return self._channel.recv(FRAME_BYTES + 1)
        except OSError:                     # socket timeout
            return b""

    def _packet(self) -> bytes:
        """Return the next packet before the deadline, draining the output meanwhile."""
        channel = self._channel.fileno()
        while True:
            left = self.deadline - time.monotonic()
            ready = self._poll.poll(left * 1000) if left > 0 else []
            if not ready:
                self._out_of_time()
            if any(descriptor == channel for descriptor, _ in ready):
                break
            self._output.drain()
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in ready):
                self._poll.unregister(self._output.descriptor)      # it closed its own output, which is allowed
        packet = self._quick_packet()
        if not packet:
            self._died()
        return packet

    def _reported(self, report: Any) -> Fault:
        """Return the fault that the worker describes: a claim, limited and sanitized."""
        if not isinstance(report, dict):
            report = {}
        message, lines = sanitize_claim(report.get("message"), 400), report.get("places")
        traceback_lines = [sanitize_claim(line, 180) for line in lines[:8]] if isinstance(lines, list) else []
        if report.get("form") is True:
            return Fault(FaultKind.FORM, message, traceback_lines, self._output.last())
        name = sanitize_claim(report.get("type"), 80)
        sentence = (f"raised {name}: {message}" if message else f"raised {name}") + self._host.limits.explain_failure(
            name, message
        )
        return Fault(FaultKind.RAISED, sentence, traceback_lines, self._output.last())

    def _end(self, patience: float) -> int | None:
        self.alive = False
        self._mail.close()
        self._channel.close()
        status = self._host.reap(self._process, patience)
        self._output.close()
        return status

    def _out_of_time(self) -> NoReturn:
        self._end(0)
        raise Fault(FaultKind.TIME, f"did not answer within the time allowed and was stopped: its limit is {self.time_limit}",
                    output=self._output.last())

    def _died(self) -> NoReturn:
        status, limits = self._end(PATIENCE), self._host.limits
        if not self._host.alive:
            raise WorkerLost("A worker was taken down with its supervisor.")
        if self._host.ran_out_of_memory():
            sentence = (f"was killed: it used more than {format_bytes(limits.memory_bytes)} of memory (raise the limit with "
                        f"--memory {limits.memory_bytes // 500_000})")
        elif status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            sentence = (f"was killed: it used up its {limits.processor_seconds:,} seconds of processor time (raise the limit "
                        f"with --limit processor_seconds={2 * limits.processor_seconds})")
        elif status is None:
            sentence = "closed its channel during a call and was stopped"
        elif os.WIFSIGNALED(status):
            sentence = f"was killed by {signal_name(os.WTERMSIG(status))} during a call"
        else:
            sentence = f"ended with exit code {os.WEXITSTATUS(status)} during a call"
        raise Fault(FaultKind.DIED, sentence, output=self._output.last())

    def _broken(self, what: str) -> NoReturn:
        self._end(0)
        raise Fault(FaultKind.PROTOCOL, f"broke the protocol: {what}", output=self._output.last())


def sanitize_claim(text: object, characters: int) -> str:
    """Return a text from a worker, limited and safe to print; empty if it is no text."""
    return printable(text, characters) if isinstance(text, str) else ""


def signal_name(number: int) -> str:
    """Return a readable signal name, such as SIGSEGV (Segmentation fault)."""
    try:
        return f"{signal.Signals(number).name} ({signal.strsignal(number)})"
    except ValueError:
        return f"signal {number}"
