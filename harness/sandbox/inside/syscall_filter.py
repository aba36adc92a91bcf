"""Restrict this process from inside before it loads a submission.

Landlock blocks all files except the given ones, a seccomp filter blocks all system calls that a computation does not need, and
both apply to all child processes. The writable folder is a file system of limited size and number of files. The module uses
ctypes and the standard library only, because it runs in any environment that a submission brings. Each function raises OSError if
its layer cannot be set.
"""

import ctypes
import functools
import os
import platform
import resource
import signal
import struct
from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_DUMPABLE = 1, 38, 22, 24, 4
SECCOMP_MODE_FILTER = 2
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
MS_NOSUID, MS_NODEV = 2, 4
NOBODY = 65534


def enter_sandbox(readable: list[str], listed: list[str], folder: str, bounds: dict[str, int],
                  temporary: dict[str, int] | None, executable: list[str],
                  start: Callable[[Callable[[], None], Callable[..., int]], None] | None = None) -> None:
    """Apply all restrictions to this process, permanently.

    `start` starts a program as a child before the system calls are restricted; it gets the function that restricts those of the
    child, which may execute the files in `executable`, and `prctl`.
    """
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")              # this process is the first to be killed when memory runs out
    unprivileged = temporary is not None or os.getuid() == 0
    if unprivileged:
        drop_privileges(CLONE_NEWUSER if temporary is None else CLONE_NEWUSER | CLONE_NEWNS)
    if temporary is not None:
        options = ",".join(f"{name}={value}" for name, value in temporary.items())
        check_call(LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", MS_NOSUID | MS_NODEV, f"mode=700,{options}".encode()),
                   "a temporary folder")
        os.chdir(folder)
    drop_capabilities()
    check_call(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "death signal")     # changing credentials has cleared it
    check_call(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check_call(LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")
    if not unprivileged:
        bounds = {name: bound for name, bound in bounds.items() if name != "RLIMIT_NPROC"}  # it counts all processes of the user
    restrict_resources(bounds)
    restrict_files(readable, listed, folder, executable if start is not None else [])
    if start is None:
        restrict_system_calls()
    else:
        start(lambda: restrict_system_calls(EXECVE), LIBC.prctl)
        restrict_system_calls(WAIT4)


def check_call(result: int, what: str) -> int:
    """Raise OSError if a C call has failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def drop_privileges(namespaces: int) -> None:
    """Become an unprivileged user in a new user namespace, and in a mount namespace if requested."""
    user, group = os.getuid(), os.getgid()
    check_call(LIBC.unshare(namespaces), "a user namespace")
    for name, line in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {user} 1"), ("gid_map", f"{NOBODY} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def drop_capabilities() -> None:
    """Drop all capabilities, including those that could be regained."""
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break                       # past the kernel's last capability, or none to drop
    header = struct.pack("<Ii", 0x20080522, 0)          # _LINUX_CAPABILITY_VERSION_3, this thread
    check_call(LIBC.capset(header, bytes(24)), "capabilities")


def restrict_resources(bounds: dict[str, int]) -> None:
    """Set limits on open files, file size, processor time and threads."""
    for name, bound in bounds.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        grace = 1 if name == "RLIMIT_CPU" and bound != hard else 0          # SIGXCPU first, which says why
        resource.setrlimit(kind, (bound, bound + grace))


# ---- Landlock ---------------------------------------------------------------------------------------------------------

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446     # the same on every architecture
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
LEAST_ABI = 4
FILES_BY_ABI = {4: (1 << 15) - 1, 5: (1 << 16) - 1}     # all rights on files; ioctl on devices came with 5
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG, TRUNCATE = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 14
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE
ON_A_FILE = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE
TCP = 3                                 # bind and connect
SCOPES = 3                              # abstract sockets and signals of others, from version 6 on


def landlock_abi() -> int:
    """Return the Landlock version of this kernel; 0 if it has none."""
    version: int = LIBC.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    return max(0, version)


def restrict_files(readable: list[str], listed: list[str], writable: str, executable: list[str]) -> None:
    """Allow only the given paths for reading, listing and executing, one folder for writing, and /dev/null."""
    abi = landlock_abi()
    if abi < LEAST_ABI:
        raise OSError(38, f"Landlock version {LEAST_ABI} is needed, this kernel has {abi}")
    rights = FILES_BY_ABI[min(abi, 5)]
    attributes = struct.pack("<QQQ", rights, TCP, SCOPES if abi >= 6 else 0)[: 24 if abi >= 6 else 16]
    ruleset = check_call(LIBC.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "Landlock")
    for path in readable:
        allow(ruleset, path, READ)
    for path in listed:
        allow(ruleset, path, READ_DIR)
    for path in executable:
        allow(ruleset, path, EXECUTE | READ_FILE)
    allow(ruleset, "/dev/null", READ | WRITE_FILE)
    allow(ruleset, writable, WRITE)
    check_call(LIBC.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)


def allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule to a Landlock rule set."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return                          # what is not there need not be allowed
    if not os.path.isdir(path):
        rights &= ON_A_FILE
    rule = struct.pack("<Qi", rights, descriptor)
    check_call(LIBC.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0), f"Landlock on {path}")
    os.close(descriptor)


# ---- seccomp ----------------------------------------------------------------------------------------------------------

# name: (x86_64, aarch64); None where an architecture has no such call.  Linux's own tables, asm/unistd.h.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "open": (2, None), "close": (3, 57), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "poll": (7, None), "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215),
    "brk": (12, 214), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66), "access": (21, None),
    "select": (23, None), "sched_yield": (24, 124), "mremap": (25, 216),
    "dup": (32, 23), "dup2": (33, None), "nanosleep": (35, 101), "getpid": (39, 172), "sendto": (44, 206),
    "recvfrom": (45, 207), "sendmsg": (46, 211), "recvmsg": (47, 212), "getsockname": (51, 204), "getsockopt": (55, 209),
    "exit": (60, 93), "uname": (63, 160), "fsync": (74, 82), "fdatasync": (75, 83), "ftruncate": (77, 46),
    "getdents": (78, None), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "rename": (82, None),
    "mkdir": (83, None), "rmdir": (84, None), "unlink": (87, None), "readlink": (89, None), "umask": (95, 166),
    "gettimeofday": (96, 169), "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179), "times": (100, 153),
    "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177), "getppid": (110, 173),
    "getpgrp": (111, None), "getgroups": (115, 158), "getresuid": (118, 148), "getresgid": (120, 150),
    "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132), "statfs": (137, 43), "fstatfs": (138, 44),
    "arch_prctl": (158, None), "gettid": (186, 178),
    "time": (201, None), "futex": (202, 98), "sched_getaffinity": (204, 123), "epoll_create": (213, None),
    "getdents64": (217, 61), "set_tid_address": (218, 96), "restart_syscall": (219, 128), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "exit_group": (231, 94), "epoll_wait": (232, None),
    "epoll_ctl": (233, 21), "openat": (257, 56), "mkdirat": (258, 34), "newfstatat": (262, 79), "unlinkat": (263, 35),
    "renameat": (264, 38), "readlinkat": (267, 78), "faccessat": (269, 48), "pselect6": (270, 72), "ppoll": (271, 73),
    "set_robust_list": (273, 99), "epoll_pwait": (281, 22), "eventfd2": (290, 19), "epoll_create1": (291, 20),
    "dup3": (292, 24), "pipe2": (293, 59), "preadv": (295, 69), "pwritev": (296, 70), "renameat2": (316, 276),
    "getrandom": (318, 278), "getcpu": (309, 168), "membarrier": (324, 283),
    "statx": (332, 291), "rseq": (334, 293), "faccessat2": (439, 439),
    "futex_waitv": (449, 449),
}
# Calls that are allowed with certain arguments only.
CLONE, CLONE3 = (56, 220), (435, 435)
EXECVE, WAIT4 = (59, 221), (61, 260)    # for the process that becomes a program; for the worker that waits for its end
FCNTL, IOCTL, PRCTL, PRLIMIT, TGKILL, KILL = (72, 25), (16, 29), (157, 167), (302, 261), (234, 131), (62, 129)
MADVISE, GETSID, SCHED_GETPARAM, SCHED_GETSCHEDULER = (28, 233), (124, 156), (143, 121), (145, 120)
ADVICE = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17)             # not those that push pages of files out or in for everybody
THREAD_FLAGS = 0x00010000 | 0x00000100 | 0x00000800     # CLONE_THREAD, CLONE_VM, CLONE_SIGHAND
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030, 1034)            # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC, GET_SEALS
IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)      # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
PRCTL_OPTIONS = (15, 16, 0x53564D41)                    # SET_NAME, GET_NAME, SET_VMA

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
KILL_PROCESS, ERRNO, PASS = 0x80000000, 0x00050000, 0x7FFF0000
EPERM, ENOSYS = 1, 38
STEP = struct.Struct("<HBBI")           # struct sock_filter
OWN_NUMBER = 0x7FFF4F57                 # larger than any process number, and no other operand of the filter
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06       # classic BPF, 32-bit words
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16              # places in struct seccomp_data


def restrict_system_calls(*extra: tuple[int, int]) -> None:
    """Allow only the listed system calls; all others fail with EPERM, and calls of another architecture kill the process."""
    code = filter_code(extra).replace(struct.pack("<I", OWN_NUMBER), struct.pack("<I", os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // STEP.size, ctypes.addressof(buffer))
    check_call(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


@functools.cache
def filter_code(extra: tuple[tuple[int, int], ...] = ()) -> bytes:
    """Return the filter with OWN_NUMBER as a placeholder for the process id, computed once per supervisor."""
    return b"".join(STEP.pack(*step) for step in system_call_filter(platform.machine(), OWN_NUMBER, extra))


def system_call_filter(machine: str, process: int,
                       extra: tuple[tuple[int, int], ...] = ()) -> list[tuple[int, int, int, int]]:
    """Return the filter as classic BPF: (operation, jump if true, jump if false, operand)."""
    if machine not in ARCHITECTURES:
        raise OSError(38, f"no system call table for {machine}")
    column, architecture = ARCHITECTURES[machine]
    steps = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL_PROCESS),
             (LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, KILL_PROCESS)]      # x32
    for numbers in (*ALLOWED.values(), *extra):
        number = numbers[column]
        if number is not None:
            steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, PASS)]
    steps += when(CLONE3[column], [(RETURN, 0, 0, ERRNO | ENOSYS)])      # so that libc falls back to clone
    steps += when(CLONE[column], [(LOAD, 0, 0, ARGUMENTS), (AND, 0, 0, THREAD_FLAGS), (EQUAL, 0, 1, THREAD_FLAGS),
                                  (RETURN, 0, 0, PASS)])
    for call, argument, allowed in ((FCNTL, 1, FCNTL_COMMANDS), (IOCTL, 1, IOCTL_REQUESTS), (PRCTL, 0, PRCTL_OPTIONS),
                                    (TGKILL, 0, (process,)), (KILL, 0, (process,)), (MADVISE, 2, ADVICE),
                                    *((asks, 0, (0, process)) for asks in (GETSID, SCHED_GETPARAM, SCHED_GETSCHEDULER))):
        steps += when(call[column], [(LOAD, 0, 0, ARGUMENTS + 8 * argument), *(
            step for value in allowed for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, PASS)))])
    steps += when(PRLIMIT[column], [(LOAD, 0, 0, ARGUMENTS), (EQUAL, 1, 0, 0), (EQUAL, 0, 5, process),      # of itself, and
                                    (LOAD, 0, 0, ARGUMENTS + 16), (EQUAL, 0, 3, 0),     # asking only: no new limit, low word
                                    (LOAD, 0, 0, ARGUMENTS + 20), (EQUAL, 0, 1, 0), (RETURN, 0, 0, PASS)])
    return [*steps, (RETURN, 0, 0, ERRNO | EPERM)]


def when(number: int, steps: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return the steps for one system call that end in a decision; other calls skip them."""
    return [(EQUAL, 0, len(steps) + 1, number), *steps, (RETURN, 0, 0, ERRNO | EPERM)]
