"""Attacks of a hostile submission, each of which succeeds outside of the sandbox."""

from __future__ import annotations

import os
import sysconfig

import harness
from harness.base.paths import SUBMISSIONS, cache_folder
from harness.sandbox.layers import (
    CGROUP,
    SIZED_TMPFS,
    library_folders,
)
from harness.sandbox.limits import Limits

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


def filled(body: str) -> str:
    """An attack's lines with the files of ours it is after."""
    return body.format(harness=harness.__file__, submission=str(SUBMISSIONS / "energy.py"), libraries=library_folders()[0],
                       stdlib=sysconfig.get_path("stdlib") + "/os.py", cache=str(cache_folder()))

NARROW = Limits(memory_bytes=1_000_000_000, threads=16, file_bytes=10_000_000, temporary_bytes=20_000_000, temporary_files=200,
                open_files=64, processor_seconds=2)

# Body, what the record says, and the layer of the sandbox that is needed, if it is not one of the required ones.
ATTEMPTS = {
    "memory by malloc": ("x = bytearray(1_500_000_000); return 1.0", r"raised MemoryError \(it may use 1.0 GB of memory; raise the limit with --memory 2000\)", None),
    "memory bit by bit": ("x = [bytes(1_000_000) for n in range(1500)]; return 1.0",
                          r"raised MemoryError \(it may use 1.0 GB", None),
    "memory by numpy": ("import numpy; numpy.ones(200_000_000); return 1.0", r"MemoryError: Unable to allocate .* \(it may use 1.0 GB", None),
    "memory by mmap": ("import mmap; mmap.mmap(-1, 1_500_000_000); return 1.0", r"\[Errno 12\].* \(it may use 1.0 GB", None),
    "threads": ("import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(2,), daemon=True).start()\nreturn 1.0",
                r"can't start new thread \(it may have 16 threads", CGROUP if os.getuid() == 0 else None),
    "open files": ("import os; x = [os.dup(1) for _ in range(500)]; return 1.0", r"\[Errno 24\].* \(it may have 64 files open; raise the limit with --limit open_files=", None),
    "a large file": ("f = open('f', 'wb')\nfor _ in range(20): f.write(bytes(1_000_000))\nreturn 1.0", r"\[Errno 27\].* \(a file may have 10 MB; raise the limit with --limit file_bytes=", None),
    "a sparse file": ("f = open('f', 'wb'); f.seek(10**9); f.write(b'x'); f.flush(); return 1.0", r"\[Errno 27\].* 10 MB; raise the limit", None),
    "many files": ("for n in range(1000): open(str(n), 'w').close()\nreturn 1.0", r"\[Errno 28\].*temporary folder holds 20 MB in 200 files; raise the limits with --limit temporary_bytes=.* or temporary_files=", SIZED_TMPFS),
    "many folders": ("import os\nfor _ in range(1000): os.mkdir(os.urandom(8).hex())\nreturn 1.0", r"\[Errno 28\].*200 files; raise the limits", SIZED_TMPFS),
    "a full folder": ("for n in range(5): open(str(n), 'wb').write(bytes(9_000_000))\nreturn 1.0", r"\[Errno 28\].*holds 20 MB", SIZED_TMPFS),
    "processor time": ("import time; until = time.process_time() + 4\nwhile time.process_time() < until: pass\nreturn 1.0",
                       "it used up its 2 seconds of processor time", None),
}

# What comes out of a metric, and what it does to itself: (module's lines, body, what the record says).
ODDITIES = {
    "an exception of 100 MB": ("", "raise ValueError('x' * 100_000_000)", r"^raised ValueError: x{100,1000}"),
    "escape sequences in an exception": ("", r"raise ValueError('\x1b]0;owned\x07\x1b[2J\u202e' + chr(10) + 'second')", r"^raised ValueError: [^\x1b\x07\n\u202e]*second$"),
    "an exception that raises": ("class E(Exception):\n    def __str__(self): raise SystemExit(3)\n", "raise E()", "ended with exit code 3|raised E"),
    "recursion": ("def f(n): return f(n + 1)\n", "return f(0)", "raised RecursionError"),
    "recursion without bounds": ("import sys; sys.setrecursionlimit(10**9)\ndef f(n): return [f(n + 1) for _ in range(1)]\n", "return f(0)", "SIGSEGV|MemoryError|did not answer within"),
    "a regular expression without end": ("import re\n", "re.match('(a+)+$', 'a' * 60 + 'b'); return 1.0", "did not answer within the time allowed"),
    "a number that is none": ("class F(float):\n    def __float__(self): raise ValueError('no')\n", "return F('nan')", "raised|nan|answered"),
    "an array of objects": ("import numpy as np\n", "return np.array(['x', {}], dtype=object)", "returned ndarray of shape"),
    "an array of its own kind": ("import numpy as np\nclass A(np.ndarray):\n    @property\n    def shape(self): raise SystemExit(4)\n",
                                 "return np.ones(3).view(A)", "."),
    "inputs changed in place": ("", "p[0][0] = 7.0; return 1.0", "read-only"),
    "inputs resized": ("", "p[0].resize(10**9); return 1.0", "raised ValueError"),
    "atexit": ("import atexit, time\natexit.register(time.sleep, 600)\n", "raise SystemExit(0)", "ended with exit code 0"),
    "an interrupt": ("", "raise KeyboardInterrupt", "ended with exit code 130"),
    "a signal to itself": ("import os, signal\n", "os.kill(os.getpid(), signal.SIGSTOP); return 1.0", "did not answer within"),
    "a closed channel": ("import os\n", "os.closerange(3, 64); return 1.0", "closed its channel|ended with|was killed|exit code"),
    "garbage on every descriptor": ("import os\n", "for n in range(3, 64):\n    try: os.write(n, b'{\"n\": 4, \"value\": 0}')\n    except OSError: pass\nreturn 1.0",
                                    "broke the protocol"),
}
