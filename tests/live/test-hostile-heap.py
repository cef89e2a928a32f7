#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes and files that make the counters of jemalloc hard to find: right numbers, or none and a reason."""
import collections
import contextlib
import mmap
import os
import pathlib
import random
import struct
import subprocess
import time

import jemallocs
from fuse import STUCK_OPEN, STUCK_PAGE, Fuse
from harness import BUILD, Daemon, expect, expect_equal, main, need_root, private_host, temporary, test, wait_until
from heaps import NAMES, TARGET, Target, counters, expect_absent, expect_exact, failures, preload, reasons, source
from hostile import SLOW, Actor, Execs, Storm, capture

HANGER = BUILD / "tests" / "live" / "heap-hanger"
STRANGER, OTHER_STRANGER, MEMBER, SECOND_MEMBER = 65041, 65042, 65043, 65044
LIAR = pathlib.Path(__file__).resolve().parent / "heap-liar.c"
MARK = 1 << 20
# Maps files to be read and executed, as the loader does, and does nothing else.
MAPPER = """
import mmap, os, sys
maps = []
for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDONLY)
    maps.append(mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    os.close(fd)
print("ready", flush=True)
sys.stdin.read()
"""


def daemon_with(directory, text="HeapTime=1min\n"):
    config = directory / "ctprofd.conf"
    config.write_text("[Capture]\n" + text, encoding="ascii")
    return Daemon(directory, options=["--config", str(config)])


