# SPDX-License-Identifier: GPL-2.0-or-later
"""The host that is looked at meanwhile: hard to read, as far as this machine lets it be."""
import contextlib
import os
import signal

import hostile
from harness import Idle, Skip

# One thread of each of these, in turn.
NAMES = [")", "a b\\x0ac", "\\xff\\xfe", "(x) R 1 2", "\\x1b[31m", "worker-12", "worker-7", "-", "'\"",
         "\\xf0\\x9f\\x98\\x80"]
# What is looked at must not starve who looks.
NICENESS = 10


def _trouble(directory, all_of_it, tell, over):
    """Odd names, threads born and dead, cgroups made and removed, and what else hostile.py knows."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(Idle(200, 10, *NAMES))
        try:
            if all_of_it:
                stack.enter_context(hostile.background(directory, processes=60, threads=60))
            else:
                stack.enter_context(hostile.Storm(directory, 20, 50000))
                stack.enter_context(hostile.CgroupTree(20))
        except Skip as reason:
            tell(f"the host is quieter than it should be: {reason}")
        tell("")
        os.read(over, 1)


@contextlib.contextmanager
def trouble(directory, all_of_it, say):
    """In a process of its own that ends with this one, however that ends."""
    directory.mkdir()
    (over, go_on), (told, out) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(go_on)
            os.close(told)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            os.nice(NICENESS)
            _trouble(directory, all_of_it, lambda text: os.write(out, f"{text}\n".encode()), over)
            status = 0
        finally:
            os._exit(status)
    os.close(over)
    os.close(out)
    try:
        with open(told, encoding="utf-8") as lines:
            for line in lines:
                if line == "\n":
                    break
                say(line.strip())
            yield
    finally:
        os.close(go_on)
        os.waitpid(pid, 0)
