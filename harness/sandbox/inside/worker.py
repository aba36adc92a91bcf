"""The process that runs a metric: standard library and NumPy only, so that any environment can host it.

The *supervisor* starts first and runs nothing of a submission: it forks fresh workers on request and reports how they ended. A
*worker* holds one metric and answers calls; it has no labels, no scores and no store.

A frame is one packet on a sequenced-packet socket, numbered by the harness. Calls and answers are fixed structures, everything
else is JSON. What does not fit a frame is passed through two memory files of fixed size: the *inbox*, sealed so that only the
harness can write to it, and the *outbox* for arrays of answers. Vectors that are stored for later calls come in a sealed file of
their own. A reply carries the number of the call and the answer, or what went wrong, and nothing else. The other end is
`harness/sandbox/worker_client.py`.
"""

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import inspect
import itertools
import json
import mmap
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

FRAME_BYTES = 65_536
DESCRIPTORS_BYTES = socket.CMSG_SPACE(2 * struct.calcsize("i"))
MODULE = "_touchstone_submission"
PR_SET_PDEATHSIG = 1
CALL = struct.Struct("<cQQBQII")      # "?", number, seed, index in FUNCTIONS, handle to store under, shape of the answer
ARGUMENT = struct.Struct("<cQQII4s")      # kind, handle or offset in the inbox, bytes, rows, columns, element type
ANSWER = struct.Struct("<cQdII")          # "=", number, value, shape
SERIES = struct.Struct("<cQBI")           # "*", number, index in FUNCTIONS, number of items that follow, or of answers (doubles)
SERIES_ITEM = struct.Struct("<QQQ")         # seed and handles of the two corpora
HELD, ARRAY, SEALED, LISTED, RAGGED = b"h", b"a", b"s", b"l", b"r"    # kinds of arguments: a stored corpus, an array in the
                                                          # inbox, an array in a sealed file, a list as JSON, token vectors
MAP_FAILED = ctypes.c_void_p(-1).value
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
FORM_ERRORS = ("WrongAnswer", "WrongLine")              # here, and in program.py, which is loaded by path
FUNCTIONS = ("setup", "prepare", "fit", "distance", "similarity", "matrix", "")      # "": no-op, to time the communication


def send(channel: socket.socket, frame: dict[str, Any]) -> None:
    """Send a JSON frame."""
    channel.send(json.dumps(frame).encode())


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next packet and its file descriptors; an empty packet if the other end has closed."""
    packet, ancillary, _, _ = channel.recvmsg(FRAME_BYTES, DESCRIPTORS_BYTES)
    return packet, [number for _, _, data in ancillary for (number,) in struct.iter_unpack("i", data)]


# ---- the supervisor ---------------------------------------------------------------------------------------------------

SandboxEntry = Callable[[list[str], str, Any], None]   # arguments: additional readable files, the writable folder, what starts
                                                       # a program, or None


def supervise(control: socket.socket, enter_sandbox: SandboxEntry | None) -> None:
    """Fork workers and reap them until the harness closes the channel."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    home = os.getcwd()
    trees, processes = load_sibling("remove_tree"), load_sibling("process_control")
    folders: dict[int, str] = {}        # of each living worker; never reused by another
    send(control, {"ready": True})
    while True:
        packet, descriptors = receive(control)
        if not packet:
            return
        frame = json.loads(packet)
        if frame["do"] == "fork":
            folder = tempfile.mkdtemp(dir=home)
            parent, worker = os.getpid(), os.fork()
            if worker == 0:
                become_worker(control, descriptors, parent, prctl, folder, enter_sandbox)
            folders[worker] = folder
            for descriptor in descriptors:
                os.close(descriptor)
            send(control, {"worker": worker})
        elif frame["do"] == "bury":
            status = processes.reap(frame["worker"], frame["patience"])
            trees.remove_tree(folders.pop(frame["worker"]))
            send(control, {"status": status})
        elif frame["do"] == "weigh":
            send(control, {"bytes": processes.peak_memory(frame["worker"])})


def preload(modules: list[str]) -> None:
    """Import modules once for all workers; only from the harness's own environment, never from a submission."""
    for module in modules:
        with contextlib.suppress(Exception):        # a submission that needs the module fails with the reason
            importlib.import_module(module)
    gc.collect()
    gc.freeze()                         # the garbage collector of a worker then does not touch shared pages


