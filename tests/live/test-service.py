#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The service as its unit runs it: what its sandbox leaves, what each capability is for, how it is told things."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from harness import (CTPROFCTL, CTPROFD, Daemon, Idle, Skip, expect, expect_equal, main, memory_files, need_root, replaced_program, run,
                     temporary, test, wait_until)
from peers import connect, frame
from service import UID, Sandboxed, capabilities, read_unit

READING = ["net_admin", "sys_ptrace", "dac_read_search", "checkpoint_restore"]
LOADING = ["bpf", "perfmon"]


def readings(reply):
    """Per source its state and why, and how much of it was read and denied."""
    return {source["name"]: (source["state"], source["denied"], source.get("reason", ""))
            for source in reply["sources"]}


def capture(daemon):
    reply = daemon("capture", "--json").json()
    return reply, readings(reply)


def patient(directory, backend="auto"):
    """Options of a daemon that does not run out of time for counters of allocators, whatever else runs."""
    config = directory / "patient.conf"
    config.write_text(f"[Capture]\nHeapTime=2min\nBackend={backend}\n", encoding="ascii")
    return ["--config", str(config)]


def beyond(got, wanted):
    """What is read less well under @got than under @wanted, in words."""
    # How large the processes are that were left out, and how many, changes from one capture to the next.
    def told(reading):
        return reading[0], re.sub(r"\d+", "N", reading[2])
    return [f"{name}: {got[name]}, to root {row}" for name, row in wanted.items()
            if told(got[name]) != told(row) or got[name][1] > row[1]]


@test
def sandbox_takes_nothing():
    """in the sandbox of ctprofd.service every reading of root is there, and nothing more is denied"""
    need_root()
    with temporary() as directory, Idle(20, 4):
        (directory / "root").mkdir()
        # What even a daemon of root is refused here is the machine's doing, not the sandbox's.
        with Daemon(directory / "root", options=patient(directory)) as root, \
                Sandboxed(directory, options=patient(directory)) as daemon:
            # Others start and end programs between the two captures: what the sandbox takes away is missing in each pair.
            for _ in range(8):
                of_root, wanted = capture(root)
                reply, got = capture(daemon)
                lost = beyond(got, wanted)
                if not lost:
                    break
            expect_equal(lost, [], "what the sandbox takes away")
            expect_equal(reply["snapshot"]["uid"], 0, "who asked")
            expect_equal(reply["snapshot"]["backend"], of_root["snapshot"]["backend"], "how threads are read")
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii")
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            expect_equal(fields["Uid"].split(), [str(UID)] * 4, "uid of the daemon")
            expect_equal((fields["Seccomp"], fields["NoNewPrivs"]), ("2", "1"), "the filter")
            reading, loading = 1 << 12 | 1 << 19 | 1 << 2 | 1 << 40, 1 << 38 | 1 << 39
            expect_equal(int(fields["CapBnd"], 16), reading | loading, "bounding set")
            # What loads programs is given up before the first capture.
            for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                expect_equal(int(fields[name], 16), reading, name)
            # Jobs of all kinds run in it, with a filter of their own on top.
            expect_equal(daemon("show", "latest", "--limit", "3").status, 0, "show")
            expect_equal(daemon("capture", "--tag", "b", "-q").status, 0, "capture")
            expect_equal(daemon("compare", "latest~1", "b", "--limit", "3").status, 0, "compare")
            expect_equal(daemon("rename", "b", "c", "-q").status, 0, "rename")
            expect_equal(daemon("export", "c", directory / "c.zst").status, 0, "export")
            expect_equal(daemon("import", directory / "c.zst", "--tag", "d").status, 0, "import")
            expect_equal(daemon("verify", "--all").status, 0, "verify")
            expect_equal(daemon("remove", "c", "d").status, 0, "remove")
        print("# " + ", ".join(f"{name} {row[0]}" for name, row in got.items()))


