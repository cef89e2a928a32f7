#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers that take all they can: refused or bounded, and everybody else is served meanwhile."""
import contextlib
import os
import pathlib
import select
import threading
import time

from harness import (Idle, Skip, call, expect, expect_equal, main, need_root, receive, sanitized, temporary, test,
                     wait_until)
from peers import PROFILER, connect, frame, open_daemon

GREEDY, ACCOMPLICE, BYSTANDER = 65001, 65002, 65003
# Sanitizers keep what was freed, which looks like growth; here memory is what is looked at.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"


def memory(daemon):
    """Of the daemon's main process, in bytes: what it has now, and what it ever had."""
    text = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii", errors="replace")
    values = {line.split(":")[0]: int(line.split()[1]) << 10 for line in text.splitlines() if line.endswith("kB")}
    return values["VmRSS"], values["VmHWM"]


def latencies(daemon, n=40):
    """How long a bystander waits for the list, connecting each time; sorted, in milliseconds."""
    times = []
    for _ in range(n):
        begin = time.monotonic()
        connection = connect(daemon, BYSTANDER)
        reply = call(connection, f"{PROFILER}.List")[-1]
        connection.close()
        times.append((time.monotonic() - begin) * 1000)
        expect("snapshots" in reply.get("parameters", {}), reply)
    return sorted(times)


def report(what, times, quiet):
    print(f"# {what}: list took {times[len(times) // 2]:.1f} ms (median), {times[-1]:.1f} ms (worst); "
          f"undisturbed {quiet[len(quiet) // 2]:.1f} ms, {quiet[-1]:.1f} ms")


@test
def too_many_connections():
    """one user gets so many connections and then an error, and others still get theirs"""
    need_root()
    with temporary() as directory, open_daemon(directory) as daemon:
        quiet = latencies(daemon)
        taken = [connect(daemon, GREEDY) for _ in range(64)]
        refused = 0
        for _ in range(50):
            connection = connect(daemon, GREEDY)
            replies = receive(connection)
            refused += replies[0]["error"] == f"{PROFILER}.Busy"
            connection.close()
        expect_equal(refused, 50, "refused")
        report("beside 64 connections of one user", latencies(daemon), quiet)
        log = daemon.log.read_text(encoding="utf-8")
        expect(f"uid {GREEDY}" in log and log.count("too many connections") <= 6, log)
        for connection in taken:
            connection.close()
        wait_until(lambda: call(connect(daemon, GREEDY), f"{PROFILER}.List")[-1].get("parameters"), what="a place")


@test
def one_byte_a_second():
    """calls that trickle in are cut off in time, and do not keep anybody else waiting"""
    need_root()
    with temporary() as directory, open_daemon(directory, "[Server]\nIdleTime=3s\n") as daemon:
        quiet = latencies(daemon)
        text = frame("List")
        slow = [connect(daemon, GREEDY) for _ in range(60)]
        begin, measured, sent = time.monotonic(), [], 0
        while sent < 3:
            for connection in slow:
                connection.send(text[sent:sent + 1])
            sent += 1
            measured += latencies(daemon, 10)
            time.sleep(max(0, begin + sent - time.monotonic()))
        report("beside 60 that send a byte a second", sorted(measured), quiet)
        ended = [receive(connection) for connection in slow]
        took = time.monotonic() - begin
        expect(2.5 < took < 10, "they were cut off after", took)
        expect(all("did not arrive in time" in str(replies) for replies in ended), ended[0])


