#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input of every kind: one clear sentence, the right exit status, nothing lost, the daemon alive."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import files
from harness import (CTPROFCTL, CTPROFD, Daemon, Idle, Local, Skip, call, expect, expect_equal, main, private_host,
                     receive, run, temporary, test, wait_until)

PROFILER = "io.ctprof.Profiler"


def refused(result, status, *words):
    """Exit status, one line on stderr, and that line names what it should."""
    expect_equal(result.status, status, f"exit status, stderr {result.err!r}")
    sentence = result.one_sentence()
    for word in words:
        expect(word in sentence, repr(word), "is not in:", sentence)


@test
def words_that_do_not_exist():
    """unknown verbs, options, metrics, sections and axes exit 2 and suggest the nearest"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
        refused(ctl("captrue"), 2, "captrue", "capture")
        refused(ctl("list", "--jsn"), 2, "--jsn")
        refused(ctl("show", "a", "--metrics", "run_time"), 2, "run_time", "run_time_ns")
        refused(ctl("show", "a", "--metrics", "run_time_ns,,nice"), 2, "empty")
        refused(ctl("show", "a", "--metrics", "nice,nice"), 2, "nice")
        refused(ctl("show", "a", "--sections", "primry"), 2, "primry", "primary")
        refused(ctl("show", "a", "--group-by", "pid"), 2, "pid")
        refused(ctl("show", "a", "--limit", "-1"), 2, "limit")
        refused(ctl("show", "a", "--limit", "many"), 2, "many")
        refused(ctl("show", "a", "--json=long"), 2, "long")
        refused(ctl("show"), 2, "show")
        refused(ctl("compare", "a"), 2, "compare")
        refused(ctl("list", "extra"), 2, "extra")
        refused(ctl("list", "--since", "someday"), 2, "someday")


@test
def names_that_do_not_fit():
    """tags that break the grammar exit 2, unknown and taken names exit 1"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        for tag, word in (("a/b", "slash"), ("x" * 65, "64"), (".a", "dot"), ("-a", "dash"), ("", "empty"),
                          ("latest", "reserved"), ("a.zst", ".zst"), ("a b", "character")):
            refused(ctl("capture", f"--tag={tag}"), 2, word)
        expect_equal(ctl("list", "--json").json()["snapshots"], [], "nothing was captured")
        expect_equal(ctl("capture", "--tag", "x" * 64).status, 0, "64 characters")
        expect_equal(ctl("capture", "--tag", "taken").status, 0, "capture")
        before = ctl("info", "taken", "--json").json()["snapshot"]
        refused(ctl("capture", "--tag", "taken"), 1, "taken", "--replace")
        expect_equal(ctl("info", "taken", "--json").json()["snapshot"], before, "it was left alone")
        expect_equal(ctl("capture", "--tag", "taken", "--replace").status, 0, "replace")
        expect(ctl("info", "taken", "--json").json()["snapshot"] != before, "it was replaced")
        for verb in (("show", "tken"), ("info", "tken"), ("remove", "tken"), ("verify", "tken"),
                     ("compare", "taken", "tken"), ("export", "tken", "-"), ("rename", "tken", "b")):
            refused(ctl(*verb), 1, "tken")
        refused(ctl("rename", "taken", "x" * 64), 1, "x" * 64)
        refused(ctl("show", "latest~7"), 1, "latest~7")


def bad_files(directory, good):
    """Name of each kind of bad file -> path."""
    made = files.bad_files(good.read_bytes())
    paths = {}
    for name, content in made.items():
        paths[name] = directory / f"bad-{name}.ctprof.zst"
        paths[name].write_bytes(content)
    return paths


