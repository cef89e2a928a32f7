# SPDX-License-Identifier: GPL-2.0-or-later
"""Clocks that step, memory that is short, and files that change under the daemon's hands, with the real unit."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import threading
import time

import machine
from harness import expect, expect_equal, run, test
from machine import ctl, sentence, shown

GROUP = pathlib.Path(f"/sys/fs/cgroup/system.slice/{machine.SERVICE}")
SUFFIX = ".ctprof.zst"
SETS = 64
GROUPS = 2000
COUNTERS = ("run_time_ns", "wait_time_ns", "timeslices", "voluntary_csw", "nonvoluntary_csw", "minflt", "majflt",
            "utime_clock_ticks", "stime_clock_ticks", "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes",
            "cpu_delay_count", "cpu_delay_total_ns", "blkio_delay_count", "blkio_delay_total_ns", "nr_wakeups",
            "nr_migrations", "wait_sum", "wait_count", "hiwater_rss_bytes", "hiwater_vm_bytes")


def listed():
    return [head["name"] for head in ctl("list", "--json").json()["snapshots"]]


def remove(*names):
    for name in names:
        expect_equal(ctl("remove", name).status, 0, "remove", name)


@contextlib.contextmanager
def clock_set_back(seconds):
    """The real-time clock is @seconds late, and right again afterwards."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() - seconds)
    try:
        yield
    finally:
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


@test
def clock_steps_back():
    """a real-time clock that is set back by an hour changes neither the order of snapshots nor the time between them"""
    pid = machine.main_pid()
    begin = time.monotonic_ns()
    machine.take("early")
    with clock_set_back(3600):
        machine.take("late")
        passed = time.monotonic_ns() - begin
        expect_equal(ctl("info", "latest", "--json").json()["snapshot"]["name"], "late", "the latest")
        expect_equal(listed()[:2], ["late", "early"], "newest first")
        told = ctl("compare", "early", "late", "--limit", "1", "--json").json()
    expect("swapped" not in told, "the sides were swapped")
    expect(0 < told["elapsedNs"] < passed, "elapsed", told["elapsedNs"], "of", passed)
    machine.take("later")
    expect_equal(listed()[:3], ["later", "late", "early"], "newest first, with the clock put right")
    expect_equal(machine.main_pid(), pid, "the daemon")
    machine.intact("early", "late", "later")
    remove("early", "late", "later")


def letters(number):
    """A name without digits: names that differ in digits only would be one group."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


class Digest(ctypes.Structure):
    """XXH128_hash_t"""
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3_128(content):
    """The canonical digest that ends a snapshot file."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.argtypes, function.restype = (ctypes.c_char_p, ctypes.c_size_t), Digest
    digest = function(content, len(content))
    return struct.pack(">QQ", digest.high, digest.low)


