# SPDX-License-Identifier: GPL-2.0-or-later
"""The members that the interface calls objects: metrics, derived values and rows of sections, by the kind of view."""
SHAPES = ({"min", "max"}, {"mode", "count", "total"}, {"minCpus", "maxCpus", "uniform"},
          {"minCpus", "maxCpus", "uniform", "cpus"})
NUMBERS = "delta percent perSecond work u p pAdjusted".split()
COUNTS = "present leftOut implausible".split()
FLAGS = "changed reset significant inside".split()
TEXTS = "reason approximate".split()
NOTES = {"reason", "approximate", "implausible"}
SPREADS = {"spread", "spreadBefore"}
TWO_SIDED = {"before", "after", "delta", "percent"}
# (what every row has, what it may have beside that and notes)
METRICS = {
    "state": ({"value", "present"}, SPREADS),
    "totals": (TWO_SIDED | {"perSecond", "changed", "reset"}, SPREADS),
    "interval": (TWO_SIDED | {"perSecond", "changed", "reset"}, SPREADS | {"work", "leftOut", "inside"}),
    "intervals": ({"a", "b", "delta", "percent"}, {"changed", "reset", "leftOut", "perSecond"}),
    "sets": (TWO_SIDED | {"u", "p", "pAdjusted", "significant", "perSecond"}, {"reset"}),
}
DERIVED = {
    "state": ({"value"}, set()),
    "totals": (TWO_SIDED | {"changed"}, {"perSecond", "reset"}),
    "interval": (TWO_SIDED | {"changed"}, {"work", "perSecond", "reset"}),
    "intervals": ({"a", "b", "delta", "percent"}, {"changed", "reset", "perSecond"}),
    "sets": METRICS["sets"],
}
VALUES = {"state": ["value"], "intervals": ["a", "b"], "sets": []}
SAMPLES = {"n", "median", "min", "max", "q1", "q3"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_value(value):
    """A VALUE: a number, a range, a mode, or a set of CPUs; null where it is absent."""
    return value is None or is_number(value) or isinstance(value, dict) and set(value) in SHAPES


def is_right(name, value):
    if name in NUMBERS:
        return value is None or is_number(value)
    if name in COUNTS:
        return type(value) is int
    if name in FLAGS:
        return type(value) is bool or name == "significant" and value is None
    if name in TEXTS:
        return isinstance(value, str) and len(value) > 3
    if name in SPREADS:
        return value is None or set(value) == {"top", "p50", "p99"} and set(value["top"]) == {"tid", "name", "value"}
    return is_value(value)


def row_complaints(members, kind, row, path):
    always, sometimes = members
    if "value" in row and "value" not in always:
        always, sometimes = METRICS["state"][0] & row.keys(), METRICS["state"][1]  # of a group of one side
        if kind == "intervals":
            always = always | {"perSecond"}
    for name in sorted(always - row.keys()):
        yield f"{path} has no member {name!r}"
    for name, value in row.items():
        if name not in always | sometimes | NOTES:
            yield f"{path} has a member {name!r}, which nobody described"
        elif kind == "sets" and name in ("before", "after"):
            if value is not None and set(value) != SAMPLES:
                yield f"{path}.{name} is no summary of samples: {value!r:.80}"
        elif kind in ("sets", "intervals") and name == "perSecond":  # whether the values are rates
            if not isinstance(value, bool):
                yield f"{path}.{name} is wrong: {value!r:.80}"
        elif not is_right(name, value):
            yield f"{path}.{name} is wrong: {value!r:.80}"
    absent = [name for name in VALUES.get(kind, ["before", "after"]) if name in row and row[name] is None]
    if absent and not isinstance(row.get("reason"), str):
        yield f"{path}: {absent[0]} is absent without a reason"


def group_complaints(kind, group, path):
    """What of a group's rows is not as the kind of view has it, as sentences."""
    for part, members in (("metrics", METRICS[kind]), ("derived", DERIVED[kind])):
        for name, row in (group.get(part) or {}).items():
            yield from row_complaints(members, kind, row, f"{path}.{part}.{name}")


def complaints(answer):
    """The same of all groups of an answer of show or compare."""
    for part in ("groups", "onlyBefore", "onlyAfter", "onlyA", "onlyB"):
        for number, group in enumerate(answer.get(part) or []):
            yield from group_complaints(answer["kind"], group, f"{part}[{number}]")
