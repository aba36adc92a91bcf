"""What a stranger's metric can do to us.

Each attack is tried twice on this machine: without walls, where it succeeds, and behind them, where it does not.  An attack
that fails even without walls would prove nothing: it is skipped, with that reason.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, SUBMISSIONS, cache_folder
from harness.sandbox import probe as probing
from harness.sandbox.faults import Fault
from harness.sandbox.inside.syscall_filter import ALLOWED, ARCHITECTURES, system_call_filter
from harness.sandbox.layers import BUBBLEWRAP, CGROUP, CONFINING, NO_SANDBOX, REQUIRED_LAYERS, Sandbox, library_folders
from harness.sandbox.limits import Limits
from harness.sandbox.supervisor import Supervisor

PRELUDE = """
import ctypes, mmap, os, platform, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def call(x86, arm, *arguments):
    return libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in (x86 if X86 else arm, *arguments)))
TARGET = {target!r}
PARENT, ADDRESS, DNS = {parent}, {address}, {dns}
def attack():
{body}
def distance(p, q):
    try:
        return float(bool(attack()))
    except (OSError, MemoryError, ValueError) as wrong:
        return -1.0
"""

# Each succeeds where nothing holds it back: its body returns something true.
ATTACKS = {
    "a socket, IPv4": "return socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "a socket, IPv6": "return socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "a socket, unix path": "s = socket.socket(socket.AF_UNIX); s.bind(TARGET + '/socket'); return True",
    "a socket, unix abstract": "s = socket.socket(socket.AF_UNIX); s.bind(b'\\0touchstone-' + os.urandom(4)); return True",
    "a socket pair": "return socket.socketpair()",
    "a socket, netlink": "return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "a socket, raw": "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a socket, vsock": "return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "read /etc/passwd": "return open('/etc/passwd').read()",
    "read a file of ours": "return open(TARGET + '/secret').read()",
    "read the harness": "return open({harness!r}).read()",
    "read another submission": "return open({submission!r}).read()",
    "list the root": "return os.listdir('/')",
    "list our folder": "return os.listdir(TARGET)",
    "the parent's environment": "return open(f'/proc/{{PARENT}}/environ', 'rb').read()",
    "the parent's memory": "return open(f'/proc/{{PARENT}}/mem', 'rb')",
    "the parent's descriptors": "return os.listdir(f'/proc/{{PARENT}}/fd')",
    "the parent's folder": "return os.readlink(f'/proc/{{PARENT}}/cwd') and os.listdir(f'/proc/{{PARENT}}/cwd')",
    "its own memory by /proc": "return open('/proc/self/mem', 'rb')",
    "its own account of memory": "return open('/proc/self/clear_refs', 'w').write('5')",
    "its own descriptors by /proc": "return os.listdir('/proc/self/fd')",
    "core_pattern": "return os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "write beside us": "return open(TARGET + '/marker', 'w').write('x')",
    "write to /tmp": "import tempfile; return open('/tmp/touchstone-attack-' + str(os.getpid()), 'w').write('x')",
    "change a file of ours": "return open(TARGET + '/secret', 'r+').write('y')",
    "delete a file of ours": "os.unlink(TARGET + '/removable'); return True",
    "write a .pth": "return open({libraries!r} + '/touchstone-attack.pth', 'w').write('# x')",
    "write a bytecode cache": "return open({libraries!r} + '/numpy/__pycache__/touchstone-attack.pyc', 'w').write('x')",
    "write into our cache": "os.makedirs({cache!r}, exist_ok=True); return open({cache!r} + '/touchstone-attack', 'w').write('x')",
    "truncate by path": "os.truncate(TARGET + '/cut', 0); return True",
    "a symbolic link": "os.symlink('/etc/passwd', 'link'); return open('link').read()",
    "a hard link": "os.link(TARGET + '/secret', TARGET + '/hard'); return True",
    "chmod": "os.chmod(TARGET + '/secret', 0o777); return True",
    "chown": "os.chown(TARGET + '/secret', 1, 1); return True",
    "utime": "os.utime(TARGET + '/secret', (1, 1)); return True",
    "an extended attribute": "os.setxattr(TARGET + '/secret', 'user.x', b'y'); return True",
    "a lock": "import fcntl; fcntl.flock(os.open({stdlib!r}, os.O_RDONLY), fcntl.LOCK_EX); return True",
    "a named pipe": "os.mkfifo('pipe'); return True",
    "a device": "os.mknod('device', 0o20600, os.makedev(1, 1)); return True",
    "os.fork": "pid = os.fork()\nif pid == 0: os._exit(0)\nreturn os.waitpid(pid, 0)",
    "posix_spawn": "return os.waitpid(os.posix_spawn('/bin/true', ['true'], {{}}), 0)",
    "subprocess": "return subprocess.run(['/bin/true']).returncode == 0",
    "multiprocessing": "import multiprocessing as m; p = m.get_context('fork').Process(target=int); p.start(); p.join(); return p.exitcode == 0",
    "raw fork or clone": "pid = call(57, 220, *([] if X86 else [17, 0, 0, 0, 0]))\nif pid == 0: os._exit(0)\nreturn pid > 0",
    "raw clone3": "b = struct.pack('<8Q', 0, 0, 0, 0, 17, 0, 0, 0); pid = call(435, 435, b, ctypes.c_size_t(64))\n"
                  "if pid == 0: os._exit(0)\nreturn pid > 0",
    "exec": "r, w = os.pipe(); b = b'x'; return libc.execve(b'/nonexistent', None, None) == -1 and ctypes.get_errno() == 2",
    "ptrace": "return call(101, 117, 0x4206, PARENT, 0, 0) == 0 and call(101, 117, 17, PARENT, 0, 0) > -2",
    "process_vm_readv": "b = ctypes.create_string_buffer(16); here = struct.pack('<QQ', ctypes.addressof(b), 16)\n"
                        "return call(310, 270, PARENT, here, 1, struct.pack('<QQ', ADDRESS, 16), 1, 0) == 16",
    "a signal to the parent": "os.kill(PARENT, 0); return True",
    "a signal to everybody": "os.killpg(os.getpgid(PARENT), 0); return True",
    "memfd_create": "return os.memfd_create('x')",
    "shared memory, POSIX": "return os.open('/dev/shm/touchstone-attack', os.O_CREAT | os.O_RDWR)",
    "shared memory, SysV": "return call(29, 194, 0, ctypes.c_size_t(4096), 0o1600) >= 0",
    "message queue, SysV": "return call(68, 186, 0, 0o1600) >= 0",
    "io_uring": "return call(425, 425, 1, bytes(120)) >= 0",
    "userfaultfd": "return call(323, 282, 1) >= 0",
    "bpf": "b = struct.pack('<IIIII', 2, 4, 4, 1, 0) + bytes(100); return call(321, 280, 0, b, 72) >= 0",
    "perf_event_open": "b = struct.pack('<IIQ', 1, 112, 0) + bytes(96); return call(298, 241, b, 0, -1, -1, 0) >= 0",
    "keyctl": "return call(250, 219, 0, -3, 1) >= 0",
    "pidfd_open": "return call(434, 434, PARENT, 0) >= 0",
    "unshare": "return call(272, 97, 0x10000000) == 0",
    "mount": "return libc.mount(b'none', TARGET.encode(), b'tmpfs', 0, None) == 0",
    "chroot": "os.chroot(TARGET); return True",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, 5); return True",
    "affinity": "os.sched_setaffinity(0, os.sched_getaffinity(0)); return True",
    "clearing the death signal": "return libc.prctl(1, 0, 0, 0, 0) == 0",
    "a thousand descriptors": "return [os.dup(1) for _ in range(1000)]",
    "a gigabyte in one file": "f = open('big', 'wb'); f.seek(10**9); f.write(b'x'); f.flush(); return True",
    "system calls of 32 bits": "m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('b814000000cd80c3'));\n"
                               "f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); return X86 and f() > 0",
    "a DNS query": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\ns.sendto(bytes.fromhex('abcd01000001000000000000')"
                   " + b'\\x07example\\x03org\\0\\0\\1\\0\\1', ('127.0.0.1', DNS)); return s.recv(512)[:2] == b'\\xab\\xcd'",
    "a host's name": "return socket.getaddrinfo('localhost', 80)",
    "shared memory by multiprocessing": "from multiprocessing import shared_memory as m; s = m.SharedMemory(create=True, size=4096); s.unlink(); return True",
    "to be root": "return os.getuid() == 0",
    "to have capabilities": "return any(libc.prctl(23, n, 0, 0, 0) == 1 for n in range(40))",
}


@pytest.fixture(scope="module", params=["all layers", "walls alone"])
def confined(request) -> Iterator[Supervisor]:
    """Behind everything that can be had here, and behind the least that a stranger's file is run behind."""
    host = Supervisor(probing.probe_sandbox() if request.param == "all layers" else CONFINING, Limits())
    yield host
    host.close()


