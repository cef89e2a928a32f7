# SPDX-License-Identifier: GPL-2.0-or-later
"""A sched_ext scheduler that is loaded is in the snapshots: in its own section, and in every thread."""
import contextlib
import os
import pathlib

import machine
import policies
from harness import Skip, expect, expect_equal, run, test, wait_until
from machine import ctl

OBJECT = "minimal.bpf.o"
NAME = "minimal"


def read(name):
    return pathlib.Path("/sys/kernel/sched_ext", name).read_text(encoding="utf-8").strip()


@contextlib.contextmanager
def loaded():
    """The smallest scheduler, for a while."""
    if not os.path.ismount("/sys/fs/bpf"):
        expect_equal(run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf").status, 0, "mount")
    result = run("bpftool", "struct_ops", "register", f"{machine.PACKAGES}/{OBJECT}", "/sys/fs/bpf")
    expect_equal(result.status, 0, "bpftool:", result.out, result.err)
    try:
        wait_until(lambda: read("state") == "enabled", 30, "a scheduler")
        yield
    finally:
        os.unlink(f"/sys/fs/bpf/{NAME}")
        wait_until(lambda: read("state") == "disabled", 30, "no scheduler")


@test
def in_the_snapshot():
    """with a scheduler loaded, every thread says so, and the sched-ext section tells which and since when"""
    if not policies.has_sched_ext():
        raise Skip("this kernel was built without CONFIG_SCHED_CLASS_EXT")
    if not machine.PACKAGES:
        raise Skip("no scheduler to load")
    machine.take("without-scheduler")
    with loaded(), policies.Policies() as threads:
        machine.take("with-scheduler")
        kernel = {name: read(name) for name in ("state", "enable_seq", "switch_all", "nr_rejected")}
        document = machine.document("with-scheduler")
        rows = {row["tid"]: row for row in machine.rows(document)}
        told = {name: rows[pid]["ext_enabled"] for name, pid in threads.pids.items()}
    machine.comment(f"the kernel: {kernel}; the snapshot: {document['sched_ext']}")
    machine.comment(f"ext_enabled: {told}")
    enabled = sum(1 for row in rows.values() if row["ext_enabled"])
    machine.comment(f"{enabled} of {len(rows)} threads")
    expect(told["SCHED_OTHER"] and told["SCHED_EXT"] and not told["SCHED_FIFO"], "ext_enabled", told)
    section = document["sched_ext"]
    expect_equal(section["state"], "enabled")
    expect_equal(str(section["enable_seq"]), kernel["enable_seq"])
    expect(NAME in str(section), "the section does not name the scheduler", section)
    result = ctl("compare", "without-scheduler", "with-scheduler", "--sections", "primary,sched-ext", "--json").json()
    expect(result["sections"]["sched-ext"], "the sched-ext section is empty")
    machine.comment(str(result["sections"]["sched-ext"])[:500])
    rows = machine.rows(machine.document("without-scheduler"))
    expect(not any(row["ext_enabled"] for row in rows), "ext_enabled without a scheduler")
