"""Run a metric that is a program: JSON lines on its standard input and output.

The worker writes one line per call, `{"n": ..., "call": ..., "seed": ..., "arguments": [...]}`, and reads one line,
`{"n": ..., "value": ...}` or `{"n": ..., "error": "..."}`, with the random number of the call. The first call is `setup`, with
`parameters` and `models`, and the value of its answer is the list of functions that the program has. If `prepare` is one of them,
a corpus is passed once, with its number as `corpus`, and is `{"corpus": NUMBER}` as an argument of later calls, until `clear`.

The program is a child of the worker with the same restrictions. It has no descriptor of the worker except its standard streams.
"""

import json
import os
import secrets
import select
import signal
from collections.abc import Callable
from typing import Any, NoReturn

ANSWER_BYTES = 64_000_000
MESSAGE_CHARACTERS = 400
DESCRIPTORS = 1 << 16


class ProgramError(Exception):
    """What a program reports as an error."""


class WrongLine(Exception):
    """A line that is not an answer; the worker reports it as a wrong answer."""


class StoredCorpus:
    """A corpus that the program holds."""

    def __init__(self, number: int) -> None:
        self.number = number


class Program:
    """A running program. If it ends, so does this process, in the same way."""

    def __init__(self, command: list[str], source: bytes, filename: str) -> None:
        self.command, self.source, self.filename = command, source, filename
        self.process = self.requests = self.answers = -1
        self.seed = 0
        self.corpora = 0
        self.pending = b""
        self.wrong: WrongLine | None = None     # after which no line can be attributed to a call

    def start(self, confine: Callable[[], None], prctl: Callable[..., int]) -> None:
        """Write the source to the current folder and execute the command with its path as last argument."""
        with open(self.filename, "wb") as file:
            file.write(self.source)
        program_input, self.requests = os.pipe()
        self.answers, program_output = os.pipe()
        worker = os.getpid()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.dup2(program_input, 0)
                os.dup2(program_output, 1)
                os.closerange(3, DESCRIPTORS)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                prctl(1, signal.SIGKILL, 0, 0, 0)           # PR_SET_PDEATHSIG: it ends with the worker
                if os.getppid() != worker:
                    os._exit(0)
                environment = {**os.environ, "PERL_HASH_SEED": "0", "PERL_RAND_SEED": "0", "OPENSSL_CONF": "/dev/null"}
                confine()
                os.execve(self.command[0], [*self.command, self.filename], environment)
            except BaseException as error:                  # noqa: BLE001  # nothing of the worker may run in this process
                os.write(2, f"{self.command[0]} could not be started: {error}\n".encode())
            finally:
                os._exit(127)
        os.close(program_input)
        os.close(program_output)
        os.set_blocking(self.requests, False)

    def functions(self, parameters: dict[str, Any], models: dict[str, str],
                  known: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
        """Return the functions of the program, by name."""
        names = self.call("setup", (), parameters=parameters, models=models)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise WrongLine("the value of its answer to `setup` must be a list of its functions, such as [\"distance\"]")
        functions: dict[str, Callable[..., Any]] = {
            name: lambda *arguments, name=name: self.call(name, arguments) for name in known if name in names
        }
        return {**functions, "prepare": self.prepare} if "prepare" in names else functions

    def prepare(self, corpus: Any) -> StoredCorpus:
        """Pass a corpus and return a reference to it."""
        self.corpora += 1
        self.call("prepare", (corpus,), corpus=self.corpora)
        return StoredCorpus(self.corpora)

    def clear(self) -> None:
        """Let the program remove the corpora that it holds."""
        if self.corpora:
            self.call("clear", ())

    def call(self, name: str, arguments: tuple[Any, ...], **more: Any) -> Any:
        """Send a call and return the value of the answer."""
        if self.wrong is not None:
            raise self.wrong
        try:
            return self._answer(name, arguments, more)
        except WrongLine as error:
            self.wrong = error
            raise

    def _answer(self, name: str, arguments: tuple[Any, ...], more: dict[str, Any]) -> Any:
        number = secrets.randbits(48)
        request = {"n": number, "call": name, "seed": self.seed, "arguments": list(map(as_json, arguments)), **more}
        line = self._exchange(json.dumps(request).encode() + b"\n", name)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise WrongLine(f"its answer to `{name}` is not a line of JSON: {line[:80].decode('utf-8', 'replace')!r}") from None
        if not isinstance(answer, dict) or answer.get("n") != number:
            raise WrongLine(f"its answer to `{name}` does not carry the number `n` of the call")
        if "error" in answer:
            raise ProgramError(str(answer["error"])[:MESSAGE_CHARACTERS])
        if "value" not in answer:
            raise WrongLine(f"its answer to `{name}` has no `value`")
        return answer["value"]

    def _exchange(self, request: bytes, name: str) -> bytes:
        """Write a line, read meanwhile, and return the first line of output; more than one line per call is wrong."""
        unsent = memoryview(request)
        while unsent or b"\n" not in self.pending:
            readable, writable, _ = select.select([self.answers], [self.requests] if unsent else [], [])
            if writable:
                try:
                    unsent = unsent[os.write(self.requests, unsent):]
                except BrokenPipeError:
                    unsent = unsent[:0]                 # it reads no more: its last output and its end follow
            if readable:
                content = os.read(self.answers, 1 << 20)
                if not content:
                    self._ended()
                self.pending += content
                if len(self.pending) > ANSWER_BYTES:
                    raise WrongLine(f"its answer to `{name}` is longer than {ANSWER_BYTES // 1_000_000} MB")
        line, _, rest = self.pending.partition(b"\n")
        self.pending = rest
        if rest:
            raise WrongLine(f"it wrote more than one line in answer to `{name}`")
        return line

    def _ended(self) -> NoReturn:
        """End this process as the program has ended: its output was closed."""
        status = 0
        for _ in range(200):
            reaped, status = os.waitpid(self.process, os.WNOHANG)
            if reaped:
                break
            select.select([], [], [], 0.005)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL) if os.WTERMSIG(status) != signal.SIGKILL else None
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(os.WEXITSTATUS(status))


def as_json(argument: Any) -> Any:
    """Return an argument of a call as JSON values."""
    if isinstance(argument, StoredCorpus):
        return {"corpus": argument.number}
    return argument.tolist() if hasattr(argument, "tolist") else argument
