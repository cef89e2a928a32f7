# SPDX-License-Identifier: GPL-2.0-or-later
"""What of an interval contradicts itself: the member "but", without its sentences."""
from fractions import Fraction

from account import coverage
from ended import share_ledger
from host import CPU_TIMES, Host, above, host_of, rises_of
from lives import shared_waits

LEAST, LEAST_THROTTLED, FULL = Fraction(1, 4), Fraction(1, 20), Fraction(9, 10)  # of the interval; of a CPU's time
EVICTED = "thrashing_delay_total_ns", "swapin_delay_total_ns"
RECLAIM = "freepages_delay_total_ns", "compact_delay_total_ns"
STORAGE = "storage_wait_ns", "iowait_sum", "blkio_delay_total_ns"


def times_of(work):
    """What is added up, of a function that tells the work of a metric or None."""
    evicted = max(work(name) or 0 for name in EVICTED)
    return {"running": work("run_time_ns") or 0, "waiting": work("wait_time_ns") or 0, "evicted": evicted,
            "storage": next((work(name) for name in STORAGE if work(name) is not None), 0),
            "memory": evicted + sum(work(name) or 0 for name in RECLAIM)}


class Cohort:
    """Threads of one process name, cgroup, list of CPUs and class."""

    def __init__(self, key):
        self.process, self.cgroup, self.cpus, self.policy, self.nice = key
        self.times = {}

    def add(self, times, sign):
        self.times = {name: self.times.get(name, 0) + sign * value for name, value in times.items()}

    def ns(self, time):
        return max(0, self.times.get(time, 0))


def cohorts_of(lives, before, after):
    found = {}

    def add(names, like, times, sign):
        if any(times.values()):
            key = (names.pcomm, names.cgroup, *like)
            found.setdefault(key, Cohort(key)).add(times, sign)
    for life in lives:
        if life.after:
            values = life.after.values
            has_class = "policy" in values and "nice" in values
            like = values.get("cpu_affinity", ""), *((values["policy"], values["nice"]) if has_class else (None, None))
            if not (life.is_born and (life.after.start + 1) * after.tick_ns <= before.start_ns):
                # What jemalloc counts has no part in this, so that all of the born is work.
                add(life.after, like, times_of(life.work), 1)
        elif share_ledger(before, after):
            add(life.before, ("", None, None), times_of(life.before.values.get), -1)
    for sign, rows in zip((-1, 1), after.rows_since(before) if share_ledger(before, after) else ((), ())):
        for row in rows:
            if row.exits:
                add(row, ("", None, None), times_of(shared_waits(row, before, after).values.get), sign)
    return list(found.values())


def most(cohorts, time):
    """How much they have together, and who has most of it."""
    having = [cohort for cohort in cohorts if cohort.ns(time)]
    return sum(cohort.ns(time) for cohort in having), max(having, key=lambda cohort: cohort.ns(time), default=None)


def cpus_in(text):
    found = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def listed(cpus):
    """"0-3,7" """
    runs = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def idle_shares(host):
    """{CPU: the share of its time in which it was idle}"""
    found = {}
    for name in host.after.host_rows("host_cpu", "cpu") or {}:
        total = host.cpu_ns(name, *CPU_TIMES) if name != "all" else None
        if total:
            found[int(name)] = Fraction(host.cpu_ns(name, "idle") + host.cpu_ns(name, "iowait"), total)
    return found


def is_confined(cohort, idle):
    mask = cpus_in(cohort.cpus)
    own = [share for cpu, share in idle.items() if cpu in mask]
    return (bool(own) and all(share <= 1 - FULL for share in own) and
            any(share >= LEAST for cpu, share in idle.items() if cpu not in mask))


def throttling(cohort, host):
    """(cgroup, time) of the next one that was throttled."""
    stats = [snapshot.document.get("cgroup_stats") or {} for snapshot in (host.before, host.after)]
    paths = {path: rises_of(stats[0].get(path), end)["cpu.max"] for path, end in stats[1].items()}
    paths.update({path: (None, None) for path in stats[0] if path not in paths})
    path = cohort.cgroup if cohort.cgroup in paths else above(paths, cohort.cgroup)
    while path is not None and not any(paths[path]):
        path = above(paths, path)
    return None if path is None else (path, paths[path][1])


