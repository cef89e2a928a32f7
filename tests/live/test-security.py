#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What one user can do to the daemon and to others; SECURITY.md cites these tests for its claims."""
import array
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from fuse import Fuse
from harness import (CTPROFD, Daemon, Idle, Skip, call, expect, expect_equal, main, need_root, receive, run, sanitized, temporary,
                     test, wait_until)
from peers import PROFILER, connect, frame, open_daemon

TESTS = pathlib.Path(__file__).resolve().parent.parent
HOSTILE, OTHER, OWNER = 65011, 65012, 65013
CLONE_NEWNET = 0x40000000


def send_with(connection, data, fds, flags=0):
    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))], flags)


def serves(daemon, uid=OTHER):
    """Somebody else is answered, also by a job, and soon."""
    begin = time.monotonic()
    connection = connect(daemon, uid)
    reply = call(connection, f"{PROFILER}.List")[-1]
    expect("snapshots" in reply.get("parameters", {}), reply)
    reply = call(connection, f"{PROFILER}.Show", {"snapshot": {"name": "a"}, "view": {"limit": 1}}, more=True)[-1]
    expect("error" not in reply, reply)
    connection.close()
    return time.monotonic() - begin


def capture(daemon, name="a"):
    reply = call(connect(daemon, OWNER), f"{PROFILER}.Capture", {"tag": name})[-1]
    expect("snapshot" in reply.get("parameters", {}), reply)


def private_network():
    """Sockets that linger are those of a network; this one has nothing but its own loopback."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise Skip(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up


class Lingering:
    """A connection whose last close waits an hour, because nobody reads what was sent."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.sender = socket.create_connection(listener.getsockname())
        self.deaf = listener.accept()[0]
        listener.close()
        self.sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.sender.send(b"x" * 65536)
        self.sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))

    def give(self, daemon, connection, data, flags=0):
        """The daemon gets to see it when it is the last to have it: here, too, the close would wait."""
        daemon.process.send_signal(signal.SIGSTOP)
        send_with(connection, data, [self.sender.fileno()], flags)
        self.sender.close()
        daemon.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def opened(path):
    """Closed early: whoever ends with such a file open waits for its own answer."""
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@test
def file_system_that_never_answers():
    """a descriptor whose flush never ends costs its sender only: others list, show and capture meanwhile"""
    need_root()
    with temporary() as directory, open_daemon(directory) as daemon:
        capture(daemon)
        wait_until(lambda: not daemon.children(), what="an idle daemon")
        before = daemon.descriptors()
        with Fuse(directory / "mount", {"file": b"x"}, silent_flush=True) as fuse:
            # One that no method takes, one that is passed on to a job, and more than a call may have.
            with opened(fuse.path("file")) as fd:
                connection = connect(daemon, HOSTILE)
                send_with(connection, frame("List"), [fd])
                send_with(connect(daemon, HOSTILE), frame("Import", {"fileDescriptor": 0, "tag": "x"}), [fd])
                send_with(connect(daemon, HOSTILE), b"{", [fd] * 200)
            expect("snapshots" in receive(connection)[-1].get("parameters", {}), "an answer")
            expect(fuse.waiting.wait(20), "nobody flushed")
            slowest = max(serves(daemon) for _ in range(5))
            print(f"# beside a flush without an answer: list and show in {slowest:.2f} s at most")
            expect(slowest < 10, "others waited", slowest)
            capture(daemon, "b")
            # The user itself is bounded: no more and more descriptors, nor children.
            refused = 0
            for _ in range(20):
                greedy = connect(daemon, HOSTILE)
                with opened(fuse.path("file")) as fd, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    send_with(greedy, b"{", [fd] * 60)
                if select.select([greedy], [], [], 0.05)[0]:
                    with contextlib.suppress(ConnectionResetError):
                        refused += b"being closed" in greedy.recv(65536)
                greedy.close()
            expect(refused > 0, "nobody was told")
            expect(daemon.descriptors() < before + 600, daemon.descriptors(), "descriptors")
            wait_until(lambda: len(daemon.children()) <= 2, what="no more children than wait for the file")
            serves(daemon)
        wait_until(lambda: not daemon.children(), what="the end of those children")
        connection.close()
        wait_until(lambda: daemon.descriptors() <= before, what=f"{before} descriptors, as before")


