#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line as its contract says: verbs, JSON shapes, exit statuses, where text goes."""
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from harness import (CTPROFCTL, CTPROFD, Daemon, Idle, Local, expect, expect_equal, main, run, temporary, test,
                     wait_until)

SOURCES = ("stat schedstat sched schedstats status io cgroup affinity smaps_rollup taskstats taskstats-delay "
           "taskstats-irq jemalloc cgroup-stats host-pressure cgroup-pressure sched-ext host host-cpu "
           "host-memory host-disk host-network exits waits reasons cmdline").split()
STATES = {"ok", "partial", "unavailable", "not-requested", "not-applicable"}
COUNTS = ("ok", "denied", "vanished", "unsupported", "malformed", "other")
VERBS = ("capture list show compare run record metric-list info verify remove rename export import metrics "
         "status").split()
DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def registry(name):
    with open(DATA / name, encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def check_head(head, name):
    expect_equal(head["name"], name, "name")
    for key in ("formatVersion", "startRealtimeNs", "endRealtimeNs", "startBoottimeNs", "endBoottimeNs",
                "threads", "processes", "sizeBytes", "uid"):
        expect(isinstance(head[key], int) and head[key] >= 0, key, head.get(key))
    expect(head["startBoottimeNs"] < head["endBoottimeNs"], "times")
    for key in ("bootId", "machineId"):
        if key in head:
            expect(re.fullmatch(r"[0-9a-f]{32}", head[key]), key, head[key])
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    expect_equal(head["bootId"], boot.strip().replace("-", ""), "boot id")
    expect_equal(head["kernelRelease"], os.uname().release, "kernel")
    expect_equal(head["hostName"], os.uname().nodename, "host")
    expect_equal(head["backend"], "procfs", "backend")
    expect_equal(head["uid"], os.getuid(), "uid")
    expect(isinstance(head["complete"], bool) and isinstance(head["tagged"], bool), head)
    expect(all(head["cost"][key] > 0 for key in ("wallNs", "cpuNs", "peakRssBytes")), head["cost"])
    expect(None not in head.values(), "unknown members are left out", head)


def check_sources(sources):
    expect_equal([source["name"] for source in sources], SOURCES, "sources")
    for source in sources:
        expect(source["state"] in STATES, source)
        expect_equal("reason" in source, source["state"] != "ok", source)
        for count in COUNTS:
            expect(isinstance(source[count], int) and source[count] >= 0, source)
        if source["state"] == "ok":
            expect_equal([source[count] for count in ("denied", "unsupported", "malformed", "other")],
                         [0, 0, 0, 0], source["name"])
    by_name = {source["name"]: source for source in sources}
    expect(by_name["stat"]["ok"] > 0, by_name["stat"])
    expect(by_name["jemalloc"]["state"] != "not-requested", by_name["jemalloc"])
    return by_name


@test
def capture_list_info_verify():
    """capture, list, info, verify, rename and remove answer in the shapes of the contract"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        answer = ctl("capture", "--tag", "a", "-j").json()
        expect_equal(set(answer) - {"rotated"}, {"snapshot", "sources"}, "members")
        check_head(answer["snapshot"], "a")
        sources = check_sources(answer["sources"])
        wanted = [s for s in sources.values() if s["name"] != "jemalloc" and s["state"] != "not-requested"]
        expect_equal(answer["snapshot"]["complete"],
                     all(s["state"] in ("ok", "not-applicable") for s in wanted), "complete")
        untagged = ctl("capture", "--no-smaps", "--json").json()
        expect(re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z(-\d+)?", untagged["snapshot"]["name"]), untagged["snapshot"])
        expect_equal(untagged["snapshot"]["tagged"], False, "tagged")
        expect_equal(check_sources(untagged["sources"])["smaps_rollup"]["state"], "not-requested", "smaps")

        heads = ctl("list", "--json").json()["snapshots"]
        expect_equal([head["name"] for head in heads], [untagged["snapshot"]["name"], "a"], "newest first")
        check_head(heads[1], "a")
        info = ctl("info", "latest~1", "--json").json()
        expect_equal(set(info), {"snapshot", "host", "sources"}, "members")
        check_head(info["snapshot"], "a")
        expect_equal(info["host"]["kernel_release"], os.uname().release, "host context")
        results = ctl("verify", "--all", "--json").json()["results"]
        expect_equal({(r["name"], r["ok"]) for r in results},
                     {("a", True), (untagged["snapshot"]["name"], True)}, "verify")
        moved = ctl("rename", untagged["snapshot"]["name"], "b", "--json").json()["snapshots"]
        expect_equal([(head["name"], head["tagged"]) for head in moved], [("b", True)], "rename")
        expect_equal(ctl("verify", "b").status, 0, "a renamed snapshot verifies")
        gone = ctl("remove", "a", "b", "--json").json()["snapshots"]
        expect_equal([head["name"] for head in gone], ["a", "b"], "remove")
        expect_equal(ctl("list", "--json").json(), {"snapshots": []}, "an empty spool")


@test
def metric_list_is_the_registry():
    """metric-list --json holds every row of the registry"""
    answer = run(CTPROFCTL, "metric-list", "--json").json()
    rows = registry("metrics.tsv") + registry("metrics-accounting.tsv") + registry("metrics-memory.tsv") + \
        registry("metrics-waits.tsv")
    expect_equal([m["name"] for m in answer["metrics"]], [row["name"] for row in rows], "metrics")
    for metric, row in zip(answer["metrics"], rows):
        expect_equal((metric["type"], metric["rule"], metric["section"], metric["class"]),
                     (row["value_type"], row["agg_rule"], row["section"], row["sched_class"]), row["name"])
        gates = [] if row["config_gates"] == "-" else row["config_gates"].split(",")
        expect_equal(metric["gates"], gates, row["name"])
        expect(metric["description"] and metric["unit"], row["name"])
    expect_equal([d["name"] for d in answer["derived"]], [row["name"] for row in registry("derived.tsv")],
                 "derived")
    table = run(CTPROFCTL, "metric-list")
    expect(all(row["name"] in table.out for row in rows), "the table lacks a metric")


@test
def show_and_compare():
    """show and compare have every metric and derived value of the default sections, null with a reason"""
    rows = registry("metrics.tsv") + registry("metrics-memory.tsv") + registry("metrics-waits.tsv")
    derived = [row["name"] for row in registry("derived.tsv")]
    # A name of our own: other pools of idle threads may be on this host.
    pool = f"pool-{os.getpid()}"
    with temporary() as directory, Idle(8, 2, pool):
        ctl = Local(directory / "spool")
        for tag in ("a", "b"):
            expect_equal(ctl("capture", "--tag", tag).status, 0, "capture")
        answer = ctl("show", "a", "--json").json()
        check_head(answer["snapshot"], "a")
        expect(answer["groups"], "no groups")
        total = 0
        for group in answer["groups"]:
            expect_equal(set(group["metrics"]), {row["name"] for row in rows}, group["key"])
            expect_equal(set(group["derived"]), set(derived), group["key"])
            total += group["threads"]
            for name, cell in group["metrics"].items():
                expect_equal(cell["value"] is None, bool(cell.get("reason")), name, cell)
                expect_equal(cell["value"] is None, cell["present"] == 0, name)
                expect(cell["present"] <= group["threads"], name)
        # ctprof's own threads are marked and left out.
        own = ctl("show", "a", "--self", "--json").json()
        expect(sum(group["threads"] for group in own["groups"]) > total, "own threads")
        expect_equal(sum(group["threads"] for group in own["groups"]), answer["snapshot"]["threads"], "threads")

        answer = ctl("compare", "a", "b", "--totals", "--json").json()
        expect_equal(answer["kind"], "totals", "kind")
        expect({"before", "after", "sameBoot", "elapsedNs", "hostChanges", "groups", "onlyBefore",
                "onlyAfter", "sections"} <= set(answer), set(answer))
        expect_equal(answer["elapsedNs"],
                     answer["after"]["startBoottimeNs"] - answer["before"]["startBoottimeNs"], "elapsed")
        exact = ctl("compare", "a", "b", "--totals", "--json", "--group-by", "comm-exact").json()
        idle = next(group for group in exact["groups"] if group["key"] == pool)
        expect_equal((idle["threadsBefore"], idle["threadsAfter"]), (6, 6), "threads")
        for name, cell in idle["metrics"].items():
            one_sided = cell["before"] is None or cell["after"] is None
            expect_equal("reason" in cell, one_sided, name, cell)
            if one_sided:
                expect(cell["delta"] is None and cell["percent"] is None and cell["reason"], name, cell)
        kinds = {row["name"]: row["agg_rule"] for row in rows}
        for name, cell in idle["metrics"].items():
            value = cell["after"]
            if value is None:
                continue
            if kinds[name].startswith("Range"):
                expect_equal(set(value), {"min", "max"}, name)
            elif kinds[name].startswith("Mode"):
                expect_equal(set(value), {"mode", "count", "total"}, name)
            elif kinds[name] == "Affinity":
                expect({"minCpus", "maxCpus", "uniform"} <= set(value), name, value)
            else:
                expect(isinstance(value, int), name, value)
        filtered = ctl("compare", "a", "b", "--json", "--metrics", "run_time_ns,nice,avg_slice_ns",
                       "--limit", "1").json()
        expect_equal(len(filtered["groups"]), 1, "--limit")
        expect_equal(set(filtered["groups"][0]["metrics"]), {"run_time_ns", "nice"}, "--metrics")
        accounting = ctl("show", "a", "--json", "--sections", "taskstats-accounting").json()
        expect_equal(set(accounting["groups"][0]["metrics"]),
                     {row["name"] for row in registry("metrics-accounting.tsv")}, "the section when named")
        for axis in ("pcomm", "comm", "comm-exact", "cgroup", "thread"):
            groups = ctl("show", "a", "--json", "--group-by", axis).json()["groups"]
            expect_equal(sum(group["threads"] for group in groups), total, axis)
        parts = ctl("show", "a", "--json", "--group-by", "thread").json()["groups"][0]
        expect({"pid", "tid", "startTicks"} <= set(parts), set(parts))


@test
def intervals_are_between_two_snapshots():
    """A..B is what was done between two snapshots, however they are named; what is none is told in one sentence"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        for tag in "abc":
            expect_equal(ctl("capture", "--tag", tag).status, 0, "capture")
        expect_equal(ctl("export", "a", cwd=directory).status, 0, "export")
        file = directory / "a.ctprof.zst"
        for text, before, after in (("a..b", "a", "b"), ("a..", "a", "c"), ("..", "b", "c"), ("a..latest~1", "a", "b"),
                                    (f"{file}..b", "a", "b"), (f"{file}..", "a", "c")):
            answer = ctl("show", text, "--json").json()
            expect_equal((answer["kind"], answer["before"]["name"], answer["after"]["name"]),
                         ("interval", before, after), text)
            expect_equal(answer["elapsedNs"],
                         answer["after"]["startBoottimeNs"] - answer["before"]["startBoottimeNs"], text)
        shown, compared = ctl("show", "a..b", "--json").json(), ctl("compare", "a", "b", "--json").json()
        expect_equal(shown, compared, "compare of two snapshots of one boot is the interval")
        expect_equal(ctl("compare", "b", "a", "--json").json()["swapped"], True, "swapped")
        expect_equal(ctl("show", "a", "--json").json()["kind"], "state", "a snapshot")
        pair = ctl("compare", "a..b", "b..c", "--json").json()
        expect_equal((pair["kind"], pair["a"]["after"]["name"], pair["b"]["after"]["name"]), ("intervals", "b", "c"), "pair")
        for side, tags in (("a", "ab"), ("b", "bc")):
            lone = ctl("show", "..".join(tags), "--group-by", "all", "--json").json()
            both = ctl("compare", "a..b", "b..c", "--group-by", "all", "--json").json()
            work = {group["key"]: group["metrics"]["run_time_ns"].get("perSecond") for group in lone["groups"]}
            for group in both["groups"]:
                rate = group["metrics"]["run_time_ns"][side]
                if rate is not None and work.get(group["key"]) is not None:
                    expect(abs(rate - work[group["key"]]) <= 1e-9 * abs(rate), side, group["key"], rate, work[group["key"]])
        sets = ctl("compare", "--before", "a..b,b..c", "--after", "a..c", "--json")
        expect_equal((sets.status, "same capture" in sets.one_sentence()), (2, True), sets.err)
        sets = ctl("compare", "--before", "a..b", "--after", "c,b..latest", "--json")
        expect_equal((sets.status, "same capture" in sets.one_sentence()), (2, True), sets.err)
        for words, status, part in ((("show", "b..a"), 1, "a..b"), (("show", "..a"), 1, "a..c"),
                                    (("show", "a..a"), 1, "same capture"), (("show", "a..nobody"), 1, "nobody"),
                                    (("show", "a..b", "--totals"), 2, "--totals"),
                                    (("show", "a", "--window"), 2, "A..B"),
                                    (("compare", "a", "b", "--threshold", "3"), 2, "A..B C..D"),
                                    (("compare", "a", "b", "--sort-by", "percent"), 2, "--totals"),
                                    (("compare", "a", "b", "--columns", "group,%"), 2, "--totals"),
                                    (("show", "a..b", "--threshold", "3"), 2, "--totals"),
                                    (("compare", "a..b"), 2, "another interval"),
                                    (("compare", "a..b", "c"), 2, "of one sort"),
                                    (("run", "--threshold", "3", "--", "false"), 2, "--totals"),
                                    (("capture", "--tag", "a..b"), 2, ".."), (("rename", "a", "x."), 2, "dot")):
            result = ctl(*words)
            expect_equal((result.status, part in result.one_sentence()), (status, True), words, result.err)


@test
def run_measures_a_command():
    """run captures around a command, says what it cost and passes its exit status on"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        result = ctl("run", "--tag", "r", "--", "sh", "-c", "echo out; exit 7")
        expect_equal(result.status, 7, result.err)
        expect("sh -c" in result.out and "7" in result.out, result.out)
        names = {head["name"] for head in ctl("list", "--json").json()["snapshots"]}
        expect_equal(names, {"r-before", "r-after"}, "snapshots")
        result = ctl("run", "--json", "--", "sh", "-c", "echo out; kill -TERM $$")
        expect_equal(result.status, 128 + 15, result.err)
        json.loads(result.out)
        expect("out" in result.err, "the command's output goes to stderr")
        missing = ctl("run", "--tag", "m", "--", "/nonexistent/command")
        expect_equal(missing.status, 127, missing.err)
        expect("/nonexistent/command" in missing.err, missing.err)


@test
def run_survives_signals():
    """however a signal ends the command, run captures, prints and exits as the command did"""
    def to_us(process):
        process.send_signal(signal.SIGTERM)

    def as_timeout_does(process):
        process.send_signal(signal.SIGTERM)
        os.killpg(process.pid, signal.SIGTERM)

    def as_timeout_does_slowly(process):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGTERM)

    def as_a_terminal_does(process):
        os.killpg(process.pid, signal.SIGINT)

    with temporary() as directory:
        ways = ((to_us, (), 15), (to_us, ("--json",), 15), (as_timeout_does, (), 15),
                (as_timeout_does_slowly, (), 15), (as_a_terminal_does, (), 2), (as_a_terminal_does, ("--json",), 2))
        for i, (way, options, number) in enumerate(ways):
            runs = directory / f"runs-{i}"
            command = ("sh", "-c", f"touch {runs}; exec sleep 60")
            with subprocess.Popen([CTPROFCTL, "--local", "--spool", directory / "spool", "run", "--tag", f"r{i}",
                                   *options, "--", *command], start_new_session=True, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                wait_until(runs.exists, what="the command to run")
                begin = time.monotonic()
                way(process)
                out, err = process.communicate(timeout=120)
            expect_equal(process.returncode, 128 + number, way.__name__, out, err)
            expect(time.monotonic() - begin < 50, "the command ran its full time")
            if options:
                expect_equal(json.loads(out)["command"]["signal"], number, out[:300])
            else:
                expect(f"signal {number}" in out.splitlines()[0], out, err)
        names = {head["name"] for head in Local(directory / "spool")("list", "--json").json()["snapshots"]}
        expect_equal(names, {f"r{i}-{side}" for i in range(len(ways)) for side in ("before", "after")}, "snapshots")


@test
def files_go_out_and_in():
    """export is byte-exact, never overwrites; import takes name and owner from the call"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
        expect_equal(ctl("export", "a", cwd=directory).status, 0, "export")
        file = directory / "a.ctprof.zst"
        expect_equal(file.read_bytes(), (directory / "spool" / "a.ctprof.zst").read_bytes(), "bytes")
        expect_equal(ctl("export", "a", cwd=directory).status, 1, "export again")
        expect_equal(ctl("import", file).status, 1, "its name is taken")
        heads = ctl("import", file, "--tag", "b", "--json").json()["snapshots"]
        expect_equal([(head["name"], head["tagged"]) for head in heads], [("b", True)], heads)
        expect_equal(heads[0]["importedFrom"]["name"], "a", "origin")
        expect_equal(ctl("compare", "a", "b", "--json").json()["elapsedNs"], 0, "the same capture")
        mixed = ctl("compare", "a", file, "--json").json()
        expect_equal(mixed["after"]["name"], "a", "a name and a file together")
        alone = run(CTPROFCTL, "show", file, "--json", env={"CTPROF_SOCKET": "/nonexistent"})
        expect_equal(alone.status, 0, "a file needs no daemon: " + alone.err)
        lines = run("sh", "-c", f"{CTPROFCTL} --local --spool {directory}/spool export a - --format ndjson")
        rows = [row for row in map(json.loads, lines.out.splitlines()) if row["kind"] == "thread"]
        expect_equal(len(rows), heads[0]["threads"], "one line a thread")
        out = directory / "o.ctprof.zst"
        expect_equal(ctl("capture", "--output", out).status, 0, "capture --output")
        expect_equal(ctl("verify", out).status, 0, "what it wrote")
        expect_equal({head["name"] for head in ctl("list", "--json").json()["snapshots"]}, {"a", "b"}, "spool")


@test
def imports_are_never_the_latest():
    """list is in the order of publishing and marks imports; latest is what was captured here, and published last"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        for name in ("a", "b"):
            expect_equal(ctl("capture", "--tag", name, "-q").status, 0, "capture")
        future = directory / "future.json"
        future.write_text(json.dumps({"captured_at_unix_ns": 9214646400000000000, "threads": [], "cgroup_stats": {},
                                      "probe_summary": None, "parse_summary": None, "taskstats_summary": None,
                                      "psi": {}, "host": None, "sched_ext": None}), encoding="ascii")
        packed = directory / "future.ctprof.zst"
        expect_equal(run("zstd", "-q", future, "-o", packed).status, 0, "zstd")
        imported = ctl("import", packed, "--tag", "future")
        expect_equal(imported.status, 0, imported.err)
        heads = ctl("list", "--json").json()["snapshots"]
        expect_equal([head["name"] for head in heads], ["future", "b", "a"], "newest first by publishing")
        expect(heads[0]["publishedRealtimeNs"] > heads[1]["publishedRealtimeNs"] > heads[2]["publishedRealtimeNs"], heads)
        expect(heads[0]["startRealtimeNs"] > heads[0]["publishedRealtimeNs"], "the time of the origin")
        expect(heads[1]["allocatedBytes"] > 0, heads[1])
        expect(re.search(r"^future +2262-[^\n]* imported ", ctl("list").out, re.M), ctl("list").out)
        expect_equal(ctl("info", "latest", "--json").json()["snapshot"]["name"], "b", "latest")
        expect_equal(ctl("info", "latest~1", "--json").json()["snapshot"]["name"], "a", "latest~1")
        expect_equal(ctl("info", "latest~2").status, 1, "latest~2")
        expect_equal(ctl("info", "future").status, 0, "by its name")
        expect_equal(ctl("rename", "a", "z").status, 0, "rename")
        expect_equal(ctl("info", "latest", "--json").json()["snapshot"]["name"], "b", "latest after renaming an old one")
        expect_equal(ctl("remove", "latest", "--json").json()["snapshots"][0]["name"], "b", "remove latest")


@test
def status_tells():
    """status has version, capabilities, sources, spool and jobs"""
    with temporary() as directory, Daemon(directory) as daemon:
        answer = daemon("status", "--json").json()
        expect_equal(set(answer),
                     {"daemon", "backend", "sources", "capture", "sample", "reasons", "recording", "spool", "jobs", "ended"}, "members")
        expect_equal(set(answer["daemon"]), {"version", "uptimeNs", "uid", "capabilities"}, "daemon")
        expect_equal(set(answer["spool"]), {"path", "snapshots", "bytes", "maxBytes", "keepFreeBytes", "freeBytes", "keepFreeFiles", "freeFiles"},
                     "spool")
        expect_equal(set(answer["jobs"]), {"running", "waiting", "hanging", "barredOwners"}, "jobs")
        expect_equal([source["name"] for source in answer["sources"]], SOURCES, "sources")
        expect_equal(answer["spool"]["path"], str(daemon.spool), "path")
        expect_equal((answer["capture"], type(answer["sample"])), (None, dict), "before the first capture")
        expect_equal(daemon("capture", "--tag", "first").status, 0)
        told = daemon("status", "--json").json()
        info = daemon("info", "first", "--json").json()
        expect_equal((told["capture"], told["sample"], told["sources"]),
                     ({"name": "first", "startRealtimeNs": info["snapshot"]["startRealtimeNs"]}, None, info["sources"]), "after a capture")
        expect("as the last capture found them, first (" in " ".join(daemon("status").out.split()), "text")
        expect("ctprofd" in daemon("status").out or answer["daemon"]["version"] in daemon("status").out, "text")


@test
def help_and_version():
    """every program and verb has --help on stdout, exit 0, within 80 columns"""
    for command in ([CTPROFCTL, "--help"], [CTPROFD, "--help"], *([CTPROFCTL, v, "--help"] for v in VERBS)):
        result = run(*command)
        expect_equal((result.status, result.err), (0, ""), command)
        wide = [line for line in result.out.splitlines() if len(line) > 80]
        expect_equal(wide, [], f"{command}: lines over 80 columns")
        first = result.out.splitlines()[0]
        expect(os.path.basename(command[0]) in first, command, first)
    for verb in VERBS:
        expect(verb in run(CTPROFCTL, "--help").out, verb)
    for program in (CTPROFCTL, CTPROFD):
        expect(re.search(r"\d+\.\d+", run(program, "--version").out), program)


@test
def pipes_get_plain_text():
    """a pipe gets no colour, no pager, no progress, no trailing blanks; results are on stdout alone"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        first = ctl("capture", "--tag", "a")
        expect_equal(first.status, 0, first.err)
        expect("a" in first.out, first.out)
        for verb in (("list",), ("show", "a"), ("info", "a"), ("compare", "a", "a", "--all-rows"), ("status",),
                     ("metric-list",), ("verify", "a")):
            result = ctl(*verb)
            expect_equal((result.status, result.err), (0, ""), verb)
            expect("\x1b" not in result.out and "\r" not in result.out, verb, "has control bytes")
            blanks = [line for line in result.out.splitlines() if line != line.rstrip()]
            expect_equal(blanks, [], f"{verb}: trailing blanks")
        expect(ctl("list", "--json").out.count("\n") == 1, "short JSON in a pipe")
        expect(ctl("list", "--json=pretty").out.count("\n") > 3, "pretty when asked for")
        expect_equal(ctl("metric-list", "--json=off").out, ctl("metric-list").out, "off")
        expect("NAME" not in ctl("list", "--no-legend").out, "--no-legend")
        expect_equal(ctl("--json", "list").json(), ctl("list", "-j").json(), "before and after the verb")
        expect_equal(ctl("list", "--until", "-1h", "--json").json()["snapshots"], [], "--until")
        expect_equal(len(ctl("list", "--since", "today", "--json").json()["snapshots"]), 1, "--since")


main()
