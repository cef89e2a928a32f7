# SPDX-License-Identifier: GPL-2.0-or-later
"""Storms of short lives in a cgroup of their own, and what the ledger of the dead says of them beside the kernel's account."""
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

from harness import Skip, expect, expect_equal

# Each runs in a process called "storm"; what it makes is called by the name of the storm.
STORMS = {
    "storm-processes": """
for _ in range(200):
    if os.fork() == 0:
        burn(0.002)
        os._exit(0)
    os.wait()
""",
    "storm-memory": """
for _ in range(60):
    if os.fork() == 0:
        memory = mmap.mmap(-1, 64 << 20)
        for at in range(0, 64 << 20, 4096):
            memory[at] = 1
        os._exit(0)
    os.wait()
""",
    "storm-files": """
block = bytes(1 << 20)
for number in range(200):
    if os.fork() == 0:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(block)
            file.flush()
            file.seek(0)
            file.read()
        os._exit(0)
    os.wait()
""",
    "storm-threads": """
for _ in range(100):
    if os.fork() == 0:
        threads = [threading.Thread(target=burn, args=(0.002,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    os.wait()
""",
}
PREFACE = """
import mmap, os, sys, tempfile, threading, time
directory = sys.argv[2]
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[1])
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""


def hierarchy():
    """Where cgroups of version 2 are mounted."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, rest = line.split(" - ")
        if rest.startswith("cgroup2 ") and fields.split()[3] == "/":
            return pathlib.Path(fields.split()[4])
    raise Skip("no cgroup v2 hierarchy is mounted")


numbers = itertools.count()


@contextlib.contextmanager
def group(name):
    """A cgroup of a name that none had before, removed at the end, and its path below the root of the hierarchy."""
    place = hierarchy() / f"{name}-{os.getpid()}-{next(numbers)}"
    try:
        place.mkdir()
    except OSError as error:
        raise Skip(f"no cgroup can be made: {error}") from None
    try:
        yield place, f"/{place.name}"
    finally:
        for _ in range(100):
            try:
                place.rmdir()
                break
            except OSError:
                time.sleep(0.05)


def storm(name, place, directory, called=None):
    """A storm that goes on in the cgroup @place, and prints its CPU time before and after it got there."""
    source = (f"import os, time\nprocs = open({str(place / 'cgroup.procs')!r}, 'w')\nbefore = time.thread_time_ns()\n"
              "procs.write(str(os.getpid()))\nprocs.flush()\nprint(before, time.thread_time_ns(), flush=True)\n"
              f"{PREFACE}{STORMS[name]}")
    return subprocess.Popen([sys.executable, "-c", source, called or name, str(directory)], stdout=subprocess.PIPE, text=True)


def used_ns(place):
    for line in (place / "cpu.stat").read_text().splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) * 1000
    raise Skip("cpu.stat counts no usage")


def capture(ctl, directory, *options):
    """A capture through BPF, as the document, its living, and its dead."""
    file = directory / "ledger.ctprof.zst"
    file.unlink(missing_ok=True)
    result = ctl("capture", "--backend", "bpf", "--output", str(file), "--smaps=none", "--no-heap", *options)
    if result.status != 0:
        raise Skip(result.err.strip())
    return read(file)


def read(file):
    document = json.loads(subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout)
    return document, rows(document["threads"]), rows(document["dead"])


def rows(table):
    return [dict(zip(table["columns"], cells)) for cells in table["rows"]]


def total(some, column, **wanted):
    return sum(row[column] or 0 for row in some if all(row[name] == value for name, value in wanted.items()))


def account(ctl, directory, name):
    """Runs a storm to its end. What the kernel counted for its cgroup, and the ledger, in ns; and its rows."""
    with group("ctprof-storm") as (place, path):
        process = storm(name, place, directory)
        least, most = map(int, process.communicate()[0].split())
        expect_equal(process.returncode, 0)
        for _ in range(120):
            document, living, dead = capture(ctl, directory)
            ours = [row for row in dead if row["cgroup"] == path]
            kernel, ledger = used_ns(place), total(ours, "run_time_ns")
            # Where in the write that moved it the kernel drew the line, nobody is told.
            ledger -= min(max(ledger - kernel, least), most)
            expect(ours, "no row has the path", path)
            expect_equal([row for row in living if row["cgroup"] == path], [])
            if abs(ledger / kernel - 1) < 0.002:
                break
            time.sleep(0.25)  # until the kernel has freed the tasks
        return kernel, ledger, ours, document["ledger"]


def survive(ctl, directory, place, path):
    """Captures all through a storm: each of its threads is living or dead. How many captures that were."""
    process = storm("storm-processes", place, directory)
    last, n_captures = 0, 0
    while process.poll() is None:
        document, living, dead = capture(ctl, directory)
        there = sum(row["cgroup"] == path for row in living) + total(dead, "exits", cgroup=path)
        expect(last <= there <= 201, "threads went from", last, "to", there)
        expect_equal(document["ledger"]["lost_records"], 0)
        last, n_captures = there, n_captures + 1
    process.communicate()
    _, _, dead = capture(ctl, directory)
    expect_equal(total(dead, "exits", cgroup=path), 201)
    expect(n_captures > 3, n_captures)
    return n_captures
