# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon whose calls can be made to fail, and what has to hold after each failure."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from harness import BUILD, CTPROFCTL, CTPROFD, call

TRACER = BUILD / "tests" / "fault" / "fault-tracer"
# Bounds of a hang, for a machine that has other things to do.
SECONDS_OF_A_CALL = 20
SECONDS_TO_SETTLE = 15
# Long enough for any call here, and short enough that a hang is seen as one.
# The namespace of the rig takes no BPF programs.
CONFIGURATION = """[Jobs]
CaptureTime=40s
AnalysisTime=40s

[Capture]
Backend=procfs
ExitAccounting=off
WaitAccounting=off
"""
ERROR_NAMES = re.compile(r"^error (\w+)", re.M)
INTERFACE = pathlib.Path(__file__).resolve().parents[2] / "protocol/interface/io.ctprof.Profiler.varlink.in"
STANDARD_ERRORS = {"org.varlink.service." + word for word in (
    "InterfaceNotFound", "MethodNotFound", "MethodNotImplemented", "InvalidParameter",
    "PermissionDenied", "ExpectedMore")}
NAMED_ERRORS = STANDARD_ERRORS | {"io.ctprof.Profiler." + word for word in ERROR_NAMES.findall(
    INTERFACE.read_text(encoding="utf-8"))}
NONSENSE = re.compile(r"Success|Unknown error|\(null\)|errno|^\s*$|errno=|-\d+$")


class Broken(Exception):
    """A promise that did not hold after a fault."""


class Fault:
    """One call of a scenario, and how it fails."""

    def __init__(self, call_text, nth, error, count=1):
        self.call, self.nth, self.error, self.count = call_text, nth, error, count

    def __str__(self):
        return f"{self.error}:{self.nth}:{self.call}"

    @classmethod
    def parse(cls, text):
        late = text.startswith("late:")
        error, nth, call_text = text.removeprefix("late:").split(":", 2)
        return cls(call_text, int(nth), ("late:" if late else "") + error)


class Tracer:
    """The program that runs the daemon, and the commands it takes."""

    def __init__(self, command, log, environment):
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [TRACER, str(theirs.fileno()), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[theirs.fileno()], env=environment)
        self.control = ours.makefile("rw", encoding="utf-8", errors="surrogateescape")
        ours.close()

    def begin(self, kind=None, fault=None):
        """What is done after this is counted."""
        words = f" {fault.nth} {fault.count} {kind} {fault.call}" if fault else ""
        self.control.write(f"begin{words}\n")
        self.control.flush()
        self.control.readline()

    def always(self, error, ending):
        """Calls that this host does not have."""
        self.control.write(f"always {error} {ending}\n")
        self.control.flush()

    def end(self):
        """How often the fault came, and the calls since begin()."""
        self.control.write("end\n")
        self.control.flush()
        fired = int(self.control.readline().split()[1])
        calls = []
        while (line := self.control.readline()) not in (".\n", ""):
            calls.append(line[:-1])
        return fired, calls

    def close(self):
        self.control.close()
        self.process.wait(SECONDS_OF_A_CALL)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return [int(word) for word in children.read().split()]
    except FileNotFoundError:
        return []


def descriptors_of(pid):
    """What a process has open, without the numbers that differ from run to run."""
    kinds = []
    directory = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(directory)
    except FileNotFoundError:
        return kinds
    for number in numbers:
        try:
            kinds.append(re.sub(r"\d+", "#", os.readlink(f"{directory}/{number}")))
        except FileNotFoundError:
            pass
    return sorted(kinds)


