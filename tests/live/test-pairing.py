#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pools of threads in cgroups: the one that worked is named first, renamed cgroups are paired, and lives of threads
are followed over a window, with the kernel's own counters as witness.

Names carry this process's id: whatever else runs on the host has others.
"""
import contextlib
import os
import pathlib

from harness import Local, Skip, expect, expect_equal, main, need_root, run, CTPROFCTL, temporary, test
from pools import TOKEN, Pools

AXES = ["pcomm", "comm", "comm-exact", "cgroup", "all", "thread"]


def unified_mount():
    """Where cgroup v2 is: it need not be /sys/fs/cgroup."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            before, _, after = line.partition(" - ")
            if after.split()[0] == "cgroup2" and before.split()[3] == "/":
                return pathlib.Path(before.split()[4])
    raise Skip("there is no mount of cgroup v2")


@contextlib.contextmanager
def cgroups(*names):
    """Cgroups of these paths, made in this order; what is in them must have ended before."""
    need_root()
    root = unified_mount()
    made = []
    try:
        for name in names:
            path = root / (TOKEN + name)
            try:
                path.mkdir()
            except OSError as error:
                raise Skip(f"cgroups cannot be made below {root}: {error.strerror}") from error
            made.append(path)
        yield made
    finally:
        for path in reversed(made):
            path.rmdir()


