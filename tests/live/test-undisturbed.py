#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading counters in the memory of a process stops none of its threads, wakes none and loses no signal."""
import os
import subprocess
import threading
import time

import jemallocs
from harness import Daemon, expect, expect_equal, main, need_root, private_host, temporary, test, wait_until
from heaps import READER, TARGET, WITNESS, Target, counters, expect_exact, preload, switches
from hostile import capture

SIGNALS = 20000
PAUSE_US = 150
SECONDS = 10


class Witness:
    """heap-witness: threads that notice when they are disturbed."""

    def __init__(self, library):
        self.process = subprocess.Popen([WITNESS, str(PAUSE_US)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **preload(library)})
        self.pid, self.spinning = map(int, self.process.stdout.readline().split())
        # Its leader runs the rounds; the one that handles the signals is woken by them.
        self.others = sorted(set(map(int, os.listdir(f"/proc/{self.pid}/task"))) - {self.pid, self.spinning})

    def round(self, n):
        """Queues so many signals to it and returns what it noticed."""
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        names = ("got", "misplaced", "epoll_woken", "sigwait_woken", "longest_ns")
        return dict(zip(names, map(int, self.process.stdout.readline().split())))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)


class Captures(threading.Thread):
    """One capture after the other, in the background, and how many of them had numbers of all threads of a process."""

    def __init__(self, daemon, directory, pid):
        super().__init__()
        self.daemon_, self.directory, self.pid = daemon, directory, pid
        self.is_over = threading.Event()
        self.n = self.n_whole = 0
        self.failure = None

    def run(self):
        try:
            while not self.is_over.is_set():
                document = capture(self.daemon_, self.directory, "--no-smaps")[1]
                got = counters(document, self.pid)
                self.n += 1
                self.n_whole += bool(got) and all(numbers[0] for numbers in got.values())
        except BaseException as failure:  # pylint: disable=broad-except # told by whoever waits for it
            self.failure = failure

    def __enter__(self):
        self.begin = time.monotonic()
        self.start()
        wait_until(lambda: self.n > 1 or self.failure, 60, "the first captures")
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        if self.failure:
            raise self.failure
        self.per_s = self.n / (time.monotonic() - self.begin)


@test
def nobody_leaves_the_processor():
    """200 threads that wait and one that runs have not left their processors once while they were read"""
    need_root()
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    library = jemallocs.distribution().shared
    with temporary() as directory, Target(linked, "--steps", 100, threads=200) as target, Witness(library) as witness, \
            Daemon(directory) as daemon:
        target.round()
        time.sleep(0.5)
        waiting = switches(target.pid, target.truth), switches(witness.pid, witness.others)
        running = switches(witness.pid, [witness.spinning])[witness.spinning]
        with Captures(daemon, directory, target.pid) as captures:
            time.sleep(SECONDS)
        expect_equal(switches(target.pid, target.truth), waiting[0], "threads that wait")
        expect_equal(switches(witness.pid, witness.others), waiting[1], "threads that wait for events and signals")
        after = switches(witness.pid, [witness.spinning])[witness.spinning]
        # To be made to leave is what happens beside other work; to be stopped counts as leaving.
        expect_equal(after[0], running[0], "the thread that runs")
        expect(captures.n_whole == captures.n and captures.per_s > 2, "read whole:", captures.n_whole, "of", captures.n)
        document = capture(daemon, directory, "--no-smaps")[1]
        expect_exact(document, target)
        print(f"# {captures.n} captures, {captures.per_s:.1f} a second, of {len(target.truth)} threads that wait: 0 switches;"
              f" of the one that runs: {after[0] - running[0]} voluntary, {after[1] - running[1]} others")
        # The same measure sees what the prior way does, so it would have seen this.
        done = subprocess.run([READER, "stops", str(target.pid), *target.distances, "1", "0"], capture_output=True,
                              text=True, check=True)
        forced = sum(sum(now) - sum(before) for now, before in
                     zip(switches(target.pid, target.truth).values(), waiting[0].values()))
        expect(forced >= len(target.truth), "the prior way forced only", forced)
        print(f"# reading them once by stopping them: {forced} switches, {done.stdout.split()[1]} threads read")


@test
def no_signal_is_lost():
    """of 20,000 queued signals none is lost or out of turn while the process is read, and nobody who waits is woken"""
    need_root()
    with temporary() as directory, Witness(jemallocs.distribution().shared) as witness, Daemon(directory) as daemon:
        alone = witness.round(SIGNALS)
        with Captures(daemon, directory, witness.pid) as captures:
            beside = witness.round(SIGNALS)
        for what, noticed in (("alone", alone), ("beside captures", beside)):
            print(f"# {what}: {noticed}")
            expect_equal({name: value for name, value in noticed.items() if name != "longest_ns"},
                         {"got": SIGNALS, "misplaced": 0, "epoll_woken": 0, "sigwait_woken": 0}, what)
        print(f"# {captures.n} captures, {captures.per_s:.1f} a second, {captures.n_whole} with all threads")
        expect(captures.n > 10 and captures.n_whole == captures.n, captures.n, captures.n_whole)


@test
def read_a_hundred_times_a_second():
    """the same at 100 Hz, by the two calls alone that a capture makes for the numbers"""
    need_root()
    with temporary() as directory, Witness(jemallocs.distribution().shared) as witness, \
            Target(TARGET, env=preload(jemallocs.distribution().shared)) as target:
        # The same library is at the same distance in every process that has it.
        before = switches(witness.pid, [*witness.others, witness.spinning])
        handling = {tid for tid, numbers in before.items() if tid != witness.spinning}
        reader = subprocess.Popen([READER, "floor", str(witness.pid), *target.distances, "100000", "9000"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            begin = time.monotonic()
            quiet = witness.round(0)
            time.sleep(2)
            expect_equal({tid: numbers for tid, numbers in switches(witness.pid, handling).items()},
                         {tid: before[tid] for tid in handling}, "threads that wait")
            noticed = witness.round(SIGNALS)
            seconds = time.monotonic() - begin
        finally:
            reader.terminate()
            lines = reader.communicate()[0].splitlines()
        for what in (quiet, noticed):
            expect_equal((what["misplaced"], what["epoll_woken"], what["sigwait_woken"]), (0, 0, 0), what)
        expect_equal((quiet["got"], noticed["got"]), (0, SIGNALS), "signals")
        n_threads = len(witness.others) + 2
        read = [int(line.split()[1]) for line in lines[:-1]]
        # A busy host makes a thread wait once for a page or a lock of its own; readings would do so each time.
        left = switches(witness.pid, [witness.spinning])[witness.spinning][0] - before[witness.spinning][0]
        expect(left <= len(read) / 100, f"the spinning thread left its processor {left} times in {len(read)} readings")
        expect(read and set(read) <= {n_threads, n_threads + 1}, "threads read", set(read))
        print(f"# {len(read)} readings of {n_threads} threads in {seconds:.1f} s, {len(read) / seconds:.0f} a second: {noticed}")


private_host()
main()