@test
def socket_that_lingers():
    """a socket that lingers waits for nobody, taken, refused, unread or out of band"""
    need_root()
    with temporary() as directory, open_daemon(directory) as daemon:
        capture(daemon)
        private_network()
        held = []
        for data, flags in ((frame("List"), 0), (b"x", socket.MSG_OOB), (b"{", 0)):
            connection, linger = connect(daemon, HOSTILE), Lingering()
            linger.give(daemon, connection, data, flags)
            connection.sendall(b"...")
            held += [connection, linger]
        # Never read: the call before it is in flight, and then its caller is gone.
        connection, linger = connect(daemon, HOSTILE), Lingering()
        connection.sendall(frame("Capture", {"tag": "c"}))
        linger.give(daemon, connection, frame("List"))
        connection.close()
        held.append(linger)
        slowest = max(serves(daemon) for _ in range(5))
        print(f"# beside sockets that linger for an hour: list and show in {slowest:.2f} s at most")
        expect(slowest < 10, "others waited", slowest)
        for connection in held:
            if isinstance(connection, socket.socket):
                connection.close()
        wait_until(lambda: not daemon.children(), what="its children to end")


@test
def job_that_never_ends():
    """who has jobs that cannot be killed gets no more of them, and others do"""
    need_root()
    with temporary() as directory, open_daemon(directory, "[Jobs]\nAnalysisTime=1s\n") as daemon:
        capture(daemon)
        names = ["x", "y", "z"]
        with Fuse(directory / "mount", dict.fromkeys(names)) as fuse:
            callers = []
            for name in names:
                callers.append(connect(daemon, HOSTILE))
                with opened(fuse.path(name)) as fd:
                    send_with(callers[-1], frame("Import", {"fileDescriptor": 0, "tag": name}), [fd])
            begin = time.monotonic()
            for caller in callers:
                reply = receive(caller)[-1]
                expect_equal(reply["error"], f"{PROFILER}.JobFailed", reply)
            print(f"# given up after {time.monotonic() - begin:.1f} s: {reply['parameters']['reason']}")
            reply = call(callers[0], f"{PROFILER}.Show", {"snapshot": {"name": "a"}, "view": {}}, more=True)[-1]
            expect_equal(reply["error"], f"{PROFILER}.Busy", reply)
            serves(daemon)
        wait_until(lambda: not daemon.children(), what="the end of the jobs")
        serves(daemon, HOSTILE)


def import_of(daemon, fuse, name):
    """A connection on which a job of HOSTILE reads the file."""
    caller = connect(daemon, HOSTILE)
    with opened(fuse.path(name)) as fd:
        send_with(caller, frame("Import", {"fileDescriptor": 0, "tag": name}), [fd])
    return caller


def command_line(pid):
    """Empty for a process that is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def most_analyses(daemon, seconds):
    """The largest number of jobs seen that read what callers sent."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        jobs = [command_line(job) for job in daemon.children()]
        most = max(most, sum(b"--job=analysis" in job for job in jobs))
        time.sleep(0.05)
    return most


