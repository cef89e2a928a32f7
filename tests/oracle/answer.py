# SPDX-License-Identifier: GPL-2.0-or-later
"""What ctprofctl has to answer, computed from the files alone: the members of its JSON that follow from them."""
from account import (NO_PART, account, ages, alive_in, counts_storage, coverage, cuts, grown, memory_between, memory_of,
                     shares, time_parts, weight)
from but import contradictions
from ended import Ended, share_ledger
from host import Host, host_of, limited
from judge import TOTALS, Bound
from lives import SEPARATOR, WAITS, Window, follow, states, windows
from reduce import derive, difference, differs, percent, reduce
from registry import DERIVED, METRICS, REASONS
from shift import shifts

NS = 10**9


def flow(value, elapsed_ns):
    """A second."""
    return None if value is None else value * NS / elapsed_ns


def of_kernel(threads, *windows):
    """Whether no thread of these is one of a program, be it that it ended."""
    threads = [*threads, *(life.latest for window in windows for life in window.lives)]
    rows = [row for window in windows if window.dead for side in window.dead.rows for row in side]
    return all(thread.kthread for thread in [*threads, *rows])


# --- one snapshot ---

def state(snapshot, axis):
    return {"kind": "state", "coverage": None,
            "groups": {key: state_group(threads, snapshot) for key, threads in states(snapshot, axis).items()}}


def state_group(threads, snapshot):
    values, present = reduce(threads)
    time = time_of_lives(threads, values, snapshot)
    return {"threads": len(threads), "time": time, "weight": weight([shares(time, values, Host(None, snapshot), of_kernel(threads))]),
            "metrics": {name: {"value": values[name], "present": present[name]} for name in METRICS},
            "derived": {name: {"value": value} for name, value in derive(values).items()}}


def time_of_lives(threads, values, snapshot):
    # Waits were counted since a moment: of whole lives only of those that began later.
    since = snapshot.head.get("waitsSinceBoottimeNs")
    if since is None or any(thread.start * snapshot.tick_ns < since for thread in threads):
        values = values | dict.fromkeys(WAITS)
    since = snapshot.head.get("reasonsSinceBoottimeNs")
    if since is None or any(thread.start * snapshot.tick_ns < since for thread in threads):
        values = values | dict.fromkeys(REASONS)
    return time_parts(ages(threads, snapshot), values, counts_storage(snapshot, threads))


def time_between(window, work, before, after):
    threads = [thread for life in window.lives if life.after for thread in (life.before, life.after) if thread]
    return time_parts(alive_in(window, before, after), work, counts_storage(after, threads))


# --- one interval ---

def interval(before, after, axis):
    lives = follow(before, after)
    found = windows(before, after, axis)
    return {"kind": "interval", "sameBoot": True, "elapsedNs": after.start_ns - before.start_ns,
            "lives": lives_of(shown(lives, before, after)), "coverage": coverage(lives, before, after),
            "host": host_of(lives, before, after), "limited": limited(before, after),
            "but": contradictions(lives, before, after),
            "groups": {key: interval_group(window, before, after) for key, window in found.items()
                       if not window.only_ended},
            "onlyBefore": {key: {"threads": len(window.ended)} for key, window in found.items() if window.only_ended},
            "onlyAfter": {}}


def shown(lives, *pair):
    """All that a view can show, as one group: ctprof's own threads are left out."""
    ended = None
    if share_ledger(*pair):
        ended = Ended(*pair)
        ended.gone = [life for life in lives if life.after is None and not life.latest.own]
        for side, rows in enumerate(pair[1].rows_since(pair[0])):
            ended.rows[side].extend(row for row in rows if not row.own)
    return Window([life for life in lives if not life.latest.own], ended)


def lives_of(window):
    return {"survived": len(window.survivors), "born": len(window.born), "ended": len(window.ended),
            "bornAndEnded": window.dead.fleeting if window.dead else None}


def exits_of(window):
    if not window.dead:
        return {"exits": None, "births": None, "startedBy": None}
    births = window.dead.exits + len(window.born) - len(window.ended)
    return {"exits": window.dead.exits, "births": births if births >= 0 else None, "startedBy": window.dead.starters}


