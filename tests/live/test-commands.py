#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What processes were started as: what a snapshot has of it, by setting, and of processes that do not want to tell."""
import contextlib
import os
import subprocess
import sys

from fuse import STUCK_PAGE, Fuse
from harness import Daemon, end, expect, expect_equal, main, need_root, temporary, test, wait_until, without_programs
from hostile import capture, held_memory

SECRET = "Xq7-of-nobody"
STRANGER = 61234
SCRIPT = "import sys; print('ready', flush=True); sys.stdin.read()\n"
# Writes a title over its arguments, as setproctitle(3) does, or maps a page of a file there, and becomes another user.
# So many variables are before the arguments on its stack that nothing else of use lies in their page.
TITLE = """
import ctypes, os, sys
descriptor, title, user = int(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
start, end = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[45:47])
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_ulong] * 2 + [ctypes.c_int] * 3 + [ctypes.c_ulong]
libc.mmap.restype = ctypes.c_ulong
if descriptor < 0:
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, title, len(title))
elif libc.mmap(start & ~4095, 4096, 1, 0x12, descriptor, 0) != start & ~4095:
    sys.exit("mmap")
os.setresuid(user, user, user)
print("ready", flush=True)
sys.stdin.read()
"""
VARIABLES = {f"V{number}": "" for number in range(700)}


@contextlib.contextmanager
def started(*words, **options):
    """A program that says "ready"; its pid."""
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               **options)
    try:
        line = process.stdout.readline()
        expect_equal(line, "ready\n", words, process.poll())
        yield process.pid
    finally:
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        if process.poll() is None:
            end(process.pid)
            process.wait()
        process.stdout.close()


def configured(directory, lines):
    options = without_programs(directory)
    with open(options[1], "a", encoding="utf-8") as config:
        config.write(lines)
    return Daemon(directory, options=options)


def rows_of(daemon, directory):
    """Rows by pid of a capture that read everything; a slow host takes some until it has had the time."""
    found = []

    def is_read():
        answer, document = capture(daemon, directory, "--no-smaps")
        source = next(source for source in answer["sources"] if source["name"] == "cmdline")
        found[:] = [source, {row["tid"]: row for row in document["rows"]}]
        return not (source["state"] == "partial" and "time-budget" in source["reason"])

    wait_until(is_read, 60, what="all commands")
    return found


@test
def what_programs_are_started_as():
    """a group of processes says what its interpreters run, and each command can be a group"""
    with temporary() as directory, contextlib.ExitStack() as stack:
        names = [f"cmd-{letter}.py" for letter in "abc"]
        for name in names:
            (directory / name).write_text(SCRIPT, encoding="utf-8")
        link = directory / "ctprof-snake3"  # a name that nobody else has, and an interpreter's by its argument
        link.symlink_to(sys.executable)
        pids = [stack.enter_context(started("python3", "-u", directory / name, SECRET, executable=link)) for name in names]
        pids.append(stack.enter_context(started("python3", "-uc", SCRIPT, SECRET, executable=link)))
        titled = stack.enter_context(started("python3", "-c", TITLE, -1, f"snake: {SECRET} of a", os.getuid(),
                                             executable=link))
        with configured(directory, "") as daemon:
            source, rows = rows_of(daemon, directory)
            expect_equal(source["state"], "ok", source)
            for pid, name in zip(pids, names):
                expect_equal(rows[pid]["command"], ["python3", str(directory / name)])
            expect_equal([rows[pid]["command"] for pid in (pids[3], titled)], [["python3"], None])
            expect(all(rows[pid]["command_line"] is None for pid in pids), "arguments")
            groups = daemon("show", "now", "--group-by", "command", "--limit", "0", "--json").json()["groups"]
            found = {group["key"]: group for group in groups}
            # Names that differ only in a letter are no pattern.
            for name in names:
                expect_equal(found[f"python3 {name}"]["commands"], [{"name": f"python3 {name}", "threads": 1}])
            # Threads with a title are called by the name of the process, which is that of the link.
            expect("ctprof-snake3" in found, sorted(found))
            (group,) = (group for group in daemon("show", "now", "--limit", "0", "--json").json()["groups"]
                        if group["key"] == "ctprof-snake3")
            expect_equal({member["name"] for member in group["commands"]},
                         {"python3", *(f"python3 {name}" for name in names)})
            shown = daemon("show", "now", "--filter", "ctprof-snake3").out
            expect("ctprof-snake3 \u00d74 " in shown, shown)
            page = daemon("show", "now", "--filter", "ctprof-snake3", "--format", "html").out
            expect("python3 cmd-a.py" in page, "no command in the page")
            rows = daemon("show", "now", "--group-by", "command", "--filter", "python3 cmd-a.py", "--format", "csv").out
            expect(",python3 cmd-a.py," in rows, rows[:200])
            expect(SECRET not in shown + page, "a secret is shown")


