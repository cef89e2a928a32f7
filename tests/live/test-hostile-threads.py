#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads and processes that come and go while they are captured: none that stays is lost, none is mixed."""
import collections
import contextlib
import os
import subprocess

from harness import (BACKEND, BUILD, Idle, Local, Skip, expect, expect_equal, main, need_root, temporary, test,
                     wait_until)
from hostile import SLOW, Actor, Execs, ForkBomb, Storm, capture, state_of

LISTINGS = 2500


def lived_through(before, after):
    """Those that had the same slot before and after."""
    return {tid for tid, other in zip(before, after) if tid == other and tid}


@test
def listings_are_whole():
    """of a pool of threads that are replaced all the time, a listing has each that lived through it"""
    with temporary() as directory, Storm(directory, 300, 20000) as storm, \
            subprocess.Popen([str(BUILD / "tests" / "live" / "list-threads"), str(storm.pid)], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lister:
        total = 0
        for _ in range(LISTINGS):
            before = storm.tids()
            lister.stdin.write("\n")
            lister.stdin.flush()
            listed = {int(word) for word in lister.stdout.readline().split()}
            stayed = lived_through(before, storm.tids())
            expect(stayed <= listed, len(stayed - listed), "of", len(stayed), "threads are missing")
            total += len(stayed)
        expect(total > 100 * LISTINGS, "too few threads lived through a listing:", total)
        print(f"# {LISTINGS} listings, {total} threads lived through one")


def check_counts(answer, document):
    """The counts that hold of every capture, whatever went on."""
    table = document["threads"]
    place = {name: number for number, name in enumerate(table["columns"])}
    tids = [row[place["tid"]] for row in table["rows"]]
    processes = {row[place["tgid"]] for row in table["rows"]}
    sources = {source["name"]: source for source in answer["sources"]}
    expect_equal(len(tids), len(set(tids)), "every tid once")
    expect_equal(answer["snapshot"]["threads"], len(tids), "threads")
    expect_equal(answer["snapshot"]["processes"], len(processes), "processes")
    expect_equal(sources["stat"]["ok"], len(tids), "stat")
    for name in ("stat", "sched", "affinity", "status"):
        expect_equal((name, sources[name]["state"]), (name, "ok"), sources[name])
        expect_equal(sources[name]["ok"], len(tids), name)
    # A thread that went is counted by what had been tried of it; stat is tried of all.
    for name in ("sched", "affinity", "status", "taskstats"):
        expect(sources[name]["vanished"] <= sources["stat"]["vanished"], name, sources[name], sources["stat"])
    return sources


@test
def storms_are_captured():
    """threads that lived through a capture are in it, those that went are counted as vanished"""
    with temporary() as directory, Storm(directory, 600, 2000000) as storm:
        ctl = Local(directory / "spool")
        captures = stayed_in_all = vanished = 0
        # Through files, a thread takes several calls, and on a fast host a few captures may pass before one
        # goes between them. The BPF iterator reads all of a thread at once: no thread need ever go half read.
        can_vanish = BACKEND != "bpf"
        while captures < 6 or (can_vanish and vanished == 0 and captures < 100):
            captures += 1
            before = storm.tids()
            answer, document = capture(ctl, directory)
            stayed = lived_through(before, storm.tids())
            sources = check_counts(answer, document)
            tids = {row["tid"] for row in document["rows"] if row["tgid"] == storm.pid}
            expect(stayed <= tids, len(stayed - tids), "of", len(stayed), "threads are missing")
            stayed_in_all += len(stayed)
            vanished += sources["stat"]["vanished"]
        expect(stayed_in_all > 300, "too few threads lived through a capture:", stayed_in_all)
        expect(vanished > 0 or not can_vanish, "nobody vanished")
        print(f"# {captures} captures, {stayed_in_all} threads lived through one, {vanished} vanished")


@test
def bombs_are_captured():
    """a fork bomb in a cgroup of 200 processes is captured, within its bound, and leaves nothing behind"""
    need_root()
    with temporary() as directory, ForkBomb(200) as bomb:
        ctl = Local(directory / "spool")
        seen = []
        wait_until(lambda: len(bomb.cgroup.procs()) > 150, what="the bomb to go off")
        for _ in range(3):
            answer, document = capture(ctl, directory)
            check_counts(answer, document)
            seen.append(sum(row["comm"] == "hostile" for row in document["rows"]))
        # pids.max bounds how many there are at a time; a walk may meet one more generation.
        expect(max(seen) > 50 and max(seen) <= 400, "processes of the bomb", seen)
        group = ctl("show", document["name"], "--group-by", "pcomm", "--json", "--limit", "0").json()["groups"]
        expect_equal(next(g["threads"] for g in group if g["key"] == "hostile"), seen[-1], "shown")
        print(f"# processes of the bomb in three captures: {seen}")
    expect(not bomb.cgroup.path.exists(), "the cgroup is gone")


@test
def executing_threads_are_not_mixed():
    """when a thread that is no leader executes a program, no row has values of two threads"""
    with temporary() as directory, contextlib.ExitStack() as stack:
        ctl = Local(directory / "spool")
        # Who has one thread when it is read is not looked at again; it must not get to execute so soon.
        pids = {stack.enter_context(Execs(directory, 50000 if SLOW else 10000)).pid for _ in range(30)}
        capture(ctl, directory)  # the first lives are not marked yet
        seen = collections.Counter()
        # How long each life lasts is up to how busy the machine is: captures go on until there are rows of both.
        for _ in range(200):
            if min(seen["exec-0"], seen["exec-1"]) > 30 and seen.total() > 300:
                break
            answer, document = capture(ctl, directory)
            check_counts(answer, document)
            for row in document["rows"]:
                if row["tid"] in pids:
                    number = int(row["comm"][-1])
                    expect_equal((row["cpu_affinity"], row["wchar"]), (str(number), 1000 * (number + 1)), row["comm"])
                    expect(row["state"] != "Z" or row["exe_inode"] is None, "an exited thread has an executable", row)
                    seen[row["comm"]] += 1
        expect(seen["exec-0"] > 30 and seen["exec-1"] > 30, "too few rows", seen)
        print(f"# rows of leaders: {dict(seen)}")


@test
def lives_are_not_compared():
    """a process that has the number, name and cgroup of an earlier one is another one in a comparison by thread"""
    need_root()
    with temporary() as directory, Actor("reuse") as actor:
        ctl = Local(directory / "spool")
        pid = actor.pid

        def run_time():
            wait_until(lambda: state_of(pid) == "S", what="the work to be done")
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[0])

        first = run_time()
        expect_equal(ctl("capture", "--tag", "first").status, 0, "capture")
        expect_equal(actor.next_line(), str(pid), "the second life's number")
        second = run_time()
        expect(second < first, "the second life has worked as long as the first")
        expect_equal(ctl("capture", "--tag", "second").status, 0, "capture")
        result = ctl("compare", "first", "second", "--totals", "--group-by", "thread", "--json", "--limit", "0").json()
        both = [group for group in result["groups"] if group["tid"] == pid]
        expect_equal(both, [], "two lives in one row")
        for side, time in (("onlyBefore", first), ("onlyAfter", second)):
            (group,) = [group for group in result[side] if group["tid"] == pid]
            expect_equal(group["metrics"]["run_time_ns"]["value"], time, side)
        # The work between the captures is that of lives seen on both sides: of neither.
        window = ctl("compare", "first", "second", "--group-by", "comm-exact", "--metrics", "run_time_ns",
                     "--filter", "hostile", "--json", "--limit", "0").json()
        for group in window["groups"]:
            delta = group["metrics"]["run_time_ns"]["delta"]
            expect(delta is None or 0 <= delta < first, "a delta across two lives", group)


@test
def twenty_thousand_threads():
    """20,000 threads are all in the snapshot, and the memory of the capture does not grow with them"""
    if SLOW:
        raise Skip("20,000 threads are for the programs as users get them")
    with temporary() as directory, Idle(20000, 100) as idle:
        ctl = Local(directory / "spool")
        answer, document = capture(ctl, directory)
        check_counts(answer, document)
        mine = collections.Counter(row["tgid"] for row in document["rows"])
        expect_equal({pid: mine[pid] for pid in idle.pids},
                     {pid: len(os.listdir(f"/proc/{pid}/task")) for pid in idle.pids}, "threads of processes")
        expect_equal(sum(mine[pid] for pid in idle.pids), 20000, "threads")
        cost = answer["snapshot"]["cost"]
        expect(cost["peakRssBytes"] < 32 << 20, "peak RSS", cost)
        print(f"# {answer['snapshot']['threads']} threads, {cost}, {answer['snapshot']['sizeBytes']} bytes")


main()