def interval_group(window, before, after):
    elapsed = after.start_ns - before.start_ns
    work = window.work
    time = time_between(window, work, before, after)
    values = window.values()
    return {"threadsBefore": len(window.sides[0]), "threadsAfter": len(window.sides[1]), "lives": lives_of(window),
            **exits_of(window), "time": time,
            "weight": weight([shares(time, work, Host(before, after), of_kernel([], window), grown(memory_between(window)))]),
            "metrics": {name: interval_metric(name, values[name], window, elapsed) for name in METRICS},
            "derived": interval_derived(values, work)}


def interval_metric(name, values, window, elapsed):
    counted = window.counted(name) if METRICS[name].is_counter else None
    if METRICS[name].is_extreme and window.moved(name):
        values = window.records(METRICS[name])
    row = compared(name, *values, counted is not None and counted.is_reset)
    if counted is not None:
        row |= {"work": window.work[name], "leftOut": counted.left_out,
                "perSecond": None if counted.is_reset else flow(counted.delta, elapsed)}
    if METRICS[name].is_extreme:
        row["inside"] = row["changed"] = window.moved(name)
    return row


def interval_derived(values, work):
    before, after = (derive({name: pair[side] for name, pair in values.items()}) for side in (0, 1))
    done = derive(work)
    return {name: compared(name, before[name], after[name]) | {"work": done[name]} for name in DERIVED}


def compared(name, before, after, is_reset=False):
    delta = difference(name, before, after)
    return {"before": before, "after": after, "delta": delta, "percent": percent(name, before, delta, is_reset),
            "changed": differs(name, before, after), "reset": is_reset}


# --- lives of two snapshots ---

def totals(before, after, axis):
    sides = [states(before, axis), states(after, axis)]
    if axis == "thread":
        sides[0] = renamed(*sides)
    is_one_boot = before.boot == after.boot
    elapsed = after.start_ns - before.start_ns if is_one_boot else None
    return {"kind": "totals", "sameBoot": is_one_boot, "elapsedNs": elapsed, "coverage": None,
            "groups": {key: totals_group([side[key] for side in sides], (before, after), elapsed)
                       for key in sides[0].keys() & sides[1].keys()},
            "onlyBefore": one_sided(sides[0], sides[1], before), "onlyAfter": one_sided(sides[1], sides[0], after)}


def renamed(before, after):
    """Groups of one thread by their later names: a thread that changed its name is the same one."""
    latest = {identity(key): key for key in after}
    return {latest.get(identity(key), key): group for key, group in before.items()}


def identity(key):
    """Without the names."""
    return tuple(key.split(SEPARATOR)[:3])


def one_sided(threads, others, snapshot):
    groups = {key: state_group(members, snapshot) for key, members in threads.items() if key not in others}
    return {key: {name: group[name] for name in ("threads", "metrics")} for key, group in groups.items()}


def totals_group(sides, snapshots, elapsed):
    (before, n_before), (after, n_after) = map(reduce, sides)
    values = before, after
    times = [time_of_lives(*side) for side in zip(sides, values, snapshots)]
    # Only a counter of threads that are all still there can have been reset.
    are_same = elapsed is not None and elapsed >= 0 and \
        sorted(thread.life for thread in sides[0]) == sorted(thread.life for thread in sides[1])
    return {"threadsBefore": len(sides[0]), "threadsAfter": len(sides[1]),
            "time": dict(zip(("before", "after"), times)),
            "weight": weight([shares(time, value, Host(None, snapshot), of_kernel(sides[0] + sides[1]))
                              for time, value, snapshot in zip(times, values, snapshots)]),
            "metrics": {name: totals_metric(name, before[name], after[name], elapsed,
                                            are_same and n_before[name] == n_after[name],
                                            refutes(sides[0], n_before[name], snapshots)) for name in METRICS},
            "derived": {name: compared(name, derive(before)[name], derive(after)[name]) for name in DERIVED}}


def refutes(threads, n, snapshots):
    """Says whether @n threads cannot have done so much in between, who were as @threads at first."""
    bound = Bound(snapshots[1].end_ns - snapshots[0].start_ns, snapshots[0].tick_ns)
    states = [thread.values["state"] for thread in threads if "state" in thread.values]

    def is_too_much(name, growth):
        return bool(states) and name in TOTALS and not set(states) & set(TOTALS[name][1]) and \
            bound.in_ns(name, growth) > bound.most_ns * n
    return is_too_much


