# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet made from real intervals of this host: many hosts whose values vary, and what is planted among them."""
import collections
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
import urllib.parse

from harness import CTPROFCTL, Daemon, expect, run

SECOND_NS = 10**9
GAP_REASON = 'the host was booted again after "before"'
ABSENT_REASON = "before and after: planted: nobody looked"
LARGEST = 2**64 - 1

# Loads with a name each, so that there are groups that run, wait and sleep, whatever else is on the host.
LOAD = """
import os, sys, threading, time
open("/proc/self/comm", "w").write(sys.argv[1])
lock, share = threading.Lock(), float(sys.argv[2])
def work():
    while True:
        begin = time.monotonic()
        while time.monotonic() < begin + 0.02 * share:
            open("/proc/self/stat").read()
        with lock:
            time.sleep(0.02 * (1 - share))
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(600)
"""
LOADS = {"web": 0.5, "database": 0.3, "queue": 0.2, "cache": 0.15, "search": 0.1, "mail": 0.05}


def real_intervals(directory):
    """The rows of two intervals of this host."""
    loads = [subprocess.Popen([sys.executable, "-c", LOAD, name, str(share)], stdin=subprocess.DEVNULL)
             for name, share in LOADS.items()]
    try:
        time.sleep(1)
        with Daemon(directory) as daemon:
            for name in ("one", "two", "three"):
                result = daemon("capture", "--tag", name, "--no-heap", "-q")
                expect(result.status == 0, "capture:", result.err)
                time.sleep(3 if name != "three" else 0)
            return export(daemon, directory / "real.ndjson")
    finally:
        for load in loads:
            load.kill()
            load.wait()


def export(daemon, path):
    result = daemon("export", "--changes", path, "-q")
    expect(result.status == 0, "export:", result.err)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(row["after_snapshot"] for row in rows))
    return [[row for row in rows if row["after_snapshot"] == name] for name in names]


def heaviest(rows, n_groups):
    """The rows of the loads, and of the first groups beside them: those of an interval come by weight."""
    names = list(dict.fromkeys(row["process"] for row in rows if row["process"] is not None and row["process"] not in LOADS))
    kept = {None, *LOADS, *names[:n_groups - len(LOADS)]}
    return [row for row in rows if row["process"] in kept]


def has_value(row):
    return any(row[name] is not None for name in ("before", "before_text", "after", "after_text", "work"))


def is_metric(row):
    return row["rule"] is not None and row["section"] != "lives"


class Host:
    """One host of the fleet, and the members of its heads."""

    def __init__(self, number, like, name=None):
        digest = hashlib.sha256(b"host %d" % number).hexdigest()
        self.number = number
        self.name = name or f"web{number:03}"
        self.machine_id, self.boot_id = digest[:32], digest[32:]
        self.like = like
        self.kernel = like["kernel_release"]

    def head(self, end_ns, elapsed_ns, number, kind="interval", name=None):
        """The head of an interval that ends then."""
        head = {key: value for key, value in self.like.items() if key in HEAD}
        name = self.name if name is None else name
        for side, at_ns in (("before_", end_ns - elapsed_ns), ("after_", end_ns)):
            head |= {side + "snapshot": f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at_ns // SECOND_NS))}-{number}",
                     side + "host": name, side + "machine_id": self.machine_id, side + "boot_id": self.boot_id,
                     side + "kernel_release": self.kernel, side + "end_realtime_ns": at_ns,
                     side + "start_realtime_ns": at_ns - 50_000_000, side + "end_boottime_ns": at_ns % 10**15,
                     side + "start_boottime_ns": at_ns % 10**15 - 50_000_000}
        head |= {"kind": kind, "elapsed_ns": elapsed_ns, "host": name, "machine_id": self.machine_id, "boot_id": self.boot_id,
                 "kernel_release": self.kernel}
        if kind == "gap":
            head |= {"before_boot_id": hashlib.sha256(self.boot_id.encode()).hexdigest()[:32], "same_boot": False,
                     "elapsed_ns": None}
        return head


HEAD = []  # the members of the head, in order, as the first real row has them


