# SPDX-License-Identifier: GPL-2.0-or-later
"""What the live tests share: TAP, the programs under test, loads of known size, and clean endings.

Every process started here is ended by its pid, and every file lives in a temporary directory.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = pathlib.Path(os.environ["CTPROF_BUILD"])
CTPROFCTL = str(BUILD / "client" / "ctprofctl")
CTPROFD = str(BUILD / "daemon" / "ctprofd")
BUSY = str(BUILD / "tests" / "live" / "busy")
IDLE = str(BUILD / "tests" / "live" / "idle")

_tests = []


class Skip(Exception):
    """The machine cannot do this; the text says what it lacks."""


def private_host():
    """Begins again in a pid namespace of its own, where captures see only what the program itself starts.

    They are quick there, and of a size that no load outside changes. No BPF program is used there. The namespace has
    a first process of its own, so orphans are seen, and reaped. Without root it is the host.
    """
    if os.geteuid() != 0 or "CTPROF_PRIVATE_HOST" in os.environ:
        return
    os.environ["CTPROF_PRIVATE_HOST"] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                          '"$@"; exit $?', "sh", sys.executable, *sys.argv])


def test(function):
    """Registers a test; its docstring is the claim it proves."""
    _tests.append(function)
    return function


def main():
    """Runs what was registered, as TAP; the exit status tells whether all passed."""
    failed = 0
    print(f"1..{len(_tests)}", flush=True)
    for number, function in enumerate(_tests, 1):
        claim = (function.__doc__ or function.__name__).strip().splitlines()[0].rstrip(".")
        try:
            function()
            print(f"ok {number} - {claim}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {claim} # SKIP {reason}", flush=True)
        except BaseException:  # pylint: disable=broad-except # a test that dies is a failed test
            failed += 1
            print(f"not ok {number} - {claim}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    sys.exit(1 if failed else 0)


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(word) for word in what))


def expect_equal(got, wanted, *what):
    if got != wanted:
        where = " ".join(str(word) for word in what)
        raise AssertionError(f"{where}: got {got!r}, expected {wanted!r}")


@contextlib.contextmanager
def temporary():
    """A directory others may enter: clients of other uids run inside."""
    path = tempfile.mkdtemp(prefix="ctprof-test-")
    os.chmod(path, 0o755)
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Result:
    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout
        # The leak checker of a sanitized build talks when a thread ends while it looks.
        self.err = re.sub(r"==\d+==Unable to get registers from thread \d+\.\n", "", process.stderr)

    def json(self):
        expect_equal(self.status, 0, f"exit status, stderr {self.err!r}")
        return json.loads(self.out)

    def one_sentence(self):
        """Stderr must be exactly one line: the specific error."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        expect_equal(len(lines), 1, f"lines on stderr {self.err!r}")
        return lines[0]


# How many seconds a command may take: more where the processor is emulated, which tests/vm/guest/start says.
PATIENCE = int(os.environ.get("CTPROF_TEST_PATIENCE", "120"))


def run(*command, env=None, user=None, group=None, groups=None, timeout=PATIENCE, cwd=None, stdin=None):
    """Runs a command to its end; text in and out, whatever the bytes."""
    process = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="surrogateescape",
        env={**os.environ, **(env or {})}, user=user, group=group, extra_groups=groups,
        timeout=timeout, cwd=cwd, check=False, input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL)
    return Result(process)


# How Local captures unless a test says: a private daemon would read files on a host of few threads.
BACKEND = os.environ.get("CTPROF_TEST_BACKEND")


class Local:
    """ctprofctl --local with a spool of its own."""

    def __init__(self, spool):
        self.spool = spool

    def __call__(self, *arguments, **options):
        chosen = BACKEND and arguments[:1] == ("capture",) and "--backend" not in arguments
        if chosen:
            arguments = ("capture", "--backend", BACKEND, *arguments[1:])
        result = run(CTPROFCTL, "--local", "--spool", self.spool, *arguments, **options)
        if chosen and result.status == 1 and "cannot be read through BPF" in result.err:
            raise Skip(result.err.strip())
        return result


def without_programs(directory):
    """Options of a daemon that loads nothing into the kernel: that takes a tenth of a second at each start.

    Nor does its snapshot have the ledger of the dead, which grows with whatever else ends on the host.
    """
    path = directory / "without-programs.conf"
    path.write_text("[Capture]\nBackend=procfs\nExitAccounting=off\nWaitAccounting=off\n", encoding="utf-8")
    return ["--config", str(path)]