# Without a capability: the sources that change, and words of the reason that a user sees.
ABSENT = {
    "net_admin": {"taskstats": ("unavailable", "CAP_NET_ADMIN"),
                  "taskstats-delay": ("unavailable", "CAP_NET_ADMIN"),
                  "taskstats-irq": (None, "CAP_NET_ADMIN"),
                  "exits": ("not-requested", "BPF")},  # and then nobody hears of them
    "sys_ptrace": {"io": ("partial", "needs CAP_SYS_PTRACE beside"),
                   "smaps_rollup": ("partial", "needs CAP_SYS_PTRACE")},
    "dac_read_search": {"io": ("partial", "needs CAP_DAC_READ_SEARCH beside")},
    "checkpoint_restore": {},
}
# Of counters of allocators: what is then met more often. Both of the latter lead to files that were deleted.
FAILURE = {"sys_ptrace": "permission", "dac_read_search": "file-open-failure", "checkpoint_restore": "file-open-failure"}


def heap_failures(daemon, directory):
    """How often each failure was met in the newest snapshot."""
    expect_equal(daemon("export", "latest", directory / "latest.zst").status, 0, "export")
    text = subprocess.run(["zstd", "-dcq", directory / "latest.zst"], capture_output=True, check=True).stdout
    (directory / "latest.zst").unlink()
    return json.loads(text)["probe_summary"]["failures"]


def is_too_early(exits):
    """Whether the job that hears of exits has only just started, on a slow host."""
    return "did not answer in time" in (exits[2] or "")


@test
def each_capability_is_needed():
    """without each capability in turn exactly its readings are absent, and the reason names it"""
    need_root()
    with temporary() as directory, replaced_program(directory):
        expect_equal(sorted(capabilities(read_unit("ctprofd.service"))), sorted(READING + LOADING), "the unit's")
        with Sandboxed(directory, options=patient(directory, "procfs")) as daemon:
            for _ in range(20):
                _, full = capture(daemon)
                if not is_too_early(full["exits"]):
                    break
            failures = heap_failures(daemon, directory)
        for name in READING:
            (directory / name).mkdir()
            with Sandboxed(directory / name, without=name, options=patient(directory, "procfs")) as daemon:
                _, got = capture(daemon)
                told = readings(daemon("status", "--json").json())
                if name in FAILURE:
                    n = heap_failures(daemon, directory).get(FAILURE[name], 0)
                    expect(n > failures.get(FAILURE[name], 0), f"{FAILURE[name]} without {name}:", n, "of", failures)
                    print(f"# without CAP_{name.upper()}: {n} processes: {FAILURE[name]}")
            # A job of its own reads these in the time that is left.
            for source in ("jemalloc", "cmdline"):
                del got[source]
            for source, (state, denied, reason) in got.items():
                if source == "exits" and is_too_early(got[source]):
                    continue
                if source in ABSENT[name]:
                    expect_equal(told[source][0], state, f"{source} without {name} in the status")
                if source not in ABSENT[name]:
                    expect_equal(state, full[source][0], f"{source} without {name}: {reason}")
                    continue
                wanted, words = ABSENT[name][source]
                if wanted is None and state == "not-applicable":
                    continue
                expect_equal(state, wanted or "unavailable", f"{source} without {name}: {reason}")
                expect(words in reason, source, "without", name, reason)
                print(f"# without CAP_{name.upper()}: {source} {state}: {reason}")


@test
def programs_need_two_capabilities():
    """without either of two capabilities threads are read from files, and the status says why"""
    need_root()
    with temporary() as directory:
        with Sandboxed(directory) as daemon:
            state = daemon("status", "--json").json()["backend"]
            if state["name"] != "bpf":
                raise Skip(state["reason"])
            expect("loadedRealtimeNs" in state and "reason" not in state, state)
        for name in LOADING:
            (directory / name).mkdir()
            with Sandboxed(directory / name, without=name) as daemon:
                state = daemon("status", "--json").json()["backend"]
                expect_equal(state["name"], "procfs", state)
                expect("CAP_BPF and CAP_PERFMON" in state["reason"], state)
                reply, _ = capture(daemon)
                expect_equal(reply["snapshot"]["backend"], "procfs", "the capture")
                print(f"# without CAP_{name.upper()}: {state['reason']}")


