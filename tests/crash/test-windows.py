#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL between any two changes to a spool: of the job that makes them, or of the daemon.

Kills at random instants rarely hit between a link, a sync and a rename. Here every change and every send of
an operation is the last thing that happens, one after the other, until the operation gets to its end. After
each kill everything is as before the operation or as after it, and as after it where that was answered. No
job outlives the daemon; the next one serves at the socket that the dead one left, and cleans up at its start.
Where only a job died, its daemon cleans up, and serves on.

In each window one of the two dies, right after a change; with $CTPROF_KILLS at 1000 or more each of them, also
right before it.
"""
import collections
import concurrent.futures
import dataclasses
import itertools
import os
import shutil

import replay
from recorded import FOREIGN, LEFT_OVER, SUFFIX, Recorded, names_in, succeed, temporaries_in
from harness import Daemon, expect, expect_equal, main, private_host, temporary, test, wait_until, without_programs

ALL = int(os.environ.get("CTPROF_KILLS", "0")) >= 1000
MOST_WINDOWS = 200  # an operation that has more never ends
AT_A_TIME = 4  # a daemon mostly waits, for the kernel to attach programs and for the disk


@dataclasses.dataclass
class Operation:
    """A call, and what it makes of the spool: names that come and go, and others that stay with new bytes."""
    arguments: list
    come: set = dataclasses.field(default_factory=set)
    gone: set = dataclasses.field(default_factory=set)
    replaced: set = dataclasses.field(default_factory=set)
    rotated: set = dataclasses.field(default_factory=set)  # any of these may go
    comes_unnamed: int = 0
    options: list = dataclasses.field(default_factory=list)

    def check(self, before, now, answered):
        expect(self.replaced <= now.keys(), "lost while it was replaced:", self.replaced - now.keys())
        for name in before.keys() - self.gone - self.replaced - self.rotated:
            expect(name in now, name, "is lost")
            expect(now[name] == before[name], name, "has other bytes")
        new = now.keys() - before.keys() - self.come
        expect(len(new) <= self.comes_unnamed, "came from nowhere:", new)
        if self.come and self.gone:
            expect(now.keys() & (self.come | self.gone), "neither the old name nor the new one is there")
        if answered:
            expect_equal(now.keys() & self.gone, set(), "answered as gone")
            expect(self.come <= now.keys(), "answered as there:", self.come - now.keys())
            expect_equal(len(new), self.comes_unnamed, "answered as there")
            expect(all(now[name] != before[name] for name in self.replaced), "answered as replaced")


def make_original(directory):
    """Tagged and untagged snapshots, and a file to import. Returns the spool and the names of the untagged."""
    with Daemon(directory, options=["--keep-free", "0"]) as daemon:
        for _ in range(3):
            succeed(daemon, "capture")
        untagged = names_in(daemon.spool)
        succeed(daemon, "capture", "--tag", "kept")
        succeed(daemon, "capture", "--tag", "one")
        succeed(daemon, "export", "one", str(directory / f"outside{SUFFIX}"))
        (daemon.spool / FOREIGN).write_bytes(b"somebody's")
        return daemon.spool, untagged


def bytes_in(spool):
    return {name: (spool / f"{name}{SUFFIX}").read_bytes() for name in names_in(spool)}


def check_daemon(daemon):
    """It serves, its spool verifies, and soon there is nothing left to clean up."""
    names = names_in(daemon.spool)
    results = daemon("verify", "--all", "--json").json()["results"]
    expect_equal([result for result in results if not result["ok"]], [], "damaged")
    expect_equal({result["name"] for result in results}, names, "verified")
    wait_until(lambda: not temporaries_in(daemon.spool), what="a clean spool")
    expect_equal(names_in(daemon.spool), names, "after cleaning")
    expect((daemon.spool / FOREIGN).exists(), "what is not ours was removed")


def victim_of(daemon):
    """Who was killed: "root", the daemon; "child", a job; None."""
    kills = [event.fields["victim"] for event in replay.read_record(daemon.record) if event.op == "kill"]
    return kills[0] if kills else None


def end_within(place, operation, window, recording):
    """Runs one operation that is cut short at @window. Returns who was killed, None when nobody was."""
    before = bytes_in(place / "spool")
    daemon = Recorded(place, place / "spool", *operation.options, recording=[*recording, *window])
    try:
        wait_until(lambda: not temporaries_in(daemon.spool), what="the cleaning at the start")
        daemon.arm()
        result = daemon(*operation.arguments)
        if result.status != 0:
            result.one_sentence()
        victim = victim_of(daemon)
        if victim == "root":
            # Which ends with the last process of it: no job is left.
            wait_until(lambda: not daemon.alive(), what="the end of all jobs")
        operation.check(before, bytes_in(daemon.spool), result.status == 0)
        if victim == "child":
            check_daemon(daemon)
            expect_equal(daemon("status").status, 0, "it serves on")
    finally:
        daemon.close()
    if victim == "root":
        with Daemon(place, options=["--keep-free", "0", *without_programs(place)]) as following:
            check_daemon(following)
            succeed(following, "capture", "--tag", "next-one")
    return victim


def windows(number):
    """The options of record for what is tried at the change of this number."""
    ends = [["--kill", str(number), "--when", when, "--victim", who]
            for when in ("after", "before") for who in ("caller", "root")]
    return ends if ALL else [ends[number % 2]]


def end_in(place, operation, original, window, recording):
    """As end_within(), in a spool of its own."""
    place.mkdir()
    shutil.copytree(original, place / "spool")
    (place / "spool" / LEFT_OVER).write_bytes(b"half a snapshot")
    try:
        return end_within(place, operation, window, recording)
    except AssertionError as error:
        raise AssertionError(f"{operation.arguments} with {window}: {error}") from error
    finally:
        shutil.rmtree(place)


def end_everywhere(operation, original, directory, recording=()):
    killed = collections.Counter()
    rest = enumerate(window for number in range(1, MOST_WINDOWS) for window in windows(number))
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        while some := list(itertools.islice(rest, AT_A_TIME)):
            ending = [pool.submit(end_in, directory / f"place-{number}", operation, original, window, recording)
                      for number, window in some]
            for victim in [one.result() for one in ending]:
                if not victim:
                    expect(killed["root"] and killed["child"], "hardly anybody was killed:", dict(killed))
                    return killed
                killed[victim] += 1
    raise AssertionError(f"{operation.arguments} does not end")


def run_all(recording, wanted):
    total = collections.Counter()
    with temporary() as directory:
        original, untagged = make_original(directory)
        outside = str(directory / f"outside{SUFFIX}")
        budget = str((original / f"kept{SUFFIX}").stat().st_size * 7 // 2)
        operations = {
            "capture": Operation(["capture"], comes_unnamed=1),
            "tag": Operation(["capture", "--tag", "new"], come={"new"}),
            "replace": Operation(["capture", "--tag", "kept", "--replace"], replaced={"kept"}),
            "rename": Operation(["rename", "one", "two"], gone={"one"}, come={"two"}),
            "import": Operation(["import", outside, "--tag", "came"], come={"came"}),
            "remove": Operation(["remove", "one"], gone={"one"}),
            "rotate": Operation(["capture", "--tag", "new"], come={"new"}, rotated=untagged,
                                options=["--max-bytes", budget]),
        }
        for name in wanted or operations:
            killed = end_everywhere(operations[name], original, directory, recording)
            print(f"# {name}: killed {killed['root']} daemons and {killed['child']} jobs")
            total += killed
    print(f"# in all {total['root']} daemons and {total['child']} jobs")


@test
def every_window():
    """a kill between any two changes leaves all of them or none, no job and no temporary"""
    run_all([], None)


@test
def without_unnamed_files():
    """the same on a file system without O_TMPFILE"""
    run_all(["--no-tmpfile"], None if ALL else ["replace", "import"])


private_host()
main()
