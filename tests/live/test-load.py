#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A load of known size shows up in a comparison with the kernel's own figures."""
import os
import shutil

from harness import (Busy, Daemon, Local, Skip, expect, expect_equal, main, need_root, settled, temporary,
                     test)

GROUP = 64321  # of the socket; needs no name
OUTSIDER = 65533
MEMBER = 65532


def own_figures(pid):
    """The kernel's counters of every thread of an idle process, summed, read here and now."""
    total = dict.fromkeys(("run_time_ns", "voluntary_csw", "wchar", "minflt"), 0)
    for tid in os.listdir(f"/proc/{pid}/task"):
        base = f"/proc/{pid}/task/{tid}/"
        with open(base + "schedstat", encoding="ascii") as file:
            total["run_time_ns"] += int(file.read().split()[0])
        with open(base + "status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("voluntary_ctxt_switches:"):
                    total["voluntary_csw"] += int(line.split()[1])
        with open(base + "io", encoding="ascii") as file:
            for line in file:
                if line.startswith("wchar:"):
                    total["wchar"] += int(line.split()[1])
        with open(base + "stat", "rb") as file:
            total["minflt"] += int(file.read().rpartition(b")")[2].split()[7])
    return total


def compare_around_load(ctl, directory):
    """Captures around one round of the load, and compares what ctprof says with what the kernel says."""
    with Busy(directory) as busy:
        first = settled(lambda: own_figures(busy.pid))
        before = ctl("capture", "--tag", "a", "--json").json()
        # Reading a thread's files does not run it: what it had before the capture it has during it.
        expect_equal(own_figures(busy.pid), first, "an idle load")
        busy.round()
        last = settled(lambda: own_figures(busy.pid))
        after = ctl("capture", "--tag", "b", "--json").json()
        expect_equal(own_figures(busy.pid), last, "an idle load")
        expect_equal(before["snapshot"]["name"], "a")
        expect_equal(after["snapshot"]["name"], "b")

        result = ctl("compare", "a", "b", "--json").json()
        expect(result["sameBoot"], "two captures of one boot")
        group = next(group for group in result["groups"] if group["key"] == "busy")
        expect_equal((group["threadsBefore"], group["threadsAfter"]), (3, 3), "threads")
        for name, value in last.items():
            metric = group["metrics"][name]
            expect_equal(metric["before"], first[name], f"{name} before")
            expect_equal(metric["after"], value, f"{name} after")
            expect_equal(metric["delta"], value - first[name], f"{name} delta")
        expect(1.0e9 <= group["metrics"]["run_time_ns"]["delta"] < 2.0e9, "a second of CPU")
        expect(group["metrics"]["wchar"]["delta"] >= 64 << 20, "64 MiB written")
        expect_equal(result["groups"][0]["key"], "busy", "the load moved most")

        threads = ctl("compare", "a", "b", "--group-by", "comm-exact", "--json").json()
        keys = {group["key"]: group for group in threads["groups"]}
        for name in ("busy-burner", "busy-writer"):
            run = keys[name]["metrics"]["run_time_ns"]["delta"]
            expect(5.0e8 <= run < 1.0e9, name, "ran", run)

        table = ctl("compare", "a", "b", "--limit", "3", "--rows")
        expect_equal(table.status, 0, table.err)
        expect("busy" in table.out and "run_time" in table.out, table.out)


@test
def local():
    """the load shows through a private daemon, exactly"""
    with temporary() as directory:
        compare_around_load(Local(directory / "spool"), directory)


@test
def activated():
    """the same through a root daemon started by socket activation and an unprivileged client"""
    need_root()
    if not shutil.which("systemd-socket-activate"):
        raise Skip("systemd-socket-activate is not installed")
    with temporary() as directory, Daemon(directory, activated=True) as daemon:
        os.chown(daemon.socket, 0, GROUP)
        os.chmod(daemon.socket, 0o660)

        def member(*arguments):
            return daemon(*arguments, user=MEMBER, group=MEMBER, groups=[GROUP])

        compare_around_load(member, directory)
        heads = member("list", "--json").json()["snapshots"]
        expect_equal({head["uid"] for head in heads}, {MEMBER}, "owner")
        expect(all(head["complete"] or head["threads"] > 0 for head in heads), heads)

        refused = daemon("list", user=OUTSIDER, group=OUTSIDER, groups=[])
        expect_equal(refused.status, 1, "exit status outside the group")
        sentence = refused.one_sentence()
        expect(str(GROUP) in sentence and "group" in sentence, sentence)

        other = daemon("remove", "a", user=OUTSIDER, group=OUTSIDER, groups=[GROUP])
        expect_equal(other.status, 1, "removing somebody else's snapshot")
        expect(member("info", "a", "--json").json()["snapshot"]["uid"] == MEMBER, "it is still there")
        expect_equal(member("remove", "a", "b").status, 0, "removing one's own")


main()