def replies(daemon, method, parameters):
    """All replies of a call with "more"."""
    caller, text = connect(daemon, 0), b""
    caller.sendall(frame(method, parameters, more=True))
    while not text.endswith(b"\0") or b'"continues":true' in text.rstrip(b"\0").rpartition(b"\0")[2]:
        received = caller.recv(1 << 20)
        expect(received, "hung up before the last reply:", text[-200:])
        text += received
    caller.close()
    return [json.loads(message) for message in text.split(b"\0") if message]


@test
def sandbox_records():
    """in the unit's sandbox a recording has clocks, and functions of the kernel have names"""
    need_root()
    with temporary() as directory, Sandboxed(directory) as daemon:
        state = daemon("status", "--json").json()["backend"]
        if state["name"] != "bpf":
            raise Skip(state["reason"])
        last = replies(daemon, "Record", {"tag": "r", "forNs": 1000000000})[-1]
        expect("error" not in last, last)
        first, *rest = (reply["parameters"] for reply in replies(daemon, "Stacks", {"recording": {"name": "r"}}))
        expect(first["recording"]["hasClock"], first["recording"])
        frames = {one for reply in rest for stack in reply.get("stacks", []) for one in stack["frames"]}
        names = sorted(name for name in frames if name.startswith(("__x64_sys_", "__arm64_sys_")))
        print(f"# {len(frames)} functions, {' '.join(names[:5])}")
        expect(names, "functions of the kernel have no names")


@test
def restart_for_programs():
    """a daemon that was started with Backend=procfs loads nothing later, and says that it takes a restart"""
    need_root()
    with temporary() as directory:
        config = directory / "ctprofd.conf"
        config.write_text("[Capture]\nBackend=procfs\n", encoding="ascii")
        with Daemon(directory, options=["--config", str(config)]) as daemon:
            def state():
                return daemon("status", "--json").json()["backend"]

            expect_equal(state()["name"], "procfs", "as configured")
            for line in pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii").splitlines():
                if line.startswith(("CapPrm", "CapEff", "CapInh", "CapAmb")):
                    expect_equal(int(line.split()[1], 16) & (1 << 38 | 1 << 39), 0, line)
            result = daemon("capture", "--backend", "bpf")
            expect_equal(result.status, 1)
            expect("Backend=procfs" in result.one_sentence(), result.err)
            config.write_text("[Capture]\nBackend=bpf\n", encoding="ascii")
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: state()["name"] is None, what="the new configuration")
            expect("Backend=bpf takes effect when it is restarted" in state()["reason"], state())
            expect("restarted" in daemon.log.read_text(encoding="utf-8"), "the log")
            expect("restarted" in daemon("capture").one_sentence(), "what a capture says")


@test
def degraded_unit():
    """ctprofd-unprivileged.service has no capability, reads what anybody may, and says what it lacks"""
    need_root()
    with temporary() as directory, Sandboxed(directory, unit="ctprofd-unprivileged.service") as daemon:
        expect_equal(daemon("status", "--json").json()["daemon"]["capabilities"], [], "capabilities")
        reply, got = capture(daemon)
        everybody = sum(1 for name in os.listdir("/proc") if name.isdigit())
        # Others come and go meanwhile; without the right to see them, next to none would be there.
        expect(reply["snapshot"]["processes"] >= everybody / 2, "processes", reply["snapshot"], everybody)
        for source in ("stat", "schedstat", "sched", "status", "affinity", "host", "host-pressure"):
            expect(got[source][0] in ("ok", "not-applicable"), source, got[source])
        for source, words in (("taskstats", "CAP_NET_ADMIN"), ("io", "CAP_SYS_PTRACE"),
                              ("smaps_rollup", "CAP_SYS_PTRACE")):
            expect(got[source][0] in ("partial", "unavailable"), source, got[source])
            expect(words in got[source][2], source, got[source])
            print(f"# unprivileged: {source} {got[source][0]}: {got[source][2]}")
        expect_equal(daemon("show", "latest", "--limit", "3").status, 0, "show")


class Notified:
    """Where a daemon tells how it is, and leaves descriptors; sd_notify(3)."""

    def __init__(self, directory):
        self.path = directory / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(20)

    def next(self, wanted):
        """The next message with the assignment @wanted begins with, others are skipped."""
        while True:
            lines = self.socket.recv(4096).decode().splitlines()
            if any(line.startswith(wanted) for line in lines):
                return lines


