# SPDX-License-Identifier: GPL-2.0-or-later
"""Beside busy servers a program that allocates through jemalloc begins to keep 4 MB a second: who it is, and how fast."""
import contextlib
import os
import signal
import sys
import time

from investigation import INTERVAL_S, SETTLE_S, ask, comment, directory_on_disk, started
from harness import Daemon, expect, expect_equal, main, test, wait_until
from programs import Programs

PACKAGES = {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}
MIB = 1 << 20
LEAK_BYTES = 4000000  # a second
SETTINGS = ("--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no")
# Allocates as much all the time, and keeps it once there is a file of that name.
PROGRAM = f"""
import os, sys, time
kept, begin, n = [], time.monotonic(), 0
while True:
    time.sleep(0.05)
    owed = int((time.monotonic() - begin) * {LEAK_BYTES})
    while n < owed:
        kept.append(b"x" * 50000)
        n += 50000
    if not os.path.exists(sys.argv[1]):
        kept.clear()
"""


@contextlib.contextmanager
def busy_server(directory, programs):
    """redis-server under redis-benchmark, which asks for few keys, again and again."""
    path, environment = directory / "redis.sock", {**os.environ, **programs.environment}
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(programs["redis-server"], "--unixsocket", path, "--dir", directory, *SETTINGS,
                                    log=directory / "redis.log", env=environment))
        wait_until(path.exists, what="redis-server")
        stack.enter_context(started(programs["redis-benchmark"], "-s", path, "-t", "get,set", "-r", 100, "-n", 100000000,
                                    "-q", stop=signal.SIGKILL, env=environment))
        yield


def captured(daemon, name):
    expect_equal(daemon("capture", "--tag", name).status, 0, "capture", name)
    return time.monotonic()


@test
def what_keeps_its_memory_stands_on_the_first_screen():
    """beside busy servers, the first screen names a program that keeps 4 MB a second, and its memory"""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        daemon = stack.enter_context(Daemon(directory))
        stack.enter_context(busy_server(directory, programs))
        leaky, switch = directory / "leaky", directory / "switch"
        leaky.symlink_to(sys.executable)
        program = stack.enter_context(started(leaky, "-c", PROGRAM, switch, stop=signal.SIGKILL, env={
            **os.environ, **programs.environment, "LD_PRELOAD": "libjemalloc.so.2"}))
        time.sleep(SETTLE_S)
        for names in ("ab", "cd"):
            begin = captured(daemon, names[0])
            time.sleep(INTERVAL_S)
            seconds = captured(daemon, names[1]) - begin
            switch.touch()
            time.sleep(SETTLE_S)
        expect(program.poll() is None, "leaky ended")
        both = ask(["--socket", daemon.socket], "compare", "a..b", "c..d")
        alone = ask(["--socket", daemon.socket], "show", "c..d")
        heap = daemon("show", "c..d", "--filter", "leaky", "--metrics", "live_heap_estimate", "--json").json()
    work = heap["groups"][0]["derived"]["live_heap_estimate"]["work"]
    comment(f"in {seconds:.1f} s it was to keep {LEAK_BYTES * seconds / MIB:.0f} MiB; its live heap grew by {work / MIB:.0f} MiB")
    # Where the machine is busy the program sleeps longer, and then allocates what it owes.
    expect(work > 0.7 * LEAK_BYTES * seconds, "the heap grew by", work)
    for screen in both:
        before, after = screen.row("leaky").sides("RSS")
        expect(after - before > 0.6 * LEAK_BYTES * INTERVAL_S, "memory:", before, after)
    for screen in alone:
        before, after = screen.row("leaky").sides("RSS")
        expect(0.6 * work < after - before < 1.5 * work + 8 * MIB, "memory:", before, after, "heap", work)


main()
