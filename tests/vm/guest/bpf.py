# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures through BPF on this kernel: the program loads, and tells what files tell."""
import contextlib

import backends
import machine
from harness import Idle, Local, expect, expect_equal, sysctl, temporary, test


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
    """what a thread that sleeps has of the scheduler's switches is there, and no process of the host is missing"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        expect_equal(ctl("capture", "--backend", "bpf", "--tag", "bpf").status, 0)
        expect_equal(ctl("capture", "--tag", "files").status, 0)
        through, files = (ctl("info", name, "--json").json()["snapshot"] for name in ("bpf", "files"))
        expect_equal((through["backend"], files["backend"]), ("bpf", "procfs"))
        expect(abs(through["processes"] - files["processes"]) <= 5, through["processes"], files["processes"])
        machine.comment(f"{through['threads']} threads in {through['cost']['cpuNs'] / 1e6:.1f} ms of CPU time; "
                        f"from files {files['threads']} in {files['cost']['cpuNs'] / 1e6:.1f} ms")
