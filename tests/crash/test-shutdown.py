#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Power loss on a real ext4: what was answered is there after the journal was replayed.

The replay of test-power.py needs no file system and tries everything; here a real one shows that it keeps what
is expected of it. While a spool on it changes, the file system is shut down without its journal being written
out, which is what its developers test power loss with: nothing that was not synced reaches the device. It is
mounted again, and the next daemon is asked. $CTPROF_SHUTDOWNS says how often (default: 15).
"""
import contextlib
import fcntl
import itertools
import json
import os
import random
import struct
import threading
import time

from recorded import SEED, names_in, temporaries_in
from harness import Daemon, expect, expect_equal, main, private_host, temporary, test, wait_until
from small import ext4_image, mounted

SHUTDOWNS = int(os.environ.get("CTPROF_SHUTDOWNS", "15"))
EXT4_IOC_SHUTDOWN = 0x8004587D
EXT4_GOING_FLAGS_NOLOGFLUSH = 2
LONGEST = 0.5  # seconds of changes


class Changes(threading.Thread):
    """Changes the spool, one call after the other, until one fails or @most were answered."""

    def __init__(self, daemon, number, known, most):
        super().__init__()
        self.daemon_at, self.number, self.most = daemon, number, most
        self.known = known  # name -> start as answered, None when it was removed
        self.open = set()  # names of the call that failed
        self.n_answered = 0

    def run(self):
        for turn in itertools.count():
            name = f"t{self.number}-{turn}"
            if not (self._call("capture", [name], "--tag", name) and
                    self._call("capture", ["fixed"], "--tag", "fixed", "--replace") and
                    self._call("rename", [name, f"m{name}"], name, f"m{name}") and
                    (turn % 2 == 0 or self._call("remove", [f"m{name}"], f"m{name}"))):
                return

    def _call(self, verb, names, *arguments):
        if self.n_answered == self.most:
            return False
        result = self.daemon_at(verb, *arguments, "--json")
        if result.status != 0:
            self.open = set(names)
            return False
        self.n_answered += 1
        self.known.update(dict.fromkeys(names))
        reply = json.loads(result.out)
        heads = [reply["snapshot"]] if "snapshot" in reply else reply["snapshots"]
        if verb != "remove":
            self.known.update({head["name"]: head["startRealtimeNs"] for head in heads})
        return True


def shut_down(place):
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, struct.pack("I", EXT4_GOING_FLAGS_NOLOGFLUSH))
    finally:
        os.close(descriptor)


def check(daemon, known, unsure):
    heads = daemon("list", "--json").json()["snapshots"]
    found = {head["name"]: head["startRealtimeNs"] for head in heads}
    results = daemon("verify", "--all", "--json").json()["results"] if found else []
    expect_equal([result for result in results if not result["ok"]], [], "damaged")
    expect_equal({result["name"] for result in results}, names_in(daemon.spool), "listed")
    for name in (known.keys() | found.keys()) - unsure:
        expect_equal(found.get(name), known.get(name), name, "was answered and")
    wait_until(lambda: not temporaries_in(daemon.spool), what="a clean spool")
    known.clear()
    known.update(found)


@test
def a_real_file_system():
    """an ext4 that loses everything it was not told to sync has every snapshot that was answered"""
    chance, known, n_answered = random.Random(SEED), {}, 0
    with temporary() as directory:
        image = ext4_image(directory / "image", 32 << 20, 4096)
        for number in range(SHUTDOWNS):
            with mounted(directory / "spool", "-o", "loop", image), contextlib.ExitStack() as stack:
                daemon = stack.enter_context(Daemon(directory, options=["--keep-free", "0", "--max-bytes", "0"]))
                check(daemon, known, changes.open if number else set())
                # By turns in the middle of a call, and right after an answer, before a later call can sync
                # what the earlier one should have synced.
                changes = Changes(daemon, number, known, chance.randint(1, 6) if number % 2 else None)
                changes.start()
                if number % 2:
                    changes.join()
                else:
                    time.sleep(chance.uniform(0, LONGEST))
                shut_down(directory / "spool")
                changes.join()
                n_answered += changes.n_answered
        with mounted(directory / "spool", "-o", "loop", image), Daemon(directory) as daemon:
            check(daemon, known, changes.open)
        expect(n_answered > SHUTDOWNS, "hardly anything was answered:", n_answered)
        print(f"# {SHUTDOWNS} times, {n_answered} changes were answered, {len(known)} snapshots at the end")


private_host()
main()