@test
def jobs_that_never_end_one_after_the_other():
    """jobs that run beside those that hang count, too, and so do those that were given up and are not gone"""
    need_root()
    with temporary() as directory, open_daemon(directory, "[Jobs]\nAnalysisTime=1s\n") as daemon:
        capture(daemon)
        names = [f"x{number}" for number in range(8)]
        with Fuse(directory / "mount", dict.fromkeys(names)) as fuse:
            callers = [import_of(daemon, fuse, name) for name in names[:2]]
            for caller in callers:
                expect_equal(receive(caller)[-1]["error"], f"{PROFILER}.JobFailed", "of two that hang")
            callers = [import_of(daemon, fuse, name) for name in names[2:5]]
            most = most_analyses(daemon, 2)
            errors = sorted(receive(caller)[-1]["error"] for caller in callers)
            print(f"# two that hang and three more at once: {most} jobs, {errors}")
            expect_equal(most, 3, "jobs")
            expect_equal(errors, [f"{PROFILER}.Busy"] * 2 + [f"{PROFILER}.JobFailed"], "errors")
            serves(daemon)
        wait_until(lambda: not daemon.children(), what="the end of the jobs")
    with temporary() as directory, open_daemon(directory) as daemon:
        capture(daemon)
        with Fuse(directory / "mount", dict.fromkeys(names)) as fuse:
            most = 0
            for name in names:
                caller = import_of(daemon, fuse, name)
                most = max(most, most_analyses(daemon, 0.3))
                caller.close()
            print(f"# eight callers that hang up: {most} jobs")
            expect_equal(most, 3, "jobs of callers that hang up")
            serves(daemon)
        wait_until(lambda: not daemon.children(), what="the end of the jobs")
        serves(daemon, HOSTILE)


NO_STANDARD = ["/dev/null"] * (2 if sanitized() else 3)


def confinement(pid):
    """Of a job: (its seccomp mode, its capabilities, its standard descriptors). Sanitizers keep the last of these."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text("ascii")
        standard = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(len(NO_STANDARD))]
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0, []  # it has ended
    status = dict(line.split(":", 1) for line in text.splitlines())
    return int(status["Seccomp"]), int(status["CapPrm"], 16) | int(status["CapEff"], 16), standard


@test
def analysis_job_has_nothing_of_the_daemon():
    """a job that reads a file has no capability, a filter, and not the daemon's stdout and stderr"""
    need_root()
    with temporary() as directory, open_daemon(directory) as daemon:
        with Fuse(directory / "mount", {"x": None}) as fuse:
            caller = connect(daemon, HOSTILE)
            with opened(fuse.path("x")) as fd:
                send_with(caller, frame("Import", {"fileDescriptor": 0, "tag": "x"}), [fd])
            wait_until(lambda: [confinement(job) for job in daemon.children()] == [(2, 0, NO_STANDARD)],
                       what="one job in its sandbox")
            caller.close()
        wait_until(lambda: not daemon.children(), what="its end")


# As the table of ctprofd(8) has it: what a capture job keeps, and what the job does that reads memory for it.
KEPT = {b"capture": 1 << 2 | 1 << 12 | 1 << 19,  # DAC_READ_SEARCH, NET_ADMIN, SYS_PTRACE
        b"memory": 1 << 2 | 1 << 19 | 1 << 40}   # CHECKPOINT_RESTORE


def own_capabilities():
    status = pathlib.Path("/proc/self/status").read_text("ascii")
    return int(dict(line.split(":", 1) for line in status.splitlines())["CapPrm"], 16)


@test
def capture_job_reads_in_a_sandbox():
    """jobs of a capture have threads only inside their filter, three capabilities at most and not the daemon's stderr"""
    need_root()
    seen = dict.fromkeys(KEPT, 0)
    with temporary() as directory, open_daemon(directory) as daemon, Idle(4000, 4):
        for name in range(40):
            caller = connect(daemon, OWNER)
            caller.sendall(frame("Capture", {"tag": str(name), "heap": True}))
            while not select.select([caller], [], [], 0)[0]:
                for job in daemon.children():
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        kind = next((kind for kind in KEPT if b"--job=" + kind in command_line(job)), None)
                        if not kind:
                            continue
                        n_threads = len(os.listdir(f"/proc/{job}/task"))
                        mode, capabilities, standard = confinement(job)
                        if n_threads > 1 and standard:
                            seen[kind] += 1
                            expect_equal((mode, capabilities, standard),
                                         (2, own_capabilities() & KEPT[kind], NO_STANDARD), kind)
            reply = receive(caller)[-1]
            expect("snapshot" in reply.get("parameters", {}), reply)
            if all(seen.values()):
                break
    print(f"# seen while they read: {seen}")
    expect(all(seen.values()), "never seen")