class Rig:
    """A daemon with its own spool, under the tracer."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.spool = self.directory / "spool"
        self.socket = self.directory / "socket"
        self.log = self.directory / "log"
        self.spool.mkdir(mode=0o700, exist_ok=True)
        (self.directory / "config").write_text(CONFIGURATION, encoding="ascii")
        self.tracer = None
        self.pid = 0
        self.idle = []

    # life

    def launch(self, kind=None, fault=None, environment=None):
        """Starts the daemon; its very first call may be the one that fails."""
        self.socket.unlink(missing_ok=True)
        self.log.write_bytes(b"")
        command = [CTPROFD, "--spool", str(self.spool), "--listen", str(self.socket),
                   "--config", str(self.directory / "config")]
        with open(self.log, "ab") as log:
            self.tracer = Tracer(command, log, {**os.environ, **(environment or {})})
        self.tracer.begin(kind, fault)
        self.pid = 0

    def await_start(self):
        """True once the daemon listens and waits, False when it has ended."""
        deadline = time.monotonic() + SECONDS_OF_A_CALL
        while time.monotonic() < deadline:
            if self.tracer.process.poll() is not None:
                return False
            if self.socket.exists() and self._waits():
                self.idle = descriptors_of(self.pid)
                return True
            time.sleep(0.002)
        raise Broken("the daemon neither starts nor ends")

    def _waits(self):
        self.pid = self.pid or next(iter(children_of(self.tracer.process.pid)), 0)
        try:
            word = pathlib.Path(f"/proc/{self.pid}/syscall").read_text(encoding="ascii").split()[0]
            wchan = pathlib.Path(f"/proc/{self.pid}/wchan").read_text(encoding="ascii")
        except (OSError, IndexError):
            return False
        return word not in ("running", "-1") and "poll" in wchan and not children_of(self.pid)

    def alive(self):
        return self.tracer is not None and self.tracer.process.poll() is None

    def stop(self):
        if self.tracer:
            self.tracer.close()
        self.tracer = None

    def log_lines(self):
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()

    # calls

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(SECONDS_OF_A_CALL)
        connection.connect(str(self.socket))
        return connection

    def call(self, method, parameters=None, more=False):
        """The replies; [] when the connection ended without any."""
        with self.connect() as connection:
            try:
                return call(connection, "io.ctprof.Profiler." + method, parameters, more)
            except (ConnectionResetError, BrokenPipeError):
                return []
            except TimeoutError as error:
                raise Broken(f"no answer in {SECONDS_OF_A_CALL} s") from error

    # what there is

    def files(self):
        found = {}
        for entry in os.scandir(self.spool):
            status = entry.stat(follow_symlinks=False)
            found[entry.name] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    def settle(self):
        """Waits until the daemon is as it was at first: no child, and the same descriptors."""
        deadline = time.monotonic() + SECONDS_TO_SETTLE
        while True:
            children, descriptors = children_of(self.pid), descriptors_of(self.pid)
            if not self.alive():
                raise Broken("the daemon ended: " + " / ".join(self.log_lines()[-3:]))
            if not children and descriptors == self.idle:
                return
            if time.monotonic() > deadline:
                raise Broken(f"children {children}, descriptors {difference(self.idle, descriptors)}")
            time.sleep(0.001)

    def document(self, name):
        text = subprocess.run(["zstd", "-dcq", self.spool / f"{name}.ctprof.zst"], check=True,
                              capture_output=True).stdout
        return json.loads(text.decode("utf-8", "surrogateescape"))

    def wipe(self, name):
        for path in self.spool.glob(name):
            path.unlink()

    def restore(self, source):
        """The spool is what it was before the scenario."""
        for path in self.spool.iterdir():
            path.unlink()
        for path in source.iterdir():
            shutil.copy2(path, self.spool)


def difference(before, after):
    rest = list(after)
    gone = []
    for item in before:
        if item in rest:
            rest.remove(item)
        else:
            gone.append(item)
    return f"more {rest}, less {gone}"


def reason_of(reply):
    """The text of an error, checked to be one of the interface with something to say."""
    name = reply["error"]
    parameters = reply.get("parameters") or {}
    if name not in NAMED_ERRORS:
        raise Broken(f"error {name} is not of the interface")
    text = parameters.get("reason", parameters.get("name", parameters.get("parameter", "")))
    if NONSENSE.search(text) or "\n" in text:
        raise Broken(f"error {name} says {text!r}")
    return name.rsplit(".", 1)[1], text
