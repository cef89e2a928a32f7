# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong costs the call it hits, never the spool and never the service."""
import contextlib
import os
import pathlib
import pwd
import signal
import time

import machine
from harness import Idle, end, expect, expect_equal, run, test, wait_until
from machine import ctl, sentence, shown, systemctl

EXEC = "ExecStart=/usr/sbin/ctprofd"
THREADS = 800


def hold(pid, kind):
    """The pid of a job, stopped as soon as it is there."""
    job = machine.wait_for_job(pid, kind)
    os.kill(job, signal.SIGSTOP)
    return job


@test
def restart_during_a_capture():
    """a restart during a capture costs that capture: nothing half is left, and the next one works"""
    pid = machine.main_pid()
    with Idle(THREADS, 8):
        client = machine.start("capture", "--tag", "interrupted")
        job = hold(pid, "capture")
        restart = machine.subprocess.Popen(["systemctl", "restart", machine.SERVICE])
        try:
            wait_until(lambda: shown("ActiveState") != "active" or int(shown("MainPID")) != pid, 30, "the restart")
        finally:
            end(job, signal.SIGCONT)
        expect_equal(restart.wait(60), 0, "systemctl restart")
        _, complaint = client.communicate(timeout=60)
        expect_equal(client.returncode, 1, "exit status of the client", complaint)
        machine.comment(sentence(complaint))
        after = machine.main_pid()
        expect(after != pid, "it is still the same daemon")
        expect_equal(ctl("capture", "--tag", "next").status, 0, "the next capture")
    machine.intact("next")
    names = {head["name"] for head in ctl("list", "--json").json()["snapshots"]}
    expect("interrupted" not in names, "half a snapshot is listed")
    expect_equal(shown("Result"), "success", "result of the service")


def fill(prefix):
    """Takes tagged snapshots until one is refused; returns their names and the complaint."""
    taken = []
    for number in range(200):
        result = ctl("capture", "--tag", f"{prefix}{number}")
        if result.status != 0:
            expect_equal(result.status, 1, "exit status")
            return taken, sentence(result.err)
        taken.append(f"{prefix}{number}")
    raise AssertionError("the spool never fills")


@test
def spool_full():
    """a spool at its budget refuses the next tagged snapshot, says what to do, and keeps all others"""
    systemctl("stop", machine.SERVICE)
    used = sum(512 * file.stat().st_blocks for file in machine.SPOOL.iterdir())
    # While others have snapshots, too, one user gets no more than half of the budget.
    with machine.dropin("ExecStart=", f"{EXEC} --max-bytes={2 * (used + 60000)}"):
        taken, complaint = fill("full")
        machine.comment(f"after {len(taken)} snapshots: {complaint}")
        expect(taken, "not a single snapshot")
        machine.intact(*taken)
        for name in taken:
            expect_equal(ctl("remove", name).status, 0, "remove")
        expect_equal(ctl("capture", "--tag", taken[0]).status, 0, "capture once there is room")
        expect_equal(ctl("remove", taken[0]).status, 0, "remove")


@test
def disk_full():
    """a file system that is full for real refuses likewise, and nothing half is left"""
    systemctl("stop", machine.SERVICE)
    uid = pwd.getpwnam("ctprof").pw_uid
    options = f"size=100k,mode=0750,uid={uid},gid={uid}"
    expect_equal(run("mount", "-t", "tmpfs", "-o", options, "spool", str(machine.SPOOL)).status, 0, "mount")
    try:
        with machine.dropin("ExecStart=", f"{EXEC} --max-bytes=0 --keep-free=0"):
            taken, complaint = fill("disk")
            machine.comment(f"after {len(taken)} snapshots: {complaint}")
            expect(taken, "not a single snapshot")
            machine.intact(*taken)
            systemctl("stop", machine.SERVICE)
    finally:
        systemctl("stop", machine.SERVICE)
        expect_equal(run("umount", str(machine.SPOOL)).status, 0, "umount")
        machine.restart()
    machine.intact()