def files_order():
    """The packet that tells a job to answer questions at its first descriptor (daemon/order/order.h)."""
    text = (TESTS.parent / "daemon/order/order.h").read_text(encoding="ascii")
    methods = re.findall(r"^        O\((\w+),", text, re.M)
    version = b"ctprof order " + run(CTPROFD, "--version").out.split()[1].encode()
    return struct.pack("II48sIII", 0, 0, version, methods.index("FILES"), 0, 1)


PACKET_RESULT = 5  # daemon/job/packet.h


class FileJob:
    """A job as the daemon starts it for a capture, which here is the test."""

    def __init__(self, memory=32 << 20):
        channel, job_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.questions, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.n_asked = 0

        number = job_end.fileno()
        program = (f"import os, resource\nos.dup2({number}, 3)\n"
                   + (f"os.close({number})\n" if number != 3 else "")
                   + (f"resource.setrlimit(resource.RLIMIT_DATA, ({memory}, {memory}))\n" if not sanitized() else "")
                   + f"os.execv({CTPROFD!r}, ['ctprofd', '--job=files'])")
        environment = {**os.environ, "LISTEN_FDS": "1", "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(["python3", "-c", program], pass_fds=[number], env=environment,
                                        stdin=subprocess.DEVNULL)
        self.channel = channel
        send_with(channel, files_order(), [peer.fileno()])
        job_end.close()
        peer.close()

    def ask(self, path):
        """What the job says of the file: the verdict on its heap layout."""
        with opened(path) as fd:
            return self.ask_of([fd])

    def ask_of(self, fds):
        self.n_asked += 1
        send_with(self.questions, struct.pack("II", self.n_asked, 0), fds)
        self.questions.settimeout(60)
        answer = self.questions.recv(4096)
        number, result = struct.unpack("Ii", answer[:8])
        expect_equal(number, self.n_asked, "the number of the question")
        return struct.unpack("I", answer[8:12])[0] if result == 0 else result

    def close(self):
        """How the job ends when nobody asks any more."""
        self.questions.close()
        return struct.unpack("II", self.channel.recv(65536)), self.process.wait(timeout=60)


# Verdicts of daemon/capture/heap/heap-failure.h: what looking into a file can lead to.
NOT_JEMALLOC = 24
OF_A_FILE = {4, *range(6, 12), 23, NOT_JEMALLOC}


@test
def file_job_has_nothing_of_the_daemon():
    """a job that looks into programs has no capability, a filter, few descriptors, 32 MiB and not the daemon's stderr"""
    need_root()
    job = FileJob()
    try:
        expect_equal(job.ask("/bin/sh"), NOT_JEMALLOC, "/bin/sh")
        expect_equal(confinement(job.process.pid), (2, 0, NO_STANDARD), "its sandbox")
        limits = pathlib.Path(f"/proc/{job.process.pid}/limits").read_text(encoding="ascii")
        bounds = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()}
        expect_equal(bounds["Max open files"], "32", "descriptors")
        expect_equal(bounds["Max processes"], "0", "processes")
        expect_equal(os.readlink(f"/proc/{job.process.pid}/root"), "/", "its root")
        # Whatever it gets, it keeps none of it and goes on.
        with temporary() as directory:
            (directory / "text").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57) + b"no program" * 1000)
            expect(job.ask(directory / "text") != 0, "a header alone is taken for jemalloc")
            expect_equal(job.ask(directory), -errno.EBADF, "a directory")
        with opened("/dev/null") as device, opened("/bin/sh") as program:
            expect_equal(job.ask_of([device]), -errno.EBADF, "a device")
            expect_equal(job.ask_of([]), -errno.EINVAL, "nothing")
            expect_equal(job.ask_of([program] * 2), -errno.EINVAL, "two")
            expect_equal(job.ask_of([program] * 200), -errno.EINVAL, "very many")
        programs = largest_programs()
        for path in programs:
            verdict = job.ask(path)
            expect(verdict in OF_A_FILE, path, verdict)
        wait_until(lambda: len(os.listdir(f"/proc/{job.process.pid}/fd")) == 5, what="a job that keeps none of them")
        print(f"# {len(programs)} programs, the largest of {os.stat(programs[0]).st_size >> 20} MiB")
        reply, status = job.close()
        expect_equal((reply, status), ((PACKET_RESULT, 0), 0), "its end")
    finally:
        job.process.kill()
        job.process.wait()


