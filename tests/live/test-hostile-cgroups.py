#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cgroups with any name, of any depth, in any number, frozen, threaded, removed or not to be seen."""
import contextlib
import csv
import io
import os
import subprocess
import unicodedata

from harness import (BACKEND, CTPROFCTL, Idle, Local, expect, expect_equal, main, need_root, run, temporary, test,
                     wait_until)
from hostile import SLOW, Cgroup, CgroupChurn, CgroupTree, capture, on_terminal, state_of
from parity import undo

# Every byte a name of a cgroup may have: not NUL, not a slash, and the kernel refuses a newline.
NAMES = [bytes(range(1, 10)), bytes(range(11, 47)), bytes(range(48, 128)), bytes(range(128, 256)), b"...", b"..x",
         b"a (deleted)", b"<script>alert(1)", b'"quote\\', b"=1+1", b"\xee\xbe\x80pua",
         "\u202eright \u2028line".encode()]


@contextlib.contextmanager
def sleepers(n):
    processes = [subprocess.Popen(["sleep", "infinity"]) for _ in range(n)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def told_cgroup(pid):
    """What the kernel says now, as bytes."""
    with open(f"/proc/{pid}/cgroup", "rb") as file:
        lines = file.read().split(b"\n")
    return next(line[3:] for line in lines if line.startswith(b"0::"))


def source(answer, name):
    return next(source for source in answer["sources"] if source["name"] == name)


def above(path):
    """A cgroup's path and those of its ancestors."""
    while path != "/":
        yield path
        path = path.rpartition("/")[0] or "/"
    yield "/"


@test
def names_of_every_byte():
    """every byte of a cgroup's name is in the snapshot, and none of them does anything to a terminal, CSV or page"""
    need_root()
    with temporary() as directory, contextlib.ExitStack() as stack, sleepers(len(NAMES)) as pids:
        ctl = Local(directory / "spool")
        top = stack.enter_context(Cgroup(f"names-{os.getpid()}"))
        groups = [stack.enter_context(Cgroup(name, parent=top)) for name in NAMES]
        for group, pid in zip(groups, pids):
            group.write("cgroup.procs", pid)
        answer, document = capture(ctl, directory)
        rows = {row["tid"]: row for row in document["rows"]}
        for name, pid in zip(NAMES, pids):
            path = os.fsencode(f"/{top.path.name}/") + name
            expect_equal((undo(rows[pid]["cgroup"]), told_cgroup(pid)), (path, path), "the path")
            expect(rows[pid]["cgroup"] in document["cgroup_stats"], name, "has no figures")
        expect_equal(source(answer, "cgroup")["state"], "ok", answer)

        show = ("show", "now", "--group-by", "cgroup", "--no-cg-normalize", "--limit", "0")
        view = (CTPROFCTL, "--local", "--spool", ctl.spool, *show)
        for line in on_terminal(*view, columns=200):
            expect(not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in line), repr(line))
        text = subprocess.run([*view, "--format", "csv"], capture_output=True, check=True).stdout.decode()
        expect(not any(c < " " and c not in "\r\n" for c in text), "a control character in CSV")
        columns, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        expect(all(len(line) == len(columns) for line in lines), "a line of CSV with more or fewer fields")
        page = subprocess.run([*view, "--format", "html"], capture_output=True, check=True).stdout.decode()
        expect("<script>alert" not in page, "a name is markup")
        keys = {undo(group["cgroup"]) for group in ctl(*show, "--json").json()["groups"]}
        for name in NAMES:
            expect(os.fsencode(f"/{top.path.name}/") + name in keys, name, "is no group")


# A part of the secret that XXH3 publishes. Behind it the last eight bytes of a path do not matter to its hash.
COLLIDING = bytes.fromhex("ded46de9839097db")


@test
def names_whose_hashes_collide():
    """two cgroups whose paths collide under XXH3 without a seed are two, in capture, verify, show and compare"""
    need_root()
    names = [COLLIDING + b"AAAAAAAA", COLLIDING + b"BBBBBBBB"]
    with temporary() as directory, contextlib.ExitStack() as stack, sleepers(len(names)) as pids:
        ctl = Local(directory / "spool")
        top = stack.enter_context(Cgroup(f"collide-{os.getpid()}"))
        for name, pid in zip(names, pids):
            stack.enter_context(Cgroup(name, parent=top)).write("cgroup.procs", pid)
        for tag in ("before", "after"):
            expect_equal(ctl("capture", "--tag", tag).status, 0, "capture")
        verified = ctl("verify", "--all", "--json").json()["results"]
        expect(all(result["ok"] for result in verified) and len(verified) == 2, verified)
        for words in (("show", "before"), ("compare", "before", "after")):
            answer = ctl(*words, "--group-by", "cgroup", "--no-cg-normalize", "--limit", "0", "--json").json()
            keys = {undo(group["cgroup"]) for group in answer["groups"] if "cgroup" in group}
            for name in names:
                expect(os.fsencode(f"/{top.path.name}/") + name in keys, words, name, "is no group")


