# SPDX-License-Identifier: GPL-2.0-or-later
"""A server answers fewer requests because its threads wait: for one lock, in a sleep, or for files to be on the disk."""
import contextlib
import os
import re
import signal
import struct
import subprocess
import time

from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval
from harness import BUILD, Daemon, Skip, expect, main, test


class Server:
    """Eight handlers, which begin to do more when they are told."""

    def __init__(self, what, directory):
        self.count = directory / "count"
        options = [directory] if what == "sync" else []
        self.process = subprocess.Popen([BUILD / "tests" / "live" / "handlers", what, self.count, *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def answered(self):
        return struct.unpack("=Q", self.count.read_bytes())[0]

    def change(self):
        os.kill(self.pid, signal.SIGUSR1)


def investigate(what):
    """What is seen of a server that begins to do @what."""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(directory))
        if daemon("status", "--json").json()["reasons"] is None:
            raise Skip("no programs can count waits here")
        server = stack.enter_context(Server(what, directory))
        time.sleep(SETTLE_S)
        before = interval(daemon, "a", "b", server.answered)
        server.change()
        time.sleep(SETTLE_S)
        after = interval(daemon, "c", "d", server.answered)
        became_slower("answers", before, after)
        return ask(["--socket", daemon.socket], "compare", "a..b", "c..d")


@test
def a_mutex_is_held_for_longer():
    """beside a mutex that is held across 400 us, the first screen says for how many threads that is the reason to wait"""
    for screen in investigate("lock"):
        screen.find(r"^waits +app: lock ")
        before, after = screen.row("app").sides("LOCK")
        expect(after > before + 1, "threads that wait for a lock:", before, after)


@test
def a_handler_sleeps():
    """beside handlers that have begun to sleep, the first screen says so, and of how many threads"""
    screens = investigate("sleep")
    for screen in screens:
        expect(re.search(r"\bapp: sleep 0(\.0\d)? \u2192 \d\.\d of 9 threads", screen.text), "no sleep in", *screen.lines)
    # A terminal may have no room for it.
    expect("sleep" in screens[1].row("app").cells["WAITS FOR"], screens[1].row("app").cells)


@test
def answers_wait_for_the_disk():
    """beside handlers that have begun to call fdatasync, the first screen names that, whatever the kernel counts it as"""
    screens = investigate("sync")
    for screen in screens:
        expect(re.search(r"\bapp: sync 0(\.0\d)? \u2192 ", screen.text), "no sync in", *screen.lines)
    expect("sync" in screens[1].row("app").cells["WAITS FOR"], screens[1].row("app").cells)


main()
