# SPDX-License-Identifier: GPL-2.0-or-later
"""What each metric is, from the tables that the registry is held against (tests/data), not from the registry."""
import csv
import dataclasses
import pathlib
import re

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
TABLES = ("metrics.tsv", "metrics-accounting.tsv", "metrics-memory.tsv", "metrics-waits.tsv")
MOMENTARY = {"processor", "state", "other_wait_call"}  # how a thread was found: no delta, no percent
# Delays whose zeros a capture leaves out where a thread may have no accounting.
DELAY_FAMILIES = "blkio swapin freepages thrashing compact wpcopy".split()


@dataclasses.dataclass(frozen=True)
class Metric:
    name: str
    kind: str  # the value type
    rule: str  # how a group reduces it
    section: str

    @property
    def is_counter(self):
        """It only grows while its thread lives, and is work of the thread."""
        return self.rule in ("SumCount", "SumNs", "SumBytes", "SumTicks") and self.name != "thread_count"

    @property
    def is_sum(self):
        return self.rule.startswith("Sum")

    @property
    def is_extreme(self):
        """A peak or a minimum of the whole life."""
        return self.rule in ("MaxPeak", "MaxPeakBytes", "MinFloor")


@dataclasses.dataclass(frozen=True)
class Derived:
    name: str
    formula: str
    is_ratio: bool
    inputs: tuple

    def of(self, values):
        """Of {metric: integer or None}: the number, or None where an input is absent or a denominator is 0."""
        known = {name: values.get(name) for name in self.inputs}
        if None in known.values():
            return None
        try:
            return eval(self.formula, {"max": max}, known)  # pylint: disable=eval-used # a formula of derived.tsv
        except ZeroDivisionError:
            return None


def read_tsv(name):
    with open(DATA / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def metrics():
    return {row["name"]: Metric(row["name"], row["value_type"], row["agg_rule"], row["section"])
            for name in TABLES for row in read_tsv(name)}


def derived():
    names = set(metrics())
    found = {}
    for row in read_tsv("derived.tsv"):
        formula = row["formula"]
        inputs = tuple(dict.fromkeys(word for word in re.findall(r"\w+", formula) if word in names))
        found[row["name"]] = Derived(row["name"], formula, row["is_ratio"] == "yes", inputs)
    return found


METRICS = metrics()
DERIVED = derived()
COUNTERS = [name for name, metric in METRICS.items() if metric.is_counter]
REASONS = [name for name, metric in METRICS.items() if metric.section == "waits"]
