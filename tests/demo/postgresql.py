# SPDX-License-Identifier: GPL-2.0-or-later
"""PostgreSQL under pgbench becomes slower: every commit has begun to wait for the disk."""
import contextlib
import os
import pathlib
import pwd
import re
import signal
import subprocess
import time

from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval, started
from harness import Daemon, Skip, expect, main, sysctl, test, wait_until
from programs import Programs

PACKAGES = {"initdb": "postgresql", "postgres": "postgresql", "pgbench": "postgresql", "psql": "postgresql"}
SETTINGS = {"listen_addresses": "", "shared_buffers": "64MB", "jit": "off", "autovacuum": "off",
            "synchronous_commit": "off"}
LEAST_SHARE = 0.08  # of the time, a little more than what the first screen leaves out
DURATION_S = 60  # of a load that is ended before


def as_nobody():
    """The server refuses to be root."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


class Server:
    """A cluster of its own that only a Unix socket in its directory leads to."""

    def __init__(self, directory, programs):
        self.directory = directory / "postgresql"
        self.programs = programs
        self.directory.mkdir()
        if as_nobody():
            os.chown(self.directory, pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
        self.options = {"env": {**os.environ, **programs.environment, "PGHOST": str(self.directory),
                                "PGUSER": "postgres", "PGDATABASE": "postgres"},
                        "cwd": self.directory}
        self.run("initdb", "--pgdata", "data", "--username=postgres", "--auth=trust", "--no-sync", "--no-locale",
                 "--encoding=UTF8")

    def command(self, program, *arguments):
        return [*as_nobody(), self.programs[program], *arguments]

    def run(self, program, *arguments):
        process = subprocess.run(self.command(program, *arguments), **self.options, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, check=False)
        expect(process.returncode == 0, program, "failed:", process.stderr[-2000:])
        return process.stdout

    @contextlib.contextmanager
    def serving(self):
        log = self.directory / "log"
        with open(self.directory / "data" / "postgresql.conf", "a", encoding="ascii") as file:
            for name, value in {**SETTINGS, "unix_socket_directories": self.directory}.items():
                file.write(f"{name} = '{value}'\n")
        # An interrupt is the quick way to end: sessions are told to go.
        with started(*self.command("postgres", "-D", "data"), log=log, stop=signal.SIGINT, **self.options) as server:
            def ready():
                expect(server.poll() is None, log.read_text(errors="replace"))
                return "ready to accept connections" in log.read_text(errors="replace")
            wait_until(ready, 30, "the server")
            yield

    def set(self, name, value):
        """Changes a setting for all sessions, also for those that are there."""
        self.run("psql", "-XAt", "-c", f"alter system set {name} = {value}", "-c", "select pg_reload_conf()")


class Load:
    """pgbench, and what it says that it has done."""

    def __init__(self, server, clients):
        self.log = server.directory / "pgbench"
        server.run("pgbench", "--initialize", "--quiet", "--scale=5")
        self.running = started(*server.command("pgbench", f"--client={clients}", f"--jobs={min(2, clients)}",
                                               f"--time={DURATION_S}", "--progress=1", "--no-vacuum"),
                               log=self.log, **server.options)

    def __enter__(self):
        self.process = self.running.__enter__()
        return self

    def __exit__(self, *reason):
        return self.running.__exit__(*reason)

    def transactions(self):
        """Up to the last full second."""
        expect(self.process.poll() is None, "pgbench ended:", self.log.read_text())
        return sum(map(float, re.findall(r"^progress: .* s, ([0-9.]+) tps", self.log.read_text(), re.M)))


def written_bytes():
    """By all disks, up to now."""
    disks = (path.read_text(encoding="ascii").split() for path in pathlib.Path("/sys/block").glob("*/stat")
             if (path.parent / "device").exists())
    return sum(int(words[6]) * 512 for words in disks)


@contextlib.contextmanager
def in_image(directory):
    """A directory on an ext4 of its own in a file, of which each sync takes one of that file besides; as root."""
    image, mounted = directory / "image", directory / "mounted"
    mounted.mkdir()
    if os.geteuid() != 0:
        yield mounted
        return
    with open(image, "wb") as file:
        file.truncate(1 << 30)
    for command in (["mke2fs", "-q", "-t", "ext4", image], ["mount", "-o", "loop", image, mounted]):
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
        if done.returncode != 0:
            raise Skip(f"{command[0]}: {done.stderr.strip()}")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)


def investigate(clients, place=contextlib.nullcontext):
    """What is seen when commits begin to wait for the disk, the bytes a second that all disks write then, and the share
    of the time that the server waits in syncs, None where nobody counts that."""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        # Only tasks that start afterwards are accounted for.
        stack.enter_context(sysctl("kernel.task_delayacct", 1))
        daemon = stack.enter_context(Daemon(directory))
        server = Server(stack.enter_context(place(directory)), programs)
        stack.enter_context(server.serving())
        load = stack.enter_context(Load(server, clients))
        time.sleep(SETTLE_S)
        fast = interval(daemon, "a", "b", load.transactions)
        server.set("synchronous_commit", "on")
        time.sleep(SETTLE_S)
        begin, disks = time.monotonic(), written_bytes()
        slow = interval(daemon, "c", "d", load.transactions)
        written = (written_bytes() - disks) / (time.monotonic() - begin)
        became_slower("transactions", fast, slow)
        answer = daemon("show", "c..d", "--filter", "postgres", "--json").json()
        sync = answer["groups"][0]["time"]["syncNs"]
        share = None if sync is None else sync / answer["elapsedNs"]
        return written, share, ask(["--socket", daemon.socket], "compare", "a..b", "c..d")


@test
def commits_wait_for_the_disk():
    """with synchronous_commit on, the first screen says that PostgreSQL waits for storage"""
    written, _, screens = investigate(8)
    for screen in screens:
        row = screen.row("postgres")
        before, after = row.sides("IO")
        expect(after > before + 0.02, "the wait for storage:", row.cells["IO"])
        expect("sync" in screen.text, "nothing is said of fsync")
        if screen is screens[0] and "WRITE/S" not in row.cells:  # on 80 columns there may be none left for it
            expect(screen.find(r"^no room for .*\bWRITE/S\b"), "writes are not there, and nothing says why")
            continue
        before, after = row.sides("WRITE/S")
        expect(after > before, "writes:", row.cells["WRITE/S"])
        # The kernel counts whole folios.
        if after > 2 * written:
            expect("~" in row.cells["WRITE/S"], f"the disks wrote {written:.0f} B/s, and writes are", row.cells["WRITE/S"])
            # In a pipe, which has more groups, it stands below them.
            expect(screen is not screens[0] or screen.find(r"^~ .*\bWRITE\b"))


@test
def one_client_waits_in_fsync():
    """with synchronous_commit on and one client, the first screen says for how much of the time PostgreSQL waits in a sync"""
    _, share, screens = investigate(1, in_image)
    if share is None:
        raise Skip("no programs can count waits here")
    if share < LEAST_SHARE:
        raise Skip(f"its syncs take {100 * share:.0f} % of the time here: the disk is quick, or the processors are wanted more")
    for screen in screens:
        told = re.search(r"\bpostgres: sync (\S+) \u2192 (\d\.\d+)", screen.text)
        expect(told, "no sync in", *screen.lines)
        expect(float(told[1]) + 0.03 < float(told[2]) < share + 0.02, "in sync:", told[0], share)


main()
