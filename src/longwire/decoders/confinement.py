"""What the kernel keeps a sandbox process from: resources, the network, and most system calls.

Limits of resources always work. A network namespace of its own and a filter of system calls are
used where the kernel and the container allow them; a process reports which of them it has. The
filter lists what computing, the socket to the parent and a fork need; anything else fails with
EPERM, `socket` and `open` among it.
"""

import ctypes
import enum
import platform
import resource
import signal
import struct
import sys
from typing import Final

# All engines together, and the interpreter itself, which takes about 100 MiB of address space.
ADDRESS_SPACE_BYTES_MAX: Final = 1024 * 1024 * 1024
OPEN_FILES_MAX: Final = 16


class Confinement(enum.IntFlag):
    """What a sandbox process has beyond limits of resources."""

    NETWORK_NAMESPACE = 1
    SYSTEM_CALL_FILTER = 2


_CLONE_NEWUSER: Final = 0x1000_0000
_CLONE_NEWNET: Final = 0x4000_0000
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2
_KILL_PROCESS: Final = 0x8000_0000
_REFUSE: Final = 0x0005_0001  # SECCOMP_RET_ERRNO with EPERM
_ALLOW: Final = 0x7FFF_0000
# Instructions of the packet filter, and offsets in `struct seccomp_data`.
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_FIRST_ARGUMENT = 16 if sys.byteorder == "little" else 20
# A fork as the C libraries spell it: no thread, no namespace, no shared memory.
_FORK_FLAGS: Final = (0x0120_0011, 0x11)

# The machine: its number in the filter's data, its `clone`, and the other calls it may make.
_MACHINES: Final = {
    "x86_64": (
        0xC000_003E,
        56,
        # read write close poll mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn
        # select sched_yield mremap madvise setitimer getpid sendto recvfrom sendmsg recvmsg
        (
            *(0, 1, 3, 7, 9, 10, 11, 12, 13, 14, 15, 23, 24, 25, 28, 38, 39, 44, 45, 46, 47),
            # exit wait4 gettimeofday getrusage times sigaltstack gettid time futex set_tid_address
            # restart_syscall clock_gettime exit_group pselect6 ppoll set_robust_list getrandom rseq
            *(60, 61, 96, 98, 100, 131, 186, 201, 202, 218, 219, 228, 231, 270, 271, 273, 318, 334),
        ),
    ),
    "aarch64": (
        0xC000_00B7,
        220,
        # close read write pselect6 ppoll exit exit_group set_tid_address futex set_robust_list
        # setitimer clock_gettime sched_yield restart_syscall sigaltstack rt_sigaction
        (
            *(57, 63, 64, 72, 73, 93, 94, 96, 98, 99, 103, 113, 124, 128, 132, 134),
            # rt_sigprocmask rt_sigreturn times getrusage gettimeofday getpid gettid sendto recvfrom
            # sendmsg recvmsg brk munmap mremap mmap mprotect madvise wait4 getrandom rseq
            *(135, 139, 153, 165, 169, 172, 178, 206, 207, 211, 212, 214, 215, 216, 222, 226, 233),
            *(260, 278, 293),
        ),
    ),
}


def confine() -> Confinement:
    """Confine this process for good; returns what of it the kernel allowed."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for limit, number in (
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES_MAX),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (number, number))
    confinement = Confinement(0)
    if _leave_network():
        confinement |= Confinement.NETWORK_NAMESPACE
    if _filter_system_calls():
        confinement |= Confinement.SYSTEM_CALL_FILTER
    return confinement


def _leave_network() -> bool:
    """Enter a network namespace without interfaces; a privileged process needs no user's."""
    libc = ctypes.CDLL(None)
    flags = (_CLONE_NEWUSER | _CLONE_NEWNET, _CLONE_NEWNET)
    return hasattr(libc, "unshare") and any(libc.unshare(each) == 0 for each in flags)


def _filter_system_calls() -> bool:
    machine = _MACHINES.get(platform.machine())
    libc = ctypes.CDLL(None)
    if machine is None or sys.maxsize <= 2**32 or not hasattr(libc, "prctl"):
        return False
    program = _build_filter(*machine)
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a count and a pointer, aligned.
    head = struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(instructions))
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        return False
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    return bool(libc.prctl(_PR_SET_SECCOMP, mode, ctypes.c_char_p(head), zero, zero) == 0)


def _build_filter(architecture: int, clone: int, calls: tuple[int, ...]) -> bytes:
    """The program: allow what is listed, and a clone that is nothing but a fork."""
    forks = len(_FORK_FLAGS)
    # (instruction, jump if true, jump if false, value); jumps count instructions to skip.
    program = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD_WORD, 0, 0, _NUMBER),
        (_JUMP_IF_EQUAL, 0, forks + 2, clone),
        (_LOAD_WORD, 0, 0, _FIRST_ARGUMENT),
    ]
    for index, flags in enumerate(_FORK_FLAGS):
        program.append((_JUMP_IF_EQUAL, forks - index + len(calls) + 1, 0, flags))
    program.append((_RETURN, 0, 0, _REFUSE))
    for index, number in enumerate(calls):
        program.append((_JUMP_IF_EQUAL, len(calls) - index, 0, number))
    program += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *each) for each in program)
