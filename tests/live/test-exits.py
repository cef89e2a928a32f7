#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger of the dead without BPF, by messages of taskstats: every exit is in it once, less the work that no message tells."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import heaps
import ledgers
from harness import Daemon, Skip, end, expect, expect_equal, main, need_root, temporary, test, wait_until

HEARD = "Exits of threads are counted by messages of taskstats"
LOST = "The ledger of threads that ended is lost"
# What a message cannot tell, also where the host counts it.
UNTOLD = ("cgroup", "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes", "nr_migrations",
          "utime_clock_ticks", "stime_clock_ticks", "nr_wakeups", "wait_sum", "storage_wait_ns", "uninterruptible_ns")
TOLD = ("run_time_ns", "wait_time_ns", "timeslices", "voluntary_csw", "nonvoluntary_csw", "minflt", "majflt", "acct_utime_ns",
        "acct_stime_ns", "acct_run_virtual_ns")


@contextlib.contextmanager
def daemon(*lines):
    """One that hears exits, unless @lines of the configuration want something else."""
    need_root()
    with temporary() as directory:
        config = directory / "ctprofd.conf"
        config.write_text("\n".join(["[Capture]", *(lines or ["ExitAccounting=taskstats"]), ""]))
        with Daemon(directory, options=["--config", str(config)]) as ctl:
            if not lines:
                wait_until(lambda: HEARD in ctl.log.read_text() or "is not counted" in ctl.log.read_text(), what="the listener")
                if HEARD not in ctl.log.read_text():
                    raise Skip(ctl.log.read_text().strip())
            yield ctl, directory


def exits(ctl, *arguments):
    """What is said of the source, by status or by info."""
    found = next(source for source in ctl(*arguments, "--json").json()["sources"] if source["name"] == "exits")
    return found["state"], found.get("reason", ""), found


def ledger_id(ctl, name):
    """Of a capture; None where it has no ledger."""
    expect_equal(ctl("capture", "--tag", name, "--replace", "--smaps=none", "--no-heap").status, 0)
    return ctl("info", name, "--json").json()["snapshot"].get("ledgerId")


@test
def account():
    """of four storms every exit is there, under its names, with no more CPU time than the cgroup used and no less than known"""
    floors = {"storm-processes": 0.75, "storm-memory": 0.60, "storm-files": 0.20, "storm-threads": 0.85}
    n_exits = {"storm-processes": 201, "storm-memory": 61, "storm-files": 201, "storm-threads": 901}
    with daemon() as (ctl, directory):
        for number, name in enumerate(ledgers.STORMS):
            # No cgroup tells this storm from that of another test, so a name has to.
            called = f"storm{number}-{os.getpid()}"
            with ledgers.group("ctprof-storm") as (place, _):
                process = ledgers.storm(name, place, directory, called)
                _, outside = map(int, process.communicate()[0].split())
                expect_equal(process.returncode, 0)
                _, living, dead = ledgers.capture(ctl, directory)
                kernel = ledgers.used_ns(place)
            ours = [row for row in dead if row["pcomm"] == called]
            expect_equal({row["started_by"] for row in ours}, {None}, "no message tells whose children they were")
            heard = ledgers.total(ours, "run_time_ns") - outside
            print(f"# {name}: kernel {kernel / 1e6:.1f} ms, heard {heard / 1e6:.1f} ms, {100 * (heard / kernel - 1):+.2f} %, "
                  f"{ledgers.total(ours, 'exits')} exits")
            expect_equal(ledgers.total(ours, "exits"), n_exits[name], name)
            expect_equal({row["comm"] for row in ours}, {called})
            expect_equal([row for row in living if row["pcomm"] == called], [])
            expect(floors[name] < heard / kernel <= 1.0, name, kernel, heard)
            for row in ours:
                expect_equal([column for column in UNTOLD if row.get(column) is not None], [])
                expect_equal([column for column in TOLD if row[column] is None], [])
        print(f"# {len(dead)} rows, names unknown: {ledgers.total(dead, 'exits', pcomm='[unknown]')} exits")


@test
def described():
    """the source is partial through taskstats and says in a sentence what is missing, in status and in info"""
    with daemon() as (ctl, _):
        expect_equal(ctl("capture", "--tag", "heard", "--backend", "procfs", "--smaps=none", "--no-heap").status, 0)
        for arguments in (["status"], ["info", "heard"]):
            state, reason, source = exits(ctl, *arguments)
            expect_equal((state, source["backend"]), ("partial", "taskstats"))
            for word in ("taskstats", "work after the message", "cgroups", "I/O"):
                expect(word in reason, arguments, reason)
            expect(reason in ctl(*arguments).out.replace("\n", " "), arguments)
        head = ctl("info", "heard", "--json").json()["snapshot"]
        expect_equal(len(head["ledgerId"]), 32)
        expect("waitsSinceBoottimeNs" not in head, head)


