# SPDX-License-Identifier: GPL-2.0-or-later
"""Part of tests/bench/run: what the counters of jemalloc cost, beside a floor and the prior way.

    heap.py ROUNDS

For processes of 17, 201 and 1,001 threads: the prior way, which stops each thread with ptrace; the calls alone that
are needed without a stop; and a capture less one with --no-heap, for a daemon that has just started (cold) and one that
knows the files and the processes (warm). Beside each, how often the threads had to leave their processors for it. Then
the same capture for many processes of one thread, with jemalloc and without. In a pid namespace of its own, where there
is nothing else to read.
"""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

# pylint: disable=wrong-import-position
import jemallocs
from harness import IDLE, Daemon, Skip, private_host
from heaps import READER, TARGET, Target, preload, switches

THREADS = (17, 201, 1001)
PROCESSES = 100


def by_reader(way, target, rounds):
    """(CPU ns, wall ns) of each reading but the first."""
    lines = subprocess.run([READER, way, str(target.pid), *target.distances, str(rounds + 1), "1000"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    found = [tuple(map(int, line.split())) for line in lines]
    total = sum(map(sum, target.truth.values()))
    if any(line[0] != line[1] or line[4] != total for line in found):
        raise AssertionError(f"{way} does not read what the threads counted: {found}, {total}")
    return [line[2:4] for line in found[1:]]


def cost(daemon, *options):
    answer = daemon("capture", "--tag", "a", "--replace", "--no-smaps", "--json", *options).json()
    return answer["snapshot"]["cost"]["cpuNs"], answer["snapshot"]["cost"]["wallNs"]


def difference(pairs):
    """Medians of what the first of each pair took more than the second, as (CPU ns, wall ns)."""
    return [statistics.median(first[i] for first, _ in pairs) - statistics.median(second[i] for _, second in pairs)
            for i in range(2)]


def by_captures(rounds):
    """What counters add to a capture: of a daemon that has just started, and of one that has been there."""
    cold, warm = [], []
    for _ in range(rounds):
        sides = []
        for options in ((), ("--no-heap",)):
            with fresh_daemon() as daemon:
                sides.append(cost(daemon, *options))
        cold.append(sides)
    with fresh_daemon() as daemon:
        cost(daemon)
        for _ in range(3 * rounds):
            warm.append((cost(daemon), cost(daemon, "--no-heap")))
    return difference(cold), difference(warm)


@contextlib.contextmanager
def fresh_daemon():
    with tempfile.TemporaryDirectory(prefix="ctprof-bench-") as directory:
        config = pathlib.Path(directory) / "ctprofd.conf"
        config.write_text("[Capture]\nHeapTime=10s\n", encoding="ascii")
        with Daemon(pathlib.Path(directory), options=["--config", str(config)]) as daemon:
            yield daemon


def row(name, n, cpu, wall, forced=None):
    forced = f"{forced:12.2f}" if forced is not None else f"{'-':>12}"
    print(f"  {name:<38}{cpu / n / 1000:>10.2f}{wall / n / 1000:>10.2f}{wall / 1e6:>10.3f}{forced}", flush=True)


def head(what):
    print(f"  {'':<38}{f'CPU us/{what}':>10}{'wall us':>10}{'wall ms':>10}{'switches/th':>12}")


def bench_threads(n, library, rounds):
    print(f"counters of jemalloc of a process of {n} threads, median of {rounds} rounds")
    head("th")
    with Target(TARGET, "--steps", 20, threads=n - 1, env=preload(library)) as target:
        target.round()

        def counted(function, n_readings):
            before = switches(target.pid, target.truth)
            result = function()
            after = switches(target.pid, target.truth)
            forced = sum(sum(after[tid]) - sum(before[tid]) for tid in after)
            return result, forced / n_readings / n

        for name, way in (("a ptrace stop for each thread", "stops"), ("the calls alone, no stop", "floor")):
            found, forced = counted(lambda way=way: by_reader(way, target, rounds), rounds + 1)
            row(name, n, *(statistics.median(sample[i] for sample in found) for i in range(2)), forced)
        (cold, warm), forced = counted(lambda: by_captures(rounds), 8 * rounds + 1)
        row("added to a capture, cold", n, *cold, forced)
        row("added to a capture, warm", n, *warm, forced)


def bench_processes(name, environment, rounds):
    print(f"counters of jemalloc of {PROCESSES} processes {name}, median of {rounds} rounds")
    head("pr")
    with subprocess.Popen([IDLE, str(PROCESSES), str(PROCESSES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, **environment}) as idle:
        idle.stdout.readline()
        cold, warm = by_captures(rounds)
        row("added to a capture, cold", PROCESSES, *cold)
        row("added to a capture, warm", PROCESSES, *warm)
        idle.stdin.close()


def main():
    rounds = int(sys.argv[1])
    try:
        library = jemallocs.distribution().shared
    except Skip as reason:
        print(f"counters of jemalloc: {reason}")
        return
    for n in THREADS:
        bench_threads(n, library, rounds)
    bench_processes("with jemalloc", preload(library), rounds)
    bench_processes("without", {}, rounds)


private_host()
main()
