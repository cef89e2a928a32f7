# SPDX-License-Identifier: GPL-2.0-or-later
"""What threads wait for instead of what they did in another interval: the member "waits" of two intervals.

The time of a group is divided into parts that exclude each other. Of two intervals some parts have more of a second and
some less; what threads bring that came to be, or take that ended, has moved nowhere, so a part has gained no more than
the others have lost together. Of each group the part is told that moved furthest, and was waited in. Where somebody chose
to wait (asleep, or for work), only more of it is told, beside what nobody chooses (locks, storage, the kernel) only if
it is so much more. Of the latter two a sync is told instead where it is most of what changed.
"""
from fractions import Fraction

from account import APART

LEAST, LEAST_SHARE = Fraction(1, 20), Fraction(1, 10)  # seconds in each second; of what the part was at most
PREFERENCE = Fraction(5, 4)
TOLD = 16
NEVER = "idle"


def parts_of(account, elapsed_ns):
    """{part: seconds in each second}, and sync, which is no part; None where it is not known."""
    found = {"running": account["runningNs"], "waiting": account["waitingNs"], "storage": account["storageNs"],
             "uninterruptible": account["blockedNs"], "sync": account["syncNs"], **account["reasons"]}
    return {name: None if ns is None else Fraction(ns, elapsed_ns) for name, ns in found.items()}


def is_forced(part):
    return part in ("lock", "storage", "uninterruptible", "sync")


def shifts_of(first, second):
    """[(part, how far it moved)] of a group, of what nobody chooses and of the rest."""
    moves = {name: 0 if None in (first[name], second[name]) else second[name] - first[name] for name in first}
    exclusive = [move for name, move in moves.items() if name != "sync"]
    gained, lost = sum(move for move in exclusive if move > 0), -sum(move for move in exclusive if move < 0)
    best = {True: (0, None), False: (0, None)}
    for name in [*sorted(APART), "storage", "uninterruptible", "sync"]:
        move = moves[name]
        far = min(move, lost) if move > 0 else min(-move, gained)
        is_syncs = name in ("storage", "uninterruptible") and 2 * abs(moves["sync"]) > abs(move)
        if name == NEVER or is_syncs or move < 0 and not is_forced(name):
            continue
        if far < LEAST or far < LEAST_SHARE * max(first[name] or 0, second[name] or 0):
            continue
        if far > best[is_forced(name)][0]:
            best[is_forced(name)] = far, name
    (forced, _), (other, _) = best[True], best[False]
    told = [best[True]] * (forced > 0) + [best[False]] * (other > forced * PREFERENCE)
    return [(name, far) for far, name in told]


def shifts(accounts):
    """@accounts: {key: [(account, nanoseconds)]}, of both intervals."""
    found = []
    for key, sides in accounts.items():
        if any(account["reasons"] is None for account, _ in sides):
            continue
        for part, far in shifts_of(*(parts_of(*side) for side in sides)):
            found.append((not is_forced(part), -far, key, part))
    names = {"storage": "storageNs", "uninterruptible": "blockedNs", "sync": "syncNs"}
    value = lambda account, part: account[names[part]] if part in names else account["reasons"][part]
    return [{"key": key, "reason": part, "threads": accounts[key][1][0]["threads"],
             **{f"{side}Ns": value(account, part) for side, (account, _) in zip("ab", accounts[key])}}
            for _, _, key, part in sorted(found)[:TOLD]]