@pytest.fixture(scope="module")
def unconfined() -> Iterator[Supervisor]:
    host = Supervisor(NO_SANDBOX, Limits())
    yield host
    host.close()


@pytest.fixture(scope="module")
def dns() -> Iterator[int]:
    """Something on this machine that answers a query as a server of names would: there is no network to ask one in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                question, asker = server.recvfrom(512)
                if not question:
                    return
                server.sendto(question, asker)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.sendto(b"", server.getsockname())
        thread.join()


def filled(body: str) -> str:
    """An attack's lines with the files of ours it is after."""
    return body.format(harness=harness.__file__, submission=str(SUBMISSIONS / "energy.py"), libraries=library_folders()[0],
                       stdlib=sysconfig.get_path("stdlib") + "/os.py", cache=str(cache_folder()))


def attempt(host: Supervisor, body: str, target: Path, dns: int) -> float | str:
    """1.0: it got through; -1.0 or 0.0: it did not; a sentence: it did not outlive it."""
    lines = "".join(f"    {line}\n" for line in filled(body).splitlines())
    worker = host.fork()
    try:
        worker.load(PRELUDE.format(target=str(target), parent=os.getpid(), address=id(ATTACKS), dns=dns, body=lines).encode(), "attack.py", {}, {})
        worker.deadline = time.monotonic() + 20
        return worker.number("distance", [["a"], ["b"]], 1)
    except Fault as fault:
        return fault.sentence
    finally:
        worker.close()


