#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon that sees a part of the host: hidden processes, namespaces of every kind, mounts that lack something."""
import json
import os
import sys

from harness import CTPROFCTL, CTPROFD, Idle, expect, expect_equal, main, need_root, run, sysctl, temporary, test
from kernel import Taskstats

NOBODY = ["setpriv", "--reuid=65530", "--regid=65530", "--clear-groups"]


def mounts(*commands):
    """What runs something with mounts of its own, changed by the commands."""
    script = " && ".join(["mount --make-rprivate /", *commands])
    return ["unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh"]


class Seen:
    """A capture under a prefix of commands, and what it says."""

    def __init__(self, directory, *prefix):
        spool = directory / "spool"
        spool.mkdir(exist_ok=True)
        spool.chmod(0o777)
        ctl = (*prefix, CTPROFCTL, "--local", "--spool", spool)
        # One shell for both: a namespace that ends with its first process cannot be entered twice.
        self.answer = run(*ctl, "capture", "--tag", "now", "--replace", "--json").json()
        file = directory / "seen.ctprof.zst"
        file.unlink(missing_ok=True)
        done = run(CTPROFCTL, "--local", "--spool", spool, "export", "now", file)
        expect_equal(done.status, 0, done.err)
        text = run("zstd", "-dcq", file).out
        document = json.loads(text)
        columns = document["threads"]["columns"]
        self.rows = {row["tid"]: row for row in (dict(zip(columns, cells)) for cells in document["threads"]["rows"])}
        self.sources = {source["name"]: source for source in self.answer["sources"]}
        self.head = self.answer["snapshot"]
        (spool / "now.ctprof.zst").unlink()
        expect_equal(self.head["threads"], len(self.rows), "threads")

    def states(self, **wanted):
        for name, state in wanted.items():
            name = name.replace("_", "-") if name not in self.sources else name
            expect_equal((name, self.sources[name]["state"]), (name, state), self.sources[name])

    def reason(self, name, words):
        expect(words in self.sources[name]["reason"], name, self.sources[name])


@test
def hidden_processes():
    """where /proc hides other users' processes, the snapshot has one's own and says that it lacks the rest"""
    need_root()
    with temporary() as directory, Idle(5, 1) as idle:
        others = set(idle.pids)
        for option, listed in (("invisible", False), ("ptraceable", False), ("noaccess", True)):
            seen = Seen(directory, *mounts(f"mount -t proc -o hidepid={option} proc /proc"), *NOBODY)
            expect(all(row["uid"] == 65530 for row in seen.rows.values()), option, "others are in it")
            expect(not others & set(seen.rows) and 0 < len(seen.rows) < 20, option, len(seen.rows))
            seen.states(stat="partial", taskstats="unavailable")
            seen.reason("stat", "hidepid")
            expect_equal(seen.sources["stat"]["denied"] > 0, listed, option, seen.sources["stat"])
            expect_equal(seen.head["complete"], False, option)
            # Whoever may trace them sees them as ever, if the mount is not for those alone.
            seen = Seen(directory, *mounts(f"mount -t proc -o hidepid={option} proc /proc"))
            expect(others < set(seen.rows), option, "root lacks some")
            # Process 1 may be one that not even root may trace.
            seen.states(stat="ok" if 1 in seen.rows else "partial", taskstats="ok")


@test
def proc_of_processes_only():
    """where /proc shows processes only, they are read, and of the host is said why nothing is known"""
    need_root()
    with temporary() as directory, Idle(5, 1) as idle:
        seen = Seen(directory, *mounts("mount -t proc -o subset=pid proc /proc"))
        expect({pid for pid in idle.pids} <= set(seen.rows), "threads are missing")
        seen.states(stat="ok", sched="ok", taskstats="ok", host="partial", host_pressure="unavailable")
        for name in ("host", "host-pressure", "taskstats-delay"):
            seen.reason(name, "subset=pid")


@test
def pid_namespaces():
    """in a pid namespace its own processes are read by its own numbers; with another's /proc, numbers are not used"""
    need_root()
    with temporary() as directory, Idle(5, 1) as idle:
        seen = Seen(directory, "unshare", "--pid", "--fork", "--mount-proc")
        expect(1 in seen.rows and len(seen.rows) < 20 and not set(idle.pids) & set(seen.rows), sorted(seen.rows))
        seen.states(stat="ok", affinity="ok", taskstats="ok")

        seen = Seen(directory, "unshare", "--pid", "--fork")
        expect(set(idle.pids) <= set(seen.rows), "threads are missing")
        seen.states(stat="ok", affinity="unavailable", taskstats="unavailable", schedstat="ok", status="ok")
        for name in ("affinity", "taskstats"):
            seen.reason(name, "another pid namespace")
        expect(all(row["cpu_affinity"] is None and row["hiwater_rss_bytes"] is None for row in seen.rows.values()),
               "something was asked for by a number")


@test
def programs_in_namespaces():
    """in a namespace no BPF program is used, which would tell the host's numbers, clock, cgroups and dead; it is said why"""
    need_root()
    for name, option in (("pid", "--mount-proc"), ("time", "--boottime=1000000"), ("cgroup", "--kill-child")):
        with temporary() as directory:
            spool = directory / "spool"
            inside = ("unshare", f"--{name}", "--fork", option, CTPROFCTL, "--local", "--spool", spool)
            refused = run(*inside, "capture", "--backend", "bpf")
            expect_equal(refused.status, 1, refused.out)
            expect("through BPF" in refused.err and f"this is a {name} namespace" in refused.err, refused.err)
            # A private daemon loads programs for a command that it waits for, where it can.
            done = run(*inside, "run", "--tag", "one", "--", "true")
            expect_equal(done.status, 0, done.err)
            info = run(*inside, "info", "one-after", "--json").json()
            expect_equal(info["snapshot"]["backend"], "procfs")
            sources = {source["name"]: source for source in info["sources"]}
            for source in ("exits", "waits"):
                expect_equal(sources[source]["state"], "unavailable", sources[source])
                expect(f"this is a {name} namespace" in sources[source]["reason"], sources[source])


