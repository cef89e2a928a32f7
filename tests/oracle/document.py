# SPDX-License-Identifier: GPL-2.0-or-later
"""A snapshot file as snapshot(5) describes it, read with zstdcat and Python's JSON and nothing of ours."""
import dataclasses
import json
import pathlib
import re
import struct
import subprocess

from registry import METRICS

TAIL = struct.Struct("<I8s")  # the length of the head, the magic
DIGEST_BYTES = 16


def read_head(path):
    """The JSON object before the digest that ends the file."""
    data = pathlib.Path(path).read_bytes()
    n_head, magic = TAIL.unpack(data[-TAIL.size:])
    assert magic == b"ctprof\0\1", path
    end = len(data) - TAIL.size - DIGEST_BYTES
    return json.loads(data[end - n_head:end])


@dataclasses.dataclass
class Thread:
    """One row: who it is, and its values by metric; what is not in @values was not measured."""
    tid: int
    tgid: int
    start: int  # in ticks since boot
    pcomm: str
    comm: str
    cgroup: str
    kthread: bool
    own: bool  # of ctprof itself
    values: dict
    uid: object = None
    command: str = ""  # as groups call it; "": not known
    doubted: set = dataclasses.field(default_factory=set)  # totals that cannot be right as they were read

    @property
    def life(self):
        """What tells it from all other threads of its boot."""
        return self.tid, self.start


@dataclasses.dataclass
class DeadRow:
    """What threads did that have ended with these names: @values of all of them, since the ledger began."""
    pcomm: str
    comm: str
    cgroup: str
    kthread: bool
    own: bool
    exits: int
    lives_ns: int
    accounted: int
    young: int
    young_run_ns: int
    owner: object  # uid; None: of many, or not known
    folded: int  # how far rows were put together
    born_ns: int
    grew_ns: int
    values: dict
    started_by: object = None  # None: not known; "": nobody


def rows_of(table):
    for cells in table["rows"]:
        yield {name: cell for name, cell in zip(table["columns"], cells) if cell is not None}


class Snapshot:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.head = read_head(path)
        text = subprocess.run(["zstdcat", "--", str(path)], check=True, capture_output=True).stdout
        self.document = json.loads(text)
        self.start_ns = self.head["startBoottimeNs"]
        self.end_ns = self.head["endBoottimeNs"]
        self.boot = self.head["bootId"]
        self.release = tuple(map(int, re.findall(r"\d+", self.head["kernelRelease"])[:2]))
        self.tick_ns = 10**9 // self.head["userHz"]
        self.threads = list(self._threads())
        self.ledger_id = self.head.get("ledgerId")
        self.ledger = self.document.get("ledger")
        self.dead = list(self._dead())
        self.moved = dict(self._moved())
        self.lost_since = {}  # likewise: how many lost their names
        self.joined = {}  # by an earlier snapshot: the rows of both as they stand in this one

    def _threads(self):
        for row in rows_of(self.document["threads"]):
            values = {name: row[name] for name in METRICS if name in row}
            values["thread_count"] = 1
            yield Thread(row["tid"], row["tgid"], row["start_time_clock_ticks"], row.get("pcomm", ""),
                         row.get("comm", ""), row.get("cgroup", ""), row.get("kthread", False),
                         row.get("self", False), values, row.get("uid") if "gid" in row else None,
                         " ".join(word.rpartition("/")[2] for word in row.get("command") or []))

    def _dead(self):
        for row in rows_of(self.document.get("dead") or {"rows": []}):
            counts = [row[name] for name in "exits lives_ns accounted young young_run_ns".split()]
            yield DeadRow(row.get("pcomm", ""), row.get("comm", ""), row.get("cgroup", ""), row.get("kthread", False),
                          row.get("self", False), *counts, row.get("owner"), row.get("folded", 0),
                          row.get("born_boottime_ns", 0), row.get("grew_boottime_ns", 0), {name: row[name] for name in METRICS if name in row},
                          row.get("started_by"))

    def _moved(self):
        """(life, names) of threads that ended under others than a capture saw them with."""
        for row in rows_of(self.document.get("moved") or {"rows": []}):
            names = {"pcomm": row.get("pcomm", ""), "comm": row.get("comm", ""), "cgroup": row.get("cgroup", ""),
                     "kthread": row.get("kthread", False), "own": row.get("self", False)}
            yield (row["tid"], row["start_time_clock_ticks"]), names

    def rows_since(self, before):
        """Those of the ledger at both ends."""
        return self.joined.get(before.path, (before.dead, self.dead))

    def host_rows(self, part, item):
        """{name of an item: {column: number}} of host_cpu, host_disk or host_network; None without that part."""
        table = self.document.get(part)
        if not table:
            return None
        rows = [dict(zip(table["columns"], cells)) for cells in table["rows"]]
        return {row[item]: row for row in rows}
