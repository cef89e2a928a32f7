# SPDX-License-Identifier: GPL-2.0-or-later
"""The sandbox holds, seen from outside in /proc, and each capability is needed for what it is said to be."""
import contextlib
import os
import pathlib
import pwd
import re
import signal

import machine
from harness import Idle, end, expect, expect_equal, replaced_program, temporary, test, wait_until
from machine import ctl, systemctl

BITS = {"CAP_DAC_READ_SEARCH": 2, "CAP_NET_ADMIN": 12, "CAP_SYS_PTRACE": 19, "CAP_CHECKPOINT_RESTORE": 40}
OURS = sum(1 << bit for bit in BITS.values())
LOADING = 1 << 38 | 1 << 39  # CAP_PERFMON, CAP_BPF: given up before the daemon is ready, but for the bounding set
THREADS = 400

# The spool, directories of its own, and the file that systemd gives every service for its memory pressure.
WRITABLE = re.compile(rf"/(var/lib/ctprof|tmp|var/tmp|dev|sys/fs/cgroup/system.slice/{machine.SERVICE}/memory.pressure)"
                      "(/|$)")

UNPRIVILEGED = "ctprofd-unprivileged.socket"


def facts(pid):
    """What /proc/PID/status says, by key."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def capabilities(status, name):
    return int(status[name], 16)


def mount_points(pid):
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as table:
        return [line.split()[4] for line in table]


def expect_confined(pid):
    """What holds for the daemon and for each of its jobs."""
    status = facts(pid)
    uid = pwd.getpwnam("ctprof").pw_uid
    expect_equal(status["Uid"].split(), [str(uid)] * 4, "uids")
    expect_equal(status["NoNewPrivs"], "1", "NoNewPrivs")
    expect_equal(status["Seccomp"], "2", "Seccomp")
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        expect_equal(capabilities(status, name) & ~OURS, 0, name)
    expect_equal(capabilities(status, "CapBnd") & ~(OURS | LOADING), 0, "CapBnd")
    # Asked through its own root, so that what lies on top of what does not matter.
    writable = sorted({point for point in mount_points(pid) if os.access(f"/proc/{pid}/root{point}", os.W_OK)})
    foreign = [point for point in writable if not WRITABLE.match(point)]
    machine.comment(f"writable mounts: {' '.join(writable)}")
    expect_equal(foreign, [], "writable mounts")
    expect(str(machine.SPOOL) in writable, "the spool cannot be written")
    expect(os.stat(f"/proc/{pid}/ns/mnt").st_ino != os.stat("/proc/1/ns/mnt").st_ino, "no mount namespace")
    expect(not os.path.exists(f"/proc/{pid}/root/dev/vda"), "it sees the disk")
    return status


@contextlib.contextmanager
def stopped(kind, *command):
    """A job of the daemon, held where it works."""
    pid = machine.main_pid()
    client = machine.start(*command)
    job = machine.wait_for_job(pid, kind)
    try:
        if kind == "analysis":
            # It gives up what it has as its first act: look at it afterwards.
            wait_until(lambda: facts(job).get("CapPrm", "").strip("0") == ""
                       and int(facts(job)["Seccomp_filters"]) > int(facts(pid)["Seccomp_filters"]), 30, "its sandbox")
        os.kill(job, signal.SIGSTOP)
        wait_until(lambda: facts(job)["State"].startswith("T"), 30, "a stopped job")
        yield job
    finally:
        end(job, signal.SIGCONT)
        client.communicate(timeout=120)


@test
def daemon():
    """the daemon runs as ctprof with four capabilities, a filter, and a host that it cannot write"""
    status = expect_confined(machine.main_pid())
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        expect_equal(capabilities(status, name), OURS, name)
    expect_equal(capabilities(status, "CapBnd"), OURS | LOADING, "CapBnd")
    machine.comment(f"Uid {status['Uid'].split()[0]}, CapEff {status['CapEff']}, CapBnd {status['CapBnd']},"
                    f" Seccomp {status['Seccomp']}, filters {status['Seccomp_filters']}")


@test
def capture_job():
    """a capture job has what the daemon has, and no more"""
    with Idle(THREADS, 4), stopped("capture", "capture", "--tag", "held", "--replace") as job:
        status = expect_confined(job)
        machine.comment(f"CapEff {status['CapEff']}, Seccomp {status['Seccomp']}, threads {status['Threads']}")
        expect_equal(capabilities(status, "CapEff") & ~OURS, 0, "CapEff")


@test
def analysis_job():
    """an analysis job has no capability at all, a filter more, and can open nothing"""
    with Idle(THREADS, 4):
        machine.take("large", "--replace")
    own = int(facts(machine.main_pid())["Seccomp_filters"])
    with stopped("analysis", "show", "large", "--group-by", "thread", "--limit", "0", "--json") as job:
        status = expect_confined(job)
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            expect_equal(capabilities(status, name), 0, name)
        expect(int(status["Seccomp_filters"]) > own, "no filter of its own")
        limits = pathlib.Path(f"/proc/{job}/limits").read_text(encoding="ascii")
        files = re.search(r"Max open files +(\d+)", limits)[1]
        expect_equal(files, "1", "descriptors that it may have")
        machine.comment(f"CapEff {status['CapEff']}, Seccomp_filters {status['Seccomp_filters']} (daemon {own}),"
                        f" open files {files}")


def readings(name):
    """Sources by name, and by column how many threads have a value."""
    answer = machine.take(name, "--replace")
    sources = {source["name"]: source for source in answer["sources"]}
    counts = {}
    rows = machine.rows(machine.document(name))
    for column in rows[0]:
        counts[column] = sum(1 for row in rows if row[column] is not None)
    return sources, counts, len(rows)


def losses(whole, without):
    """Prints what became absent, with the reasons that users see; returns the names of the sources."""
    # What is ok now has lost nothing, even if there was no time for it before.
    lost = [name for name, source in without[0].items() if source["state"] not in ("ok", whole[0][name]["state"])]
    for name in lost:
        source = without[0][name]
        reason = source.get("reason")
        machine.comment(f"  {name}: {source['state']}, denied {source['denied']} of"
                        f" {source['denied'] + source['ok']}: {reason}")
        expect(reason, "no reason for", name)
    columns = []
    for column, count in whole[1].items():
        if count and without[1][column] < count * without[2] / whole[2] * 0.9:
            columns.append(f"{column} ({without[1][column]} of {without[2]})")
    machine.comment(f"  absent: {', '.join(columns) or 'no column'}")
    return lost


@test
def each_capability():
    """without any one of its capabilities, readings become absent, each with its reason"""
    # From files: through BPF some of them are not needed.
    try:
        with machine.settings("[Capture]\nHeapTime=1min\nBackend=procfs\n"):
            without_each(readings("whole-rights"))
    finally:
        machine.restart()


def without_each(whole):
    for name in ("taskstats", "jemalloc"):
        expect(whole[0][name]["state"] in ("ok", "not-applicable"), whole[0][name])
    needed = {"CAP_NET_ADMIN": "taskstats", "CAP_SYS_PTRACE": "io", "CAP_DAC_READ_SEARCH": "io",
              "CAP_CHECKPOINT_RESTORE": "jemalloc"}
    for dropped in machine.CAPABILITIES:
        rest = " ".join(name for name in machine.CAPABILITIES if name != dropped)
        with machine.dropin("AmbientCapabilities=", f"AmbientCapabilities={rest}", "CapabilityBoundingSet=",
                            f"CapabilityBoundingSet={rest}"):
            machine.comment(f"without {dropped}:")
            # What captures found out before outlives the restart: this process is new.
            with temporary() as directory, replaced_program(directory):
                lost = losses(whole, readings("less-rights"))
        expect(needed[dropped] in lost, f"{dropped} is not needed for {needed[dropped]}:", lost)
        expect("stat" not in lost, "the threads themselves are gone without", dropped)


@test
def no_capability():
    """the unprivileged unit serves the same socket with no capability, and says what it lacks"""
    whole = readings("whole-rights")
    systemctl("stop", machine.SERVICE)
    try:
        systemctl("start", UNPRIVILEGED)
        expect_equal(ctl("status").status, 0, "status")
        pid = int(machine.shown("MainPID", "ctprofd-unprivileged.service"))
        expect(pid > 0, "the unprivileged daemon does not run")
        status = facts(pid)
        for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
            expect_equal(capabilities(status, name), 0, name)
        expect_equal(status["Seccomp"], "2", "Seccomp")
        machine.comment("without any:")
        less = readings("no-rights")
        expect("taskstats" in losses(whole, less), "taskstats without capabilities")
    finally:
        systemctl("stop", UNPRIVILEGED, "ctprofd-unprivileged.service")
        systemctl("start", machine.SOCKET_UNIT)
    expect_equal(ctl("status").status, 0, "status afterwards")
