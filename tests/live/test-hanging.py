#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that hang in their exit, as long as a file system does not answer, are alive and counted once, with BPF as without.

A process has a file of a FUSE file system open, whose flush is never answered, and is killed: each of its threads stays in the
kernel until the file system lets go, in state D. The exit has entered them in the ledger by then.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from fuse import Fuse
from harness import Daemon, Local, Skip, expect, expect_equal, main, need_root, run, temporary, test, wait_until

# @argv: the name, the file. Some CPU time is used before.
PROGRAM = """
import os, sys, threading, time
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[1])
def burn():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
burn()
held = os.open(sys.argv[2], os.O_RDONLY)
print("open", flush=True)
time.sleep(1000)
"""
SUMS = ("run_time_ns", "wait_time_ns", "timeslices", "voluntary_csw", "minflt", "majflt", "rchar", "syscr")


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


@contextlib.contextmanager
def hanging(directory, name):
    """The pid of a process of this name that is killed and hangs; in the end it is let go, and reaped."""
    with Fuse(directory / "fuse", {"file": b"x"}, silent_flush=True) as fuse:
        with subprocess.Popen([sys.executable, "-c", PROGRAM, name, fuse.path("file")], stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                yield process.pid, lambda: kill(process, fuse), lambda: let_go(process, fuse)
            finally:
                process.kill()
                fuse.release()


def kill(process, fuse):
    process.send_signal(signal.SIGKILL)
    expect(fuse.waiting.wait(20), "nobody flushed")
    wait_until(lambda: state_of(process.pid) == "D", what="a thread in state D")


def let_go(process, fuse):
    fuse.release()
    process.wait(20)


def rows_of(table):
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


class Seen:
    """What one capture has of a name."""

    def __init__(self, ctl, directory, name, backend):
        file = directory / "seen.ctprof.zst"
        file.unlink(missing_ok=True)
        done = ctl("capture", "--backend", backend, "--output", str(file), "--smaps=none", "--no-heap")
        if done.status != 0 and backend == "bpf":
            raise Skip(done.err.strip())
        expect_equal(done.status, 0, done.err)
        self.document = json.loads(run("zstd", "-dcq", str(file)).out)
        self.living = [row for row in rows_of(self.document["threads"]) if row["pcomm"] == name]
        self.dead = [row for row in rows_of(self.document.get("dead") or {"columns": [], "rows": []}) if row["pcomm"] == name]

    def total(self, column):
        return sum(row[column] or 0 for row in [*self.living, *self.dead])


def has_ledger(seen):
    """Programs keep it, and not a listener."""
    source = next(source for source in seen.document["sources"] if source["name"] == "exits")
    if source["state"] != "ok" or source.get("backend") == "taskstats":
        raise Skip(f"no ledger of programs: {source.get('reason')}")


def after_the_end(ctl, directory, name, hung):
    """What is seen once the kernel has freed the thread: what it did after it was entered is added then."""
    for _ in range(100):
        seen = Seen(ctl, directory, name, "bpf")
        if all(seen.total(column) >= hung.total(column) for column in SUMS):
            return seen
        time.sleep(0.1)
    raise AssertionError(f"{[(column, seen.total(column), hung.total(column)) for column in SUMS]}")


@test
def alive_until_the_end():
    """a thread that hangs in its exit is a thread of captures through BPF of a daemon that stays, and of none of its rows"""
    need_root()
    name = f"hang{os.getpid()}"
    with temporary() as directory, Daemon(directory) as ctl, hanging(directory, name) as (pid, kill_it, release):
        before = Seen(ctl, directory, name, "bpf")
        has_ledger(before)
        expect_equal(([row["tid"] for row in before.living], before.dead), ([pid], []), "before")
        kill_it()
        hung = [Seen(ctl, directory, name, "bpf") for _ in range(3)]
        for seen in hung:
            expect_equal(([row["tid"] for row in seen.living], seen.dead), ([pid], []), "while it hangs")
            row = seen.living[0]
            expect_equal((row["state"], row["comm"]), ("D", name))
            for column in SUMS:
                expect(row[column] is not None and row[column] >= before.living[0][column], column, row[column])
            of_all = sum(other["exits"] for other in rows_of(seen.document["dead"]))
            expect_equal(seen.document["ledger"]["exits"], of_all, "the exits of all rows")
        # What the kernel says in files is the same thread with the same work.
        files = Seen(ctl, directory, name, "procfs")
        expect_equal([(row["tid"], row["state"]) for row in files.living], [(pid, "D")], "files")
        for column in ("run_time_ns", "timeslices", "minflt", "rchar"):
            expect_equal(files.living[0][column], hung[-1].living[0][column], column)
        release()
        after = after_the_end(ctl, directory, name, hung[-1])
        expect_equal((after.living, sum(row["exits"] for row in after.dead)), ([], 1), "after")


@test
def counted_once():
    """intervals that begin or end while a thread hangs have its work once, and say that it lives and then that it ended"""
    need_root()
    name = f"once{os.getpid()}"
    with temporary() as directory, Daemon(directory) as ctl, hanging(directory, name) as (_, kill_it, release):
        def capture(tag):
            done = ctl("capture", "--tag", tag, "--backend", "bpf", "--smaps=none", "--no-heap")
            if done.status != 0:
                raise Skip(done.err.strip())
        capture("alive")
        has_ledger(Seen(ctl, directory, name, "bpf"))
        kill_it()
        capture("hangs")
        capture("still")
        hung = Seen(ctl, directory, name, "bpf")
        release()
        after_the_end(ctl, directory, name, hung)
        capture("gone")
        answers = {pair: ctl("compare", *pair.split(".."), "--filter", name, "--json").json()
                   for pair in ("alive..hangs", "hangs..still", "still..gone", "alive..gone")}
    groups = {pair: [*answer["groups"], *answer["onlyBefore"]][0] for pair, answer in answers.items()}
    lives = {pair: [group["lives"][what] for what in ("survived", "born", "ended", "bornAndEnded")] for pair, group in groups.items()}
    expect_equal(lives, {"alive..hangs": [1, 0, 0, 0], "hangs..still": [1, 0, 0, 0], "still..gone": [0, 0, 1, 0],
                         "alive..gone": [0, 0, 1, 0]})
    for metric in ("run_time_ns", "timeslices", "minflt", "voluntary_csw"):
        work = {pair: group["metrics"][metric]["work"] for pair, group in groups.items()}
        expect(all(value is not None and value >= 0 for value in work.values()), metric, work)
        expect_equal(sum(work[pair] for pair in ("alive..hangs", "hangs..still", "still..gone")), work["alive..gone"], metric)


@test
def without_a_ledger():
    """a command for itself, which has no ledger, has the thread, too"""
    need_root()
    name = f"local{os.getpid()}"
    with temporary() as directory, hanging(directory, name) as (pid, kill_it, _):
        kill_it()
        for backend in ("procfs", "bpf"):
            seen = Seen(Local(directory / "spool"), directory, name, backend)
            expect_equal([(row["tid"], row["state"]) for row in seen.living], [(pid, "D")], backend)


main()