def largest_programs():
    """The largest files that processes here execute or could."""
    found = {}
    for directory in ("/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"):
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(directory):
                if entry.is_file(follow_symlinks=False):
                    found[entry.path] = entry.stat().st_size
    return sorted(found, key=found.get)[-1:-41:-1]


@test
def file_job_that_hangs():
    """a file that is never read to its end holds up its own job only, which ends as soon as it is"""
    need_root()
    with temporary() as directory, Fuse(directory / "mount", {"x": None}) as fuse:
        job = FileJob()
        with opened(fuse.path("x")) as fd:
            send_with(job.questions, struct.pack("II", 1, 0), [fd])
            wait_until(lambda: len(os.listdir(f"/proc/{job.process.pid}/fd")) > 5, what="the file in the job")
            expect(not select.select([job.questions], [], [], 0.3)[0], "an answer")
            job.process.kill()
        job.questions.close()
        job.channel.close()
    job.process.wait(timeout=60)


def jobs_of(daemon, kind):
    return [job for job in daemon.children() if b"--job=" + kind in command_line(job)]


@contextlib.contextmanager
def executing(paths):
    """A process that has these files mapped to execute them, and so looks as if it did."""
    program = ("import mmap, os, sys, time\n"
               "maps = [mmap.mmap(os.open(path, os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)"
               " for path in sys.argv[1:]]\n"
               "print('mapped', flush=True)\ntime.sleep(600)")
    with subprocess.Popen(["python3", "-c", program, *map(str, paths)], stdout=subprocess.PIPE, text=True) as process:
        try:
            expect_equal(process.stdout.readline(), "mapped\n", "the process")
            yield process
        finally:
            process.kill()


@test
def programs_that_never_answer():
    """programs that never answer a read hold up no capture and nobody's turn; few jobs hang, with nothing of the daemon"""
    need_root()
    with temporary() as directory, open_daemon(directory) as daemon:
        capture(daemon)
        wait_until(lambda: not daemon.children(), what="the end of jobs that had nothing to wait for")
        names = [f"x{number}" for number in range(12)]
        with Fuse(directory / "mount", dict.fromkeys(names)) as fuse:
            with executing([fuse.path(name) for name in names]):
                begin, most, number = time.monotonic(), 0, 0
                # On a slow host the time that a capture may spend on programs can be over before it gets to these.
                while number < 8 or (most == 0 and number < 40):
                    capture(daemon, f"b{number}")
                    most = max(most, len(jobs_of(daemon, b"files")))
                    number += 1
                print(f"# {most} jobs hang after {number} captures in {time.monotonic() - begin:.1f} s")
                expect(1 <= most <= 4, "jobs that hang:", most)
                wait_until(lambda: {(mode, capabilities, *standard) for mode, capabilities, standard in
                                    map(confinement, jobs_of(daemon, b"files"))} == {(2, 0, *NO_STANDARD)},
                           what="jobs in their sandbox alone")
                # They are nobody's: whoever took these captures reads on, too.
                serves(daemon, OWNER)
                serves(daemon)
        wait_until(lambda: not daemon.children(), what="the end of the jobs")


MEMBER, GROUP = 65021, 65030


@contextlib.contextmanager
def grouped_daemon(directory):
    """Its socket as ctprofd.socket makes it, with a group of the test's own."""
    with Daemon(directory) as daemon:
        os.chown(daemon.socket, 0, GROUP)
        os.chmod(daemon.socket, 0o660)
        yield daemon


def as_user(daemon, uid, *arguments, groups=(GROUP,)):
    return daemon(*arguments, user=uid, group=uid, groups=list(groups))


@test
def outside_of_the_group():
    """who is not of the group cannot even connect"""
    need_root()
    with temporary() as directory, grouped_daemon(directory) as daemon:
        refused = as_user(daemon, MEMBER, "list", groups=())
        expect_equal(refused.status, 1, refused.err)
        expect(f"Only members of group {GROUP}" in refused.one_sentence(), refused.err)
        expect_equal(as_user(daemon, MEMBER, "list").status, 0, "a member")


