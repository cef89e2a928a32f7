# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that is hard to read: each kind of trouble is started and ended by a with statement.

What is started here is bounded, and ends with its standard input or its cgroup; nothing is left behind.
"""
import contextlib
import errno
import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import termios
import threading

from harness import BUILD, CTPROFD, Skip, end, expect, expect_equal, wait_until

HOSTILE = str(BUILD / "tests" / "live" / "hostile")
SLOW = b"__asan_init" in pathlib.Path(CTPROFD).read_bytes()  # built with sanitizers


def capture(ctl, directory, *options):
    """A new snapshot: what the command answered, and its document with the threads as "rows" of names too."""
    file = directory / "capture.ctprof.zst"
    # A daemon of its own verifies its programs first, which a host full of hostile processes leaves little time for.
    answer = ctl("capture", "--replace", "--tag", "now", "--json", *options, timeout=600).json()
    file.unlink(missing_ok=True)
    expect_equal(ctl("export", "now", file).status, 0, "export")
    text = subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout
    document = json.loads(text)
    columns = document["threads"]["columns"]
    document["rows"] = [dict(zip(columns, cells)) for cells in document["threads"]["rows"]]
    document["name"] = "now"
    return answer, document


def state_of(pid, tid=None):
    """The letter of a thread's state now."""
    with open(f"/proc/{pid}/task/{tid or pid}/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[0].decode()


def on_terminal(*command, columns=80):
    """What a command writes to a terminal of so many columns, as lines; its exit status must be 0."""
    ours, its = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("=HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([str(word) for word in command], stdin=its, stdout=its, stderr=its,
                                   env={**os.environ, "TERM": "xterm", "PAGER": "cat", "NO_COLOR": "1"})
        os.close(its)
        written = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while piece := terminal.read(65536):
                written += piece
        expect_equal(process.wait(60), 0, "exit status", written)
    return written.decode().replace("\r\n", "\n").splitlines()


# Its second thread wants the lock for itself as soon as somebody else reads its memory.
MAPPER = """
import mmap, sys
file = open(sys.argv[1], "rb")
area = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
lines = open("/proc/self/maps").read().splitlines()
print(next(line.split("-")[0] for line in lines if line.endswith(sys.argv[1])), flush=True)
sys.stdin.readline()
mmap.mmap(-1, 4096)
"""
PEEPER = """
import os, sys
os.pread(os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY), 1, int(sys.argv[2], 16))
"""


@contextlib.contextmanager
def held_memory(fuse):
    """The pid of a process whose mmap lock is not to be had, which takes no privilege to arrange."""
    with subprocess.Popen([sys.executable, "-c", MAPPER, str(fuse.path("page"))], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as mapper:
        address = mapper.stdout.readline().strip()
        with subprocess.Popen([sys.executable, "-c", PEEPER, str(mapper.pid), address],
                              stderr=subprocess.DEVNULL) as peeper:
            try:
                expect(fuse.waiting.wait(20), "nobody asked for the page")
                mapper.stdin.write("\n")
                mapper.stdin.flush()
                wait_until(lambda: state_of(mapper.pid) == "D", what="somebody to wait for the lock")
                yield mapper.pid
            finally:
                peeper.kill()
                mapper.kill()
                fuse.release()


class Actor:
    """A process of hostile.c that says when it is ready, and the pids it names."""

    def __init__(self, *words, cgroup=None, executable=HOSTILE, env=None):
        command = [str(word) for word in (executable, *words)]
        if cgroup:
            command = cgroup.enter(command)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise Skip(f"{' '.join(map(str, words))} cannot be started here")
        self.pids = [int(word) for word in line.split()]
        self.pid = self.pids[0]

    def next_line(self):
        """Asks for another line of pids, of those who answer to that."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Storm(Actor):
    """@n threads of one process that are born and die all the time, each after about @life_us."""

    def __init__(self, directory, n, life_us, env=None):
        self.table = directory / f"storm-{n}-{life_us}"
        self.n = n
        super().__init__("storm", self.table, n, life_us, env=env)

    def tids(self):
        """The thread of each slot now, as the threads themselves say; 0 while there is none."""
        return struct.unpack(f"={self.n}I", self.table.read_bytes())


class Execs(Actor):
    """A process whose threads, never the leader, execute a program every @us.

    It is called exec-0 and exec-1 in turn; the leader of the one is bound to CPU 0 and has written 1,000
    bytes, that of the other to CPU 1 and has written 2,000. Needs two CPUs.
    """

    def __init__(self, directory, us, env=None):
        if not {0, 1} <= os.sched_getaffinity(0):
            raise Skip("needs CPUs 0 and 1")
        paths = [directory / "exec-0", directory / "exec-1"]
        for path in paths:
            if not path.exists():
                path.symlink_to(HOSTILE)
        super().__init__("exec", *paths, us, env=env)


class ForkBomb:
    """Forks in a cgroup of at most @n processes."""

    def __init__(self, n):
        self.cgroup = Cgroup(f"bomb-{os.getpid()}", parent=Cgroup.with_controller("pids"))
        try:
            self.cgroup.write("pids.max", n)
            self.actor = Actor("bomb", cgroup=self.cgroup)
        except BaseException:
            self.cgroup.remove()
            raise

    def close(self):
        self.cgroup.kill()
        self.actor.close()
        self.cgroup.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _mounts(kind):
    """Where file systems of a type are mounted, and their options."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        words = line.split()
        rest = words[words.index("-") + 1:]
        if rest[0] == kind and words[3] == "/":
            yield pathlib.Path(words[4].encode().decode("unicode_escape")), rest[2].split(",")


def _path_of(directory):
    return directory.path if isinstance(directory, Cgroup) else directory


class Cgroup:
    """A cgroup, of version 2 unless its parent is of version 1; removed with all below it."""

    def __init__(self, name, parent=None):
        self.path = _path_of(parent or self.root()) / os.fsdecode(name)
        try:
            self.path.mkdir()
        except OSError as error:
            raise Skip(f"no cgroup can be made in {self.path.parent}: {error.strerror}") from error

    @staticmethod
    def root():
        """The mount of version 2."""
        for path, _ in _mounts("cgroup2"):
            return path
        raise Skip("no cgroup v2 hierarchy is mounted")

    @staticmethod
    def with_controller(name):
        """The root of a hierarchy whose children have the controller."""
        for path, options in _mounts("cgroup"):
            if name in options:
                return path
        root = Cgroup.root()
        if name not in (root / "cgroup.controllers").read_text(encoding="ascii").split():
            raise Skip(f"there is no cgroup controller {name}")
        (root / "cgroup.subtree_control").write_text(f"+{name}", encoding="ascii")
        return root

    def write(self, name, value):
        (self.path / name).write_text(f"{value}\n", encoding="ascii")

    def read(self, name):
        return (self.path / name).read_text(encoding="ascii")

    def procs(self):
        try:
            return [int(word) for word in self.read("cgroup.procs").split()]
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:  # a threaded one tells its threads only
                raise
            return []

    def enter(self, command):
        """The command that runs @command in here."""
        return ["sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(self.path), *command]

    def kill(self):
        """Ends everything in here, also what forks as fast as it is ended."""
        def empty():
            with contextlib.suppress(OSError):
                self.write("pids.max", 0)
            try:
                self.write("cgroup.kill", 1)
            except OSError:  # version 1, or before Linux 5.14
                for pid in self.procs():
                    end(pid)
            return not self.procs()
        wait_until(empty, what=f"the end of all in {self.path}")

    def remove(self):
        """Ends what runs here and below, and removes all of it."""
        for directory, _, _ in os.walk(self.path, topdown=False):
            group = Cgroup.__new__(Cgroup)
            group.path = pathlib.Path(directory)
            if group.procs():
                group.kill()
            wait_until(group.is_removed, what=f"{directory} to be removed")

    def is_removed(self):
        try:
            self.path.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # what was ended is not gone yet
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


class CgroupTree:
    """@n cgroups: @width of them in each of the levels that takes."""

    def __init__(self, n, width=10):
        self.top = Cgroup(f"tree-{os.getpid()}")
        self.paths = [self.top.path]
        try:
            for path in self.paths:
                for number in range(min(width, n - len(self.paths))):
                    child = path / f"c{number}"
                    child.mkdir()
                    self.paths.append(child)
                if len(self.paths) >= n:
                    break
        except BaseException:
            self.close()
            raise

    def close(self):
        self.top.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class CgroupChurn:
    """Cgroups that are made, entered, left and removed all the time, up to @n at once."""

    def __init__(self, n):
        self.top = Cgroup(f"churn-{os.getpid()}")
        self.made = 0
        self._n = n
        self._stop = threading.Event()
        self._error = None
        self._sleepers = [subprocess.Popen(["sleep", "infinity"]) for _ in range(n)]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _round(self, number):
        slot = number % self._n
        old, new = (self.top.path / f"g{number - self._n}"), (self.top.path / f"g{number}")
        new.mkdir()
        (new / "cgroup.procs").write_text(str(self._sleepers[slot].pid), encoding="ascii")
        self.made += 1
        if old.exists():
            old.rmdir()

    def _run(self):
        number = 0
        try:
            while not self._stop.is_set():
                self._round(number)
                number += 1
        except OSError as error:
            self._error = error

    def close(self):
        self._stop.set()
        self._thread.join()
        for sleeper in self._sleepers:
            sleeper.kill()
            sleeper.wait()
        self.top.remove()
        if self._error:
            raise self._error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def background(directory, processes=200, threads=400):
    """A bit of everything at once, for as long as the block runs.

    Needs root. Roughly one CPU is kept busy.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ForkBomb(processes))
        stack.enter_context(Storm(directory, threads, 50000))
        stack.enter_context(Execs(directory, 20000))
        stack.enter_context(CgroupChurn(20))
        stack.enter_context(CgroupTree(200))
        for words in (("zombie", 20), ("headless", 10), ("vfork",), ("stopped",), ("traced",)):
            stack.enter_context(Actor(*words))
        yield