def make_deep(top, name, levels):
    """Cgroups within each other; the descriptor of the last. Their path may be too long for a call."""
    fd = os.open(top.path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd


def remove_deep(top, name):
    def remove(fd):
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        except FileNotFoundError:
            return
        try:
            remove(below)
        finally:
            os.close(below)
        # What was ended in there is not gone yet.
        wait_until(lambda: not _busy(name, fd), what="a deep cgroup to be removed")

    fd = os.open(top.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        remove(fd)
    finally:
        os.close(fd)


def _busy(name, fd):
    try:
        os.rmdir(name, dir_fd=fd)
    except OSError:
        return True
    return False


@test
def depth_has_no_end():
    """a cgroup 64 levels deep is told with all above it; one whose path the kernel cuts is absent, and said to be"""
    need_root()
    with temporary() as directory, Cgroup(f"deep-{os.getpid()}") as top:
        ctl = Local(directory / "spool")
        for name, levels, cut in (("level", 64, False), ("n" * 250, 20, True)):
            fd = make_deep(top, name, levels)
            try:
                with sleepers(1) as (pid,):
                    with open(os.open("cgroup.procs", os.O_WRONLY, dir_fd=fd), "w", encoding="ascii") as procs:
                        procs.write(str(pid))
                    answer, document = capture(ctl, directory)
                    row = next(row for row in document["rows"] if row["tid"] == pid)
                    told = source(answer, "cgroup")
                    path = f"/{top.path.name}" + f"/{name}" * levels
                    if cut:
                        expect_equal(row["cgroup"], None, "a path that was cut")
                        expect_equal(told["state"], "partial", told)
                        expect("4095 bytes" in told["reason"], told)
                        expect_equal(told["malformed"] + told["other"], 1, told)
                    else:
                        expect_equal((row["cgroup"], told_cgroup(pid).decode()), (path, path), "the path")
                        expect_equal(told["state"], "ok", told)
                        lacking = set(above(path)) - set(document["cgroup_stats"])
                        expect_equal(lacking, set(), "cgroups without figures")
            finally:
                os.close(fd)
                remove_deep(top, name)


@test
def thousands_of_cgroups():
    """of 5,000 cgroups, those with a process are read, with all above them, and no others"""
    need_root()
    with temporary() as directory, CgroupTree(1000 if SLOW else 5000) as tree, sleepers(200) as pids:
        ctl = Local(directory / "spool")
        root = str(Cgroup.root())
        paths = tree.paths[-200:]
        for path, pid in zip(paths, pids):
            (path / "cgroup.procs").write_text(str(pid), encoding="ascii")
        answer, document = capture(ctl, directory)
        wanted = {above_it for path in paths for above_it in above(str(path).removeprefix(root))}
        mine = {path for path in document["cgroup_stats"] if path.startswith(f"/{tree.top.path.name}")}
        expect_equal(mine, wanted - {"/"}, "cgroups with figures")
        expect_equal(source(answer, "cgroup-stats")["ok"], len(document["cgroup_stats"]), "counted")
        for path in (paths[0], paths[-1]):
            with open(path / "cpu.stat", encoding="ascii") as file:
                usage = int(file.readline().split()[1])
            got = document["cgroup_stats"][str(path).removeprefix(root)]["cpu"]["usage_usec"]
            expect(0 <= got <= usage, "CPU time", got, usage)
        print(f"# {len(tree.paths)} cgroups, {len(mine)} of them with a process in or below, {answer['snapshot']['cost']}")


@test
def cgroups_come_and_go():
    """cgroups that are made and removed during the capture are counted, and none is mistaken for another"""
    need_root()
    with temporary() as directory, CgroupChurn(20) as churn:
        ctl = Local(directory / "spool")
        vanished = shown = 0
        for _ in range(5):
            first = churn.made
            answer, document = capture(ctl, directory)
            last = churn.made
            prefix = f"/{churn.top.path.name}/g"
            rows = [row for row in document["rows"] if (row["cgroup"] or "").startswith(prefix)]
            for row in rows:
                number = int(row["cgroup"].removeprefix(prefix).removesuffix(" (deleted)"))
                # It was there at some time of the capture: made before its end, not left before its beginning.
                expect(first - 21 <= number <= last, row["cgroup"], "of", first, "to", last)
            told = source(answer, "cgroup-stats")
            expect_equal(source(answer, "cgroup")["state"], "ok", answer)
            # Where controllers are in version 1, which is not read, this is said and nothing else.
            expect(told["state"] == "ok" or "version 1" in told["reason"] and told["other"] + told["denied"] == 0, told)
            expect_equal(told["ok"], len(document["cgroup_stats"]), "cgroups with figures")
            inhabited = {above_it for row in document["rows"] if row["cgroup"] for above_it in above(row["cgroup"])}
            expect_equal(told["ok"] + told["vanished"], len(inhabited), "read or vanished")
            vanished += told["vanished"]
            shown += len(rows)
        expect(vanished > 0 and shown >= 50, "vanished", vanished, "rows", shown)
        print(f"# {churn.made} cgroups made, {shown} rows, {vanished} vanished before they were read")


@test
def threads_live_apart():
    """the threads of one process in different cgroups are told with their own"""
    need_root()
    with temporary() as directory, Cgroup(f"apart-{os.getpid()}") as top, Idle(6, 1) as idle:
        ctl = Local(directory / "spool")
        halves = [Cgroup(name, parent=top) for name in ("left", "right")]
        (pid,) = idle.pids
        top.write("cgroup.procs", pid)
        for half in halves:
            half.write("cgroup.type", "threaded")
        tids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
        for number, tid in enumerate(tids):
            halves[number % 2].write("cgroup.threads", tid)
        _, document = capture(ctl, directory)
        got = {row["tid"]: row["cgroup"] for row in document["rows"] if row["tgid"] == pid}
        wanted = {}
        for tid in tids:
            with open(f"/proc/{pid}/task/{tid}/cgroup", encoding="ascii") as file:
                wanted[tid] = next(line[3:].rstrip("\n") for line in file if line.startswith("0::"))
        expect_equal(got, wanted, "cgroups of threads")
        expect_equal(len(set(got.values())), 2, "cgroups")


@test
def frozen_and_removed():
    """a frozen cgroup is read like any other, and the cgroup of an exited process that was removed is told as removed"""
    need_root()
    with temporary() as directory, Cgroup(f"frozen-{os.getpid()}") as frozen, sleepers(3) as pids:
        ctl = Local(directory / "spool")
        for pid in pids:
            frozen.write("cgroup.procs", pid)
        frozen.write("cgroup.freeze", 1)
        wait_until(lambda: "frozen 1" in frozen.read("cgroup.events"), what="the freezer")
        gone = Cgroup(f"gone-{os.getpid()}")
        actor = subprocess.Popen(gone.enter(["true"]))
        os.waitid(os.P_PID, actor.pid, os.WEXITED | os.WNOWAIT)
        wait_until(gone.is_removed, what="the cgroup of a zombie to be removed")
        answer, document = capture(ctl, directory, "--smaps=all")
        rows = {row["tid"]: row for row in document["rows"]}
        for pid in pids:
            expect_equal((rows[pid]["cgroup"], rows[pid]["state"]), (f"/{frozen.path.name}", state_of(pid)), "frozen")
            expect(rows[pid]["smaps_rollup_kb"]["Rss"] > 0, "memory of a frozen process")
        removed = f"/{gone.path.name} (deleted)"
        expect_equal(told_cgroup(actor.pid).decode(), removed, "removed")
        expect(removed not in document["cgroup_stats"], "figures of a removed cgroup")
        if BACKEND == "bpf":  # with a ledger of the dead, zombies are not among the living
            expect(actor.pid not in rows, "a zombie")
        else:
            expect_equal(rows[actor.pid]["cgroup"], removed, "removed")
            expect(source(answer, "cgroup-stats")["vanished"] >= 1, source(answer, "cgroup-stats"))
        frozen.write("cgroup.freeze", 0)
        actor.wait()


def local_capture(directory, prefix):
    spool = directory / "spool"
    return run(*prefix, CTPROFCTL, "--local", "--spool", spool, "capture", "--tag", "now", "--replace", "--json").json()


@test
def hierarchies_out_of_sight():
    """without a cgroup v2 mount, and in a cgroup namespace, what cannot be seen is absent, with the reason"""
    need_root()
    root = Cgroup.root()
    with temporary() as directory, Cgroup(f"inner-{os.getpid()}") as inner:
        # Private mounts; every mount of version 2 is taken away.
        script = "mount --make-rprivate / && umount -a -t cgroup2 && exec \"$@\""
        answer = local_capture(directory, ["unshare", "--mount", "sh", "-c", script, "sh"])
        for name in ("cgroup-stats", "cgroup-pressure"):
            told = source(answer, name)
            expect_equal(told["state"], "unavailable", told)
            expect("no cgroup v2 hierarchy is mounted" in told["reason"], told)
        expect_equal(source(answer, "cgroup")["state"], "ok", "the paths are told by /proc")
        expect_equal(answer["snapshot"]["complete"], False, "complete")

        # In a namespace of its own, with the old mount and with one that belongs to it.
        for remount in ("true", f"umount {root} && mount -t cgroup2 none {root}"):
            script = f"mount --make-rprivate / && {remount} && exec \"$@\""
            command = inner.enter(["unshare", "--cgroup", "--mount", "sh", "-c", script, "sh"])
            answer = local_capture(directory, command)
            told = source(answer, "cgroup-stats")
            ctl = Local(directory / "spool")
            groups = ctl("show", "now", "--group-by", "cgroup", "--no-cg-normalize", "--self", "--limit", "0",
                         "--json").json()["groups"]
            keys = {group["cgroup"] for group in groups}
            expect("/" in keys and any(key.startswith("/..") for key in keys), remount, keys)
            expect_equal(told["state"], "partial" if told["ok"] else "unavailable", told)
            expect("lie outside" in told["reason"] or "no cgroup v2" in told["reason"], remount, told)
            print(f"# {'own' if remount != 'true' else 'old'} mount: {told}")


main()
