# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of the administrator, and the timer that is off by default."""
import machine
from harness import expect, expect_equal, run, test, wait_until
from machine import ctl, systemctl


def complaints():
    return [entry["MESSAGE"] for entry in machine.journal(f"_SYSTEMD_UNIT={machine.SERVICE}")
            if str(machine.SETTINGS) in entry["MESSAGE"]]


def budget():
    return ctl("status", "--json").json()["spool"]["maxBytes"]


@test
def settings():
    """a reload takes new settings over, and a wrong line is named and changes nothing"""
    pid = machine.main_pid()
    with machine.settings("[Spool]\nMaxBytes=3M\n"):
        wait_until(lambda: budget() == 3 << 20, 20, "the budget of the settings")
        machine.reload("[Spool]\nMaxBites=1M\nMaxBytes=many\n")
        wait_until(lambda: len(complaints()) >= 2, 20, "a word about two wrong lines")
        machine.comment("\n".join(complaints()))
        for line in (2, 3):
            where = f"{machine.SETTINGS}:{line}"
            expect(any(where in complaint for complaint in complaints()), where, "is not named")
        expect_equal(budget(), 3 << 20, "budget after wrong lines")
        expect_equal(int(machine.shown("MainPID")), pid, "the daemon")


@test
def periodic():
    """the capture service takes an untagged snapshot as ctprof, and its timer can be turned on"""
    before = {head["name"] for head in ctl("list", "--json").json()["snapshots"]}
    systemctl("start", "ctprof-capture.service")
    new = [head for head in ctl("list", "--json").json()["snapshots"] if head["name"] not in before]
    expect_equal([head["tagged"] for head in new], [False], "new snapshots")
    expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
    systemctl("start", "ctprof-capture.timer")
    try:
        machine.comment(run("systemctl", "list-timers", "--no-legend", "ctprof*").out)
        expect_equal(systemctl("is-active", "ctprof-capture.timer"), "active")
    finally:
        systemctl("stop", "ctprof-capture.timer")
