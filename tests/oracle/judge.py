# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of daemon/analysis/group/judge.h: what the kernel said of a thread, held against arithmetic.

What is implausible leaves the values of its thread. A total that its longest event alone spoils keeps the rest.
"""
import dataclasses

from registry import METRICS, REASONS

# Totals of times: their longest event, and the states of a thread that may be in the middle of one.
BLOCKED, RUNNING, WITHIN = "DI", "R", "DIR"
TOTALS = {
    "run_time_ns": (None, RUNNING), "wait_time_ns": ("cpu_delay_max_ns", RUNNING), "wait_sum": ("wait_max", RUNNING),
    "voluntary_sleep_ns": ("sleep_max", "S"), "block_sum": ("block_max", BLOCKED), "iowait_sum": (None, BLOCKED),
    "utime_clock_ticks": (None, RUNNING), "stime_clock_ticks": (None, RUNNING),
    **{f"{family}_delay_total_ns": (f"{family}_delay_max_ns", states) for family, states in (
        ("cpu", RUNNING), ("blkio", BLOCKED), ("swapin", WITHIN), ("freepages", WITHIN), ("thrashing", WITHIN),
        ("compact", WITHIN), ("wpcopy", WITHIN), ("irq", RUNNING))},
    "storage_wait_ns": (None, ""), "uninterruptible_ns": (None, ""),
    **{name: (None, "") for name in REASONS if name.endswith("_wait_ns")},
    **{f"acct_{name}_ns": (None, RUNNING) for name in ("run_real", "run_virtual", "utime", "stime")},
}
EVENTS = [name for name, metric in METRICS.items() if metric.rule in ("MaxPeak", "MinFloor")]
# They exclude each other; the last one is not believed.
ACCOUNTS = [("run_time_ns", "wait_time_ns", blocked) for blocked in ("blkio_delay_total_ns", "block_sum")]


OF_RUNNING = [name for name, (longest, states) in TOTALS.items() if longest is None and states == RUNNING]
LATE_NS = 10**9  # the time of a running thread is booked this late at most


@dataclasses.dataclass
class Bound:
    """With some slack: clocks are read at different moments, and starts are counted in ticks."""
    bare_ns: int
    tick_ns: int

    @property
    def most_ns(self):
        return self.bare_ns + self.tick_ns + self.bare_ns // 1000

    def in_ns(self, name, value):
        return value * (self.tick_ns if METRICS[name].rule == "SumTicks" else 1)

    def admits(self, name, value):
        return self.in_ns(name, value) <= self.most_ns


def early_ns(name, thread, age_ns):
    """How much of an event that a total gets in an interval can lie before it: none that the thread was not in."""
    state = thread.values.get("state")
    if state is not None and state not in TOTALS[name][1]:
        return 0
    return min(age_ns, LATE_NS) if name in OF_RUNNING else age_ns


def judge(snapshot, thread, proved=None):
    """Holds a thread against its age, and changes its values; @proved: {total: (event, what is no part of it)} that an
    earlier snapshot of the thread proved impossible. Returns the same with this one's."""
    proved = dict(proved or {})
    age_ns = snapshot.end_ns - thread.start * snapshot.tick_ns
    if age_ns < 0:
        return proved
    bound = Bound(age_ns, snapshot.tick_ns)
    for name in TOTALS:
        judge_total(thread, name, bound, proved)
    judge_events(thread, bound, proved)
    for parts in ACCOUNTS:
        known = [thread.values[part] for part in parts if part in thread.values]
        if len(known) == len(parts) and not bound.admits(parts[0], sum(known)):
            refute(thread, parts[-1])
    return proved


def refute(thread, name):
    del thread.values[name]
    thread.doubted.add(name)


def judge_total(thread, name, bound, proved):
    longest, values = TOTALS[name][0], thread.values
    event, excess = proved.get(name, (None, 0))
    found = values.get(longest, 0)
    if longest and found != event and not bound.admits(longest, found):
        proved[name] = event, excess = found, excess + found
    if name not in values:
        return
    # What is less than the event, and can be, was read at another moment.
    if excess and (excess <= values[name] or not bound.admits(name, values[name])):
        values[name] -= excess
        thread.doubted.add(name)
    if values[name] < 0 or not bound.admits(name, values[name]):
        refute(thread, name)


def judge_events(thread, bound, proved):
    known = {(TOTALS[name][0], event) for name, (event, _) in proved.items()}
    for name in EVENTS:
        value = thread.values.get(name)
        if value is not None and (not bound.admits(name, value) or (name, value) in known):
            del thread.values[name]


def judge_growth(life, snapshots):
    """Holds what a thread did between two snapshots against the time between them. Changes the values after."""
    bound = Bound(snapshots[1].end_ns - snapshots[0].start_ns, snapshots[0].tick_ns)
    values, state = life.after.values, life.before.values.get("state")
    for name, (longest, states) in TOTALS.items():
        begin, end = life.value_before(name), values.get(name)
        if None in (begin, end, state) or state in states or end < begin or bound.admits(name, end - begin):
            continue
        life.after.doubted.add(name)
        event = values.get(longest, 0)
        if event and not bound.admits(longest, event) and event > (life.value_before(longest) or 0):
            del values[longest]
            if 0 <= end - begin - event and bound.admits(name, end - begin - event):
                values[name] = end - event
                continue
        del values[name]
