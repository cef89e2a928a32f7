# SPDX-License-Identifier: GPL-2.0-or-later
"""The last checks of the first boot: what was asked of systemd, what cannot be undone, and a snapshot for the next boot."""
import pathlib

import machine
from harness import Skip, expect, expect_equal, run, test
from machine import ctl


@test
def healthy():
    """no unit of the machine has failed after all that"""
    expect_equal(run("systemctl", "list-units", "--failed", "--no-legend", "--plain").out.strip(), "")


@test
def exposure():
    """systemd-analyze security finds the daemon little exposed"""
    result = run("systemd-analyze", "security", "--no-pager", "--threshold=20", machine.SERVICE)
    machine.comment(result.out.splitlines()[-1])
    expect_equal(result.status, 0, result.out[-2000:])


@test
def unprivileged_bpf_is_off_for_good():
    """with kernel.unprivileged_bpf_disabled=1 captures use what was loaded, and a fresh daemon loads it"""
    pathlib.Path("/proc/sys/kernel/unprivileged_bpf_disabled").write_text("1\n", encoding="ascii")
    expect_equal(machine.take("hardened", "--replace")["snapshot"]["backend"], "bpf", "what was loaded")
    machine.restart()
    expect_equal(machine.take("hardened", "--replace")["snapshot"]["backend"], "bpf", "a fresh daemon")


@test
def locked_down():
    """in lockdown=confidentiality nothing is loaded: files are read, exits are heard of, and status says why"""
    level = pathlib.Path("/sys/kernel/security/lockdown")
    if not level.exists():
        raise Skip("this kernel has no lockdown")
    level.write_text("confidentiality\n", encoding="ascii")
    machine.restart()
    state = ctl("status", "--json").json()["backend"]
    machine.comment(state["reason"])
    expect_equal(state["name"], "procfs", state)
    expect("lockdown=confidentiality" in state["reason"], state)
    taken = machine.take("locked", "--replace")
    expect_equal(taken["snapshot"]["backend"], "procfs")
    exits = next(source for source in taken["sources"] if source["name"] == "exits")
    expect_equal((exits["state"], exits["backend"]), ("partial", "taskstats"), exits)


@test
def for_the_next_boot():
    """a last snapshot is taken"""
    expect_equal(ctl("capture", "--tag", machine.LAST).status, 0, "capture")
