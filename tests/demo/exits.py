# SPDX-License-Identifier: GPL-2.0-or-later
"""Most of what a host did was done by processes that no capture saw alive: the answer has them by name."""
import contextlib
import os
import re
import time

from investigation import INTERVAL_S, SETTLE_S, ask, comment, directory_on_disk, started
from harness import Daemon, Skip, expect, expect_equal, main, test

# A loop of processes that live for some milliseconds each; the shell hears of its end when a process has ended.
LOOP = "trap exit TERM; while :; do gzip -c input >output; done"


def used_s():
    """CPU time that the host has used, of all CPUs, by its own account."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def reaped_s(pid):
    """CPU time of the children of @pid that have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


@test
def short_lives_are_there_by_name():
    """beside a loop of short-lived processes, they stand by name on the first screen, with the CPU time that they had"""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(directory))
        backend = daemon("status", "--json").json()["backend"]
        if backend["name"] != "bpf":
            raise Skip(backend["reason"])
        (directory / "input").write_bytes(os.urandom(1 << 18) + bytes(1 << 18))
        loop = stack.enter_context(started("sh", "-c", LOOP, cwd=directory))
        time.sleep(SETTLE_S)
        outer, inner = -used_s(), 0
        expect_equal(daemon("capture", "--tag", "a").status, 0, "capture")
        inner, gone = inner - used_s(), -reaped_s(loop.pid)
        time.sleep(INTERVAL_S)
        inner, gone = inner + used_s(), gone + reaped_s(loop.pid)
        expect_equal(daemon("capture", "--tag", "b").status, 0, "capture")
        outer += used_s()
        comment(f"/proc/stat: between {inner:.2f} and {outer:.2f} s of CPU time, of which {gone:.2f} s are of processes "
                "that were born and ended in between")
        screens = ask(["--socket", daemon.socket], "show", "a..b")
        answer = daemon("show", "a..b", "--json").json()
    coverage = answer["coverage"]
    comment(f"{coverage}")
    used = coverage["cpuUsedNs"] / 1e9
    expect(inner - 0.1 < used < outer + 0.1, "used", used)
    expect(coverage["attributedNs"] > 0.97 * coverage["cpuUsedNs"], "covered", coverage)
    expect(coverage["bornAndEndedNs"] / 1e9 > 0.9 * gone, "of", gone, "s", coverage["bornAndEndedNs"])
    # A child runs as sh until it becomes gzip, and what it did by then counts under the name that it ended with.
    gzip, = (group for name in ("groups", "onlyBefore", "onlyAfter") for group in answer[name] if group["key"] == "gzip")
    comment(f"gzip: {gzip['lives']}, {gzip['time']}")
    ticks = 0.02 + 2 * (outer - inner)
    expect(abs(gzip["time"]["runningNs"] / 1e9 - gone) < 0.05 * gone + ticks, "gzip ran", gzip["time"], "of", gone, "s")
    percent = 100 * min(1, coverage["attributedNs"] / coverage["cpuUsedNs"])
    for screen in screens:
        told = re.search(r"saw (\d+) % of", screen.text)
        expect(told, "no coverage in", *screen.lines)
        expect(abs(int(told[1]) - percent) < 1, "covered", percent, "and told", told[1])
        # With one that is there at the end, or without.
        screen.find(r"^gzip +(\d+ \+\d+ −\d+|\d+ ended)\b")


main()