def become_worker(control: socket.socket, descriptors: list[int], parent: int, prctl: Callable[..., int], folder: str,
                  enter_sandbox: SandboxEntry | None) -> None:
    """Serve one metric in this fresh process; never return."""
    code = 70                           # EX_SOFTWARE: an error of this file itself
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
        control.close()
        channel, output = descriptors
        for own, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(own, standard)      # workers share no open file, not even its flags
        os.closerange(3, channel)
        os.closerange(channel + 1, max(channel, output, 64) + 2)
        os.chdir(folder)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
        serve(socket.socket(fileno=channel),
              None if enter_sandbox is None else lambda models, start: enter_sandbox(models, folder, start))
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except KeyboardInterrupt:
        code = 130
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 74       # EX_IOERR: its output could not be delivered
        os._exit(code & 0xFF)


# ---- the worker -------------------------------------------------------------------------------------------------------

class Metric:
    """The functions of a submission, the corpora it holds, and the memory files."""

    def __init__(self, confine: Callable[[list[str], Any], None] | None) -> None:
        self.confine = confine
        self.program: Any = None                # if the metric is a program
        self.functions: dict[str, Callable[..., Any]] = {}
        self.held: dict[int, Any] = {}
        self.inbox: mmap.mmap | bytes = b""
        self.outbox = -1
        self.refused_attempts: dict[tuple[str, str], None] = {}     # refused attempts, if the audit hook is active

    def share(self, inbox: int, size: int, outbox: int) -> None:
        """Take over a pair of memory files and close earlier ones."""
        if self.outbox >= 0:
            os.close(self.outbox)
        self.inbox, self.outbox = mmap.mmap(inbox, size, mmap.MAP_SHARED, mmap.PROT_READ), outbox
        os.close(inbox)

    def start_program(self, command: list[str], source: bytes, filename: str, parameters: dict[str, Any],
                      models: dict[str, str]) -> list[str]:
        """Start a program inside the sandbox and return which of the known functions it has."""
        self.program = load_sibling("program").Program(command, source, filename)
        if self.confine is None:
            self.program.start(lambda: None, ctypes.CDLL(None).prctl)
        else:
            self.confine(list(models.values()), self.program.start)
        self.seed_generators(zlib.crc32(source))
        self.functions = self.program.functions(parameters, models, FUNCTIONS[2:-1])
        return list(self.functions)

    def seed_generators(self, number: int) -> None:
        """Seed the generators of this process, or pass the seed to the program with the next call."""
        if self.program is None:
            seed_generators(number)
        else:
            self.program.seed = number

    def load(self, source: bytes, filename: str, parameters: dict[str, Any], models: dict[str, str]) -> list[str]:
        """Execute the file under a private name and return which of the known functions it defines."""
        spec = importlib.util.spec_from_loader(MODULE, loader=None, origin=filename)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        module.__file__ = filename
        sys.modules[MODULE] = module
        seed_generators(zlib.crc32(source))
        # compiled from text: coding cookies have no effect
        exec(compile(source.decode(), filename, "exec", dont_inherit=True), module.__dict__)
        accepted: set[str] = set()
        for name in FUNCTIONS[:-1]:
            function = vars(module).get(name)           # never through a `__getattr__` of the module
            if callable(function):
                mine = accepted_parameters(function, parameters)
                accepted |= mine.keys()
                self.functions[name] = bind(function, mine)
        ignored = parameters.keys() - accepted
        if ignored:
            raise TypeError(f"no function takes the parameter {', '.join(sorted(ignored))}")
        if "setup" in self.functions:
            seed_generators(zlib.crc32(source))
            self.functions["setup"](models)
        return list(self.functions)


