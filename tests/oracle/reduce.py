# SPDX-License-Identifier: GPL-2.0-or-later
"""The threads of a group reduced to one value a metric, and two such values compared (the rules of the registry)."""
import fractions

from registry import DERIVED, METRICS, MOMENTARY

LIMIT = 2**64 - 1


def cpus_of(text):
    """How many CPUs "0-3,7" has."""
    ends = [piece.split("-") for piece in text.split(",") if piece]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def winner(words):
    counts = {word: words.count(word) for word in set(words)}
    best = min(counts, key=lambda word: (-counts[word], word.encode()))
    return {"mode": best, "count": counts[best], "total": len(words)}


def word_of(value):
    return {True: "true", False: "false"}.get(value, value)


def affinity(lists):
    counts = [cpus_of(text) for text in lists]
    uniform = len(set(lists)) == 1
    found = {"minCpus": min(counts), "maxCpus": max(counts), "uniform": uniform}
    return {**found, "cpus": lists[0]} if uniform else found


def reduced(metric, values):
    """VALUE of the interface for the values that threads have; None without any."""
    if not values:
        return None
    if metric.is_sum:
        return min(LIMIT, sum(values))
    if metric.rule.startswith("Max"):
        return max(values)
    if metric.rule == "MinFloor":
        return min((value for value in values if value > 0), default=0)
    if metric.rule.startswith("Range"):
        return {"min": min(values), "max": max(values)}
    if metric.rule == "Affinity":
        return affinity(values)
    return winner([word_of(value) for value in values])


def values_of(threads, name):
    return [thread.values[name] for thread in threads if name in thread.values]


def reduce(threads):
    """{metric: VALUE} and {metric: how many threads have it}."""
    found = {name: values_of(threads, name) for name in METRICS}
    return ({name: reduced(METRICS[name], values) for name, values in found.items()},
            {name: len(values) for name, values in found.items()})


def derive(values):
    """{derived value: number or None} of reduced values."""
    return {name: item.of(values) for name, item in DERIVED.items()}


def number(value):
    """What differences are made of; None for modes and what is absent."""
    if isinstance(value, dict):
        if "min" in value:
            return fractions.Fraction(value["min"] + value["max"], 2)
        if "minCpus" in value:
            return fractions.Fraction(value["minCpus"] + value["maxCpus"], 2)
        return None
    return value


def difference(name, before, after):
    before, after = number(before), number(after)
    if name in MOMENTARY or before is None or after is None:
        return None
    delta = after - before
    return int(delta) if isinstance(delta, fractions.Fraction) and delta.denominator == 1 else delta


def percent(name, before, delta, is_reset=False):
    before = number(before)
    is_ratio = name in DERIVED and DERIVED[name].is_ratio
    if delta is None or not before or is_reset or is_ratio:
        return None
    return float(100 * fractions.Fraction(delta) / abs(fractions.Fraction(before)))


def differs(name, before, after):
    if name in MOMENTARY:
        return False
    if isinstance(before, dict) and isinstance(after, dict) and "mode" in before:
        return before["mode"] != after["mode"]
    return before != after