@test
def never_reads():
    """whoever reads nothing is bounded, others capture and show meanwhile, and memory stays flat"""
    need_root()
    settings = "[Server]\nStalledTime=20s\nMaxBytesPerUser=16M\n"
    with temporary() as directory, Idle(3000, 30), open_daemon(directory, settings) as daemon:
        bystander = connect(daemon, BYSTANDER)
        expect("snapshot" in call(bystander, f"{PROFILER}.Capture", {"tag": "a"})[-1]["parameters"], "capture")
        quiet = latencies(daemon)
        show = {"snapshot": {"name": "a"}, "view": {"groupBy": "thread", "limit": 0}}
        before = memory(daemon)[0]
        deaf = []
        # Two users, as one alone may not have all places.
        for uid in (GREEDY, ACCOMPLICE):
            deaf += [connect(daemon, uid, 4096) for _ in range(12)]
        for connection in deaf:
            connection.sendall(frame("Show", show, more=True))
        wait_until(lambda: len(daemon.children()) >= 4, what="their jobs")
        time.sleep(0.5)
        report("beside 24 that read nothing", latencies(daemon), quiet)
        begin = time.monotonic()
        replies = call(bystander, f"{PROFILER}.Show", {"snapshot": {"name": "a"}, "view": {"groupBy": "all"}},
                       more=True)
        shown = time.monotonic() - begin
        expect("error" not in replies[-1], replies[-1])
        begin = time.monotonic()
        expect("snapshot" in call(bystander, f"{PROFILER}.Capture", {"tag": "b"})[-1]["parameters"], "capture")
        captured = time.monotonic() - begin
        print(f"# meanwhile a show took {shown:.2f} s and a capture {captured:.2f} s")
        expect(shown < 10 and captured < 10, "others waited", shown, captured)
        grown = memory(daemon)[1] - before
        print(f"# the daemon grew by {grown >> 20} MiB at most")
        expect(grown < 48 << 20, "grew by", grown)
        for connection in deaf:
            connection.close()
        wait_until(lambda: not daemon.children(), what="their jobs to end")
        # Again, and it needs no more than before.
        first = memory(daemon)[1]
        for _ in range(3):
            deaf = [connect(daemon, GREEDY, 4096) for _ in range(12)]
            for connection in deaf:
                connection.sendall(frame("Show", show, more=True))
            wait_until(lambda: len(daemon.children()) >= 3, what="their jobs")
            time.sleep(0.3)
            for connection in deaf:
                connection.close()
            wait_until(lambda: not daemon.children(), what="their jobs to end")
        expect(memory(daemon)[1] - first < 8 << 20, "three more rounds took", memory(daemon)[1] - first)


@test
def lists_that_nobody_reads():
    """who asks for long lists and reads none is bounded, alone and with others, and others get their list"""
    need_root()
    n_snapshots = 8000
    with temporary() as directory, Idle(10, 1), open_daemon(directory, "[Server]\nStalledTime=5min\n") as daemon:
        expect("snapshot" in call(connect(daemon, BYSTANDER), f"{PROFILER}.Capture", {"tag": "a"})[-1]["parameters"],
               "capture")
        for number in range(n_snapshots):
            os.link(daemon.spool / "a.ctprof.zst", daemon.spool / f"copy-{number}.ctprof.zst")
        listed = frame("List", more=True)
        # From the first list on, the daemon keeps the index of the spool.
        call(connect(daemon, BYSTANDER), f"{PROFILER}.List", more=True)
        for what, users, bound in (("one user", [GREEDY], 64), ("four users", [GREEDY, ACCOMPLICE, 65004, 65005], 128)):
            before = memory(daemon)[0]
            deaf = []
            for number in range(60):
                connection = connect(daemon, users[number % len(users)], 4096)
                connection.sendall(listed * 5)
                deaf.append(connection)
            begin = time.monotonic()
            count = sum(len(reply["parameters"]["snapshots"])
                        for reply in call(connect(daemon, BYSTANDER), f"{PROFILER}.List", more=True))
            took = time.monotonic() - begin
            expect_equal(count, n_snapshots + 1, "listed for the bystander")
            now, peak = memory(daemon)
            # The heap's pages beside what is in use, and the list that is being made.
            grown = (peak - before) >> 20
            print(f"# beside 60 unread lists of {what}: {before >> 20} MiB before, {now >> 20} MiB now, {peak >> 20} MiB "
                  f"at most; the bystander's list took {took:.1f} s")
            expect(sanitized() or grown < bound + 64, "grew by", grown, "MiB")
            for connection in deaf:
                connection.close()
            wait_until(lambda: memory(daemon)[0] < before + (8 << 20) or sanitized(), what="the memory of unread lists")


@test
def one_member_takes_all_of_the_spool():
    """whatever one member captures, the snapshots of another stay, and there is room for more of them"""
    need_root()
    with temporary() as directory, open_daemon(directory, "[Spool]\nMaxBytes=1M\nKeepFree=0\n") as daemon:
        def capture(uid, **parameters):
            return call(connect(daemon, uid), f"{PROFILER}.Capture", parameters)[-1]

        def names():
            replies = call(connect(daemon, BYSTANDER), f"{PROFILER}.List", more=True)
            return {head["name"]: head["uid"] for reply in replies for head in reply["parameters"]["snapshots"]}

        kept = {capture(BYSTANDER, **parameters)["parameters"]["snapshot"]["name"]
                for parameters in ({}, {"tag": "kept"}, {})}
        refused = 0
        for number in range(120):
            reply = capture(GREEDY, **({"tag": f"g{number}"} if number % 2 else {}))
            refused += reply.get("error") == f"{PROFILER}.SpoolFull"
        held = [name for name, uid in names().items() if uid == GREEDY]
        print(f"# {len(held)} of the greedy one's 120 captures are there, {refused} were refused; "
              f"{len(kept & set(names()))} of the other's {len(kept)} are there")
        expect(refused > 0, "nothing was refused")
        expect(kept <= set(names()), "lost", kept - set(names()))
        blocks = sum(os.stat(daemon.spool / f"{name}.ctprof.zst").st_blocks * 512 for name in held)
        expect(blocks <= 512 << 10, "the greedy one has", blocks)
        reply = capture(BYSTANDER, tag="more")
        expect("snapshot" in reply.get("parameters", {}), reply)
        expect(kept <= set(names()), "lost", kept - set(names()))


