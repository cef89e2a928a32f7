# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon reads is there, and is what the kernel says."""
import collections
import json
import pathlib
import platform

import fixture
import kernel
import machine
import parity
import policies
from harness import Busy, Idle, Skip, expect, expect_equal, settled, temporary, test
from machine import ctl

THREADS = 300
PROCESSES = 6
UNIT = "idle-check.service"

# The first capture of a host has to find out everything, and may not find the time; everything else has to be read in
# full.
UNAVAILABLE = {"jemalloc", "cmdline"}
# What needs a switch on the kernel's command line to be there for all threads.
SWITCHED = {"schedstats", "taskstats-delay", "host-pressure", "cgroup-pressure"}

METRIC_SECTIONS = ("primary", "taskstats-delay", "taskstats-accounting", "waits", "derived")
TABLES = ("smaps-rollup", "cgroup-stats", "cgroup-limits", "memory-stat", "memory-events", "pressure",
          "host-pressure", "host-cpu", "host-memory", "host-disk", "host-network")


@test
def every_source():
    """a capture reads every source in full"""
    lacking = UNAVAILABLE if machine.has_all_switches() else UNAVAILABLE | SWITCHED
    answer = machine.take("whole")
    head = answer["snapshot"]
    short = {source["name"]: (source["state"], source.get("reason")) for source in answer["sources"]
             if source["state"] not in ("ok", "not-applicable") and source["name"] not in lacking}
    expect_equal(short, {}, "sources")
    expect(head["complete"] or lacking != UNAVAILABLE, "the snapshot is not complete")
    machine.comment(f"{head['threads']} threads of {head['processes']} processes in"
                    f" {head['cost']['wallNs'] / 1e6:.1f} ms, taskstats version {head['taskstatsVersion']}")
    for source in answer["sources"]:
        if source["state"] == "not-applicable":
            machine.comment(f"not applicable: {source['name']}: {source['reason']}")


def changed(groups, section):
    """Rows that moved in @groups by the section of their metric."""
    return sum(1 for group in groups for name, row in group["metrics"].items()
               if section.get(name) and row["delta"] not in (None, 0))


@test
def every_section():
    """after a load, compare has rows that moved in every section of metrics and in every table"""
    if not machine.has_all_switches():
        raise Skip("the kernel was booted without delayacct, psi=1 and schedstats=enable")
    listed = ctl("metric-list", "--json").json()
    sections = collections.defaultdict(dict)
    for metric in listed["metrics"]:
        sections[metric["section"]][metric["name"]] = True
        if "schedstats" in json.dumps(metric["gates"]).lower():
            sections["schedstats"][metric["name"]] = True
    with temporary() as directory, Busy(directory) as busy:
        expect_equal(ctl("capture", "--tag", "before").status, 0)
        busy.round()
        expect_equal(ctl("capture", "--tag", "after").status, 0)
    result = ctl("compare", "before", "after", "--group-by", "all", "--json",
                 "--sections", ",".join([*METRIC_SECTIONS, *TABLES])).json()
    expect(result["sameBoot"] and result["elapsedNs"] > 0, "elapsed", result["elapsedNs"])
    for name, metrics in sorted(sections.items()):
        count = changed(result["groups"], metrics)
        machine.comment(f"{name}: {count} rows moved")
        expect(count > 0, "nothing moved in", name)
    tables = {name: len(result["sections"].get(name, ())) for name in TABLES}
    machine.comment(", ".join(f"{name}: {count}" for name, count in tables.items()))
    expect_equal([name for name, count in tables.items() if count == 0], [], "empty tables")
    derived = sum(1 for group in result["groups"] for row in group["derived"].values()
                  if row.get("delta") not in (None, 0))
    expect(derived > 0, "no derived row moved")
    burner = [group for group in result["groups"] if group["thread"].startswith("busy-burner")]
    spent = sum(group["metrics"]["run_time_ns"]["delta"] for group in burner)
    expect(400e6 < spent < 1500e6, "the burner ran", spent, "ns")


@test
def every_field():
    """every field of every idle thread is what the kernel's files say"""
    taskstats = kernel.Taskstats()

    def capture():
        # The backends are held against each other in bpf.py.
        machine.take("parity", "--replace", "--backend", "procfs", "--smaps=all")
        return machine.document("parity")

    with Idle(THREADS, PROCESSES, "worker-1", "worker-2", r"odd\x20\x29name") as idle:
        try:
            found, counts = parity.compare(idle.pids, taskstats, capture)
        except parity.Difference as difference:
            fixture.save(difference.tgid, difference.tid, taskstats)
            raise
        fixture.save(idle.pids[0], idle.pids[0], taskstats)
    expect_equal(len(found), THREADS, "threads compared")
    by_source = collections.Counter()
    for name, count in counts.items():
        by_source[parity.source(name)] += count
    machine.comment(f"{len(found)} threads, {sum(counts.values())} values compared: "
                    + ", ".join(f"{name} {count}" for name, count in sorted(by_source.items())))
    machine.comment(f"not in this kernel: {', '.join(parity.absent(found)) or 'nothing'}")


