# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that were killed hang in their exit, because what they wrote to a file is on a file system that does not answer.

With the account of waits, which counts a wait while it lasts, the first screen says who waits for storage and how many
threads that are. A daemon without it knows nothing of a wait that has not ended: the host is under pressure, and no group
has waited. The line "but" says that, and who is in state D.
"""
import contextlib
import mmap
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from investigation import INTERVAL_S, SETTLE_S, ask, comment, directory_on_disk
from fuse import Fuse
from harness import Daemon, Skip, expect, expect_equal, main, need_root, test, wait_until, without_programs

NAME = "hung"
PROCESSES = 4
LEAST_SHARE = 0.3  # of the time, a little more than what the first screen leaves out
# Changes its part of a mapped file, which the kernel writes when the process ends at the latest.
PROGRAM = """
import mmap, os, sys, time
with open(sys.argv[1], "r+b") as file:
    page = mmap.mmap(file.fileno(), 0)
    page[0] = page[0] ^ 1
    print(flush=True)
    time.sleep(1000)
"""


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


@contextlib.contextmanager
def writers(directory, fuse):
    """Processes that have each changed a file; in the end all are let go and reaped."""
    program = directory / NAME
    program.symlink_to(sys.executable)
    processes = [subprocess.Popen([program, "-c", PROGRAM, fuse.path(f"{number}")], stdout=subprocess.PIPE)
                 for number in range(PROCESSES)]
    try:
        for process in processes:
            expect(process.stdout.readline(), "a writer ended")
        yield processes
    finally:
        for process in processes:
            process.kill()
        fuse.release()
        for process in processes:
            process.wait(20)
            process.stdout.close()


def stalled_s():
    """For how long some thread waited for I/O, of the time since the host was booted."""
    try:
        text = pathlib.Path("/proc/pressure/io").read_text(encoding="ascii")
    except OSError as error:
        raise Skip(f"no pressure: {error.strerror}") from error
    return int(re.search(r"some .*total=(\d+)", text)[1]) / 1e6


def kill(processes):
    for process in processes:
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: all(state_of(process.pid) == "D" for process in processes), what="processes in state D")


@test
def who_hangs_in_its_exit_is_named():
    """beside processes that hang in their exit, the first screen says how many wait for storage, or who is in state D"""
    need_root()
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        fuse = stack.enter_context(Fuse(directory / "fuse", {str(number): bytes(mmap.PAGESIZE) for number in range(PROCESSES)},
                                        silent_write=True))
        daemons = []
        for name in ("counting", "plain"):
            (directory / name).mkdir()
            options = without_programs(directory) if name == "plain" else ()
            daemons.append(stack.enter_context(Daemon(directory / name, options=options)))
        if daemons[0]("status", "--json").json()["reasons"] is None:
            raise Skip("no programs can count waits here")
        processes = stack.enter_context(writers(directory, fuse))

        def capture(tag):
            for daemon in daemons:
                expect_equal(daemon("capture", "--tag", tag).status, 0, "capture", tag)
        for first, last in ("ab", "cd"):
            time.sleep(SETTLE_S)
            begin, stalled = time.monotonic(), stalled_s()
            capture(first)
            time.sleep(INTERVAL_S)
            capture(last)
            share = (stalled_s() - stalled) / (time.monotonic() - begin)
            if first == "a":
                kill(processes)
        comment(f"threads waited for I/O in {100 * share:.0f} % of the time after it")
        told, untold = (ask(["--socket", daemon.socket], "compare", "a..b", "c..d") for daemon in daemons)
    for screen in told:
        row = screen.row(NAME)
        before, after = row.sides("IO")
        expect_equal((row.threads, before), (str(PROCESSES), 0), row.cells)
        # One is read a moment later in the second capture, or earlier.
        expect(abs(after - PROCESSES) < 0.2, "threads that wait for storage:", after)
    if share < LEAST_SHARE:
        raise Skip(f"this kernel counts no pressure of who waits for what is written: {100 * share:.0f} %")
    for screen in untold:
        expect(re.search(rf"but B +pressure io \d+ %, but groups waited only \d\.\d+: in state D: {NAME} ×{PROCESSES}",
                         screen.text), "no contradiction in", *screen.lines)


main()