def totals_metric(name, before, after, elapsed, are_same, is_too_much):
    is_counter = METRICS[name].is_counter
    is_reset = is_counter and are_same and None not in (before, after) and after < before
    row = compared(name, before, after, is_reset)
    # Other threads than before have it, of those that are all still there.
    if are_same and is_counter and row["delta"] and row["delta"] > 0 and is_too_much(name, row["delta"]):
        row |= {"delta": None, "percent": None}
    if is_counter:
        row["perSecond"] = flow(row["delta"], elapsed) if elapsed and not is_reset else None
    return row


# --- two intervals ---

def intervals(first, second, axis):
    sides = [windows(*pair, axis) for pair in (first, second)]
    pairs = (first, second)
    shown = [{key: window for key, window in side.items() if not window.only_ended} for side in sides]
    both = shown[0].keys() & shown[1].keys()
    if axis == "thread" and first[0].boot == second[0].boot:
        shown[0] = renamed(shown[0], sides[1])
        both = shown[0].keys() & shown[1].keys()
    elif axis == "thread":  # those that live may share a key, and are two groups all the same
        both = {key for key in both if not any(life.after for life in shown[0][key].lives)}
    return {"kind": "intervals",
            "a": intervals_side(first), "b": intervals_side(second),
            **{member: {name: told(follow(*pair), *pair) for name, pair in zip("ab", pairs)}
               for member, told in (("coverage", coverage), ("host", host_of), ("but", contradictions))},
            "limited": {name: limited(*pair) for name, pair in zip("ab", pairs)},
            "waits": shifts(both_accounts(pairs, shown, both)),
            "groups": {key: intervals_group([side[key] for side in shown], pairs) for key in both},
            "onlyA": dict.fromkeys(shown[0].keys() - both, {}),
            "onlyB": dict.fromkeys(shown[1].keys() - both, {})}


def both_accounts(pairs, shown, both):
    """{key: its account in each interval, and how long that was}, of the groups of programs that are in @both."""
    keys = [key for key in both if not of_kernel([], *(side[key] for side in shown))]
    return {key: [(account_between(side[key], pair, False)[0], pair[1].start_ns - pair[0].start_ns)
                  for side, pair in zip(shown, pairs)] for key in keys}


def intervals_side(pair):
    return {"elapsedNs": pair[1].start_ns - pair[0].start_ns, "lives": lives_of(shown(follow(*pair), *pair))}


def done(window):
    """{counter: the work of a group, or None}; None also where a counter fell for some thread."""
    return {name: None if window.counted(name).is_reset else work for name, work in window.work.items()}


def rates(window, elapsed):
    """{metric: a rate a second, or what held at the end}."""
    work, levels = done(window), window.values()
    return {name: flow(work[name], elapsed) if metric.is_counter else levels[name][1] for name, metric in METRICS.items()}


def derived_rates(window, elapsed):
    """Quotients of the work, delays a second, and differences of the lifetimes at the end."""
    work, lifetimes = derive(done(window)), derive(reduce(window.sides[1])[0])
    work["live_heap_estimate"] = lifetimes["live_heap_estimate"]
    for name in ("total_offcpu_delay_ns", "off_cpu_ns"):
        work[name] = flow(work[name], elapsed)
    return work


def intervals_group(sides, pairs):
    works = [window.work for window in sides]
    times = [time_between(window, work, *pair) for window, work, pair in zip(sides, works, pairs)]
    elapsed = [pair[1].start_ns - pair[0].start_ns for pair in pairs]
    values, derived = (list(map(rows, sides, elapsed)) for rows in (rates, derived_rates))
    resets = [name for name in METRICS if METRICS[name].is_counter and any(side.counted(name).is_reset for side in sides)]
    both = lambda items: dict(zip("ab", items))
    return {"threads": both([len(window.sides[1]) for window in sides]),
            "time": both(times), "lives": both([lives_of(window) for window in sides]),
            **{name: both([exits_of(window)[name] for window in sides]) for name in ("exits", "births", "startedBy")},
            "weight": weight([shares(time, work, Host(*pair), of_kernel([], *sides), grown(memory_between(window)))
                              for time, work, pair, window in zip(times, works, pairs, sides)]),
            "metrics": {name: side_by_side(name, values[0][name], values[1][name]) | {"reset": name in resets}
                        for name in METRICS},
            "derived": {name: side_by_side(name, derived[0][name], derived[1][name]) for name in DERIVED}}