CGROUP_FILES = {
    "cpu": {"usage_usec": "cpu.stat", "user_usec": "cpu.stat", "system_usec": "cpu.stat", "nr_periods": "cpu.stat",
            "nr_throttled": "cpu.stat", "throttled_usec": "cpu.stat", "max_burst_us": "cpu.max.burst",
            "weight": "cpu.weight", "weight_nice": "cpu.weight.nice"},
    "memory": {"current": "memory.current", "peak": "memory.peak", "max": "memory.max", "high": "memory.high",
               "low": "memory.low", "min": "memory.min", "swap_current": "memory.swap.current",
               "swap_max": "memory.swap.max", "stat": "memory.stat", "events": "memory.events"},
    "pids": {"current": "pids.current", "peak": "pids.peak", "max": "pids.max"},
}


def read_cgroup(directory):
    """What the files of a cgroup say, in the shape of a snapshot's record."""
    def words(name):
        try:
            return (directory / name).read_text(encoding="ascii").split()
        except FileNotFoundError:
            return None

    record = {}
    for part, fields in CGROUP_FILES.items():
        record[part] = {}
        for field, name in fields.items():
            text = words(name)
            if text is None:
                record[part][field] = None
            elif len(text) == 1:
                record[part][field] = text[0] if text[0] == "max" else int(text[0])
            else:
                pairs = dict(zip(text[::2], map(int, text[1::2])))
                record[part][field] = pairs if field in ("stat", "events") else pairs.get(field)
    quota = words("cpu.max")
    record["cpu"]["max_quota_us"] = quota[0] if quota[0] == "max" else int(quota[0])
    record["cpu"]["max_period_us"] = int(quota[1])
    return record


@test
def every_field_of_a_cgroup():
    """every field of an idle service's cgroup is what the kernel's files say"""
    limits = ["CPUQuota=40%", "CPUWeight=50", "MemoryMax=200M", "MemoryHigh=150M", "MemoryLow=2M", "MemoryMin=1M",
              "TasksMax=40", "IOWeight=70", "MemorySwapMax=30M"]
    machine.systemctl("set-property", "--runtime", "system.slice", "MemoryAccounting=yes")
    words = [word for limit in limits for word in ("--property", limit)]
    expect_equal(machine.run("systemd-run", f"--unit={UNIT}", *words, "sleep", "1000").status, 0, "systemd-run")
    try:
        directory = pathlib.Path("/sys/fs/cgroup/system.slice") / UNIT
        # The kernel gathers its statistics of memory late, so that even an idle cgroup moves at first.
        for _ in range(10):
            before = settled(lambda: read_cgroup(directory), seconds=60, moment=1)
            machine.take("cgroups", "--replace")
            after = read_cgroup(directory)
            if after == before:
                break
        expect_equal(after, before, "it never settles")
        record = machine.document("cgroups")["cgroup_stats"][f"/system.slice/{UNIT}"]
    finally:
        machine.systemctl("stop", UNIT)
    compared = 0
    for part, fields in before.items():
        for name, expected in fields.items():
            got = record[part][name]
            if isinstance(got, dict):
                compared += len(got)
            compared += 1
            if isinstance(expected, dict):
                # A snapshot may keep a selection of a keyed file; what it keeps has to be true.
                expect(got, part, name, "is empty")
                expected = {key: expected.get(key) for key in got}
            expect_equal(got, expected, "cgroup", part, name)
    machine.comment(f"{compared} values of a cgroup compared")


@test
def every_policy():
    """a thread under each scheduling policy is told as the kernel has it"""
    with policies.Policies() as threads:
        expect_equal(set(threads.refused), set() if policies.has_sched_ext() else {"SCHED_EXT"}, threads.refused)
        machine.take("policies", "--replace")
        by_pid = {row["tid"]: row for row in machine.rows(machine.document("policies"))}
        for name, pid in threads.pids.items():
            row = by_pid[pid]
            words = kernel.read_stat(f"/proc/{pid}/task/{pid}/")
            expect_equal((row["policy"], row["priority"], row["rt_priority"]),
                         (words["policy"], words["priority"], words["rt_priority"]), name)
            expect_equal(row["policy"], name)
            machine.comment(f"{name}: priority {row['priority']}, rt_priority {row['rt_priority']},"
                            f" ext_enabled {row['ext_enabled']}")


@test
def a_fixture():
    """the files that were read are left as a fixture tree"""
    tree = machine.RESULTS / "fixtures" / "proc" / platform.release()
    expect(any(tree.rglob("sched")), "no sched file in", tree)
