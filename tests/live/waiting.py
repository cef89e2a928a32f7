# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads that wait for storage, and what captures say of them beside a witness of each of their switches."""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import heaps
import ledgers
from harness import BUILD, Daemon, Skip, expect, expect_equal, temporary, wait_until

FILE_BYTES = 32 << 20
# Each prints a line when it is about to begin, and goes on until it is ended.
LOADS = {
    "direct": """
file = os.open(path, os.O_RDONLY | os.O_DIRECT)
room = mmap.mmap(-1, 4096)
print(flush=True)
while True:
    os.preadv(file, [room], 4096 * random.randrange(n_blocks))
""",
    "fsync": """
file = os.open(path, os.O_WRONLY)
block = os.urandom(4096)
print(flush=True)
while True:
    os.pwrite(file, block, 4096 * random.randrange(n_blocks))
    os.fsync(file)
""",
    "faults": """
file = os.open(path, os.O_RDONLY)
memory = mmap.mmap(file, 0, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
# As a whole first: what was written lies in pages that are larger, and a part of one is never dropped.
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
print(flush=True)
while True:
    at = 4096 * random.randrange(n_blocks)
    memory[at]
    memory.madvise(mmap.MADV_DONTNEED, at, 4096)
    os.posix_fadvise(file, at, 4096, os.POSIX_FADV_DONTNEED)
""",
    # A parent waits, uninterruptibly and for no storage, until its child executes a program.
    "spawn": """
print(flush=True)
while True:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
""",
}
PREFACE = "import mmap, os, random, sys\npath, n_blocks = sys.argv[1], int(sys.argv[2])\n"
HOG = "print(flush=True)\nwhile True: pass"

PARTS = ("running", "queued", "storage", "blocked", "asleep")
ANSWER = tuple(f"{part}_ns" for part in PARTS) + (
    "waking_storage_ns", "waking_blocked_ns", "apart_storage_ns", "apart_blocked_ns", "n_storage", "n_blocked", "n_torn", "n_lost")
# What our captures call the parts, and what the kernel says of storage itself.
OURS = {"running_ns": "run_time_ns", "queued_ns": "wait_time_ns", "storage_ns": "storage_wait_ns",
        "blocked_ns": "uninterruptible_ns", "n_storage": "storage_wait_count", "n_blocked": "uninterruptible_count"}
KERNELS = {"delay accounting": "blkio_delay_total_ns", "schedstats": "iowait_sum"}


