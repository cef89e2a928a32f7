# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads followed from one snapshot to another of the same boot, by group, and what they did in between."""
import copy
import dataclasses
import functools

from judge import judge, judge_growth
from reduce import LIMIT, reduced, values_of
from registry import COUNTERS, DELAY_FAMILIES, METRICS

SEPARATOR = "\x1f"
# Delays of 0 are left out where a thread may have no accounting; each kind was left out as a whole.
DELAYS = [[f"{family}_delay_{what}" for family in families for what in ("count", "total_ns", "max_ns", "min_ns")]
          for families in (DELAY_FAMILIES, ["irq"])]
# What jemalloc counts lies in the memory of the process, which a forked child gets a copy of.
INHERITED = {"allocated_bytes", "deallocated_bytes"}
AXES = {
    "comm-exact": lambda thread: thread.comm,
    "pcomm": lambda thread: thread.pcomm,
    "cgroup": lambda thread: thread.cgroup,
    "thread": lambda thread: SEPARATOR.join(
        map(str, (thread.tgid, thread.tid, thread.start, thread.pcomm, thread.comm))),
}


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


@functools.lru_cache(maxsize=4)
def follow(before, after):
    """The life of each thread of either snapshot."""
    there, here = ({thread.life: thread for thread in copy.deepcopy(snapshot.threads)} for snapshot in (before, after))
    lives = [Life(there.get(life), here.get(life)) for life in dict.fromkeys([*there, *here])]
    for life in lives:
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

    def __init__(self, lives):
        self.lives = lives
        self.survivors = [life for life in lives if life.survived]
        self.born = [life.after for life in lives if life.is_born]
        self.ended = [life.before for life in lives if life.after is None]
        self.sides = [[life.before for life in lives if life.before], [life.after for life in lives if life.after]]

    @property
    def only_ended(self):
        return not self.survivors and not self.born

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
        if not both and not born:
            return Counted(None, None, left_out, fell)
        return Counted(min(LIMIT, sum(begin for begin, _ in both)),
                       min(LIMIT, sum(end for _, end in both) + sum(born)), left_out, fell)

    @functools.cached_property
    def work(self):
        """{counter: the work of the group in between, or None}; a thread whose counter fell is left out."""
        return {name: known_sum(life.work(name) for life in self.lives) for name in COUNTERS}

    def moved(self, name):
        """Whether a peak rose or a minimum fell inside for any thread; those who were born had none before."""
        return any(life.moved(name) for life in self.lives)

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
                found[name] = self._before(metric), reduced(metric, values_of(self.sides[1], name))
        # Without threads there is no value, but their number is known.
        found["thread_count"] = tuple(len(side) for side in self.sides)
        return found


def windows(before, after, axis):
    """{key: Window} of all groups of the axis, those of ended threads included."""
    groups = {}
    for life in follow(before, after):
        if not life.latest.own:
            groups.setdefault(AXES[axis](life.latest), []).append(life)
    return {key: Window(lives) for key, lives in groups.items()}


def states(snapshot, axis):
    """{key: threads} of one snapshot."""
    groups = {}
    for thread in judged(snapshot):
        if not thread.own:
            groups.setdefault(AXES[axis](thread), []).append(thread)
    return groups
