# SPDX-License-Identifier: GPL-2.0-or-later
"""What the whole host did in an interval, from the host's own parts of the documents and from its cgroups."""
import dataclasses
import pathlib

from ended import total_of_ended
from lives import known_sum, n_cpus

SECTOR_BYTES = 512
USED = ("user", "nice", "system", "irq", "softirq")
CPU_TIMES = "user nice system idle iowait irq softirq steal".split()


@dataclasses.dataclass
class Host:
    """What the whole host did in an interval, or since it booted when @before is None."""
    before: object
    after: object

    @property
    def elapsed_ns(self):
        return self.after.start_ns - (self.before.start_ns if self.before else 0)

    def cpus(self):
        return n_cpus(self.after)

    def grown(self, part, item, name, columns):
        """Of the columns of one item; None where that is not known."""
        end = (self.after.host_rows(part, item) or {}).get(name)
        begin = {} if self.before is None else (self.before.host_rows(part, item) or {}).get(name)
        if end is None or begin is None:
            return None
        growths = [end[column] - begin.get(column, 0) for column in columns]
        return None if min(growths) < 0 else sum(growths)

    def counted(self, part, name):
        """One of the counts of a part."""
        parts = [snapshot.document.get(part) or {} for snapshot in (self.before, self.after)]
        begin, end = (told.get("counts", {}).get(name) for told in parts)
        return None if None in (begin, end) else end - begin

    def cpu_ns(self, cpu, *names):
        """The time of one CPU, or of "all", in these states."""
        ticks = self.grown("host_cpu", "cpu", cpu, [f"{name}_clock_ticks" for name in names])
        return None if ticks is None else ticks * self.after.tick_ns

    def used_ns(self):
        return self.cpu_ns("all", *USED)

    def disks(self):
        """Names of the whole disks that were there all the time; None without the part."""
        sides = [snapshot.host_rows("host_disk", "disk") for snapshot in (self.before or self.after, self.after)]
        if None in sides:
            return None
        return [name for name, row in sides[1].items() if row["kind"] == "disk" and name in sides[0]]

    def moved_bytes(self, *columns):
        """Of all whole disks; None where a counter of one fell, as of a disk that came anew under an old name."""
        grown = [self.grown("host_disk", "disk", name, columns) for name in self.disks() or []]
        return None if self.disks() is None or None in grown else SECTOR_BYTES * sum(grown)

    def storage_bytes(self):
        return self.moved_bytes("read_sectors", "written_sectors")

    def written_bytes(self):
        return self.moved_bytes("written_sectors")

    def dirty_growth_bytes(self):
        """By how much memory grew that is yet to be written."""
        dirty = [dirty_kib(snapshot) for snapshot in (self.before, self.after) if snapshot]
        return None if None in dirty else 1024 * max(0, dirty[-1] - (dirty[0] if self.before else 0))

    def memory_bytes(self):
        total = (self.after.document.get("host_memory") or {}).get("levels_kib", {}).get("MemTotal")
        return None if total is None else 1024 * total

    def bound_ns(self):
        took = sum(snapshot.end_ns - snapshot.start_ns for snapshot in (self.before, self.after))
        return None if self.cpus() is None else self.cpus() * (2 * self.after.tick_ns + took)


def dirty_kib(snapshot):
    return snapshot.document.get("host_memory", {}).get("levels_kib", {}).get("Dirty")




def host_of(lives, before, after):
    """The member "host", as far as it is of CPUs and of threads."""
    host = Host(before, after)
    rows = [snapshot.host_rows("host_cpu", "cpu") for snapshot in (before, after)]
    cpus = [] if None in rows else [cpu for cpu in rows[1] if cpu != "all" and cpu in rows[0]]
    per_cpu = [{"cpu": int(cpu), "usedNs": host.cpu_ns(cpu, *USED),
                **{f"{name}Ns": host.cpu_ns(cpu, name) for name in CPU_TIMES[3:]}} for cpu in cpus]
    waiting = [life.work("wait_time_ns") for life in lives if life.after]
    waiting = known_sum(waiting) if waiting else 0
    if waiting is not None:
        waiting += total_of_ended(lives, before, after, "wait_time_ns") or 0
    return {"cpus": host.cpus(), "cpuUsedNs": host.used_ns(),
            **{f"{name}Ns": host.cpu_ns("all", name) for name in CPU_TIMES},
            "perCpu": None if None in rows else per_cpu, "waitingNs": waiting,
            **{name: host.counted("host_cpu", count) for name, count in (
                ("processesCreated", "processes"), ("contextSwitches", "ctxt"), ("interrupts", "intr"))},
            "oomKills": host.counted("host_memory", "oom_kill")}


def limited(before, after):
    """{(cgroup, what held it back): (count, time)} of what happened inside."""
    found = {}
    stats = [snapshot.document.get("cgroup_stats") or {} for snapshot in (before, after)]
    in_cgroups = 0  # processes killed: the host counts them, too
    if all(stats):
        rises = {path: rises_of(stats[0].get(path), end) for path, end in stats[1].items()}
        for path, told in rises.items():
            found[path, "cpu.max"] = told["cpu.max"]
            in_cgroups += max(0, (told["oom_kill"][0] or 0) - below(rises, path, "oom_kill"))
            found.update({(path, what): (count, None) for what, (count, _) in told.items()
                          if what != "cpu.max" and (count or 0) > below(rises, path, what)})
    killed = Host(before, after).counted("host_memory", "oom_kill")
    found["", "oom_kill"] = killed if killed is None else max(0, killed - in_cgroups), None
    return {key: told for key, told in found.items() if any(told)}


def rises_of(begin, end):
    """{what: (count, time)} of one cgroup; @begin is None for one that had no threads before, or was not there."""
    cpu = risen(begin and (begin.get("cpu") or {}), end.get("cpu") or {})
    events = risen(begin and events_of(begin), events_of(end))
    pids = risen(begin and events_of(begin, "pids"), events_of(end, "pids"))
    usec = cpu("throttled_usec")
    return {"cpu.max": (cpu("nr_throttled"), None if usec is None else 1000 * usec),
            **{what: (events(event), None)
               for event, what in (("max", "memory.max"), ("high", "memory.high"), ("oom_kill", "oom_kill"))},
            "pids.max": (pids("max"), None)}


def events_of(stats, controller="memory"):
    return (stats.get(controller) or {}).get("events") or {}


def below(rises, path, what):
    """What the cgroups next below @path counted: events count in all cgroups above, too."""
    return sum(told[what][0] or 0 for other, told in rises.items() if above(rises, other) == path)


def above(rises, path):
    """The next cgroup above @path that was recorded; None without."""
    parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in rises), None)


def risen(first, last):
    """A function that tells by how much a counter of two objects rose, or None."""
    def rise(name):
        begin, end = None if first is None else first.get(name), last.get(name)
        return None if None in (begin, end) or end < begin else end - begin
    return rise
