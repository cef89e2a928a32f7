# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads followed from one snapshot to another of the same boot, by group, and what they did in between."""
import copy
import dataclasses
import functools

from ended import Ended, lost_names, share_ledger
from folded import placed
from judge import judge, judge_growth
from reduce import LIMIT, reduced, values_of
from registry import COUNTERS, DELAY_FAMILIES, METRICS, REASONS

SEPARATOR = "\x1f"
# Delays of 0 are left out where a thread may have no accounting; each kind was left out as a whole.
DELAYS = [[f"{family}_delay_{what}" for family in families for what in ("count", "total_ns", "max_ns", "min_ns")]
          for families in (DELAY_FAMILIES, ["irq"])]
# What jemalloc counts lies in the memory of the process, which a forked child gets a copy of.
INHERITED = {"allocated_bytes", "deallocated_bytes"}
WAITS = "storage_wait_ns storage_wait_count uninterruptible_ns uninterruptible_count".split()
AXES = {
    "comm-exact": lambda thread: thread.comm,
    "pcomm": lambda thread: thread.pcomm,
    "command": lambda thread: thread.command or thread.pcomm,
    "cgroup": lambda thread: thread.cgroup,
    "thread": lambda thread: SEPARATOR.join(
        map(str, (thread.tgid, thread.tid, thread.start, thread.pcomm, thread.comm))),
}


def n_cpus(snapshot):
    """Those online."""
    rows = snapshot.host_rows("host_cpu", "cpu")
    if rows:
        return len([name for name in rows if name != "all"])
    return (snapshot.document.get("host") or {}).get("online_cpus")


def known_sum(values):
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@functools.lru_cache(maxsize=4)
def judged(snapshot):
    """Its threads, each held against its own age."""
    threads = copy.deepcopy(snapshot.threads)
    for thread in threads:
        judge(snapshot, thread)
    return threads


@dataclasses.dataclass
class Life:
    """One thread: how it was, and how it is; one of them may be missing."""
    before: object
    after: object

    @property
    def latest(self):
        return self.after or self.before

    @property
    def survived(self):
        return self.before is not None and self.after is not None

    @property
    def is_born(self):
        return self.before is None

    def value_before(self, name):
        """0 for a delay that was measured and left out because it was 0; None where that is not known."""
        values = self.before.values
        if name in values:
            return values[name]
        for delays in DELAYS:
            if name in delays and name in self.after.values and "cpu_delay_count" in values:
                return None if any(delay in values for delay in delays) else 0
        return None

    def value_of_gone(self, name):
        """The same of a thread that ended."""
        values = self.before.values
        if name in values:
            return values[name]
        for delays in DELAYS:
            if name in delays and "cpu_delay_count" in values and not any(delay in values for delay in delays):
                return 0
        return None

    def may_inherit(self, name):
        """The first thread of a new process may have begun with what the thread that forked had."""
        return self.is_born and name in INHERITED and self.after.tid == self.after.tgid

    def work(self, name):
        """What the thread did of a counter; None where it is not known or the counter fell."""
        if self.after is None or name not in self.after.values or self.may_inherit(name):
            return None
        begin = 0 if self.is_born else self.value_before(name)
        if begin is None or begin > self.after.values[name]:
            return None
        return self.after.values[name] - begin


    def moved(self, name):
        """A peak rose, or a minimum fell: 0 is a minimum without an event."""
        if self.after is None or name not in self.after.values:
            return False
        # Peaks of memory are those of the process: a thread that is born into one did not reach them.
        if self.is_born and METRICS[name].rule == "MaxPeakBytes" and self.after.tid != self.after.tgid:
            return False
        begin, end = 0 if self.is_born else self.value_before(name), self.after.values[name]
        if begin is None:
            return False
        return end > begin if METRICS[name].rule != "MinFloor" else 0 < end and (begin == 0 or end < begin)


def share_waits(before, after):
    """One account counted them in both."""
    since = [snapshot.head.get("waitsSinceBoottimeNs") for snapshot in (before, after)]
    return None not in since and since[0] == since[1]


def share_reasons(before, after):
    """One epoch of the account of waits by reason spans both."""
    ids = [snapshot.head.get("reasonsId") for snapshot in (before, after)]
    return None not in ids and ids[0] == ids[1]


