#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who fills the ledger of the dead loses names of its own, and nobody else's: strangers by name, by cgroup, by uid."""
import contextlib
import ctypes
import os
import subprocess
import sys
import time

import ledgers
from harness import BUILD, Daemon, expect, expect_equal, main, memory_files, need_root, temporary, test, wait_until

STORM = str(BUILD / "tests" / "live" / "ended-storm")
STRANGER = 60001
HONEST = 60002
MOST_BYTES = 256 << 10  # that one owner can add to a capture
MOST_NS = 100_000_000   # of CPU time, likewise
CLONE_NEWUSER = 0x10000000


@contextlib.contextmanager
def daemon():
    """One that has loaded its programs."""
    need_root()
    with temporary() as directory, Daemon(directory) as ctl:
        ledgers.capture(ctl, directory)
        yield ctl, directory


def storm(kind, word, n, begin=0, user=STRANGER):
    subprocess.run([STORM, kind, str(word), str(n), str(begin)], check=True, user=user, group=user, extra_groups=[],
                   stdout=subprocess.DEVNULL)


def capture(ctl, directory, what=""):
    """The document, the dead, and what it cost: bytes of the file, and CPU time."""
    document, _, dead = ledgers.capture(ctl, directory)
    n_bytes = (directory / "ledger.ctprof.zst").stat().st_size
    cpu_ns = document["end"]["cost"]["cpuNs"]
    print(f"# {what}: {n_bytes / 1000:.0f} kB, {cpu_ns / 1e6:.1f} ms of CPU, {len(dead)} rows")
    return document, dead, n_bytes, cpu_ns


def losses(document):
    return {loss["owner"]: loss for loss in document["ledger"]["owners"]}


def named(dead, word, owner=STRANGER):
    return [row for row in dead if row["comm"].startswith(word) and row["owner"] == owner]


def of_owner(dead, owner):
    return [row for row in dead if row["owner"] == owner]


@test
def names():
    """64 names of one user are kept beside 65,472 of another, whose storm costs captures little, and only its own names"""
    with daemon() as (ctl, directory):
        storm("names", "honest", 64, user=HONEST)
        _, _, bytes_before, cpu_before = capture(ctl, directory, "at rest")
        storm("names", "storm", 65472)
        document, dead, n_bytes, cpu_ns = capture(ctl, directory, "65,472 names later")
        expect_equal([row["exits"] for row in named(dead, "honest", HONEST)], [1] * 64, "honest names")
        expect_equal(ledgers.total(of_owner(dead, STRANGER), "exits"), 65473, "exits of the stranger")
        expect_equal({row["folded"] for row in of_owner(dead, HONEST)}, {0})
        expect(STRANGER in losses(document) and HONEST not in losses(document), losses(document))
        lost = losses(document)[STRANGER]
        expect(65473 > lost["overflow_exits"] > 0 and lost["folded_rows"] > 0, lost)
        expect(n_bytes - bytes_before < MOST_BYTES, n_bytes, bytes_before)
        expect(cpu_ns - cpu_before < MOST_NS, cpu_ns, cpu_before)
        # The table is looked at because it fills: new names have rows again.
        wait_until(lambda: fresh_name(ctl, directory), 60, "room for new names of the stranger")
        storm("names", "honest", 64, user=HONEST)
        _, dead, _, _ = capture(ctl, directory, "after a fold")
        expect_equal([row["exits"] for row in named(dead, "honest", HONEST)], [2] * 64, "honest names")


