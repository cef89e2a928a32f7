# SPDX-License-Identifier: GPL-2.0-or-later
"""The second boot of one disk: what was taken before is there, and of another boot."""
import os
import pathlib

import machine
from harness import Skip, expect, expect_equal, run, test, wait_until
from machine import ctl, shown, systemctl


@test
def survives():
    """after a reboot the socket listens, the daemon starts on demand, and the spool is whole"""
    expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
    expect_equal(shown("ActiveState"), "inactive", "ctprofd.service")
    machine.intact(machine.LAST)
    # It answers while it gets its programs, and is active when it has them.
    wait_until(lambda: shown("ActiveState") != "activating", what="the start to end")
    expect_equal(shown("ActiveState"), "active", "ctprofd.service")


@test
def different_boots():
    """comparing with a snapshot from before the reboot says that they are of different boots"""
    expect_equal(ctl("capture", "--tag", "after-reboot").status, 0, "capture")
    result = ctl("compare", machine.LAST, "after-reboot", "--json").json()
    expect_equal(result["sameBoot"], False)
    expect_equal(result["elapsedNs"], None)
    expect(result["before"]["bootId"] != result["after"]["bootId"], "one boot id")
    rates = [row for group in result["groups"] for row in group["metrics"].values()
             if row.get("perSecond") is not None]
    expect_equal(rates, [], "rates across boots")
    text = ctl("compare", machine.LAST, "after-reboot", "--limit", "1")
    expect_equal(text.status, 0, text.err)
    said = [line for line in text.out.splitlines() if "boot" in line]
    machine.comment("\n".join(said))
    expect(any("different boots" in line for line in said), text.out[:600])


@test
def removal():
    """purging the package stops and removes everything but the snapshots"""
    if not machine.PACKAGES:
        raise Skip("the package stays")
    files = [line for line in run("dpkg", "--listfiles", "ctprof").out.splitlines() if "ctprof" in line]
    expect(len(files) > 10, "files of the package", files)
    systemctl("start", "ctprof-capture.timer")
    result = run("dpkg", "--purge", "ctprof")
    expect_equal(result.status, 0, result.out, result.err)
    expect(not os.path.exists(machine.SOCKET), "the socket is still there")
    for unit in (machine.SERVICE, machine.SOCKET_UNIT, "ctprof-capture.timer"):
        expect(run("systemctl", "is-active", "--quiet", unit).status != 0, unit, "is still active")
    links = [str(path) for path in pathlib.Path("/etc/systemd").rglob("*ctprof*")]
    expect_equal([path for path in files if os.path.exists(path)] + links, [], "left behind")
    expect(any(machine.SPOOL.glob("*.zst")), "the snapshots are gone")