@test
def privileges():
    """the listener has no capability, a filter, and only its own kind of descriptors"""
    with daemon() as (ctl, _):
        pid = ctl.listener()
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        expect_equal({int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {0})
        expect_equal((status["Seccomp"].strip(), status["NoNewPrivs"].strip()), ("2", "1"))


@test
def killed():
    """when the listener dies another ledger begins, the journal says so, and the daemon and the next capture live on"""
    with daemon() as (ctl, directory):
        before = ledger_id(ctl, "before")
        expect(before, "there is no ledger")
        expect_equal(ledger_id(ctl, "between"), before)
        time.sleep(5.5)  # one that dies young has to wait
        first = ctl.listener()
        end(first)
        wait_until(lambda: ctl.listener() not in (None, first), what="another listener")
        # It is there before it hears anything, and no capture waits for that.
        wait_until(lambda: ledger_id(ctl, "after") not in (None, before), what="another ledger")
        expect(LOST in ctl.log.read_text(), ctl.log.read_text())
        expect(ledgers.capture(ctl, directory)[2])
        end(ctl.listener())  # before its time
        expect_equal(ctl("capture", "--tag", "without", "--smaps=none", "--no-heap").status, 0)
        state, reason, _ = exits(ctl, "info", "without")
        expect_equal(state, "unavailable")
        expect("ended and begins again" in reason or "could not tell" in reason, reason)


@test
def stopped():
    """a listener that does not answer costs a capture its ledger and some time, and says so"""
    with daemon() as (ctl, directory):
        pid = ctl.listener()
        os.kill(pid, 19)
        try:
            begin = time.monotonic()
            expect_equal(ctl("capture", "--tag", "deaf", "--smaps=none", "--no-heap").status, 0)
            expect(time.monotonic() - begin < 15)
            state, reason, _ = exits(ctl, "info", "deaf")
            expect_equal(state, "unavailable")
            expect("did not answer in time" in reason, reason)
            expect("ledgerId" not in ctl("info", "deaf", "--json").json()["snapshot"])
        finally:
            os.kill(pid, 18)
        _, _, dead = ledgers.capture(ctl, directory)
        expect(dead)


ZOMBIE = """
import os, threading, time
open("/proc/self/comm", "w").write("zombie-maker")
if os.fork() == 0:
    open("/proc/self/comm", "w").write("zombie")
    os._exit(0)
print(flush=True)
time.sleep(60)
"""


@test
def zombies():
    """a zombie is among the dead and not among the living, through either backend, once"""
    for backend in ("procfs", "bpf"):
        with daemon() as (ctl, directory):
            process = subprocess.Popen([sys.executable, "-c", ZOMBIE], stdout=subprocess.PIPE)
            try:
                process.stdout.readline()
                wait_until(lambda: any("\nState:\tZ" in status for status in children_of(process.pid)), what="the zombie")
                file = directory / "zombie.zst"
                result = ctl("capture", "--backend", backend, "--output", str(file), "--smaps=none", "--no-heap", "--json")
                if result.status != 0:
                    raise Skip(result.err.strip())
                living, dead = ledgers.read(file)[1:]
                read = next(source["ok"] for source in result.json()["sources"] if source["name"] == "stat")
                expect_equal(read, len(living), "of the threads that were read, those that are in the snapshot")
                expect_equal([row["comm"] for row in living if row["pcomm"] in ("zombie", "zombie-maker")], ["zombie-maker"])
                expect_equal(ledgers.total(dead, "exits", pcomm="zombie"), 1)
                expect_equal([row for row in living if row["state"] in ("Z", "X")], [])
            finally:
                process.kill()
                process.communicate()


def children_of(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            yield pathlib.Path(f"/proc/{child}/status").read_text()


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def settled_cpu(pid, seconds):
    before, switches = cpu_ns(pid), voluntary(pid)
    time.sleep(seconds)
    return cpu_ns(pid) - before, voluntary(pid) - switches


def voluntary(pid):
    return heaps.switches(pid, [pid])[pid][0]


@test
def idle():
    """while nothing ends, the listener does not run"""
    with daemon() as (ctl, _):
        pid = ctl.listener()
        for _ in range(8):
            before = forks()
            used, woken = settled_cpu(pid, 1)
            ended = forks() - before
            print(f"# {used / 1e3:.0f} us, woken {woken} times, {ended} threads of others began")
            if (used, woken) == (0, 0):
                return
            expect(woken <= min(3 * ended + 3, 110), woken, ended)  # it rests between two batches
        raise Skip("something ended in every second")


def forks():
    return int(re.search(r"^processes (\d+)", pathlib.Path("/proc/stat").read_text(), re.M)[1])


@test
def chosen():
    """off and bpf start no listener; with taskstats no program counts exits"""
    for choice in ("off", "bpf"):
        with daemon(f"ExitAccounting={choice}") as (ctl, _):
            expect_equal(ctl("status").status, 0)
            expect_equal(ctl.listener(), None)
            expect(HEARD not in ctl.log.read_text())
    with daemon("ExitAccounting=auto", "Backend=procfs") as (ctl, directory):
        wait_until(lambda: HEARD in ctl.log.read_text(), what="the listener")
        expect_equal(exits(ctl, "status")[0], "partial")


@test
def reloaded():
    """a change of the setting takes effect with a reload, both ways"""
    with daemon() as (ctl, directory):
        for choice, wanted in (("off", False), ("taskstats", True)):
            (directory / "ctprofd.conf").write_text(f"[Capture]\nExitAccounting={choice}\n")
            os.kill(ctl.process.pid, 1)
            wait_until(lambda: (ctl.listener() is not None) == wanted, what=choice)


main()
