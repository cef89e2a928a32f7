# SPDX-License-Identifier: GPL-2.0-or-later
"""redis-server as Debian ships it: which of its threads allocates, how fast, and what it keeps, beside its own account."""
import contextlib
import os
import signal
import socket
import time

from investigation import SETTLE_S, comment, directory_on_disk, in_pipe, started
from harness import CTPROFCTL, Daemon, Skip, expect, expect_equal, main, need_root, test, wait_until
from programs import Programs

PACKAGES = {"redis-server": "redis-server", "redis-benchmark": "redis-tools"}
INTERVAL_S = 6
VALUE_BYTES = 1500
KEYS = 200000
MIB = 1 << 20
SETTINGS = ("--port", "0", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--daemonize", "no")
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


main()
