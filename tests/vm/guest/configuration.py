# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of the administrator, and the timer that is off by default."""
import pathlib

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


@test
def gauges():
    """with ctprof-metrics.service enabled each capture of the timer becomes gauges, in a directory of another user"""
    place = pathlib.Path("/var/lib/prometheus/node-exporter")
    file = place / "ctprof.prom"
    place.mkdir(parents=True)
    place.chmod(0o755)
    user = machine.user("prometheus")
    run("chown", user["user"], str(place))
    systemctl("enable", "ctprof-metrics.service")
    try:
        for _ in range(2):
            systemctl("start", "ctprof-capture.service")
        wait_until(lambda: file.exists() and "ctprof_group_cpu_cores{" in file.read_text(encoding="utf-8"), 60, "gauges")
        expect_equal(file.stat().st_mode & 0o777, 0o644, "its mode")
        expect_equal(sorted(path.name for path in place.iterdir()), ["ctprof.prom"], "the directory")
        machine.comment(f"{file.read_text(encoding='utf-8').count(chr(10))} lines")
    finally:
        systemctl("disable", "ctprof-metrics.service")
