#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings: stacks of known threads against their exact time, how they begin and end, and what may happen to them."""
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

from fuse import Fuse, STUCK_OPEN, STUCK_PAGE
from harness import BUILD, CTPROFCTL, Daemon, Skip, call, end, expect, expect_equal, main, need_root, run, sysctl, temporary, test, wait_until
from reasons import HZ, PARTS

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("golden", "demo")]
import pprof  # noqa: E402  pylint: disable=wrong-import-position
from programs import Programs  # noqa: E402  pylint: disable=wrong-import-position

INTERFACE = "io.ctprof.Profiler."
STRANGER = 65534
FOREIGNER = 64123
SECOND = 1_000_000_000
# Where the threads of the load are almost always, by the names of their functions.
KNOWN = {"at_sleep": "sleep", "at_mutex": "lock", "at_pipe": "pipe", "at_socket": "socket", "at_condition": "futex",
         "at_sums": "running", "at_squares": "running"}
# The columns of a thread, and what the places of a recording are called.
PLACES = {{"run_time_ns": "running", "wait_time_ns": "run_queue", "storage_wait_ns": "storage",
           "uninterruptible_ns": "blocked"}.get(column, column.removesuffix("_wait_ns")): column for column in PARTS}


@contextlib.contextmanager
def daemon():
    need_root()
    with temporary() as directory, Daemon(directory) as ctl:
        if ctl("status", "--json").json()["reasons"] is None:
            raise Skip("no programs can count here")
        yield ctl


@contextlib.contextmanager
def connected(ctl, uid=0):
    os.seteuid(uid)
    try:
        connection = ctl.connect()
    finally:
        os.seteuid(0)
    with contextlib.closing(connection):
        yield connection


def ask(ctl, method, uid=0, more=True, **parameters):
    """All replies of one call."""
    with connected(ctl, uid) as connection:
        return call(connection, INTERFACE + method, parameters, more)


def answer(replies):
    """The last one, which must be no error."""
    expect(replies, "the connection was closed without an answer")
    expect("error" not in replies[-1], replies[-1])
    return replies[-1]["parameters"]


def whole(ctl, method, **parameters):
    """The members of all replies of a view."""
    replies = ask(ctl, method, **parameters)
    answer(replies)
    return {name: value for reply in replies for name, value in reply["parameters"].items() if name != "progress"}


def failure(replies):
    expect(replies and "error" in replies[-1], "no error:", replies[-1:])
    return replies[-1]["error"].rsplit(".", 1)[-1], replies[-1]["parameters"]


class Recording:
    """One that runs, on a connection of its own."""

    def __init__(self, ctl, uid=0, **parameters):
        self.ctl = ctl
        self.replies, self.data = [], b""
        os.seteuid(uid)
        try:
            self.connection = ctl.connect()
        finally:
            os.seteuid(0)
        self.connection.sendall(json.dumps({"method": f"{INTERFACE}Record", "parameters": parameters,
                                            "more": True}).encode() + b"\0")

    def has_more(self):
        """Reads on; False when that was the last reply."""
        while b"\0" not in self.data:
            piece = self.connection.recv(1 << 16)
            if not piece:
                return False
            self.data += piece
        text, self.data = self.data.split(b"\0", 1)
        self.replies.append(json.loads(text))
        return self.replies[-1].get("continues", False)

    def started(self):
        """Returns once samples are taken."""
        return self.until(lambda phase: phase == "recording")

    def until(self, is_phase):
        """Returns once it tells of such a phase."""
        while not self.replies or not is_phase(self.replies[-1]["parameters"]["progress"]["phase"]):
            expect(self.has_more(), "it has ended:", self.replies[-1:])
        return self

    def rest(self):
        while self.has_more():
            pass
        return self.replies

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def record(ctl, seconds=0.3, **parameters):
    return answer(ask(ctl, "Record", forNs=int(seconds * SECOND), **parameters))


def names(ctl):
    return [head["name"] for head in answer(ask(ctl, "List", more=False))["snapshots"]]


def files(ctl):
    return sorted(path.name for path in ctl.spool.iterdir())


def file_of(ctl, name):
    return ctl.spool / f"{name}.ctprof.zst"


def stacks(ctl, name, **parameters):
    """The first reply, and all stacks."""
    replies = ask(ctl, "Stacks", recording={"name": name}, limit=0, **parameters)
    last = answer(replies)
    expect_equal(last["hiddenStacks"], 0)
    # On a busy machine it is first told how far the job is.
    told = [reply["parameters"] for reply in replies if "progress" not in reply["parameters"]]
    return told[0], [stack for parameters in told[1:] for stack in parameters.get("stacks", [])]


def text_of(path):
    return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout.decode()


def documents(path):
    """Both ends, and what was recorded."""
    text, found, at = text_of(path), [], 0
    while at < len(text):
        document, at = json.JSONDecoder().raw_decode(text, at)
        found.append(document)
    expect_equal(len(found), 3, "documents of a recording")
    return found


def rows(table):
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def life(row):
    return row["tid"], row["start_time_clock_ticks"]


def exact_times(begin, finish):
    """What each thread that is in the end of the interval did in it, by place; without what is not known."""
    before = {life(row): row for row in rows(begin["threads"]) if not row["self"]}
    times = {}
    for row in rows(finish["threads"]):
        if row["self"]:
            continue
        old = before.get(life(row))
        times[life(row)] = {
            place: row[column] - min(old[column] if old else 0, row[column])
            for place, column in PLACES.items()
            if row[column] is not None and (old is None or old[column] is not None)}
    return times


