# SPDX-License-Identifier: GPL-2.0-or-later
"""One thread under each scheduling policy that this kernel has, in processes of their own."""
import ctypes
import os
import platform
import signal
import struct

from harness import end

# (name, number); SCHED_EXT only where the kernel has it.
POLICIES = [("SCHED_OTHER", 0), ("SCHED_FIFO", 1), ("SCHED_RR", 2), ("SCHED_BATCH", 3), ("SCHED_IDLE", 5),
            ("SCHED_DEADLINE", 6), ("SCHED_EXT", 7)]
# sched_setattr(2), for which Python has no name.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}[platform.machine()]


def has_sched_ext():
    return os.path.exists("/sys/kernel/sched_ext")


def become(number):
    """Puts the calling thread under a policy; returns 0 or the error number."""
    runtime, deadline = (1000000, 100000000) if number == 6 else (0, 0)
    priority = 7 if number in (1, 2) else 0
    attributes = struct.pack("=IIQiIQQQ", 48, number, 0, 0, priority, runtime, deadline, deadline)
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(SCHED_SETATTR, 0, ctypes.c_char_p(attributes), 0) != 0 else 0


def start(number):
    """A process that is under a policy and waits; returns (pid, 0) or (None, the error number)."""
    ours, its = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os.write(its, bytes([become(number)]))
        while True:
            signal.pause()
    os.close(its)
    error = os.read(ours, 1)[0]
    os.close(ours)
    if error:
        end(pid)
        os.waitpid(pid, 0)
        return None, error
    return pid, 0


class Policies:
    """Pids by the name of their policy, and why others were refused; they end with the block."""

    def __enter__(self):
        self.pids, self.refused = {}, {}
        for name, number in POLICIES:
            pid, error = start(number)
            if pid:
                self.pids[name] = pid
            else:
                self.refused[name] = os.strerror(error)
        return self

    def __exit__(self, *_):
        for pid in self.pids.values():
            end(pid)
            os.waitpid(pid, 0)
