# SPDX-License-Identifier: GPL-2.0-or-later
"""redis-server as Debian ships it: which of its threads allocates, how fast, and what it keeps, beside its own account; and
that it becomes slower beside an idle CPU, because a program that never stops is bound to the CPU that it is bound to."""
import contextlib
import os
import re
import signal
import socket
import sys
import time

from investigation import SETTLE_S, ask, became_slower, comment, directory_on_disk, in_pipe, interval, started
from harness import CTPROFCTL, Daemon, Skip, expect, expect_equal, main, need_root, test, wait_until
from programs import Programs

PACKAGES = {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}
INTERVAL_S = 6
VALUE_BYTES = 1500
KEYS = 200000
MIB = 1 << 20
SETTINGS = ("--port", "0", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--daemonize", "no")
IDLE_SHARE = 0.35  # of another CPU, which what else runs on this host has to leave
ATTEMPTS = 8
LOOP = "while True: pass"
COUNTERS = ("allocated_bytes", "deallocated_bytes")


class Server:
    """A redis-server behind a Unix socket, and a connection to it."""

    def __init__(self, directory, programs):
        self.path = directory / "redis.sock"
        self.directory = directory
        self.running = started(programs["redis-server"], "--unixsocket", self.path, "--dir", directory, *SETTINGS,
                               log=directory / "redis.log", env={**os.environ, **programs.environment})

    def __enter__(self):
        self.process = self.running.__enter__()

        def ready():
            expect(self.process.poll() is None, (self.directory / "redis.log").read_text(errors="replace"))
            with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
                self.connection = socket.socket(socket.AF_UNIX)
                self.connection.connect(str(self.path))
                return True
        wait_until(ready, what="redis-server")
        self.answers = self.connection.makefile("rb")
        return self

    def __exit__(self, *reason):
        self.connection.close()
        return self.running.__exit__(*reason)

    def ask(self, *words):
        self.connection.sendall(b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word.encode())
                                                                    for word in words)]))
        first = self.answers.readline().decode().rstrip()
        if first.startswith("$"):
            return self.answers.read(int(first[1:]) + 2).decode()[:-2]
        expect(first[0] in "+:", " ".join(words), first)
        return first[1:]

    def info(self, section):
        lines = [line.partition(":") for line in self.ask("INFO", section).splitlines()]
        return {name: value for name, colon, value in lines if colon}

    def commands(self):
        return int(self.info("stats")["total_commands_processed"])

    def own_count(self, name):
        """What jemalloc tells the thread that serves."""
        return int(self.ask("DEBUG", "MALLCTL", f"thread.{name}"))


def counters(daemon, name, pid):
    """{thread: (allocated, deallocated)} of a snapshot."""
    answer = daemon("show", name, "--group-by", "thread", "--metrics", ",".join(COUNTERS), "--limit", "0", "--json").json()
    found = {}
    for group in answer["groups"]:
        if group["pid"] == pid:
            cells = [group["metrics"][metric] for metric in COUNTERS]
            expect(all(cell["value"] is not None for cell in cells), "a thread without a number:", group)
            found[group["tid"]] = tuple(cell["value"] for cell in cells)
    expect(found, "redis-server is not in the snapshot")
    return found


def daemon_for(directory):
    """With time for a host that is busy with other things besides."""
    config = directory / "ctprofd.conf"
    config.write_text("[Capture]\nHeapTime=10s\n", encoding="ascii")
    return Daemon(directory, options=["--config", str(config)])


@test
def as_it_says_itself():
    """the thread that serves has in the snapshot what jemalloc tells it, to the bytes that asking takes"""
    need_root()
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        server = stack.enter_context(Server(directory, programs))
        if not server.info("memory")["mem_allocator"].startswith("jemalloc"):
            raise Skip("this redis-server does not use jemalloc")
        daemon = stack.enter_context(daemon_for(directory))
        for number in range(1000):
            server.ask("SET", f"key:{number}", "x" * number)
        for name in ("a", "b"):
            before = [server.own_count(word) for word in ("allocated", "deallocated")]
            expect_equal(daemon("capture", "--tag", name).status, 0, "capture")
            after = [server.own_count(word) for word in ("allocated", "deallocated")]
            got = counters(daemon, name, server.process.pid)[server.process.pid]
            comment(f"{name}: it said {before}, the snapshot {list(got)}, then it said {after}")
            for low, value, high in zip(before, got, after):
                expect(low <= value <= high, low, value, high)
                # What it does ten times a second when it has nothing to do.
                expect(high - low < 1 << 20, "it was not idle:", high - low)


def moment(server, daemon, name):
    """What redis says just before and just after a capture."""
    before = server.info("all")
    expect_equal(daemon("capture", "--tag", name).status, 0, "capture")
    return before, server.info("all")