@pytest.fixture
def target(tmp_path) -> Iterator[Path]:
    for name in ("secret", "removable", "cut"):
        (tmp_path / name).write_text("of ours")
    yield tmp_path
    for left in (*Path("/tmp").glob("touchstone-attack-*"), Path("/dev/shm/touchstone-attack"),
                 Path(library_folders()[0]) / "touchstone-attack.pth", Path(library_folders()[0]) / "numpy/__pycache__/touchstone-attack.pyc",
                 cache_folder() / "touchstone-attack"):
        left.unlink(missing_ok=True)
    if os.path.ismount(tmp_path):
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_that_succeeds_without_walls_fails_behind_them(attack, confined, unconfined, target, dns):
    behind = attempt(confined, ATTACKS[attack], target, dns)
    assert behind != 1.0
    assert (target / "secret").read_text() == "of ours"
    assert sorted(path.name for path in target.iterdir()) == ["cut", "removable", "secret"]
    without = attempt(unconfined, ATTACKS[attack], target, dns)
    if without != 1.0:
        pytest.skip(f"{attack}: without walls it fails here too ({without}), so nothing is proved")


def test_what_a_computation_needs_still_works(confined):
    worker = confined.fork()
    worker.load(b"""
import os, tempfile, threading, time
import numpy as np
import scipy.linalg, scipy.stats, sklearn.cluster, torch
def distance(p, q):
    with tempfile.TemporaryDirectory() as folder, open(folder + "/x", "w") as file:
        file.write("y")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    done = []
    threads = [threading.Thread(target=done.append, args=(n,)) for n in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    a = np.random.random((200, 200))
    scipy.linalg.sqrtm(a @ a.T); scipy.stats.spearmanr(a[0], a[1])
    sklearn.cluster.KMeans(3, n_init=1).fit(a)
    t = torch.ones(50, 50) @ torch.ones(50, 50)
    time.sleep(0.01); time.strftime("%c"); os.urandom(4); os.cpu_count()
    return float(len(done) + t[0, 0])
""", "needs.py", {}, {})
    worker.deadline = time.monotonic() + 120
    assert worker.number("distance", [["a"], ["b"]], 1) == 54.0
    worker.close()



# What only namespaces of its own hide: Landlock does not cover looking for a file.
BEYOND_THE_WALLS = {
    "whether a file exists": "return os.path.exists(TARGET + '/secret')",
    "how large a file is": "return os.stat('/etc/passwd').st_size > 0",
    "which processes there are": "return os.stat(f'/proc/{{PARENT}}').st_uid >= 0",
}


@pytest.mark.parametrize("attack", BEYOND_THE_WALLS)
def test_what_namespaces_hide(attack, unconfined, target, dns):
    if BUBBLEWRAP not in probing.probe_sandbox().layers:
        pytest.skip(f"{attack}: no bubblewrap here: {probing.probe_sandbox().lacking[BUBBLEWRAP]}")
    host = Supervisor(probing.probe_sandbox(), Limits())
    try:
        assert attempt(host, BEYOND_THE_WALLS[attack], target, dns) != 1.0
    finally:
        host.close()
    assert attempt(unconfined, BEYOND_THE_WALLS[attack], target, dns) == 1.0