def move(pools, cgroup):
    """Moves the process there, and answers how the kernel names the place."""
    (cgroup / "cgroup.procs").write_text(str(pools.pid), encoding="ascii")
    with open(f"/proc/{pools.pid}/cgroup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].strip()
    raise Skip("/proc/PID/cgroup has no line of cgroup v2")


def capture(ctl, tag):
    expect_equal(ctl("capture", "--tag", tag, "--no-smaps").status, 0, "capture", tag)


def compare(ctl, *options):
    """Of what this test runs only, as JSON."""
    return ctl("compare", "a", "b", "--filter", f"*{TOKEN}*", "--json", *options).json()


def one(items, what):
    items = list(items)
    expect_equal(len(items), 1, "number of", what)
    return items[0]


def delta(group, metric="run_time_ns"):
    return group["metrics"][metric]["delta"]


def leads(axis, group, worker, cgroup, tids):
    """Whether the group is that of the pool that worked."""
    if axis == "pcomm":
        return group["process"] == TOKEN + worker
    if axis in ("comm", "comm-exact"):
        return group["thread"] == f"{TOKEN}p{worker}"
    if axis == "cgroup":
        return group["cgroup"] == cgroup
    if axis == "all":
        return (group["cgroup"], group["process"], group["thread"]) == (
            cgroup, TOKEN + worker, f"{TOKEN}p{worker}")
    return group["tid"] in tids


@test
def the_pool_that_worked_leads():
    """under every axis, with and without a window, the pool that worked comes first, as the load changes"""
    with temporary() as directory, cgroups("a", "b") as made:
        ctl = Local(directory / "spool")
        with Pools("one", pone=4) as first, Pools("two", ptwo=4) as second:
            places = {"one": move(first, made[0]), "two": move(second, made[1])}
            for worker, busy, calm in (("one", first, second), ("two", second, first)):
                other = "two" if worker == "one" else "one"
                capture(ctl, "a")
                busy("burn", "p" + worker, 300)
                calm("burn", "p" + other, 20)
                tids = set(busy.threads("p" + worker))
                capture(ctl, "b")
                for axis in AXES:
                    for options in ([], ["--totals"]):
                        groups = compare(ctl, "--group-by", axis, *options)["groups"]
                        expect(leads(axis, groups[0], worker, places[worker], tids), axis, *options,
                               "led by", groups[0]["key"])
                        worked = 300_000_000 if axis == "thread" else 1_200_000_000
                        expect(delta(groups[0]) >= worked, axis, "delta", delta(groups[0]))
                ctl("remove", "a", "b")


def lives_of(group):
    return tuple(group["lives"][life] for life in ("survived", "born", "ended"))


@test
def lives_are_counted_and_work_is_theirs():
    """over an interval a pool that shrinks shows no negative work but what the kernel counted of those that are left"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        with Pools("lives", plives=6, pcalm=2) as pools:
            pools("burn", "plives", 100)
            before = pools.threads("plives")
            capture(ctl, "a")
            pools("end", "plives", 4)
            pools("start", "plives", 1)
            pools("burn", "plives", 30)
            after = pools.threads("plives")
            capture(ctl, "b")
        expect_equal((len(before), len(after), len(before.keys() & after.keys())), (6, 3, 2), "threads")
        work = sum(after.values()) - sum(before[tid] for tid in before.keys() & after.keys())

        def pool_of(answer):
            return one((group for group in answer["groups"] if group["key"] == TOKEN + "plives"), "groups of the pool")

        expect(delta(pool_of(compare(ctl, "--group-by", "comm", "--totals"))) < 0, "by totals it seems to have shrunk")
        answer = compare(ctl, "--group-by", "comm")
        group = pool_of(answer)
        expect_equal(lives_of(group), (2, 1, 4), "lives")
        expect_equal((group["threadsBefore"], group["threadsAfter"]), (6, 3), "threads")
        cell = group["metrics"]["run_time_ns"]
        expect_equal(cell["delta"], work, "work")
        expect_equal(cell["before"], sum(before[tid] for tid in before.keys() & after.keys()), "before")
        expect_equal(cell["after"], sum(after.values()), "after")
        expect_equal((cell["reset"], cell["leftOut"]), (False, 0), "reset, left out")
        expect_equal(cell["spread"]["top"]["value"],
                     max(ns - before.get(tid, 0) for tid, ns in after.items()), "the most work of one")
        threads = compare(ctl, "--group-by", "thread")
        mine = [group for group in threads["groups"] if group["thread"] == TOKEN + "plives"]
        expect_equal({group["tid"]: delta(group) for group in mine},
                     {tid: ns - before.get(tid, 0) for tid, ns in after.items()}, "work by thread")
        gone = {group["tid"] for group in threads["onlyBefore"]}
        expect_equal(gone, before.keys() - after.keys(), "threads that are gone")
        expect_equal(threads["onlyAfter"], [], "only after")


@test
def a_whole_host_adds_up():
    """over the whole host no sum falls, groups add up to the counts, and text says what is not in it"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        capture(ctl, "a")
        with Pools("extra", pextra=3):
            capture(ctl, "b")
        for axis in AXES:
            answer = ctl("compare", "a", "b", "--group-by", axis, "--json").json()
            lives = answer["lives"]
            for life in ("survived", "born", "ended"):
                total = sum(group["lives"][life] for name in ("groups", "onlyBefore") for group in answer[name])
                expect_equal(total, lives[life], axis, life)
            expect(lives["born"] >= 4, axis, lives)
            expect_equal(answer["onlyAfter"], [], axis, "only after")
            for group in answer["groups"]:
                survived, born, ended = lives_of(group)
                expect_equal(group["threadsBefore"], survived + ended, axis, group["key"])
                expect_equal(group["threadsAfter"], survived + born, axis, group["key"])
                for name, cell in group["metrics"].items():
                    if "perSecond" not in cell or "leftOut" not in cell or name == "thread_count" or cell["reset"]:
                        continue
                    expect(cell["delta"] is None or cell["delta"] >= 0, axis, group["key"], name, cell)
        text = ctl("compare", "a", "b").out
        told = f"{lives['survived']} lived on, {lives['born']} born"
        expect(told in " ".join(text.split()), text[:2000])
        # What the ended did is part of the coverage, or not known at all.
        expect(lives["ended"] == 0 or "ctprof saw" in text or "ended unseen" in text, text[:2000])


@test
def what_has_no_window():
    """one snapshot and other boots have no window: each is one sentence; the wrong order is put right"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        capture(ctl, "a")
        capture(ctl, "b")
        result = ctl("compare", "b", "a", "--window")
        expect_equal((result.status, "the sides were swapped" in result.one_sentence()), (0, True), result.err)
        old = directory / "old.ctprof.zst"
        expect_equal(ctl("export", "a", old, "--format", "ktstr").status, 0, "export")
        result = run(CTPROFCTL, "compare", old, old, "--window")
        expect_equal((result.status, "does not record its boot" in result.one_sentence()), (1, True), result.err)
        result = ctl("show", "a", "--window")
        expect_equal((result.status, "--window is for an interval" in result.one_sentence()), (2, True), result.err)


KINDS = {f"k{letter}": 1 for letter in "ghijklmnopqr"}


@contextlib.contextmanager
def renamed(directory):
    """Snapshots a and b of a deployment of two cgroups that got another name in between."""
    ctl = Local(directory / "spool")
    with cgroups("-old", "-old/web", "-old/db", "-new", "-new/web", "-new/db") as made:
        keys = []
        for tag, (web, db) in {"a": made[1:3], "b": made[4:6]}.items():
            with Pools("web", **KINDS) as pools, Pools("db", kdb=1) as other:
                keys += [move(pools, web), move(other, db)]
                pools("burn", "kg", 50)
                capture(ctl, tag)
        yield ctl, keys


@test
def a_deployment_that_was_renamed_is_paired():
    """cgroups of the same pools under another name are one group, their children and counters with them"""
    with temporary() as directory, renamed(directory) as (ctl, keys):
        old_web, old_db, new_web, new_db = keys
        for axis in ("cgroup", "all"):
            answer = compare(ctl, "--group-by", axis, "--sections", "primary,cgroup-stats")
            pairs = {(pair["before"], pair["after"]): pair for pair in answer["pairings"] if TOKEN in pair["before"]}
            expect_equal(set(pairs), {(old_web, new_web), (old_db, new_db)}, "pairs")
            web, db = pairs[old_web, new_web], pairs[old_db, new_db]
            expect_equal((web["by"], web["shared"], web["jaccard"]), ("content", len(KINDS) + 1, 1), "web")
            expect_equal((db["by"], db["shared"]), ("parent", 2), "db")
            expect_equal([answer[name] for name in ("onlyBefore", "onlyAfter")], [[], []], axis)
            threads = {}
            for group in answer["groups"]:
                expect_equal(group["threadsBefore"], group["threadsAfter"], group["key"])
                threads[group["cgroup"]] = threads.get(group["cgroup"], 0) + group["threadsAfter"]
            expect_equal(threads, {old_web: len(KINDS) + 1, old_db: 2}, "groups by their old names")
            rows = {row["cgroup"]: row for row in answer["sections"]["cgroup-stats"]}
            expect_equal(set(rows), {old_web, old_db, os.path.dirname(old_web)}, "cgroups with records")
            usage = rows[old_web]["cpu"]["usage_usec"]
            expect(usage["before"] >= 50_000 and usage["after"] >= 50_000, usage)
        text = ctl("compare", "a", "b", "--group-by", "cgroup", "--filter", f"*{TOKEN}*").out
        expect("Paired by content (2 cgroups)" in text, text)
        line = one((line for line in text.splitlines() if line.startswith(old_web + " ")
                    and line.endswith(" content")), "lines of the pair")
        expect_equal(line.split(), [old_web, new_web, str(len(KINDS) + 1), "100.0%", "content"], "line")


@test
def a_window_of_a_renamed_deployment():
    """over a window a renamed pool is one group of threads that are gone and born, with the work of these"""
    with temporary() as directory, renamed(directory) as (ctl, keys):
        answer = compare(ctl, "--group-by", "cgroup", "--window")
        group = one((group for group in answer["groups"] if group["key"] == keys[0]), "groups of the pool")
        n_threads = len(KINDS) + 1
        expect_equal(lives_of(group), (0, n_threads, n_threads), "lives")
        cell = group["metrics"]["run_time_ns"]
        expect_equal((cell["before"], cell["percent"]), (0, None), "before")
        expect(cell["delta"] >= 50_000_000, cell)


@test
def without_pairing_there_are_two():
    """--no-pairing leaves both names, and --pair makes one of them again, with all below"""
    with temporary() as directory, renamed(directory) as (ctl, keys):
        answer = compare(ctl, "--group-by", "cgroup", "--no-pairing", "--totals")
        expect_equal([pair for pair in answer["pairings"] if TOKEN in pair["before"]], [], "pairs")
        expect_equal({group["key"] for group in answer["onlyBefore"]}, set(keys[:2]), "only before")
        expect_equal({group["key"] for group in answer["onlyAfter"]}, set(keys[2:]), "only after")
        roots = [os.path.dirname(key) for key in keys[1:3]]
        result = ctl("compare", "a", "b", "--group-by", "cgroup", "--no-pairing", "--pair", "=".join(roots), "--json",
                     "--filter", f"*{TOKEN}*")
        expect_equal(result.err, "", "stderr")
        expect_equal({group["key"] for group in result.json()["groups"]}, set(keys[:2]), "groups")
        expect_equal([pair["by"] for pair in result.json()["pairings"]], ["stated", "parent", "parent"], "pairs")
        result = ctl("compare", "a", "b", "--group-by", "cgroup", "--no-pairing", "--pair", "/nowhere=/neither")
        expect("paired nothing" in result.one_sentence(), result.err)
        result = ctl("compare", "a", "b", "--pair", "=".join(roots))
        expect("does nothing under --group-by pcomm" in result.one_sentence(), result.err)


main()
