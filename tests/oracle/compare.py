# SPDX-License-Identifier: GPL-2.0-or-later
"""Two trees of values held against each other: what was computed here, and what a program answered."""
import fractions
import math

LISTS = ("groups", "onlyBefore", "onlyAfter", "onlyA", "onlyB")
CLOSE = 1e-9  # of quotients, which both sides round in another order
MISSING = object()


def by_key(answer):
    """An answer of ctprofctl with its lists of groups as {key: group}."""
    keyed = {name: {group["key"]: group for group in answer[name]} for name in LISTS if answer.get(name) is not None}
    if "limited" in answer:
        keyed["limited"] = limits_by_cgroup(answer["limited"])
    return {**answer, **keyed}


def limits_by_cgroup(limited):
    """{(cgroup, what): (count, time)}, of one interval or of each of two."""
    if isinstance(limited, dict):
        return {name: limits_by_cgroup(side) for name, side in limited.items()}
    return {(limit["cgroup"], limit["what"]): (limit["count"], limit["ns"]) for limit in limited or []}


def is_number(value):
    return isinstance(value, (int, float, fractions.Fraction)) and not isinstance(value, bool)


def agree(wanted, got):
    """Integers exactly, quotients to nine digits."""
    if is_number(wanted) and is_number(got):
        if isinstance(wanted, int) and isinstance(got, int):
            return wanted == got
        return math.isclose(wanted, got, rel_tol=CLOSE, abs_tol=1e-12)
    return type(wanted) is type(got) and wanted == got


def differences(wanted, got, path=()):
    """(path, wanted, got) of every member of @wanted that @got has otherwise; groups must be the same ones."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        if path and path[-1] in LISTS or "limited" in path:
            for key in sorted(got.keys() - wanted.keys(), key=str):
                yield (*path, key), None, got[key]
        for name, value in wanted.items():
            yield from differences(value, got.get(name, MISSING), (*path, name))
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for number, (ours, theirs) in enumerate(zip(wanted, got)):
            yield from differences(ours, theirs, (*path, number))
    elif got is MISSING:
        yield path, wanted, "no such member"
    elif not agree(wanted, got):
        yield path, wanted, got