def test_answers_are_the_same_with_and_without_walls(confined, unconfined):
    source = b"""
import numpy as np, random
def prepare(c): return np.asarray(c) @ np.asarray(c).T
def distance(p, q): return float(np.abs(p - q).sum() + np.random.random() + random.random() + hash("x") % 7)
"""
    answers = []
    rng = np.random.default_rng(1)
    a, b = rng.random((50, 30)), rng.random((50, 30))
    for host in (confined, unconfined):
        worker = host.fork()
        worker.load(source, "same.py", {}, {})
        worker.hold(1, a, 5)
        worker.hold(2, b, 6)
        answers.append(worker.number("distance", [1, 2], 7))
        worker.close()
    assert answers[0] == answers[1]


@pytest.fixture
def tried_anew(monkeypatch) -> Iterator[pytest.MonkeyPatch]:
    """What `confine` found out is forgotten, before and after."""
    probing.probe_sandbox.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    probing.probe_sandbox.cache_clear()
    for left in Path("/tmp").glob("touchstone-probe-*"):
        left.unlink()


def test_where_walls_do_not_hold_a_file_is_refused_and_trust_says_so(tried_anew):
    tried_anew.setattr(Sandbox, "walls", lambda *_: None)   # a machine on which nothing holds
    with pytest.raises(TouchstoneError, match=r"could .*open a socket, start a process.*--trust"):
        probing.probe_sandbox()
    assert probing.probe_sandbox(trust=True).layers == ("process", "rlimits", "death-signal")


def test_where_walls_cannot_be_put_up_a_file_is_refused(tried_anew):
    tried_anew.setattr("harness.sandbox.layers.INSIDE", Path("/nonexistent"))
    with pytest.raises(TouchstoneError, match=r"cannot be walled in on this machine.*--trust"):
        probing.probe_sandbox()


def test_layers_that_cannot_be_had_are_left_out_with_the_reason(tried_anew):
    tried_anew.setattr("harness.sandbox.bubblewrap.find_bubblewrap", lambda: None)
    tried_anew.setattr("harness.sandbox.cgroups.find_hierarchies", list)
    found = probing.probe_sandbox()
    assert not {BUBBLEWRAP, CGROUP} & set(found.layers)
    assert set(REQUIRED_LAYERS) < set(found.layers)
    assert "not installed" in found.lacking[BUBBLEWRAP]
    assert "no control group that bounds memory and processes" in found.lacking[CGROUP]


def test_layers_that_are_there_but_do_not_hold_are_left_out(tried_anew):
    tried_anew.setattr("harness.sandbox.layers.enclosed", lambda command, *_: list(command))
    found = probing.probe_sandbox()
    assert BUBBLEWRAP not in found.layers
    assert found.lacking[BUBBLEWRAP] == "it can be had, but does not hold"


def test_others_cannot_read_the_harness_under_proc():
    """Its descriptors, memory and environment: they belong to root as soon as it is closed to others."""
    program = ("import os\nfrom harness.sandbox.layers import disable_ptrace\nos.setgid(65534); os.setuid(65534)\n"
               "import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n"
               "print(os.stat('/proc/self/environ').st_uid, flush=True)\nclose_to_others()\n"
               "print(os.stat('/proc/self/environ').st_uid, flush=True)")
    if os.getuid() != 0:
        pytest.skip("only root can become another user to see the difference")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT).stdout
    assert said.split() == ["65534", "0"]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_can_be_built_for_every_architecture(machine):
    steps = system_call_filter(machine, 1234)
    assert len(steps) < 4096                                    # what the kernel takes
    for place, (operation, if_true, if_false, _) in enumerate(steps):
        if operation in (0x15, 0x35):
            assert place + 1 + max(if_true, if_false) < len(steps)
    assert steps[-1][0] == 0x06


def test_no_system_call_is_named_twice():
    for column in (0, 1):
        numbers = [pair[column] for pair in ALLOWED.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))


def test_the_table_is_that_of_this_machine():
    """Compared with the system's own header, where it is installed."""
    import platform
    import re

    places = [Path(f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm-generic/unistd.h")]
    header = next((place for place in places if place.exists()), None)
    if header is None:
        pytest.skip("no kernel headers here")
    known = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())}
    column = ARCHITECTURES[platform.machine()][0]
    for name, numbers in ALLOWED.items():
        if numbers[column] is not None and name in known:
            assert known[name] == numbers[column], name