@test
def files_that_are_not_snapshots():
    """each bad file is refused by show, compare, info, verify, import and export with one sentence"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        good = directory / "good.ctprof.zst"
        expect_equal(ctl("capture", "--output", good).status, 0, "capture --output")
        expect_equal(ctl("capture", "--tag", "good").status, 0, "capture")
        n = 0
        for name, path in bad_files(directory, good).items():
            for verb in (("show", path), ("compare", path, good), ("compare", good, path),
                         ("compare", "good", path), ("info", path), ("import", path, "--tag", "bad")):
                result = ctl(*verb)
                expect_equal(result.status, 1, f"{name}: {verb[0]}: {result.out!r} {result.err!r}")
                expect(path.name.removesuffix(".ctprof.zst") in result.one_sentence(), name, result.err)
                n += 1
            verdict = ctl("verify", path, "--json")
            expect_equal(verdict.status, 1, f"{name}: verify: {verdict.out}")
            results = json.loads(verdict.out)["results"]
            expect(not results[0]["ok"] and results[0]["error"], name, results)
        expect_equal([head["name"] for head in ctl("list", "--json").json()["snapshots"]], ["good"], "spool")
        expect_equal([name for name in os.listdir(directory / "spool") if name.startswith(".")], [], "dots")
        print(f"# {n} refusals")


@test
def old_files_are_read():
    """a file of the prior tool is shown, compared, imported and exported again"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        old = directory / "old.ctprof.zst"
        old.write_bytes(files.compress(json.dumps(files.version_0()).encode()))
        group = ctl("show", old, "--json").json()["groups"][0]
        expect_equal(group["metrics"]["run_time_ns"]["value"], 3000, "run time of both threads")
        expect_equal(ctl("import", old, "--tag", "old").status, 0, "import")
        head = ctl("info", "old", "--json").json()["snapshot"]
        expect_equal((head["formatVersion"], head["name"], head["tagged"]), (1, "old", True), head)
        expect(head["importedFrom"], head)
        back = directory / "back.zst"
        expect_equal(ctl("export", "old", back, "--format", "ktstr").status, 0, "export")
        plain = subprocess.run(["zstd", "-dcq", str(back)], capture_output=True, check=True).stdout
        document = json.loads(plain)
        for key, value in files.version_0()["threads"][0].items():
            expect_equal(document["threads"][0][key], value, key)


