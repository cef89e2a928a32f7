#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two sets of captures around a load of known size: a real change is found, no change is not.

The load does a fixed amount of work so many times a second, by the clock and whatever else runs: what
it was kept from doing it makes up for. So its counts are those of the pace and not of the machine.
"""
import contextlib
import math
import os
import pathlib
import subprocess
import sys
import time

from harness import Local, Skip, expect, expect_equal, main, temporary, test

CAPTURES = 9
MOMENT = 0.45  # between two captures: long against the load's period
THREADS = 4
PACE = 100  # turns a second and thread
PACED = {"wchar", "syscw"}

LOAD = """
import os, sys, threading, time
def set_name(name):
    with open("/proc/thread-self/comm", "w") as comm:
        comm.write(name)
def turn():
    set_name("setpool-work")
    sink = os.open("/dev/null", os.O_WRONLY)
    due = time.monotonic()
    while True:
        with open(sys.argv[1]) as file:
            rate = float(file.read())
        # The pace is looked up ten times a second, the work done by the clock.
        for _ in range(int(rate / 10)):
            due += 1 / rate
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            os.write(sink, bytes(1000))
set_name("setpool")
threads = [threading.Thread(target=turn, daemon=True) for _ in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""


class Load:
    """Threads that write and sleep at a pace that can be changed."""

    def __init__(self, directory):
        self.file = directory / "pace"
        self.pace(PACE)
        self.process = subprocess.Popen([sys.executable, "-c", LOAD, str(self.file), str(THREADS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        expect_equal(self.process.stdout.readline(), "ready\n", "the load")
        time.sleep(1)

    def pace(self, turns):
        draft = self.file.with_suffix(".new")
        draft.write_text(str(turns), encoding="ascii")
        os.rename(draft, self.file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)


def capture_sets(ctl, *names):
    """One side, or several in turn; whole windows of one pace only."""
    for index in range(CAPTURES):
        for name in names:
            time.sleep(MOMENT)
            result = ctl("capture", "--no-smaps", "--quiet", "--tag", f"{name}-{index}")
            expect_equal(result.status, 0, "capture", result.err)


def compare(ctl, before, after, *options):
    result = ctl("compare", "--before", f"{before}-*", "--after", f"{after}-*", "--json", *options)
    return result.json()


def significant(reply):
    return {(group["key"], name): row for group in reply["groups"]
            for rows in (group["metrics"], group["derived"]) for name, row in rows.items()
            if row["significant"]}


@contextlib.contextmanager
def captured():
    """Sets at the same pace, "one" and "two", then "fast" at 1.2 times that.

    The two are captured in turn: how long a thread waits is a matter of the whole machine, which may well
    have another load in one half of a minute than in the other.
    """
    with temporary() as directory, Load(directory) as load:
        ctl = Local(directory / "spool")
        capture_sets(ctl, "one", "two")
        load.pace(PACE * 1.2)
        time.sleep(0.3)
        capture_sets(ctl, "fast")
        yield ctl, load


STATE = {}


def setup():
    """The captures are made once for all tests."""
    if not STATE:
        STATE["context"] = captured()
        STATE["ctl"], STATE["load"] = STATE["context"].__enter__()
    return STATE["ctl"], STATE["load"]


@test
def a_change_of_a_fifth_is_found():
    """A load that grew by a fifth is significant in what it does, with nine captures a side"""
    ctl, _ = setup()
    reply = compare(ctl, "two", "fast", "--filter", "setpool")
    found = significant(reply)
    for metric in PACED:
        row = found.get(("setpool", metric))
        expect(row, metric, "is not significant:", [group["metrics"].get(metric)
                                                    for group in reply["groups"]])
        expect_equal(row["before"]["n"], CAPTURES - 1, "rates of", metric)
        expect(row["pAdjusted"] < 0.05, metric, row)
    for metric in ("wchar", "syscw"):
        expect(15 < found["setpool", metric]["percent"] < 25, metric, found["setpool", metric])
    expect(abs(found["setpool", "syscw"]["after"]["median"] - 1.2 * PACE * THREADS) <
           0.1 * PACE * THREADS, found["setpool", "syscw"])


@test
def it_is_found_among_all_rows_of_the_host():
    """The change is significant among all rows of the host, where so many captures can tell it"""
    ctl, _ = setup()
    reply = compare(ctl, "two", "fast")
    least = 2 / math.comb(2 * (CAPTURES - 1), CAPTURES - 1)
    if reply["tested"] * least / len(PACED) >= reply["alpha"]:
        raise Skip(f"{reply['tested']} rows are too many for {CAPTURES} captures a side")
    found = significant(reply)
    for metric in PACED:
        expect(("setpool", metric) in found, metric, "is not among", sorted(found))
    told = [any(row["significant"] for rows in ("metrics", "derived") for row in group[rows].values()) or
            0 in (group["threadsBefore"], group["threadsAfter"]) for group in reply["groups"]]
    expect(told == sorted(told, reverse=True), "significant groups and those of one side come first", told)


@test
def the_table_names_it():
    """The table has the group and the metric, and its rates"""
    ctl, _ = setup()
    result = ctl("compare", "--before", "two-*", "--after", "fast-*", "--filter", "setpool",
                 "--metrics", "syscw")
    expect_equal(result.status, 0, result.err)
    lines = [line.split() for line in result.out.splitlines() if line.startswith("setpool")]
    # The first one is of the overview.
    expect_equal([line[:2] for line in lines[1:]], [["setpool", "syscw"]], result.out)
    expect(lines[1][2].endswith("/s") and lines[1][-1] == f"{CAPTURES - 1}+{CAPTURES - 1}",
           result.out)


@test
def a_threshold_is_of_significant_rows():
    """A threshold ends in 3 for a significant change above it, and not below"""
    ctl, _ = setup()
    sides = ("compare", "--before", "two-*", "--after", "fast-*", "--metrics", "syscw", "--filter",
             "setpool")
    expect_equal(ctl(*sides, "--threshold", "10").status, 3, "above")
    expect_equal(ctl(*sides, "--threshold", "40").status, 0, "below")


@test
def an_unchanged_load_is_not():
    """A load that stays as it is has no significant row"""
    ctl, load = setup()
    found = set(significant(compare(ctl, "one", "two", "--filter", "setpool")))
    if found:
        # One time in twenty chance is all it takes; the same row twice is no chance.
        load.pace(PACE)
        time.sleep(0.3)
        capture_sets(ctl, "three", "four")
        found &= set(significant(compare(ctl, "three", "four", "--filter", "setpool")))
    expect(not found, "significant twice:", found)


@test
def files_need_no_daemon():
    """Sets of files are compared as sets of names are"""
    ctl, _ = setup()
    lists = {side: ",".join(str(ctl.spool / f"{side}-{index}.ctprof.zst")
                            for index in range(CAPTURES)) for side in ("two", "fast")}
    options = ("--filter", "setpool", "--metrics", "syscw")
    files = ctl("compare", "--before", lists["two"], "--after", lists["fast"], "--json",
                *options).json()
    names = compare(ctl, "two", "fast", *options)
    expect_equal(files["groups"], names["groups"], "groups of files and of names")


@test
def one_capture_is_on_one_side():
    """A capture that is in both sets, once by its name and once as a file, is refused"""
    ctl, _ = setup()
    result = ctl("compare", "--before", "two-*", "--after",
                 f"fast-*,{pathlib.Path(ctl.spool) / 'two-0.ctprof.zst'}")
    expect_equal(result.status, 2, result.err)
    expect("same capture" in result.one_sentence(), result.err)


@test
def the_load_ends():
    """The load ends when told to"""
    setup()
    STATE.pop("context").__exit__(None, None, None)


@test
def heads_choose_files():
    """KEY=GLOB chooses snapshots of the spool and files of a directory by their heads, and DIR/ all files in it"""
    with temporary() as directory:
        ctl, one, two = Local(directory / "spool"), directory / "one", directory / "two"
        names = {place: [f"{place.name}-{i}" for i in range(2)] for place in (one, two)}
        for place, tags in names.items():
            place.mkdir()
            (place / "notes.txt").write_text("no snapshot\n", encoding="ascii")
            for tag in tags:
                expect_equal(ctl("capture", "--tag", tag, "--no-heap", "-q").status, 0, tag)
                expect_equal(ctl("export", tag, place / f"{tag}.ctprof.zst", "-q").status, 0, tag)
        head = ctl("info", "one-0", "--json").json()["snapshot"]
        host, kernel = head["hostName"], head["kernelRelease"]
        for before, after in ((f"{one}/", f"{two}/"), (f"{one}/,host={host},kernel={kernel[:2]}*", f"{two}/,boot={head['bootId']}")):
            result = ctl("compare", "--before", before, "--after", after, "--json")
            expect_equal((result.status, result.err), (0, ""), before)
            sides = result.json()
            got = [[capture["name"] for capture in sides[side]] for side in ("before", "after")]
            expect_equal(got, list(names.values()), before)
        result = ctl("compare", "--before", f"host={host},machine={head['machineId']}", "--after", f"{two}/", "--json")
        expect(result.status != 0 and "same capture" in result.err, "all of the spool:", result.err)
        result = ctl("compare", "--before", f"{one}/,host=-{host}", "--after", "one-0")
        expect_equal((result.status, result.out), (1, ""), result.err)
        expect("No snapshot of the directory" in result.err, result.err)


if __name__ == "__main__":
    main()
