# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads did between two snapshots that ended in between, from the ledgers of both."""
from folded import tells_times
from judge import TOTALS, Bound, early_ns
from registry import METRICS

NOT_ACCOUNTED = ("cpu_delay_",)  # delays that every thread has


def share_ledger(before, after):
    return before.ledger_id is not None and before.ledger_id == after.ledger_id


def lost_names(before, after):
    """Rows were put together: their sums are known of all threads alone."""
    folded = [snapshot.document["ledger"]["folded_rows"] for snapshot in (before, after)]
    return folded[0] != folded[1] and not tells_times(before, after)


def is_delay(name):
    return "_delay_" in name and not name.startswith(NOT_ACCOUNTED)


class Ended:
    """Of one group: the rows of both ledgers, and the threads of the first snapshot that are gone."""

    def __init__(self, before, after):
        self.before = before
        self.bound = Bound(after.end_ns - before.start_ns, after.tick_ns)  # of what a thread can have done
        self.rows = [], []
        self.gone = []  # lives
        self.all = None  # Ended of all groups together
        self.n_cpus = None

    def _difference(self, of):
        return sum(map(of, self.rows[1])) - sum(map(of, self.rows[0]))

    @property
    def exits(self):
        return max(0, self._difference(lambda row: row.exits))

    @property
    def starters(self):
        """Whose children ended, those of most first; None where the ledger does not tell."""
        told = [(row, sign) for sign, rows in zip((-1, 1), self.rows) for row in rows if row.started_by is not None]
        counts = {}
        for row, sign in told:
            if not row.kthread:
                counts[row.started_by] = counts.get(row.started_by, 0) + sign * row.exits
        found = sorted((-n, name.encode(), name) for name, n in counts.items() if n > 0)
        return [{"name": name, "threads": -n} for n, _, name in found] if told or not self.exits else None

    @property
    def fleeting(self):
        return max(0, self.exits - len(self.gone))

    @property
    def elsewhere(self):
        """Threads that are gone and ended under other names."""
        return max(0, len(self.gone) - self.exits)

    def threads(self, name):
        """Who has the counter."""
        return self._difference(lambda row: 0 if name not in row.values else row.accounted if is_delay(name) else row.exits)

    def work(self, name):
        """None where it is not known, or names changed so that it would be negative."""
        most = self._difference(lambda row: row.accounted if is_delay(name) else row.exits)
        had = [life.value_of_gone(name) for life in self.gone]
        if not self.exits or not 0 < self.threads(name) <= most or None in had:
            return None
        done = self._difference(lambda row: row.values.get(name, 0)) - sum(had)
        return done if done >= 0 and self._had_time(name, done) else None

    def excess(self, name):
        """What is more than all did that ended, or than there were CPUs: it was brought along under other names."""
        done, most = self.work(name), [self.all.work(name)]
        if name == "run_time_ns" and self.n_cpus is not None:
            most.append(self.n_cpus * self.bound.bare_ns)
        most = [one for one in most if one is not None]
        return done - min(most) if done is not None and most and done > min(most) + min(most) // 100 else 0

    def _age_ns(self, life):
        return self.before.start_ns - life.before.start * self.before.tick_ns

    def _had_time(self, name, done):
        """False where threads bring along what they did under other names before: more than they lived for."""
        if name not in TOTALS:
            return True
        early = sum(early_ns(name, life.before, self._age_ns(life)) for life in self.gone)
        return self.bound.in_ns(name, done) <= self.threads(name) * self.bound.most_ns + early

    def left_out(self, name):
        return min(self.exits, self.threads(name)) if self.exits and self.threads(name) > 0 and self.work(name) is None else 0

    def alive_ns(self, before):
        """None where they cannot have lived that long, or that little."""
        lived = self._difference(lambda row: row.lives_ns) - sum(map(self._age_ns, self.gone))
        if lived < -len(self.gone) * before.tick_ns or lived > self.exits * self.bound.most_ns:
            return None
        return max(0, lived)

    def peak(self, name, gone, is_new_process):
        """A peak or minimum that was reached inside, where that is known; @gone: all who are gone, of any group."""
        rule = METRICS[name].rule
        values = [row.values[name] for row in self.rows[1] if row.exits and row.values.get(name)]
        if not values or not self.exits or any(row.exits for row in self.rows[0]):
            return None
        value = min(values) if rule == "MinFloor" else max(values)
        if rule == "MaxPeakBytes":
            return value if is_new_process else None
        if self._difference(lambda row: row.young) == self.exits:
            return value
        had = [life.value_of_gone(name) for life in gone]
        if None in had:
            return None
        had = [one for one in had if one]
        beyond = not had or (value < min(had) if rule == "MinFloor" else value > max(had))
        return value if beyond else None


def total_of_ended(lives, before, after, name, kthread=None):
    """Of all threads, or of those of the kernel, or of the others: exact, whatever their names; None if not known."""
    if not share_ledger(before, after):
        return None
    parts = []
    for rows, sign in zip(after.rows_since(before), (-1, 1)):
        parts += [(row.values.get(name), sign) for row in rows if row.exits and kthread in (None, row.kthread)]
    parts += [(life.before.values.get(name), -1) for life in lives
              if life.after is None and kthread in (None, life.before.kthread)]
    if None in [value for value, _ in parts]:
        return None
    done = sum(value * sign for value, sign in parts)
    return done if done >= 0 else None


def coverage_of_ended(lives, before, after):
    """endedNs, bornAndEndedNs, of kernel threads, and the bytes of storage; None where they are not known."""
    def total(name, kthread=None):
        return total_of_ended(lives, before, after, name, kthread)
    unknown = {"endedNs": None, "bornAndEndedNs": None, "kernel": None, "stored": None}
    if not share_ledger(before, after):
        return unknown
    rows = after.rows_since(before)
    young = sum(row.young_run_ns for row in rows[1] if not row.kthread) - \
        sum(row.young_run_ns for row in rows[0] if not row.kthread)
    users, stored = total("run_time_ns", False), [total("read_bytes"), total("write_bytes")]
    told = unknown | {"kernel": total("run_time_ns", True), "stored": None if None in stored else sum(stored)}
    return told if users is None or not 0 <= young <= users else \
        told | {"endedNs": users - young, "bornAndEndedNs": young}