class Template:
    """A row of a real interval, as text with places for what varies: made once, filled for each host."""
    VARIES = ("before", "after", "work", "delta", "percent", "per_second")

    def __init__(self, row):
        self.row = row
        self.key = (row["process"], row["metric"])
        self.has_value, self.is_metric = has_value(row), is_metric(row)
        self.values = tuple(row[name] for name in self.VARIES)
        self.elapsed_ns = row["elapsed_ns"]
        own = {key: "\0" if key in self.VARIES else value for key, value in row.items() if key not in HEAD}
        text = json.dumps(own, ensure_ascii=False, separators=(",", ":"))[1:]
        self.text = text.replace("%", "%%").replace('"\\u0000"', "%s")

    def filled(self, factor, elapsed_ns):
        """The rest of the row behind its head, with every value as much larger."""
        before, after, work, delta, percent, per_second = self.values
        if per_second is not None:
            # A counter: what was done varies, and its total follows. A longer interval does more.
            source = work if work is not None else delta
            changed = scaled(source, factor * elapsed_ns / self.elapsed_ns)
            work = changed if work is not None else None
            delta = changed
            after = before + changed if before is not None else after
            percent = 100 * changed / before if before else None
            per_second = changed * SECOND_NS / elapsed_ns
        else:
            after, work, delta = scaled(after, factor), scaled(work, factor), scaled(delta, factor)
        return self.text % tuple("null" if value is None else repr(value)
                                 for value in (before, after, work, delta, percent, per_second))

    def planted(self, **members):
        """The same with other members."""
        return Template({**self.row, **members})


def scaled(value, factor):
    """A small number of events stays what it is: 15 % of three are nothing that happens."""
    if value is None or isinstance(value, bool) or factor == 1 or -20 < value < 20 and isinstance(value, int):
        return value
    return round(value * factor) if isinstance(value, int) else value * factor


def escaped(host):
    """A host in a path, as ctprof-changes writes it."""
    return urllib.parse.quote(host, safe="") or "%"


class Writer:
    """The files of a fleet, day=.../host=.../N.ndjson.zst, and their size."""

    def __init__(self, directory):
        self.directory = directory
        self.rows = self.bytes = 0

    def write(self, host, day, number, texts):
        """One file, from texts of whole lines; compressed while it is made."""
        path = self.directory / f"day={day}" / f"host={escaped(host)}" / f"{number}.ndjson.zst"
        path.parent.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(["zstd", "-q", "-f", "-1", "-o", path], stdin=subprocess.PIPE) as zstd:
            for text in texts:
                data = text.encode()
                self.rows += data.count(b"\n")
                self.bytes += len(data)
                zstd.stdin.write(data)
        expect(zstd.returncode == 0, "zstd:", zstd.returncode)

    def compressed(self):
        return sum(path.stat().st_size for path in self.directory.rglob("*.zst"))


def head_text(head):
    return json.dumps({key: head[key] for key in HEAD}, ensure_ascii=False, separators=(",", ":"))[:-1] + ","


def learn(intervals):
    """The names of the head, and the rows as templates."""
    columns = list(intervals[0][0])
    HEAD[:] = columns[:columns.index("side")]
    return [[Template(row) for row in rows] for rows in intervals]