@test
def told_to_systemd():
    """readiness, status, reloads, the watchdog and the end are told, and a reload is all or nothing"""
    with temporary() as directory:
        notified = Notified(directory)
        config = directory / "ctprofd.conf"
        config.write_text("[Spool]\nMaxBytes=1G\n", encoding="ascii")
        os.environ.update(NOTIFY_SOCKET=str(notified.path), WATCHDOG_USEC="400000")
        try:
            daemon = Daemon(directory, options=["--config", str(config)])
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]

        def budget():
            return daemon("status", "--json").json()["spool"]["maxBytes"]

        with daemon:
            if os.geteuid() == 0:
                # The job that loads programs may take minutes; a service manager waits for one and a half by itself.
                extended = notified.next("EXTEND_TIMEOUT_USEC=")[0]
                expect(int(extended.partition("=")[2]) > 90_000_000, extended)
            expect("STATUS=Ready" in notified.next("READY=1"), "status")
            begin = time.monotonic()
            for _ in range(3):
                notified.next("WATCHDOG=1")
            expect(time.monotonic() - begin < 2, "three pings took", time.monotonic() - begin)
            expect_equal(budget(), 1 << 30, "MaxBytes")
            notified.next("STATUS=0 jobs running, 0 waiting")

            config.write_text("[Spool]\nMaxBytes=2G\n[Jobs]\nMaxAnalyses=none\n", encoding="ascii")
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            daemon.process.send_signal(signal.SIGHUP)
            lines = notified.next("RELOADING=1")
            stamp = next(int(line.split("=")[1]) for line in lines if line.startswith("MONOTONIC_USEC="))
            expect(before <= stamp <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, lines)
            notified.next("READY=1")
            expect("not in use" in notified.next("STATUS=")[0], "a wrong one shows in the status")
            expect_equal(budget(), 1 << 30, "MaxBytes of before")
            log = daemon.log.read_text(encoding="utf-8")
            expect(f"{config}:4: MaxAnalyses=: \"none\" is not a number" in log, log)

            config.write_text("[Spool]\nMaxBytes=3G\n", encoding="ascii")
            daemon.process.send_signal(signal.SIGHUP)
            notified.next("RELOADING=1")
            notified.next("READY=1")
            wait_until(lambda: "not in use" not in notified.next("STATUS=")[0],
                       what="a status without complaint")
            expect_equal(budget(), 3 << 30, "MaxBytes")
            daemon.process.terminate()
            notified.next("STOPPING=1")
            expect_equal(daemon.process.wait(20), 0, "exit status")


def without_programs(stored):
    """Names of what is stored, but for what a daemon of root loads on top, where it can."""
    return {name for name in stored if name.startswith("object.heap-cache") or not name.startswith("object.")}


