#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A soak of seconds, and every wrong call once; tests/soak/run is the same for as long as one likes."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "live")]

# pylint: disable=wrong-import-position # they are found there
import checks
import soak
from calls import PROFILER, wrong_calls
from harness import Daemon, call, expect, main, need_root, temporary, test
from interface import Mismatch
from ledger import Ledger


@test
def wrong_calls_are_refused():
    """every way to be wrong is refused with an error that the interface describes, member by member"""
    with temporary() as directory, Daemon(directory) as daemon:
        connection = daemon.connect()
        description = soak.describe(connection)
        call(connection, f"{PROFILER}.Capture", {"tag": "a"})
        for method, parameters, more in wrong_calls():
            replies = call(connection, f"{PROFILER}.{method}", parameters, more=more)
            error = description.check_reply(f"{PROFILER}.{method}", replies[-1])
            expect(error, method, parameters, "was answered:", str(replies)[:200])
        print(f"# {len(wrong_calls())} calls")


@test
def checker_bites():
    """answers that are not as described are noticed"""
    with temporary() as directory, Daemon(directory) as daemon:
        connection = daemon.connect()
        description = soak.describe(connection)
        status = call(connection, f"{PROFILER}.Status")[0]
        expect(description.check_reply(f"{PROFILER}.Status", status) == "", "the status")

    def spoil(**changes):
        return {"parameters": {**status["parameters"], **changes}}

    wrong = [spoil(more=1), spoil(jobs={"running": 1}), spoil(jobs={"running": "1", "waiting": 0}),
             spoil(jobs={"running": True, "waiting": 0}), spoil(jobs={"running": 1 << 64, "waiting": 0}),
             spoil(jobs={**status["parameters"]["jobs"], "running": None}), spoil(sources=[5]),
             {"error": f"{PROFILER}.Unheard"}, {"error": f"{PROFILER}.Busy"}, {"reply": {}}, []]
    for message in wrong:
        try:
            description.check_reply(f"{PROFILER}.Status", message)
        except Mismatch:
            continue
        raise AssertionError(f"not noticed: {message}")


def head(name, start, uid=1000, tagged=True):
    return {"name": name, "startRealtimeNs": start, "uid": uid, "tagged": tagged}


@test
def ledger_bites():
    """snapshots that are lost, come back or change hands are noticed, and nothing else is"""
    one, two, other = head("a", 1), head("b", 2, tagged=False), head("c", 3, uid=2000)

    def judge(present, *calls, doubt=()):
        ledger = Ledger()
        for number, (method, uid, answer) in enumerate(calls):
            ledger.acknowledge(method, uid, answer, number)
        if doubt:
            ledger.doubt("Remove", doubt, 100)
        return bool(ledger.judge(present))

    made = [("Capture", 1000, {"snapshot": one}), ("Capture", 1000, {"snapshot": two})]
    gone = ("Remove", 1000, {"snapshots": [one]})
    renamed = ("Rename", 1000, {"snapshots": [head("d", 1)], "oldName": "a"})
    rotating = ("Capture", 2000, {"snapshot": other, "rotated": ["b"]})
    replacing = ("Capture", 1000, {"snapshot": head("a", 9), "replaced": one})
    for present, calls in (([one, two], made), ([two], [*made, gone]), ([two, head("d", 1)], [*made, renamed]),
                           ([one, other], [*made, rotating]), ([two, head("a", 9)], [*made, replacing])):
        expect(not judge(present, *calls), "seen where all is well:", present, calls)
    for present, calls in (([two], made), ([one], made), ([one, two], [*made, gone]), ([one, two, other], made),
                           ([head("a", 1, uid=5), two], made), ([one, two, head("d", 1)], [*made, renamed]),
                           ([one, two, other], [*made, rotating]), ([two], [*made, replacing]),
                           ([two], [*made, ("Remove", 2000, {"snapshots": [one]})])):
        expect(judge(present, *calls), "not noticed:", present, calls)
    ledger = Ledger()
    ledger.acknowledge("Remove", 1000, {"snapshots": [one]}, 1)
    expect(ledger.judge([]), "it was removed and nobody made it")
    ledger.take_log('ctprofd: uid 1000 took snapshot "a"')
    expect(not ledger.judge([]), "it was made for a caller who had left")
    expect(not judge([two], *made, doubt=["a"]), "a call of unknown end may have removed it")


@test
def numbers_bite():
    """numbers of one answer that contradict each other are noticed"""
    cell = {"value": 5, "present": 2}
    group = {"key": "a", "threads": 2, "metrics": {"minflt": cell}}
    row = {"before": 1, "after": 4, "delta": 3, "percent": 300.0}
    pair = {"key": "a", "threadsBefore": 1, "threadsAfter": 1, "metrics": {"minflt": row}}

    def show(**changes):
        return checks.check("Show", [{"parameters": {"groups": [{**group, **changes}]}}])

    stack = {"place": "lock", "ns": 5, "samples": 1, "frames": ["main"]}
    lengths = {"place": "lock", "count": 2, "ns": 5, "buckets": [{"atLeastNs": 2, "belowNs": 4, "count": 2, "ns": 5}]}

    def stacks(places, **rows):
        return checks.check("Stacks", [{"parameters": {"places": places}}, {"parameters": rows}])

    def compare(**changes):
        return checks.check("Compare", [{"parameters": {"groups": [{**pair, **changes}]}}])

    show()
    compare()
    stacks({"lock": 5}, stacks=[stack], hiddenStacks=0)
    stacks({"lock": 9}, stacks=[stack], hiddenStacks=3)
    stacks({"lock": 5}, histograms=[lengths], hiddenHistograms=0)
    wrong = [lambda: stacks({"lock": 9}, stacks=[stack], hiddenStacks=0), lambda: stacks({"lock": 4}, stacks=[stack], hiddenStacks=1),
             lambda: stacks({"lock": 5}, stacks=[{**stack, "frames": None}]),
             lambda: stacks({"lock": 5}, histograms=[{**lengths, "count": 3}]),
             lambda: stacks({"lock": 3}, histograms=[{**lengths, "ns": 3, "buckets": [{**lengths["buckets"][0], "ns": 3}]}]),
             lambda: show(threads=0), lambda: show(threads=1),
             lambda: show(metrics={"minflt": {**cell, "value": None}}),
             lambda: show(members=[{"name": "x", "threads": 3}]),
             lambda: compare(metrics={"minflt": {**row, "delta": 2}}),
             lambda: compare(metrics={"minflt": {**row, "before": None}}), lambda: compare(lives={"survived": 1, "born": 1, "ended": 0}),
             lambda: checks.check_equal(checks.totals({"groups": [group]}, {"minflt": "SumCount"}),
                                        checks.totals({"groups": [group, group]}, {"minflt": "SumCount"}), "totals of"),
             lambda: checks.check("Show", [{"parameters": {"groups": [group, group]}}])]
    for number, make in enumerate(wrong):
        try:
            make()
        except checks.Implausible:
            continue
        raise AssertionError(f"number {number} is not noticed")


@test
def seconds_of_everything():
    """clients that call everything and misbehave leave nothing behind, and lose nothing"""
    need_root()
    with temporary() as directory:
        promises = soak.measure(15, 9, 5, directory)
        for line in (directory / "summary.txt").read_text(encoding="utf-8").splitlines():
            print("#", line)
    for promise, kept, figures in promises:
        expect(kept, promise, figures)


main()
