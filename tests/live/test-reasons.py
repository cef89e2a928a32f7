#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits by reason: each kind against the clock of the thread that waits, parts that add up, and when they are counted."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import ledgers
from harness import Daemon, Skip, expect, expect_equal, main, need_root, temporary, test, wait_until
from reasons import Waiters, against_clocks, agreement, difference, pair, sums

SECONDS = 5


@contextlib.contextmanager
def daemon(configuration=""):
    """One that has loaded its programs, and has counted nothing by reason yet."""
    need_root()
    with temporary() as directory:
        file = directory / "ctprofd.conf"
        file.write_text(f"[Capture]\n{configuration}\n", encoding="ascii")
        with Daemon(directory, options=("--config", str(file))) as ctl:
            if ctl("status", "--json").json()["reasons"] is None:
                raise Skip("no programs can count here")
            yield ctl, directory


@test
def kinds():
    """each of 28 kinds of wait is under its reason, within 1 % of what the thread's own clock says, and under no other"""
    with daemon() as (ctl, directory):
        # What a hypervisor takes of a thread's time is neither running nor waiting to its clocks. It is much, for a
        # while, and meets one kind after another: what is wrong with a kind is wrong with it each time.
        always = None
        for _ in range(5):
            lines, wrong = against_clocks(ctl, directory, SECONDS, 0.01)
            found = {(kind, said == "number") for kind, said, *_ in wrong}
            always = found if always is None else always & found
            if not always:
                break
        print("".join(f"# {line}\n" for line in lines), end="")
        expect_equal(always, set(), wrong)