def make_large(directory, number):
    """A snapshot of one boot with one thread in each of GROUPS groups, all counters set; see snapshot(5)."""
    start = {"startRealtimeNs": 1_795_000_000_000_000_000 + number * 10**10, "startBoottimeNs": (number + 1) * 10**10}
    head = {"name": "large", "tagged": True, "formatVersion": 1, "toolVersion": "0", "hostName": "large",
            "machineId": "0" * 32, "bootId": "1" * 32, "kernelRelease": "6.12.1", **start}
    ending = {"endRealtimeNs": start["startRealtimeNs"] + 1, "endBoottimeNs": start["startBoottimeNs"] + 1,
              "threads": GROUPS, "processes": GROUPS, "backend": "procfs", "complete": True, "taskstatsVersion": 15,
              "cost": {"wallNs": 1, "cpuNs": 1, "peakRssBytes": 1}}
    rows = [[1000 + group, 1000 + group, 5 + group, letters(group), letters(group), "/",
             *((group + 1) * number * number * (1000 + 7 * column) for column in range(len(COUNTERS)))]
            for group in range(GROUPS)]
    document = {"formatVersion": 1, "toolVersion": "0", "hostName": "large", "machineId": "0" * 32,
                "bootId": "1" * 32, "kernelRelease": "6.12.1", "startRealtimeNs": start["startRealtimeNs"],
                "captured_at_unix_ns": start["startRealtimeNs"], "startBoottimeNs": start["startBoottimeNs"],
                "user_hz": 100, "page_size": 4096, "smapsRequested": False, "host": None,
                "threads": {"columns": ["tid", "tgid", "start_time_clock_ticks", "pcomm", "comm", "cgroup", *COUNTERS],
                            "rows": rows},
                "cgroup_stats": {}, "psi": None, "sched_ext": None, "sources": [], "end": ending}
    text = json.dumps(document).encode()
    frame = subprocess.run(["zstd", "-qc", "--no-progress"], input=text, capture_output=True, check=True).stdout
    head |= {**ending, "uid": 0, "userHz": 100, "pageSize": 4096, "smapsRequested": False, "documentBytes": len(text)}
    words = json.dumps(head).encode()
    covered = frame + struct.pack("<II", 0x184D2A5C, len(words) + 28) + words
    path = directory / f"large-{number}{SUFFIX}"
    path.write_bytes(covered + xxh3_128(covered) + struct.pack("<I", len(words)) + b"ctprof\0\1")
    return path


@test
def large_sets():
    """sets of 64 snapshots with 2,000 groups each are compared within the memory of the unit"""
    pid = machine.restart()
    names = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(SETS):
            names.append(f"large-{number}")
            path = make_large(pathlib.Path(scratch), number)
            expect_equal(ctl("import", path, "--tag", names[-1]).status, 0, "import")
            path.unlink()
    half = SETS // 2
    begin = time.monotonic()
    result = ctl("compare", "--before", ",".join(names[:half]), "--after", ",".join(names[half:]), "--json",
                 "--limit", "10", timeout=600)
    expect_equal(result.status, 0, result.err)
    told = result.json()
    expect(told["tested"] >= GROUPS, "rows that were tested", told["tested"])
    peak = GROUP / "memory.peak"
    machine.comment(f"{time.monotonic() - begin:.1f} s, memory of the service at most "
                    f"{int(peak.read_text(encoding='ascii')) >> 20 if peak.exists() else '?'} MiB"
                    f" of {shown('MemoryMax')}")
    expect_equal(machine.main_pid(), pid, "the daemon")
    remove(*names)


@test
def too_little_memory():
    """a service that lacks memory fails calls or is started again; it never hangs, and the spool stays whole"""
    machine.restart()
    machine.take("kept")
    try:
        machine.systemctl("set-property", "--runtime", machine.SERVICE, "MemoryMax=4M", "MemorySwapMax=0")
        clients = [machine.start(*words) for words in
                   (("capture", "--tag", "scarce"), ("show", "kept", "--group-by", "thread"), ("list",),
                    ("compare", "kept", "kept"), ("verify", "--all"), ("status",))]
        outcomes = []
        for client in clients:
            _, complaint = client.communicate(timeout=120)
            outcomes.append(client.returncode)
            if client.returncode != 0:
                machine.comment(sentence(complaint))
        machine.comment(f"exit statuses {outcomes}")
        expect(set(outcomes) <= {0, 1}, outcomes)
    finally:
        machine.systemctl("set-property", "--runtime", machine.SERVICE, "MemoryMax=infinity")
    machine.comment(f"restarts {shown('NRestarts')}")
    machine.restart()
    machine.intact("kept")
    remove(*(name for name in listed() if name in ("kept", "scarce")))


