# SPDX-License-Identifier: GPL-2.0-or-later
"""Part of tests/bench/run: how far sampled stacks are from what threads know themselves.

    stacks.py RUNS

Threads are by turns in known functions and note for how long; a recording of the host has it from samples. The time of
a function is that of all stacks that it is in, whatever the thread did there. Beside each function of the last run is
how far the two are apart, in standard errors as the recording tells them; the last lines say in how many runs no
function was further than three of them from the truth, and how large the error was in all.
"""
import contextlib
import math
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))

# pylint: disable=wrong-import-position
from harness import BUILD, Daemon, temporary

MIX = BUILD / "tests" / "bench" / "mix"
SECONDS = 4
PERIOD = "10ms"
# A number without an error is exact but for what lies between two readings of the clock.
EXACT = 0.005


@contextlib.contextmanager
def mix(directory):
    """The load, which begins at a line in the pipe "go" and writes what it knows into "said"."""
    for name in ("go", "said"):
        os.mkfifo(directory / name)
    # Both ends are open, so nobody waits for the other one.
    with open(directory / "go", "r+b", buffering=0) as go, open(directory / "said", "r+b", buffering=0) as said, \
            subprocess.Popen([MIX, str(SECONDS), directory / "file"], stdin=go, stdout=said) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def record(ctl):
    """{(thread, function): ns} as the load knew it, and the stacks of its threads."""
    with temporary() as directory, mix(directory) as pid:
        done = ctl("record", "--tag", "rec", "--replace", "--pid", pid, "--period", PERIOD, "--",
                   "sh", "-c", 'echo > "$0/go"; sed "/^$/q" "$0/said" > "$0/truth"', directory)
        if done.status != 0:
            sys.exit(f"the recording failed: {done.err}")
        lines = (line.split() for line in (directory / "truth").read_text(encoding="ascii").splitlines() if line)
        truth = {(thread, function): int(ns) for thread, function, ns in lines}
    return truth, ctl("show", "rec", "--stacks", "--json", "--limit", "0", "--all-rows").json()


def distances(truth, found):
    """{(thread, function): (truth in ns, what was found, its standard error)}"""
    result = {}
    for (thread, function), ns in truth.items():
        mine = [stack for stack in found["stacks"] if stack["thread"] == thread and function in stack["frames"]]
        error = math.sqrt(sum(stack.get("standardErrorNs", 0) ** 2 for stack in mine))
        result[thread, function] = ns, sum(stack["ns"] for stack in mine), error
    return result


def sigmas(ns, found, error):
    """How many standard errors the two are apart."""
    distance = max(abs(found - ns) - EXACT * ns, 0)
    return distance / error if error else math.inf if distance else 0


def main():
    runs = int(sys.argv[1])
    taken = []
    with temporary() as directory, Daemon(directory) as ctl:
        for _ in range(runs):
            taken.append(distances(*record(ctl)))
    print(f"stacks sampled every {PERIOD} against what threads knew, {SECONDS} s, {runs} runs; the last one:")
    print(f"  {'':<24}{'truth ms':>10}{'found ms':>10}{'apart %':>10}{'error %':>10}{'sigmas':>8}")
    for (thread, function), (ns, found, error) in taken[-1].items():
        print(f"  {thread + ' ' + function:<24}{ns / 1e6:>10.1f}{found / 1e6:>10.1f}{(found - ns) / ns * 100:>+10.2f}"
              f"{error / ns * 100:>10.2f}{sigmas(ns, found, error):>8.1f}")
    for number, run in enumerate(taken):
        for (thread, function), one in run.items():
            if sigmas(*one) > 3:
                ns, found, error = one
                print(f"  further in run {number + 1}: {thread} {function} {ns / 1e6:.1f}, found {found / 1e6:.1f} +- {error / 1e6:.1f}")
    within = [[sigmas(*one) <= 3 for one in run.values()] for run in taken]
    print(f"  within three standard errors: all functions in {sum(map(all, within))} of {runs} runs,"
          f" {sum(map(sum, within))} of {sum(map(len, within))} functions")
    apart = [abs(found - ns) / ns for run in taken for ns, found, _ in run.values()]
    print(f"  apart: median {statistics.median(apart) * 100:.2f} %, 95 of 100 at most {sorted(apart)[int(len(apart) * 0.95)] * 100:.2f} %")


main()