@contextlib.contextmanager
def program(source, *arguments):
    """A load in the background that is about to begin, ended by its pid."""
    with subprocess.Popen([sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            if not process.stdout.readline():
                raise Skip(f"the load does not run here: {process.communicate()[1].strip().splitlines()[-1]}")
            yield process
        finally:
            process.kill()


class Witness:
    """It is told every switch of one thread, and adds them up when it is asked.

    It begins before the account that it is to check is attached, and watches a thread once that is.
    """

    def __init__(self):
        self.tid = None
        directory = BUILD / "tests" / "live"
        if not (directory / "wait-witness.bpf.o").exists():
            raise Skip("the witness was not built: it takes clang and libbpf")
        self.process = subprocess.Popen([directory / "wait-witness", directory / "wait-witness.bpf.o"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        expect_equal(self.process.stdout.readline(), "ready\n", "the witness")

    def _ask(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def watch(self, tid):
        self.tid = tid
        expect_equal(self._ask(f"watch {tid}\n"), "ready\n", "the witness")

    def at(self, age_ns):
        """What the thread had done when it was so old."""
        answer = dict(zip(ANSWER, map(int, self._ask(f"{self.tid} {age_ns}\n").split()), strict=True))
        expect_equal(answer["n_lost"], 0, "events that were lost")
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@contextlib.contextmanager
def blocks():
    """A file on a disk: /tmp may be memory."""
    with tempfile.TemporaryDirectory(prefix="ctprof-test-", dir="/var/tmp") as directory:
        file = pathlib.Path(directory) / "blocks"
        file.write_bytes(os.urandom(FILE_BYTES))
        os.sync()
        yield file


def measure(name, hogs, seconds):
    """A load for a while between two captures, as what captures and what the witness say: two dictionaries.

    A capture says how old the thread was when it looked at it, so that both are asked about the same moments.
    """
    with contextlib.ExitStack() as stack:
        witness = stack.enter_context(Witness())
        directory = stack.enter_context(temporary())
        ctl = stack.enter_context(Daemon(directory))
        ledgers.capture(ctl, directory)  # the daemon has loaded its programs, or says why it cannot
        file = stack.enter_context(blocks())
        load = stack.enter_context(program(PREFACE + LOADS[name], str(file), str(FILE_BYTES // 4096)))
        for _ in range(hogs):
            stack.enter_context(program(HOG))
        witness.watch(load.pid)

        def switches():
            return sum(heaps.switches(load.pid, [load.pid])[load.pid])

        # Until the first switch it knows nothing of the thread, which hogs may keep from its CPU for long.
        begun = switches()
        wait_until(lambda: switches() > begun + 4, what="the load")
        time.sleep(0.2)
        said, seen = [], []
        for number in range(2):
            time.sleep(number * seconds)
            _, living, _ = ledgers.capture(ctl, directory)
            said += [row for row in living if row["tid"] == load.pid]
            seen.append(witness.at(said[number]["acct_elapsed_ns"]))
    elapsed = said[1]["acct_elapsed_ns"] - said[0]["acct_elapsed_ns"]
    exact = {column: seen[1][column] - seen[0][column] for column in ANSWER}
    ours = {"elapsed_ns": elapsed}
    for key, column in [*OURS.items(), *KERNELS.items()]:
        values = [row[column] for row in said]
        ours[key] = None if None in values else values[1] - values[0]
    # The witness must account for all of the time, or it has missed something itself.
    expect(abs(sum(exact[f"{part}_ns"] for part in PARTS) - elapsed) < 10_000, exact, elapsed)
    return ours, exact


def ratio(value, base):
    return "absent" if value is None else f"{100 * (value / base - 1):+.2f} %" if base else f"{value / 1e6:.1f} ms"


def describe(name, hogs, ours, exact):
    """One line of figures, of the witness in seconds, then how far others are from it."""
    parts = ", ".join(f"{part} {exact[f'{part}_ns'] / 1e9:.3f}" for part in PARTS)
    away = ", ".join(f"{key.removesuffix('_ns')} {ratio(ours[key], exact[key])}" for key in OURS)
    kernels = ", ".join(f"{key} {ratio(ours[key], exact['storage_ns'])}" for key in KERNELS)
    waking = ", ".join(f"{exact[f'waking_{part}_ns'] / 1e6:.1f} ms of {part}" for part in ("storage", "blocked"))
    apart = " + ".join(f"{exact[f'apart_{part}_ns'] / 1e6:.1f} ms" for part in ("storage", "blocked"))
    return (f"{name}, {hogs} hogs: of {ours['elapsed_ns'] / 1e9:.3f} s {parts}; ours {away}; {kernels}; "
            f"{exact['n_storage']} + {exact['n_blocked']} waits, {exact['n_torn']} torn; woken for {waking}; "
            f"the witness's own programs {apart} apart")


def agree(ours, exact, is_emulated=False):
    """Within 2 % of the witness; of what is below 1 % of the time, within 2 % of that.

    The account reads the clock between the first program of the witness and the last. An emulated processor may need
    longer for these than a wait lasts, and a busy host stops it in between: there both may differ by this time too.
    """
    if exact["storage_ns"] + exact["blocked_ns"] < ours["elapsed_ns"] // 100:
        raise Skip("this load waits for nothing here")
    for part in ("storage", "blocked"):
        said, seen = ours[f"{part}_ns"], exact[f"{part}_ns"]
        expect(said is not None, part, "is absent")
        bound = 0.02 * max(seen, ours["elapsed_ns"] / 100) + is_emulated * exact[f"apart_{part}_ns"]
        expect(abs(said - seen) <= bound, part, "differs by more than", bound, ours, exact)
        expect(abs(ours[f"n_{part}"] - exact[f"n_{part}"]) <= 0.02 * max(exact[f"n_{part}"], 100), part, ours, exact)
