# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that exist only as snapshots: threads that are born, work, change their names and end, by a seed.

What every thread did stays within its life and within the time between two snapshots, as on a real host, except
where a caller spoils a value on purpose.
"""
import json
import random
import re

from registry import COUNTERS, METRICS, REASONS

HZ = 100
TICK_NS = 10**9 // HZ
SECOND_NS = 10**9
BEGIN_REALTIME_NS = 1795255200 * SECOND_NS
PROCESSES = "nginx postgres redis gzip java systemd-udevd kthread-user node cron sh".split()
THREADS = "main worker-1 worker-2 io pool-3 gc".split()
CGROUPS = ("/ /system.slice/web.service /system.slice/db.service /user.slice/user-1000.slice /apps/blue "
           "/apps/green").split()
STARTERS = "sh bash systemd make".split()
IDENTITY = "tid tgid ppid start_time_clock_ticks pcomm comm cgroup uid gid kthread self command".split()
SCHEDSTATS = [name for name in METRICS if name.startswith((
    "nr_wakeups", "nr_failed", "nr_forced", "wait_sum", "wait_count", "wait_max", "voluntary_sleep", "sleep_max", "block_",
    "iowait_", "exec_max", "slice_max", "core_forceidle"))]
DELAYS = [name for name in METRICS if "_delay_" in name and not name.startswith(("cpu_", "irq_"))]
MOVED = "tid tgid start_time_clock_ticks pcomm comm cgroup kthread self".split()
GROUPS_OF_COLUMNS = {
    "schedstats": SCHEDSTATS,
    "delays": DELAYS,
    "irq": [name for name in METRICS if name.startswith("irq_delay")],
    "jemalloc": ["allocated_bytes", "deallocated_bytes"],
    "io": "rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes".split(),
    "taskstats": DELAYS + [name for name in METRICS if name.startswith(("cpu_delay", "irq_delay", "acct_", "hiwater"))],
    "schedstat": "run_time_ns wait_time_ns timeslices".split(),
    "status": "voluntary_csw nonvoluntary_csw rss_anon_bytes rss_file_bytes rss_shmem_bytes swap_bytes".split(),
    "ext": ["ext_enabled"],
    "waits": "storage_wait_ns storage_wait_count uninterruptible_ns uninterruptible_count".split(),
    "reasons": REASONS,
}
# Shares of a thread's time that its totals take at most; together with run and wait they stay below all of it.
TIME_SHARES = {"run_time_ns": 0.3, "wait_time_ns": 0.2, "cpu_delay_total_ns": 0.2, "block_sum": 0.2,
               "iowait_sum": 0.15, "blkio_delay_total_ns": 0.15, "voluntary_sleep_ns": 0.2, "wait_sum": 0.2,
               "storage_wait_ns": 0.1, "uninterruptible_ns": 0.1,
               **{name: 0.02 for name in REASONS if name.endswith("_wait_ns")}}
MOST_SHARE = 0.25  # of what it waits for most at the time
PEAK_OF = {"wait_max": "wait_sum", "sleep_max": "voluntary_sleep_ns", "block_max": "block_sum", "exec_max": "run_time_ns",
           "slice_max": "run_time_ns", "off_cpu_max_ns": "sleep_wait_ns", "off_cpu_min_ns": "sleep_wait_ns"}


class Worker:
    """A thread of a made host; its values are what the kernel would count."""

    def __init__(self, rng, tid, tgid, start, names):
        self.rng = rng
        self.tid, self.tgid, self.start = tid, tgid, start
        self.pcomm, self.comm, self.cgroup = names
        self.kthread = self.own = False
        self.uid = rng.choice([0, 0, 1000, 1001])
        self.pace = rng.choice([0, 0.1, 0.5, 1])
        self.values = {name: 0 for name in COUNTERS}
        self.lacks = set()  # metrics that were not measured
        self.seen = set()  # names that captures saw it with
        for name, metric in METRICS.items():
            if metric.rule.startswith(("Max", "Min")):
                self.values[name] = 0
        self.find()

    @property
    def names(self):
        return self.pcomm, self.comm, self.cgroup

    def find(self):
        """What holds at a moment."""
        rng = self.rng
        policy = rng.choice(["SCHED_OTHER"] * 4 + ["SCHED_FIFO", "SCHED_BATCH"])
        first = rng.randrange(4)
        self.values.update(policy=policy, nice=rng.choice([-5, 0, 0, 0, 10]), priority=rng.choice([20, 20, -2, 30]),
                           rt_priority=0 if policy != "SCHED_FIFO" else rng.randrange(1, 99),
                           cpu_affinity=rng.choice(["0-3", "0-3", f"{first}", "0,2"]), processor=rng.randrange(4),
                           state=rng.choice("SSSI"), ext_enabled=rng.random() < 0.2,
                           fair_slice_ns=rng.choice([3, 28]) * 10**5, acct_elapsed_ns=rng.randrange(10**12))
        for name in ("rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "swap_bytes"):
            self.values[name] = rng.randrange(1 << 15) * 4096
        self.values["nr_threads"] = rng.randrange(1, 9)
        self.most = rng.choice([name for name in REASONS if name.endswith("_wait_ns")])
        self.values["other_wait_call"] = rng.choice([None, 35, 202, 4294967295])

    def advance(self, time_ns):
        """Works for so long."""
        rng, grown = self.rng, {}
        for name in COUNTERS:
            share = MOST_SHARE if name == self.most else TIME_SHARES.get(name, 0.1)
            if METRICS[name].rule == "SumNs":
                grown[name] = int(time_ns * share * self.pace * rng.random())
            elif METRICS[name].rule == "SumTicks":
                grown[name] = int(time_ns * 0.15 * self.pace * rng.random() / TICK_NS)
            else:
                grown[name] = int(rng.choice([0, 1, 100, 1e5]) * self.pace * rng.random() * time_ns / SECOND_NS)
        grown["iowait_sum"] = min(grown["iowait_sum"], grown["block_sum"])
        for name, growth in grown.items():
            self.values[name] += growth
        self._peak(grown)

    def _peak(self, grown):
        rng, values = self.rng, self.values
        for name, metric in METRICS.items():
            total = PEAK_OF.get(name, name.replace("_max_ns", "_total_ns").replace("_min_ns", "_total_ns"))
            if metric.rule == "MaxPeak" and rng.random() < 0.5:
                values[name] = max(values[name], int(grown[total] * rng.random()))
            elif metric.rule == "MinFloor" and grown[total] and rng.random() < 0.5:
                values[name] = min(values[name] or grown[total], 1 + int(grown[total] * rng.random() * 0.1))
            elif metric.rule == "MaxPeakBytes" and rng.random() < 0.3:
                values[name] += rng.randrange(1, 1 << 12) * 4096

    def starter(self):
        """Whose child its process is by the end: of whoever started it, or of who adopted it."""
        return "" if self.kthread else "init" if self.tgid % 7 == 0 else STARTERS[self.tgid % len(STARTERS)]

    def command(self):
        """What its process was started as: nothing that is known, a program, or what an interpreter runs."""
        known = [None, [f"/usr/sbin/{PROCESSES[self.tgid % 3]}"], ["python3", f"/srv/{PROCESSES[self.tgid % 4]}.py"]]
        return known[self.tgid % 5 % 3]

    def row(self, without):
        cells = {"tid": self.tid, "tgid": self.tgid, "ppid": 1, "start_time_clock_ticks": self.start,
                 "pcomm": self.pcomm, "comm": self.comm, "cgroup": self.cgroup, "uid": self.uid, "gid": 0,
                 "kthread": self.kthread, "self": self.own, "command": self.command()}
        lacks = without | self.lacks
        values = {name: value for name, value in self.values.items() if name not in lacks}
        if self.tid != self.tgid:
            for name in ("nr_threads", "rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "swap_bytes"):
                values.pop(name, None)
        return {**cells, **values}


COUNTS = "exits lives_ns accounted young young_run_ns".split()
NAMELESS, OVERFLOW = "[ended, names folded]", "[ended without a row]"


def added(row, more):
    """Two rows of the dead as one."""
    both = {"born": min(row["born"], more["born"]), "grew": max(row["grew"], more["grew"])}
    for name in {**row, **more}:
        values = row.get(name, 0), more.get(name, 0)
        if name in COUNTS or name in COUNTERS:
            both[name] = sum(values)
        elif name in METRICS:
            both[name] = max(values) if METRICS[name].rule != "MinFloor" or not all(values) else min(values)
    return both


class Cgroup(str):
    """One of this path: another one may have it later, as that of a service that was restarted."""
    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


class Ledger:
    """What threads did that ended, by their names."""

    def __init__(self, rng, since_ns):
        self.rng = rng
        self.id, self.since_ns = f"{rng.getrandbits(128):032x}", since_ns
        self.n_folded = 0  # rows
        self.tells_times = rng.random() < 0.7
        self.has_cgroups = rng.random() < 0.75  # messages of taskstats have none
        self.tells_starters = self.tells_times and self.has_cgroups and rng.random() < 0.8
        self.generation = 0
        self.rows = {}
        self.cgroups = {path: Cgroup(path) for path in CGROUPS}
        self.moved = []  # rows of threads that ended under other names than captures saw

    def note(self, worker):
        """Only programs can tell, and their list has room for so many."""
        if self.has_cgroups and worker.seen - {worker.names} and self.rng.random() < 0.8:
            self.moved.append([worker.tid, worker.tgid, worker.start, *worker.names, worker.kthread, worker.own])

    def enter(self, worker, lived_ns, is_young, now_ns):
        cgroup = self.cgroups[worker.cgroup] if self.has_cgroups else None
        if cgroup and self.rng.random() < 0.05:
            cgroup = self.cgroups[worker.cgroup] = Cgroup(worker.cgroup)
        starter = worker.starter() if self.tells_starters else None
        key = worker.pcomm, worker.comm, cgroup, worker.kthread, worker.own, worker.uid, starter, 0
        self.note(worker)
        if self.tells_times and self.rng.random() < 0.05:  # there is no room
            key = self.coarser(key, 3)
        if not self.tells_times:
            key = *key[:5], None, None, None
        row = self.rows.setdefault(key, dict.fromkeys(COUNTS, 0) | {"born": now_ns, "grew": now_ns})
        row["born"], row["grew"] = min(row["born"], now_ns), max(row["grew"], now_ns)
        row["exits"] += 1
        row["accounted"] += 1
        row["lives_ns"] += lived_ns
        if is_young:
            row["young"] += 1
            row["young_run_ns"] += worker.values["run_time_ns"]
        for name, metric in METRICS.items():
            had, value = row.get(name, 0), worker.values.get(name, 0)
            if name in COUNTERS:
                row[name] = had + value
            elif metric.rule == "MinFloor":
                row[name] = min(had, value) if had and value else had or value
            elif metric.is_extreme:
                row[name] = max(had, value)

    def coarser(self, key, level):
        """The row that one becomes part of."""
        pcomm, comm, cgroup, kthread, own, uid, _, _ = key
        if level == 0:
            return *key[:6], None, 0
        if level == 1:
            return re.sub("[0-9]+", "0", pcomm), re.sub("[0-9]+", "0", comm), cgroup, kthread, own, uid, None, 1
        if level == 2:
            return NAMELESS, NAMELESS, cgroup, kthread, own, uid, None, 2
        return OVERFLOW, OVERFLOW, None, None, own, uid if self.rng.random() < 0.9 else None, None, 3

    def fold(self, now_ns):
        """Makes room: takes the parents or names of who has not ended for long, or those of one owner."""
        rng = self.rng
        if not self.tells_times:
            return
        uid, level = rng.choice([None, 0, 1000, 1001]), rng.choice([0, 0, 1, 1, 2, 2, 3])
        for key in list(self.rows):
            row = self.rows[key]
            is_as_coarse = key[6] is None if level == 0 else key[-1] >= level
            if is_as_coarse or key[5] is None or (row["grew"] > now_ns - 20 * SECOND_NS if uid is None else key[5] != uid):
                continue
            if rng.random() < 0.3:
                continue
            target = self.coarser(key, level)
            if target[5] is None:
                target = *target[:4], False, None, None, 3
            del self.rows[key]
            self.n_folded += level > 0
            self.rows[target] = added(self.rows[target], row) if target in self.rows else row

    def document(self, without):
        """The members of a document, and those of its end."""
        counts = COUNTS
        lacks = without | set(GROUPS_OF_COLUMNS["jemalloc"])
        names = [name for name, metric in METRICS.items() if name not in GROUPS_OF_COLUMNS["jemalloc"]
                 and (name in COUNTERS or metric.is_extreme)]
        columns = ["pcomm", "comm", "cgroup", "kthread", "self", "owner", "started_by", "folded", "born_boottime_ns",
                   "grew_boottime_ns", *counts, *names]
        times = [(row["born"], row["grew"]) if self.tells_times else (None, None) for row in self.rows.values()]
        rows = [[*key, *time, *(row[name] for name in counts), *(None if name in lacks else row.get(name) for name in names)]
                for (key, row), time in zip(self.rows.items(), times)]
        grew = max((row["grew"] for key, row in self.rows.items() if key[-1]), default=0)
        losses = {"moved_lost": 0, "folded_grew_boottime_ns": grew, "owners": []} if self.tells_times else {}
        none = dict.fromkeys("unfinished overflow_exits lost_marks lost_records".split(), 0)
        self.n_folded += not self.tells_times and self.rng.random() < 0.2
        exits = sum(row["exits"] for row in self.rows.values())
        return ({"ledger": {"generation": self.generation, "exits": exits, "folded_rows": self.n_folded, **none, **losses},
                 "dead": {"columns": columns, "rows": rows},
                 "moved": {"columns": MOVED, "rows": self.moved.copy()}},
                {"ledgerId": self.id, "ledgerSinceBoottimeNs": self.since_ns})


class Host:
    """A host since its boot."""

    def __init__(self, seed, threads=40, boot=None):
        self.rng = rng = random.Random(seed)
        self.boot = boot or f"{rng.getrandbits(128):032x}"
        self.boottime_ns = rng.randrange(60, 200000) * SECOND_NS + rng.randrange(SECOND_NS)
        self.offset_ns = BEGIN_REALTIME_NS + rng.randrange(10**6) * SECOND_NS
        self.release = rng.choice(["6.1.0", "6.12.3"])
        self.n_cpus = rng.choice([1, 2, 4, 8])
        self.n_online = self.n_cpus
        self.n_captures = 0
        self.without = set()
        self.without_parts = {part for part in ("host_cpu", "host_disk", "host_memory") if rng.random() < 0.15}
        self.workers = {}
        self.ledger = None if rng.random() < 0.3 else Ledger(rng, self.boottime_ns)
        self.captured_ns = 0
        self.waits_since_ns = rng.choice([None, self.boottime_ns // 2, self.boottime_ns])
        self.reasons_id = None if rng.random() < 0.3 else self.id_of_epoch()
        self.next_pid = 100
        self.cpu_ticks = [[rng.randrange(10**6) for _ in range(10)] for _ in range(self.n_cpus)]
        self.kinds = {"sda": "disk", "sda1": "partition", "dm-0": "stacked", "nvme0n1": "disk", "loop0": "loop"}
        self.disks = {name: [rng.randrange(10**6) for _ in range(17)] for name in self.kinds}
        self.oom_kills = rng.randrange(9)
        # Of each cgroup: periods throttled, for how many us, and the events high, max and oom_kill of memory,
        # and max of pids.
        self.limited = {path: [rng.randrange(1000) for _ in range(6)] for path in CGROUPS[1:]}
        self.dirty_kib = rng.randrange(10**5)
        # Of its own, so that what it decides changes nothing else.
        self.pressing = random.Random(f"{seed} pressure")
        self.cgroup_v1 = self.pressing.choice(["", "cpu, cpuacct, memory", "memory"])
        self.pressure = dict.fromkeys(("cpu", "memory", "io"), 1000)
        self._drop_sources()
        while len(self.workers) < threads:
            self.spawn_process(rng.randrange(int(self.boottime_ns)))
        self._kernel_threads()

    def id_of_epoch(self):
        return f"{self.rng.getrandbits(128):032x}"

    def _switch_reasons(self):
        """Waits are counted by reason from here on, or no more; what was counted before is forgotten."""
        self.reasons_id = None if self.rng.random() < 0.5 else self.id_of_epoch()
        for worker in self.workers.values():
            worker.values.update((name, 0) for name in REASONS if name != "other_wait_call")

    def _drop_sources(self):
        """What this kernel does not count."""
        rng = self.rng
        dropped = [names for name, names in GROUPS_OF_COLUMNS.items() if rng.random() < 0.25]
        self.without = {name for names in dropped for name in names}

    def _kernel_threads(self):
        for number in range(self.n_cpus):
            self.spawn(2 + number, 2 + number, 2, (f"kworker/{number}:0", f"kworker/{number}:0", "/")).kthread = True

    def spawn(self, tid, tgid, start, names):
        worker = Worker(self.rng, tid, tgid, start, names)
        worker.advance(max(0, self.boottime_ns - start * TICK_NS))
        self.workers[tid] = worker
        return worker

    def spawn_process(self, born_ns):
        """A process of some threads, of which the others follow the first."""
        rng, start = self.rng, int(born_ns // TICK_NS)
        pid, pcomm, cgroup = self.next_pid, rng.choice(PROCESSES), rng.choice(CGROUPS)
        n_threads = rng.choice([1, 1, 2, 5])
        self.next_pid += n_threads
        own = rng.random() < 0.05
        for number in range(n_threads):
            comm = rng.choice(THREADS) if number else pcomm
            late = min(start + number * rng.choice([0, 10]), self.boottime_ns // TICK_NS)
            self.spawn(pid + number, pid, late, (pcomm, comm, cgroup)).own = own

    def live(self, time_ns):
        """The host goes on for so long: everybody works, some are born, end, or change their names."""
        rng = self.rng
        if self.ledger and rng.random() < 0.3:
            self.ledger.fold(self.boottime_ns)
        begin_ns, self.boottime_ns = self.boottime_ns, self.boottime_ns + time_ns
        for resource in self.pressure:
            self.pressure[resource] += int(time_ns / 1000 * self.pressing.random())
        for worker in self.workers.values():
            worker.advance(time_ns)
            if rng.random() < 0.3:
                worker.find()
        for tid in rng.sample(sorted(self.workers), rng.randrange(1, 6)):
            self._end(tid, begin_ns)
        for _ in range(rng.randrange(4)):
            self.spawn_process(rng.randrange(begin_ns, self.boottime_ns))
        for _ in range(rng.choice([0, 3, 30])):
            self._flash(begin_ns)
        if rng.random() < 0.4:
            self._pose(begin_ns)
        if self.ledger and rng.random() < 0.3:
            self.ledger.fold(self.boottime_ns)
        if rng.random() < 0.1:
            self.ledger = Ledger(rng, self.boottime_ns)
            self.waits_since_ns = self.boottime_ns
        if rng.random() < 0.3:
            self._switch_reasons()
        for worker in rng.sample(list(self.workers.values()), rng.randrange(4)):
            self._rename(worker)
        for worker in rng.sample(list(self.workers.values()), rng.randrange(3)):
            self._reset(worker)
        for worker in rng.sample(list(self.workers.values()), rng.randrange(6)):
            worker.lacks = set(rng.sample(COUNTERS, 8)) if rng.random() < 0.7 else set()
        self._plug()
        self._limit()
        self._work(time_ns)

    def _end(self, tid, begin_ns):
        """A thread ends; sometimes another gets its id."""
        worker = self.workers.pop(tid)
        self._enter(worker, self.rng.randrange(begin_ns, self.boottime_ns))
        if self.rng.random() < 0.4:
            start = self.rng.randrange(begin_ns, self.boottime_ns) // TICK_NS
            names = worker.pcomm, self.rng.choice(THREADS), worker.cgroup
            self.spawn(tid, worker.tgid, max(start, worker.start + 1), names)

    def _enter(self, worker, end_ns):
        """The start is counted in ticks, the life in nanoseconds."""
        start_ns = worker.start * TICK_NS
        if self.rng.random() < 0.15:
            self._rename(worker)
        if self.ledger:
            self.ledger.enter(worker, max(0, end_ns - start_ns - self.rng.randrange(TICK_NS)), start_ns > self.captured_ns,
                              end_ns)

    def _pose(self, begin_ns):
        """One that has done much ends under the names of others that do little."""
        worker = self.workers.pop(self.rng.choice(sorted(self.workers)))
        worker.pcomm, worker.comm = "victim", "victim"
        if self.rng.random() < 0.6:
            worker.seen.clear()  # as of captures without programs
        for _ in range(20):
            self._flash(begin_ns, ("victim", "victim", worker.cgroup))
        self._enter(worker, self.boottime_ns)

    def _flash(self, begin_ns, names=None):
        """A process that is born and ends between two captures."""
        rng, end_ns = self.rng, self.rng.randrange(begin_ns + 1, self.boottime_ns)
        pcomm = rng.choice([*PROCESSES, "cc1"])
        start = -(-rng.randrange(begin_ns, end_ns) // TICK_NS)
        worker = Worker(rng, 0, 0, start, names or (pcomm, rng.choice([pcomm, *THREADS]), rng.choice(CGROUPS)))
        worker.own = rng.random() < 0.05
        worker.advance(max(0, end_ns - start * TICK_NS))
        self._enter(worker, max(end_ns, start * TICK_NS))

    def _rename(self, worker):
        what = self.rng.randrange(3)
        if what == 0:
            worker.comm = self.rng.choice(THREADS)
        elif what == 1:
            worker.pcomm = self.rng.choice(PROCESSES)
        else:
            worker.cgroup = self.rng.choice(CGROUPS)

    def _reset(self, worker):
        """A counter falls."""
        name = self.rng.choice(COUNTERS)
        worker.values[name] = int(worker.values[name] * self.rng.random())

    def _plug(self):
        """A disk comes or goes, or a CPU."""
        rng = self.rng
        if rng.random() < 0.3:
            self.disks.pop(rng.choice(sorted(self.disks)))
        if rng.random() < 0.3:
            self.disks["sdb"] = [0] * 17
            self.kinds["sdb"] = "disk"
        if rng.random() < 0.3:
            self.n_online = rng.randrange(1, self.n_cpus + 1)

    def _limit(self):
        """Limits hold some cgroups back, and the kernel kills."""
        rng = self.rng
        for counts in self.limited.values():
            for index in range(len(counts)):
                counts[index] += rng.choice([0, 0, 0, rng.randrange(1, 5000)])
        self.oom_kills += rng.choice([0, 0, 1, 20000])

    def _work(self, time_ns):
        rng = self.rng
        for ticks in self.cpu_ticks:
            for index in range(10):
                ticks[index] += int(rng.random() * 0.1 * time_ns / TICK_NS)
        for row in self.disks.values():
            for index in range(17):
                row[index] += rng.randrange(10**5)
        self.dirty_kib = max(0, self.dirty_kib + rng.randrange(-1000, 1000))

    def change_sources(self):
        """Another set of what is counted, as when a switch of the kernel is turned."""
        names = self.rng.choice(sorted(GROUPS_OF_COLUMNS))
        self.without ^= set(GROUPS_OF_COLUMNS[names])

    def stop_delays(self):
        """Delays are left out where the kernel keeps none of a thread: they were 0 if it answers later."""
        self.without = (self.without | set(DELAYS)) - {name for name in METRICS if name.startswith("cpu_delay")}
        for worker in self.workers.values():
            worker.values.update(dict.fromkeys(DELAYS, 0))

    def host_parts(self):
        cpu = [f"{name}_clock_ticks" for name in
               "user nice system idle iowait irq softirq steal guest guest_nice".split()]
        total = [sum(ticks) for ticks in zip(*self.cpu_ticks)]
        disk = ("reads reads_merged read_sectors read_ms writes writes_merged written_sectors write_ms in_flight busy_ms "
                "request_ms discards discards_merged discarded_sectors discard_ms flushes flush_ms").split()
        parts = {
            "host_cpu": {"at_boottime_ns": self.boottime_ns,
                         "counts": {"ctxt": sum(total), "intr": sum(total) * 2, "processes": self.next_pid},
                         "levels": {"procs_running": 1, "procs_blocked": 0},
                         "levels_hundredths": {"load1": self.rng.randrange(1000)},
                         "columns": ["cpu", *cpu],
                         "rows": [["all", *total], *([str(cpu), *self.cpu_ticks[cpu]] for cpu in range(self.n_online))]},
            "host_memory": {"at_boottime_ns": self.boottime_ns,
                            "levels_kib": {"MemTotal": 1 << 23, "MemFree": 1 << 21, "MemAvailable": 1 << 22,
                                           "SwapTotal": 0, "SwapFree": 0, "Dirty": self.dirty_kib, "Writeback": 0},
                            "counts": {"pswpin": 0, "pswpout": 0, "oom_kill": self.oom_kills}},
            "host_disk": {"at_boottime_ns": self.boottime_ns,
                          "columns": ["disk", "kind", "major", "minor", *disk],
                          "rows": [[name, self.kinds[name], 8, number, *row]
                                   for number, (name, row) in enumerate(self.disks.items())]}}
        return {name: part for name, part in parts.items() if name not in self.without_parts}

    def cgroup_stats(self):
        return {path: {"cpu": {"usage_usec": 1, "nr_periods": throttled * 2, "nr_throttled": throttled,
                               "throttled_usec": usec},
                       "memory": {"current": 1, "events": {"high": high, "max": most, "oom_kill": killed}},
                       "pids": {"current": 1, "events": {"max": pids}}, "io": {}, "psi": None}
                for path, (throttled, usec, high, most, killed, pids) in sorted(self.limited.items())}

    def rows(self):
        workers = sorted(self.workers.values(), key=lambda worker: (worker.tgid, worker.tid))
        return [worker.row(self.lacks()) for worker in workers]

    def lacks(self):
        return self.without if self.reasons_id else self.without | set(REASONS)

    def capture(self):
        """The source of a snapshot file, {"head", "document"}."""
        self.n_captures += 1
        self.captured_ns = self.boottime_ns
        ledger, ledger_head = {"ledger": None, "dead": {"columns": [], "rows": []}}, {}
        if self.ledger:
            self.ledger.generation += 1
            ledger, ledger_head = self.ledger.document(self.lacks())
        if self.waits_since_ns is not None:
            ledger_head["waitsSinceBoottimeNs"] = self.waits_since_ns
        if self.reasons_id:
            ledger_head.update(reasonsId=self.reasons_id, reasonsSinceBoottimeNs=self.boottime_ns // 2)
        for worker in self.workers.values():
            worker.seen.add(worker.names)
        rows = self.rows()
        columns = IDENTITY + [name for name in METRICS if name != "thread_count"]
        took = self.rng.randrange(10**6, 10**8)
        begin = {"formatVersion": 1, "toolVersion": "0.1.0", "hostName": "made", "machineId": self.boot[::-1],
                 "bootId": self.boot, "kernelRelease": self.release, "startRealtimeNs": self.offset_ns + self.boottime_ns,
                 "startBoottimeNs": self.boottime_ns}
        end = {"endRealtimeNs": begin["startRealtimeNs"] + took, "endBoottimeNs": self.boottime_ns + took,
               "threads": len(rows), "processes": len({row["tgid"] for row in rows}), "backend": "procfs",
               "complete": True, "taskstatsVersion": 15, **ledger_head, "cost": {"wallNs": took, "cpuNs": took, "peakRssBytes": 1 << 22}}
        host = {"host": {"online_cpus": self.n_online, "user_hz": HZ, "page_size": 4096, "cgroup_v1": self.cgroup_v1}, **self.host_parts()}
        table = {"columns": columns, "rows": [[row.get(column) for column in columns] for row in rows]}
        document = {**begin, "captured_at_unix_ns": begin["startRealtimeNs"], "user_hz": HZ, "page_size": 4096,
                    "smapsRequested": False, **host, "threads": table, **ledger, "cgroup_stats": self.cgroup_stats(),
                    "psi": {resource: {"some": {"total_usec": total}} for resource, total in self.pressure.items()}, "sched_ext": None, "sources": sources(len(rows)), "end": end}
        head = {"name": f"made-{self.n_captures}", "tagged": True, "uid": 0, **begin, **end, "userHz": HZ,
                "pageSize": 4096, "smapsRequested": False}
        self.boottime_ns += took
        return {"head": head, "document": document}


def sources(count):
    names = ("stat schedstat sched schedstats status io cgroup affinity taskstats taskstats-delay taskstats-irq "
             "jemalloc host").split()
    none = dict.fromkeys("denied vanished unsupported malformed other".split(), 0)
    return [{"name": name, "state": "ok", "ok": count, **none} for name in names]


def write(source, path):
    path.write_text(json.dumps(source), encoding="utf-8")


# What some kernels say of a thread, though it cannot be: @age_ns is its age, @between_ns the time between two captures.

def total_over_life(worker, age_ns, _between_ns):
    worker.values["run_time_ns"] = 3 * age_ns


def event_over_life(worker, age_ns, _between_ns):
    worker.values["blkio_delay_total_ns"] += 5 * age_ns
    worker.values["blkio_delay_max_ns"] = 5 * age_ns


def parts_over_life(worker, age_ns, _between_ns):
    worker.values.update(run_time_ns=age_ns // 2, wait_time_ns=age_ns // 3, blkio_delay_total_ns=age_ns // 2,
                         blkio_delay_max_ns=age_ns // 100)


def growth_over_interval(worker, _age_ns, between_ns):
    worker.values["run_time_ns"] += 2 * between_ns


def event_over_interval(worker, _age_ns, between_ns):
    worker.values["blkio_delay_total_ns"] += 2 * between_ns
    worker.values["blkio_delay_max_ns"] = 2 * between_ns


def sleep_over_interval(worker, _age_ns, between_ns):
    worker.values["voluntary_sleep_ns"] += 2 * between_ns


def forced_idle_over_interval(worker, _age_ns, between_ns):
    worker.values["core_forceidle_sum"] += 2 * between_ns


def swap_over_interval(worker, _age_ns, between_ns):
    worker.values["swapin_delay_total_ns"] += 2 * between_ns


def cpu_wait_over_interval(worker, _age_ns, between_ns):
    worker.values["wait_time_ns"] += 2 * between_ns


SPOILERS = (total_over_life, event_over_life, parts_over_life, growth_over_interval, event_over_interval,
            sleep_over_interval, forced_idle_over_interval, swap_over_interval, cpu_wait_over_interval)
