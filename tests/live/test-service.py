#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The service as its unit runs it: what its sandbox leaves, what each capability is for, how it is told things."""
import json
import os
import pathlib
import re
import signal
import socket
import time

from harness import (CTPROFD, Daemon, Idle, expect, expect_equal, main, need_root, run, temporary, test,
                     wait_until)
from service import UID, Sandboxed, capabilities, read_unit

FULL = ["net_admin", "sys_ptrace", "dac_read_search"]


def readings(reply):
    """Per source its state and why, and how much of it was read and denied."""
    return {source["name"]: (source["state"], source["denied"], source.get("reason", ""))
            for source in reply["sources"]}


def capture(daemon):
    reply = daemon("capture", "--json").json()
    return reply, readings(reply)


def denied_to_root(directory):
    """What even a daemon of root is refused here: the machine's doing, not the sandbox's."""
    (directory / "root").mkdir()
    with Daemon(directory / "root") as daemon:
        return capture(daemon)


@test
def sandbox_takes_nothing():
    """in the sandbox of ctprofd.service every reading of root is there, and nothing more is denied"""
    need_root()
    with temporary() as directory, Idle(20, 4):
        _, wanted = denied_to_root(directory)
        with Sandboxed(directory) as daemon:
            reply, got = capture(daemon)
            expect_equal(reply["snapshot"]["uid"], 0, "who asked")
            status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii")
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            expect_equal(fields["Uid"].split(), [str(UID)] * 4, "uid of the daemon")
            expect_equal((fields["Seccomp"], fields["NoNewPrivs"]), ("2", "1"), "the filter")
            expect_equal(int(fields["CapBnd"], 16), 1 << 12 | 1 << 19 | 1 << 2, "bounding set")
            # Jobs of all kinds run in it, with a filter of their own on top.
            expect_equal(daemon("show", "latest", "--limit", "3").status, 0, "show")
            expect_equal(daemon("capture", "--tag", "b", "-q").status, 0, "capture")
            expect_equal(daemon("compare", "latest~1", "b", "--limit", "3").status, 0, "compare")
            expect_equal(daemon("rename", "b", "c", "-q").status, 0, "rename")
            expect_equal(daemon("export", "c", directory / "c.zst").status, 0, "export")
            expect_equal(daemon("import", directory / "c.zst", "--tag", "d").status, 0, "import")
            expect_equal(daemon("verify", "--all").status, 0, "verify")
            expect_equal(daemon("remove", "c", "d").status, 0, "remove")
        for name, (state, denied, reason) in wanted.items():
            # How large the processes are that were left out, and how many, changes from one capture to the next.
            expect_equal((got[name][0], re.sub(r"\d+", "N", got[name][2])), (state, re.sub(r"\d+", "N", reason)), name)
            expect(got[name][1] <= denied, name, "denied", got[name], "to root", denied)
        print("# " + ", ".join(f"{name} {row[0]}" for name, row in got.items()))


# Without a capability: the sources that change, and words of the reason that a user sees.
ABSENT = {
    "net_admin": {"taskstats": ("unavailable", "CAP_NET_ADMIN"),
                  "taskstats-delay": ("unavailable", "CAP_NET_ADMIN"),
                  "taskstats-irq": (None, "CAP_NET_ADMIN")},
    "sys_ptrace": {"io": ("partial", "needs CAP_SYS_PTRACE beside"),
                   "smaps_rollup": ("partial", "needs CAP_SYS_PTRACE")},
    "dac_read_search": {"io": ("partial", "needs CAP_DAC_READ_SEARCH beside")},
}


@test
def each_capability_is_needed():
    """without each capability in turn exactly its readings are absent, and the reason names it"""
    need_root()
    with temporary() as directory:
        expect_equal(sorted(capabilities(read_unit("ctprofd.service"))), sorted(FULL), "the unit's")
        with Sandboxed(directory) as daemon:
            _, full = capture(daemon)
        for name in FULL:
            (directory / name).mkdir()
            with Sandboxed(directory / name, without=name) as daemon:
                _, got = capture(daemon)
                told = readings(daemon("status", "--json").json())
            for source, (state, denied, reason) in got.items():
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
    """Where a daemon tells how it is; sd_notify(3)."""

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