@test
def parents():
    """who starts processes under 12,000 names of its own fills its share alone, and its processes keep their name"""
    with daemon() as (ctl, directory):
        storm("parents", "honest", 64, user=HONEST)
        _, _, bytes_before, cpu_before = capture(ctl, directory, "at rest")
        storm("parents", "storm", 12000)
        document, dead, n_bytes, cpu_ns = capture(ctl, directory, "12,000 parents later")
        ours = named(dead, "honest", HONEST)
        expect_equal([row["exits"] for row in ours], [1] * 64, "one for each parent")
        expect_equal(len({row["started_by"] for row in ours}), 64)
        expect_equal(ledgers.total(of_owner(dead, STRANGER), "exits"), 12001, "exits of the stranger")
        lost = losses(document)
        expect(HONEST not in lost, lost)
        # Where the table was full for a moment, it found no row. No row lost its name for want of room for parents.
        expect_equal(lost.get(STRANGER, {}).get("folded_rows", 0), 0, "names of the stranger")
        known = ledgers.total(named(dead, "storm"), "exits")
        expect_equal(known + lost.get(STRANGER, {}).get("overflow_exits", 0), 12001 - len(named(dead, "of-")), lost)
        expect(n_bytes - bytes_before < MOST_BYTES, n_bytes, bytes_before)
        expect(cpu_ns - cpu_before < MOST_NS, cpu_ns, cpu_before)


fresh = iter(range(1 << 20))


def fresh_name(ctl, directory):
    storm("names", "fresh", 1, next(fresh))
    _, _, dead = ledgers.capture(ctl, directory)
    return bool(named(dead, "fresh"))


@test
def deep():
    """names kept just below what makes a fold, in a deep cgroup with a long path, cost each capture little"""
    with daemon() as (ctl, directory), ledgers.group("ctprof-deep") as (place, _), deep_group(place) as inner:
        _, _, bytes_before, cpu_before = capture(ctl, directory, "at rest")
        for part in range(4):
            storm_within(inner, "names", "deep", 1000, 1000 * part)
            time.sleep(1.5)
        # Somebody lives there, so that the whole path is known.
        with subprocess.Popen(["sh", "-c", f"echo 0 > {inner}/cgroup.procs; exec sleep 60"]) as living:
            try:
                for _ in range(2):
                    _, dead, n_bytes, cpu_ns = capture(ctl, directory, "4,000 names later")
            finally:
                living.kill()
        expect(len(named(dead, "deep")) > 1000, "they are there by name")
        expect(n_bytes - bytes_before < MOST_BYTES, n_bytes, bytes_before)
        expect(cpu_ns - cpu_before < MOST_NS, cpu_ns, cpu_before)


def storm_within(group, *what):
    """A storm of the stranger's that was begun in a cgroup which it may not enter by itself."""
    pid = os.fork()
    if pid == 0:
        try:
            (group / "cgroup.procs").write_text(str(os.getpid()))
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            os.execv(STORM, [STORM, *map(str, what)])
        finally:
            os._exit(9)
    expect_equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "the storm")


@contextlib.contextmanager
def deep_group(place):
    """Sixteen levels of names of 100 bytes."""
    levels = [place]
    for level in range(16):
        levels.append(levels[-1] / f"{level:0100}")
        levels[-1].mkdir()
    try:
        yield levels[-1]
    finally:
        for level in reversed(levels[1:]):
            wait_until(lambda level=level: not (level / "cgroup.procs").read_text(), what="the end of what is in it")
            level.rmdir()


@test
def cgroups():
    """34,500 cgroups in a subtree that a user was given take the names of that user's rows only"""
    with daemon() as (ctl, directory), ledgers.group("ctprof-subtree") as (place, path):
        storm("names", "honest", 64, user=HONEST)
        _, _, bytes_before, cpu_before = capture(ctl, directory, "at rest")
        for name in (".", "cgroup.procs", "cgroup.subtree_control"):
            os.chown(place / name, STRANGER, STRANGER)
        storm_within(place, "cgroups", place, 34500)
        document, dead, n_bytes, cpu_ns = capture(ctl, directory, "34,500 cgroups later")
        expect_equal([row["exits"] for row in named(dead, "honest", HONEST)], [1] * 64, "honest names")
        expect_equal(ledgers.total(of_owner(dead, STRANGER), "exits"), 34501, "exits of the stranger")
        expect(any(row["cgroup"] and row["cgroup"].startswith(path) for row in of_owner(dead, STRANGER)), "some are known")
        expect(HONEST not in losses(document), losses(document))
        expect(n_bytes - bytes_before < MOST_BYTES, n_bytes, bytes_before)
        expect(cpu_ns - cpu_before < MOST_NS, cpu_ns, cpu_before)