@contextlib.contextmanager
def manager_with(directory, objects):
    """A daemon that gets @objects, name -> descriptor, from a service manager. Yields it and what it stores there."""
    stored = {}
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(str(directory / "notify"))
    told.settimeout(20)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(directory / "socket"))
    listening.listen(64)
    given = [listening.fileno(), *objects.values()]
    # They are moved behind the numbers that they get, so that none covers another.
    program = ("import fcntl, os, sys\n"
               f"moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in {given}]\n"
               f"for fd in {given}:\n    os.close(fd)\n"
               "for number, fd in enumerate(moved, 3):\n    os.dup2(fd, number)\n    os.close(fd)\n"
               "os.environ['LISTEN_PID'] = str(os.getpid())\n"
               "os.execv(sys.argv[1], sys.argv[1:])")
    environment = {**os.environ, "NOTIFY_SOCKET": str(directory / "notify"), "LISTEN_FDS": str(len(given)),
                   "LISTEN_FDNAMES": ":".join(["varlink", *objects])}
    (directory / "spool").mkdir(exist_ok=True)
    with open(directory / "log", "ab") as log:
        process = subprocess.Popen(["python3", "-c", program, CTPROFD, "--spool", str(directory / "spool")],
                                   pass_fds=given, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(told, 4096, 4)
            lines = data.decode().splitlines()
            if "READY=1" in lines:
                break
            name = next((line.partition("=")[2] for line in lines if line.startswith("FDNAME=")), None)
            if "FDSTOREREMOVE=1" in lines:
                stored[name] = None
            elif "FDSTORE=1" in lines:
                stored[name] = fds[0]
        yield process, stored
    finally:
        process.terminate()
        process.wait(30)
        listening.close()
        told.close()
        for name in ("socket", "notify"):
            (directory / name).unlink()


def captured(directory):
    done = run(CTPROFCTL, "--socket", directory / "socket", "capture", "--json")
    expect_equal(done.status, 0, done.err)
    return done.json()


@test
def what_captures_keep_outlives_a_restart():
    """the cache of captures lies with the service manager, of fixed size, and the next daemon goes on with it"""
    with temporary() as directory:
        with manager_with(directory, {}) as (process, stored):
            # Behind its name stands the layout of what is stored.
            (cache,) = without_programs(stored)
            expect(cache.startswith("object.heap-cache@"), "what is stored:", cache)
            everything, kept = dict(stored), stored[cache]
            status = os.fstat(kept)
            files = sorted(os.fstat(fd).st_ino for name, fd in stored.items() if name.startswith("object.heap-"))
            expect_equal((status.st_size, status.st_mode & 0o777), (8 << 20, 0o600), "the file")
            expect_equal(sorted(memory_files(process.pid, "ctprof-heap")), files, "of the daemon")
            captured(directory)
            for change in (0, 1 << 20, 16 << 20):
                try:
                    os.ftruncate(kept, change)
                    expect(False, "it became as long as", change)
                except PermissionError:
                    pass
        with manager_with(directory, everything) as (process, stored):
            expect_equal(stored, {}, "nothing new")
            expect_equal(sorted(memory_files(process.pid, "ctprof-heap")), files, "of the next daemon")
            captured(directory)
        # What another version left is of no use to this one.
        old = "object.heap-cache@none"
        with manager_with(directory, {old: kept}) as (process, stored):
            expect_equal((stored[old], without_programs(stored)), (None, {old, cache}), "of another version")
            expect(memory_files(process.pid, "ctprof-heap") not in ([], [status.st_ino]), "the old one is in use")
            captured(directory)


@test
def manager_does_not_read():
    """a service manager that reads nothing keeps nobody waiting, and learns the last status when it does"""
    with temporary() as directory:
        notified = Notified(directory)
        os.environ["NOTIFY_SOCKET"] = str(notified.path)
        try:
            daemon = Daemon(directory)
        finally:
            del os.environ["NOTIFY_SOCKET"]
        with daemon:
            # Its queue is full after net.unix.max_dgram_qlen messages, by default 10.
            notified.next("READY=1")
            sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            sender.setblocking(False)
            filled = 0
            try:
                while filled < 100000:
                    sender.sendto(b"STATUS=of another service", str(notified.path))
                    filled += 1
            except BlockingIOError:
                pass
            for number in range(30):
                expect_equal(daemon("verify", "--all", "--timeout", "20").status, 0, f"call {number}")
                time.sleep(0.01)
            notified.next("STATUS=0 jobs running, 0 waiting")
            print(f"# 30 calls behind a queue of {filled}")


@test
def wrong_at_start():
    """a wrong line at the start costs itself, and --dump-config finds it without a daemon"""
    with temporary() as directory:
        config = directory / "ctprofd.conf"
        config.write_text("[Spool]\nMaxBytes=1G\nKeepFree=lots\nFuture=1\n", encoding="ascii")
        notified = Notified(directory)
        os.environ["NOTIFY_SOCKET"] = str(notified.path)
        try:
            daemon = Daemon(directory, options=["--config", str(config)])
        finally:
            del os.environ["NOTIFY_SOCKET"]
        with daemon:
            expect("STATUS=Ready; wrong lines of the configuration are left out" in notified.next("READY=1"), "status")
            expect_equal(daemon("status", "--json").json()["spool"]["maxBytes"], 1 << 30, "MaxBytes")
            log = daemon.log.read_text(encoding="utf-8")
            expect(f"{config}:3: KeepFree=: " in log, log)
            expect(f"{config}:4: there is no Future= in section [Spool]" in log, log)
        dumped = run(CTPROFD, "--config", config, "--dump-config")
        expect_equal(dumped.status, 1, "exit status")
        expect(f"# {config}:2\nMaxBytes=1G\n#KeepFree=\n" in dumped.out, dumped.out)
        expect_equal(len(dumped.err.splitlines()), 2, dumped.err)
        config.write_text("[Spool]\nMaxBytes=1G\n", encoding="ascii")
        expect_equal(run(CTPROFD, "--config", config, "--dump-config").status, 0, "exit status")
        refused = run(CTPROFD, "--config", directory / "none", "--listen", directory / "x")
        expect_equal(refused.status, 1, "a file that is named must be there")


@test
def settings_take_effect():
    """limits and capture defaults of the configuration hold, and change under a running daemon"""
    with temporary() as directory, Idle(200, 10):
        config = directory / "ctprofd.conf"
        config.write_text("[Capture]\nSmaps=no\n[Server]\nMaxConnections=2\n", encoding="ascii")
        with Daemon(directory, options=["--config", str(config)]) as daemon:
            _, got = capture(daemon)
            expect_equal(got["smaps_rollup"][0], "not-requested", "smaps by default")
            asked = readings(daemon("capture", "--smaps", "--json").json())
            expect(asked["smaps_rollup"][0] != "not-requested", "smaps when asked for", asked["smaps_rollup"])
            two = [daemon.connect(), daemon.connect()]
            wait_until(lambda: daemon.descriptors() > 0, what="connections")
            refused = daemon("list")
            expect_equal(refused.status, 1, "a third connection")
            expect("connections are open" in refused.one_sentence(), refused.err)
            config.write_text("[Server]\nMaxConnections=3\n[Jobs]\nMemoryMax=64M\n", encoding="ascii")
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "Read the configuration again" in daemon.log.read_text(encoding="utf-8"),
                       what="a reload")
            _, got = capture(daemon)
            expect(got["smaps_rollup"][0] != "not-requested", got["smaps_rollup"])
            for connection in two:
                connection.close()


