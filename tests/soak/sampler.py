# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon's main process holds, read from /proc; one row of samples.csv a moment."""
import collections
import csv
import os
import pathlib

import harness

COLUMNS = ["seconds", "phase", "rss_kib", "anon_kib", "peak_rss_kib", "descriptors", "sockets", "pipes", "files",
           "other_fds", "children", "threads", "cpu_ms", "snapshots", "spool_kib", "host_threads"]


def kind_of(target):
    for prefix in ("socket:", "pipe:", "/memfd:", "anon_inode:"):
        if target.startswith(prefix):
            return target if prefix == "anon_inode:" else prefix.strip("/:")
    return "deleted file" if target.endswith(" (deleted)") else "file"


def descriptors(pid):
    """How many of each kind are open."""
    kinds = collections.Counter()
    for _, target in harness.descriptors(pid):
        kinds[kind_of(target)] += 1
    return kinds


def children(pid, all_of_them=False):
    """Jobs that run now; the one that hears of exits stays for as long as the daemon runs."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        pids = [int(word) for word in file.read().split()]
    return [child for child in pids if all_of_them or not _stays(child)]


def _stays(pid):
    try:
        return b"--job=listen" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def describe(pid):
    """What a process is and does, for whoever wonders why it is still there."""
    try:
        base = pathlib.Path(f"/proc/{pid}")
        words = (base / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        state = _status(pid)["State"]
        where = [(base / name).read_text(encoding="ascii", errors="replace").strip()
                 for name in ("wchan", "syscall", "stack")]
        return " ".join([str(pid), words, state, *where, str(dict(descriptors(pid)))])
    except OSError as error:
        return f"{pid}: {error.strerror}"


def is_child(pid, parent):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1]) == parent
    except (OSError, ValueError):
        return False


def _status(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    pairs = (line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return {key: value.split()[0] for key, value in pairs if value.split()}


def _cpu_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")


class Sampler:
    def __init__(self, pid, spool, path):
        self.pid = pid
        self.spool = spool
        self.rows = []
        self._file = open(path, "w", encoding="ascii", newline="", buffering=1)
        self._csv = csv.writer(self._file)
        self._csv.writerow(COLUMNS)

    def close(self):
        self._file.close()

    def take(self, seconds, phase):
        status, fds = _status(self.pid), descriptors(self.pid)
        sizes = []
        with os.scandir(self.spool) as entries:
            for entry in entries:
                try:
                    sizes.append(entry.stat().st_size)
                except FileNotFoundError:
                    pass
        with open("/proc/loadavg", encoding="ascii") as file:
            host_threads = int(file.read().split()[3].split("/")[1])
        known = {"socket": "sockets", "pipe": "pipes", "file": "files"}
        row = {"seconds": round(seconds, 2), "phase": phase, "rss_kib": int(status["VmRSS"]),
               "anon_kib": int(status["RssAnon"]), "peak_rss_kib": int(status["VmHWM"]),
               "descriptors": sum(fds.values()), "children": len(children(self.pid)),
               "threads": int(status["Threads"]), "cpu_ms": _cpu_ms(self.pid), "snapshots": len(sizes),
               "spool_kib": sum(sizes) >> 10, "host_threads": host_threads,
               "other_fds": sum(n for kind, n in fds.items() if kind not in known)}
        row.update({column: fds[kind] for kind, column in known.items()})
        self._csv.writerow([row[column] for column in COLUMNS])
        self.rows.append(row)
        return row