@contextlib.contextmanager
def started(*command):
    """A program that says when it is ready, and ends with its standard input."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            expect_equal(process.stdout.readline(), "ready\n", *command)
            yield process.pid
        finally:
            process.stdin.close()
            process.wait(60)


def mapper(*paths):
    return started("python3", "-c", MAPPER, *paths)


def refused(daemon, document, pid, what):
    """A process has no number, for one reason that a view tells."""
    expect_absent(document, pid, what)
    why = set(reasons(daemon, document["name"], pid).values())
    expect(len(why) == 1 and None not in why and "" not in why, what, why)
    return why.pop()


@test
def programs_that_only_look_like_it():
    """a program that has the words and the data of jemalloc, or its library as a file, gets no number"""
    need_root()
    distribution = jemallocs.distribution()
    with temporary() as directory, contextlib.ExitStack() as stack:
        liars = {f"liar, {way}{', stripped' if is_stripped else ''}": stack.enter_context(started(
            jemallocs.program(None, way, source=LIAR, is_stripped=is_stripped)))
                 for way in ("static", "pie", "static-pie") for is_stripped in (False, True)}
        liars["maps the library"] = stack.enter_context(mapper(distribution.shared))
        liars["maps a static program"] = stack.enter_context(mapper(jemallocs.program(distribution, "static")))
        honest = stack.enter_context(Target(TARGET, "--map", distribution.shared, env=preload(distribution.shared)))
        honest.round()
        daemon = stack.enter_context(daemon_with(directory))
        for _ in range(2):
            document = capture(daemon, directory, "--no-smaps")[1]
            for name, pid in liars.items():
                why = refused(daemon, document, pid, name)
            expect_exact(document, honest, "uses the library, and maps it as a file besides")
        for name, pid in liars.items():
            print(f"# {name}: {refused(daemon, document, pid, name)}")


# --- files -------------------------------------------------------------------------------------------------------

PHDR, DYNAMIC = struct.Struct("<IIQQQQQQ"), struct.Struct("<qQ")
LOAD, DYNAMIC_SEGMENT, TLS = 1, 2, 7


class Elf:
    """A copy of a library, to be spoiled."""

    def __init__(self, path):
        self.data = bytearray(path.read_bytes())
        self.phoff, = struct.unpack_from("<Q", self.data, 32)
        self.phnum, = struct.unpack_from("<H", self.data, 56)

    def put(self, form, offset, *values):
        struct.pack_into(form, self.data, offset, *values)
        return self

    def segments(self, kind, **changes):
        """Changes members of each program header of a kind."""
        names = ("type", "flags", "offset", "vaddr", "paddr", "filesz", "memsz", "align")
        for number in range(self.phnum):
            at = self.phoff + number * PHDR.size
            values = dict(zip(names, PHDR.unpack_from(self.data, at)))
            if values["type"] == kind:
                PHDR.pack_into(self.data, at, *{**values, **changes}.values())
        return self

    def dynamic(self, tag, value):
        for number in range(self.phnum):
            kind, _, offset, _, _, size, _, _ = PHDR.unpack_from(self.data, self.phoff + number * PHDR.size)
            for at in range(offset, offset + size, DYNAMIC.size) if kind == DYNAMIC_SEGMENT else ():
                if DYNAMIC.unpack_from(self.data, at)[0] == tag:
                    DYNAMIC.pack_into(self.data, at, tag, value)
        return self

    def cut(self, n):
        del self.data[n:]
        return self

    def noise(self, begin, seed):
        self.data[begin:] = random.Random(seed).randbytes(len(self.data) - begin)
        return self


HUGE = (1 << 63) - 1
RELASZ, RELAENT, RELA, SYMTAB, RELRSZ = 8, 9, 7, 6, 35
SPOILED = {
    "a header alone": lambda elf: elf.cut(64),
    "a page": lambda elf: elf.cut(4096),
    "a half": lambda elf: elf.cut(len(elf.data) // 2),
    "all but the last byte of its tables": lambda elf: elf.cut(len(elf.data) - 1),
    "noise behind the header": lambda elf: elf.noise(64, 1),
    "noise behind the first page": lambda elf: elf.noise(4096, 2),
    "65,535 program headers": lambda elf: elf.put("<H", 56, 0xffff),
    "program headers at the end of the file": lambda elf: elf.put("<Q", 32, len(elf.data) - 8),
    "program headers at the end of all addresses": lambda elf: elf.put("<Q", 32, (1 << 64) - 8),
    "small program headers": lambda elf: elf.put("<H", 54, 1),
    "65,535 sections": lambda elf: elf.put("<H", 60, 0xffff),
    "sections that are in the header": lambda elf: elf.put("<Q", 40, 0),
    "segments as large as there can be": lambda elf: elf.segments(LOAD, filesz=HUGE, memsz=HUGE),
    "segments that wrap around": lambda elf: elf.segments(LOAD, vaddr=(1 << 64) - 4096),
    "segments on top of each other": lambda elf: elf.segments(LOAD, vaddr=0, offset=0),
    "thread-local data as large as there can be": lambda elf: elf.segments(TLS, memsz=HUGE, filesz=HUGE),
    "thread-local data elsewhere": lambda elf: elf.segments(TLS, offset=HUGE, vaddr=HUGE),
    "an alignment of 3": lambda elf: elf.segments(TLS, align=3),
    "an alignment of 0": lambda elf: elf.segments(TLS, align=0),
    "an alignment as large as there can be": lambda elf: elf.segments(TLS, align=1 << 63),
    "no end of relocations": lambda elf: elf.dynamic(RELASZ, HUGE),
    "relocations of no bytes": lambda elf: elf.dynamic(RELAENT, 0),
    "relocations elsewhere": lambda elf: elf.dynamic(RELA, HUGE),
    "symbols elsewhere": lambda elf: elf.dynamic(SYMTAB, HUGE),
    "32 bits": lambda elf: elf.put("<B", 4, 1),
    "the other byte order": lambda elf: elf.put("<B", 5, 2),
    "another machine": lambda elf: elf.put("<H", 18, 40),
}


@test
def files_that_are_spoiled():
    """of a spoiled library that a process maps comes no number and no harm, and each is refused with a reason"""
    need_root()
    distribution = jemallocs.distribution()
    with temporary() as directory, contextlib.ExitStack() as stack:
        pids = {}
        for number, (name, spoil) in enumerate(SPOILED.items()):
            path = directory / f"spoiled-{number}.so"
            path.write_bytes(spoil(Elf(distribution.shared)).data)
            pids[name] = stack.enter_context(mapper(path))
        honest = stack.enter_context(Target(TARGET, env=preload(distribution.shared)))
        honest.round()
        daemon = stack.enter_context(daemon_with(directory))
        for _ in range(2):
            answer, document = capture(daemon, directory, "--no-smaps")
            whys = {name: refused(daemon, document, pid, name) for name, pid in pids.items()}
            expect_exact(document, honest, "beside them")
        for name, why in whys.items():
            print(f"# {name}: {why}")
        print(f"# {failures(document)}; {source(answer).get('reason')}")


@test
def files_that_are_endless():
    """a file of a terabyte that only has the beginning of a library costs no more than its bound"""
    need_root()
    distribution = jemallocs.distribution()
    with temporary() as directory, contextlib.ExitStack() as stack:
        path = directory / "endless.so"
        size = 1 << 40
        elf = Elf(distribution.shared).segments(LOAD, filesz=size - (1 << 30), memsz=size - (1 << 30), offset=0, vaddr=0)
        path.write_bytes(elf.data)
        os.truncate(path, size)
        pid = stack.enter_context(started("python3", "-c", MAPPER.replace("os.fstat(fd).st_size", "1 << 20"), path))
        honest = stack.enter_context(Target(TARGET, env=preload(distribution.shared)))
        daemon = stack.enter_context(daemon_with(directory, "HeapTime=2s\n"))
        for _ in range(2):
            honest.round()
            begin = time.monotonic()
            document = capture(daemon, directory, "--no-smaps")[1]
            took = time.monotonic() - begin
            why = refused(daemon, document, pid, "endless")
            expect(took < (60 if SLOW else 10), "it took", took)
        print(f"# {took:.2f} s: {why}")


@test
def files_that_shrink():
    """a library that is cut while it is mapped gives no number and does no harm, and the next process is read"""
    need_root()
    distribution = jemallocs.distribution()
    with temporary() as directory, contextlib.ExitStack() as stack:
        names = ("at once", "half", "later")
        libraries = {name: jemallocs.copy(distribution.shared, directory / f"{number}.so")
                     for number, name in enumerate(names)}
        targets = {name: stack.enter_context(Target(TARGET, env=preload(library))) for name, library in libraries.items()}
        daemon = stack.enter_context(daemon_with(directory))
        for target in targets.values():
            target.round()
        os.truncate(libraries["at once"], 0)
        os.truncate(libraries["half"], libraries["half"].stat().st_size // 2)
        document = capture(daemon, directory, "--no-smaps")[1]
        for name in ("at once", "half"):
            print(f"# {name}: {refused(daemon, document, targets[name].pid, name)}")
        expect_exact(document, targets["later"], "whole")
        # What was understood is not what is there now.
        os.truncate(libraries["later"], 4096)
        document = capture(daemon, directory, "--no-smaps")[1]
        got = counters(document, targets["later"].pid)
        for tid, numbers in targets["later"].truth.items():
            expect(got[tid] in (numbers, (None, None)), "later", got[tid], numbers)
        with Target(TARGET, env=preload(distribution.shared)) as target:
            target.round()
            expect_exact(capture(daemon, directory, "--no-smaps")[1], target, "afterwards")


def kind(job):
    """Of a job of the daemon."""
    with open(f"/proc/{job}/cmdline", "rb") as file:
        return next((word[6:].decode() for word in file.read().split(b"\0") if word.startswith(b"--job=")), None)


@test
def files_that_never_answer():
    """a file that cannot be read or opened to an end costs its own process and the time for it, never the capture"""
    need_root()
    distribution = jemallocs.distribution()
    limit_s = 0.5
    with temporary() as directory, contextlib.ExitStack() as stack:
        known = stack.enter_context(Target(TARGET, env=preload(distribution.shared)))
        daemon = stack.enter_context(daemon_with(directory, f"HeapTime={int(limit_s * 1000)}ms\n"))
        known.round()
        wait_until(lambda: counters(capture(daemon, directory, "--no-smaps")[1], known.pid)[known.pid] != (None, None),
                   what="the first reading")
        fuse = stack.enter_context(Fuse(directory / "fuse", {"page": STUCK_PAGE, "open": STUCK_OPEN}))
        maps = []
        for name in ("page", "open"):
            fd = os.open(fuse.path(name), os.O_RDONLY)
            maps.append(mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
            os.close(fd)
        times = []
        for _ in range(12):
            known.round()
            begin = time.monotonic()
            document = capture(daemon, directory, "--no-smaps")[1]
            times.append(time.monotonic() - begin)
            got = counters(document, known.pid)
            for tid, numbers in known.truth.items():
                expect(got[tid] in (numbers, (None, None)), got[tid], numbers)
            refused(daemon, document, os.getpid(), "this process")
        stuck = collections.Counter(map(kind, daemon.children()))
        print(f"# captures took {', '.join(f'{took:.2f}' for took in times)} s; stuck: {dict(stuck)}")
        expect(max(times) < limit_s + (20 if SLOW else 5), times)
        expect(stuck["files"] <= 4, "jobs that are stuck", stuck)
        fuse.release()
        for mapped in maps:
            mapped.close()
        wait_until(lambda: not daemon.children(), 60, what="the stuck jobs to end")
        known.round()
        wait_until(lambda: counters(capture(daemon, directory, "--no-smaps")[1], known.pid)[known.pid] != (None, None),
                   what="a reading")
        known.round()
        expect_exact(capture(daemon, directory, "--no-smaps")[1], known, "afterwards")


# --- memory -------------------------------------------------------------------------------------------------------


def hanger(stack, fuse, name, uid):
    """A process of a stranger whose counters lead into a page of a file of his that never answers."""
    process = subprocess.Popen([str(HANGER), str(fuse.path(name))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               user=uid, group=uid, extra_groups=[],
                               env={**os.environ, **preload(jemallocs.distribution().shared)})

    def close():
        fuse.release()  # at its end the kernel reads the page, too
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait(60)
    stack.callback(close)
    expect_equal(process.stdout.readline(), b"ready\n", "a process that hangs who reads it")
    return process.pid


def hanging(daemon):
    """Jobs that the daemon knows to hang, by the process."""
    jobs = daemon("status", "--json").json()["jobs"]
    return {process["pid"]: job for job in jobs["hanging"] for process in job["processes"]}, jobs["barredOwners"]


def ask_everything(daemon, directory, user, when):
    """Every verb serves a caller as ever; returns how long the slowest took."""
    who = {} if user == 0 else {"user": user, "group": user, "groups": []}
    name, file = f"of-{user}", directory / f"of-{user}-{when}.ctprof.zst"
    slowest = 0
    for words in (["capture", "--replace", "--tag", name, "--no-smaps"], ["show", name], ["compare", "first", name],
                  ["info", name], ["verify", name], ["list"], ["export", name, file] if user == 0 else ["list"],
                  ["status"], ["remove", name]):
        begin = time.monotonic()
        result = daemon(*words, **who)
        expect_equal(result.status, 0, when, user, words, result.err)
        slowest = max(slowest, time.monotonic() - begin)
    return slowest


@test
def memory_that_never_answers():
    """pages that never answer a read cost the counters of their owners, and nobody else anything"""
    need_root()
    library = jemallocs.distribution().shared
    with temporary() as directory, contextlib.ExitStack() as stack:
        directory.chmod(0o755)
        fuse = stack.enter_context(Fuse(directory / "fuse", {f"page-{n}": STUCK_PAGE for n in range(20)}))
        daemon = stack.enter_context(daemon_with(directory, ""))
        daemon.socket.chmod(0o666)
        honest = stack.enter_context(Target(TARGET, env=preload(library)))
        honest.round()

        def settle():
            """On a slow host it takes some captures until everything is known."""
            wait_until(lambda: counters(capture(daemon, directory, "--no-smaps")[1], honest.pid)[honest.pid]
                       != (None, None), 60, what="a reading")
        settle()
        expect_equal(daemon("capture", "--tag", "first", "--no-smaps").status, 0)
        callers = ({}, *({"user": uid, "group": uid, "groups": []} for uid in (MEMBER, SECOND_MEMBER)))
        pids, times, most = [], [], 0
        # Each capture meets a new page; one that was read before would only be waited for.
        for number in range(14):
            pids.append(hanger(stack, fuse, f"page-{number}", STRANGER))
            begin = time.monotonic()
            result = daemon("capture", "--tag", f"b{number}", "--no-smaps", **callers[number % len(callers)])
            times.append(time.monotonic() - begin)
            expect_equal(result.status, 0, number, result.err)
            most = max(most, len(daemon.children()))
        # Until all that are left count as stuck.
        wait_until(lambda: daemon("status", "--json").json()["jobs"]["hanging"] and
                   {job["pid"] for job in daemon("status", "--json").json()["jobs"]["hanging"]} == set(daemon.children()),
                   30, what="jobs that are known to hang")
        jobs, barred = hanging(daemon)
        n_hanging = len({job["pid"] for job in jobs.values()})
        print(f"# {len(times)} captures took {max(times):.2f} s at most; {n_hanging} jobs hang, in {len(jobs)} processes")
        expect(1 <= n_hanging <= 2, "jobs that hang", n_hanging)
        expect_equal(barred, [STRANGER], "who is left alone")
        expect(set(jobs) <= set(pids), "hang in others", jobs, pids)
        for pid, job in jobs.items():
            expect_equal((job["kind"], [process["owner"] for process in job["processes"] if process["pid"] == pid]),
                         ("memory", [STRANGER]), job)
            expect(0 < time.time() - job["sinceRealtimeNs"] / 1e9 < 300, job)
            expect(f"process {pid} of user {STRANGER}" in daemon("status").out, pid)
        # Everybody is served, and what belongs to others is read.
        slowest = {user: ask_everything(daemon, directory, user, "during")
                   for user in (0, MEMBER, SECOND_MEMBER, STRANGER)}
        print(f"# during: {', '.join(f'{user}: {took:.2f} s' for user, took in slowest.items())}")
        honest.round()
        answer, document = capture(daemon, directory, "--no-smaps")
        expect_exact(document, honest, "beside them")
        tags = failures(document)
        print(f"# {tags}; {source(answer)['reason']}")
        expect(tags.get("owner-hung-before", 0) + tags.get("hung-before", 0) >= 12, tags)
        expect("ctprofctl status" in source(answer)["reason"] or "time budget" in source(answer)["reason"] or
               "security policy" in source(answer)["reason"], source(answer))
        # Another stranger pays for himself, too.
        hanger(stack, fuse, "page-18", OTHER_STRANGER)
        for _ in range(3):
            capture(daemon, directory, "--no-smaps")
        wait_until(lambda: 1 <= len(daemon("status", "--json").json()["jobs"]["hanging"]) == len(daemon.children()) <= 4,
                   30, what="few jobs that hang")
        honest.round()
        expect_exact(capture(daemon, directory, "--no-smaps")[1], honest, "beside both")
        fuse.release()
        wait_until(lambda: not daemon.children(), 60, what="the end of the jobs")
        for user in (0, MEMBER, STRANGER):
            ask_everything(daemon, directory, user, "after")
        # Whoever hung a job once is not touched again.
        document = capture(daemon, directory, "--no-smaps")[1]
        for pid in pids:
            expect_absent(document, pid, "a process that hung a job")
        expect_equal(hanging(daemon), ({}, [STRANGER]), "afterwards")
        honest.round()
        expect_exact(capture(daemon, directory, "--no-smaps")[1], honest, "afterwards")


# --- processes ---------------------------------------------------------------------------------------------------


@test
def programs_that_execute_each_other():
    """of two programs that execute each other no counter is told under the name of the other"""
    need_root()
    library = jemallocs.distribution().shared
    with temporary() as directory, contextlib.ExitStack() as stack:
        pids = {stack.enter_context(Execs(directory, 50000 if SLOW else 10000, env=preload(library))).pid
                for _ in range(20)}
        daemon = stack.enter_context(daemon_with(directory))
        n_read, n_absent = {"exec-0": 0, "exec-1": 0}, 0
        for _ in range(40):
            document = capture(daemon, directory, "--no-smaps")[1]
            for row in document["rows"]:
                # While it starts or executes, it has the name of neither program.
                if row["tid"] not in pids or not row["comm"].startswith("exec-"):
                    continue
                marks = [None if row[name] is None else row[name] // MARK for name in NAMES]
                if None in marks:
                    n_absent += 1
                    expect_equal(marks, [None, None], "both or none")
                    continue
                # Before it has made its marks it has none; less than a mark is what starting took.
                expect(set(marks) <= {0, 1 + int(row["comm"][-1])} | ({1} if row["comm"] == "exec-1" else set()), row)
                n_read[row["comm"]] += marks[0] == 1 + int(row["comm"][-1])
        print(f"# rows read: {n_read}, absent: {n_absent}")
        expect(min(n_read.values()) > 20, "too few were read")


@test
def threads_with_the_number_of_another():
    """a thread that has the number of one that exited has counters of its own, or none"""
    need_root()
    library = jemallocs.distribution().shared
    with temporary() as directory, contextlib.ExitStack() as stack:
        actors = [stack.enter_context(Actor("namesakes", 40000, env=preload(library)))]
        pids = {actor.pid for actor in actors}
        daemon = stack.enter_context(daemon_with(directory))
        seen = {"large": 0, "small": 0}
        numbers = set()
        for _ in range(150):
            document = capture(daemon, directory, "--no-smaps")[1]
            for row in document["rows"]:
                if row["tgid"] in pids and row["comm"] in seen and row["allocated_bytes"] is not None:
                    large = [row[name] >= 2 * MARK for name in NAMES]
                    expect(row["comm"] == "large" or not any(large), "a small one", row)
                    seen[row["comm"]] += 1
                    numbers.add((row["tid"], row["comm"]))
        shared = {tid for tid, comm in numbers if comm == "large"} & {tid for tid, comm in numbers if comm == "small"}
        print(f"# read: {seen}; {len(shared)} numbers were seen of both")
        expect(min(seen.values()) > 10 and shared, "too few were read", seen, len(shared))


@test
def storms_of_threads():
    """threads that come and go all the time have plausible counters or none, and those that stay have theirs"""
    need_root()
    library = jemallocs.distribution().shared
    with temporary() as directory, contextlib.ExitStack() as stack:
        storm = stack.enter_context(Storm(directory, 300, 20000, env=preload(library)))
        steady = stack.enter_context(Target(TARGET, env=preload(library)))
        daemon = stack.enter_context(daemon_with(directory))
        n_captures = n_read = n_absent = 0
        # On a busy host few of them are there at a time.
        while n_captures < 30 or n_read <= 500:
            n_captures += 1
            expect(n_captures < 1000, "too few were read", n_read, n_absent)
            steady.round()
            document = capture(daemon, directory, "--no-smaps")[1]
            expect_exact(document, steady, "beside the storm")
            for tid, numbers in counters(document, storm.pid).items():
                if numbers == (None, None):
                    n_absent += 1
                    continue
                n_read += 1
                expect(None not in numbers and max(numbers) < MARK, "thread", tid, numbers)
        print(f"# {n_captures} captures: {n_read} readings of threads that come and go, {n_absent} absent")


@test
def sixty_thousand_mappings():
    """a process of 60,000 mappings costs its share of the time, and the others are read"""
    need_root()
    library = jemallocs.distribution().shared
    code = ("import mmap, sys; maps = [mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | n % 2 * mmap.PROT_WRITE)"
            " for n in range(60000)]; print('ready', flush=True); sys.stdin.read()")
    with temporary() as directory, started("python3", "-c", code) as pid, \
            Target(TARGET, env=preload(library)) as target, daemon_with(directory) as daemon:
        for when in ("at first", "again"):
            target.round()
            answer, document = capture(daemon, directory, "--no-smaps")
            expect_exact(document, target, when)
            expect_absent(document, pid)
            print(f"# {when}: CPU {answer['snapshot']['cost']['cpuNs'] / 1e6:.1f} ms")


private_host()
main()