@test
def spool_that_comes_late():
    """a spool that is made after the start is closed to others, and has the limits of its file system"""
    with temporary() as directory:
        late = directory / "late"

        def limits():
            spool = daemon("status", "--json").json()["spool"]
            return {name: spool[name] for name in ("maxBytes", "keepFreeBytes", "keepFreeFiles")}
        with Daemon(directory, options=["--spool", str(late)]) as daemon:
            expect_equal(daemon("capture", "-q").status, 1, "a capture without a spool")
            late.mkdir()
            late.chmod(0o755)
            expect_equal(daemon("capture", "--tag", "a", "-q").status, 0, "a capture")
            expect_equal(late.stat().st_mode & 0o7777, 0o700, "mode")
            expect("changed its mode to 0700" in daemon.log.read_text(encoding="utf-8"), "a warning")
            then = limits()
        with Daemon(directory, options=["--spool", str(late)]) as daemon:
            expect_equal(then, limits(), "as after a start")
        expect(then["keepFreeBytes"] > 0, then)


@test
def stop_ends_jobs():
    """a stop during a capture ends the job, tells the caller why, and publishes nothing"""
    with temporary() as directory, Idle(4000, 40), Daemon(directory) as daemon:
        # By then the job that cleans the spool at the start is over.
        expect_equal(daemon("capture", "--tag", "first", "-q").status, 0, "capture")
        wait_until(lambda: not daemon.children(), what="an idle daemon")
        connection = daemon.connect()
        message = {"method": "io.ctprof.Profiler.Capture", "parameters": {"tag": "a"}}
        connection.sendall(json.dumps(message).encode() + b"\0")
        wait_until(daemon.children, what="the job")
        job = daemon.children()[0]
        begin = time.monotonic()
        daemon.process.terminate()
        answer = connection.recv(65536)
        expect_equal(daemon.process.wait(20), 0, "exit status")
        print(f"# stopped after {time.monotonic() - begin:.3f} s")
        expect(b"The daemon is stopping." in answer, answer)
        expect(not pathlib.Path(f"/proc/{job}").exists(), "the job lives on")
        expect_equal(os.listdir(daemon.spool), ["first.ctprof.zst"], "published")


main()