@test
def references_that_are_not_files():
    """missing files, directories and devices are named"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        refused(ctl("show", directory / "missing.zst"), 1, "missing.zst")
        refused(ctl("show", f"{directory}/"), 1, str(directory))
        refused(ctl("show", "/dev/zero"), 1, "/dev/zero")
        refused(ctl("import", directory / "missing.zst"), 1, "missing.zst")
        target = directory / "there.zst"
        target.write_text("mine")
        expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
        refused(ctl("export", "a", target), 1, "there.zst")
        expect_equal(target.read_text(), "mine", "never overwritten")


@test
def spools_that_cannot_be_used():
    """a spool that is missing, a file, a symbolic link or read-only is named with the reason"""
    with temporary() as directory:
        file = directory / "file"
        file.write_text("mine")
        (directory / "real").mkdir()
        link = directory / "link"
        link.symlink_to(directory / "real")
        for path, word in ((file, "director"), (link, "symbolic link")):
            refused(Local(path)("capture", "--tag", "a"), 1, str(path), word)
            refused(Local(path)("list"), 1, str(path))
        expect_equal(file.read_text(), "mine", "left alone")
        expect_equal(os.listdir(directory / "real"), [], "left alone")
        with Daemon(directory) as daemon:
            expect_equal(daemon("capture", "--tag", "a").status, 0, "capture")
            os.rename(daemon.spool, directory / "away")
            result = daemon("list")
            expect_equal(result.status in (0, 1), True, result.err)
            os.rename(directory / "away", daemon.spool)
            expect(daemon.alive(), "the daemon died")


@test
def read_only_spool():
    """a spool on a read-only file system is refused, reading it works"""
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir()
        mount = run("mount", "-t", "tmpfs", "-o", "size=64m", "ctprof-test", spool)
        if mount.status != 0:
            raise Skip(f"cannot mount: {mount.err.strip()}")
        try:
            ctl = Local(spool)
            expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
            expect_equal(run("mount", "-o", "remount,ro", spool).status, 0, "remount")
            refused(ctl("capture", "--tag", "b"), 1, str(spool), "read-only")
            refused(ctl("remove", "a"), 1, "read-only")
            expect_equal(len(ctl("list", "--json").json()["snapshots"]), 1, "list")
            expect_equal(ctl("verify", "a").status, 0, "verify")
        finally:
            run("umount", spool)


@test
def full_spool():
    """a full file system or budget refuses a tagged capture, loses nothing and rotates untagged ones"""
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir()
        mount = run("mount", "-t", "tmpfs", "-o", "size=512k", "ctprof-test", spool)
        if mount.status != 0:
            raise Skip(f"cannot mount: {mount.err.strip()}")
        try:
            with Daemon(directory, options=("--keep-free", "0", "--max-bytes", "0")) as daemon:
                expect_equal(daemon("capture", "--tag", "keep").status, 0, "capture")
                names = []
                for number in range(100):
                    result = daemon("capture", "--tag", f"t{number}")
                    if result.status != 0:
                        break
                    names.append(f"t{number}")
                refused(result, 1, "full" if "full" in result.err else str(spool))
                verified = daemon("verify", "--all", "--json").json()["results"]
                expect_equal({r["name"] for r in verified}, {"keep", *names}, "still there")
                expect(all(r["ok"] for r in verified), verified)
                expect_equal([n for n in os.listdir(spool) if n.startswith(".")], [], "left behind")
                expect_equal(daemon("remove", *names).status, 0, "remove")
                for _ in range(len(names) + 5):
                    result = daemon("capture")
                    expect_equal(result.status, 0, "untagged ones make room for themselves:", result.err)
                heads = daemon("list", "--json").json()["snapshots"]
                expect("keep" in {head["name"] for head in heads}, "tagged ones stay")
        finally:
            run("umount", spool)


@test
def too_few_open_files():
    """a limit of open files that is too low is named, with what is needed; with that the daemon works"""
    with temporary() as directory:
        limited = [sys.executable, "-c", "import os, resource, sys; n = int(sys.argv[1]);"
                   "resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)); os.execv(sys.argv[2], sys.argv[2:])"]
        local = ["--local", "--spool", directory / "spool"]
        for number in (40, 60, 127):
            result = run(*limited, number, CTPROFD, "--spool", directory, "--listen", directory / "socket")
            refused(result, 1, f"The limit of open files is {number}", "at least 128", "LimitNOFILE=")
        expect_equal(run(*limited, 128, CTPROFCTL, *local, "capture", "--tag", "a").status, 0, "capture")
        expect_equal(run(*limited, 128, CTPROFCTL, *local, "compare", "a", "a").status, 0, "compare")


@test
def three_importers_at_the_floor():
    """imports that run at the same time never use the space that is kept free, and captures find some"""
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    floor = 32 << 20
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir()
        mount = run("mount", "-t", "tmpfs", "-o", "size=96m", "ctprof-test", spool)
        if mount.status != 0:
            raise Skip(f"cannot mount: {mount.err.strip()}")
        try:
            with Daemon(directory, options=("--keep-free", "32M", "--max-bytes", "0")) as daemon:
                expect_equal(daemon("capture", "--tag", "a").status, 0, "capture")
                expect_equal(daemon("export", "a", directory / "a.zst").status, 0, "export")
                # Copied whole before the digest shows that it is not what it was.
                large = directory / "large.zst"
                large.write_bytes(b"\0" * (60 << 20) + (directory / "a.zst").read_bytes())
                least, captured = 1 << 62, 0
                clients = []
                end = time.monotonic() + 6
                while time.monotonic() < end:
                    clients = [client for client in clients if client.poll() is None]
                    while len(clients) < 3:
                        clients.append(subprocess.Popen(
                            [CTPROFCTL, "--socket", str(daemon.socket), "import", str(large), "--tag", "large"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                    for _ in range(200):
                        space = os.statvfs(spool)
                        least = min(least, space.f_bavail * space.f_frsize)
                for client in clients:
                    client.wait()
                captured = daemon("capture", "--tag", "b").status == 0
                print(f"# beside three importers at least {least >> 10} KiB of {floor >> 10} KiB were free")
                expect(least >= floor, "free", least)
                expect(captured, "a capture afterwards")
        finally:
            run("umount", spool)


@test
def exports_that_are_held():
    """converted exports and unnamed captures that their callers keep open take nothing from the spool, and are bounded"""
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir()
        mount = run("mount", "-t", "tmpfs", "-o", "size=4m", "ctprof-test", spool)
        if mount.status != 0:
            raise Skip(f"cannot mount: {mount.err.strip()}")
        try:
            with Idle(100, 4), Daemon(directory, options=("--keep-free", "2M", "--max-bytes", "0")) as daemon:
                expect_equal(daemon("capture").status, 0, "capture")
                name = daemon("list", "--json").json()["snapshots"][0]["name"]
                before = os.statvfs(spool).f_bavail
                held, error = [], None
                connection = daemon.connect()
                for number in range(200):
                    export = {"snapshot": {"name": name}, "format": "ndjson"}
                    method, parameters = (("Export", export), ("Capture", {"anonymous": True}))[number % 20 == 19]
                    message = {"method": f"io.ctprof.Profiler.{method}", "parameters": parameters}
                    connection.sendall(json.dumps(message).encode() + b"\0")
                    text = b""
                    while not text.endswith(b"\0"):
                        part, fds, _, _ = socket.recv_fds(connection, 1 << 20, 4)
                        held += fds
                        text += part
                    error = json.loads(text[:-1]).get("error")
                    if error:
                        break
                expect_equal(error, "io.ctprof.Profiler.Busy", f"after {len(held)} held files")
                print(f"# {len(held)} files were held, of {sum(os.fstat(fd).st_size for fd in held) >> 10} KiB; of "
                      f"{before << 2} KiB free in the spool's file system {os.statvfs(spool).f_bavail << 2} are left")
                expect_equal(os.statvfs(spool).f_bavail, before, "free blocks of the spool")
                expect_equal(daemon("capture").status, 0, "capture beside them")
                heads = daemon("list", "--json").json()["snapshots"]
                expect(name in {head["name"] for head in heads}, "the older snapshot stays")
                for fd in held:
                    os.close(fd)
                again = daemon("export", name, directory / "again", "--format", "ndjson")
                expect_equal(again.status, 0, f"export when they are closed: {again.err}")
        finally:
            run("umount", spool)


@test
def no_daemon():
    """without a daemon the client says how to start it"""
    with temporary() as directory:
        result = run(CTPROFCTL, "--socket", directory / "nobody", "list")
        refused(result, 1, "ctprofd.socket")


@test
def daemon_dies_mid_call():
    """a daemon that dies during a call is one sentence and exit 1"""
    with temporary() as directory, Daemon(directory) as daemon:
        client = subprocess.Popen([CTPROFCTL, "--socket", str(daemon.socket), "capture", "--tag", "a"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: daemon.children() or client.poll() is not None, what="a job")
        daemon.kill()
        _, complaint = client.communicate(timeout=60)
        if client.returncode != 0:
            expect_equal(client.returncode, 1, complaint)
            expect_equal(len([line for line in complaint.splitlines() if line]), 1, complaint)


@test
def client_hangs_up():
    """a client that hangs up during a capture publishes nothing, and its job ends"""
    with temporary() as directory, Idle(2000, 20), Daemon(directory) as daemon:
        hit = 0
        for number in range(5):
            connection = daemon.connect()
            message = {"method": f"{PROFILER}.Capture", "parameters": {"tag": f"h{number}"}, "more": True}
            connection.sendall(json.dumps(message).encode() + b"\0")
            connection.recv(1)  # the first progress: it has begun
            connection.close()
            wait_until(lambda: not daemon.children(), what="the job's end")
            hit += f"h{number}" not in [h["name"] for h in daemon("list", "--json").json()["snapshots"]]
        expect_equal(hit, 5, "captures that published nothing")
        expect_equal([n for n in os.listdir(daemon.spool) if n.startswith(".")], [], "left behind")
        expect_equal(daemon("capture", "--tag", "next").status, 0, "the next capture")


@test
def interrupted_client():
    """Ctrl-C cancels a capture and publishes nothing"""
    with temporary() as directory, Idle(2000, 20), Daemon(directory) as daemon:
        client = subprocess.Popen([CTPROFCTL, "--socket", str(daemon.socket), "capture", "--tag", "a"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: daemon.children() or client.poll() is not None, what="a job")
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
        expect(client.returncode != 0, "exit status", client.returncode)
        wait_until(lambda: not daemon.children(), what="the job's end")
        expect_equal(daemon("list", "--json").json()["snapshots"], [], "published")


@test
def calls_in_odd_pieces():
    """two calls in one write are answered in order; a call in single bytes is answered"""
    with temporary() as directory, Daemon(directory) as daemon:
        connection = daemon.connect()
        one = json.dumps({"method": "org.varlink.service.GetInfo"}).encode() + b"\0"
        two = json.dumps({"method": f"{PROFILER}.List", "parameters": {}}).encode() + b"\0"
        connection.sendall(one + two)
        data = b""
        while data.count(b"\0") < 2:
            data += connection.recv(65536)
        first, second = (json.loads(part) for part in data.split(b"\0")[:2])
        expect("interfaces" in first["parameters"], first)
        expect_equal(second["parameters"]["snapshots"], [], second)
        for byte in two:
            connection.sendall(bytes([byte]))
        expect_equal(receive(connection)[0]["parameters"]["snapshots"], [], "single bytes")


@test
def messages_that_are_not_calls():
    """malformed calls get a varlink error or a closed connection; others are served meanwhile"""
    with temporary() as directory, Daemon(directory) as daemon:
        for text in (b"{", b"[]", b"null", b"\xff\xfe", b'{"method":1}', b'{"method":"a","method":"b"}',
                     b'{"method":"x' + b"\xff" + b'"}', b"[" * 5000, b'{"parameters":{}}', b"\x01", b""):
            connection = daemon.connect()
            connection.sendall(text + b"\0")
            replies = receive(connection)
            expect(not replies or "error" in replies[0], text, replies)
            connection.close()
        wrong = [
            ("org.varlink.service.GetNothing", {}, "MethodNotFound"),
            ("com.example.Nothing.Do", {}, "InterfaceNotFound"),
            (f"{PROFILER}.Fly", {}, "MethodNotFound"),
            (f"{PROFILER}.Capture", {"tag": 5}, "InvalidParameter"),
            (f"{PROFILER}.Capture", {"tga": "x"}, "InvalidParameter"),
            (f"{PROFILER}.Capture", {"tag": "a/b"}, "InvalidName"),
            (f"{PROFILER}.Show", {"snapshot": {"name": "a"}}, "ExpectedMore"),
            (f"{PROFILER}.Info", {"snapshot": {"name": "missing"}}, "NoSuchSnapshot"),
            (f"{PROFILER}.Info", {"snapshot": {}}, "InvalidParameter"),
            (f"{PROFILER}.Info", {"snapshot": {"fileDescriptor": 0}}, "InvalidParameter"),
            (f"{PROFILER}.Info", {"snapshot": {"name": "../x"}}, ""),
            (f"{PROFILER}.Remove", {"names": ["missing"]}, "NoSuchSnapshot"),
            ("org.varlink.service.GetInterfaceDescription", {"interface": "x.y"}, "InterfaceNotFound"),
        ]
        for method, parameters, error in wrong:
            connection = daemon.connect()
            reply = call(connection, method, parameters)[0]
            expect(error in reply.get("error", "none"), method, parameters, reply)
            # The same connection still works: an error is an answer.
            expect("parameters" in call(connection, "org.varlink.service.GetInfo")[0], method)
            connection.close()
        expect(daemon.alive(), "the daemon died")


@test
def a_hundred_mebibytes():
    """100 MiB without a terminator is cut off within the daemon's bounds"""
    with temporary() as directory, Daemon(directory) as daemon:
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status")

        def rss():
            text = status.read_text(encoding="utf-8", errors="replace")
            return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmHWM")))

        expect_equal(daemon("list").status, 0, "list")
        before = rss()
        connection = daemon.connect()
        block, sent = b"x" * (1 << 20), 0
        try:
            for _ in range(100):
                connection.sendall(block)
                sent += len(block)
        except (BrokenPipeError, ConnectionResetError):
            pass
        expect(sent < 100 << 20, "all of it was taken")
        expect(rss() - before < 16 << 10, "grew by", rss() - before, "KiB")
        expect_equal(daemon("list").status, 0, "others are served")


