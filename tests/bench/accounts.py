# SPDX-License-Identifier: GPL-2.0-or-later
"""Part of tests/bench/run: what the account of waits and the ledger of the dead cost the host.

    accounts.py ROUNDS

A context switch, with a daemon that keeps no account, with one that has loaded its programs, with one that counts waits
by reason, and with one whose time for that is over, in turn; an exit with the last but one and its like that does not; and captures of many threads with reasons and without. An exit, with
an empty ledger, with one whose table is full, and beside a storm of new names, which is measured without a ledger, too.
What a storm of exits loses while captures follow each other; what a daemon does while nobody asks it anything; and the
memory of the kernel's tables.
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

# pylint: disable=wrong-import-position
import ledgers
from harness import BUILD, Daemon, Idle, Skip, temporary, wait_until

CHURN = BUILD / "tests" / "bench" / "churn"
SWITCHES = 200_000
THREADS = 10_000
PROCESSES = 5_000
STORM_EXITS, STORM_RATE = 100_000, 20_000
NAMES = 60_000  # more than the table of the ledger has rows
NAMES_RATE = 10_000
# No owner has all of the table. Strangers are who nobody is.
OWNERS = (0, 61_001, 61_002, 61_003, 61_004)
REST_SECONDS = 10
IDLE_THREADS = 10_000
MOST_MEMORY = 16 << 20  # of all tables and programs that are loaded, as long as nothing is in them


@contextlib.contextmanager
def daemon(waits, exits, reasons="no", is_over=False):
    """One that has loaded what these settings say, and the directory that it lives in. @is_over: it has counted reasons."""
    with temporary() as directory:
        settings = directory / "ctprofd.conf"
        settings.write_text(f"[Capture]\nWaitAccounting={waits}\nExitAccounting={exits}\nWaitReasons={'1s' if is_over else '1h'}\n",
                            encoding="ascii")
        with Daemon(directory, options=("--config", str(settings))) as ctl:
            if ctl("capture", "--backend", "bpf", f"--reasons={reasons}", "--tag", "a").status != 0:
                raise Skip("no programs can be loaded here")
            if is_over:
                wait_until(lambda: not ctl("status", "--json").json()["reasons"]["counted"], what="the end of the time")
            yield ctl, directory


def start_churn(*arguments, cpu=None, **options):
    cpus = sorted(os.sched_getaffinity(0))
    return subprocess.Popen([CHURN, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, cpus if cpu is None else {cpus[cpu]}), **options)


def churn(*arguments, **options):
    """(CPU ns, wall ns)"""
    with start_churn(*arguments, **options) as process:
        line = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"churn failed: {arguments}")
    return tuple(map(int, line.split()))


OFF = {"waits": "off", "exits": "off"}
WAITS = {"waits": "auto", "exits": "off"}
BOTH = {"waits": "auto", "exits": "auto"}
REASONS = {"reasons": "yes"}
AFTER = {**REASONS, "is_over": True}


def in_turn(title, kept, rounds, *arguments):
    """One load beside several daemons in turn: medians of the CPU time that one of its steps takes, the first as base."""
    samples = {name: [] for name in kept}
    for _ in range(rounds):
        for name, settings in kept.items():
            with daemon(**settings):
                samples[name].append(churn(*arguments)[0] / arguments[1])
    medians = {name: statistics.median(taken) for name, taken in samples.items()}
    base = next(iter(medians.values()))
    for name, taken in samples.items():
        print(f"  {title:<24}{name:<18}{medians[name]:>10.0f}{medians[name] - base:>+8.0f}{medians[name] / base:>8.3f}"
              f"{min(taken) / min(samples[next(iter(samples))]):>8.3f}  ({min(taken):.0f}-{max(taken):.0f})", flush=True)


def bench_events(rounds):
    print(f"accounts of waits, reasons and exits, CPU ns a switch or a life on one CPU, medians of {rounds} rounds")
    print(f"  {'':<42}{'ns':>10}{'more':>8}{'ratio':>8}{'of min':>8}")
    in_turn("switch, pipes", {"none": OFF, "waits": WAITS, "reasons": WAITS | REASONS, "after reasons": WAITS | AFTER}, rounds,
            "switches", SWITCHES)
    in_turn("exit of a thread", {"both accounts": BOTH, "reasons": BOTH | REASONS}, rounds, "threads", THREADS)
    in_turn("exit of a process, vfork", {"both accounts": BOTH, "reasons": BOTH | REASONS}, rounds, "processes", PROCESSES)


def bench_captures(rounds):
    """What reasons add to a capture of many threads, from end to end."""
    samples = {"no": [], "yes": []}
    with Idle(IDLE_THREADS, 16):
        for reasons, taken in samples.items():
            with daemon("auto", "auto", reasons) as (ctl, directory):
                for _ in range(rounds):
                    document = ledgers.capture(ctl, directory, f"--reasons={reasons}")[0]
                    taken.append((document["end"]["cost"]["wallNs"], document["end"]["cost"]["cpuNs"],
                                  (directory / "ledger.ctprof.zst").stat().st_size))
    print(f"captures of {IDLE_THREADS} threads, medians of {rounds}: us of wall and of CPU a thread, KiB")
    for reasons, taken in samples.items():
        wall, cpu, size = (statistics.median(values) for values in zip(*taken))
        print(f"  reasons {reasons:<24}{wall / IDLE_THREADS / 1000:>10.2f}{cpu / IDLE_THREADS / 1000:>10.2f}{size / 1024:>10.1f}",
              flush=True)


@contextlib.contextmanager
def quiet():
    yield


@contextlib.contextmanager
def full_table():
    """The ledger has no row left; how long that lasts is up to the daemon."""
    owners = OWNERS if os.geteuid() == 0 else OWNERS[:1]
    fillers = [start_churn("names", NAMES // len(owners), cpu=-1, user=uid if uid else None) for uid in owners]
    for filler in fillers:
        filler.communicate()
    yield


@contextlib.contextmanager
def storm_of_names():
    """New names all the time, on another CPU where there is one."""
    process = start_churn("names", 1 << 40, NAMES_RATE, cpu=-1)
    time.sleep(0.5)
    try:
        yield
    finally:
        process.kill()
        process.communicate()


# How an exit is measured: whether there is a ledger, beside what, and the name of that to whose cost it is compared.
CONDITIONS = {
    "without": ("off", quiet, None),
    "empty table": ("auto", quiet, "without"),
    "full table": ("auto", full_table, "without"),
    "storm, without": ("off", storm_of_names, None),
    "storm of names": ("auto", storm_of_names, "storm, without"),
}
LIVES = {"threads": ("thread: create, exit, join", THREADS), "processes": ("process: vfork, exit, wait", PROCESSES)}


def bench_exits(rounds):
    """The kinds of lives take turns within one daemon, each under a name that is new to it, and then the conditions."""
    print(f"ledger of the dead, CPU ns a life on one CPU, medians of {rounds} rounds; beside the same without a ledger")
    samples = {(kind, name): [] for kind in LIVES for name in CONDITIONS}
    shares = {name: [] for name, (exits, _, _) in CONDITIONS.items() if exits == "auto"}
    for _ in range(rounds):
        for name, (exits, condition, _) in CONDITIONS.items():
            with daemon("off", exits) as (ctl, directory):
                for kind, (_, n) in LIVES.items():
                    called = directory / f"new-{kind}"
                    called.symlink_to(CHURN)
                    with condition():
                        samples[kind, name].append(churn(kind, n, cpu=0, executable=called)[0] / n)
                    if name in shares:
                        dead = ledgers.capture(ctl, directory)[2]
                        shares[name].append(ledgers.total(dead, "exits", pcomm=called.name) / n)
    print(f"  {'':<28}{'':<16}{'ns':>8}{'more':>8}{'ratio':>8}")
    for kind, (title, _) in LIVES.items():
        for name, (_, _, base) in CONDITIONS.items():
            taken = samples[kind, name]
            line = f"  {title:<28}{name:<16}{statistics.median(taken):>8.0f}"
            if base:
                usual, median = (statistics.median(samples[kind, which]) for which in (base, name))
                line += f"{median - usual:>+8.0f}{median / usual:>8.3f}"
            print(f"{line:<70}({min(taken):.0f}-{max(taken):.0f})", flush=True)
    for name, taken in shares.items():
        share = 100 * min(1, statistics.mean(taken))
        print(f"  {name}: {share:.1f} % of the lives are in the ledger by name", flush=True)


def bench_storm():
    """Marks that found no memory, exits that found no row, records of exits during captures that found no room."""
    with daemon("off", "auto") as (ctl, directory):
        summaries = []
        begin = ledgers.capture(ctl, directory)[2]
        storms = [subprocess.Popen([CHURN, "threads", str(STORM_EXITS // 2), str(STORM_RATE // 2)], stdout=subprocess.PIPE)
                  for _ in range(2)]
        while any(storm.poll() is None for storm in storms):
            summaries.append(ledgers.capture(ctl, directory)[0]["ledger"])
        seconds = max(int(storm.communicate()[0].split()[1]) for storm in storms) / 1e9
        document, _, end = ledgers.capture(ctl, directory)
        summaries.append(document["ledger"])
    exits = [ledgers.total(dead, "exits", pcomm="churn", comm="churn") for dead in (begin, end)]
    print(f"ledger in a storm of {STORM_EXITS / seconds:.0f} exits/s for {seconds:.1f} s, beside {len(summaries)} captures")
    print(f"  {'exits missing':>14}{'lost marks':>12}{'overflow':>10}{'lost records':>14}{'unfinished':>12}")
    print(f"  {STORM_EXITS + 2 - (exits[1] - exits[0]):>14}{summaries[-1]['lost_marks']:>12}{summaries[-1]['overflow_exits']:>10}"
          f"{sum(summary['lost_records'] for summary in summaries):>14}{summaries[-1]['unfinished']:>12}", flush=True)


def used_ns(pid):
    """Of the main process, to the nanosecond, and of its jobs that have ended, in ticks."""
    own = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    words = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return own + sum(map(int, words[13:15])) * 10**9 // os.sysconf("SC_CLK_TCK")


def bench_rest():
    print(f"daemon that is asked nothing, CPU in {REST_SECONDS} s")
    for name, exits in (("without the ledger", "off"), ("with the ledger", "auto")):
        with daemon("auto", exits) as (ctl, _):
            time.sleep(0.5)  # until the first capture's jobs are reaped
            before = used_ns(ctl.process.pid)
            time.sleep(REST_SECONDS)
            print(f"  {name:<28}{(used_ns(ctl.process.pid) - before) / 1e6:>8.3f} ms", flush=True)


def bpftool(*arguments):
    tool = "/usr/sbin/bpftool" if os.path.exists("/usr/sbin/bpftool") else "bpftool"
    return json.loads(subprocess.run([tool, "--json", *arguments], check=True, capture_output=True).stdout)


def programs_of(pid):
    """Ids of the programs that are attached by links which a process has."""
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        for line in path.read_text(encoding="ascii").splitlines():
            if line.startswith("prog_id:"):
                yield line.split()[1]


def bench_tables():
    with daemon("auto", "auto") as (ctl, _):
        programs = [bpftool("prog", "show", "id", program) for program in set(programs_of(ctl.process.pid))]
        maps = [bpftool("map", "show", "id", str(number))
                for number in sorted({number for program in programs for number in program["map_ids"]})]
    print("memory of the kernel's tables with few rows, KiB; what they keep of threads (task_storage) is not in it")
    for table in sorted(maps, key=lambda table: -table["bytes_memlock"]):
        print(f"  {table['name']:<20}{table['type']:<16}{table['max_entries']:>8} x {table['bytes_value']:>5} bytes"
              f"{table['bytes_memlock'] / 1024:>10.1f}")
    of_maps, of_programs = (sum(one["bytes_memlock"] for one in all_of) for all_of in (maps, programs))
    print(f"  {'all':<20}{'':<16}{'':>8}   {'':>11}{of_maps / 1024:>10.1f}, and {of_programs / 1024:.1f} of {len(programs)} programs: "
          f"{(of_maps + of_programs) / (1 << 20):.1f} of {MOST_MEMORY >> 20} MiB")


def main():
    rounds = int(sys.argv[1])
    try:
        bench_events(rounds)
        bench_exits(rounds)
        bench_captures(rounds)
        bench_storm()
        bench_rest()
        bench_tables()
    except Skip as reason:
        print(f"  {reason}")


if __name__ == "__main__":
    main()
