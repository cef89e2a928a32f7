# SPDX-License-Identifier: GPL-2.0-or-later
"""A server answers fewer requests because its threads wait: for one lock, in a sleep, or for files to be on the disk.

Of a server in Python, whose locks and whose interpreter's lock are semaphores and conditions of libc, the kernel is told
no more than that its threads wait in futex(2): the word is futex,
and of how many threads. Which lock that is, and who holds it, is not in an account of waits; only that one thread burns
a CPU meanwhile, or that none does.
"""
import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import time

from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval
from harness import BUILD, Daemon, Skip, expect, main, test


# Eight handlers again, and a thread that from SIGUSR1 on has the lock that they all need nearly all the time: theirs in a
# sleep, or that of the interpreter in one instruction of it that takes long.
PYTHON = """
import mmap, os, signal, struct, sys, threading, time
what, path = sys.argv[1:]
with open(path, "w+b") as file:
    file.truncate(8)
    count = mmap.mmap(file.fileno(), 8)
lock, changed = threading.Lock(), threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: changed.set())

def handle():
    while True:
        time.sleep(0.002)
        with lock:
            struct.pack_into("=Q", count, 0, struct.unpack("=Q", count)[0] + 1)

def hog():
    changed.wait()
    while what == "lock":
        with lock:
            time.sleep(0.02)
        time.sleep(0.0005)
    while True:
        sum(range(3000000))

for function in [handle] * 8 + [hog]:
    threading.Thread(target=function, daemon=True).start()
print(os.getpid(), flush=True)
sys.stdin.read()
os._exit(0)
"""


class Server:
    """Eight handlers, which begin to do more when they are told."""

    def __init__(self, command, directory):
        self.count = directory / "count"
        self.process = subprocess.Popen(command(directory, self.count), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
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


def handlers(what):
    """The server "app", which begins to do @what."""
    return lambda directory, count: [BUILD / "tests" / "live" / "handlers", what, count,
                                     *([directory] if what == "sync" else [])]


def in_python(what):
    """The server "pyapp", where a thread begins to hog the lock that is @what."""
    def command(directory, count):
        program = directory / "pyapp"
        program.symlink_to(sys.executable)
        return [program, "-c", PYTHON, what, count]
    return command


def investigate(command):
    """What is seen of a server that changes."""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(directory))
        if daemon("status", "--json").json()["reasons"] is None:
            raise Skip("no programs can count waits here")
        server = stack.enter_context(Server(command, directory))
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
    for screen in investigate(handlers("lock")):
        screen.find(r"^waits +app: lock ")
        before, after = screen.row("app").sides("LOCK")
        expect(after > before + 1, "threads that wait for a lock:", before, after)


@test
def a_handler_sleeps():
    """beside handlers that have begun to sleep, the first screen says so, and of how many threads"""
    screens = investigate(handlers("sleep"))
    for screen in screens:
        expect(re.search(r"\bapp: sleep 0(\.0\d)? \u2192 \d\.\d of 9 threads", screen.text), "no sleep in", *screen.lines)
    # A terminal may have no room for it.
    expect("sleep" in screens[1].row("app").cells["WAITS FOR"], screens[1].row("app").cells)


@test
def answers_wait_for_the_disk():
    """beside handlers that have begun to call fdatasync, the first screen names that, whatever the kernel counts it as"""
    screens = investigate(handlers("sync"))
    for screen in screens:
        expect(re.search(r"\bapp: sync 0(\.0\d)? \u2192 ", screen.text), "no sync in", *screen.lines)
    expect("sync" in screens[1].row("app").cells["WAITS FOR"], screens[1].row("app").cells)


@test
def a_thread_hogs_a_lock_of_python():
    """beside a thread that sleeps with a lock of Python, the first screen says how many threads wait in futex, and burn nothing"""
    for screen in investigate(in_python("lock")):
        wait_in_futex(screen)
        before, after = screen.row("pyapp").sides("CPU")
        expect(after < max(0.5, before), "CPUs:", before, after)


@test
def a_thread_hogs_the_interpreter():
    """beside a thread that keeps the interpreter to itself, the first screen says how many threads wait in futex, and who burns a CPU"""
    for screen in investigate(in_python("interpreter")):
        wait_in_futex(screen)
        row = screen.row("pyapp")
        before, after = row.sides("CPU")
        # What a busy host leaves it of a CPU.
        expect(after + row.sides("WAIT")[1] > before + 0.5, "CPUs:", before, after)


def wait_in_futex(screen):
    told = re.search(r"\bpyapp: futex (\d\.?\d*) \u2192 (\d\.\d+) of 10 threads", screen.text)
    expect(told, "no futex in", *screen.lines)
    expect(float(told[2]) > float(told[1]) + 4, "threads that wait in futex:", told[0])


main()
