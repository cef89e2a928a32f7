# SPDX-License-Identifier: GPL-2.0-or-later
"""One thread under each scheduling policy that this kernel has, in processes of their own."""
import os
import subprocess

# (name, number); SCHED_EXT only where the kernel has it.
POLICIES = [("SCHED_OTHER", 0), ("SCHED_FIFO", 1), ("SCHED_RR", 2), ("SCHED_BATCH", 3), ("SCHED_IDLE", 5),
            ("SCHED_DEADLINE", 6), ("SCHED_EXT", 7)]
SCHED_SETATTR = 314


def has_sched_ext():
    return os.path.exists("/sys/kernel/sched_ext")


class Policies:
    """The processes by the name of their policy, and why others were refused; they end with the block."""

    CODE = r"""
import ctypes, os, struct, sys, time
name, number = sys.argv[1], int(sys.argv[2])
open("/proc/self/comm", "w").write("p-" + name[6:].lower())
runtime, deadline = (1000000, 100000000) if number == 6 else (0, 0)
priority = 7 if number in (1, 2) else 0
attributes = struct.pack("=IIQiIQQQ", 48, number, 0, 0, priority, runtime, deadline, deadline)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(%d, 0, ctypes.c_char_p(attributes), 0) != 0:
    print(os.strerror(ctypes.get_errno()), flush=True)
    sys.exit(1)
print("ready", flush=True)
sys.stdin.read()
""" % SCHED_SETATTR

    def __enter__(self):
        self.processes, self.refused = {}, {}
        for name, number in POLICIES:
            process = subprocess.Popen(["python3", "-c", self.CODE, name, str(number)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            said = process.stdout.readline().strip()
            if said == "ready":
                self.processes[name] = process
            else:
                self.refused[name] = said
                process.wait()
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.stdin.close()
            process.wait()