@contextlib.contextmanager
def known_threads(program="places"):
    """The load, and the numbers of its threads by name."""
    with subprocess.Popen([BUILD / "tests" / "live" / program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process, {name: int(tid) for tid, name in
                            (line.split() for line in iter(process.stdout.readline, "\n"))}
        finally:
            process.kill()


def expect_known(program):
    """Exact sums of each thread of the load, and its function where it was most of the time."""
    with daemon() as ctl, known_threads(program) as (_, tids):
        record(ctl, 3, tag="rec")
        first, found = stacks(ctl, "rec")
        begin, finish, _ = documents(file_of(ctl, "rec"))
        by_tid = {tid: times for (tid, _), times in exact_times(begin, finish).items()}
        comm = program[:15]
        for name, tid in tids.items():
            mine = [stack for stack in found if (stack["process"], stack["thread"]) == (comm, name)]
            sums = collections.Counter()
            for stack in mine:
                sums[stack["place"]] += stack["ns"]
            wanted = {place: ns for place, ns in by_tid[tid].items() if ns > 0}
            expect_equal({place: ns for place, ns in sums.items() if ns > 0}, wanted, name)
            if name not in KNOWN:
                continue
            place = KNOWN[name]
            # A host that is busy keeps it from there, for which it waits in a queue.
            away = sum(wanted.values()) - wanted.get("run_queue", 0) - wanted.get("running", 0)
            expect(place == "running" or wanted.get(place, 0) > 0.95 * away, name, "was elsewhere:", wanted)
            # Ends of the interval are the moments when the thread was captured, before and after there were samples.
            outside_ns = max(sum(wanted.values()) - first["elapsedNs"], 0)
            of_place = [stack for stack in mine if stack["place"] == place]
            unseen = sum(stack["ns"] for stack in of_place if stack["frames"] in UNSAMPLED)
            expect(unseen <= outside_ns + 0.02 * sums[place], name, unseen, "of", sums[place], "has no stack,",
                   outside_ns, "is outside")
            of_place = [stack for stack in of_place if stack["frames"] not in UNSAMPLED]
            expect(name in of_place[0]["frames"], name, "is not in its heaviest stack:", of_place[:2])
            named = sum(stack["ns"] for stack in of_place if name in stack["frames"])
            seen = sum(stack["ns"] for stack in of_place)
            expect(named >= 0.95 * seen, f"{named / seen:.3f} of {name} is in its function:",
                   [stack for stack in of_place if name not in stack["frames"]][:3])
            # Also what computes in another function is found out.
            others = [stack for stack in mine if set(stack["frames"]) & (set(KNOWN) - {name})]
            expect_equal(others, [], name)


UNSAMPLED = (["[too short to be sampled]"], ["[before or after the recording]"])


@test
def known():
    """threads that wait and compute in known functions are found there, and their stacks add up to their exact time"""
    expect_known("places")


@test
def known_with_pointers():
    """so they are when they were built with frame pointers"""
    expect_known("places-with-pointers")


@test
def pointers():
    """with frame pointers a stack leads from caller to caller through functions that keep them, and not through others"""
    with daemon() as ctl, known_threads("places-with-pointers"):
        expect_equal(ctl("record", "--tag", "rec", "--for", "2s", "--user-stack", "fp", "--user-threads").status, 0)
        first, found = stacks(ctl, "rec")
        expect(first["recording"]["framePointers"], first["recording"])
        mine = [stack for stack in found if stack["process"] == "places-with-pointers"[:15] and stack["frames"] not in UNSAMPLED]
        for name in ("at_sums", "at_squares"):
            running = [stack for stack in mine if (stack["thread"], stack["place"]) == (name, "running")]
            named = [stack for stack in running if name in stack["frames"]]
            # Not where the clock found the thread before its function had a frame.
            expect(named and sum(stack["ns"] for stack in named) >= 0.9 * sum(stack["ns"] for stack in running), name, running[:3])
            # Who called it is there, too, and what called that, in the library, keeps no pointers.
            callers = named[0]["frames"][:named[0]["frames"].index(name)]
            expect(callers and callers[0] == "[stack cut]", named[0])
        waiting = [stack for stack in mine if stack["place"] in ("pipe", "sleep", "socket") and stack["samples"] > 0]
        expect(any(len(stack["frames"]) > 2 for stack in waiting), waiting[:3])
        record(ctl, 1, tag="copied")
        expect("framePointers" not in stacks(ctl, "copied")[0]["recording"], "they were not asked for")


@test
def sums():
    """places of the host are the exact time of those that lived on and the samples of those that ended, to the nanosecond"""
    with daemon() as ctl, known_threads():
        record(ctl, 2, tag="rec")
        first, found = stacks(ctl, "rec")
        begin, finish, recorded = documents(file_of(ctl, "rec"))
        throughout, adding_up = first["threadsThroughout"], first["threadsAddingUp"]
        print(f"# times of {adding_up} of {throughout} threads add up to the recording")
        expect(throughout > 30 and adding_up >= 0.95 * throughout, adding_up, "of", throughout)
        wanted = collections.Counter()
        exact = exact_times(begin, finish)
        for times in exact.values():
            wanted.update(times)
        threads = rows(recorded["threads"])
        for sample in rows(recorded["samples"]):
            thread = threads[sample["thread"]]
            key = thread["tid"], thread["start_boottime_ns"] * HZ // SECOND
            if sample["place"] not in exact.get(key, {}):
                wanted[sample["place"]] += sample["long_ns"] + sample["short_ns"]
        expect_equal({place: ns for place, ns in first["places"].items() if ns > 0},
                     {place: ns for place, ns in wanted.items() if ns > 0})
        by_place = collections.Counter()
        for stack in found:
            by_place[stack["place"]] += stack["ns"]
        expect_equal(+by_place, +collections.Counter(first["places"]))
        # What the threads did before and after there were samples is told apart from these.
        outside, sampled = collections.Counter(), collections.defaultdict(dict)
        for time in rows(recorded["times"]):
            thread = threads[time["thread"]]
            sampled[thread["tid"], thread["start_boottime_ns"] * HZ // SECOND][time["place"]] = time["ns"]
        for key in {(thread["tid"], thread["start_boottime_ns"] * HZ // SECOND) for thread in threads if thread["process"] == "places"}:
            expect(sampled[key], key, "has no times")
            for place, ns in exact[key].items():
                outside[place] += ns - min(ns, sampled[key].get(place, 0))
        told = collections.Counter()
        for stack in found:
            if stack["process"] == "places" and stack["frames"] == UNSAMPLED[1]:
                told[stack["place"]] += stack["ns"]
        expect_equal(told, +outside)
        expect(sum(outside.values()) > 0, "snapshots take no time?")
        expect_equal(list(first["places"]), [*list(PLACES)[4:], "storage", "blocked", "run_queue", "running"])
        expect_equal([stack["ns"] for stack in found], sorted((stack["ns"] for stack in found), reverse=True))
        expect_equal(first["snapshot"]["fileKind"], "recording")
        expect_equal(first["snapshot"]["name"], "rec")


@test
def choices():
    """what is recorded can be chosen: running, waiting, stacks of the kernel, of user mode; what makes no sense is refused"""
    with daemon() as ctl, known_threads():
        def heaviest(name, place):
            mine = [stack for stack in found if (stack["process"], stack["thread"], stack["place"]) == ("places", name, place)
                    and stack["samples"] > 0]
            return mine[0]["frames"] if mine else []

        record(ctl, 1, tag="running", offCpu=False)
        found = stacks(ctl, "running")[1]
        expect_equal({stack["place"] for stack in found if stack["samples"] > 0}, {"running"})
        expect("at_sums" in heaviest("at_sums", "running"), "running threads are not seen")
        record(ctl, 1, tag="waiting", onCpu=False)
        found = stacks(ctl, "waiting")[1]
        expect_equal([stack for stack in found if stack["samples"] > 0 and stack["place"] == "running"], [])
        frames = heaviest("at_pipe", "pipe")
        expect("at_pipe" in frames and "ksys_read" in frames, frames)
        record(ctl, 1, tag="user", kernelStacks=False)
        found = stacks(ctl, "user")[1]
        expect("at_pipe" in heaviest("at_pipe", "pipe"), heaviest("at_pipe", "pipe"))
        expect(not any("do_syscall_64" in stack["frames"] for stack in found), "there are stacks of the kernel")
        record(ctl, 1, tag="kernel", stackBytes=0)
        found = stacks(ctl, "kernel")[1]
        expect("ksys_read" in heaviest("at_pipe", "pipe"), heaviest("at_pipe", "pipe"))
        expect(not any("at_pipe" in stack["frames"] for stack in found), "there are stacks of user mode")
        for wrong in ({"periodNs": 1}, {"periodNs": 2 * SECOND}, {"stackBytes": 40000}, {"onCpu": False, "offCpu": False},
                      {"replace": True}, {"forNs": -1}):
            expect_equal(failure(ask(ctl, "Record", **wrong))[0], "InvalidParameter", wrong)
        expect_equal(failure(ask(ctl, "Record", tag="a/b"))[0], "InvalidName")
        expect_equal(failure(ask(ctl, "EndRecording", more=False))[0], "NoRecording")


def sampled(found):
    """The names of processes that have samples."""
    return {stack["process"] for stack in found if stack["samples"] > 0}


@test
def filters():
    """only threads that a filter takes are sampled and shown, with their exact time; the interval keeps all"""
    with daemon() as ctl, temporary() as place, contextlib.ExitStack() as stack:
        # Nobody else has this name, nor this uid.
        shutil.copy(BUILD / "tests" / "live" / "places", place / "filtered-load")
        process, tids = stack.enter_context(known_threads(place / "filtered-load"))
        others = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        as_stranger = subprocess.Popen(["sh", "-c", "while :; do :; done"], user=FOREIGNER)
        try:
            ways = {
                "pid": (["--pid", f"{process.pid},{others.pid}"], {"filtered-load", "sh"}),
                "uid": (["--uid", f"{FOREIGNER}"], {"sh"}),
                "comm": (["--comm", "at_s*", "--pid", str(process.pid)], {"filtered-load"}),
                "process": (["--comm", "filtered-loa?"], {"filtered-load"}),
                "both": (["--comm", "sh", "--pid", str(process.pid)], set()),
            }
            for name, (words, wanted) in ways.items():
                result = ctl("record", "--tag", name, "--for", "1s", *words)
                expect_equal(result.status, 0, name, result.err)
                first, found = stacks(ctl, name)
                expect_equal({one["process"] for one in found}, wanted, name)
                expect_equal(sampled(found), wanted, name)
                # Samples of others were left out where they were, and are not said to be lost.
                expect(wanted == set() or first["recording"]["samples"] > 0, name, first["recording"])
                begin, finish, _ = documents(file_of(ctl, name))
                everybody = {row["pcomm"] for row in rows(finish["threads"])}
                expect({"filtered-load", "sh"} <= everybody, name, everybody)
                if name in ("pid", "process"):
                    # All time of whom it takes is there, to the nanosecond, and of nobody else.
                    sums = collections.Counter()
                    mine = [times for (tid, _), times in exact_times(begin, finish).items()
                            if tid in set(tids.values()) | {process.pid} | ({others.pid} if name == "pid" else set())]
                    for times in mine:
                        sums.update(times)
                    expect_equal(+collections.Counter(first["places"]), +sums, name)
            expect_equal(stacks(ctl, "pid")[0]["recording"]["filter"], {"pids": [process.pid, others.pid]})
            expect_equal({one["thread"] for one in stacks(ctl, "comm")[1]},
                         {"at_sleep", "at_socket", "at_sums", "at_squares"})
            shown = ctl("show", "uid").out
            expect(f"\nstacks of uid {FOREIGNER}\n" in shown, shown)
            expect("filtered-load" in shown, "the interval has no other threads:", shown)
            page = ctl("show", "uid", "--format", "html").out
            expect(f'"scope":" of uid {FOREIGNER}"' in page, "the page does not say of whom it is")
        finally:
            for one in (others, as_stranger):
                one.kill()
                one.wait()


@test
def kernel_and_user():
    """threads of the kernel and those of programs can be recorded apart, also without waits"""
    with daemon() as ctl, known_threads():
        record(ctl, 1, tag="kernel", filter={"threads": "kernel"})
        found = stacks(ctl, "kernel")[1]
        begin, finish, recorded = documents(file_of(ctl, "kernel"))
        of_kernel = {row["tid"] for row in rows(finish["threads"]) if row["tgid"] == 2 or row["ppid"] == 2}
        expect(found and {row["tid"] for row in rows(recorded["threads"])} <= of_kernel, "it has other threads")
        record(ctl, 1, tag="user", filter={"threads": "user"}, offCpu=False)
        first, found = stacks(ctl, "user")
        tids = {row["tid"] for row in rows(documents(file_of(ctl, "user"))[2]["threads"])}
        expect(not tids & of_kernel and sampled(found) >= {"places"}, tids & of_kernel, sampled(found))
        # Those that slept are known to be taken, though there are no samples of waits.
        expect({"at_sleep", "at_pipe"} <= {stack["thread"] for stack in found}, first["places"])
        expect_equal({stack["place"] for stack in found if stack["samples"] > 0}, {"running"})


@test
def cgroups():
    """a cgroup is recorded with those below it; one that is not there is refused before anything is run"""
    with daemon() as ctl, contextlib.ExitStack() as stack:
        with open("/proc/self/mountinfo", encoding="utf-8") as lines:
            roots = [words[4] for words in map(str.split, lines) if " - cgroup2 " in " ".join(words)]
        if not roots or not os.access(f"{roots[0]}/cgroup.procs", os.W_OK):
            raise Skip("no cgroups can be made here")
        path = f"/ctprof-record-{os.getpid()}"
        for below in ("", "/below", "/below/deep"):
            os.mkdir(roots[0] + path + below)
            stack.callback(os.rmdir, roots[0] + path + below)
        with known_threads() as (process, _), subprocess.Popen(["sh", "-c", "while :; do :; done"]) as other:
            with open(f"{roots[0]}{path}/below/deep/cgroup.procs", "w", encoding="ascii") as procs:
                procs.write(str(process.pid))
            for name, which in (("above", path), ("own", f"{path}/below/deep")):
                result = ctl("record", "--tag", name, "--for", "1s", "--cgroup", which)
                expect_equal(result.status, 0, result.err)
                expect_equal(sampled(stacks(ctl, name)[1]), {"places"}, name)
            expect(f"\nstacks in {path}/below/deep\n" in ctl("show", "own").out, "the heading")
            result = ctl("record", "--cgroup", f"{path}/nowhere", "--", "touch", f"{ctl.spool}/ran")
            expect_equal(result.status, 1 if result.status == 1 else 2, result.err)
            expect("There is no such cgroup" in result.one_sentence(), result.err)
            expect(not (ctl.spool / "ran").exists(), "the command ran")
            other.kill()
            process.kill()
            process.wait()


@test
def command():
    """a command is recorded with all that it starts, also what outlives its parent, and nothing else, unless --all is given"""
    script = 'set -m; (sh -c "while :; do :; done" & echo $! > $0); sleep 1; kill $(cat $0)'
    with daemon() as ctl, known_threads(), temporary() as place:
        result = ctl("record", "--tag", "own", "--", "sh", "-c", script, place / "pid")
        expect_equal(result.status, 0, result.err)
        first, found = stacks(ctl, "own")
        expect({"sh", "sleep"} <= sampled(found) <= {"sh", "sleep", "cat", "ctprofctl"}, sampled(found))
        expect_equal(first["recording"]["filter"], {"descendants": True})
        spun = sum(stack["ns"] for stack in found if stack["process"] == "sh" and stack["place"] in ("running", "run_queue"))
        expect(spun > 0.5 * SECOND, "the orphan is missing:", spun)
        expect("stacks of the command and what it started" in ctl("show", "own").out, "the heading")
        result = ctl("record", "--all", "--tag", "all", "--", "sleep", "1")
        expect_equal(result.status, 0, result.err)
        expect({"places", "sleep"} <= sampled(stacks(ctl, "all")[1]), "the host is missing")


@test
def lengths():
    """stacks of waits can be had from and up to a length; the time of others is not theirs"""
    with daemon() as ctl, known_threads():
        record(ctl, 2, tag="long", minNs=100_000_000, periodNs=10_000_000)
        first, found = stacks(ctl, "long")
        waits = [stack for stack in found if stack["place"] != "running"]
        expect(waits and all(stack["maxNs"] >= 100_000_000 and stack["exact"] for stack in waits), waits[:3])
        expect_equal(first["recording"]["filter"], {"minNs": 100_000_000})
        record(ctl, 2, tag="short", maxNs=5_000_000, periodNs=10_000_000)
        found = stacks(ctl, "short")[1]
        waits = [stack for stack in found if stack["place"] != "running"]
        expect(all(stack["samples"] > 0 and stack["maxNs"] <= 5_000_000 for stack in waits), waits[:3])
        expect("stacks of waits of 5.0ms and less" in ctl("show", "short").out, "the heading")


@test
def to_a_file():
    """--output writes the recording to a file or to stdout, and the spool keeps nothing"""
    with daemon() as ctl, temporary() as place:
        result = ctl("record", "--for", "500ms", "--output", place / "rec.zst")
        expect_equal(result.status, 0, result.err)
        expect(f"written to {place}/rec.zst: " in result.out, result.out)
        expect_equal(ctl("verify", place / "rec.zst").status, 0)
        expect("stacks" in ctl("show", place / "rec.zst").out, "it has no stacks")
        piped = subprocess.run([CTPROFCTL, "--socket", ctl.socket, "record", "--for", "300ms", "--output", "-"], capture_output=True,
                               check=True)
        (place / "piped.zst").write_bytes(piped.stdout)
        expect_equal(ctl("verify", place / "piped.zst").status, 0)
        expect_equal(files(ctl), [])
        expect_equal(ctl("record", "--for", "300ms", "--output", place / "none" / "x").status, 1)


@test
def without_a_daemon():
    """record --local has stacks of the waits of the load, also where a private daemon loaded less for a capture before"""
    need_root()
    with temporary() as place, known_threads() as (_, tids):
        def local(*words):
            done = run(CTPROFCTL, "--local", "--spool", place / "spool", *words)
            expect_equal(done.status, 0, done.err)
            return done.out
        local("capture", "--backend", "bpf", "--tag", "cap")
        local("record", "--for", "1s", "--tag", "rec")
        expect("at_sleep" in tids, tids)
        folded = local("show", "rec", "--format", "folded")
        expect(any(";at_sleep;" in line for line in folded.splitlines()), folded[:2000])


@test
def status():
    """the status tells who records, until when at the latest, and how many samples there are"""
    with daemon() as ctl:
        expect_equal(ctl("status", "--json").json()["recording"], None)
        expect("records" not in ctl("status").out, "nobody records")
        with Recording(ctl, uid=STRANGER, tag="rec", forNs=60 * SECOND) as recording:
            recording.started()
            time.sleep(1)
            told = ctl("status", "--json").json()["recording"]
            expect_equal((told["uid"], told["tag"]), (STRANGER, "rec"))
            expect(told["sinceRealtimeNs"] <= time.time_ns(), told)
            expect_equal(told["untilRealtimeNs"] - told["sinceRealtimeNs"], 60 * SECOND)
            expect(told["samples"] > 0 and told["lost"] >= 0, told)
            expect(re.search(rf"^recording +uid {STRANGER} records rec since .*, until .* at the latest: \d+ samples, \d+ lost$",
                             ctl("status").out, re.M), ctl("status").out)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        expect_equal(ctl("status", "--json").json()["recording"], None)


@test
def bounded():
    """RecordingTime= and RecordingBytes= bound a recording, also after a reload"""
    need_root()
    with temporary() as directory:
        settings = directory / "ctprofd.conf"
        settings.write_text("[Jobs]\nRecordingTime=1s\n")
        with Daemon(directory, options=["--config", str(settings)]) as ctl:
            if ctl("status", "--json").json()["reasons"] is None:
                raise Skip("no programs can count here")
            error, parameters = failure(ask(ctl, "Record", forNs=2 * SECOND))
            expect_equal((error, parameters["parameter"]), ("InvalidParameter", "forNs"))
            expect("RecordingTime=" in ctl("record", "--for", "2s").one_sentence(), "the reason")
            head = answer(ask(ctl, "Record", tag="whole"))["snapshot"]
            expect(SECOND <= stacks(ctl, "whole")[0]["elapsedNs"] < 3 * SECOND, head)
            settings.write_text("[Jobs]\nRecordingTime=2s\nRecordingBytes=1M\n")
            ctl.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "error" not in ask(ctl, "Record", tag="longer", forNs=2 * SECOND)[-1], what="the new settings")
            expect_equal(sorted(names(ctl)), ["longer", "whole"])


# It has so many threads at a time, again and again: each is another one to a recording.
THREADS = """
import sys, threading, time
while True:
    threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(int(sys.argv[1]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@test
def full():
    """a recording that comes near RecordingBytes= ends early, is kept, and says so wherever it is told of"""
    need_root()
    with temporary() as directory:
        settings = directory / "ctprofd.conf"
        settings.write_text("[Jobs]\nRecordingBytes=1M\n")
        with Daemon(directory, options=["--config", str(settings)]) as ctl, \
                subprocess.Popen([sys.executable, "-c", THREADS, "100"]) as process:
            try:
                if ctl("status", "--json").json()["reasons"] is None:
                    raise Skip("no programs can count here")
                begun = time.monotonic()
                result = ctl("record", "--tag", "rec", "--for", "10min", "--period", "1ms")
                expect(time.monotonic() - begun < 300, "it took", time.monotonic() - begun)
            finally:
                process.kill()
            expect_equal(result.status, 0, result.err)
            told = "ended early: RecordingBytes= of ctprofd.conf(5) has no room for more"
            expect(f"\nrecorded  {told}\n" in result.out, result.out)
            expect(file_of(ctl, "rec").stat().st_size <= 1 << 20, file_of(ctl, "rec").stat())
            first, found = stacks(ctl, "rec")
            expect_equal(first["recording"]["endedBy"], "bytes")
            expect(len(found) > 100 and first["elapsedNs"] > 0, first)
            expect_equal(ctl("verify", "rec").status, 0)
            for command in (("show", "rec"), ("show", "rec", "--stacks"), ("info", "rec"), ("compare", "rec", "rec")):
                text = ctl(*command)
                expect(told in text.out, command, text.out[:1000], text.err)
            expect('"endedBy":"bytes"' in ctl("show", "rec", "--format", "html").out, "the page does not know")
            expect("ended early: it came near RecordingBytes=" in ctl.log.read_text(), ctl.log.read_text()[-2000:])
            # Others end as they are told to, and no view says more of them.
            for how, parameters in (("time", {"forNs": SECOND // 5}), ("call", {})):
                with Recording(ctl, tag=how, filter={"uids": [FOREIGNER]}, **parameters) as recording:
                    recording.started()
                    if how == "call":
                        answer(ask(ctl, "EndRecording", more=False))
                    ended = answer(recording.rest())["recording"]
                expect_equal(ended["endedBy"], how)
                expect(ended["samples"] >= 0 and ended["lost"] >= 0, ended)
                expect_equal(stacks(ctl, how)[0]["recording"]["endedBy"], how)
                expect("early" not in ctl("show", how).out, how)


@contextlib.contextmanager
def switched_off_and_on():
    """The number of a CPU that is switched off for an instant, in which nothing else is done."""
    path = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    if not os.access(path, os.W_OK) or path.read_text(encoding="ascii").strip() != "1":
        raise Skip("no CPU can be switched off here")
    try:
        path.write_text("0", encoding="ascii")
    except OSError as error:
        raise Skip(f"CPU 1 cannot be switched off: {error.strerror}") from error
    finally:
        path.write_text("1", encoding="ascii")
    yield 1


@test
def cpu_that_came():
    """what runs on a CPU that was switched on after the daemon began has no samples, which is said with its time"""
    with daemon() as ctl:
        record(ctl, 2, tag="before")
        expect("cpusWithoutClock" not in stacks(ctl, "before")[0]["recording"], stacks(ctl, "before")[0]["recording"])
        with Recording(ctl, tag="rec") as recording:
            recording.started()
            with switched_off_and_on() as cpu, subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
                try:
                    os.sched_setaffinity(process.pid, {cpu})
                    time.sleep(4)
                    answer(ask(ctl, "EndRecording", more=False))
                    ended = answer(recording.rest())["recording"]
                    numbers = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
                    result = ctl("record", "--for", "2s")
                finally:
                    process.kill()
        first, found = stacks(ctl, "rec")
        facts = first["recording"]
        expect_equal((facts["cpusWithoutClock"], ended["cpusWithoutClock"]), ("1", "1"))
        expect_equal(facts["withoutClockNs"], ended["withoutClockNs"])
        # The look before it came, and the last one, may be up to a second away.
        used_ns = sum(map(int, numbers[11:13])) * SECOND // HZ
        expect(used_ns - 2.5 * SECOND <= facts["withoutClockNs"] <= 6 * SECOND, facts["withoutClockNs"], used_ns)
        mine = [stack for stack in found if (stack["process"], stack["place"]) == ("sh", "running") and stack["samples"] > 2]
        expect_equal(mine, [], "it has samples")
        told = r"without samples of [0-9.]+m?s on CPU 1, switched on after ctprofd began \(restart it\)"
        for command in (("show", "rec"), ("show", "rec", "--stacks"), ("info", "rec")):
            text = ctl(*command).out
            expect(re.search(told, text), command, text[:1000])
        expect("on CPU 1, which was switched on after ctprofd began" in ctl.log.read_text(), ctl.log.read_text()[-1000:])
        expect(re.search(rf"(?m)^recorded +{told}$", result.out), result.out, result.err)
    with daemon() as ctl:
        record(ctl, 2, tag="anew")
        expect("cpusWithoutClock" not in stacks(ctl, "anew")[0]["recording"], "a new daemon has no clock of it")


@test
def other_hosts():
    """another host is recorded until Ctrl-C or for a time, and several at the same time"""
    with daemon() as ctl, daemon() as other, temporary() as place:
        ssh = place / "ssh"
        ssh.write_text(f"""#!/bin/sh
for word; do
        case $word in -G) exit 0 ;; a) socket={ctl.socket} ;; b) socket={other.socket} ;; esac
done
CTPROF_SOCKET=$socket exec {CTPROFCTL} bridge
""")
        ssh.chmod(0o755)
        environment = {"CTPROF_SSH": str(ssh)}
        result = run(CTPROFCTL, "-H", "a", "record", "--tag", "timed", "--for", "500ms", "--uid", "0", env=environment)
        expect_equal(result.status, 0, result.err)
        expect_equal(stacks(ctl, "timed")[0]["recording"]["filter"], {"uids": [0]})
        result = run(CTPROFCTL, "-H", "b", "record", "--for", "300ms", "--output", place / "rec.zst", env=environment)
        expect_equal(result.status, 0, result.err)
        expect_equal(ctl("verify", place / "rec.zst").status, 0)
        # Whoever has not heard yet that there are samples cancels; on a busy machine that takes a while.
        for seconds in (1, 4, 16):
            with subprocess.Popen([CTPROFCTL, "-H", "b", "record", "--tag", "ended", "--replace"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, **environment}) as process:
                wait_until(lambda: (other("status", "--json").json()["recording"] or {}).get("samples"), what="samples")
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                ended = process.wait(60) == 0
            if ended:
                break
            wait_until(lambda: other("status", "--json").json()["recording"] is None, what="its end")
        expect(ended, "Ctrl-C does not end it")
        expect_equal(names(other), ["ended"])
        result = run(CTPROFCTL, "-H", "a,b", "--fanout", "1", "record", "--tag", "both", "--for", "2s", "--json=short", env=environment)
        expect_equal(result.status, 0, result.err)
        replies = [json.loads(line) for line in result.out.splitlines()]
        expect_equal([reply["host"] for reply in replies], ["a", "b"])
        starts = [reply["snapshot"]["startRealtimeNs"] for reply in replies]
        ends = [reply["snapshot"]["endRealtimeNs"] for reply in replies]
        expect(max(starts) < min(ends), "one after the other:", starts, ends)
        result = run(CTPROFCTL, "-H", "a,b", "record", env=environment)
        expect_equal(result.status, 2)
        expect("--for" in result.one_sentence(), result.err)


@contextlib.contextmanager
def connected_by_loopback():
    """The number of a process that reads from a socket what this one sends it through the kernel's network."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        reader = os.fork()
        if reader == 0:
            with socket.create_connection(listener.getsockname()) as connection:
                while connection.recv(1):
                    pass
            os._exit(0)
        sender, _ = listener.accept()
        try:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield reader, sender
        finally:
            sender.close()
            os.kill(reader, 9)
            os.waitpid(reader, 0)


# Who ends the waits of a thread of the load, and a function in which that is done.
WAKERS = {"at_sleep": (("interrupt",), "hrtimer_wakeup"), "at_mutex": (("thread", "places", "poker"), "poke"),
          "at_pipe": (("thread", "places", "poker"), "poke"), "at_socket": (("thread", "places", "poker"), "unix_stream_sendmsg"),
          "at_condition": (("thread", "places", "poker"), "poke")}


def waker_of(stack):
    return tuple(stack["waker"][name] for name in ("kind", "process", "thread") if name in stack["waker"])


def expect_woken(found, who, place, waker, function):
    """Nearly all of the time of whoever is called so was ended by that one there."""
    mine = [stack for stack in found if (stack["process"], stack["thread"], stack["place"]) == (*who, place)
            and stack["samples"] > 0 and stack["waker"]["kind"] != "later"]
    total = sum(stack["ns"] for stack in mine)
    right = [stack for stack in mine if waker_of(stack) == waker]
    expect(total > 0 and sum(stack["ns"] for stack in right) >= 0.9 * total, who, place, "was woken by",
           [(waker_of(stack), stack["ns"], stack.get("wakerFrames")) for stack in mine][:5])
    named = sum(stack["ns"] for stack in right if function in stack["wakerFrames"])
    expect(named >= 0.9 * total, who, f"{named} of {total} ns are ended in {function}:",
           [stack["wakerFrames"] for stack in right][:3])


@test
def wakers():
    """a recording with wakers says who ended waits and where: writers, senders, holders of locks, timers; others have none"""
    with daemon() as ctl, known_threads(), connected_by_loopback() as (reader, sender):
        with Recording(ctl, tag="rec", wakers=True) as recording:
            recording.started()
            until = time.monotonic() + 3
            while time.monotonic() < until:
                time.sleep(0.015)
                sender.send(b"x")
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        first, found = stacks(ctl, "rec", wakers=True)
        facts = first["recording"]
        expect(facts["wakers"] and facts["wakes"] > facts["lostWakes"] >= 0, facts)
        for name, (waker, function) in WAKERS.items():
            expect_woken(found, ("places", name), KNOWN[name], waker, function)
        with open(f"/proc/{os.getpid()}/comm", encoding="utf-8") as file:
            own = file.read().strip()
        # The kernel takes what is sent to its own host in a softirq, which is the sender's work all the same.
        expect_woken(found, (own, own), "socket", ("thread", own, own), "tcp_sendmsg")
        # Nobody who was interrupted is in it, and only waits have wakers; by them there is as much time as without.
        for stack in found:
            expect(stack["place"] not in ("running", "run_queue"), stack)
            expect(stack["waker"]["kind"] != "interrupt" or not {"entry_SYSCALL_64_after_hwframe", "at_sums", "at_squares"}
                   .intersection(stack["wakerFrames"]), stack)
        whole, all_stacks = stacks(ctl, "rec")
        for place, ns in first["places"].items():
            expect_equal(ns, whole["places"][place], place)
        woken = [stack for stack in all_stacks if (stack["thread"], stack["place"]) == ("at_mutex", "lock")
                 and stack["samples"] > 0]
        expect_equal({name: woken[0]["wokenBy"][name] for name in ("kind", "process", "thread")},
                     {"kind": "thread", "process": "places", "thread": "poker"})
        expect(0 < woken[0]["wokenBy"]["ns"] <= woken[0]["ns"], woken[0])
        # It sleeps while it has the mutex.
        held = woken[0]["wokenBy"]["held"]
        expect(held["place"] == "sleep" and "poke" in held["frames"], held)
        of_mutex = [stack for stack in found if (stack["thread"], stack["place"]) == ("at_mutex", "lock")]
        known = sum(stack["ns"] for stack in of_mutex if stack["waker"].get("held", {}).get("place") == "sleep")
        expect(known >= 0.8 * sum(stack["ns"] for stack in of_mutex if stack["samples"] > 0), of_mutex[:3])
        expect(not any("held" in stack["waker"] for stack in found if stack["place"] != "lock"), "only locks are held")
        lines = [json.loads(line) for line in ctl("show", "rec", "--wakers", "--format", "ndjson").out.splitlines()]
        expect_equal([(line["thread"], line["place"], line["ns"], line["waker"], line["waker_thread"], line["held_place"]) for line in lines],
                     [(stack["thread"], stack["place"], stack["ns"], stack["waker"]["kind"], stack["waker"].get("thread"),
                       stack["waker"].get("held", {}).get("place")) for stack in found])
        text = ctl("show", "rec", "--wakers", "--limit", "0")
        expect_equal((text.status, text.err), (0, ""))
        expect(re.search(r"(?m)^places/at_mutex +lock +places/poker .*\[sleep\] .*poke", text.out), text.out[:2000])
        expect_equal(ctl("verify", "rec").status, 0)
        copy = ctl.spool.parent / "copy.ctprof.zst"
        expect_equal(ctl("export", "rec", copy).status, 0)
        expect_equal(ctl("show", copy, "--wakers", "--json").json()["places"], first["places"])
        # Whoever wakes those that a filter takes is told, and is not one of them.
        result = ctl("record", "--tag", "few", "--for", "1s", "--wakers", "--comm", "at_pipe")
        expect_equal(result.status, 0, result.err)
        few = stacks(ctl, "few", wakers=True)[1]
        expect_woken(few, ("places", "at_pipe"), KNOWN["at_pipe"], *WAKERS["at_pipe"])
        for one in (few, stacks(ctl, "few")[1]):
            expect_equal({stack["thread"] for stack in one}, {"at_pipe"})
        # Who had a lock is told in any case; who ended other waits is not.
        record(ctl, 2, tag="without")
        first, found = stacks(ctl, "without")
        expect("wakers" not in first["recording"] and first["recording"]["holders"], first["recording"])
        expect_equal({stack["place"] for stack in found if "wokenBy" in stack} - {"lock"}, set())
        woken = [stack["wokenBy"] for stack in found if (stack["thread"], stack["place"]) == ("at_mutex", "lock") and stack["samples"] > 0]
        expect(any((one["kind"], one.get("thread"), one.get("held", {}).get("place")) == ("thread", "poker", "sleep") for one in woken), woken)
        expect(re.search(r"(?s)at_mutex.*held by\s+places/poker", ctl("show", "without", "--verbose").out), ctl("show", "without").out)
        record(ctl, 0.3, tag="running", offCpu=False)
        facts = stacks(ctl, "running")[0]["recording"]
        expect("holders" not in facts and "lostWakes" not in facts, facts)
        expect_equal(rows(documents(file_of(ctl, "running"))[2]["samples"])[0].get("waker", "none"), "none")
        error, parameters = failure(ask(ctl, "Stacks", recording={"name": "without"}, wakers=True))
        expect_equal((error, parameters["parameter"]), ("InvalidParameter", "wakers"))


# Threads that wait for something known, each by its name.
OBJECTS = """
import ctypes, fcntl, mmap, os, platform, socket, sys, threading, time
place, listener = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None)
libc.syscall.restype = libc.malloc.restype = ctypes.c_void_p
FUTEX = {"x86_64": 202, "aarch64": 98}[platform.machine()]
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
def futex(address):
    libc.syscall(FUTEX, ctypes.c_void_p(address), 0, 0, ctypes.byref(Time(0, 30_000_000)), None, 0)
def address_of(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
heap = libc.malloc(64)
ctypes.memset(heap, 0, 64)
anonymous = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with open(f"{place}/shared", "wb") as file:
    file.truncate(8192)
shared = os.open(f"{place}/shared", os.O_RDWR)
mapped = mmap.mmap(shared, 4096, offset=4096)
data = os.open(f"{place}/data", os.O_RDWR | os.O_CREAT)
os.mkfifo(f"{place}/fifo")
fifo = os.open(f"{place}/fifo", os.O_RDWR)
os.mkfifo(f"{place}/gone")
to_gone = os.open(f"{place}/gone", os.O_RDWR)
tcp = socket.create_connection(("127.0.0.1", listener))
mapped_tcp = socket.socket(socket.AF_INET6)
mapped_tcp.connect(("::ffff:127.0.0.1", listener))
unix = socket.socket(socket.AF_UNIX)
unix.connect(f"{place}/socket")
accepts = socket.create_server(("127.0.0.1", 0))
locks = [os.open(f"{place}/lock", os.O_RDWR | os.O_CREAT) for _ in range(2)]
def at_disk():
    os.pwrite(data, os.urandom(65536), 0)
    os.fsync(data)
def at_fifo():
    os.read(fifo, 1)
# While it waits, its descriptor is closed, and then stands for another file.
def at_gone():
    global gone
    gone = os.open(f"{place}/gone", os.O_RDONLY)
    os.read(gone, 1)
def at_closed():
    global number
    number += 1
    path = f"{place}/closed{number % 4}"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(file, os.urandom(4096), 0)
    os.fsync(file)
    os.close(file)
    os.unlink(path)
number = 0
def at_lock():
    fcntl.flock(locks[0], fcntl.LOCK_EX)
    fcntl.flock(locks[0], fcntl.LOCK_UN)
def poker():
    fcntl.flock(locks[1], fcntl.LOCK_EX)
    time.sleep(0.03)
    fcntl.flock(locks[1], fcntl.LOCK_UN)
    os.write(fifo, b"x")
    if gone is not None:
        os.close(gone) if time.time() % 2 < 1 else os.dup2(data, gone)
        globals()["gone"] = None
        os.write(to_gone, b"x")
gone = None
threads = {"at_disk": at_disk, "at_fifo": at_fifo, "at_gone": at_gone, "poker": poker, "at_heap": lambda: futex(heap),
           "at_anonymous": lambda: futex(address_of(anonymous)), "at_mapped": lambda: futex(address_of(mapped) + 64),
           "at_tcp": lambda: tcp.recv(1), "at_six": lambda: mapped_tcp.recv(1), "at_unix": lambda: unix.recv(1),
           "at_accept": lambda: accepts.accept(), "at_lock": at_lock, "at_closed": at_closed}
def run(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
    while True:
        threads[name]()
for name in threads:
    threading.Thread(target=run, args=(name,), daemon=True).start()
libc.prctl(15, b"objects", 0, 0, 0)
print(accepts.getsockname()[1], flush=True)
sys.stdin.read()
os._exit(0)
"""


@contextlib.contextmanager
def waiting_on_objects(place):
    """The ports that the load is connected to, and listens at; it is sent a byte each 30 ms."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as tcp, contextlib.closing(socket.socket(socket.AF_UNIX)) as unix:
        unix.bind(f"{place}/socket")
        unix.listen()
        port = tcp.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", OBJECTS, place, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
            try:
                senders = [one.accept()[0] for one in (tcp, tcp, unix)]
                listens = int(load.stdout.readline())
                answers = os.fork()
                if answers == 0:
                    while True:
                        time.sleep(0.03)
                        for sender in senders:
                            sender.send(b"x")
                try:
                    yield port, listens
                finally:
                    os.kill(answers, 9)
                    os.waitpid(answers, 0)
            finally:
                load.kill()


@test
def objects():
    """it is told what waits were on: files by path, peers of sockets, variables and memory of futexes; and nothing of what is gone"""
    with daemon() as ctl, temporary() as place, known_threads(), waiting_on_objects(place) as (port, listens):
        record(ctl, 3, tag="rec")
        first, found = stacks(ctl, "rec")
        expect(first["recording"]["objects"], first["recording"])

        def seen(name, places):
            """The objects of a thread there and their time, and all of its time there that has samples."""
            sums, whole = collections.Counter(), 0
            for stack in found:
                if stack["thread"] != name or stack["place"] not in places or stack["samples"] == 0:
                    continue
                whole += stack["ns"]
                for one in stack.get("objects", []):
                    sums[one["kind"], one["name"]] += one["ns"]
                expect(sum(one["ns"] for one in stack.get("objects", [])) + stack.get("otherObjectsNs", 0) <= stack["ns"], stack)
            return sums, whole

        with open(f"/proc/{os.getpid()}/comm", encoding="utf-8") as file:
            own = file.read().strip()
        for name, places, wanted in (
                ("at_disk", ("storage", "blocked"), ("file", f"{place}/data")),
                ("at_fifo", ("pipe",), ("file", f"{place}/fifo")),
                ("at_tcp", ("socket",), ("socket", f"tcp 127.0.0.1:{port}")),
                ("at_six", ("socket",), ("socket", f"tcp 127.0.0.1:{port}")),
                ("at_accept", ("socket",), ("socket", f"tcp at 127.0.0.1:{listens}, listening")),
                ("at_lock", ("file_lock",), ("file", f"{place}/lock")),
                ("at_unix", ("socket",), ("socket", f"unix socket of {own} ({os.getpid()})")),
                ("at_heap", ("futex",), ("futex", "[heap]")),
                ("at_anonymous", ("futex",), ("futex", "[anonymous]")),
                ("at_mapped", ("futex",), ("futex", f"{place}/shared+0x1040")),
                ("at_mutex", ("lock",), ("futex", "mutex in places"))):
            sums, whole = seen(name, places)
            # What Python itself takes turns by is a variable of its own.
            whole -= sum(ns for (_, one), ns in sums.items() if "_PyRuntime" in one)
            expect(whole > 0 and sums[wanted] >= 0.9 * whole, name, "was on", sums, "of", whole)
        # Closed before its path is read, it still has a name. Making and removing it are calls without a descriptor.
        sums, whole = seen("at_closed", ("storage", "blocked"))
        expect(set(sums) <= {("file", f"{directory}/closed{number}{end}") for number in range(4)
                             for directory, end in ((place, ""), (place, " (deleted)"), ("...", ""))} and
               sum(ns for (_, one), ns in sums.items() if one.startswith("...")) > 0 and sum(sums.values()) >= 0.3 * whole,
               "at_closed was on", sums, "of", whole)
        sums, whole = seen("at_gone", ("pipe",))
        # The last wait goes on at the end: then its descriptor is still what it was.
        expect(whole > 0 and set(sums) <= {("file", f"{place}/gone")} and sum(sums.values()) <= 0.05 * whole,
               "at_gone was on", sums, "of", whole)


# Burns and sleeps by turns, and says when it began with each; its name tells the two loads apart.
TURNS = """
import ctypes, sys, threading, time
ctypes.CDLL(None).prctl(15, b"turns", 0, 0, 0)
def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
for turn in range(20):
    begin = now()
    if turn % 2:
        time.sleep(1.5)
    else:
        while now() - begin < 1_500_000_000:
            pass
    print(turn % 2, begin, now(), flush=True)
"""


def steps(ctl, name, **parameters):
    replies = ask(ctl, "Stacks", recording={"name": name}, course=True, limit=1, **parameters)
    answer(replies)
    return [step for reply in replies for step in reply["parameters"].get("steps", [])]


def figures(found):
    """{(process, thread): {place: ns}} of each step."""
    return [(step, {(group["process"], group["thread"]): group["places"] for group in step["groups"]}) for step in found]


def expect_turns(found, turns):
    """Steps that lie within a turn have what was done in it, and nothing else."""
    # One in which the host has taken the CPU away is neither.
    seen, right = {0: 0, 1: 0}, {0: 0, 1: 0}
    for step, groups in figures(found):
        begin, finish = step["beginBoottimeNs"], step["endBoottimeNs"]
        for sleeps, first, last in turns:
            # A thread may get its CPU late, and that it waited for one is counted once it has it.
            if begin < first + 100_000_000 or finish > last - 10_000_000:
                continue
            places, length = groups.get(("turns", "turns"), {}), finish - begin
            slept, ran = places.get("sleep", 0), places.get("running", 0) + places.get("run_queue", 0)
            seen[sleeps] += 1
            right[sleeps] += (slept if sleeps else ran) > 0.6 * length and (ran if sleeps else slept) < 0.1 * length
    for sleeps in (0, 1):
        expect(seen[sleeps] >= 2 and right[sleeps] >= 0.75 * seen[sleeps], "steps within turns:", right, "of", seen)


def expect_sums(ctl, name, found):
    """The steps of all groups have what the interval has, but for what is before and after them."""
    view = ctl("show", name, "--no-thread-normalize", "--json").json()
    head = stacks(ctl, name)[0]["snapshot"]
    outside = head["endBoottimeNs"] - head["startBoottimeNs"] - (found[-1]["endBoottimeNs"] - found[0]["beginBoottimeNs"])
    sums, works = collections.Counter(), collections.Counter()
    for step, groups in figures(found):
        for (process, _), places in groups.items():
            for place, ns in places.items():
                sums[process, place] += ns
                sums[place] += ns
                expect(ns <= 1.1 * (step["threads"] + step["ended"]) * (step["endBoottimeNs"] - step["beginBoottimeNs"]), process, place, step)
    for group in view["groups"]:
        for metric, place in (("run_time_ns", "running"), ("wait_time_ns", "run_queue"), ("sleep_wait_ns", "sleep"), ("pipe_wait_ns", "pipe")):
            work = (group["metrics"].get(metric) or {}).get("work") or 0
            works[group["process"], place] += work
            works[place] += work
    for key in [("turns", "running"), ("turns", "run_queue"), ("turns", "sleep"), ("briefly", "running"), ("briefly", "run_queue"), "running"]:
        n = os.cpu_count() if key == "running" else 1
        # The captures of the ends take a moment themselves, and more where they lose their CPU.
        expect(-n * 20_000_000 <= works[key] - sums[key] <= n * (outside + 150_000_000), key, f"{sums[key]} of {works[key]} ns, {outside} outside")


@test
def course():
    """steps have what each group did in them, by its own clock, and add up to the interval, with those that ended; others have none"""
    with daemon() as ctl, temporary() as directory:
        shutil.copy("/bin/true", directory / "briefly")
        with subprocess.Popen([sys.executable, "-c", TURNS], stdout=subprocess.PIPE, text=True) as load:
            try:
                load.stdout.readline()
                begun = time.monotonic()
                with Recording(ctl, tag="rec", everyNs=SECOND // 5) as recording:
                    recording.started()
                    until, n = time.monotonic() + 7, 0
                    while time.monotonic() < until:
                        subprocess.run([directory / "briefly"], check=True)
                        n += 1
                        time.sleep(0.03)
                    answer(ask(ctl, "EndRecording", more=False))
                    answer(recording.rest())
                took = time.monotonic() - begun
            finally:
                load.kill()
            turns = [tuple(int(number) for number in line.split()) for line in load.stdout if line.endswith("\n")]
        first = stacks(ctl, "rec")[0]
        found = steps(ctl, "rec")
        facts = first["recording"]
        expect(facts["everyNs"] == SECOND // 5 and facts["missedSteps"] == 0 and "running" in facts["coursePlaces"], facts)
        # On a busy machine some are late, and longer.
        expect(15 <= len(found) <= 5 * took + 2, "steps:", len(found), "in", took)
        for one, other in zip(found, found[1:]):
            expect_equal(one["endBoottimeNs"], other["beginBoottimeNs"], "a step begins where one ends")
        expect(facts["startBoottimeNs"] <= found[0]["beginBoottimeNs"] and found[-1]["endBoottimeNs"] <= facts["endBoottimeNs"] + SECOND // 10, facts)
        expect_turns(found, turns)
        expect_sums(ctl, "rec", found)
        expect(sum(step["ended"] for step in found) >= n, "threads that ended", n)
        some = steps(ctl, "rec", places=["lock"])
        expect(len(some) == len(found) and {place for _, groups in figures(some) for places in groups.values() for place in places} <= {"lock"}, some[:2])
        text = ctl("show", "rec", "--course", "--limit", "0")
        expect_equal((text.status, text.err), (0, ""))
        expect(re.search(r"(?m)^turns +running +\d", text.out) and re.search(rf"^steps +{len(found)} of 200ms from ", text.out), text.out[:2000])
        csv = ctl("show", "rec", "--course", "--format", "csv").out.splitlines()
        expect_equal(len(csv) - 1, sum(len(places) for _, groups in figures(found) for places in groups.values()), "rows")
        expect_equal(ctl("verify", "rec").status, 0)
        copy = ctl.spool.parent / "copy.ctprof.zst"
        expect_equal(ctl("export", "rec", copy).status, 0)
        expect_equal(ctl("show", copy, "--course", "--json").json()["steps"], found)
        expect_equal(ctl("record", "--tag", "few", "--for", "1s", "--every", "250ms").status, 0)
        expect(re.search(r"(?m)^0\.00s ", "\n".join(line.lstrip() for line in ctl("show", "few", "--course").out.splitlines())), "a line a step")
        record(ctl, 0.3, tag="without")
        expect("everyNs" not in stacks(ctl, "without")[0]["recording"], "no steps")
        result = ctl("show", "without", "--course")
        expect(result.status == 2 and "recorded without steps" in result.err, result)
        for parameters in ({"everyNs": SECOND // 100}, {"everyNs": SECOND // 10, "forNs": 400 * SECOND}):
            error, detail = failure(ask(ctl, "Record", **parameters))
            expect_equal((error, detail["parameter"]), ("InvalidParameter", "everyNs"))
        expect("3600 steps" in detail["reason"] and "112 ms" in detail["reason"], detail)
# Threads sleep so often for so long each, say how long that was, and have a name.
SLEEPERS = """
import sys, threading, time
def work(name, ns, times):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write(name)
    begin = time.monotonic_ns()
    for _ in range(times):
        time.sleep(ns / 1e9)
    said.append((name, time.monotonic_ns() - begin))
said = []
threads = [threading.Thread(target=work, args=(name, int(ns), int(times))) for name, ns, times in
           (word.split(":") for word in sys.argv[1:])]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name, ns in said:
    print(name, ns)
"""
# In the middle of what they are counted by, so that a timer may be late.
SLEEPS = {"sleeps-3ms": (3_000_000, 300), "sleeps-24ms": (24_000_000, 60), "sleeps-200ms": (200_000_000, 5)}


def histograms(ctl, name, **parameters):
    """The first reply, and histograms by thread and place: {atLeastNs: (count, ns)}."""
    replies = ask(ctl, "Stacks", recording={"name": name}, histogram=True, **parameters)
    answer(replies)
    found = {}
    for one in (one for reply in replies for one in reply["parameters"].get("histograms", [])):
        buckets = {bucket["atLeastNs"]: (bucket["count"], bucket["ns"]) for bucket in one["buckets"]}
        expect_equal((one["count"], one["ns"]), tuple(map(sum, zip(*buckets.values()))), one)
        for bucket in one["buckets"]:
            high = (bucket["belowNs"] or 1 << 64) - 1
            expect(bucket["atLeastNs"] * bucket["count"] <= bucket["ns"] <= high * bucket["count"], bucket)
        found[one["process"], one["thread"], one["place"]] = buckets
    return replies[0]["parameters"], found


def sleepers(ctl, *options, sleeps=None):
    """Records them; how long each one says that it has slept."""
    words = [f"{name}:{ns}:{times}" for name, (ns, times) in (sleeps or SLEEPS).items()]
    result = ctl("record", "--tag", "rec", "--replace", *options, "--", sys.executable, "-c", SLEEPERS, *words)
    expect_equal(result.status, 0, result.err)
    return {name: int(ns) for name, ns in (line.split() for line in result.out.splitlines() if line.startswith("sleep"))}


@test
def histogram():
    """each wait is counted by its length, as often as the thread itself has slept; filters and lengths hold; others have none"""
    with daemon() as ctl:
        said = sleepers(ctl, "--period", "1ms")
        first, found = histograms(ctl, "rec")
        facts = first["recording"]
        expect(facts["histogram"] and facts["lostLengths"] == 0, facts)
        place_ns = collections.Counter()
        for (_, _, place), buckets in found.items():
            place_ns[place] += sum(ns for _, ns in buckets.values())
        expect_equal(+collections.Counter(first["places"]), +place_ns)
        expect("running" not in first["places"] and place_ns["run_queue"] > 0, first["places"])
        comm = next(process for process, thread, _ in found if thread in SLEEPS)
        for name, (ns, times) in SLEEPS.items():
            buckets = found[comm, name, "sleep"]
            # Some hosts do not always let programs see a thread come and go: two waits in a row cannot be told apart then.
            n = sum(count for count, _ in buckets.values())
            expect(0.97 * times - 1 <= n <= times, name, buckets, facts)
            # When it wakes is decided a moment before it leaves its CPU, and it may lose that in between.
            slept = sum(ns for _, ns in buckets.values())
            expect(0.98 * ns * n <= slept <= said[name], name, slept, "of", said[name])
            # A host that is busy has its timers run out late.
            at_least = max(low for low in (1000 << k for k in range(31)) if low <= ns)
            expect(min(buckets) >= at_least // 2 and buckets[at_least][0] >= 0.7 * times - 1, name, buckets)
            # It has waited for a CPU after each of them, which some hosts do not always let programs see.
            queued = sum(count for count, _ in found[comm, name, "run_queue"].values())
            expect(queued >= 0.8 * times - 1, name, queued, facts)
        weights = [sum(ns for _, ns in buckets.values()) for buckets in found.values()]
        expect_equal(weights, sorted(weights, reverse=True))
        expect_equal(ctl("verify", "rec").status, 0)
        text = ctl("show", "rec", "--histogram", "--all-rows", "--limit", "0")
        expect_equal((text.status, text.err), (0, ""))
        expect(re.search(rf"(?m)^{re.escape(comm)}/sleeps-3ms sleep: \d+ waits, .*, p50 2\.0ms\.\.4\.1ms", text.out), text.out[:2000])
        expect(all(len(line) <= 80 for line in text.out.splitlines() if line.startswith(" ")), text.out)
        lines = [json.loads(line) for line in
                 ctl("show", "rec", "--histogram", "--format", "ndjson").out.splitlines()]
        for name in SLEEPS:
            expect_equal({line["at_least_ns"]: (line["count"], line["ns"]) for line in lines
                          if (line["thread"], line["place"]) == (name, "sleep")}, found[comm, name, "sleep"])
        # All that are as long as the period are samples, too.
        sleepers(ctl, "--period", "1ms", "--min", "10ms", "--comm", "sleeps-2*")
        found = histograms(ctl, "rec")[1]
        expect_equal({thread for _, thread, place in found if place == "sleep"}, {"sleeps-24ms", "sleeps-200ms"})
        expect(min(min(buckets) for buckets in found.values()) >= 8_192_000, found)
        threads = rows(documents(file_of(ctl, "rec"))[2]["threads"])
        samples = collections.Counter()
        for sample in rows(documents(file_of(ctl, "rec"))[2]["samples"]):
            samples[threads[sample["thread"]]["comm"], sample["place"]] += sample["long_count"]
        for name in ("sleeps-24ms", "sleeps-200ms"):
            n = sum(count for count, _ in found[comm, name, "sleep"].values())
            expect(0.97 * SLEEPS[name][1] - 1 <= n <= SLEEPS[name][1], name, n)
            expect(samples[name, "sleep"] <= SLEEPS[name][1], samples)
        record(ctl, 0.3, tag="running", offCpu=False)
        error, parameters = failure(ask(ctl, "Stacks", recording={"name": "running"}, histogram=True))
        expect_equal((error, parameters["parameter"]), ("InvalidParameter", "histogram"))


@test
def histogram_of_earlier():
    """a wait that had begun before the recording is counted with its whole length, or said to be of unknown length"""
    with subprocess.Popen([sys.executable, "-c", "import os\nwhile os.read(0, 1): pass"], stdin=subprocess.PIPE) as process, \
            daemon() as ctl:
        time.sleep(1)
        for name, unknown in (("first", 1), ("second", 0)):
            before = time.monotonic_ns()
            with Recording(ctl, tag=name, filter={"pids": [process.pid]}) as recording:
                recording.started()
                at = time.monotonic_ns()
                process.stdin.write(b"x")
                process.stdin.flush()
                time.sleep(1)
                answer(ask(ctl, "EndRecording", more=False))
                answer(recording.rest())
            first, found = histograms(ctl, name, places=["pipe"])
            expect_equal(first["recording"]["unknownLengths"], unknown, found)
            waits = [wait for buckets in found.values() for wait in buckets.values()]
            expect_equal([count for count, _ in waits], [] if unknown else [1], found)
            expect(all(ns >= at - before for _, ns in waits), waits, at - before)


@test
def histogram_full():
    """waits under more names than there is room for are counted as lost, and the next recording has all its room"""
    script = "import time\nfor i in range(9000):\n open('/proc/self/comm', 'w').write(f'name-{i}')\n time.sleep(1e-4)"
    with daemon() as ctl:
        result = ctl("record", "--tag", "rec", "--", sys.executable, "-c", script)
        expect_equal(result.status, 0, result.err)
        first, found = histograms(ctl, "rec")
        lost = first["recording"]["lostLengths"]
        # Each CPU may add one while another one does.
        expect(lost > 0 and len(found) <= 8192 + os.cpu_count(), lost, len(found))
        n_sleeps = sum(count for key, buckets in found.items() if key[2] == "sleep" for count, _ in buckets.values())
        expect(8000 < n_sleeps + lost, n_sleeps, lost)
        text = ctl("show", "rec", "--histogram", "--limit", "1").out
        expect(f"{lost} waits are not among these: there were too many names\n" in text, text)
        sleepers(ctl, sleeps={"sleep": (1_000_000, 10)})
        expect_equal(histograms(ctl, "rec")[0]["recording"]["lostLengths"], 0)


@test
def wakers_lost():
    """wake-ups for which there was no room are counted, and their waits have an unknown waker"""
    with daemon() as ctl, known_threads():
        with Recording(ctl, tag="rec", wakers=True, periodNs=100_000) as recording:
            recording.started()
            reader = job(ctl, "record")
            os.kill(reader, signal.SIGSTOP)
            time.sleep(2)
            os.kill(reader, signal.SIGCONT)
            time.sleep(0.5)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        first, found = stacks(ctl, "rec", wakers=True)
        facts = first["recording"]
        expect(0 < facts["lostWakes"] < facts["wakes"], facts)
        # A wait counts although who ended it was lost.
        expect(any(stack["waker"]["kind"] in ("thread", "interrupt") for stack in found), "nothing is left")
        text = ctl("show", "rec", "--wakers").out
        expect(f"{facts['lostWakes']} of {facts['wakes']} wake-ups were lost" in text, text[-500:])


@test
def asleep():
    """whoever slept in one wait since before the daemon began has a whole stack of it"""
    need_root()
    with temporary() as place:
        program = place / "slept-long"
        shutil.copy("/bin/sleep", program)
        process = subprocess.Popen([program, "600"])
        try:
            time.sleep(0.5)
            with daemon() as ctl:
                record(ctl, 2, tag="rec")
                mine = [stack for stack in stacks(ctl, "rec")[1] if stack["process"] == "slept-long"]
                expect(mine and mine[0]["place"] == "sleep", mine)
                expect(any("nanosleep" in frame for frame in mine[0]["frames"]), mine)
                expect(mine[0]["ns"] >= 2 * SECOND, mine)
                # From the function that every program begins in to the system call.
                expect("__libc_start_main" in " ".join(mine[0]["frames"]), mine)
                expect("[stack cut]" not in mine[0]["frames"], mine)
        finally:
            process.kill()
            process.wait()


@test
def private():
    """nothing of a recording's file is an address of the kernel or of a process"""
    with daemon() as ctl, known_threads() as (process, _):
        with open(f"/proc/{process.pid}/maps", encoding="ascii") as maps:
            ranges = [[int(word, 16) for word in line.split()[0].split("-")] for line in maps]
        record(ctl, 1, tag="rec")
        text = text_of(file_of(ctl, "rec"))
        expect(text.count('"at_sleep"') >= 1, "the load is not in it")
        numbers = {int(word) for word in re.findall(r"(?<![\w.])\d{6,20}(?![\w.])", text)}
        numbers |= {int(word, 16) for word in re.findall(r"(?i)(?<![0-9a-z])(?:0x)?([0-9a-f]{8,16})(?![0-9a-z])", text)}
        expect_equal([hex(n) for n in numbers if n >= 0xffff_0000_0000_0000], [], "addresses of the kernel")
        expect_equal([hex(n) for n in numbers if any(low <= n < high for low, high in ranges)], [],
                     "addresses of a process")


@test
def ends():
    """a recording ends when its time is over, by EndRecording of the same user, and when the caller has no more to say"""
    with daemon() as ctl:
        begun = time.monotonic()
        head = record(ctl, 1.5, tag="timed")["snapshot"]
        expect(1.5 <= time.monotonic() - begun < 10, "it took", time.monotonic() - begun)
        expect_equal((head["name"], head["fileKind"]), ("timed", "recording"))
        elapsed = stacks(ctl, "timed")[0]["elapsedNs"]
        expect(1.5 * SECOND <= elapsed < 3 * SECOND, elapsed)
        for uid in (0, STRANGER):
            with Recording(ctl, uid=uid, tag=f"ended-{uid}") as recording:
                recording.started()
                time.sleep(0.3)
                begun = time.monotonic()
                answer(ask(ctl, "EndRecording", uid=uid, more=False))
                expect_equal(answer(recording.rest())["snapshot"]["name"], f"ended-{uid}")
                expect(time.monotonic() - begun < 10, "it took", time.monotonic() - begun)
        with Recording(ctl) as recording:
            recording.started()
            recording.connection.shutdown(socket.SHUT_WR)
            head = answer(recording.rest())["snapshot"]
            expect_equal((head["fileKind"], head["tagged"]), ("recording", False))
        expect_equal(sorted(names(ctl)), sorted(["timed", "ended-0", f"ended-{STRANGER}", head["name"]]))
        # Also before there is a job that could be told.
        with Recording(ctl, tag="at-once") as recording:
            wait_until(lambda: "error" not in ask(ctl, "EndRecording", more=False)[-1], what="a recording")
            answer(recording.rest())


@test
def one_at_a_time():
    """a second recording is refused and told who records; a stranger cannot end it; without one there is nothing to end"""
    with daemon() as ctl:
        expect_equal(failure(ask(ctl, "EndRecording", more=False))[0], "NoRecording")
        expect_equal(failure(ask(ctl, "Record", more=False))[0], "ExpectedMore")
        with Recording(ctl, tag="first") as recording:
            recording.started()
            error, parameters = failure(ask(ctl, "Record", tag="second", forNs=SECOND))
            expect_equal(error, "RecordingRuns")
            expect_equal(parameters["uid"], 0)
            expect(parameters["sinceRealtimeNs"] < time.time_ns() < parameters["untilRealtimeNs"], parameters)
            expect_equal(failure(ask(ctl, "EndRecording", uid=STRANGER, more=False))[0], "PermissionDenied")
            expect_equal(failure(ask(ctl, "EndRecording", more=False, tag="first"))[0], "InvalidParameter")
            time.sleep(0.2)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        expect_equal(names(ctl), ["first"])
        with Recording(ctl, uid=STRANGER, tag="of-stranger") as recording:
            recording.started()
            error, parameters = failure(ask(ctl, "Record", forNs=SECOND))
            expect_equal((error, parameters["uid"]), ("RecordingRuns", STRANGER))
            answer(ask(ctl, "EndRecording", more=False))  # root may
            expect_equal(answer(recording.rest())["snapshot"]["uid"], STRANGER)


@test
def hang_up():
    """whoever hangs up cancels a recording without a tag, of which nothing stays, and ends one with a tag, which is kept"""
    with daemon() as ctl:
        for moment in ("begin", "recording"):
            with Recording(ctl) as recording:
                if moment == "recording":
                    recording.started()
            wait_until(lambda: failure_of_end(ctl) == "NoRecording", what="its end")
            wait_until(lambda: not ctl.children() and files(ctl) == [], what="files to go")
            expect_equal(names(ctl), [])
        with Recording(ctl, tag="kept") as recording:
            recording.started()
            time.sleep(0.3)
        wait_until(lambda: names(ctl) == ["kept"], what="the recording that is kept")
        # What was recorded is not lost either while the end of the interval is captured.
        with Recording(ctl, tag="late", forNs=SECOND // 5) as recording:
            recording.started()
            recording.until(lambda phase: phase != "recording")
        wait_until(lambda: "late" in names(ctl), what="the other recording that is kept")
        expect_equal(ctl("remove", "late").status, 0)
        expect(stacks(ctl, "kept")[0]["elapsedNs"] < 5 * SECOND, "it did not end")
        expect(answer(ask(ctl, "Verify", snapshots=[]))["results"][0]["ok"], "it is damaged")
        wait_until(lambda: files(ctl) == ["kept.ctprof.zst"], what="other files to go")


def failure_of_end(ctl):
    """Not to end one: a stranger asks."""
    return failure(ask(ctl, "EndRecording", uid=STRANGER, more=False))[0]


@test
def beside():
    """captures go on beside a recording"""
    with daemon() as ctl:
        with Recording(ctl, tag="rec") as recording:
            recording.started()
            for number in range(2):
                expect_equal(ctl("capture", "--tag", f"beside-{number}").status, 0)
            expect_equal(ctl("capture").status, 0)
            expect_equal(ctl("show", "beside-0..beside-1").status, 0)
            expect(failure(ask(ctl, "Record"))[0] == "RecordingRuns", "it had ended")
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        shown = ctl("show", "beside-0..beside-1", "--json").json()
        expect_equal(shown["kind"], "interval")


def programs(but=()):
    """Programs of recordings by number, and how often each has run."""
    listed = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True).stdout
    return {program["id"]: (program["name"], program.get("run_cnt", 0)) for program in json.loads(listed)
            if program.get("name", "").startswith("record_") and program["id"] not in but}


def job(ctl, kind):
    """The number of a job of that kind."""
    def find():
        for pid in ctl.children():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    if f"--job={kind}".encode() in words.read().split(b"\0"):
                        return pid
        return None
    wait_until(find, what=f"a job that does {kind}")
    return find()


def runs_on(others):
    """Programs that ran in the last half second, which could be another's first."""
    before = programs(others)
    time.sleep(0.5)
    after = programs(others)
    return [name for number, (name, n) in after.items() if n != before.get(number, (name, 0))[1]]


@test
def switched_off():
    """after a recording nothing of it runs, however it ended, and the next one begins anew"""
    if not shutil.which("bpftool"):
        raise Skip("bpftool is not installed")
    others = programs()
    with daemon() as ctl, known_threads(), sysctl("kernel.bpf_stats_enabled", 1):
        ctl("status")
        descriptors = ctl.descriptors()
        for way in ("ended", "hung up", "killed"):
            with Recording(ctl) as recording:
                recording.started()
                running = runs_on(others)
                expect({"record_clock", "record_go_on", "record_waking"} <= set(running), "in a recording these run:", running)
                if way == "ended":
                    answer(ask(ctl, "EndRecording", more=False))
                    answer(recording.rest())
                if way == "killed":
                    end(job(ctl, "record"))
                    failure(recording.rest())
            wait_until(lambda: not ctl.children(), what="the end of all jobs")
            expect_equal(runs_on(others), [], way)
            wait_until(lambda: ctl.descriptors() <= descriptors, what="descriptors to be closed")
            record(ctl, 0.5, tag="again", replace=True)
            facts = stacks(ctl, "again")[0]["recording"]
            expect(facts["samples"] > 0, facts)
            expect(0.5 * SECOND <= facts["endBoottimeNs"] - facts["startBoottimeNs"] < 3 * SECOND, facts)


@test
def counting_ends():
    """waits are counted by reason for as long after a recording as after a capture, however long it could have lasted"""
    need_root()
    with temporary() as directory:
        settings = directory / "ctprofd.conf"
        settings.write_text("[Capture]\nWaitReasons=1s\n", encoding="ascii")
        with Daemon(directory, options=("--config", str(settings))) as ctl:
            if ctl("status", "--json").json()["reasons"] is None:
                raise Skip("no programs can count here")
            with Recording(ctl) as recording:
                recording.started()
                expect(ctl("status", "--json").json()["reasons"]["counted"], "not counted during a recording")
                answer(ask(ctl, "EndRecording", more=False))
                answer(recording.rest())
            wait_until(lambda: not ctl("status", "--json").json()["reasons"]["counted"], what="the end of counting")


@test
def kept():
    """a recording is listed, told about, verified, renamed, exported, imported and removed as a snapshot is"""
    with daemon() as ctl:
        made = record(ctl, 0.5, tag="rec")["snapshot"]
        expect_equal(files(ctl), ["rec.ctprof.zst"])
        listed = answer(ask(ctl, "List", more=False))["snapshots"]
        expect_equal([(head["name"], head["fileKind"]) for head in listed], [("rec", "recording")])
        for member in ("startRealtimeNs", "endRealtimeNs", "startBoottimeNs", "uid"):
            expect_equal(listed[0][member], made[member], member)
        expect(made["endBoottimeNs"] - made["startBoottimeNs"] >= SECOND // 2, made)
        expect_equal(ctl("list", "--json").json()["snapshots"][0]["name"], "rec")
        expect_equal(ctl("info", "rec", "--json").status, 0)
        expect_equal(ctl("verify", "--all").status, 0)
        expect_equal(ctl("rename", "rec", "other").status, 0)
        expect_equal(names(ctl), ["other"])
        before = stacks(ctl, "other")
        exported = ctl.spool.parent / "exported.ctprof.zst"
        expect_equal(ctl("export", "other", exported).status, 0)
        expect_equal(exported.read_bytes(), file_of(ctl, "other").read_bytes(), "the copy")
        result = ctl("import", exported, "--tag", "imported")
        expect_equal(result.status, 0, result.err)
        after = stacks(ctl, "imported")
        expect_equal(after[1], before[1], "stacks of the copy")
        expect_equal(after[0]["places"], before[0]["places"], "places of the copy")
        expect(ctl("verify", "imported").status == 0, "the copy is damaged")
        expect_equal(failure(ask(ctl, "Record", tag="other", forNs=1))[0], "SnapshotExists")
        record(ctl, 0.3, tag="other", replace=True)
        listed = {head["name"]: head for head in answer(ask(ctl, "List", more=False))["snapshots"]}
        expect(listed["other"]["startRealtimeNs"] > made["startRealtimeNs"], "it was not replaced")
        expect_equal(ctl("remove", "other", "imported").status, 0)
        expect_equal((names(ctl), files(ctl)), ([], []))
        expect_equal(failure(ask(ctl, "Stacks", recording={"name": "other"}))[0], "NoSuchSnapshot")


@test
def views():
    """a recording is shown and compared as the interval that it is, beside intervals and in sets"""
    with daemon() as ctl, known_threads():
        expect_equal(ctl("capture", "--tag", "a").status, 0)
        record(ctl, 1, tag="rec")
        expect_equal(ctl("capture", "--tag", "b").status, 0)
        record(ctl, 1, tag="other")
        record(ctl, 0.5, tag="third")
        interval, recordings = {"name": "a", "to": {"name": "b"}}, [{"name": name} for name in ("rec", "other", "third")]
        shown = whole(ctl, "Show", snapshot=recordings[0])
        expect_equal(shown["kind"], "interval")
        pure = whole(ctl, "Show", snapshot=interval)
        for sides in ((recordings[0], recordings[1]), (interval, recordings[0]), (recordings[0], interval)):
            compared = whole(ctl, "Compare", before=sides[0], after=sides[1])
            expect_equal(compared["kind"], whole(ctl, "Compare", before=interval, after=interval)["kind"], sides)
        expect_equal(set(shown) - {"sources", "host"}, set(pure) - {"sources", "host"}, "members of both")
        for sets in ((recordings[:2], [interval, recordings[2]]), (recordings[:1], recordings[1:])):
            expect_equal(whole(ctl, "CompareSets", before=sets[0], after=sets[1])["kind"], "sets")
        for command in (("show", "rec"), ("compare", "rec", "other"),
                        ("compare", "--before", "rec,other", "--after", "a..b,third")):
            result = ctl(*command)
            expect_equal((result.status, result.err), (0, ""), command)
        for sides in (("a..b", "rec"), ("rec", "a..b")):
            result = ctl("compare", *sides)
            expect_equal((result.status, result.err), (0, ""), sides)
            expect('no stacks: "rec" has some, and "a..b" was not recorded' in result.out, result.out)
        error, parameters = failure(ask(ctl, "Stacks", recording={"name": "a"}))
        expect("recording" in json.dumps(parameters), "of a snapshot:", error, parameters)


def renamed(ctl, name):
    """The load under a name that no other test uses."""
    return shutil.copy(BUILD / "tests" / "live" / "places", ctl.spool.parent / name)


@test
def first_screen():
    """what waits most stands above the groups with its functions, and a list ends the screen"""
    with daemon() as ctl, known_threads(renamed(ctl, "screen-load")):
        record(ctl, 2, tag="rec")
        lines = ctl("show", "rec").out.splitlines()
        waits = [line for line in lines[:lines.index(next(line for line in lines if line.startswith("GROUP")))]
                 if line.startswith("waits")]
        expect(1 <= len(waits) <= 3, waits)
        expect(re.match(r"waits +screen-load lock [\d.]+: (?:\S+ → )*at_mutex", waits[0]), waits)
        expect("stacks" in lines, "there is no list")


@test
def changes():
    """two recordings are compared stack by stack, as exact as the times of their threads are"""
    with daemon() as ctl:
        with known_threads(renamed(ctl, "changed-load")):
            record(ctl, 2, tag="busy")
        record(ctl, 1, tag="quiet")
        compared = ctl("compare", "busy", "quiet", "--stacks", "--json").json()
        sides = {"a": "busy", "b": "quiet"}
        lengths = {side: compared[side]["elapsedNs"] for side in sides}
        sums = {side: collections.Counter() for side in sides}
        for stack in compared["stacks"]:
            ns = {side: (stack[side] or {"ns": 0})["ns"] for side in sides}
            for side in sides:
                sums[side][stack["place"]] += ns[side]
            change = SECOND * (ns["b"] / lengths["b"] - ns["a"] / lengths["a"])
            expect(abs(change - stack["changePerSecondNs"]) <= 1 + abs(change) * 1e-9, stack)
        keys = [(stack["process"], stack["place"], *stack["frames"]) for stack in compared["stacks"]]
        expect_equal(len(keys), len(set(keys)), "stacks that are there once")
        moved = [abs(stack["changePerSecondNs"]) for stack in compared["stacks"]]
        expect_equal(moved, sorted(moved, reverse=True), "the order")
        for side, name in sides.items():
            expect_equal(+sums[side], +collections.Counter(stacks(ctl, name)[0]["places"]), side)
        mine = [stack for stack in compared["stacks"] if stack["process"] == "changed-load" and "at_mutex" in stack["frames"]
                and stack["place"] == "lock"]
        expect(mine and mine[0]["b"] is None and mine[0]["changePerSecondNs"] < -SECOND / 10, mine)
        result = ctl("compare", "busy", "quiet")
        block = result.out[result.out.index("stacks: how many threads"):].splitlines()
        expect_equal(block[1].split()[:5], ["PROCESS", "PLACE", "A", "B", "CHANGE"])
        expect(10 <= len(block[2:]) <= 15, block)
        for line in ctl("compare", "busy", "quiet", "--format", "folded").out.splitlines():
            expect(re.fullmatch(r"[^;]+(?:;[^;]+)*;\[\w+\] \d+ \d+", line), line)
        trees = ctl("compare", "busy", "quiet", "--stacks", "--limit", "0").out
        expect(re.search(r"^ *[\d.]+ +- +−[\d.]+ +(?:±\S+ +)?changed-load$", trees, re.M), trees)
        page = ctl("compare", "busy", "quiet", "--format", "html")
        expect_equal((page.status, page.err), (0, ""), "the page")
        expect(re.search('"before":{"snapshot":{[^}]*"name":"busy"', page.out), "the page is not of both")


@test
def sets_of_recordings():
    """stacks of two sets of recordings are tested: what a load does is more than chance, and differs by what it does"""
    with daemon() as ctl:
        def record_some(name, n):
            for i in range(n):
                result = ctl("record", "--tag", f"{name}-{i}", "--for", "400ms", "--comm", "sets-load")
                expect_equal(result.status, 0, result.err)
        with known_threads(renamed(ctl, "sets-load")):
            record_some("busy", 5)
        record_some("quiet", 5)
        both = ("compare", "--before", "busy-*", "--after", "quiet-*")
        compared = ctl(*both, "--stacks", "--json").json()
        expect_equal([head["name"] for head in compared["before"]], [f"busy-{i}" for i in range(5)])
        expect_equal((compared["tested"] > 5, compared["overflowStacks"]), (True, 0), compared["tested"])
        mine = [stack for stack in compared["stacks"] if stack["place"] == "lock" and "at_mutex" in stack["frames"]]
        expect_equal([stack["process"] for stack in mine], ["sets-load"], "threads of one stack are together")
        sums = []
        for i in range(5):
            first, found = stacks(ctl, f"busy-{i}")
            sums.append(SECOND * sum(stack["ns"] for stack in found if stack["place"] == "lock" and stack["frames"] == mine[0]["frames"])
                        / first["elapsedNs"])
        expect(abs(mine[0]["before"]["median"] - sorted(sums)[2]) < 2, mine[0]["before"], sums)
        expect_equal((mine[0]["before"]["n"], mine[0]["after"]["n"], mine[0]["after"]["max"]), (5, 5, 0), mine[0])
        expect(mine[0]["significant"] and 2 / 252 - 1e-9 <= mine[0]["pAdjusted"] < 0.05, mine[0])
        result = ctl(*both)
        expect_equal((result.status, result.err), (0, ""))
        expect(re.search(r"(?m)^changed +sets-load lock [\d.]+ → 0: (?:\S+ → )*at_mutex", result.out), result.out)
        expect(re.search(r"(?m)^sets-load +lock +[\d.]+ +0 +−[\d.]+ +0\.\d+ .*at_mutex", result.out), result.out)
        expect_equal(ctl("capture", "--tag", "plain").status, 0)
        mixed = ctl("compare", "--before", "busy-*", "--after", "quiet-*,plain")
        expect(mixed.status == 0 and 'no stacks: "plain" was not recorded' in mixed.out, mixed.out, mixed.err)
        error, parameters = failure(ask(ctl, "CompareSets", before=[{"name": "busy-0"}], after=[{"name": "plain"}], stacks=True))
        expect_equal((error, parameters["parameter"]), ("InvalidParameter", "after"))


@test
def off_cpu():
    """the times off the CPU that denet would have are those of all places but running, of recordings and of intervals"""
    with daemon() as ctl, known_threads() as (process, tids):
        expect_equal(ctl("capture", "--tag", "a").status, 0)
        record(ctl, 2, tag="rec")
        expect_equal(ctl("capture", "--tag", "b").status, 0)
        begin, finish, _ = documents(file_of(ctl, "rec"))
        exact = {tid: sum(ns for place, ns in times.items() if place != "running") for (tid, _), times in exact_times(begin, finish).items()}
        for subject in ("rec", "a..b"):
            result = ctl("export", "--format", "denet", subject, "-")
            expect_equal((result.status, result.err), (0, ""), subject)
            told = result.json()["ebpf"]["offcpu"]
            stats, top = told["thread_stats"], told["top_blocking_threads"]
            expect_equal(list(told), ["total_time_ns", "total_events", "avg_time_ns", "max_time_ns", "min_time_ns",
                                      "top_blocking_threads", "thread_stats"])
            if subject == "rec":
                expect_equal({name: stats[f"{process.pid}:{tid}"]["total_time_ns"] for name, tid in tids.items()},
                             {name: exact[tid] for name, tid in tids.items()})
            sleeper = stats[f"{process.pid}:{tids['at_sleep']}"]
            expect(sleeper["count"] > 0 and sleeper["avg_time_ns"] == sleeper["total_time_ns"] // sleeper["count"], sleeper)
            expect_equal((sleeper["max_time_ns"], sleeper["min_time_ns"]), (None, None))
            expect(sum(thread["total_time_ns"] for thread in stats.values()) <= told["total_time_ns"], "threads have more than all")
            expect_equal(told["avg_time_ns"], told["total_time_ns"] // told["total_events"])
            expect(1 <= len(top) <= 10, top)
            expect_equal([thread["time_ms"] for thread in top], sorted((thread["time_ms"] for thread in top), reverse=True))
            for thread in top:
                ns = stats[f"{thread['pid']}:{thread['tid']}"]["total_time_ns"]
                expect(abs(thread["time_ms"] - ns / 1e6) < 1e-6, thread)
                expect(abs(thread["percentage"] - 100 * ns / told["total_time_ns"]) < 1e-6, thread)
        result = ctl("export", "--format", "denet", "a", "-")
        expect_equal((result.status, result.out), (2, ""))
        # What is written about a file is called as the file is, whatever the name in it.
        with temporary() as place:
            expect_equal(ctl("export", "rec", place / "moved.ctprof.zst").status, 0)
            expect_equal(run(CTPROFCTL, "export", "--format", "denet", place / "moved.ctprof.zst", cwd=place).status, 0)
            expect_equal(sorted(path.name for path in place.iterdir()), ["moved.ctprof.zst", "moved.denet.json"])


@test
def profile():
    """a profile for pprof has the time of every stack, with files and their build ids"""
    with daemon() as ctl, known_threads(renamed(ctl, "profiled-load")):
        record(ctl, 2, tag="rec")
        path = ctl.spool.parent / "profile.pb.gz"
        with open(path, "wb") as out:
            subprocess.run([CTPROFCTL, "--socket", ctl.socket, "show", "rec", "--format", "pprof"], stdout=out, check=True)
        told = pprof.read(path.read_bytes())
        first, found = stacks(ctl, "rec")
        expect_equal(told["types"], [("samples", "count"), ("time", "nanoseconds")])
        expect_equal((told["time_ns"], told["duration_ns"]), (first["snapshot"]["startRealtimeNs"], first["elapsedNs"]))
        expect_equal([(sample["labels"], sample["values"], [name for name, *_ in sample["frames"]]) for sample in told["samples"]],
                     [({"thread": stack["thread"], "process": stack["process"], "reason": stack["place"]},
                       {"samples": stack["samples"], "time": stack["ns"]}, stack["frames"]) for stack in found])
        mine = {file["path"]: file for file in told["mappings"]}[str(ctl.spool.parent / "profiled-load")]
        expect(re.fullmatch("[0-9a-f]{8,64}", mine["build_id"]), mine)
        known = [frame for sample in told["samples"] for frame in sample["frames"] if frame[0] == "at_mutex" and frame[1] == mine["path"]]
        expect(known and known[0][2] > 0, "a function has no place in its file")
        expect(all(path is None for sample in told["samples"] for name, path, _ in sample["frames"] if name == "do_syscall_64"),
               "the kernel is in no file")


@test
def profile_as_go_reads_it():
    """what "go tool pprof" starts names the recording, and has the time of each function and the labels"""
    with temporary() as scratch, daemon() as ctl:
        programs = Programs(scratch, {"pprof": "golang-go"})
        with known_threads(renamed(ctl, "profiled-load")):
            record(ctl, 2, tag="rec")
        path = scratch / "profile.pb.gz"
        path.write_bytes(subprocess.run([CTPROFCTL, "--socket", ctl.socket, "show", "rec", "--format", "pprof"], stdout=subprocess.PIPE,
                                        check=True).stdout)

        def read(*options):
            return subprocess.run([programs["pprof"], *options, path], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PPROF_TMPDIR": str(scratch), "HOME": str(scratch)}).stdout.splitlines()

        said = read("-top", "-unit=ns", "-nodecount=100000", "-nodefraction=0")
        expect_equal(said[0], "File: rec")
        flat = {line.split(None, 5)[5]: float(line.split()[0].removesuffix("ns")) for line in said if re.match(r" *[0-9.]+(ns)? ", line)}
        ours = sum(stack["ns"] for stack in stacks(ctl, "rec")[1] if stack["frames"][-1] == "at_sums")
        expect(ours > 0 and abs(flat["at_sums"] - ours) <= 0.01 * ours, flat.get("at_sums"), ours)
        said = "\n".join(read("-tags"))
        expect(all(f" {key}: Total " in said for key in ("process", "thread", "reason")) and "profiled-load" in said, said[:500])


@test
def damage():
    """a byte changed in either end or in the samples is found by verify, and where it matters by Stacks"""
    with daemon() as ctl:
        head = record(ctl, 0.5, tag="rec")["snapshot"]
        path = file_of(ctl, "rec")
        whole = path.read_bytes()
        begin, finish = head["beginBytes"], head["endBytes"]
        length = len(whole) - begin - finish
        for part, at in (("begin", begin // 2), ("end", begin + finish // 2), ("recording", begin + finish + length // 3)):
            changed = bytearray(whole)
            changed[at] ^= 0x10
            path.write_bytes(changed)
            result = answer(ask(ctl, "Verify", snapshots=[{"name": "rec"}]))["results"][0]
            expect(not result["ok"] and result["error"], part, result)
            expect_equal(ctl("verify", "rec").status, 1, part)
            error, parameters = failure(ask(ctl, "Stacks", recording={"name": "rec"}, limit=0))
            expect_equal((error, parameters["name"]), ("SnapshotUnreadable", "rec"), part, parameters)
            if part != "recording":
                expect_equal(ctl("show", "rec").status, 1, part)
        for n in (begin + 1, begin + finish, len(whole) - 1):
            path.write_bytes(whole[:n])
            expect_equal(ctl("verify", "rec").status, 1, n)
        path.write_bytes(whole)
        expect_equal(ctl("verify", "rec").status, 0)
        stacks(ctl, "rec")


@test
def ended():
    """stacks of processes that end at once are named rightly, as the child of a fork and as what it executes"""
    with daemon() as ctl:
        with Recording(ctl, tag="rec", periodNs=100_000) as recording:
            recording.started()
            until = time.monotonic() + 2
            n = 0
            while time.monotonic() < until:
                subprocess.run(["/bin/true"], check=True)
                n += 1
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        mine = [stack for stack in stacks(ctl, "rec")[1] if stack["process"] == "true"]
        expect(mine, f"none of {n} processes was seen")
        # A child is called by its last name. Until it executes the program its stacks are those of the one that forked,
        # from its first function on; read by the wrong table of mappings they would be pieces.
        strange = [stack for stack in mine if any(re.match(r"_?Py[A-Z]|\[python", frame) for frame in stack["frames"])
                   and not {"Py_BytesMain", "[stack cut]"}.intersection(stack["frames"])]
        expect_equal(strange, [], "functions of another program")


@test
def executed():
    """a process that executes another program is read anew: its stacks are of that one"""
    load = BUILD / "tests" / "live" / "places"
    with daemon() as ctl, Recording(ctl, tag="rec", periodNs=1_000_000) as recording:
        recording.started()
        # The shell computes long enough to be known, and then is another program.
        script = 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exec "$0"'
        with subprocess.Popen(["sh", "-c", script, load], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            expect(process.stdout.readline(), "the load did not begin")
            time.sleep(0.5)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
            process.kill()
        found = [stack for stack in stacks(ctl, "rec")[1]
                 if (stack["process"], stack["thread"], stack["place"]) == ("places", "at_sums", "running")
                 and stack["samples"] > 0]
        total = sum(stack["ns"] for stack in found)
        named = sum(stack["ns"] for stack in found if "at_sums" in stack["frames"])
        expect(total > 0 and named >= 0.95 * total, f"{named} of {total} ns is in its function:", found[:3])


SPINNER = "(anonymous namespace)::Spinner<unsigned int>::spin(unsigned int)"


def spinner(root, *options):
    """A program of C++ that needs no library, as /spinner below a directory."""
    if not shutil.which("g++"):
        raise Skip("g++ is missing: it is in Debian's build-essential")
    root.mkdir()
    program = root / "spinner"
    subprocess.run(["g++", "-O2", "-static", "-pthread", "-Wl,--build-id", *options, "-o", program,
                    pathlib.Path(__file__).with_name("spinner.cc")], check=True)
    return program


def frames_in(ctl, root, tag):
    """The innermost functions where the program below that root computes, and their share of its time."""
    with subprocess.Popen(["chroot", root, "/spinner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            expect(process.stdout.readline(), "the load did not begin")
            record(ctl, 1, tag=tag, periodNs=1_000_000, kernelStacks=False)
        finally:
            process.kill()
    times = collections.Counter()
    for stack in stacks(ctl, tag)[1]:
        if (stack["process"], stack["place"]) == ("spinner", "running") and stack["samples"] > 0:
            times[stack["frames"][-1]] += stack["ns"]
    expect(times, "the load did not run")
    return {frame: ns / times.total() for frame, ns in times.items()}


@test
def readable():
    """functions of C++ have the names that their source gives them"""
    with daemon() as ctl, temporary() as place:
        spinner(place / "root")
        found = frames_in(ctl, place / "root", "rec")
        expect(found.get(SPINNER, 0) > 0.9, found)


@test
def apart():
    """symbols that were taken out are found beside the file, in .debug and below /usr/lib/debug of its root, by build id"""
    with daemon() as ctl, temporary() as place:
        for number, where in enumerate(("nowhere", "spinner.debug", ".debug/spinner.debug", "usr/lib/debug/spinner.debug",
                                        "usr/lib/debug/.build-id", "another")):
            root = place / str(number)
            program = spinner(root)
            symbols = root / ".taken"
            subprocess.run(["objcopy", "--only-keep-debug", program, symbols], check=True)
            linked = root / "spinner.debug"
            symbols.rename(linked)
            subprocess.run(["strip", program], check=True)
            subprocess.run(["objcopy", f"--add-gnu-debuglink={linked}", program], check=True)
            notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
            identity = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
            if where == "nowhere":
                linked.unlink()
            elif where == "another":
                # The name is right, the program is not.
                other = spinner(place / "other", "-DOTHER", "-O1")
                other.rename(linked)
            elif where != "spinner.debug":
                target = root / where
                if where.endswith(".build-id"):
                    target = target / identity[:2] / f"{identity[2:]}.debug"
                target.parent.mkdir(parents=True)
                linked.rename(target)
            found = frames_in(ctl, root, f"rec-{number}")
            if where in ("nowhere", "another"):
                expect(SPINNER not in found and max(found, key=found.get).startswith("[spinner+0x"), where, found)
            else:
                expect(found.get(SPINNER, 0) > 0.9, where, found)


@test
def lines():
    """frames have lines of the source from the file itself or one of its debugging information; without, they have none"""
    source = pathlib.Path(__file__).with_name("spinner.cc").read_text(encoding="utf-8").splitlines()
    body = range(next(i for i, line in enumerate(source, 1) if "spin(" in line), len(source) + 1)
    with daemon() as ctl, temporary() as place:
        for where in ("inside", "apart", "nowhere"):
            program = spinner(place / where, "-g")
            if where != "inside":
                subprocess.run(["objcopy", "--only-keep-debug", program, f"{program}.debug"], check=True)
                subprocess.run(["strip", "--strip-debug", program], check=True)
                subprocess.run(["objcopy", f"--add-gnu-debuglink={program}.debug", program], check=True)
            if where == "nowhere":
                pathlib.Path(f"{program}.debug").unlink()
            with subprocess.Popen(["chroot", place / where, "/spinner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                expect(process.stdout.readline(), "the load did not begin")
                record(ctl, 1, tag=where, periodNs=1_000_000, lines=True)
                process.kill()
            first, found = stacks(ctl, where, lines=True)
            expect_equal((first["recording"]["lines"], first["recording"]["lostLines"]), (True, 0), where)
            times = collections.Counter()
            for stack in found:
                expect_equal(len(stack["lines"]), len(stack["frames"]) if stack["samples"] > 0 else 0, stack)
                for frame, line in zip(stack["frames"], stack["lines"]):
                    if frame == SPINNER:
                        times[tuple(line or ())] += stack["ns"]
            if where == "nowhere":
                expect_equal(set(times), {()})
            else:
                expect(all(path.endswith("/spinner.cc") and number in body for path, number in filter(None, times)), times)
                expect(times[()] <= 0.05 * times.total(), times)
                expect(re.search(r"Spinner.*\(spinner\.cc:\d+\)", ctl("show", where, "--stacks", "--lines", "--limit", "0").out), "the tree")
            # Whoever does not ask for lines has functions.
            plain = stacks(ctl, where)[1]
            expect("lines" not in plain[0], plain[0])
            keys = [(stack["thread"], stack["place"], *stack["frames"]) for stack in plain if stack["process"] == "spinner"]
            expect_equal(len(keys), len(set(keys)), "stacks of functions that are there once")
            expect_equal(sum(stack["ns"] for stack in plain), sum(stack["ns"] for stack in found), where)
            expect_equal(ctl("verify", where).status, 0)
        record(ctl, 0.3, tag="without")
        expect("lines" not in stacks(ctl, "without")[0]["recording"], "nobody asked for lines")
        error, parameters = failure(ask(ctl, "Stacks", recording={"name": "without"}, lines=True))
        expect_equal((error, parameters["parameter"]), ("InvalidParameter", "lines"))


@test
def made_at_run_time():
    """code that a process made has the names of its map, if that is its own; that of the kernel in each process has names"""
    with daemon() as ctl, known_threads():
        with subprocess.Popen([BUILD / "tests" / "live" / "made-code"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            path = process.stdout.readline().strip()
            try:
                for name in ("own", "foreign", "link"):
                    if name == "foreign":
                        os.chown(path, STRANGER, -1)
                    if name == "link":
                        os.chown(path, 0, -1)
                        os.rename(path, path + ".real")
                        os.symlink(path + ".real", path)
                    record(ctl, 1, tag=name, periodNs=1_000_000)
                    mine = [stack for stack in stacks(ctl, name)[1]
                            if (stack["process"], stack["place"]) == ("made-code", "running") and stack["samples"] > 0]
                    code, called = collections.Counter(), 0
                    for stack in mine:
                        if stack["thread"] == "in_code":
                            names = [frame for frame in stack["frames"] if frame in ("count down;made", "[unknown]", "replaced")]
                            code[names[-1] if names else None] += stack["ns"]
                            called += stack["ns"] if names and "at_code" in stack["frames"] else 0
                    wanted = "count down;made" if name == "own" else "[unknown]"
                    expect(code[wanted] > 0.9 * code.total(), name, code)
                    # In the first and last instruction of such code its frame is not there.
                    expect(name != "own" or called > 0.9 * code[wanted], "callers:", called, mine[:5])
                    clock = [stack for stack in mine if stack["thread"] == "in_clock"]
                    named = sum(stack["ns"] for stack in clock if "at_clock" in stack["frames"] and
                                any("clock_gettime" in frame for frame in stack["frames"]))
                    expect(named > 0.4 * sum(stack["ns"] for stack in clock), clock[:5])
                    recorded = documents(file_of(ctl, name))[2]
                    modules = [module["path"] for module in rows(recorded["modules"])]
                    inside = [frame["name"] for frame in rows(recorded["frames"])
                              if isinstance(frame["module"], int) and modules[frame["module"]] == "[vdso]"]
                    expect(any("gettime" in (frame or "") for frame in inside), "code of the kernel:", inside)
            finally:
                process.kill()
                for file in (path, path + ".real"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(file)


# It maps what never answers, as code, and computes.
MAPPER = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    area = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("mapped", flush=True)
while True:
    pass
"""


@test
def program_in_memory():
    """the functions of a program are known that was executed from a file in memory, which is mounted nowhere"""
    with daemon() as ctl:
        program = ctl.spool.parent / "memory-load"
        shutil.copy(BUILD / "tests" / "live" / "places", ctl.spool.parent / "places")
        program.write_text(f"""#!{sys.executable}
import os
memory = os.memfd_create("memory-load")
with open("{ctl.spool.parent}/places", "rb") as file:
    os.sendfile(memory, file.fileno(), 0, os.fstat(file.fileno()).st_size)
os.execve(memory, ["memory-load"], os.environ)
""", encoding="utf-8")
        program.chmod(0o755)
        with known_threads(program) as (process, tids):
            record(ctl, 2, tag="rec", filter={"pids": [process.pid]})
            mine = [stack for stack in stacks(ctl, "rec")[1] if stack["thread"] == "at_sums" and stack["samples"] > 0]
            expect("at_sums" in tids and mine, tids)
            expect(all("at_sums" in stack["frames"] for stack in mine), mine)


@test
def file_that_never_answers():
    """a process that maps code of a file system that never answers is recorded like others"""
    with daemon() as ctl:
        for state, is_mounted in ((STUCK_PAGE, True), (STUCK_OPEN, True), (STUCK_OPEN, False)):
            with Fuse(ctl.spool.parent / "fuse", {"code.so": STUCK_PAGE}) as fuse:
                with subprocess.Popen([sys.executable, "-c", MAPPER, fuse.path("code.so")], stdout=subprocess.PIPE) as process:
                    try:
                        expect(process.stdout.readline(), "it is not mapped")
                        fuse.contents[0] = state
                        if not is_mounted:
                            fuse.detach()
                        begun = time.monotonic()
                        result = ctl("record", "--tag", "rec", "--replace", "--for", "1s", "--pid", process.pid)
                        expect_equal(result.status, 0, result.err)
                        expect(time.monotonic() - begun < 20, "it took", time.monotonic() - begun)
                    finally:
                        process.kill()
            (ctl.spool.parent / "fuse").rmdir()


@contextlib.contextmanager
def storm():
    """Threads that sleep for a millisecond each, again and again: more samples than are wanted."""
    script = "import threading, time\ndef at(): \n while True: time.sleep(0.001)\nfor _ in range(30): threading.Thread(target=at).start()"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@test
def samples_lost():
    """samples that find no room in the ring are counted; the result, the status and each view say so, and the period grows"""
    with daemon() as ctl, known_threads(), storm():
        with Recording(ctl, tag="rec", periodNs=100_000) as recording:
            recording.started()
            with stopped(job(ctl, "record")):
                wait_until(lambda: ctl("status", "--json").json()["recording"]["lost"] > 0, what="the ring to be full")
            wait_until(lambda: ctl("status", "--json").json()["recording"]["periodNs"] > 100_000, what="a longer period")
            answer(ask(ctl, "EndRecording", more=False))
            ended = answer(recording.rest())["recording"]
        first, found = stacks(ctl, "rec")
        facts = first["recording"]
        lost = sum(facts[name] for name in ("lostRing", "lostPending", "lostStorage", "lostBusy"))
        expect(facts["lostRing"] > 0, facts)
        expect_equal((ended["lost"], ended["samples"]), (lost, facts["samples"]))
        # Each change doubled it.
        expect(facts["periodChanges"] > 0, facts)
        expect_equal(facts["periodNs"], 100_000 << facts["periodChanges"])
        told = rf"{lost + facts['overflowStacks']} samples were lost, and {facts['samples']} were taken"
        for command in (("show", "rec"), ("show", "rec", "--stacks")):
            text = ctl(*command).out
            expect(told in text, command, text[-1000:])
        expect(f"{facts['samples']} samples, and {lost + facts['overflowStacks']} lost" in ctl("info", "rec").out.replace("\n", " "),
               ctl("info", "rec").out)
        # What was lost makes no place longer or shorter.
        begin, finish, _ = documents(file_of(ctl, "rec"))
        exact = sum(times["sleep"] for (tid, _), times in exact_times(begin, finish).items() if "sleep" in times)
        sampled_ns = sum(stack["ns"] for stack in found if stack["place"] == "sleep")
        expect(sampled_ns >= exact, sampled_ns, "of", exact)


@test
def storms():
    """where more samples come than are wanted the period doubles, each time is counted, and no more are taken"""
    with daemon() as ctl, storm():
        record(ctl, 4, tag="rec", periodNs=100_000)
        facts = stacks(ctl, "rec")[0]["recording"]
        expect(facts["periodChanges"] >= 2, facts)
        expect_equal(facts["periodNs"], 100_000 << facts["periodChanges"])
        # With the period that it came to there are about as many as are wanted, besides those of clocks.
        seconds = (facts["endBoottimeNs"] - facts["startBoottimeNs"]) / SECOND
        expect(facts["samples"] < 6000 * seconds + 10000 * os.cpu_count() * seconds, facts)
        told = rf"(?m)^recorded +samples of all threads, every [0-9.]+m?s, to which it doubled in {facts['periodChanges']} steps$"
        expect(re.search(told, ctl("info", "rec").out), ctl("info", "rec").out[:1000])


@test
def process_gone():
    """stacks of a process that had ended before anybody looked at its files say so, and it is counted"""
    with daemon() as ctl, temporary() as place:
        program = shutil.copy("/bin/sh", place / "gone-soon")
        with Recording(ctl, tag="rec", periodNs=1_000_000) as recording:
            recording.started()
            with stopped(job(ctl, "record")):
                subprocess.run([program, "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"], check=True)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        first, found = stacks(ctl, "rec")
        expect(first["recording"]["endedProcesses"] >= 1, first["recording"])
        mine = [stack for stack in found if (stack["process"], stack["place"]) == ("gone-soon", "running") and stack["samples"] > 0]
        expect(mine and all(stack["frames"][0] == "[process ended]" for stack in mine), mine[:3])
        # Nothing else is claimed of what it did in user mode.
        expect_equal({frame for stack in mine for frame in stack["frames"] if frame.startswith("[")}, {"[process ended]"})
        expect("[process ended]" in ctl("show", "rec", "--format", "folded").out, "the words are missing")


@test
def stack_unreadable():
    """a thread whose stack cannot be read has the function that it is in, and its stack says that it is cut"""
    with daemon() as ctl, subprocess.Popen([BUILD / "tests" / "live" / "lost-stack"], stdout=subprocess.PIPE) as process:
        try:
            expect(process.stdout.readline(), "the load did not begin")
            record(ctl, 1, tag="rec")
        finally:
            process.kill()
        first, found = stacks(ctl, "rec")
        expect(first["recording"]["withoutStack"] > 0, first["recording"])
        mine = [stack for stack in found if (stack["process"], stack["place"]) == ("lost-stack", "running") and stack["samples"] > 0]
        expect(first["recording"]["cutStacks"] >= sum(stack["samples"] for stack in mine), first["recording"])
        expect(mine and all(stack["frames"][:2] == ["[stack cut]", "without_a_stack"] for stack in mine), mine[:3])


@test
def stack_deep():
    """a stack that is deeper than what is copied by default is whole when more of it is"""
    with daemon() as ctl, subprocess.Popen([BUILD / "tests" / "live" / "deep-stack"], stdout=subprocess.PIPE) as process:
        try:
            expect(process.stdout.readline(), "the load did not begin")
            for tag, options in (("cut", ()), ("whole", ("--user-stack", "32K"))):
                expect_equal(ctl("record", "--tag", tag, "--for", "1s", "--period", "1ms", "--comm", "deep-stack", *options).status, 0)
        finally:
            process.kill()
        for tag, outermost in (("cut", "[stack cut]"), ("whole", "_start")):
            samples = collections.Counter()
            for stack in stacks(ctl, tag)[1]:
                if stack["place"] == "sleep":
                    samples[stack["frames"][0]] += stack["samples"]
            # A wait that goes on at the end is read in another way, and not at all when it is over meanwhile.
            expect(samples[outermost] >= 30 and samples.total() - samples[outermost] <= 1, tag, samples)


@test
def symbols_missing():
    """functions of a file without symbols are places in it, of which the file and its build id are known"""
    with daemon() as ctl, temporary() as place:
        program = place / "stripped-load"
        shutil.copy(BUILD / "tests" / "live" / "places", program)
        subprocess.run(["strip", program], check=True)
        with known_threads(program):
            record(ctl, 1, tag="rec", periodNs=1_000_000)
        first, found = stacks(ctl, "rec")
        mine = [stack for stack in found if (stack["process"], stack["thread"], stack["place"]) == ("stripped-load", "at_sums", "running")
                and stack["samples"] > 0]
        expect(mine and first["recording"]["samples"] > 0, found[:3])
        for stack in mine:
            expect(any(re.fullmatch(r"\[stripped-load\+0x[0-9a-f]+\]", frame) for frame in stack["frames"]), stack)
            expect(not any(frame.startswith("at_") for frame in stack["frames"]), stack)
        modules = {module["path"]: module for module in rows(documents(file_of(ctl, "rec"))[2]["modules"])}
        expect(re.fullmatch("[0-9a-f]{8,64}", modules[str(program)]["build_id"]), modules[str(program)])


def pack_functions(program):
    """Strips it, and leaves in it what rpm leaves of its functions: those that are not exported, compressed."""
    for tool in ("objcopy", "nm", "xz"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is missing")
    debug, mini, wanted = (program.with_suffix(suffix) for suffix in (".debug", ".mini", ".wanted"))
    exported = set(run("nm", "-D", "--defined-only", "--format=posix", program).out.split())
    functions = [line.split("|")[0].strip() for line in run("nm", "--defined-only", "--format=sysv", program).out.splitlines()
                 if "FUNC" in line]
    wanted.write_text("".join(f"{name}\n" for name in functions if name not in exported))
    for command in (["objcopy", "--only-keep-debug", program, debug],
                    ["objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment",
                     f"--keep-symbols={wanted}", debug, mini],
                    ["xz", mini],
                    ["strip", program],
                    ["objcopy", "--add-section", f".gnu_debugdata={mini}.xz", program]):
        subprocess.run(command, check=True)
    for path in (debug, wanted, pathlib.Path(f"{mini}.xz")):
        path.unlink()


@test
def symbols_packed():
    """functions of a stripped file have the names that are compressed in it"""
    with daemon() as ctl, temporary() as place:
        program = place / "packed-load"
        shutil.copy(BUILD / "tests" / "live" / "places", program)
        pack_functions(program)
        with known_threads(program):
            record(ctl, 1, tag="rec", periodNs=1_000_000)
        mine = [stack for stack in stacks(ctl, "rec")[1]
                if (stack["process"], stack["place"]) == ("packed-load", "running") and stack["thread"] in ("at_sums", "at_squares")
                and stack["samples"] > 0]
        expect({stack["thread"] for stack in mine} == {"at_sums", "at_squares"}, mine[:3])
        total = sum(stack["ns"] for stack in mine)
        named = sum(stack["ns"] for stack in mine if stack["thread"] in stack["frames"])
        expect(named >= 0.95 * total, f"{named} of {total} ns is in its function:", mine[:3])


# It maps the file that it is told as code, and others over and over at other places, and computes.
REMAPPER = """
import mmap, os, sys
print("mapping", flush=True)
while True:
    areas = []
    for path in sys.argv[1:]:
        try:
            with open(path, "rb") as file:
                areas.append(mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
        except (OSError, ValueError):
            pass
        areas.append(mmap.mmap(-1, 4096 * (1 + os.getpid() % 3), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_EXEC))
    sum(range(20000))
    for area in areas:
        area.close()
"""


def rewrite(files, library, turn):
    """Makes each of these files something else."""
    for number, path in enumerate(files):
        way = (turn + number) % 7
        other = path.with_suffix(".new")
        with contextlib.suppress(OSError):
            if way == 0:
                os.truncate(path, 0)
            elif way == 1:
                os.truncate(path, 1 << 33)
            elif way == 2:
                path.write_bytes(library[:1000 + 997 * turn % len(library)])
            elif way == 3:
                other.write_bytes(library[:64] + os.urandom(1 << 16))
                other.rename(path)
            elif way == 4:
                # Sections and segments lie somewhere else.
                changed = bytearray(library)
                for _ in range(200):
                    changed[int.from_bytes(os.urandom(4)) % min(len(changed), 4096)] = os.urandom(1)[0]
                path.write_bytes(changed)
            elif way == 5:
                path.unlink()
            else:
                other.write_bytes(library)
                other.rename(path)


@test
def hostile_maps():
    """a process that maps other files all the time, while they are cut, replaced and overwritten, disturbs nobody's stacks"""
    library = pathlib.Path("/proc/self/exe").read_bytes()[:1 << 20]
    with daemon() as ctl, temporary() as place, known_threads(renamed(ctl, "calm-load")):
        files = [place / f"library-{number}.so" for number in range(20)]
        for path in files:
            path.write_bytes(library)
        with subprocess.Popen([sys.executable, "-c", REMAPPER, *map(str, files)], stdout=subprocess.PIPE) as process:
            try:
                expect(process.stdout.readline(), "the load did not begin")
                with Recording(ctl, tag="rec", periodNs=1_000_000, forNs=4 * SECOND) as recording:
                    recording.started()
                    begun = time.monotonic()
                    turn = 0
                    while time.monotonic() < begun + 4:
                        rewrite(files, library, turn)
                        turn += 1
                    answer(recording.rest())
                expect(time.monotonic() - begun < 30, "it took", time.monotonic() - begun)
                expect(turn > 3 and process.poll() is None, turn, "the load ended")
            finally:
                process.kill()
        expect_calm(ctl, "rec", "calm-load")


# What a file says of itself, and how large that is: none of it is there but as a hole.
HUGE = {
    "no-names": (".strtab",), "no-symbols": (".symtab",), "no-frames": (".eh_frame",), "no-table": (".eh_frame_hdr",),
    "no-id": (".note.gnu.build-id",), "no-titles": (".shstrtab",), "no-dynamic": (".dynstr", ".strtab"), "no-sections": (),
}
HUGE_BYTES = 650 << 20


def make_huge(path, sections):
    """Makes these sections of a program huge, or, where there are none, the file, which has no sections then."""
    elf = bytearray(pathlib.Path(path).read_bytes())
    (table,), (n, names) = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<HH", elf, 60)
    headers = [table + 64 * number for number in range(n)]
    names = struct.unpack_from("<Q", elf, headers[names] + 24)[0]
    called = {elf[begin:elf.index(0, begin)].decode(): header for header in headers
              for begin in [names + struct.unpack_from("<I", elf, header)[0]]}
    for section in sections:
        struct.pack_into("<QQ", elf, called[section] + 24, len(elf), HUGE_BYTES)
    if not sections:
        struct.pack_into("<Q", elf, 40, 0)
        struct.pack_into("<HH", elf, 60, 0, 0)
    pathlib.Path(path).write_bytes(elf)
    os.truncate(path, len(elf) + HUGE_BYTES)


@test
def huge_programs():
    """programs that say that their symbols, frames or notes are huge take neither time nor memory from a recording"""
    with daemon() as ctl, known_threads(renamed(ctl, "calm-load")), contextlib.ExitStack() as loads:
        for name, sections in HUGE.items():
            make_huge(renamed(ctl, name), sections)
            loads.enter_context(known_threads(ctl.spool.parent / name))
        begun = time.monotonic()
        record(ctl, 2, tag="rec", periodNs=1_000_000)
        expect(time.monotonic() - begun < 15, "it took", time.monotonic() - begun)
        expect_calm(ctl, "rec", "calm-load")
        running = collections.Counter(stack["process"] for stack in stacks(ctl, "rec")[1]
                                      if stack["place"] == "running" and stack["samples"] > 0)
        expect(all(running[name] > 0 for name in HUGE), running)


# It maps all files of a directory as code, once it is told to.
COLLECTOR = """
import mmap, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
print("ready", flush=True)
sys.stdin.readline()
areas = []
for name in os.listdir(sys.argv[1]):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        areas.append(mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("mapped", flush=True)
while True:
    time.sleep(0.005)
"""


@contextlib.contextmanager
def collecting(directory, n):
    """A process that is to map so many small programs, which have neither segments nor sections."""
    head = pathlib.Path("/proc/self/exe").read_bytes()[:64]
    directory.mkdir()
    for file in range(n):
        (directory / str(file)).write_bytes((head[:32] + bytes(16) + head[48:56]).ljust(4096, b"\0"))
    with subprocess.Popen([sys.executable, "-c", COLLECTOR, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            expect(process.stdout.readline(), "the load did not begin")
            yield process
        finally:
            process.kill()


def collect(process):
    process.stdin.write(b"\n")
    process.stdin.flush()
    expect(process.stdout.readline(), "the load ended")


@test
def many_mappings():
    """the first 1024 mappings of code that a process has are known, by their addresses; what lies behind is unknown"""
    with daemon() as ctl, temporary() as place, collecting(place / "files", 1100) as process:
        # Files that are mapped later lie before those of the program's libraries.
        for tag, is_known in (("few", True), ("many", False)):
            record(ctl, 1, tag=tag, filter={"pids": [process.pid]}, kernelStacks=False)
            mine = [stack["frames"] for stack in stacks(ctl, tag)[1] if stack["samples"] > 0]
            expect(mine and all((frames[-1] != "[unknown]") == is_known for frames in mine), tag, mine)
            if is_known:
                collect(process)


@test
def many_files():
    """processes that execute more files than the unwinding job may have descriptors take none from those that it has"""
    with daemon() as ctl, temporary() as place, known_threads(renamed(ctl, "calm-load")), contextlib.ExitStack() as loads:
        processes = [loads.enter_context(collecting(place / str(number), 900)) for number in range(5)]
        with Recording(ctl, tag="rec", periodNs=1_000_000) as recording:
            recording.started()
            time.sleep(1)
            for process in processes:
                collect(process)
            # What a process has mapped is read again when it is a second old.
            time.sleep(5)
            answer(ask(ctl, "EndRecording", more=False))
            answer(recording.rest())
        modules = [module["path"] for module in rows(documents(file_of(ctl, "rec"))[2]["modules"])]
        expect(sum(path.startswith(str(place)) for path in modules) == 4500, len(modules))
        expect_calm(ctl, "rec", "calm-load")


def expect_calm(ctl, name, program):
    """The recording is whole, and knows the functions of the load; the daemon goes on."""
    expect_equal(ctl("verify", name).status, 0)
    found = stacks(ctl, name)[1]
    for thread in ("at_sums", "at_squares"):
        mine = [stack for stack in found if (stack["process"], stack["thread"], stack["place"]) == (program, thread, "running")
                and stack["samples"] > 0]
        total = sum(stack["ns"] for stack in mine)
        named = sum(stack["ns"] for stack in mine if thread in stack["frames"])
        expect(total > 0 and named >= 0.95 * total, thread, f"{named} of {total} ns", mine[:3])
    expect(ctl.alive(), "the daemon ended")
    wait_until(lambda: not ctl.children(), what="the end of all jobs")


def hostile_map(path, way):
    """Makes the map of a process another one. What is not its own file is told apart by who reads it."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    if way == "fifo":
        os.mkfifo(path)
    elif way == "directory":
        os.mkdir(path)
    elif way == "device":
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    elif way == "garbage":
        pathlib.Path(path).write_bytes(os.urandom(1 << 20))
    elif way == "one line":
        pathlib.Path(path).write_bytes(b"5" * (32 << 20))
    elif way == "zeros":
        pathlib.Path(path).touch()
        os.truncate(path, 1 << 33)
    else:
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{address:x} 10 {'x' * 200}{address}\n" for address in range(0x1000, 0x1000 + (400_000 << 4), 16))


@test
def hostile_code_maps():
    """whatever a process writes as the map of its code, a recording of it ends in time, is whole, and takes nothing from it"""
    with daemon() as ctl, known_threads(renamed(ctl, "calm-load")):
        with subprocess.Popen([BUILD / "tests" / "live" / "made-code"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            path = process.stdout.readline().strip()
            try:
                for way in ("fifo", "directory", "device", "garbage", "one line", "zeros", "huge"):
                    hostile_map(path, way)
                    begun = time.monotonic()
                    record(ctl, 1, tag="rec", replace=True, periodNs=1_000_000)
                    expect(time.monotonic() - begun < 20, way, "it took", time.monotonic() - begun)
                    expect_calm(ctl, "rec", "calm-load")
                    mine = [stack for stack in stacks(ctl, "rec")[1] if (stack["process"], stack["thread"], stack["place"]) ==
                            ("made-code", "in_code", "running") and stack["samples"] > 0]
                    code = collections.Counter()
                    for stack in mine:
                        code["[unknown]" in stack["frames"]] += stack["ns"]
                        expect(not any(frame.startswith("xxx") for frame in stack["frames"]), way, stack)
                    expect(code[True] > 0.9 * code.total(), way, mine[:3])
                    if way == "directory":
                        os.rmdir(path)
                # It is written anew, and cut, while it is read.
                lines = f"not a line\n{0:x} 10 zero\n" + "".join(f"{0x1000 + 16 * i:x} 10 f{i}\n" for i in range(100_000))
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                with Recording(ctl, tag="cut", periodNs=1_000_000, forNs=3 * SECOND) as recording:
                    recording.started()
                    until = time.monotonic() + 3
                    while time.monotonic() < until:
                        pathlib.Path(path).write_text(lines, encoding="ascii")
                        os.truncate(path, len(lines) // 3)
                    answer(recording.rest())
                expect_calm(ctl, "cut", "calm-load")
            finally:
                process.kill()
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


@test
def starved():
    """while the job that unwinds hardly gets on, the recording gives signs of life, and is whole in the end"""
    with daemon() as ctl, Recording(ctl, tag="starved", forNs=SECOND, filter={"pids": [os.getpid()]}) as recording:
        recording.started()
        unwinder, is_over = job(ctl, "unwind"), threading.Event()

        def starve():
            begun = time.monotonic()
            with contextlib.suppress(ProcessLookupError):
                while not is_over.is_set() and time.monotonic() - begun < 4:
                    for what, seconds in ((signal.SIGSTOP, 0.4), (signal.SIGCONT, 0.002)):
                        os.kill(unwinder, what)
                        time.sleep(seconds)

        thread = threading.Thread(target=starve)
        thread.start()
        try:
            signs, told = [], True
            while told:
                begun = time.monotonic()
                told = recording.has_more()
                signs.append(time.monotonic() - begun)
        finally:
            is_over.set()
            thread.join()
        print(f"# {len(signs)} signs of life, {max(signs):.1f} s apart at most")
        expect(len(signs) > 5 and max(signs) < 2, "signs of life:", signs)
        answer(recording.replies)
        told = [reply["parameters"]["progress"] for reply in recording.replies if "progress" in reply["parameters"]]
        told = [progress for progress in told if progress["phase"] == "recording"][-1]
        expect(told["done"] == told["total"] == SECOND and told["threads"] > 10 and told["samples"] > 0 and told["lost"] >= 0, told)
        expect(stacks(ctl, "starved")[1], "no stacks")


@test
def killed():
    """when a job of a recording is killed, the call fails with one sentence, nothing stays, and the next one works"""
    with daemon() as ctl:
        for kind in ("record", "unwind"):
            with Recording(ctl, tag="lost", forNs=60 * SECOND) as recording:
                recording.started()
                begun = time.monotonic()
                end(job(ctl, kind))
                error, parameters = failure(recording.rest())
                expect(time.monotonic() - begun < 20, kind, "it took", time.monotonic() - begun)
                expect_equal(error, "JobFailed", kind, parameters)
                reason = parameters["reason"]
                expect(re.fullmatch(r"[^\n.]* job[^\n.]*\.?", reason), kind, reason)
                print(f"# {kind}: {reason}")
            wait_until(lambda: not ctl.children() and files(ctl) == [], what="what it left")
            expect(ctl.alive(), "the daemon ended")
            record(ctl, 0.5, tag="next")
            expect(stacks(ctl, "next")[1], "no stacks")
            expect_equal(ctl("remove", "next").status, 0)
        with Recording(ctl, tag="lost") as recording:
            recording.started()
            ctl.kill()
            expect_equal([reply for reply in recording.rest() if not reply.get("continues")], [])
        with Daemon(ctl.spool.parent) as second:
            record(second, 0.5, tag="next")
            wait_until(lambda: files(second) == ["next.ctprof.zst"], what="the end of what the first one left")


main()