@test
def owners_and_others():
    """a member sees, exports and compares what another took, and cannot remove, rename or replace it"""
    need_root()
    with temporary() as directory, grouped_daemon(directory) as daemon:
        expect_equal(as_user(daemon, OWNER, "capture", "--tag", "mine", "-q").status, 0, "capture")
        for verb in (("show", "mine", "--limit", "1"), ("compare", "mine", "mine"), ("info", "mine"), ("verify", "mine")):
            expect_equal(as_user(daemon, MEMBER, *verb).status, 0, verb)
        for verb in (("remove", "mine"), ("rename", "mine", "yours"), ("capture", "--tag", "mine", "--replace")):
            refused = as_user(daemon, MEMBER, *verb)
            expect_equal(refused.status, 1, verb)
            expect_equal(as_user(daemon, MEMBER, "list", "--json").json()["snapshots"][0]["uid"], OWNER, verb)
        expect(f"by uid {MEMBER} failed" in daemon.log.read_text(encoding="utf-8"), "refusals are logged")
        expect_equal(as_user(daemon, OWNER, "rename", "mine", "still-mine").status, 0, "its owner")
        expect_equal(as_user(daemon, OWNER, "remove", "still-mine").status, 0, "its owner")


@contextlib.contextmanager
def locked_by_member(directory):
    """A process of a member that holds a lock on @directory, which it could open a while ago."""
    opened_directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    program = f"import fcntl, time; fcntl.flock({opened_directory}, fcntl.LOCK_EX); print('locked', flush=True); time.sleep(600)"
    with subprocess.Popen(["python3", "-c", program], user=MEMBER, group=MEMBER, extra_groups=[], pass_fds=[opened_directory],
                          stdout=subprocess.PIPE, text=True) as process:
        os.close(opened_directory)
        try:
            expect_equal(process.stdout.readline(), "locked\n", "the lock")
            yield process
        finally:
            process.kill()


@test
def spool_is_closed_to_members():
    """a member cannot open the spool; a lock that was taken before costs a caller seconds and is named"""
    need_root()
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir(mode=0o755)
        os.chmod(spool, 0o755)
        with locked_by_member(spool) as member, grouped_daemon(directory) as daemon:
            # The daemon listens before it looks.
            wait_until(lambda: os.stat(spool).st_mode & 0o7777 == 0o700, 20, "a spool that is closed")
            expect("changed its mode to 0700" in daemon.log.read_text(encoding="utf-8"), "a warning")
            expect(run("ls", spool, user=MEMBER, group=MEMBER, groups=[GROUP]).status != 0, "a member lists the spool")
            begin = time.monotonic()
            refused = as_user(daemon, OWNER, "capture", "--tag", "a", "-q")
            seconds = time.monotonic() - begin
            expect_equal(refused.status, 1, refused.err)
            expect(f"by process {member.pid} " in refused.err and f"of uid {MEMBER}" in refused.err, refused.err)
            expect(seconds < 60, "waited for the lock for", seconds, "s")
            member.kill()
            member.wait()
            expect_equal(as_user(daemon, OWNER, "capture", "--tag", "a", "-q").status, 0, "without the lock")


def longest_get_info(daemon, answered):
    """The longest that another user's GetInfo takes until the event is set, in seconds."""
    longest = 0.0
    connection = connect(daemon, OTHER)
    while True:
        last = answered.is_set()
        begin = time.monotonic()
        connection.sendall(b'{"method":"org.varlink.service.GetInfo"}\0')
        expect("error" not in receive(connection), "GetInfo")
        longest = max(longest, time.monotonic() - begin)
        if last:
            connection.close()
            return longest
        time.sleep(0.005)


