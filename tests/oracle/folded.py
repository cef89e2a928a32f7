# SPDX-License-Identifier: GPL-2.0-or-later
"""Where rows of the earlier of two ledgers stand in the later one, which put some together to make room."""
import dataclasses
import re

OWN, NUMBERLESS, NAMELESS, OVERFLOW = range(4)
NAMELESS_NAME, OVERFLOW_NAME = "[ended, names folded]", "[ended without a row]"


def identity(row):
    return row.owner, row.pcomm, row.comm, row.cgroup, row.kthread, row.own, row.folded


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
        self.there = {(identity(row), row.born_ns) for row in after.dead}
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

    def target(self, row, exits):
        """The row that has what @row had; None where none is found."""
        pattern = [re.sub("[0-9]+", "0", name) for name in (row.pcomm, row.comm)]
        of = row.cgroup, row.kthread, row.own
        for key in ((row.owner, *pattern, *of, NUMBERLESS),
                    (row.owner, NAMELESS_NAME, NAMELESS_NAME, *of, NAMELESS),
                    (row.owner, OVERFLOW_NAME, OVERFLOW_NAME, "", False, row.own, OVERFLOW),
                    (None, OVERFLOW_NAME, OVERFLOW_NAME, "", False, False, OVERFLOW)):
            there = self.rows[1].get(key) if key[-1] > row.folded else None
            if there is None:
                continue
            had = self.rows[0][key].exits if key in self.rows[0] else 0
            if there.exits - had - self.taken.get(key, 0) >= exits:
                return there
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

    def earlier(self, row):
        """A row of the first ledger as it is called now; None where it did nothing."""
        if not row.folded and (identity(row), row.born_ns) in self.there:
            return row
        if self.is_idle(row.owner):
            return None
        return row if row.folded and identity(row) in self.rows[1] else self.place(row, row.exits)

    def later(self, row):
        return None if row.folded and self.is_idle(row.owner) else row

    def gone(self, thread):
        """A thread that ended; its uid is its owner."""
        row = dataclasses.replace(NO_ROW, owner=thread.uid, pcomm=thread.pcomm, comm=thread.comm, cgroup=thread.cgroup,
                                  own=thread.own)
        if self.grew_ns <= self.begin_ns or thread.uid is None or thread.kthread or identity(row) in self.rows[1]:
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
