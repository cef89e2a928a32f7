#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""smaps_rollup is read of some small processes unless all are asked for; the kernel's counts are of every process."""
import contextlib
import json
import subprocess
import sys

from harness import Daemon, call, expect, expect_equal, main, temporary, test

MIB = 1 << 20
BOUND, LARGE = 96, 160
COUNTS = ("rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "swap_bytes")
# Takes a name of its own, so that its group is no other's, and memory that is touched.
PROGRAM = """
import ctypes, sys
memory = bytearray(b"x") * (int(sys.argv[1]) << 20)
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
"""


class Holder:
    """A process of @mib MiB."""

    def __init__(self, mib, name):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(mib), name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def __enter__(self):
        expect_equal(self.process.stdout.readline(), "ready\n", "the process")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def daemon_with(directory, text):
    """Of as many processes as are small, unless @text bounds their number."""
    config = directory / "ctprofd.conf"
    bound = "" if "SmapsMaxProcesses" in text else "SmapsMaxProcesses=4194304\n"
    config.write_text("[Capture]\n" + bound + text, encoding="ascii")
    return Daemon(directory, options=["--config", str(config)])


def leaders(daemon, name):
    """The rows of the snapshot's processes, by pid."""
    result = daemon("export", name, "-", "--format", "ndjson")
    expect_equal(result.status, 0, "export")
    rows = [json.loads(line) for line in result.out.splitlines()]
    return {row["tid"]: row for row in rows if row["kind"] == "thread" and row["tid"] == row["tgid"]}


def resident(row):
    """0 where the process was ending."""
    return sum(row[name] or 0 for name in COUNTS[:3])


def section(daemon, *arguments):
    """The rows of smaps-rollup by process and key."""
    answer = daemon(*arguments, "--sections", "smaps-rollup", "--no-thread-normalize", "--limit", "0", "--json").json()
    return {(row["process"], row["key"]): row for row in answer["sections"]["smaps-rollup"]}


@test
def a_large_process_is_left_out():
    """above SmapsMaxRss= there is no smaps_rollup but the size as the reason, and the kernel's counts all the same"""
    with temporary() as directory, Holder(LARGE, "is-large") as large, Holder(1, "is-small") as small, \
            daemon_with(directory, f"SmapsMaxRss={BOUND}M\n") as daemon:
        answer = daemon("capture", "--tag", "a", "--json").json()
        head = answer["snapshot"]
        expect_equal((head["smapsRequested"], head["smapsMode"], head["smapsMaxRssBytes"]),
                     (True, "small", BOUND * MIB), "head")
        source = next(source for source in answer["sources"] if source["name"] == "smaps_rollup")
        expect_equal(source["state"], "partial", source)
        expect(f"of more than {BOUND} MiB, the largest of " in source["reason"], source)
        expect("--smaps=all" in source["reason"], source)
        rows = leaders(daemon, "a")
        expect_equal(rows[large.pid]["smaps_rollup_kb"], None, "rollup of the large process")
        expect(rows[small.pid]["smaps_rollup_kb"]["Rss"] > 0, rows[small.pid])
        for pid in (large.pid, small.pid):
            expect(all(rows[pid][name] is not None for name in COUNTS), rows[pid])
        expect(rows[large.pid]["rss_anon_bytes"] > LARGE * MIB, rows[large.pid])

        shown = section(daemon, "show", "a")
        pss = shown["is-large", "Pss"]
        expect_equal(pss["value"], None, pss)
        size = sum(rows[large.pid][name] for name in COUNTS) // MIB
        expect_equal(pss["reason"], f"1 of 1 process left out for size, {size} MiB: the bound was "
                     f"SmapsMaxRss={BOUND}M", pss)
        expect_equal(shown["is-large", "rss_anon_bytes"]["value"], rows[large.pid]["rss_anon_bytes"], "beside it")
        expect(shown["is-small", "Pss"]["value"] > 0, shown["is-small", "Pss"])
        expect(shown["is-small", "rss_anon_bytes"]["value"] > 0, "beside Pss")
        text = daemon("show", "a", "--sections", "smaps-rollup", "--no-thread-normalize", "--limit", "0").out
        lines = [line.split() for line in text.splitlines() if line.startswith("is-large") and "Pss" in line]
        expect_equal(lines[0], ["is-large", "Pss", "-"], "on a terminal")
        csv = daemon("show", "a", "--sections", "smaps-rollup", "--no-thread-normalize", "--format", "csv").out
        expect(any(",is-large," in line and ",Pss," in line and "left out for size" in line
                   for line in csv.splitlines()), "in CSV")

        # Against a capture of all, the side that lacks it has no difference.
        expect_equal(daemon("capture", "--smaps=all", "--tag", "b").status, 0, "capture")
        expect(leaders(daemon, "b")[large.pid]["smaps_rollup_kb"]["Rss"] > LARGE * 1024, "with --smaps=all")
        row = section(daemon, "compare", "a", "b")["is-large", "Pss"]
        expect_equal((row["value"]["before"], row["value"]["delta"]), (None, None), row)
        expect(row["value"]["after"] > LARGE * MIB, row)
        expect(row["reason"].startswith("before: 1 of 1 process left out"), row)


BACKENDS = ("procfs", "bpf")
PLACES = 3


@test
def the_largest_small_ones_are_read():
    """SmapsMaxProcesses= of those within SmapsMaxRss=; the others are not asked for, which is no failure"""
    with temporary() as directory, \
            daemon_with(directory, f"SmapsMaxRss={BOUND}M\nSmapsMaxProcesses={PLACES}\n") as daemon, \
            contextlib.ExitStack() as stack:
        held = [stack.enter_context(Holder(BOUND - 16 - i, "is-chosen")) for i in range(PLACES)]
        large = stack.enter_context(Holder(LARGE, "is-large"))
        small = [stack.enter_context(Holder(1, "is-small")) for _ in range(2)]
        for backend in BACKENDS:
            answer = daemon("capture", "--backend", backend, "--tag", backend, "--json")
            if backend == "bpf" and answer.status != 0:
                continue  # no programs can be loaded here
            answer = answer.json()
            head = answer["snapshot"]
            expect_equal((head["smapsMode"], head["smapsMaxRssBytes"], head["smapsMaxProcesses"]),
                         ("small", BOUND * MIB, PLACES), backend)
            source = next(source for source in answer["sources"] if source["name"] == "smaps_rollup")
            rows = leaders(daemon, backend)
            # Others of this host may be as large as ours.
            read = [row for row in rows.values() if row["smaps_rollup_kb"]]
            ours = [rows[process.pid] for process in (*held, *small, large)]
            expect(0 < len(read) <= PLACES and len(read) == source["ok"], backend, source, read)
            expect_equal({source[name] for name in ("denied", "unsupported", "malformed")}, {0}, backend, source)
            expect(all(rows[process.pid]["smaps_rollup_kb"] == {} for process in small), backend, "of 1 MiB")
            expect_equal(rows[large.pid]["smaps_rollup_kb"], None, "too large, as ever")
            expect(all(row[name] is not None for row in ours for name in COUNTS), backend, "counts of every process")
            # What was not asked for is not larger than what was, but for what it grew meanwhile.
            least = min(filter(None, map(resident, read)))
            expect(all(resident(row) <= least + 8 * MIB for row in ours if row["smaps_rollup_kb"] == {}), backend, least)
            pss = section(daemon, "show", backend)["is-small", "Pss"]
            expect_equal((pss["value"], pss["reason"]), (None, "2 of 2 processes not asked for: SmapsMaxProcesses="
                                                         f"{PLACES} reads the largest"), backend)
            everything = daemon("capture", "--backend", backend, "--smaps=all", "--tag", "all", "--replace", "--json")
            head = everything.json()["snapshot"]
            expect("smapsMaxProcesses" not in head, head)
            rows = leaders(daemon, "all")
            expect(all(rows[process.pid]["smaps_rollup_kb"]["Rss"] > 0 for process in [*held, *small, large]), "all")


@test
def a_bound_alone_is_no_failure():
    """where nothing is too large, the source is ok and the capture does not list it as missing"""
    with temporary() as directory, daemon_with(directory, "SmapsMaxRss=infinity\nSmapsMaxProcesses=1\n") as daemon:
        source = next(source for source in daemon("capture", "--tag", "a", "--json").json()["sources"]
                      if source["name"] == "smaps_rollup")
        if source["denied"] == 0:
            expect_equal((source["state"], "reason" in source, source["other"]), ("ok", False, 0), source)
        expect(source["ok"] + source["denied"] + source["vanished"] <= 1, source)
        text = daemon("info", "a").out
        expect("the largest   1\n" in text, text)


@test
def who_decides():
    """the configuration decides unless the caller does, in words or with the boolean of earlier versions"""
    with temporary() as directory, Holder(LARGE, "is-large") as large, \
            daemon_with(directory, f"SmapsMaxRss={BOUND}M\nSmaps=all\n") as daemon:
        cases = [((), True), (("--smaps",), True), (("--smaps=all",), True), (("--smaps=small",), False),
                 (("--smaps=none",), False), (("--no-smaps",), False)]
        for options, is_read in cases:
            expect_equal(daemon("capture", "--tag", "a", "--replace", *options).status, 0, options)
            row = leaders(daemon, "a")[large.pid]
            expect_equal(row["smaps_rollup_kb"] is not None, is_read, options)
            expect(row["rss_anon_bytes"] > LARGE * MIB, options, row)
        modes = [({}, "all"), ({"smaps": True}, "all"), ({"smaps": False}, "none"), ({"smapsMode": "small"}, "small"),
                 ({"smaps": True, "smapsMode": "small"}, "small"), ({"smapsMode": "none"}, "none")]
        with daemon.connect() as connection:
            for parameters, mode in modes:
                reply = call(connection, "io.ctprof.Profiler.Capture", parameters)[-1]["parameters"]
                expect_equal(reply["snapshot"]["smapsMode"], mode, parameters)
            for parameters in ({"smaps": False, "smapsMode": "all"}, {"smapsMode": "some"}):
                reply = call(connection, "io.ctprof.Profiler.Capture", parameters)[-1]
                expect_equal(reply["error"], "org.varlink.service.InvalidParameter", parameters)
        refused = daemon("capture", "--smaps=some")
        expect_equal(refused.status, 2, "a mode that is none")
        expect("all, small or none" in refused.one_sentence(), refused.err)
        # A value only after "=": a word of its own is an argument.
        expect_equal(daemon("capture", "--smaps", "small").status, 2, "an argument")


main()
