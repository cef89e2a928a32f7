# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait in each way that there is, and what captures say of them beside their own clocks."""
import collections
import os
import pathlib
import re
import subprocess
import tempfile
import threading
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


# What the kernel's stack of a thread that waits says: the first function that is in the list, from the innermost on.
FRAMES = tuple((reason, re.compile(functions)) for reason, functions in (
    ("stopped", "ptrace_stop|do_signal_stop|do_freezer_trap|__refrigerator|do_jobctl_trap"),
    ("futex", "futex_|rt_mutex"),
    ("sleep", "(do|hrtimer)_nanosleep"),
    ("poll", "do_epoll_wait|ep_poll|do_sys_poll|do_poll|do_select|core_sys_select"),
    ("child", "do_wait$|kernel_wait"),
    ("fault", "handle_userfault"),
    ("async_io", "read_events|io_cqring_wait|__x64_sys_io_getevents|__x64_sys_io_pgetevents"),
    ("pipe", "(anon_)?pipe_(read|write)|fifo_open|wait_for_partner"),
    ("socket", "(unix|inet|inet6|sock|netlink|packet|tcp|udp)_.*(accept|recvmsg|sendmsg|connect)|unix_stream_|sk_wait_data|__sys_accept|"
               "__skb_wait"),
    ("terminal", "n_tty_read|n_tty_write|tty_"),
    ("signal", "do_sigtimedwait|sigsuspend|__x64_sys_pause|__do_sys_pause"),
    ("file_lock", "fcntl_setlk|flock_lock|posix_lock|locks_lock|__break_lease"),
    ("ipc", "do_msgrcv|do_msgsnd|do_semtimedop|do_mq_timed|mq_timed|wq_sleep"),
    ("ioctl", "__x64_sys_ioctl|vfs_ioctl"),
    ("file", "vfs_read|vfs_write|ksys_read|ksys_write"),
))
# What a stack cannot tell apart.
TOGETHER = {"futex": ("futex_wait_ns", "lock_wait_ns"), "blocked": ("storage_wait_ns", "uninterruptible_ns")}
PF_KTHREAD, PF_IO_WORKER, PF_USER_WORKER = 0x00200000, 0x00000010, 0x00004000


def verdict(task):
    """What the thread waits for by its state and its kernel stack; None: it runs, or has ended."""
    try:
        fields = (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        frames = [line.split()[1].partition("+")[0] for line in (task / "stack").read_text(encoding="ascii").splitlines()]
        # The thread has not run in between: state and stack are of one wait.
        if fields[0] != (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]:
            return None
    except (OSError, IndexError):
        return None
    if fields[0] in "RXZ" or not frames:
        return None
    if fields[0] == "D":
        return "blocked"
    if fields[0] in "Tt":
        return "stopped"
    if int(fields[6]) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER):
        return "idle"
    for frame in frames:
        for reason, functions in FRAMES:
            if functions.match(frame):
                return reason
    return "other"


def agreement(ctl, directory, seconds, is_told):
    """The share of the time of waits whose reason is what samples of the kernel's stacks say, which threads are not so,
    and how often each reason was sampled.

    @is_told: whether a thread of an id is to be told apart from the rest, by its kind.
    """
    samples = collections.defaultdict(collections.Counter)
    stop = threading.Event()

    def look():
        while not stop.is_set():
            for task in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
                said = verdict(task)
                if said:
                    samples[int(task.name)][said] += 1

    looker = threading.Thread(target=look)
    looker.start()
    try:
        lives = pair(ctl, directory, seconds)
    finally:
        stop.set()
        looker.join()
    agreed = total = 0
    strange, told = [], collections.Counter()
    for rows in lives:
        seen = samples[rows[0]["tid"]]
        n = sum(seen.values())
        waits = {reason: sum(difference(rows, name) for name in TOGETHER.get(reason, (f"{reason}_wait_ns",)))
                 for reason in (set(REASONS) - {"lock"}) | {"blocked"}}
        time_ns = sum(waits.values())
        if n < 10 or time_ns == 0:
            continue
        share = 0
        for reason, ns in waits.items():
            part = seen[reason] / n
            # A share of n samples is known to within three times its deviation.
            share += min(ns / time_ns, part + 3 * (max(part * (1 - part), 1 / n) / n) ** 0.5)
        agreed += min(share, 1) * time_ns
        total += time_ns
        told.update(seen)
        if share < 0.98:
            strange.append((rows[1]["comm"], is_told(rows[0]["tid"]), dict(seen),
                            {reason: f"{100 * ns / time_ns:.0f} %" for reason, ns in waits.items() if ns > time_ns / 100}))
    return agreed / total, strange, told
