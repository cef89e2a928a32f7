# SPDX-License-Identifier: GPL-2.0-or-later
"""The package installs, the socket activates, who may connect is the group, and an upgrade keeps the spool."""
import grp
import os
import pathlib
import pwd
import stat

import machine
from harness import Skip, expect, expect_equal, run, test
from machine import ctl, sentence, shown, systemctl


def install(name):
    if not machine.PACKAGES:
        raise Skip("the package was installed beforehand")
    # Many programs, one after the other, on an emulated processor that shares a busy host.
    result = run("dpkg", "--force-unsafe-io", "--install", f"{machine.PACKAGES}/{name}", timeout=600)
    expect_equal(result.status, 0, "dpkg:", result.out, result.err)
    expect_equal(run("dpkg", "--audit", "ctprof").out, "", "dpkg --audit")


@test
def installs():
    """the package installs on top of exactly what it depends on, before an upgrade"""
    install("older.deb")
    machine.comment(run("systemctl", "--version").out.splitlines()[0])
    machine.comment(pathlib.Path("/proc/version").read_text(encoding="ascii"))


@test
def only_the_socket():
    """the socket is enabled and listens, the daemon does not run, nothing else is enabled"""
    expect_equal(systemctl("is-enabled", machine.SOCKET_UNIT), "enabled")
    expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
    if machine.PACKAGES:
        expect_equal(shown("ActiveState"), "inactive", "ctprofd.service")
    units = run("systemctl", "list-unit-files", "--no-legend", "ctprof*").out
    machine.comment(units)
    enabled = [line.split()[0] for line in units.splitlines() if line.split()[1] == "enabled"]
    expect_equal(enabled, [machine.SOCKET_UNIT], "enabled units")


@test
def mode_of_the_socket():
    """the socket belongs to group ctprof with mode 0660, in a directory of root's"""
    status = os.stat(machine.SOCKET)
    expect(stat.S_ISSOCK(status.st_mode), "no socket")
    expect_equal(stat.S_IMODE(status.st_mode), 0o660, "mode")
    expect_equal(status.st_gid, grp.getgrnam("ctprof").gr_gid, "group")
    expect_equal(os.stat("/run/ctprof").st_uid, 0, "owner of the directory")
    expect_equal(stat.S_IMODE(os.stat("/run/ctprof").st_mode) & 0o022, 0, "others may write")


@test
def activates():
    """the first connection starts the daemon, which says that it is ready and what it can read"""
    result = ctl("status")
    expect_equal(result.status, 0, result.err)
    machine.comment(result.out)
    expect_equal(shown("ActiveState"), "active")
    expect_equal(shown("SubState"), "running")
    expect(shown("StatusText"), "no status text")
    expect_equal(run("systemctl", "is-failed", "--quiet", "ctprof*").status, 1, "a unit has failed")


@test
def operator():
    """a member of group ctprof captures, lists and shows, and may not remove what is root's"""
    someone = machine.user("insider", "ctprof")
    expect_equal(ctl("capture", "--tag", "roots").status, 0, "capture of root")
    expect_equal(ctl("capture", "--tag", "insiders", **someone).status, 0, "capture")
    heads = ctl("list", "--json", **someone).json()["snapshots"]
    expect_equal({head["name"] for head in heads}, {"roots", "insiders"})
    expect(ctl("show", "roots", "--json", **someone).json()["groups"], "no groups")
    refused = ctl("remove", "roots", **someone)
    expect_equal(refused.status, 1, "removing what is root's")
    machine.comment(sentence(refused.err))
    expect_equal(ctl("remove", "insiders", **someone).status, 0, "removing what is one's own")


@test
def outsider():
    """somebody outside the group is told which group to join"""
    refused = ctl("list", **machine.user("outsider"))
    expect_equal(refused.status, 1, "exit status")
    complaint = sentence(refused.err)
    machine.comment(complaint)
    expect("ctprof" in complaint and "usermod -aG ctprof outsider" in complaint, complaint)


@test
def journal():
    """captures and refusals are in the journal with who, what and which"""
    taken = machine.journal("MESSAGE_ID=df539a7ceea74c259300c43f7e0d3655")
    expect(any((entry.get("CTPROF_SNAPSHOT"), entry.get("CTPROF_UID")) == ("roots", "0") for entry in taken),
           "no entry of a capture by root", taken)
    refused = machine.journal("MESSAGE_ID=a29b826659fc47f8999c43d6fc28569c")
    uid = str(pwd.getpwnam("insider").pw_uid)
    expect(any((entry.get("CTPROF_SNAPSHOT"), entry.get("CTPROF_UID")) == ("roots", uid) for entry in refused),
           "no entry of the refusal", refused)
    expect(all(entry.get("CTPROF_METHOD") for entry in taken + refused), "an entry without its method")
    machine.comment(refused[-1]["MESSAGE"])


@test
def upgrade():
    """an upgrade restarts the daemon that runs, and finds the old spool"""
    before = machine.main_pid()
    expect_equal(ctl("capture", "--tag", "old").status, 0, "capture before the upgrade")
    install("ctprof.deb")
    version = run("dpkg-query", "--show", "--showformat", "${Version}", "ctprof").out
    expect("before" not in version, "version", version)
    expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
    machine.intact("old", "roots")
    after = machine.main_pid()
    expect(after != before, "the old daemon still runs")
    expect_equal(os.readlink(f"/proc/{after}/exe"), "/usr/sbin/ctprofd")
    expect(ctl("show", "old", "--json").json()["groups"], "no groups in the old snapshot")