@test
def settings():
    """CommandLines=no, short and full are what a snapshot has of arguments, and what was read before is no longer told"""
    with temporary() as directory, started("sh", "-c", "echo ready; exec 3<&0; read x <&3", SECRET) as pid:
        wanted = {"short": (["sh"], None), "full": (["sh"], ["sh", "-c", "echo ready; exec 3<&0; read x <&3", SECRET]),
                  "no": (None, None)}
        for lines in ("short", "full", "short", "no"):
            with configured(directory, f"CommandLines={lines}\n") as daemon:
                for _ in range(2):
                    source, rows = rows_of(daemon, directory)
                    expect_equal((rows[pid]["command"], rows[pid]["command_line"]), wanted[lines], lines)
                    expect_equal(source["state"], "not-requested" if lines == "no" else "ok", source)
                text = subprocess.run(["zstd", "-dc", daemon.spool / "now.ctprof.zst"], capture_output=True,
                                      check=True).stdout
                expect_equal(SECRET.encode() in text, lines == "full", lines)


@test
def programs_that_are_executed():
    """a process that executes another program has the command of that from then on"""
    with temporary() as directory, configured(directory, "") as daemon:
        process = subprocess.Popen(["sh", "-c", "read x; exec sleep 1000"], stdin=subprocess.PIPE, text=True)
        try:
            _, rows = rows_of(daemon, directory)
            expect_equal(rows[process.pid]["command"], ["sh"])
            process.stdin.write("\n")
            process.stdin.close()
            wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith(("sleep", "coreutils")), what="sleep")
            for _ in range(2):
                _, rows = rows_of(daemon, directory)
                expect_equal(rows[process.pid]["command"], ["sleep"])
        finally:
            end(process.pid)
            process.wait()


@test
def arguments_that_never_answer():
    """arguments in a file that never answers, and a memory map that is locked, cost their owners the command alone"""
    need_root()
    with temporary() as directory, contextlib.ExitStack() as stack:
        fuse = stack.enter_context(Fuse(directory / "fuse", {"arguments": STUCK_PAGE, "page": STUCK_PAGE}))
        descriptor = os.open(fuse.path("arguments"), os.O_RDONLY)
        stack.callback(os.close, descriptor)
        hidden = stack.enter_context(started(sys.executable, "-c", TITLE, descriptor, "", STRANGER, pass_fds=[descriptor],
                                             env={**os.environ, **VARIABLES}))
        honest = [stack.enter_context(started("sh", "-c", "echo ready; read x"))]
        # Whoever has not answered in half of the time counts as one that hangs, which a busy host is not to be.
        with configured(directory, "HeapTime=2s\n") as daemon:
            locked = stack.enter_context(held_memory(fuse))
            for number in range(4):
                source, rows = rows_of(daemon, directory)
                # Also who is new by then, and of the same user as one who hangs.
                expect_equal({rows[pid]["command"][0] for pid in honest}, {"sh"}, number, source)
                honest.append(stack.enter_context(started("sh", "-c", "echo ready; read x")))
                expect_equal([rows[pid]["command"] for pid in (hidden, locked)], [None, None], source)
                expect(rows[hidden]["run_time_ns"] is not None, "the row itself")
            expect_equal(source["state"], "partial", source)
            expect("hung-before" in source["reason"] or "timed-out" in source["reason"], source)
            groups = daemon("show", "now", "--group-by", "command", "--limit", "0", "--json").json()["groups"]
            keys = {group["key"] for group in groups}
            expect(rows[hidden]["pcomm"] in keys, rows[hidden]["pcomm"], "is no group")
            print(f"# {source['reason']}")
            fuse.release()
            wait_until(lambda: not daemon.children(), 60, what="the end of the jobs")


main()
