# SPDX-License-Identifier: GPL-2.0-or-later
"""Leaves the kernel files that a check read, laid out like tests/fixtures, so that they can become one."""
import os
import pathlib
import platform
import struct

import machine

THREAD = ("cgroup", "comm", "io", "sched", "schedstat", "smaps_rollup", "stat", "status")
PROCESS = ("cgroup", "comm", "smaps_rollup")
HOST = ("cmdline", "cpuinfo", "loadavg", "meminfo", "uptime", "version", "self/mountinfo", "pressure/cpu",
        "pressure/io", "pressure/memory", "pressure/irq", "sys/kernel/arch", "sys/kernel/hostname",
        "sys/kernel/osrelease", "sys/kernel/ostype", "sys/kernel/pid_max", "sys/kernel/random/boot_id",
        "sys/kernel/task_delayacct")
SYSTEM = ("devices/system/cpu/online", "devices/system/node/has_cpu", "kernel/mm/transparent_hugepage/enabled",
          "kernel/mm/transparent_hugepage/defrag")


def copy(source, target):
    """Copies one file of the kernel; what cannot be read is not there."""
    try:
        content = pathlib.Path(source).read_bytes()
    except OSError:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def save(tgid, tid, taskstats):
    """Saves what there is to read of a thread, of its cgroup and of the host."""
    release = platform.release()
    base = machine.RESULTS / "fixtures"
    proc = base / "proc" / release
    for name in PROCESS:
        copy(f"/proc/{tgid}/{name}", proc / str(tgid) / name)
    for name in THREAD:
        copy(f"/proc/{tgid}/task/{tid}/{name}", proc / str(tgid) / "task" / str(tid) / name)
    scheduler = [f"sys/kernel/{name}" for name in os.listdir("/proc/sys/kernel") if name.startswith("sched_")]
    for name in (*HOST, *scheduler):
        copy(f"/proc/{name}", proc / name)
    for name in SYSTEM:
        copy(f"/sys/{name}", base / "sys" / release / name)
    for directory, _, names in os.walk("/sys/kernel/sched_ext"):
        for name in names:
            file = os.path.join(directory, name)
            copy(file, base / "sys" / release / file[len("/sys/"):])
    cgroup = pathlib.Path(f"/proc/{tgid}/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
    cgroup = cgroup.splitlines()[-1].split("::", 1)[1]
    for file in pathlib.Path("/sys/fs/cgroup" + cgroup).iterdir():
        if file.is_file() and os.access(file, os.R_OK) and file.name != "cgroup.kill":
            copy(file, base / "cgroup" / release / cgroup[1:] / file.name)
    stats = taskstats.ask(tid)
    directory = base / "taskstats" / release
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"taskstats-{tid}.bin").write_bytes(stats)
    version = struct.unpack_from("=H", stats)[0]
    (directory / f"taskstats-{tid}.txt").write_text(
        f"taskstats_version_kernel {version}\ntaskstats_payload_len {len(stats)}\n", encoding="ascii")