@test
def stalled_reader_is_sent_away():
    """a reader that stops is sent away after a while, and its job with it"""
    need_root()
    with temporary() as directory, Idle(2000, 20), open_daemon(directory, "[Server]\nStalledTime=2s\n") as daemon:
        expect("snapshot" in call(connect(daemon, BYSTANDER), f"{PROFILER}.Capture", {"tag": "a"})[-1]["parameters"],
               "capture")
        deaf = connect(daemon, GREEDY, 4096)
        deaf.sendall(frame("Show", {"snapshot": {"name": "a"}, "view": {"groupBy": "thread", "limit": 0}}, more=True))
        wait_until(daemon.children, what="its job")
        begin = time.monotonic()
        wait_until(lambda: not daemon.children(), what="the end of its job")
        expect(time.monotonic() - begin < 8, "it took", time.monotonic() - begin)
        expect("Replies were not read in time." in daemon.log.read_text(encoding="utf-8"), "the log")


@test
def too_many_bytes():
    """the halves of large calls of one user are bounded together, over all its connections"""
    need_root()
    with temporary() as directory, open_daemon(directory, "[Server]\nMaxBytesPerUser=8M\n") as daemon:
        quiet = latencies(daemon)
        before = memory(daemon)[0]
        block = b'{"method":"' + b"x" * 700000
        large = [connect(daemon, GREEDY) for _ in range(60)]
        refused = 0
        for connection in large:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(block)
        report("beside 60 halves of large calls", latencies(daemon), quiet)
        for connection in large:
            if select.select([connection], [], [], 0)[0]:
                with contextlib.suppress(ConnectionResetError):
                    refused += b"Busy" in connection.recv(65536)
        grown = memory(daemon)[1] - before
        print(f"# {refused} of 60 were told, and the daemon grew by {grown / (1 << 20):.1f} MiB at most")
        expect(refused > 0, "nobody was told")
        expect(grown < 24 << 20, "grew by", grown)
        for connection in large:
            connection.close()


@test
def memory_is_given_back():
    """what large calls took is given back when they are over, also beside connections that stay"""
    need_root()
    if sanitized():
        raise Skip("sanitizers keep what was freed")
    with temporary() as directory, open_daemon(directory) as daemon:
        latencies(daemon, 10)
        before, staying = memory(daemon)[0], []
        block = b'{"method":"' + b"x" * 900000
        for _ in range(3):
            large = [connect(daemon, GREEDY) for _ in range(12)]
            for connection in large:
                connection.sendall(block)
                # Something small that was allocated last, and lives on.
                staying.append(connect(daemon, BYSTANDER))
                call(staying[-1], "org.varlink.service.GetInfo")
            for connection in large:
                connection.close()
        wait_until(lambda: memory(daemon)[0] - before < 2 << 20, what="the memory of large calls")
        after, peak = memory(daemon)
        print(f"# {before >> 10} KiB before, {peak >> 10} KiB at most, {after >> 10} KiB beside {len(staying)} connections")
        expect(peak - before > 4 << 20, "the calls took", peak - before)


@test
def captures_of_one_user():
    """one user's waiting captures are bounded, and another's is next, not last"""
    need_root()
    with temporary() as directory, Idle(2000, 20), open_daemon(directory) as daemon:
        greedy = [connect(daemon, GREEDY) for _ in range(16)]
        for number, connection in enumerate(greedy):
            connection.sendall(frame("Capture", {"tag": f"g{number}"}))
        wait_until(daemon.children, what="a capture")
        ended = []

        def await_end(connection, name):
            reply = receive(connection)[-1]
            ended.append((name, reply.get("error", "")))

        other = connect(daemon, BYSTANDER)
        other.sendall(frame("Capture", {"tag": "other"}))
        threads = [threading.Thread(target=await_end, args=pair)
                   for pair in [*((c, "greedy") for c in greedy), (other, "other")]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        busy = [name for name, error in ended if error == f"{PROFILER}.Busy"]
        done = [name for name, error in ended if not error]
        expect_equal((set(busy), len(busy) + len(done)), ({"greedy"}, 17), ended)
        # One runs and eight wait, and some may have ended while the last ones came.
        expect(5 <= len(busy) <= 8, len(busy), "were refused")
        expect("other" in done[:3], "the other user came", done.index("other"))
        print(f"# {len(busy)} of 16 were refused; the other user's capture was number {done.index('other') + 1}")


main()