@test
def a_load_that_grows():
    """under a load, compare tells who allocates and how fast, and what is kept is what redis says that it uses more"""
    need_root()
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        server = stack.enter_context(Server(directory, programs))
        pid = server.process.pid
        daemon = stack.enter_context(daemon_for(directory))
        stack.enter_context(started(programs["redis-benchmark"], "-s", server.path, "-t", "set", "-d", VALUE_BYTES,
                                    "-r", KEYS, "-n", 100000000, "-q", stop=signal.SIGKILL,
                                    env={**os.environ, **programs.environment}))
        time.sleep(SETTLE_S)
        moments = [moment(server, daemon, "a")]
        time.sleep(INTERVAL_S)
        moments.append(moment(server, daemon, "b"))
        first, last = (counters(daemon, name, pid) for name in ("a", "b"))
        expect_equal(set(first), set(last), "its threads")
        allocated = {tid: last[tid][0] - first[tid][0] for tid in last}
        arguments = ["compare", "a", "b", "--group-by", "thread", "--filter", "*redis*", "--metrics",
                     ",".join([*COUNTERS, "live_heap_estimate"]), "--rows"]
        comment(f"$ ctprofctl {' '.join(arguments)}")
        comment(in_pipe([CTPROFCTL, "--socket", daemon.socket, *arguments]))
        for name, numbers, (before, after) in zip("ab", (first, last), moments):
            live = sum(one - other for one, other in numbers.values())
            used = [int(said["used_memory"]) for said in (before, after)]
            comment(f"{name}: INFO memory said used_memory {used[0]}, the threads have {live} live, then it said {used[1]}")
            # jemalloc rounds sizes up, and has what was allocated beside redis' own account.
            expect(0.98 * used[0] - MIB < live < 1.02 * used[1] + 2 * MIB, "live", live, "used", used)
        # Between the captures, at least.
        commands = int(moments[1][0]["total_commands_processed"]) - int(moments[0][1]["total_commands_processed"])
        comment(f"{commands} commands; allocated by the threads: {sorted(allocated.values())}")
        expect(commands > 1000, "no load")
        # The thread that serves allocates each value at least once.
        expect(allocated[pid] > commands * VALUE_BYTES, allocated, commands)
        expect(max(allocated, key=allocated.get) == pid, "another thread allocates more", allocated)


def idle_s(cpu):
    """For how long a CPU was idle, up to now."""
    with open("/proc/stat", encoding="ascii") as file:
        words = next(line.split() for line in file if line.startswith(f"cpu{cpu} "))
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")


def when_another_is_idle(daemon, server, others):
    """The names of two captures between which one of the CPUs @others was idle, and how many commands a second there were."""
    shares = []
    for number in range(ATTEMPTS):
        names = f"c{number}", f"d{number}"
        begin, idle = time.monotonic(), [-idle_s(cpu) for cpu in others]
        rate = interval(daemon, *names, server.commands, INTERVAL_S)
        seconds = time.monotonic() - begin
        shares.append(max(had + idle_s(cpu) for had, cpu in zip(idle, others)) / seconds)
        if shares[-1] >= IDLE_SHARE:
            return names, rate
    raise Skip(f"no other CPU was idle for {IDLE_SHARE} of the time: {', '.join(f'{share:.2f}' for share in shares)}")


@test
def bound_to_a_cpu_that_is_full():
    """beside a loop that is bound to its CPU, the first screen says that the two share it while another is idle"""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("there is one CPU")
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        daemon = stack.enter_context(Daemon(directory))
        server = stack.enter_context(Server(directory, programs))
        for thread in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(thread), cpus[-1:])
        load = stack.enter_context(started(programs["redis-benchmark"], "-s", server.path, "-t", "get", "-P", 32, "-c", 8,
                                           "-n", 1000000000, "-q", stop=signal.SIGKILL,
                                           env={**os.environ, **programs.environment}))
        os.sched_setaffinity(load.pid, cpus[:-1])
        time.sleep(SETTLE_S)
        alone = interval(daemon, "a", "b", server.commands, INTERVAL_S)
        loop = directory / "loop"
        loop.symlink_to(sys.executable)
        beside = stack.enter_context(started(loop, "-c", LOOP, stop=signal.SIGKILL))
        os.sched_setaffinity(beside.pid, cpus[-1:])
        time.sleep(SETTLE_S)
        names, slower = when_another_is_idle(daemon, server, cpus[:-1])
        became_slower("commands", alone, slower)
        screens = ask(["--socket", daemon.socket], "compare", "a..b", "..".join(names))
    for screen in screens:
        told = re.search(r"but B [\d.]+ threads wait while [\d.]+ CPUs are idle: (\S+) and (\S+) share CPU (\d+), \d+ % busy, "
                         r"while CPU\S* \S+ (is|are) ", screen.text)
        expect(told, "no contradiction in", *screen.lines)
        expect_equal(({told[1], told[2]}, int(told[3])), ({"redis-server", "loop"}, cpus[-1]), "who shares a CPU")


main()