def explained(cohorts, host, enough):
    """Why threads wait, as members."""
    def by_quota(cohort):
        told = throttling(cohort, host)
        return told and (told[1] is None or told[1] >= LEAST_THROTTLED * host.elapsed_ns)
    idle = idle_shares(host)
    for why, matches in (("quota", by_quota), ("affinity", lambda cohort: is_confined(cohort, idle)),
                         ("class", lambda cohort: cohort.policy not in (None, "SCHED_OTHER")),
                         ("nice", lambda cohort: cohort.nice is not None and cohort.nice > 0)):
        matching = [cohort for cohort in cohorts if cohort.ns("waiting") and matches(cohort)]
        total, who = most(matching, "waiting")
        if total <= enough:
            continue
        told = {"why": why, "process": who.process}
        if why == "quota":
            path, ns = throttling(who, host)
            told |= {"cgroup": path, "throttledNs": ns}
        elif why == "affinity":
            told |= sharing(who, cohorts, idle)
        elif why == "class":
            told["policy"] = who.policy
        else:
            told["nice"] = who.nice
        return told
    _, who = most(cohorts, "waiting")
    return {"why": None, **({"process": who.process} if who else {})}


def sharing(who, cohorts, idle):
    mask = cpus_in(who.cpus)
    others = [cohort for cohort in cohorts if cohort.process != who.process and is_confined(cohort, idle) and
              mask & cpus_in(cohort.cpus)]
    _, other = most(others, "running")
    told = {"with": other.process} if other else {}
    full = mask & cpus_in(other.cpus) if other else mask
    return {**told, "cpus": listed(full),
            "idleCpus": listed(cpu for cpu, share in idle.items() if cpu not in full and share >= LEAST)}


def waiting(cohorts, host, lives, before, after):
    waited = host_of(lives, before, after)["waitingNs"]
    parts = host.cpu_ns("all", "idle"), host.cpu_ns("all", "iowait")
    if waited is None or None in parts:
        return []
    idle, believed = sum(parts), coverage(lives, before, after).get("cpuBelievedNs")
    if believed is not None and host.cpus() is not None:
        idle = min(idle, max(0, host.cpus() * host.elapsed_ns - believed))
    if min(waited, idle) < LEAST * host.elapsed_ns:
        return []
    return [{"what": "waiting", "waitingNs": waited, "idleNs": idle, **explained(cohorts, host, waited // 3)}]


def pressures(cohorts, host):
    for resource, time in (("io", "storage"), ("memory", "memory"), ("cpu", "waiting")):
        totals = [(((snapshot.document.get("psi") or {}).get(resource) or {}).get("some") or {}).get("total_usec")
                  for snapshot in (host.before, host.after)]
        if None in totals or totals[1] < totals[0]:
            continue
        pressure = min(1000 * (totals[1] - totals[0]), host.elapsed_ns)
        groups = sum(cohort.ns(time) for cohort in cohorts)
        if groups < pressure // 3 and pressure - groups >= LEAST * host.elapsed_ns:
            yield {"what": "pressure", "resource": resource, "pressureNs": pressure, "groupsNs": groups}


def limits(cohorts, host):
    in_v1 = (host.after.document.get("host") or {}).get("cgroup_v1", "").split(", ")
    controllers = [name for name in ("cpu", "memory") if name in in_v1]
    for controller, time in (("cpu", "waiting"), ("memory", "evicted"), ("memory", "storage")):
        _, who = most(cohorts, time)
        if controller in controllers and who and who.ns(time) >= LEAST * host.elapsed_ns:
            return [{"what": "limits", "process": who.process, "controllers": controllers}]
    return []


def contradictions(lives, before, after):
    host, cohorts = Host(before, after), cohorts_of(lives, before, after)
    return [*waiting(cohorts, host, lives, before, after), *pressures(cohorts, host), *limits(cohorts, host)]
