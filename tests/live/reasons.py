# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait in each way that there is, and what captures say of them beside their own clocks."""
import os
import subprocess
import tempfile
import time

import ledgers
from harness import BUILD, expect, expect_equal

REASONS = ("lock", "futex", "sleep", "poll", "pipe", "socket", "terminal", "file", "async_io", "child", "signal", "file_lock",
           "ipc", "ioctl", "fault", "stopped", "idle", "other")
PARTS = ("run_time_ns", "wait_time_ns", "storage_wait_ns", "uninterruptible_ns", *(f"{reason}_wait_ns" for reason in REASONS))
# Kinds whose threads do nothing but wait, once in each call.
STEADY = ("condition", "semaphore", "join", "nanosleep", "clock", "poll", "select", "epoll", "pipe", "socket", "socket-read",
          "event", "aio", "child", "signal", "semaphores", "queue", "fault", "stopped")
HZ = os.sysconf("SC_CLK_TCK")


class Waiters:
    """One thread for each kind of wait, which knows how long it waited."""

    def __init__(self):
        # Its files are to be on a disk, also where /tmp is memory: there is nothing to wait for in that.
        self.directory = tempfile.TemporaryDirectory(prefix="ctprof-test-", dir="/var/tmp")
        self.process = subprocess.Popen([BUILD / "tests" / "live" / "waiters", self.directory.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.kinds = {}
        for line in iter(self.process.stdout.readline, "\n"):
            tid, kind, reason = line.split()
            self.kinds[int(tid)] = (kind, reason)

    def at(self, row):
        """How long, and how often, the thread of a row had waited when the row was read."""
        when = row["start_time_clock_ticks"] * 1_000_000_000 // HZ + row["acct_elapsed_ns"]
        self.process.stdin.write(f"{row['tid']} {when}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.directory.cleanup()


def pair(ctl, directory, seconds):
    """Two captures so far apart: those threads that are in both, as what they did in between."""
    documents = []
    for number in range(2):
        time.sleep(number * seconds)
        documents.append(ledgers.capture(ctl, directory))
    expect_equal(*(document[0]["end"]["reasonsId"] for document in documents), "one epoch")
    before = {(row["tid"], row["start_time_clock_ticks"]): row for row in documents[0][1]}
    # Some hosts keep processes from programs: these are read from files, which tell no reasons.
    return [(before[key], row) for row in documents[1][1]
            if (key := (row["tid"], row["start_time_clock_ticks"])) in before and row["poll_wait_ns"] is not None]


def difference(rows, column):
    return rows[1][column] - rows[0][column]


def against_clocks(ctl, directory, seconds, tolerance, is_emulated=False):
    """Each kind of wait is under its reason, as long as the thread's own clock says, and under no other; a line of each.

    An emulated processor needs so long for all but waiting that peers come too late or too early, or hardly at all.
    """
    lines, wrong, n_compared = [], [], 0
    # Wake-ups and switches that the thread cannot see in its clocks take some microseconds of each wait.
    unseen_ns = 300_000 if is_emulated else 3_000
    with Waiters() as waiters:
        time.sleep(0.5)
        lives = [rows for rows in pair(ctl, directory, seconds) if rows[0]["tid"] in waiters.kinds]
        expect_equal(len(lives), len(waiters.kinds))
        for rows in lives:
            kind, reason = waiters.kinds[rows[0]["tid"]]
            names = ("uninterruptible_ns", "uninterruptible_count") if reason == "uninterruptible" else (
                f"{reason}_wait_ns", f"{reason}_wait_count")
            own = [b - a for a, b in zip(*(waiters.at(row) for row in rows))]
            ours = [difference(rows, name) for name in names]
            others = {name: difference(rows, f"{name}_wait_ns") for name in REASONS if name != reason}
            share = f"{100 * (ours[0] / own[0] - 1):+.2f} %" if own[0] > 0 else "no wait"
            lines.append(f"{kind}: own clock {own[0] / 1e6:.2f} ms in {own[1]:.0f} waits, {reason} {ours[0] / 1e6:.2f} ms in "
                         f"{ours[1]} ({share}), else {sum(others.values()) / 1e6:.2f} ms")
            if is_emulated and own[1] < 5:
                continue
            n_compared += 1
            # The thread's clock goes on while it waits for a CPU, as long as the kernel says.
            slack = tolerance * own[0] + unseen_ns * own[1]
            if not -slack - difference(rows, "wait_time_ns") <= ours[0] - own[0] <= slack:
                wrong.append((kind, own, ours))
            # What a wait is for can have come before it. The other kinds mostly do not find the lock held, or pause.
            is_counted = is_emulated or 0.9 * own[1] - 3 <= ours[1] <= 1.02 * own[1] + 3
            if kind in STEADY and not (is_counted and sum(others.values()) <= 0.001 * own[0]):
                wrong.append((kind, "number", own, ours, others))
    expect(n_compared >= (20 if is_emulated else len(lives)), "kinds that waited", n_compared)
    return lines, wrong


def sums(ctl, directory, seconds):
    """By how much the parts of each thread of the host are away from the time that it was alive, sorted, and a line."""
    # Whoever runs, or waits for a CPU, while it is read has not been told of that yet.
    away = sorted(abs(sum(difference(rows, part) for part in PARTS) / difference(rows, "acct_elapsed_ns") - 1)
                  for rows in pair(ctl, directory, seconds) if "R" not in (rows[0]["state"], rows[1]["state"]))
    expect(len(away) > 20, away)
    return away, (f"{len(away)} threads: median {100 * away[len(away) // 2]:.4f} %, 95 % below "
                  f"{100 * away[len(away) * 95 // 100]:.3f} %, worst {100 * away[-1]:.2f} %")