@test
def many_tiny_snapshots():
    """64 references into a spool of very many snapshots hold up nobody else, and their number has a bound"""
    need_root()
    count = int(os.environ.get("CTPROF_MANY_SNAPSHOTS", "4000"))
    with temporary() as directory, open_daemon(directory) as daemon:
        capture(daemon)
        for number in range(count):
            os.link(daemon.spool / "a.ctprof.zst", daemon.spool / f"n{number}.ctprof.zst")
        names = [{"name": f"latest~{number}"} for number in range(64)]
        answered = threading.Event()
        replies = []

        def compare():
            begin = time.monotonic()
            connection = connect(daemon, HOSTILE)
            replies.append(call(connection, f"{PROFILER}.CompareSets", {"before": names[:32], "after": names[32:]},
                                more=True)[-1])
            replies.append(time.monotonic() - begin)
            answered.set()

        # acting_as() is for the whole process: connect one after the other.
        other = threading.Thread(target=compare)
        other.start()
        time.sleep(0.05)
        longest = longest_get_info(daemon, answered)
        other.join()
        print(f"# {count} snapshots: 64 references took {replies[1]:.2f} s, another's GetInfo {longest:.3f} s at most")
        # All were found: only the analysis can tell that they are links to one capture.
        expect("are the same capture" in replies[0]["parameters"].get("reason", ""), replies[0])
        expect(longest < 1, "GetInfo took", longest)
        listed = daemon("list", "--json")
        expect_equal((listed.status, len(listed.json()["snapshots"])), (0, count + 1), listed.err)
    with temporary() as directory, open_daemon(directory, "[Spool]\nMaxSnapshots=5\nMaxSnapshotsPerUser=3\n") as daemon:
        for name in ("a", "b", "c"):
            capture(daemon, name)
        refused = daemon("capture", "--tag", "d", user=OWNER, group=OWNER, groups=[])
        expect_equal(refused.status, 1, refused.err)
        expect("MaxSnapshotsPerUser=" in refused.one_sentence(), refused.err)
        for name in ("d", "e"):
            expect_equal(daemon("capture", "--tag", name, user=OTHER, group=OTHER, groups=[]).status, 0, name)
        refused = daemon("capture", "--tag", "f", user=HOSTILE, group=HOSTILE, groups=[])
        expect("MaxSnapshots=" in refused.one_sentence(), refused.err)
        expect_equal(len(daemon("list", "--json").json()["snapshots"]), 5, "what was there stays")


@test
def what_a_snapshot_tells():
    """a snapshot has no argument but the first, no environment, no path of a file, and no other column"""
    need_root()
    secret = "Xq7-of-nobody"
    documented = set()
    for table in ("metrics.tsv", "metrics-accounting.tsv", "metrics-memory.tsv",
                  "metrics-waits.tsv"):
        text = (TESTS / "data" / table).read_text(encoding="utf-8")
        documented |= {row.split("\t")[0] for row in text.splitlines()[1:]}
    identity = {"tid", "tgid", "ppid", "uid", "gid", "pcomm", "comm", "cgroup", "start_time_clock_ticks", "kthread",
                "self", "exe_dev", "exe_inode", "smaps_rollup_kb", "command", "command_line"}
    with temporary() as directory, Daemon(directory) as daemon:
        (directory / f"file-{secret}").touch()
        with open(directory / f"file-{secret}", encoding="ascii") as opened_file, \
                subprocess.Popen(["name", f"/proc/self/fd/0{secret}", "-"], executable="/bin/cat", stdin=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env={secret: secret}, cwd=directory,
                                 pass_fds=[opened_file.fileno()]) as process:
            capture(daemon)
            process.stdin.close()
        text = subprocess.run(["zstd", "-dc", daemon.spool / "a.ctprof.zst"], capture_output=True, check=True).stdout
        expect(secret.encode() not in text, "the secret is in the snapshot")
        tables = {name: set(value["columns"]) for name, value in json.loads(text).items()
                  if isinstance(value, dict) and "columns" in value}
        expect(tables["threads"] <= documented | identity, tables["threads"] - documented - identity)
        # The other tables, as of threads that ended and of disks, by the manual alone.
        manual = set(re.findall(r"\w+", (TESTS.parent / "man" / "snapshot.5").read_text(encoding="utf-8")))
        for name, columns in tables.items():
            expect(columns <= documented | manual, name, columns - documented - manual)
        print(f"# {', '.join(tables)}")


main()
