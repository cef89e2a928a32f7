# SPDX-License-Identifier: GPL-2.0-or-later
"""The last checks of the first boot: what was asked of systemd, and a snapshot for the next boot."""
import machine
from harness import expect_equal, run, test
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
def for_the_next_boot():
    """a last snapshot is taken"""
    expect_equal(ctl("capture", "--tag", machine.LAST).status, 0, "capture")