@test
def parts():
    """running, waiting for a CPU and all waits add up to the time alive, within 2 % for 95 % of the host's threads"""
    with daemon() as (ctl, directory), Waiters():
        away, line = sums(ctl, directory, SECONDS)
        print(f"# {line}")
        expect(away[len(away) * 95 // 100] < 0.02, away[-20:])


@test
def stacks():
    """what threads of the host wait for is what the kernel's stacks say, for at least 98 % of the time"""
    if not os.path.exists("/proc/self/stack"):
        raise Skip("this kernel was built without CONFIG_STACKTRACE")
    with daemon() as (ctl, directory), Waiters() as waiters:
        share, strange, told = agreement(ctl, directory, SECONDS, waiters.kinds.get)
        print("".join(f"# {line}\n" for line in strange), end="")
        print(f"# {100 * share:.2f} % of the time; samples: {dict(told.most_common())}")
        expect(len(told) > 10, told)
        expect(share >= 0.98, share, strange)


def states(ctl, directory, *options):
    """What a capture says of the account: its head, and its source."""
    file = directory / "state.ctprof.zst"
    file.unlink(missing_ok=True)
    reply = ctl("capture", "--output", str(file), "--json", *options).json()
    source = next(source for source in reply["sources"] if source["name"] == "reasons")
    return reply["snapshot"], source


@test
def off_at_first():
    """nothing is counted until somebody measures, then for the time that was set, and a new epoch begins after that"""
    with daemon("WaitReasons=8s") as (ctl, directory):
        expect_equal(ctl("status", "--json").json()["reasons"], {"counted": False})
        head, source = states(ctl, directory, "--reasons=no")
        expect("reasonsId" not in head, head)
        expect_equal(source["state"], "not-requested")
        expect("WaitReasons=always" in source["reason"], source)
        _, living, _ = ledgers.read(directory / "state.ctprof.zst")
        expect(all(row["poll_wait_ns"] is None for row in living), "values while it was off")

        first, source = states(ctl, directory)
        expect_equal((source["state"], len(first["reasonsId"])), ("ok", 32))
        said = ctl("status", "--json").json()["reasons"]
        expect(said["counted"] and 0 < said["leftNs"] <= 8_000_000_000, said)
        expect_equal(said["sinceBoottimeNs"], first["reasonsSinceBoottimeNs"])
        expect("counted by reason for" in ctl("status").out, ctl("status").out)
        second, source = states(ctl, directory, "--reasons=no")
        expect_equal((second["reasonsId"], source["state"]), (first["reasonsId"], "ok"))

        # A capture that does not ask lets it end, if a little later.
        wait_until(lambda: not ctl("status", "--json").json()["reasons"]["counted"], what="the end of the time")
        expect("reasonsId" not in states(ctl, directory, "--reasons=no")[0])
        third, _ = states(ctl, directory)
        expect(third["reasonsId"] != first["reasonsId"], first, third)
        expect(third["reasonsSinceBoottimeNs"] > first["reasonsSinceBoottimeNs"], first, third)


SLEEPER = "import time; print(flush=True); time.sleep(1000)"


@test
def seeds():
    """a thread that sleeps all the time has all of the interval, and of the time before the epoch nothing"""
    with daemon() as (ctl, directory):
        with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as sleeper:
            try:
                sleeper.stdout.readline()
                time.sleep(1)
                for _ in range(2):
                    rows = next(rows for rows in pair(ctl, directory, 2) if rows[0]["tid"] == sleeper.pid)
                    expect(rows[0]["sleep_wait_ns"] < rows[0]["acct_elapsed_ns"] - 900_000_000, rows[0])
                    slept, lived = difference(rows, "sleep_wait_ns"), difference(rows, "acct_elapsed_ns")
                    expect(abs(slept - lived) < 50_000, "slept", slept, "of", lived)
                    expect_equal(rows[1]["sleep_wait_count"], 1)
            finally:
                sleeper.kill()


@test
def restarted():
    """a sleep that is stopped and goes on is sleep before and after, and stopped in between; seeded then, too"""
    with daemon() as (ctl, directory):
        with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as sleeper:
            try:
                sleeper.stdout.readline()
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    time.sleep(0.3)
                    os.kill(sleeper.pid, number)
                time.sleep(0.3)
                # The kernel goes on with restart_syscall(), and nobody saw what it was before.
                rows = next(rows for rows in pair(ctl, directory, 1) if rows[0]["tid"] == sleeper.pid)
                expect(abs(difference(rows, "sleep_wait_ns") - difference(rows, "acct_elapsed_ns")) < 50_000, rows)
                os.kill(sleeper.pid, signal.SIGSTOP)
                rows = next(rows for rows in pair(ctl, directory, 1) if rows[0]["tid"] == sleeper.pid)
                expect(abs(difference(rows, "stopped_wait_ns") - difference(rows, "acct_elapsed_ns")) < 50_000, rows)
                os.kill(sleeper.pid, signal.SIGCONT)
                time.sleep(0.1)
                rows = next(rows for rows in pair(ctl, directory, 1) if rows[0]["tid"] == sleeper.pid)
                expect(abs(difference(rows, "sleep_wait_ns") - difference(rows, "acct_elapsed_ns")) < 50_000, rows)
                expect_equal(rows[1]["other_wait_count"], 0)
            finally:
                sleeper.kill()


ENDING = """
import os, time
open("/proc/self/comm", "w").write("ending-waiter")
for _ in range(20):
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    os.wait()
"""


@test
def ended():
    """what threads waited for that ended is in the ledger of the dead, under its reason"""
    with daemon() as (ctl, directory):
        ledgers.capture(ctl, directory)
        begin_ns = time.monotonic_ns()
        subprocess.run([sys.executable, "-c", ENDING], check=True)
        elapsed_ns = time.monotonic_ns() - begin_ns
        _, _, dead = ledgers.capture(ctl, directory)
        rows = [row for row in dead if row["pcomm"] == "ending-waiter"]
        # Who is preempted on the way into its sleep, and woken before it runs again, has waited for a CPU instead.
        expect(18 <= ledgers.total(rows, "sleep_wait_count") <= 20, rows)
        expect(0.9e9 <= ledgers.total(rows, "sleep_wait_ns") < elapsed_ns, elapsed_ns, rows)
        expect(0.9e9 <= ledgers.total(rows, "child_wait_ns") < elapsed_ns, elapsed_ns, rows)
        expect(max(row["off_cpu_max_ns"] for row in rows) >= 0.05e9, rows)


@test
def reload():
    """a reload switches the account off, on for ever, and back to a time; always holds for captures that do not ask"""
    with daemon() as (ctl, directory):
        file = directory / "ctprofd.conf"

        def set_to(value):
            file.write_text(f"[Capture]\nWaitReasons={value}\n", encoding="ascii")
            ctl.process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            return ctl("status", "--json").json()["reasons"]

        expect("reasonsId" in states(ctl, directory)[0])
        expect_equal(set_to("off"), {"counted": False})
        head, source = states(ctl, directory)
        expect("reasonsId" not in head, head)
        expect("WaitReasons=off" in source["reason"], source)
        expect_equal(set_to("always"), {"counted": False})
        first, _ = states(ctl, directory, "--reasons=no")
        expect("reasonsId" in first, first)
        expect_equal(ctl("status", "--json").json()["reasons"]["leftNs"], None)
        expect(0 < set_to("10min")["leftNs"] <= 600_000_000_000, "not limited")
        expect_equal(states(ctl, directory)[0]["reasonsId"], first["reasonsId"])


@test
def another_daemon():
    """what programs of another daemon counted is of another epoch"""
    with daemon() as (ctl, directory):
        first, _ = states(ctl, directory)
        with temporary() as other, Daemon(other) as another:
            second, _ = states(another, other)
            expect(first["reasonsId"] != second["reasonsId"], first, second)
        expect_equal(states(ctl, directory)[0]["reasonsId"], first["reasonsId"])


@test
def together():
    """captures of several members at a time are of one epoch"""
    with daemon() as (ctl, directory):
        replies = []

        def take(number):
            replies.append(ctl("capture", "--tag", f"member{number}", "--json").json())

        threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect_equal(len({reply["snapshot"]["reasonsId"] for reply in replies}), 1)


@test
def intervals():
    """an interval has reasons if one epoch spans it, and else says how it would"""
    with daemon("WaitReasons=5s") as (ctl, directory), Waiters():
        for name in ("a", "b"):
            expect_equal(ctl("capture", "--tag", name).status, 0)
            time.sleep(0.5)
        wait_until(lambda: not ctl("status", "--json").json()["reasons"]["counted"], what="the end of the time")
        expect_equal(ctl("capture", "--tag", "c").status, 0)

        def metric(name, *subjects):
            view = ctl("compare", *subjects, "--json", "--filter", "waiters", "--metrics", name).json()
            group, = view["groups"]
            return group["metrics"][name] if name in group["metrics"] else group["derived"][name]

        there = metric("sleep_wait_ns", "a", "b")
        expect(there["work"] > 0.3e9, there)
        expect(metric("off_cpu_ns", "a", "b")["work"] > there["work"], there)
        expect(0 < metric("avg_sleep_wait_ns", "a", "b")["work"] < 0.1e9)
        absent = metric("sleep_wait_ns", "b", "c")
        expect_equal(absent.get("work"), None)
        expect("WaitReasons=always" in str(absent), absent)


main()