def day_of(ns):
    return time.strftime("%Y-%m-%d", time.gmtime(ns // SECOND_NS))


INTERVAL_NS = 600 * SECOND_NS
NAMES = ["web,07", 'quo"te', "null", "true", "1.5", "back\\slash", "sl/ash=x", "line\uef0aend", "*?[x]{1,2}", ""]
GROUPS = ["", "null", "1.5", "true", 'a,"b"', "back\\slash", "line\uef0aend", "odd\uef80", "'; DROP TABLE x; --", "=1+1", "a|b\uef09c"]


class Fleet:
    """200 hosts with two intervals each, and what is planted. Members in lower case say what a question must find."""
    canaries = range(20, 40)
    canary = ("database", ("wait_time_ns", "cpu_delay_total_ns"), 1.6)
    outliers = {60: 8, 61: 8}
    outlier = ("queue", "run_time_ns")
    moved = ("web", "voluntary_csw", 1.8)
    waiter = (150, "cache", "lock_wait_ns", 40.0)  # host, group, reason, threads
    trend = (160, "search", "run_time_ns", 0.2)  # a fifth of what it began with, every hour
    steady = (161, 162, 163, 164)
    silent, rebooted, unattributed, renamed = 190, 191, 192, 193
    absent = (194, 195)
    lacking = ("web", "syscr")
    hostile = range(10, 15)
    never = "f" * 32

    def __init__(self, templates, end_ns, n_hosts=200):
        self.random = random.Random(1)
        self.templates = templates
        self.end_ns = end_ns
        like = templates[0].row
        self.hosts = [Host(number, like, NAMES[number] if number < len(NAMES) else None) for number in range(n_hosts)]
        for number in self.canaries:
            self.hosts[number].kernel += "-canary"
        metrics = {template.key for template in templates if template.has_value}
        self.canary_metrics = sorted(metric for metric in self.canary[1] if (self.canary[0], metric) in metrics)
        expect(self.canary_metrics and self.outlier in metrics and self.moved[:2] in metrics and self.trend[1:3] in metrics,
               "the loads have no values:", sorted(metrics & {self.outlier, self.moved[:2], self.trend[1:3]}))
        sums = {template.row["metric"]: template.row["work"] for template in templates if template.row["section"] == "coverage"}
        # Whatever this host has: what is planted is the share of one host.
        self.attribution = 0.95 * sums["cpu_used_ns"] / sums["attributed_ns"]

    def factor(self, number, interval, template):
        group, metric = template.key
        if template.row["section"] == "coverage":
            share = 0.4 if number == self.unattributed else 1
            return self.attribution * share if metric == "attributed_ns" else 1
        if template.row["section"] == "lives":
            return 1
        spread = 0.02 if (group, metric) == self.trend[1:3] else 0.15
        factor = math.exp(self.random.gauss(0, spread))
        if number == self.trend[0] and (group, metric) == self.trend[1:3]:
            factor *= 1 + self.trend[3] * (23 + interval) / 6
        if number in self.canaries and group == self.canary[0] and metric in self.canary[1]:
            factor *= self.canary[2]
        if number in self.outliers and (group, metric) == self.outlier:
            factor *= self.outliers[number]
        if interval == 1 and (group, metric) == self.moved[:2]:
            factor *= self.moved[2]
        return factor

    def special(self, number, template):
        """What stands in the place of a row on this host."""
        group, metric = template.key
        if number == self.waiter[0] and (group, metric) == self.waiter[1:3]:
            work = round(self.waiter[3] * template.elapsed_ns)
            return template.planted(before=0, after=work, work=work, delta=work, per_second=self.waiter[3] * SECOND_NS, reason=None)
        if number in self.absent and (group, metric) == self.lacking:
            return template.planted(before=None, after=None, work=None, delta=None, per_second=None, reason=ABSENT_REASON)
        return template

    def hostile_rows(self):
        """Rows of groups with names that break readers, and the numbers that do."""
        like = next(template for template in self.templates if template.key == self.outlier)
        for index, name in enumerate(GROUPS):
            yield like.planted(process=name, work=LARGEST - index, before=0, after=LARGEST - index, delta=LARGEST - index)
            yield like.planted(process=name, metric="avg_slice_ns", rule="Derived", work=1.25 + index, before=None, after=0.5,
                               delta=None, per_second=None)

    def interval(self, host, number, end_ns, index, rows):
        """The lines of one interval of a host, as text."""
        elapsed_ns = INTERVAL_NS + self.random.randrange(SECOND_NS)
        head = head_text(host.head(end_ns, elapsed_ns, index, name="renamed" if number == self.renamed and index == 1 else None))
        lines = [head + self.special(number, template).filled(self.factor(number, index, template), elapsed_ns) for template in rows]
        if number in self.hostile:
            lines += [head + template.filled(1, template.elapsed_ns) for template in self.hostile_rows()]
        return "\n".join(lines) + "\n"

    def gap(self, host, end_ns):
        row = {**{key: None for key in self.templates[0].row}, "reason": GAP_REASON}
        template = Template({**row, "elapsed_ns": 1})
        return head_text(host.head(end_ns, 0, 9, kind="gap")) + template.filled(1, 1) + "\n"

    def trend_rows(self, number, end_ns, hours):
        group, metric, slope = self.trend[1:]
        template = next(template for template in self.templates if template.key == (group, metric))
        rise = 1 + slope * hours if number == self.trend[0] else 1
        host = self.hosts[number]
        elapsed_ns = INTERVAL_NS
        head = head_text(host.head(end_ns, elapsed_ns, round(hours * 6)))
        return head + template.filled(rise * math.exp(self.random.gauss(0, 0.02)), elapsed_ns) + "\n"

    def write(self, writer, everything=5):
        """All files; every host but the first few leaves out what has no value."""
        lacking = {self.waiter[1:3], self.lacking}
        present = [template for template in self.templates if template.has_value or template.key in lacking]
        for number, host in enumerate(self.hosts):
            rows = self.templates if number < everything else present
            late = self.random.randrange(4 * SECOND_NS)
            for index in (0, 1):
                end_ns = self.end_ns - (1 - index) * INTERVAL_NS - late
                if number == self.silent:
                    end_ns -= 6 * INTERVAL_NS
                texts = [self.interval(host, number, end_ns, index, rows)]
                if number == self.rebooted and index == 0:
                    texts.insert(0, self.gap(host, end_ns - INTERVAL_NS // 2))
                writer.write(host.name, day_of(end_ns), end_ns, texts)
        for number in (self.trend[0], *self.steady):
            texts = [self.trend_rows(number, self.end_ns - back * INTERVAL_NS, (24 - back) / 6) for back in range(24, 1, -1)]
            writer.write(self.hosts[number].name, day_of(self.end_ns - 24 * INTERVAL_NS), "earlier", texts)

    def roles(self):
        for number, host in enumerate(self.hosts):
            yield host.machine_id, "canary" if number in self.canaries else "control"
        yield self.never, "control"


# What a day of a fleet is asked about, in this order; ten of those that this host has values of.
DAY_METRICS = ("run_time_ns", "wait_time_ns", "voluntary_csw", "nonvoluntary_csw", "minflt", "read_bytes", "write_bytes",
               "rss_anon_bytes", "hiwater_rss_bytes", "storage_wait_ns", "uninterruptible_ns", "lock_wait_ns", "futex_wait_ns", "majflt",
               "rchar", "wchar", "thread_count")


class Day:
    """A day of many hosts: 144 intervals of 50 groups and ten metrics, as "export --changes --present --top 50 --metrics" has them."""

    def __init__(self, templates, end_ns, n_hosts, n_groups=50):
        self.random = random.Random(2)
        self.end_ns = end_ns
        present = [template for template in templates if template.has_value and template.is_metric]
        known = {template.row["metric"] for template in present}
        metrics = [metric for metric in DAY_METRICS if metric in known][:10]
        by_group = {}
        for template in present:
            if template.row["metric"] in metrics:
                by_group.setdefault(template.row["process"], []).append(template)
        # The ten that did most stand for all: idle groups, whose zeros take no room, would flatter the bill.
        names = sorted(by_group, key=lambda name: -sum(bool(template.row["work"] or template.row["after"]) for template in by_group[name]))[:10]
        self.rows = []
        for number in range(n_groups):
            name = names[number % len(names)]
            self.rows += [template if number < len(names) else template.planted(process=f"{name}-{number}") for template in by_group[name]]
        self.hosts = [Host(number, templates[0].row) for number in range(n_hosts)]

    def write(self, writer, n_intervals=144):
        """One file a host, each interval with noise of its own, on a curve of the day."""
        gauss, exp = self.random.gauss, math.exp
        for host in self.hosts:
            level = [exp(gauss(0, 0.3)) for _ in self.rows]
            writer.write(host.name, day_of(self.end_ns), self.end_ns, (
                self.interval(host, index, n_intervals, level, gauss, exp) for index in range(n_intervals)))

    def interval(self, host, index, n_intervals, level, gauss, exp):
        elapsed_ns = INTERVAL_NS + self.random.randrange(SECOND_NS)
        end_ns = self.end_ns - (n_intervals - 1 - index) * INTERVAL_NS - self.random.randrange(4 * SECOND_NS)
        head = head_text(host.head(end_ns, elapsed_ns, index))
        hour = 1 + 0.5 * math.sin(index / 144 * 2 * math.pi)
        return "".join(head + template.filled(usual * hour * exp(gauss(0, 0.15)), elapsed_ns) + "\n"
                       for template, usual in zip(self.rows, level))