def oom_kills():
    events = pathlib.Path(f"/sys/fs/cgroup/system.slice/{machine.SERVICE}/memory.events").read_text(encoding="ascii")
    return int(dict(line.split() for line in events.splitlines())["oom_kill"])


def starve(*command):
    """Runs a client with less and less memory for the service until it fails; returns what it said, or None."""
    group = pathlib.Path(f"/sys/fs/cgroup/system.slice/{machine.SERVICE}")
    # What is only cached would give way first: let it go before counting.
    with contextlib.suppress(OSError):
        (group / "memory.reclaim").write_text("64M", encoding="ascii")
    used = int((group / "memory.current").read_text(encoding="ascii"))
    try:
        for spare in range(20, 1, -1):
            systemctl("set-property", "--runtime", machine.SERVICE, f"MemoryMax={used + (spare << 19)}",
                      "MemorySwapMax=0")
            result = ctl(*command)
            if result.status != 0:
                machine.comment(f"{sentence(result.err)} With {spare << 9} KiB beside {used >> 10} KiB.")
                return result.err
    finally:
        systemctl("set-property", "--runtime", machine.SERVICE, "MemoryMax=infinity")
    return None


@test
def job_out_of_memory():
    """a job that the kernel kills for memory costs its call: the daemon goes on, and says what happened"""
    # Many groups of which one is asked for: the job is larger than the daemon, and the kernel takes the largest.
    with Idle(THREADS * 2, 8):
        expect_equal(ctl("capture", "--tag", "enough").status, 0, "capture")
    demanding = ("show", "enough", "--group-by", "thread", "--limit", "1", "--json")
    for _ in range(3):
        pid = machine.restart()
        expect_equal(ctl(*demanding).status, 0, "show")
        before = oom_kills()
        said = starve(*demanding)
        expect(said, "no limit was too small for", demanding)
        if machine.main_pid() == pid:
            break
        # What a killed job had is given back late, and the kernel may have taken the daemon for it.
        machine.comment("the kernel took the daemon as well, which is not what is tested: once more")
    expect_equal(machine.main_pid(), pid, "the daemon")
    expect(oom_kills() > before, "the kernel killed nothing")
    expect("memory" in said, said)
    expect_equal(ctl("capture", "--tag", "enough", "--replace").status, 0, "the next capture")
    machine.intact("enough")


@test
def watchdog():
    """a daemon that hangs is ended by systemd and started again; the socket never goes away"""
    with machine.dropin("WatchdogSec=2s", "TimeoutAbortSec=1s", "RestartSec=100ms"):
        pid = machine.main_pid()
        begin = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        client = machine.start("status")
        after = machine.daemon_ready(pid)
        machine.comment(f"another daemon after {time.monotonic() - begin:.1f} s,"
                        f" restarts {shown('NRestarts')}, pid {pid} became {after}")
        client.communicate(timeout=60)
        expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
        expect_equal(ctl("status").status, 0, "status")
        hung = [entry["MESSAGE"] for entry in machine.journal(f"UNIT={machine.SERVICE}")
                if "watchdog" in entry["MESSAGE"].lower()]
        expect(hung, "systemd says nothing of a watchdog")
        machine.comment(hung[-1])
    machine.intact()


@test
def stop():
    """a stop ends the jobs of the daemon and is no failure"""
    pid = machine.main_pid()
    with Idle(THREADS, 8):
        client = machine.start("capture", "--tag", "stopped")
        job = machine.wait_for_job(pid, "capture")
        begin = time.monotonic()
        systemctl("stop", machine.SERVICE)
        machine.comment(f"stopped in {time.monotonic() - begin:.1f} s")
        expect(not os.path.exists(f"/proc/{pid}") and not os.path.exists(f"/proc/{job}"), "something still runs")
        client.communicate(timeout=60)
    expect_equal(shown("ActiveState"), "inactive")
    expect_equal(shown("Result"), "success")
    expect_equal(systemctl("is-active", machine.SOCKET_UNIT), "active")