@test
def truncated_while_read():
    """a file that shrinks and grows while an analysis reads it costs that call, with one clear sentence"""
    pid = machine.main_pid()
    machine.take("unbroken")
    outcomes = {0: 0, 1: 0}
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "changing" + SUFFIX)
        expect_equal(ctl("export", "unbroken", path).status, 0, "export")
        content = path.read_bytes()
        for attempt in range(12):
            path.write_bytes(content)
            client = machine.start("show", path, "--group-by", "thread", "--json")
            deadline = time.monotonic() + 0.05 * attempt
            while time.monotonic() < deadline:
                os.truncate(path, len(content) // 2)
                path.write_bytes(content)
            os.truncate(path, len(content) // 3)
            _, complaint = client.communicate(timeout=120)
            expect(client.returncode in outcomes, "exit status", client.returncode, complaint)
            outcomes[client.returncode] += 1
            if client.returncode == 1:
                said = sentence(complaint)
                expect("changing" in said, said)
    machine.comment(f"{outcomes[0]} read whole, {outcomes[1]} refused, the last with: {said}")
    expect_equal(machine.main_pid(), pid, "the daemon")
    remove("unbroken")


@test
def nobody_else_in_the_spool():
    """a member of the group can neither see the files of the spool nor put a link there"""
    someone = machine.user("insider", "ctprof")
    machine.take("target")
    for words in (("ls", machine.SPOOL), ("ln", "-s", "/etc/shadow", machine.SPOOL / ("planted" + SUFFIX)),
                  ("ln", machine.SPOOL / ("target" + SUFFIX), "/tmp/target"),
                  ("ln", "-s", "/etc/shadow", "/run/ctprof/planted")):
        expect(run(*words, **someone).status != 0, words)
    remove("target")


class Juggler:
    """Puts a file and a symbolic link in turn under one name until it is closed."""

    def __init__(self, path, target):
        self.path, self.target = path, target
        self.real = path.with_suffix(".real")
        self.scratch = path.with_suffix(".scratch")
        shutil.copy2(path, self.real)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._juggle)
        self.turns = 0

    def _juggle(self):
        while not self.stop.is_set():
            self.scratch.unlink(missing_ok=True)
            if self.turns % 2:
                os.link(self.real, self.scratch)
            else:
                os.symlink(self.target, self.scratch)
            os.rename(self.scratch, self.path)
            self.turns += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.scratch.unlink(missing_ok=True)
        os.rename(self.real, self.path)


@test
def links():
    """links in the spool are not followed, not even when they race with reads, replacements and removals"""
    pid = machine.main_pid()
    machine.take("victim")
    machine.take("other")
    path = machine.SPOOL / ("victim" + SUFFIX)
    with tempfile.TemporaryDirectory() as scratch:
        outside = pathlib.Path(scratch, "outside")
        shutil.copy2(machine.SPOOL / ("other" + SUFFIX), outside)
        content = outside.read_bytes()
        outcomes = {0: 0, 1: 0}
        with Juggler(path, outside) as juggler:
            for words in (("show", "victim", "--json"), ("info", "victim", "--json"), ("verify", "victim"),
                          ("capture", "--tag", "victim", "--replace")) * 4:
                result = ctl(*words)
                expect(result.status in outcomes, words, result.status, result.err)
                outcomes[result.status] += 1
        machine.comment(f"{juggler.turns} turns, {outcomes[0]} calls answered, {outcomes[1]} refused")
        expect_equal(outside.read_bytes(), content, "the file that the link named")
        # With the link in place nothing is read through it, and removing it removes nothing else.
        path.unlink()
        path.symlink_to(outside)
        expect_equal(ctl("show", "victim", "--json").status, 1, "show through a link")
        ctl("remove", "victim")
        expect_equal(outside.read_bytes(), content, "the file behind a removed link")
        path.unlink(missing_ok=True)
        # A snapshot with another name elsewhere goes from the spool only.
        os.link(machine.SPOOL / ("other" + SUFFIX), pathlib.Path(machine.SPOOL.parent, "elsewhere"))
        remove("other")
        expect_equal(pathlib.Path(machine.SPOOL.parent, "elsewhere").read_bytes(), content, "the other name")
        pathlib.Path(machine.SPOOL.parent, "elsewhere").unlink()
    expect_equal(machine.main_pid(), pid, "the daemon")
    machine.intact()