# Runs in a pid namespace of its own with /proc mounted: reads an idle process before and after a capture.
INSIDE = """
import os, sys
sys.path.insert(0, {here!r})
from harness import Idle, Local, temporary
import parity, kernel
taskstats = kernel.Taskstats()
with temporary() as directory:
    ctl = Local(directory / "spool")
    with Idle(64, 2, "inside") as idle:
        for _ in range(20):
            try:
                rows, counts = parity.compare(idle.pids, taskstats, lambda: parity.document(ctl, directory))
                break
            except AssertionError as error:  # on a busy host they take a moment to fall asleep
                if "moved by themselves" not in str(error):
                    raise
print(len(rows), sum(counts.values()), max(tgid for tgid, _ in rows))
"""


@test
def numbers_of_a_namespace_are_its_own():
    """inside a pid namespace every field of idle threads equals what is read there, taskstats included"""
    need_root()
    Taskstats()
    with sysctl("kernel.task_delayacct", 1):
        script = INSIDE.format(here=os.path.dirname(os.path.abspath(__file__)))
        done = run("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", script)
        expect_equal(done.status, 0, done.err)
        threads, cells, highest = map(int, done.out.split())
        expect(threads == 64 and cells > 64 * 50 and highest < 200, done.out)
        print(f"# {threads} threads, {cells} cells, no number above {highest}")


@test
def user_namespaces():
    """in a user namespace nothing is read that is not its own, and its capabilities are not taken for the host's"""
    need_root()
    with temporary() as directory, Idle(5, 1) as idle:
        seen = Seen(directory, *NOBODY, "unshare", "--user", "--map-root-user")
        seen.states(stat="ok", taskstats="unavailable", io="partial", smaps_rollup="partial")
        seen.reason("taskstats", "initial user namespace")
        for name in ("io", "smaps_rollup"):
            seen.reason(name, "user namespace")
        row = seen.rows[idle.pids[0]]
        expect(row["rchar"] is None and row["run_time_ns"] is not None, row)


@test
def time_namespaces():
    """in a time namespace start times and the window are of one clock"""
    need_root()
    with temporary() as directory, Idle(1, 1) as idle:
        plain = Seen(directory)
        seen = Seen(directory, "unshare", "--time", "--fork", "--boottime", "1000000")
        seen.states(stat="ok", taskstats="ok")
        pid = idle.pids[0]
        shift = seen.rows[pid]["start_time_clock_ticks"] - plain.rows[pid]["start_time_clock_ticks"]
        expect_equal(shift, 1000000 * os.sysconf("SC_CLK_TCK"), "ticks of the shift")
        later = seen.head["startBoottimeNs"] - plain.head["startBoottimeNs"]
        expect(1000000e9 <= later < 1000100e9, "the window is shifted by", later)
        for row in seen.rows.values():
            started = row["start_time_clock_ticks"] * (10 ** 9 // os.sysconf("SC_CLK_TCK"))
            expect(started <= seen.head["endBoottimeNs"], "started after the capture", row)


@test
def hosts_that_lack_something():
    """without /sys, and without /proc at all: what there is is read, or one sentence says why nothing can be"""
    need_root()
    with temporary() as directory:
        seen = Seen(directory, *mounts("umount -R -l /sys"))
        seen.states(stat="ok", cgroup="ok", cgroup_stats="unavailable", host="partial")
        # The client finds the daemon through /proc, too, unless it is told.
        failed = run(*mounts("mount -t tmpfs none /proc"), "env", f"CTPROFD={CTPROFD}", CTPROFCTL, "--local", "--spool",
                     directory / "spool", "capture")
        expect_equal(failed.status, 1, failed.out)
        expect("/proc/self/exe" in failed.err, failed.err)


@test
def switches_that_move():
    """delay accounting that is switched off between two captures leaves no zero that was not measured"""
    need_root()
    with temporary() as directory, sysctl("kernel.task_delayacct", 1), Idle(3, 1) as idle:
        on = Seen(directory)
        with sysctl("kernel.task_delayacct", 0):
            off = Seen(directory)
        again = Seen(directory)
        pid = idle.pids[0]
        booted = "delayacct" in open("/proc/cmdline", encoding="ascii").read().split()
        for seen, state in ((on, "ok" if booted else "partial"), (off, None), (again, "ok" if booted else "partial")):
            if state:
                seen.states(taskstats_delay=state)
                expect(seen.rows[pid]["wpcopy_delay_count"] > 0, "a delay that was counted", seen.rows[pid])
        # It is off: no zero can be told from a task without accounting.
        expect(off.sources["taskstats-delay"]["state"] != "ok", off.sources["taskstats-delay"])
        off.reason("taskstats-delay", "delayacct")
        zeros = [row for row in off.rows.values() if row["wpcopy_delay_count"] is not None
                 and not any(value for name, value in row.items() if name.endswith("_delay_count") and name[:3] != "cpu")]
        expect_equal(zeros, [], "zeros that nobody measured")


main()
