# SPDX-License-Identifier: GPL-2.0-or-later
"""Where rows of the earlier of two ledgers stand in the later one, which put some together to make room."""
import dataclasses
import re

OWN, NUMBERLESS, NAMELESS, OVERFLOW = range(4)
NAMELESS_NAME, OVERFLOW_NAME = "[ended, names folded]", "[ended without a row]"


def names_of(row):
    return row.owner, row.pcomm, row.comm, row.cgroup, row.kthread, row.own, row.folded


def identity(row):
    return row.started_by, *names_of(row)


def tells_times(before, after):
    """Whether both say what was put together, and when it grew."""
    return all("folded_grew_boottime_ns" in snapshot.ledger for snapshot in (before, after))


class Fold:
    """Two ledgers that are one."""

    def __init__(self, before, after):
        self.is_known = tells_times(before, after)
        self.begin_ns = before.start_ns
        # The first of each: others are of another cgroup that has the path.
        self.rows = [{identity(row): row for row in reversed(snapshot.dead)} for snapshot in (before, after)]
        self.alike = {}
        for row in after.dead:
            self.alike.setdefault(identity(row), []).insert(1, row)  # behind the first
        self.names = set(map(names_of, after.dead))
        self.tells_starters = any(row.started_by is not None for row in after.dead)
        self.taken = {}
        self.lost = 0
        folded = [row for row in after.dead if row.folded]
        self.grew_ns = max((row.grew_ns for row in folded), default=0)
        self.growths = {}
        for row in folded:
            self.growths[row.owner] = max(self.growths.get(row.owner, 0), row.grew_ns)

    def is_idle(self, owner):
        """Nothing was added to what was put together of this owner, or of those who have no place of their own."""
        return max(self.growths.get(owner, 0), self.growths.get(None, 0)) <= self.begin_ns

    def has_room(self, key, exits):
        there = self.rows[1].get(key)
        had = self.rows[0][key].exits if key in self.rows[0] else 0
        return there is not None and there.exits - had - self.taken.get(key, 0) >= exits

    def parentless(self, row):
        """The key of the row of these names that has what @row had, and whose parents are not told; None: there is none."""
        key = None, *names_of(row)
        return key if not row.folded and row.started_by is not None and self.has_room(key, row.exits) else None

    def target(self, row, exits):
        """The row that has what @row had; None where none is found."""
        pattern = [re.sub("[0-9]+", "0", name) for name in (row.pcomm, row.comm)]
        of = row.cgroup, row.kthread, row.own
        for key in ((row.owner, *pattern, *of, NUMBERLESS),
                    (row.owner, NAMELESS_NAME, NAMELESS_NAME, *of, NAMELESS),
                    (row.owner, OVERFLOW_NAME, OVERFLOW_NAME, "", False, row.own, OVERFLOW),
                    (None, OVERFLOW_NAME, OVERFLOW_NAME, "", False, False, OVERFLOW)):
            if key[-1] > row.folded and self.has_room((None, *key), exits):
                return self.rows[1][None, *key]
        return None

    def place(self, row, exits):
        target = self.target(row, exits)
        if target is None:
            return row
        if target.owner is None and target.grew_ns <= self.begin_ns:
            return None
        key = identity(target)
        self.taken[key] = self.taken.get(key, 0) + exits
        self.lost += 1
        return dataclasses.replace(row, pcomm=target.pcomm, comm=target.comm, cgroup=target.cgroup, kthread=target.kthread)

    def same(self, row):
        """What the row is in the second ledger, where it may have taken in older ones of other parents."""
        alike = self.alike.get(identity(row), []) if not row.folded else []
        found = [one for one in alike if one.born_ns == row.born_ns]
        if not found and row.started_by is None and self.tells_starters:
            found = [one for one in alike if one.born_ns <= row.born_ns]
        return found[0] if found else None

    def earlier(self, row):
        """A row of the first ledger as it is called now; None where it did nothing."""
        there, unknown = self.same(row), self.parentless(row)
        if there:
            return self.told(row, there.grew_ns)
        if unknown:
            self.taken[unknown] = self.taken.get(unknown, 0) + row.exits
            return dataclasses.replace(row, started_by=None)
        if self.is_idle(row.owner):
            return None
        return row if row.folded and identity(row) in self.rows[1] else self.place(row, row.exits)

    def later(self, row):
        return None if row.folded and self.is_idle(row.owner) else self.told(row, row.grew_ns)

    def told(self, row, grew_ns):
        """Where nothing was added since, whose children they were long ago is not told."""
        return row if grew_ns > self.begin_ns else dataclasses.replace(row, started_by=None)

    def gone(self, thread):
        """A thread that ended; its uid is its owner."""
        row = dataclasses.replace(NO_ROW, owner=thread.uid, pcomm=thread.pcomm, comm=thread.comm, cgroup=thread.cgroup,
                                  own=thread.own)
        if self.grew_ns <= self.begin_ns or thread.uid is None or thread.kthread or names_of(row) in self.names:
            return thread
        found = self.place(row, 1)
        return thread if found in (None, row) else dataclasses.replace(
            thread, pcomm=found.pcomm, comm=found.comm, cgroup=found.cgroup, kthread=found.kthread)


@dataclasses.dataclass
class Row:
    owner: object
    pcomm: str
    comm: str
    cgroup: str
    kthread: bool
    own: bool
    folded: int
    started_by: object = None


NO_ROW = Row(None, "", "", "", False, False, OWN)


def placed(before, after, gone):
    """The rows of both ledgers by where they stand in the later one, and the threads of @gone, which are in the order of
    their numbers, likewise."""
    fold = Fold(before, after)
    if not fold.is_known:
        return before.dead, after.dead, list(gone), 0
    threads = [fold.gone(thread) for thread in gone]
    rows = [fold.earlier(row) for row in before.dead], [fold.later(row) for row in after.dead]
    return *[[row for row in side if row is not None] for side in rows], threads, fold.lost