def accepted_parameters(function: Callable[..., Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return those parameters that the function accepts."""
    names = inspect.signature(function).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in names.values()):
        return parameters
    return {name: value for name, value in parameters.items() if name in names}


def bind(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with its parameters bound."""
    return (lambda *arguments: function(*arguments, **parameters)) if parameters else function


def serve(channel: socket.socket, confine: Callable[[list[str], Any], None] | None) -> None:
    """Answer frames until the harness closes the channel; the submission is loaded inside the sandbox."""
    metric = Metric(confine)
    while True:
        packet, descriptors = receive(channel)
        if not packet:
            return
        number, act = parse_frame(metric, packet, descriptors)
        try:
            reply = act()
        except Exception as error:      # noqa: BLE001  # whatever a metric does wrong is reported, not suffered
            reply = json.dumps({"n": number, "wrong": describe_exception(error)}).encode()
        channel.send(reply)


def parse_frame(metric: Metric, packet: bytes, descriptors: list[int]) -> tuple[int, Callable[[], bytes]]:
    """Return the number of a frame, and the function that creates the reply."""
    if packet.startswith(b"?"):
        return CALL.unpack_from(packet)[1], lambda: answer_call(metric, packet, descriptors)
    if packet.startswith(b"*"):
        return SERIES.unpack_from(packet)[1], lambda: answer_series(metric, packet)
    frame = json.loads(packet)
    return frame["n"], lambda: handle_command(frame["n"], metric, frame, descriptors)


def handle_command(number: int, metric: Metric, frame: dict[str, Any], descriptors: list[int]) -> bytes:
    """Handle a frame that is no call: new memory files, the submission itself, clearing corpora."""
    reply: dict[str, Any] = {"n": number}
    if frame["do"] == "share":
        metric.share(descriptors[0], frame["size"], descriptors[1])
    elif frame["do"] == "load":
        source = metric.inbox[:frame["bytes"]]
        settings = source, frame["filename"], frame["parameters"], frame["models"]
        if frame["command"]:
            reply["functions"] = metric.start_program(frame["command"], *settings)
            return json.dumps(reply).encode()
        if metric.confine is not None:
            metric.confine(list(frame["models"].values()), None)
        if frame["watch"]:
            readable = [*sys.path, *frame["models"].values(), "/usr", "/lib", "/proc", "/sys/devices/system/cpu"]
            metric.refused_attempts = load_sibling("audit_hook").AuditHook(frame["filename"], readable).refused_attempts
        reply["functions"] = metric.load(*settings)
    elif frame["do"] == "forget":
        metric.held.clear()
        if metric.program is not None:
            metric.program.clear()
    elif frame["do"] == "tell":
        reply["noticed"] = list(metric.refused_attempts)
    return json.dumps(reply).encode()


def answer_call(metric: Metric, packet: bytes, descriptors: list[int]) -> bytes:
    """Call one function of the submission."""
    _, number, call_seed, which, handle, rows, columns = CALL.unpack_from(packet)
    arguments = [read_argument(metric, descriptors, *description) for description in ARGUMENT.iter_unpack(packet[CALL.size:])]
    name = FUNCTIONS[which]
    metric.seed_generators(call_seed)
    value = 0.0
    if name == "prepare":
        prepare = metric.functions.get("prepare")
        metric.held[handle] = arguments[0] if prepare is None else prepare(arguments[0])
    elif name == "fit":
        metric.functions["fit"](*arguments)
    elif not name:
        pass
    elif rows:
        write_numbers(metric.functions[name](*arguments), name, (rows, columns) if columns else (rows,), metric.outbox)
    else:
        value = to_number(metric.functions[name](*arguments), name)
    return ANSWER.pack(b"=", number, value, rows, columns)


def answer_series(metric: Metric, packet: bytes) -> bytes:
    """Call one function of the submission on many pairs of stored corpora."""
    _, number, which, count = SERIES.unpack_from(packet)
    name, values = FUNCTIONS[which], []
    for call_seed, p, q in SERIES_ITEM.iter_unpack(packet[SERIES.size:]):
        metric.seed_generators(call_seed)
        values.append(to_number(metric.functions[name](metric.held[p], metric.held[q]), name))
    return SERIES.pack(b"*", number, which, count) + struct.pack(f"<{count}d", *values)


def map_sealed(descriptor: int) -> memoryview:
    """Return the contents of a sealed file: memory that this process can neither write to nor make writable."""
    size = os.fstat(descriptor).st_size
    address = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)     # the module `mmap` keeps files open
    problem = ctypes.get_errno()
    os.close(descriptor)
    if address == MAP_FAILED:
        raise OSError(problem, os.strerror(problem))
    content = (ctypes.c_char * size).from_address(address)
    weakref.finalize(content, LIBC.munmap, address, size)
    return memoryview(content).toreadonly()


def read_argument(metric: Metric, descriptors: list[int], kind: bytes, where: int, size: int, rows: int, columns: int,
                  elements: bytes) -> Any:
    """Return a stored corpus, a read-only array, or a tuple of texts or of token tuples.

    The metric can keep an array: one in the inbox is copied for this call alone, one in a sealed file cannot be changed.
    """
    if kind == HELD:
        return metric.held[where]
    if kind == LISTED:
        return tuple(tuple(item) if isinstance(item, list) else item for item in json.loads(metric.inbox[where:where + size]))
    import numpy as np

    element = elements.rstrip(b"\0").decode()
    if kind == SEALED:
        content = map_sealed(descriptors[0])
    else:
        content = np.frombuffer(metric.inbox, element, rows * columns, where).copy().data.toreadonly()
    array = np.frombuffer(content, element, rows * columns).reshape(rows, columns)
    return split_tokens(array) if kind == RAGGED else array


class TokenEmbeddings(NamedTuple):
    """The tokens of a text: their vectors, their weights (0 for special tokens), and their numbers in the vocabulary."""

    vectors: Any
    weights: Any
    numbers: Any


def split_tokens(joined: Any) -> tuple[TokenEmbeddings, ...]:
    """Return the tokens of each text; `joined` is described in `shared_memory.py`."""
    rows, texts = joined[1:], range(int(joined[0, 0]) + 1)
    ends = rows[:, -1].searchsorted(texts).tolist()
    return tuple(TokenEmbeddings(rows[start:stop, :-3], rows[start:stop, -2], rows[start:stop, -3].astype(int))
                 for start, stop in itertools.pairwise(ends))


def seed_generators(number: int) -> None:
    """Seed all global random generators, so that no call depends on earlier ones."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number & 0xFFFFFFFF)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def to_number(value: Any, function: str) -> float:
    """Return an answer as float, or raise WrongAnswer."""
    if type(value) is float:
        return value
    import numpy as np

    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise WrongAnswer(f"{function} returned {describe_type(value)}; it must return one number")
    return float(value)


def write_numbers(value: Any, function: str, shape: tuple[int, ...], outbox: int) -> None:
    """Write an array of answers to the outbox, or raise WrongAnswer."""
    import numpy as np

    if value is None or isinstance(value, str | bytes):
        raise WrongAnswer(f"{function} returned {describe_type(value)}; it must return numbers of shape {shape}")
    try:
        numbers = np.ascontiguousarray(value)
    except ValueError:
        raise WrongAnswer(f"{function} returned rows of unequal length; it must return shape {shape}") from None
    if numbers.dtype.kind not in "fiu":
        raise WrongAnswer(f"{function} returned elements of type {numbers.dtype}; it must return real numbers")
    if numbers.shape != shape:
        raise WrongAnswer(f"{function} returned shape {numbers.shape}; it must return shape {shape}")
    content, written = numbers.astype(np.float64, copy=False).data.cast("B"), 0
    while written < len(content):       # one call writes at most two gigabytes
        written += os.pwrite(outbox, content[written:], written)


class WrongAnswer(Exception):
    """An answer that does not have the declared form; the message is recorded."""


def describe_type(value: Any) -> str:
    """Return the type and shape of a value, for messages."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__}" + (f" of shape {tuple(shape)}" if isinstance(shape, tuple) else "")


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Return what was raised and where: file names, lines and functions, without source lines."""
    try:
        message = str(error)[:1000]
    except Exception:                   # noqa: BLE001  # a metric's own exception may not even say what it is
        message = "(its message could not be read)"
    places, own, trace = [], [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if os.path.dirname(code.co_filename) != os.path.dirname(__file__):
            places.append(f"{os.path.basename(code.co_filename)[:80]}:{trace.tb_lineno} in {code.co_name[:80]}")
            if code.co_filename == getattr(sys.modules.get(MODULE), "__file__", None):
                own = places[-1:]
        trace = trace.tb_next
    innermost = places[-8:]
    return {"type": type(error).__name__[:80], "message": message, "form": type(error).__name__ in FORM_ERRORS,
            "places": innermost if not own or own[0] in innermost else own + innermost[1:]}


def main() -> None:
    """Start the supervisor."""
    wanted = json.loads(sys.argv[1])
    sys.argv[1:] = []
    sys.path += wanted["libraries"]     # set directly, so that no .pth file of an environment is executed
    preload(wanted["preload"])
    supervise(socket.socket(fileno=wanted["control"]), sandbox_entry(wanted["restrictions"]))


def load_sibling(name: str) -> Any:
    """Return a module of this folder, loaded by path: the package cannot be imported here."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(__file__), f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sandbox_entry(wanted: dict[str, Any] | None) -> SandboxEntry | None:
    """Return the function that enters the sandbox with the given settings, or None."""
    if wanted is None:
        return None
    sandbox = load_sibling("syscall_filter")
    sandbox.filter_code()
    return lambda models, folder, start: sandbox.enter_sandbox([*wanted["readable"], *models], wanted["listed"], folder,
                                                               wanted["bounds"], wanted["temporary"], wanted["executable"], start)


if __name__ == "__main__":
    main()