def not_shared(before, after):
    """The metrics of waits that cannot be subtracted between the two."""
    return [*(() if share_waits(before, after) else WAITS), *(() if share_reasons(before, after) else REASONS)]


def call_by_rows(lives, before, after):
    """Who is gone is called by the names under which the later ledger has it."""
    gone = sorted((life for life in lives if life.after is None), key=lambda life: (life.before.tgid, life.before.tid))
    for life in gone:
        life.before = dataclasses.replace(life.before, **after.moved.get(life.before.life, {}))
    *rows, threads, after.lost_since[before.path] = placed(before, after, [life.before for life in gone])
    after.joined[before.path] = rows
    for life, thread in zip(gone, threads):
        life.before = thread


@functools.lru_cache(maxsize=4)
def follow(before, after):
    """The life of each thread of either snapshot."""
    ignored = not_shared(before, after)
    there, here = ({thread.life: thread for thread in copy.deepcopy(snapshot.threads)} for snapshot in (before, after))
    lives = [Life(there.get(life), here.get(life)) for life in dict.fromkeys([*there, *here])]
    if share_ledger(before, after):
        call_by_rows(lives, before, after)
    for life in lives:
        for thread in (life.before, life.after) if ignored else ():
            for name in ignored if thread else ():
                thread.values.pop(name, None)
        proved = judge(before, life.before) if life.before else None
        if life.after:
            judge(after, life.after, proved)
        if life.survived:
            judge_growth(life, (before, after))
    return lives


@dataclasses.dataclass
class Counted:
    """A counter of a group between two snapshots."""
    before: object
    after: object
    left_out: int
    is_reset: bool

    @property
    def delta(self):
        return None if None in (self.before, self.after) else self.after - self.before


class Window:
    """The threads of one group between two snapshots."""

    def __init__(self, lives, dead=None, gone=(), by_process=False):
        self.lives = lives
        self.dead = dead  # Ended; None: no ledger tells
        self.gone = gone  # all that ended, of any group
        self.by_process = by_process
        self.survivors = [life for life in lives if life.survived]
        self.born = [life.after for life in lives if life.is_born]
        self.ended = [life.before for life in lives if life.after is None]
        self.sides = [[life.before for life in lives if life.before], [life.after for life in lives if life.after]]

    @property
    def only_ended(self):
        return not self.survivors and not self.born and not (self.dead and self.dead.exits)

    def work_of_ended(self, name):
        return self.dead.work(name) if self.dead else None

    def peak_of_ended(self, name):
        if not self.dead or not METRICS[name].is_extreme:
            return None
        return self.dead.peak(name, self.gone, self.by_process and not self.survivors and not self.ended)

    def counted(self, name):
        both, left_out, fell = [], 0, False
        for life in self.survivors:
            begin, end = life.value_before(name), life.after.values.get(name)
            if begin is not None and end is not None:
                both.append((begin, end))
                fell |= end < begin
            elif begin is not None or end is not None:
                left_out += 1
        born = values_of([life.after for life in self.lives if life.is_born and not life.may_inherit(name)], name)
        ended = self.work_of_ended(name)
        left_out += self.dead.left_out(name) if self.dead else 0
        if not both and not born and ended is None:
            return Counted(None, None, left_out, fell)
        return Counted(min(LIMIT, sum(begin for begin, _ in both)),
                       min(LIMIT, sum(end for _, end in both) + sum(born) + (ended or 0)), left_out, fell)

    @functools.cached_property
    def work(self):
        """{counter: the work of the group in between, or None}; a thread whose counter fell is left out."""
        return {name: known_sum([*(life.work(name) for life in self.lives), self.work_of_ended(name)])
                for name in COUNTERS}

    @functools.cached_property
    def excess(self):
        """{counter: what the overview leaves out of the work}."""
        excess = {name: self.dead.excess(name) if self.dead else 0 for name in COUNTERS}
        return {name: value for name, value in excess.items() if value}

    @property
    def cut_work(self):
        return {name: value if value is None else value - self.excess.get(name, 0) for name, value in self.work.items()}

    def moved(self, name):
        """Whether a peak rose or a minimum fell inside for any thread; those who were born had none before."""
        return any(life.moved(name) for life in self.lives) or self.peak_of_ended(name) is not None

    def records(self, metric):
        """(before, after) of those alone whose peak or minimum moved: others may have had a further one since long."""
        moved, peak = [life for life in self.lives if life.moved(metric.name)], self.peak_of_ended(metric.name)
        return (reduced(metric, [life.value_before(metric.name) for life in moved if life.survived]),
                reduced(metric, [*(life.after.values[metric.name] for life in moved), *([] if peak is None else [peak])]))

    def _before(self, metric):
        """Of all threads before; a survivor's delays that were left out are known from what it has after."""
        values = [life.value_before(metric.name) if life.survived else life.before.values.get(metric.name)
                  for life in self.lives if life.before]
        return reduced(metric, [value for value in values if value is not None])

    def values(self):
        """{metric: (before, after)}."""
        found = {}
        for name, metric in METRICS.items():
            if metric.is_counter:
                counted = self.counted(name)
                found[name] = (counted.before, counted.after)
            else:
                peak = self.peak_of_ended(name)
                here = [*values_of(self.sides[1], name), *([] if peak is None else [peak])]
                found[name] = self._before(metric), reduced(metric, here)
        # Without threads there is no value, but their number is known.
        found["thread_count"] = tuple(len(side) for side in self.sides)
        return found


