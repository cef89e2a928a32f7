# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures through BPF on this kernel: the program loads, and tells what files tell."""
import contextlib

import backends
import ledgers
import machine
import reasons
import waiting
from harness import Daemon, Idle, Local, expect, expect_equal, sysctl, temporary, test


@test
def equal():
    """every column of a thousand sleeping threads is equal through BPF, with schedstats and delay accounting on"""
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(temporary())
        stack.enter_context(sysctl("kernel.task_delayacct", 1))
        stack.enter_context(sysctl("kernel.sched_schedstats", 1))
        idle = stack.enter_context(Idle(1000, 10))
        counts, _ = backends.compare(Local(directory / "spool"), directory, set(idle.pids))
    for column in ("run_time_ns", "minflt", "nr_migrations", "cgroup", "wait_sum", "nr_wakeups", "cpu_delay_total_ns"):
        expect(counts[column]["equal"] > 990, column, counts[column])
    between = {name: count["between"] for name, count in counts.items()
               if count["between"] and name not in backends.AGES}
    machine.comment(f"equal: {len([name for name in counts if counts[name]['equal']])} columns, "
                    f"{sum(count['equal'] for count in counts.values())} readings; between: {between}; through BPF alone: "
                    f"{ {name: count['more'] for name, count in counts.items() if count['more']} }")


@test
def present():
    """no thread that files tell of before and after is missing through BPF"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        captures = [backends.capture(ctl, directory, name) for name in ("procfs", "bpf", "procfs")]
    before, through, after = (rows.keys() for rows, _ in captures)
    stayed = before & after
    expect(stayed, "no thread stayed")
    expect_equal(stayed - through, set(), "threads that are missing")
    costs = ", ".join(f"{document['end']['cost']['cpuNs'] / 1e6:.1f} ms" for _, document in captures)
    machine.comment(f"{len(stayed)} threads; CPU time from files, through BPF and from files: {costs}")


@test
def ledger():
    """four storms of short lives have in the ledger of the dead the CPU time that their cgroup has, within half a percent"""
    with temporary() as directory, Daemon(directory) as ctl:
        ledgers.capture(ctl, directory)
        for name in ledgers.STORMS:
            kernel, ledger, dead, summary = ledgers.account(ctl, directory, name)
            machine.comment(f"{name}: kernel {kernel / 1e6:.1f} ms, ledger {ledger / 1e6:.1f} ms, "
                            f"{100 * (ledger / kernel - 1):+.2f} %, {ledgers.total(dead, 'exits')} exits, "
                            f"{summary['unfinished']} unfinished")
            expect(abs(ledger / kernel - 1) < 0.005, name, kernel, ledger)


@test
def partition():
    """while captures go on through a storm, no thread of it is lost or there twice"""
    with temporary() as directory, Daemon(directory) as ctl, ledgers.group("ctprof-storm") as (place, path):
        ledgers.capture(ctl, directory)
        ledgers.survive(ctl, directory, place, path)


def wait_beside_witness(name):
    """A load alone and beside two hogs; the kernel's own account of each is only printed."""
    with sysctl("kernel.task_delayacct", 1), sysctl("kernel.sched_schedstats", 1):
        for hogs in (0, 2):
            ours, exact = waiting.measure(name, hogs, 4)
            machine.comment(waiting.describe(name, hogs, ours, exact))
            waiting.agree(ours, exact, is_emulated=True)


@test
def waits_of_reads():
    """reads past the page cache wait for storage as often and about as long as a witness of each switch says"""
    wait_beside_witness("direct")


@test
def waits_of_fsync():
    """fsync in a loop waits as often and about as long as a witness of each switch says"""
    wait_beside_witness("fsync")


@test
def waits_of_faults():
    """faults from a file that is not in memory wait as often and about as long as a witness of each switch says"""
    wait_beside_witness("faults")


@test
def waits_of_parents():
    """a parent waits for its child to execute a program as often and about as long as a witness of each switch says"""
    wait_beside_witness("spawn")


@test
def reasons_of_waits():
    """each kind of wait is under its reason, within 40 % of what the thread's own clock says, and parts add up to the time"""
    with temporary() as directory, Daemon(directory) as ctl:
        lines, wrong = reasons.against_clocks(ctl, directory, 8, 0.4, is_emulated=True)
        for line in lines:
            machine.comment(line)
        expect_equal(wrong, [])
        away, line = reasons.sums(ctl, directory, 5)
        machine.comment(line)
        expect(away[len(away) * 95 // 100] < 0.1, away[-20:])


REFUSALS = {
    "no capability": (["AmbientCapabilities=", f"AmbientCapabilities={' '.join(machine.CAPABILITIES)}"],
                      "CAP_BPF and CAP_PERFMON"),
    "no bpf(2)": (["SystemCallFilter=~bpf"], "CAP_BPF and CAP_PERFMON"),
    "no types": (["InaccessiblePaths=/sys/kernel/btf"], "CONFIG_DEBUG_INFO_BTF"),
}


@test
def refused():
    """where programs cannot be loaded, threads are read from files, and status and captures say why"""
    expect_equal(machine.ctl("status", "--json").json()["backend"]["name"], "bpf", "without a refusal")
    for what, (lines, words) in REFUSALS.items():
        with machine.dropin(*lines):
            state = machine.ctl("status", "--json").json()["backend"]
            machine.comment(f"{what}: {state['reason']}")
            expect_equal(state["name"], "procfs", what, state)
            expect(words in state["reason"], what, state)
            taken = machine.take("refused", "--replace")
            expect_equal(taken["snapshot"]["backend"], "procfs", what)
            exits = next(source for source in taken["sources"] if source["name"] == "exits")
            expect_equal((exits["state"], exits["backend"]), ("partial", "taskstats"), what, exits)
            result = machine.ctl("capture", "--backend", "bpf")
            expect_equal(result.status, 1, what)
            expect(words in result.one_sentence(), what, result.err)


@test
def kept():
    """what was loaded survives a restart of the daemon, which then loads nothing and has no right to"""
    before = machine.ctl("status", "--json").json()["backend"]
    machine.systemctl("restart", machine.SERVICE)
    after = machine.ctl("status", "--json").json()["backend"]
    expect_equal((before["name"], after["name"]), ("bpf", "bpf"))
    expect_equal(after["loadedBoottimeNs"], before["loadedBoottimeNs"], "when they were loaded")
    expect_equal(machine.take("reused", "--replace")["snapshot"]["backend"], "bpf", "a capture")