class Daemon:
    """A ctprofd that listens on a socket of its own; ended by its pid."""

    def __init__(self, directory, activated=False, options=(), prefix=()):
        self.socket = directory / "socket"
        self.spool = directory / "spool"
        self.log = directory / "log"
        self.spool.mkdir(mode=0o700, exist_ok=True)
        command = [*prefix, CTPROFD, "--spool", str(self.spool), *options]
        if activated:
            command = ["systemd-socket-activate", "-l", str(self.socket), "--fdname=varlink", *command]
        else:
            command += ["--listen", str(self.socket)]
        with open(self.log, "ab") as log:
            # Ctrl-C is for the test, which then ends the daemon.
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True)
        self._wait_for_socket()

    def _wait_for_socket(self):
        deadline = time.monotonic() + 20
        while not self._listens():
            expect(self.process.poll() is None, "ctprofd ended:", self.log.read_text())
            expect(time.monotonic() < deadline, "no socket after 20 s:", self.log.read_text())
            time.sleep(0.01)

    def _listens(self):
        # Looking must not connect: a socket-activated daemon would be started by it.
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
            lines = (line.split() for line in table)
            return any(words[-1] == str(self.socket) and words[3] == "00010000" for words in lines)

    def __call__(self, *arguments, **options):
        return run(CTPROFCTL, "--socket", self.socket, *arguments, **options)

    def alive(self):
        return self.process.poll() is None

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # With a time limit it would fail at once where the daemon has not accepted others yet.
        connection.connect(str(self.socket))
        connection.settimeout(60)
        return connection

    def children(self):
        """Pids of the jobs that run now, but for the one that stays where BPF does not work."""
        return [pid for pid in self._children() if not self._hears_exits(pid)]

    def listener(self):
        """The job that stays and hears of exits; None if there is none."""
        return next(filter(self._hears_exits, self._children()), None)

    def _children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as children:
            return [int(word) for word in children.read().split()]

    @staticmethod
    def _hears_exits(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                return b"--job=listen" in words.read().split(b"\0")
        except OSError:
            return False

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.socket.unlink(missing_ok=True)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def descriptors(pid):
    """What is open in a process: pairs of a path below /proc and what it leads to."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since the directory was read
            found.append((path, os.readlink(path)))
    return found


def memory_files(pid, name):
    """Inodes of the files in memory of that name that a process has open, once for each descriptor."""
    found = []
    for path, target in descriptors(pid):
        if target.startswith(f"/memfd:{name}"):
            with contextlib.suppress(FileNotFoundError):
                found.append(os.stat(path).st_ino)
    return found


@contextlib.contextmanager
def replaced_program(directory):
    """A process whose program is deleted while it runs, as by an upgrade."""
    program = directory / "replaced"
    shutil.copy("/bin/sleep", program)
    program.chmod(0o755)
    with subprocess.Popen([program, "600"]) as process:
        try:
            wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program), what="the program")
            program.unlink()
            yield
        finally:
            process.kill()


class Idle:
    """Threads that do nothing until closed."""

    def __init__(self, threads, processes, *names):
        self.process = subprocess.Popen([IDLE, str(threads), str(processes), *names],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise Skip(f"{threads} threads cannot be started here")
        self.pids = [int(word) for word in line.split()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)


class Busy:
    """The load of known size; round() runs it once."""

    def __init__(self, directory):
        self.go = directory / "go"
        self.done = directory / "done"
        os.mkfifo(self.go)
        os.mkfifo(self.done)
        self.process = subprocess.Popen([BUSY, str(self.go), str(self.done), str(directory)])
        self.pid = self.process.pid
        self._wait()

    def _wait(self):
        with open(self.done, encoding="ascii") as done:
            expect_equal(done.readline(), "ready\n", "the load")

    def round(self):
        self.go.write_text("go\n", encoding="ascii")
        self._wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def call(connection, method, parameters=None, more=False):
    """One varlink call over a connected socket; returns the list of its replies."""
    message = {"method": method, "parameters": parameters or {}}
    if more:
        message["more"] = True
    connection.sendall(json.dumps(message).encode() + b"\0")
    return receive(connection)


def receive(connection):
    """Replies up to one that does not continue."""
    replies, data = [], b""
    while True:
        end = data.find(b"\0")
        if end < 0:
            piece = connection.recv(1 << 16)
            if not piece:
                return replies
            data += piece
            continue
        reply = json.loads(data[:end])
        data = data[end + 1:]
        replies.append(reply)
        if not reply.get("continues"):
            return replies


@contextlib.contextmanager
def sysctl(name, value):
    """Sets a switch for a while and restores it."""
    path = pathlib.Path("/proc/sys") / name.replace(".", "/")
    try:
        before = path.read_text(encoding="ascii").strip()
        path.write_text(str(value), encoding="ascii")
    except OSError as error:
        raise Skip(f"{name} cannot be set: {error.strerror}") from error
    try:
        yield
    finally:
        path.write_text(before, encoding="ascii")


def sanitized():
    """Whether the programs under test were built with sanitizers, whose memory is not the programs'."""
    options = json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text(encoding="utf-8"))
    return any(option["name"] == "b_sanitize" and option["value"] != "none" for option in options)


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def wait_until(condition, seconds=20, what="condition"):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, "waited in vain for", what)
        time.sleep(0.01)


def settled(read, seconds=20, moment=0.05):
    """What read() says once it says the same twice, a moment apart."""
    deadline = time.monotonic() + seconds
    last = read()
    while True:
        time.sleep(moment)
        now = read()
        if now == last:
            return now
        expect(time.monotonic() < deadline, "it never settles")
        last = now


def end(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
