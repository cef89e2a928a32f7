# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the threads of a snapshot against independent reads of the same kernel files."""
import collections
import json
import os
import subprocess

import kernel
from harness import Skip, expect, expect_equal
from reasons import REASONS

# Columns that no kernel file gives, that this version never measures, or that a job of its own reads in the time that is left.
OURS = {"self", "allocated_bytes", "deallocated_bytes", "command", "command_line"}
# Columns that only programs in the kernel can fill: a capture from files has nothing to say.
BY_REASON = {*(f"{reason}_wait_{part}" for reason in (*REASONS, "sync") for part in ("ns", "count")),
             "other_wait_call", "off_cpu_max_ns", "off_cpu_min_ns"}
COUNTED_BY_PROGRAMS = {"storage_wait_ns", "storage_wait_count", "uninterruptible_ns", "uninterruptible_count", *BY_REASON}
ACCT = {"acct_run_real_ns", "acct_run_virtual_ns", "acct_run_scaled_ns", "acct_utime_ns", "acct_stime_ns",
        "acct_utime_scaled_ns", "acct_stime_scaled_ns", "acct_elapsed_ns", "acct_rss_mb_us", "acct_vm_mb_us"}


SWITCHED_CATEGORIES = ("blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq")
SWITCHED_COUNTS = [f"{category}_delay_count" for category in SWITCHED_CATEGORIES]
SWITCHED = {f"{category}_delay_{part}" for category in SWITCHED_CATEGORIES if category != "irq"
            for part in ("count", "total_ns", "max_ns", "min_ns")}


class Difference(AssertionError):
    """A cell of the snapshot is not what the kernel says."""

    def __init__(self, key, name, value, expected):
        super().__init__(f"thread {key}, {name}: snapshot {value!r}, kernel {expected!r}")
        self.tgid, self.tid = key


def delayacct_booted():
    with open("/proc/cmdline", encoding="ascii") as file:
        return "delayacct" in file.read().split()


def is_taskstats(name):
    return "_delay_" in name or name.startswith("hiwater_") or name in ACCT or name.startswith("exe_")


SOURCES = {
    "schedstat": {"run_time_ns", "wait_time_ns", "timeslices"},
    "sched": {"nr_migrations", "fair_slice_ns", "ext_enabled"},
    "schedstats": {*kernel.SCHED_COUNTS, *kernel.SCHED_TIMES.values(), "voluntary_sleep_ns"},
    "io": {"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"},
    "status": {"voluntary_csw", "nonvoluntary_csw", "uid", "gid", *kernel.MEMORY.values()},
    "affinity": {"cpu_affinity"},
    "cgroup": {"cgroup"},
    "smaps_rollup": {"smaps_rollup_kb"},
    "waits": COUNTED_BY_PROGRAMS - BY_REASON,
    "reasons": BY_REASON,
}


def source(name):
    """The source that column @name is read from."""
    if is_taskstats(name):
        return "taskstats"
    return next((file for file, names in SOURCES.items() if name in names), "stat")


def undo(text):
    return b"".join(bytes([ord(c) - 0xEF00]) if 0xEF80 <= ord(c) <= 0xEFFF else c.encode() for c in text)


def read_all(pids, taskstats):
    """All threads of the idle processes: {(tgid, tid): row}."""
    rows = {}
    for tgid in pids:
        for tid in map(int, os.listdir(f"/proc/{tgid}/task")):
            row = kernel.read_thread(tgid, tid)
            version, stats = taskstats.read(tid)
            if version == 15:
                raise Skip("taskstats version 15 has a layout of its own")
            # Read one after the other: they differ in a thread that has not fallen asleep yet.
            switches = (stats.pop("nvcsw"), stats.pop("nivcsw"))
            expect_equal(switches, (row["voluntary_csw"], row["nonvoluntary_csw"]), "counts of switches, which moved "
                         "by themselves")
            # taskstats gives the peak without what each CPU has not passed on; status is preferred.
            row.update(stats)
            peak = row.pop("peak_rss_bytes")
            if peak is not None:
                row["hiwater_rss_bytes"] = peak
            rows[tgid, tid] = row
    return rows


def document(ctl, directory):
    file = directory / "parity.ctprof.zst"
    file.unlink(missing_ok=True)
    expect_equal(ctl("capture", "--tag", "parity", "--replace", "--backend", "procfs", "--smaps=all").status, 0,
                 "capture")
    expect_equal(ctl("export", "parity", file).status, 0, "export")
    plain = subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout
    return json.loads(plain)


def hold(rows, snapshot, counts):
    """Compares the table with what was read; counts comparisons by column."""
    columns = snapshot["threads"]["columns"]
    table = {}
    for cells in snapshot["threads"]["rows"]:
        row = dict(zip(columns, cells))
        table[row["tgid"], row["tid"]] = row
    irq = os.path.exists("/proc/pressure/irq")
    for key, wanted in rows.items():
        expect(key in table, "thread", key, "is missing")
        got = table[key]
        for name in columns:
            if name in OURS:
                continue
            value = got[name]
            if name in COUNTED_BY_PROGRAMS:
                expect_equal(value, None, name)
                counts[name] += 1
                continue
            expect(name in wanted, "the test does not know column", name)
            expected = wanted[name]
            if name in ("comm", "pcomm"):
                value = undo(value)
            if name == "smaps_rollup_kb" and expected:
                value = {part: value[part] for part in expected}
            if name == "acct_elapsed_ns":
                expect(expected <= value, name, value, "is before", expected)
            elif (value is None and expected is not None and name in SWITCHED
                  and not any(wanted[count] for count in SWITCHED_COUNTS)):
                # Forked before delay accounting was on, or never delayed: the kernel's zeros cannot tell.
                expect(not delayacct_booted(), name, "is absent though delay accounting was booted")
            elif name.startswith("irq_") and value is None:
                # Without IRQ time accounting the kernel's zeros measure nothing.
                expect(not irq and not expected, name, "is absent and the kernel says", expected)
            elif value != expected:
                raise Difference(key, name, value, expected)
            counts[name] += 1


def compare(pids, taskstats, capture):
    """Reads all threads of @pids, captures, reads them again and holds the three against each other.

    @capture() returns the document of a new snapshot. Returns the rows, and cells compared by column.
    """
    before = read_all(pids, taskstats)
    snapshot = capture()
    after = read_all(pids, taskstats)
    # Whatever moved meanwhile by itself cannot be compared; idle threads have next to nothing.
    moved = {name for key in before for name in before[key]
             if before[key][name] != after[key][name]} - {"acct_elapsed_ns", "smaps_rollup_kb"}
    expect_equal(moved, set(), "fields that moved by themselves")
    # What a process shares of its libraries moves with every other process that comes and goes.
    for row in before.values():
        for name in ("Pss", "Pss_File", "Shared_Clean", "Private_Clean"):
            if row["smaps_rollup_kb"]:
                del row["smaps_rollup_kb"][name]
    counts = collections.Counter()
    hold(before, snapshot, counts)
    lacking = {name for name in snapshot["threads"]["columns"] if name not in OURS} - set(counts)
    expect_equal(lacking, set(), "columns never compared")
    return before, counts


def absent(rows):
    """Columns without a number in any row: this kernel does not have them."""
    there = {name for row in rows.values() for name, value in row.items() if value is not None}
    return sorted({name for row in rows.values() for name in row} - there)
