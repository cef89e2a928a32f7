#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every answer of ctprofctl --json and of the daemon, held against the types of the interface's own text."""
import contextlib
import json
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]

# pylint: disable=wrong-import-position # the modules stand beside this file, and those of the live tests beside them
import rows
import varlink
from harness import BUILD, Daemon, call, expect, expect_equal, main, private_host, run, temporary, test

INTERFACE = "io.ctprof.Profiler"
AXES = "pcomm command comm comm-exact cgroup all thread".split()
SECTIONS = "primary,taskstats-delay,taskstats-accounting,waits,derived,smaps-rollup,host-pressure,sched-ext"
CGROUP_SECTIONS = "cgroup-stats,cgroup-limits,memory-stat,memory-events,pressure"
VARIANTS = 3
STEP_NS = 60 * 10**9


def interface():
    path = BUILD / "protocol" / "interface" / f"{INTERFACE}.varlink"
    return varlink.Interface(path.read_text(encoding="utf-8"))


def make(directory, name, variant):
    """A file of tests/golden, later by a minute for each variant."""
    source = json.loads((HERE.parent / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    for member in (source["head"], source["document"]):
        member["startRealtimeNs"] += variant * STEP_NS
        member["startBoottimeNs"] += variant * STEP_NS
    table = source["document"]["threads"]
    column = table["columns"].index("run_time_ns")
    for number, row in enumerate(table["rows"]):
        row[column] += (number + 1) * variant * 10**6
    source["head"]["endBoottimeNs"] += variant * STEP_NS
    source["document"]["end"]["endBoottimeNs"] += variant * STEP_NS
    source["head"]["name"] = f"{name}-{variant}"
    text = directory / f"{name}-{variant}.json"
    text.write_text(json.dumps(source), encoding="utf-8")
    path = directory / f"{name}-{variant}.ctprof.zst"
    expect_equal(run(BUILD / "tests" / "golden" / "make-file", text, path).status, 0, "make-file")
    return path


class Spool:
    """A daemon whose spool has before-0, after-0, before-1 and so on, each a minute later."""

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.directory = self.stack.enter_context(temporary())
        self.daemon = self.stack.enter_context(Daemon(self.directory))
        for variant in range(VARIANTS):
            for name in ("before", "after"):
                path = make(self.directory, name, variant)
                expect_equal(self.daemon("import", path, "--quiet").status, 0, "import")
        return self

    def __exit__(self, *_):
        self.stack.close()


def views():
    """The words for each axis, with all sections that it has."""
    for axis in AXES:
        yield "--group-by", axis, "--sections", SECTIONS + ("," + CGROUP_SECTIONS if axis in ("cgroup", "all") else "")


def told(complaints):
    """Fails with the first few."""
    complaints = list(complaints)
    expect(not complaints, f"{len(complaints)} complaints:", *(f"\n{complaint}" for complaint in complaints[:8]))


def check(method, *words):
    """The answer to a command, of the types of the method's reply."""
    known = interface()
    answer = SPOOL.daemon(*words, "--json").json()
    told(known.complaints(known.methods[method][1], answer, " ".join(map(str, words))))
    return answer


def check_view(method, kind, *words):
    answer = check(method, *words)
    expect_equal(answer.get("kind"), kind, *words)
    told(rows.complaints(answer))
    return answer


@test
def complaints_are_made():
    """A member that is missing, of another type, or that no type has is found"""
    known = varlink.Interface(
        "interface x.y # z\ntype T (a: int, b: ?[]string, c: ?(d: bool), e: [string]float)\ntype E (one, two)\n"
        "method M(t: T) -> (t: ?T, o: ?object, e: ?E)\nerror Bad (reason: string)")
    kind = known.methods["M"][1]
    right = {"t": {"a": 1, "b": ["x"], "c": {"d": True}, "e": {"k": 1.5, "l": 2}}, "o": {"any": 1}, "e": "one"}
    told(known.complaints(kind, right))
    wrong = [{"t": {"a": 1}}, {"t": {"a": "1", "e": {}}}, {"t": {"a": 1, "e": {}, "f": 1}}, {"t": {"a": True, "e": {}}},
             {"t": {"a": 1, "e": {}, "b": "x"}}, {"t": {"a": 1, "e": {}, "b": [1]}}, {"t": {"a": 1, "e": {"k": "x"}}},
             {"t": {"a": 1, "e": {}, "c": {"d": 1}}}, {"e": "three"}, {"x": None}, []]
    for value in wrong:
        expect(list(known.complaints(kind, value)), "no complaint about", value)
    row = {"value": 1, "present": 1}
    told(rows.group_complaints("state", {"metrics": {"m": row}}, "group"))
    for change in ({"value": "1"}, {"value": None}, {"present": None}, {"more": 1}, {"value": {"min": 1}}):
        group = {"metrics": {"m": row | change}}
        expect(list(rows.group_complaints("state", group, "group")), "no complaint about", change)


@test
def states():
    """show of a snapshot"""
    for view in views():
        check_view("Show", "state", "show", "before-0", *view)
    check_view("Show", "state", "show", "after-0", "--self", "--limit", 2)


@test
def single_intervals():
    """show and compare of an interval"""
    for view in views():
        shown = check_view("Show", "interval", "show", "before-0..after-0", *view)
        compared = check_view("Compare", "interval", "compare", "before-0", "after-0", *view)
        for answer in (shown, compared):
            for member in ("before", "after", "elapsedNs", "lives", "coverage", "hostChanges"):
                expect(member in answer, member, "is missing")
            expect("weight" in answer["groups"][0] and "time" in answer["groups"][0], "weight and time")
        expect_equal(shown["groups"], compared["groups"], "both are one interval", *view)
    swapped = check_view("Compare", "interval", "compare", "after-0", "before-0")
    expect_equal(swapped["swapped"], True, "swapped")


@test
def lifetimes():
    """compare of lives"""
    for view in views():
        check_view("Compare", "totals", "compare", "before-0", "after-0", "--totals", *view)
    check_view("Compare", "totals", "compare", "before-0", "after-1", "--totals", "--limit", 1)


@test
def overviews():
    """The overview and the last reply of each view, as the daemon sends them"""
    known = interface()
    first, last = {"name": "before-0"}, {"name": "after-0"}
    calls = (("Show", {"snapshot": first}), ("Show", {"snapshot": {**first, "to": last}}),
             ("Compare", {"before": first, "after": last}), ("Compare", {"before": first, "after": last, "totals": True}),
             ("Compare", {"before": {**first, "to": last}, "after": {"name": "before-1", "to": {"name": "after-1"}}}))
    for method, parameters in calls:
        view = {"overview": True, "rows": False, "totals": parameters.pop("totals", False)}
        with SPOOL.daemon.connect() as connection:
            replies = call(connection, f"{INTERFACE}.{method}", {**parameters, "view": view}, more=True)
        for reply in replies:
            expect("error" not in reply, method, parameters, reply)
            told(known.complaints(known.methods[method][1], reply["parameters"], method))
        overview = [row for reply in replies for row in reply["parameters"].get("overview") or []]
        expect(len(overview) > 3, method, parameters, "has an overview of", len(overview))
        expect(not any(reply["parameters"].get("groups") for reply in replies), "rows: false leaves the groups out")


@test
def pairs_of_intervals():
    """compare of two intervals, of one boot each"""
    for view in views():
        answer = check_view("Compare", "intervals", "compare", "before-0..after-0", "after-0..after-1", *view)
        expect({"a", "b", "onlyA", "onlyB"} <= answer.keys(), sorted(answer), *view)
        expect(answer["sections"].keys() <= {"smaps-rollup", "cgroup-limits"}, list(answer["sections"]), *view)
    one = check_view("Compare", "intervals", "compare", "before-0..before-1", "before-0..before-1", "--group-by", "thread")
    for group in one["groups"]:
        for name, row in {**group["metrics"], **group["derived"]}.items():
            expect_equal((row["a"], row["changed"]), (row["b"], False), "an interval and itself", group["key"], name)


@test
def sets():
    """compare of sets"""
    before, after = (",".join(f"{name}-{variant}" for variant in range(VARIANTS)) for name in ("before", "after"))
    for axis in set(AXES) - {"thread"}:
        check_view("CompareSets", "sets", "compare", "--before", before, "--after", after, "--group-by", axis)


@test
def errors():
    """Errors have the members of their types"""
    known = interface()
    first, last = {"name": "before-0"}, {"name": "after-0"}
    calls = (("Show", {"snapshot": {"name": "nobody"}}, "NoSuchSnapshot"),
             ("Show", {"snapshot": {**last, "to": first}}, "NoWindow"),
             ("Rename", {"name": "before-0", "newName": "after-0"}, "SnapshotExists"),
             ("Rename", {"name": "before-0", "newName": ".x"}, "InvalidName"))
    for method, parameters, error in calls:
        with SPOOL.daemon.connect() as connection:
            reply = call(connection, f"{INTERFACE}.{method}", parameters, more=True)[-1]
        expect_equal(reply.get("error"), f"{INTERFACE}.{error}", method, parameters)
        told(known.complaints(known.errors[error], reply["parameters"], error))


@test
def housekeeping():
    """The verbs that show and compare nothing"""
    known = interface()
    for method in ("List", "MetricList", "Status"):
        with SPOOL.daemon.connect() as connection:
            reply = call(connection, f"{INTERFACE}.{method}")[-1]
        told(known.complaints(known.methods[method][1], reply["parameters"], method))
    expect_equal(list(SPOOL.daemon("list", "--json").json()), ["snapshots"], "list")
    check("Info", "info", "before-0")
    check("Verify", "verify", "before-0", "after-0")
    check("Capture", "capture", "--tag", "now", "--no-smaps")
    check("Rename", "rename", "now", "then")
    exported = SPOOL.daemon("export", "then", SPOOL.directory / "then.ctprof.zst", "--json").json()
    told(known.complaints(("struct", {"snapshots": ("array", ("named", "Head"))}), exported, "export"))
    check("Remove", "remove", "then")
    check("Import", "import", SPOOL.directory / "then.ctprof.zst")


private_host()
with Spool() as SPOOL:
    main()
