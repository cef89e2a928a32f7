# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that allocate with jemalloc and know what it counted, and snapshots that are held against them."""
import os
import re
import subprocess

from harness import BUILD, end, expect, expect_equal

TARGET = BUILD / "tests" / "live" / "heap-target"
WITNESS = BUILD / "tests" / "live" / "heap-witness"
READER = BUILD / "tests" / "bench" / "heap-reader"
NAMES = ("allocated_bytes", "deallocated_bytes")


def preload(library):
    """The environment of a program that finds its malloc in @library."""
    # A leak checker that finds another malloc refuses to start.
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"}


class Target:
    """heap-target: threads that allocate, and say what jemalloc counted for each of them."""

    def __init__(self, program, *options, threads=6, env=None, before=()):
        """@before: a command that starts it."""
        command = [*before, program, *options, threads]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.truth = None
        line = self.process.stdout.readline().decode()
        if not line:
            self.process.stdin.close()
            self.process.wait()
            raise AssertionError(f"{' '.join(map(str, command))}: {self.process.stderr.read().decode()}")
        words = line.split()
        self.version = words[1]
        self.distances = words[2:]
        self.pid = outer(self.process.pid, int(words[0]))

    def round(self):
        """Lets every thread work; returns {tid: (allocated, deallocated)} as it is from then on."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.truth = {}
        while words := self.process.stdout.readline().decode().split():
            # One that never allocates has counted nothing.
            numbers = tuple(0 if word == "-" else int(word) for word in words[1:])
            self.truth[int(words[0])] = numbers
        inner = {inner_tid(self.pid, int(tid)): int(tid) for tid in os.listdir(f"/proc/{self.pid}/task")}
        self.truth = {inner[tid]: numbers for tid, numbers in self.truth.items()}
        return self.truth

    def close(self):
        self.process.stdin.close()
        end(self.pid)
        self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def status_of(pid, tid, name):
    with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as file:
        return next((line.split()[1:] for line in file if line.startswith(name + ":")), None)


def inner_tid(pid, tid):
    """The number that a thread has for itself."""
    return int(status_of(pid, tid, "NSpid")[-1])


def children(pid):
    """Of any thread of the process."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as listed:
            found += map(int, listed.read().split())
    return found


def outer(started, inner):
    """The process here of a program below @started that says of itself that it is @inner."""
    below = [started]
    for pid in below:
        below += children(pid)
    # The first process of each pid namespace is 1; what systemd started is below nobody here.
    return next((pid for pid in reversed(below) if inner_tid(pid, pid) == inner), inner)


def switches(pid, tids):
    """How often each thread has left its processor: of itself, and made to."""
    return {tid: tuple(int(status_of(pid, tid, f"{kind}_ctxt_switches")[0]) for kind in ("voluntary", "nonvoluntary"))
            for tid in tids}


# --- snapshots ---------------------------------------------------------------------------------------------------


def counters(document, pid):
    """{tid: (allocated, deallocated)} of a process in a snapshot; None where absent."""
    return {row["tid"]: tuple(row[name] for name in NAMES) for row in document["rows"] if row["tgid"] == pid}


def expect_exact(document, target, *what):
    """Every thread of the target has in the snapshot what it said itself, whatever else the process has has nothing."""
    got = counters(document, target.pid)
    wrong = {tid: (got.get(tid), numbers) for tid, numbers in target.truth.items() if got.get(tid) != numbers}
    expect_equal(wrong, {}, *what, "(got, counted) of", len(wrong), "of", len(target.truth), "threads")
    more = {tid: numbers for tid, numbers in got.items() if tid not in target.truth and numbers != (None, None)}
    expect_equal(more, {}, *what, "threads that should have nothing")
    return len(target.truth)


def expect_absent(document, pid, *what):
    """No thread of the process has a number."""
    got = counters(document, pid)
    expect(got, *what, "the process is not in the snapshot")
    expect_equal({tid: numbers for tid, numbers in got.items() if numbers != (None, None)}, {}, *what)


def source(answer):
    return next(found for found in answer["sources"] if found["name"] == "jemalloc")


def reasons(ctl, name, pid):
    """Why threads of a process have no number, as a view says: {tid: reason}; None where they have one."""
    answer = ctl("show", name, "--group-by", "thread", "--metrics", ",".join(NAMES), "--limit", "0", "--json").json()
    found = {}
    for group in answer["groups"]:
        if group["pid"] == pid:
            cells = [group["metrics"][metric] for metric in NAMES]
            expect_equal(len({cell.get("reason") for cell in cells}), 1, "both for one reason", cells)
            expect_equal([cell["value"] is None for cell in cells], [bool(cells[0].get("reason"))] * 2, cells)
            found[group["tid"]] = cells[0].get("reason")
    return found


def failures(document):
    """Of the summary: {tag: count} of what could not be read."""
    summary = document["probe_summary"]
    tags = summary["failures"]
    expect(all(re.fullmatch(r"[a-z-]+", tag) and count > 0 for tag, count in tags.items()), summary)
    return tags
