# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the numbers of an answer can be true: within one answer, and between answers about one snapshot."""
import collections

SUM_RULES = {"SumCount", "SumNs", "SumBytes", "SumTicks"}


class Implausible(Exception):
    """Numbers of one answer contradict each other."""


def _expect(condition, *what):
    if not condition:
        raise Implausible(" ".join(str(word) for word in what))


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _merge(replies):
    """What several replies say together: arrays one behind the other, of the rest the last."""
    whole = {}
    for reply in replies:
        for key, value in reply.get("parameters", {}).items():
            if isinstance(value, list) and isinstance(whole.get(key), list):
                whole[key] = whole[key] + value
            elif key != "progress":
                whole[key] = value
    return whole


def _check_spread(spread, name):
    if spread is None:
        return
    _expect(spread["p50"] <= spread["p99"] <= spread["top"]["value"] * 1.01 + 1, "spread of", name, spread)


def _check_one_sided(group):
    _expect(group["threads"] >= 1, "a group of", group["threads"], "threads:", group["key"])
    for name, cell in group["metrics"].items():
        _expect(cell["value"] is not None or cell.get("reason"), name, "is absent without a reason")
        _expect(0 <= cell["present"] <= group["threads"], name, "is present in", cell["present"])
        _check_spread(cell.get("spread"), name)
    members = sum(member["threads"] for member in group.get("members") or ())
    _expect(members <= group["threads"], "members have", members, "threads of", group["threads"])


def _check_two_sided(group, first, second):
    for name, cell in {**group["metrics"], **(group.get("derived") or {})}.items():
        before, after, delta = cell[first], cell[second], cell["delta"]
        if _is_number(before) and _is_number(after):
            is_exact = isinstance(before, int) and isinstance(after, int)
            slack = 0 if is_exact else 1e-6 * (abs(before) + abs(after) + 1)
            # Two numbers may be known and contradict each other, which the reason then says.
            _expect(abs(delta - (after - before)) <= slack if delta is not None else
                    str(cell.get("reason")).startswith("implausible"), name, cell)
        if before is None or after is None:
            _expect(delta is None and cell.get("reason"), name, "has a delta or no reason:", cell)
        _check_spread(cell.get("spread"), name)
        _check_spread(cell.get("spreadBefore"), name)
    lives = group.get("lives")
    if lives and "survived" in lives:
        _expect(lives["survived"] + lives["born"] == group["threadsAfter"], "lives:", lives, "of", group["threadsAfter"])


def _check_set_row(name, cell):
    for side in (cell["before"], cell["after"]):
        if side is not None:
            _expect(side["n"] >= 1, name, side)
            slack = 1e-9 * max(abs(side["min"]), abs(side["max"]))
            order = [side[key] for key in ("min", "q1", "median", "q3", "max")]
            _expect(all(a <= b + slack for a, b in zip(order, order[1:])), name, side)
    if cell.get("p") is not None:
        _expect(0 < cell["p"] <= 1 and 0 <= cell["u"] <= cell["before"]["n"] * cell["after"]["n"], name, cell)
    if cell.get("pAdjusted") is not None:
        _expect(cell["p"] <= cell["pAdjusted"] * (1 + 1e-9) and cell["pAdjusted"] <= 1, name, cell)


def _check_stacks(whole):
    """Stacks, or lengths of waits, have all of the time of their places, as far as there are all of them."""
    sums = collections.Counter()
    for stack in whole.get("stacks") or ():
        _expect(stack["ns"] >= 0 and stack["samples"] >= 0 and isinstance(stack["frames"], list), "a stack", stack)
        sums[stack["place"]] += stack["ns"]
    for lengths in whole.get("histograms") or ():
        buckets = lengths["buckets"]
        for key in ("count", "ns"):
            _expect(lengths[key] == sum(bucket[key] for bucket in buckets), key, "of", lengths)
        _expect(all(bucket["atLeastNs"] * bucket["count"] <= bucket["ns"] for bucket in buckets), "lengths", lengths)
        sums[lengths["place"]] += lengths["ns"]
    hidden = whole.get("hiddenStacks", 0) + whole.get("hiddenHistograms", 0)
    for place, ns in whole["places"].items():
        _expect(sums[place] <= ns if hidden else sums[place] == ns, place, "has", ns, "and its rows", sums[place])


def check(name, replies):
    """All replies to one successful call; returns them merged."""
    for reply in replies:
        progress = reply.get("parameters", {}).get("progress")
        if progress and progress.get("total") is not None:
            _expect(0 <= progress["done"], progress)
    whole = _merge(replies)
    groups = whole.get("groups") or []
    for head in whole.get("snapshots") or ():
        _expect(0 <= head.get("processes", 0) <= head.get("threads", 1 << 30), "processes of", head)
    if name in ("Show", "Compare"):
        one_sided = (whole.get("onlyBefore") or []) + (whole.get("onlyAfter") or [])
        two_sided = name == "Compare" or whole.get("kind") == "interval"
        for group in one_sided if two_sided else groups:
            _check_one_sided(group)
        for group in groups if two_sided else ():
            _check_two_sided(group, *(("a", "b") if whole.get("kind") == "intervals" else ("before", "after")))
        keys = [group["key"] for group in groups]
        if not any("tid" in group for group in groups):
            _expect(len(keys) == len(set(keys)), "a key stands twice")
    if name == "CompareSets":
        _expect(0 <= whole["significant"] <= whole["tested"], whole["significant"], "of", whole["tested"])
        for group in whole.get("groups") or ():
            for metric, cell in {**group["metrics"], **group["derived"]}.items():
                _check_set_row(metric, cell)
    if name == "Stacks":
        _check_stacks(whole)
    if name in ("Capture", "Record"):
        head = whole["snapshot"]
        _expect(head["startRealtimeNs"] <= head["endRealtimeNs"] and head["threads"] >= head["processes"] > 0, head)
    for source in whole.get("sources") or ():
        _expect(source["state"] == "ok" or source.get("reason"), "a state without a reason:", source)
    return whole


def totals(whole, rules, side=None):
    """Sums over all groups of a view without a limit: threads, and of each sum its value and its presence."""
    sums = collections.Counter()
    shared = whole.get("groups") or []
    groups = shared if side is None else whole.get(f"only{side.title()}") or []
    for group in groups:
        sums["threads"] += group["threads"]
        for name, cell in group["metrics"].items():
            if rules[name] in SUM_RULES:
                sums[name] += cell["value"] or 0
    if side is not None:
        for group in shared:
            sums["threads"] += group[f"threads{side.title()}"]
            for name, cell in group["metrics"].items():
                if rules[name] in SUM_RULES:
                    sums[name] += cell[side] or 0
    return sums


def check_equal(first, second, what):
    for key in first.keys() | second.keys():
        _expect(first[key] == second[key], what, key, first[key], "and", second[key])