@test
def peers_that_stall():
    """a peer that never reads and one that never ends its call do not stop others"""
    with temporary() as directory, Daemon(directory) as daemon:
        expect_equal(daemon("capture", "--tag", "a").status, 0, "capture")
        half = daemon.connect()
        half.sendall(b'{"method":')
        deaf = daemon.connect()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        message = {"method": f"{PROFILER}.Show", "more": True,
                   "parameters": {"snapshot": {"name": "a"}, "view": {"groupBy": "thread", "limit": 0}}}
        deaf.sendall(json.dumps(message).encode() + b"\0")
        begin = time.monotonic()
        for _ in range(5):
            expect_equal(daemon("list").status, 0, "list")
        expect_equal(daemon("capture", "--tag", "b").status, 0, "capture")
        print(f"# others: {time.monotonic() - begin:.2f} s for five lists and a capture")
        half.close()
        deaf.close()
        wait_until(lambda: not daemon.children(), what="the deaf peer's job to end")


@test
def nothing_is_left():
    """after all kinds of calls no job, descriptor or temporary is left"""
    with temporary() as directory, Daemon(directory) as daemon:
        expect_equal(daemon("capture", "--tag", "warm").status, 0, "capture")
        expect_equal(daemon("show", "warm").status, 0, "show")
        before = daemon.descriptors()
        for number in range(5):
            daemon("capture", "--tag", f"n{number}")
            daemon("show", f"n{number}")
            daemon("compare", "warm", f"n{number}", "--json")
            daemon("verify", "--all")
            daemon("show", "missing")
            daemon("export", f"n{number}", directory / f"n{number}.zst")
            daemon("import", directory / f"n{number}.zst", "--tag", f"i{number}")
            daemon("remove", f"n{number}", f"i{number}")
        wait_until(lambda: daemon.descriptors() <= before, 10, "descriptors to be closed")
        wait_until(lambda: not daemon.children(), what="the end of the last job")
        expect_equal(sorted(os.listdir(daemon.spool)), ["warm.ctprof.zst"], "spool")


# Snapshots have to be of one size while a spool is filled, whatever else begins on the host.
private_host()
main()