def enter_user_namespace(ready, go_on):
    """After which all of 65,536 uids are the stranger's, and it is root among them."""
    os.setresgid(STRANGER, STRANGER, STRANGER)
    os.setresuid(STRANGER, STRANGER, STRANGER)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its maps are written from outside
    if libc.unshare(CLONE_NEWUSER) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(ready, b"x")
    os.read(go_on, 1)


@test
def uids():
    """a storm from within a user namespace, under thousands of uids, counts as that of the user who created it"""
    with daemon() as (ctl, directory):
        storm("names", "honest", 64, user=HONEST)
        (ready, tell_ready), (go_on, tell_go_on) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                enter_user_namespace(tell_ready, go_on)
                os.setresuid(0, 0, 0)
                os.execv(STORM, [STORM, "uids", "lent", "6000"])
            finally:
                os._exit(9)
        os.close(tell_ready)
        expect_equal(os.read(ready, 1), b"x", "a user namespace can be created")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
                file.write(f"0 {STRANGER} 1\n1 700000 65536\n")
        os.write(tell_go_on, b"x")
        expect_equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "the storm")
        document, dead, _, _ = capture(ctl, directory, "6,000 uids later")
        expect_equal({row["owner"] for row in dead if row["comm"].startswith("lent")}, {STRANGER}, "who answers for them")
        expect_equal(ledgers.total(of_owner(dead, STRANGER), "exits"), 6001)
        expect_equal([row["exits"] for row in named(dead, "honest", HONEST)], [1] * 64, "honest names")
        expect(STRANGER in losses(document) and HONEST not in losses(document), losses(document))


def files_of_rows(ctl):
    """The files of folded rows that the daemon holds, by their inodes."""
    return set(memory_files(ctl.process.pid, "ctprof-ledger"))


NUMBERS = """
import os, sys, threading
os.setresgid(*[int(sys.argv[1])] * 3)
os.setresuid(*[int(sys.argv[1])] * 3)
def live(name):
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write(name)
for number in range(int(sys.argv[2])):
    thread = threading.Thread(target=live, args=(f"fold-{number}",))
    thread.start()
    thread.join()
"""


@test
def numbers():
    """names that differ in numbers lose those first, each thread stays in one row, and the source says whose they are"""
    with daemon() as (ctl, directory):
        subprocess.run([sys.executable, "-c", NUMBERS, str(STRANGER), "7000"], check=True)
        wait_until(lambda: files_of_rows(ctl), 30, "a fold")
        time.sleep(2)  # for the runs after the first
        document, dead, _, _ = capture(ctl, directory, "7,000 numbers later")
        expect_equal(len(files_of_rows(ctl)), 1, "files of rows")
        rows = of_owner(dead, STRANGER)
        expect_equal(ledgers.total(rows, "exits"), 7001)
        pattern, = (row for row in rows if row["folded"] == 1)
        expect_equal(pattern["comm"], "fold-0")
        expect(pattern["exits"] >= 1000, pattern["exits"])
        expect_equal({row["folded"] for row in rows} - {0, 1, 3}, set(), "what rows stand for")
        expect(losses(document)[STRANGER]["folded_rows"] >= 1000, losses(document))
        expect_equal(max(row["grew_boottime_ns"] for row in dead if row["folded"]),
                     document["ledger"]["folded_grew_boottime_ns"], "the last growth of what was folded")
        expect(all(0 < row["born_boottime_ns"] <= row["grew_boottime_ns"] for row in dead), "times")
        expect_equal(ctl("capture", "--tag", "late", "--backend", "bpf").status, 0)
        source = next(source for source in ctl("info", "late", "--json").json()["sources"] if source["name"] == "exits")
        expect(f"of uid {STRANGER}" in source["reason"], source)
        expect_equal(ctl("status", "--json").json()["ended"]["owners"][0]["owner"], STRANGER, "whom status names first")
        expect(f"names lost    uid {STRANGER}: " in ctl("status").out, ctl("status").out)


main()