def shared_waits(row, before, after):
    """A row of the dead without the waits that no one account counted."""
    ignored = not_shared(before, after)
    values = {name: value for name, value in row.values.items() if name not in ignored}
    return dataclasses.replace(row, values=values)


@functools.lru_cache(maxsize=4)
def all_ended(before, after):
    """Who ended, as one group, ctprof's own threads too."""
    ended = Ended(before, after)
    ended.gone = [life for life in follow(before, after) if life.after is None]
    for side, rows in enumerate(after.rows_since(before)):
        ended.rows[side].extend(shared_waits(row, before, after) for row in rows)
    return ended


def windows(before, after, axis):
    """{key: Window} of all groups of the axis, those of ended threads included."""
    is_known = share_ledger(before, after)
    groups, ended, lives = {}, {}, follow(before, after)
    # A ledger without cgroups does not tell which of them who ended was in.
    dead = sum(map(list, after.rows_since(before)), []) if is_known else []
    is_unplaced = bool(dead) and not any(row.cgroup for row in dead)
    gone = [life for life in lives if life.after is None and not life.latest.own]
    for life in lives:
        if life.latest.own:
            continue
        if life.after is None and is_known:
            key = key_of_ended(life.before, axis)
            names = dataclasses.replace(life.before, cgroup="") if is_unplaced else life.before
            ended.setdefault(key_of_ended(names, axis), Ended(before, after)).gone.append(life)
        else:
            key = AXES[axis](life.latest)
        groups.setdefault(key, []).append(life)
    if is_known and lost_names(before, after):
        is_known, ended = False, {}
    for side, rows in enumerate(after.rows_since(before) if is_known else ()):
        for row in rows:
            if not row.own:
                row = shared_waits(row, before, after)
                ended.setdefault(key_of_ended(row, axis), Ended(before, after)).rows[side].append(row)
    found = {}
    for key in {**groups, **ended}:
        is_placed = axis in ("cgroup", "thread") and key.startswith("/")
        told = is_known and not (is_unplaced and is_placed)
        dead = ended.get(key, Ended(before, after)) if told else None
        if dead:
            dead.all, dead.n_cpus = all_ended(before, after), n_cpus(after)
        found[key] = Window(groups.get(key, []), dead, gone, axis == "pcomm")
    return {key: window for key, window in found.items() if window.lives or (window.dead and window.dead.exits)}


def key_of_ended(names, axis):
    """Who ended has no number: where each thread is a group, all with these names are one; and no command."""
    if axis == "command":
        return names.pcomm
    return AXES[axis](names) if axis != "thread" else SEPARATOR.join((names.cgroup, names.pcomm, names.comm))


def states(snapshot, axis):
    """{key: threads} of one snapshot."""
    groups = {}
    for thread in judged(snapshot):
        if not thread.own:
            groups.setdefault(AXES[axis](thread), []).append(thread)
    return groups