def side_by_side(name, first, second):
    delta = difference(name, first, second)
    return {"a": first, "b": second, "delta": delta, "percent": percent(name, first, delta)}


# --- the overview ---

def account_of_lives(threads, snapshot, is_of_kernel):
    """The object Account of a group of one snapshot, and its shares."""
    values = reduce(threads)[0]
    time, host = time_of_lives(threads, values, snapshot), Host(None, snapshot)
    told = account(time, values, host, len(threads)) | memory_of(threads) | {
        "born": None, "ended": None, "startedBy": None, "peakRssBytes": values["hiwater_rss_bytes"], "cut": []}
    return told, shares(time, values, host, is_of_kernel)


def risen(window, name="hiwater_rss_bytes"):
    """The highest peak that was reached inside; None where none was. A process that was born without memory has 0."""
    reached = [life.after.values[name] for life in window.lives if life.after and name in life.after.values
               and (life.moved(name) or life.is_born and life.after.tid == life.after.tgid)]
    peak = window.peak_of_ended(name)
    if peak is not None and not window.dead.left_out("run_time_ns"):
        reached.append(peak)
    return max(reached, default=None)


def account_between(window, pair, is_of_kernel):
    """The same of a group in an interval, without what cannot be of it."""
    work, host = window.cut_work, Host(*pair)
    time = time_between(window, work, *pair)
    memory = memory_between(window)
    told = account(time, work, host, len(window.sides[1])) | memory | {
        "born": len(window.born), "ended": len(window.ended), "peakRssBytes": risen(window),
        "bornAndEnded": window.dead.fleeting if window.dead else None, "cut": cuts(window, host),
        "startedBy": window.dead.starters if window.dead else None,
        "leftOut": window.dead.left_out("run_time_ns") + window.dead.elsewhere if window.dead else None}
    return told, shares(time, work, host, is_of_kernel, grown(memory))


def overview_of(sides, names=("before", "after")):
    """{key: row of the overview} of one or two sides, each {key: (account, shares)}; who has no thread has no part."""
    found = {}
    for key in {key: None for side in sides for key in side}:
        here = [side.get(key, (None, NO_PART)) for side in sides]
        found[key] = {"weight": weight([share for _, share in here]), "accounts": [told for told, _ in here]}
        if None in found[key]["accounts"]:
            found[key]["only"] = names[found[key]["accounts"].index(None) ^ 1]
    return found


def overview_of_state(snapshot, axis):
    return overview_of([{key: account_of_lives(threads, snapshot, of_kernel(threads))
                         for key, threads in states(snapshot, axis).items()}])


def overview_of_interval(pair, axis):
    return overview_of([accounts_between(pair, windows(*pair, axis))])


def accounts_between(pair, found, others=()):
    """@others: {key: Window} of the other interval."""
    return {key: account_between(window, pair, of_kernel([], window, *([others[key]] if key in others else [])))
            for key, window in found.items() if not window.only_ended}


def overview_of_totals(pair, axis):
    sides = [states(snapshot, axis) for snapshot in pair]
    if axis == "thread":
        sides[0] = renamed(*sides)
    both = {key: of_kernel(sides[0].get(key, []) + sides[1].get(key, [])) for side in sides for key in side}
    return overview_of([{key: account_of_lives(threads, snapshot, both[key]) for key, threads in side.items()}
                        for side, snapshot in zip(sides, pair)])


def overview_of_intervals(first, second, axis):
    found = [windows(*pair, axis) for pair in (first, second)]
    if axis == "thread":
        found[0] = renamed(*found)
    return overview_of([accounts_between(pair, one, other) for pair, one, other in zip((first, second), found, found[::-1])],
                       ("a", "b"))
