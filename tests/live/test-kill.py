#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL of the daemon or of its jobs at any instant, under load, loses nothing and leaves nothing.

Eight clients capture (with a tag, without, over an earlier one), import, rename, remove, compare, convert and
verify as fast as they are served, in a spool whose budget has the untagged ones rotated all the time. At a
random instant the daemon dies, or some of its jobs; then the next daemon serves the same listening socket, as
systemd would start it. After each kill every snapshot is what the last answer about it said, or what a call
that was not answered may have made of it; all that is listed verifies; no job, no temporary and no descriptor
is left; calls that were made while no daemon lived are answered.

The kills are 40, or $CTPROF_KILLS; the instants follow from $CTPROF_TEST_SEED.
"""
import collections
import contextlib
import json
import os
import random
import socket
import subprocess
import threading
import time

from harness import (CTPROFCTL, CTPROFD, Daemon, Idle, call, end, expect, expect_equal, main, private_host, receive,
                     settled, temporary, test, wait_until, without_programs)

KILLS = int(os.environ.get("CTPROF_KILLS", "40"))
SEED = int(os.environ.get("CTPROF_TEST_SEED", "20261120"))
INTERFACE = "io.ctprof.Profiler."
BUDGET = 30  # snapshots
ANYTHING = object()  # some snapshot of that name, whichever
KINDS = ("daemon", "capture", "analysis", "spool")  # what is killed


class Activated(Daemon):
    """A daemon on a socket that outlives it, as systemd holds it."""

    def __init__(self, directory, options=()):  # pylint: disable=super-init-not-called
        self.socket = directory / "socket"
        self.spool = directory / "spool"
        self.log = directory / "log"
        self.options = options
        self.spool.mkdir()
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(str(self.socket))
        self.listening.listen(64)
        self.start()

    def start(self):
        def first_descriptor():
            os.dup2(self.listening.fileno(), 3)

        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", CTPROFD, "--spool", str(self.spool), *self.options],
                env={**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "varlink"}, pass_fds=[3],
                preexec_fn=first_descriptor, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def restart(self):
        """Returns once nothing of the dead daemon runs any more."""
        self.process.wait()
        wait_until(lambda: not processes_of(CTPROFD), what="the end of all jobs")
        self.start()

    def close(self):
        super().close()
        self.listening.close()


def processes_of(program):
    """Processes of this host, or of this session where others are on it, that run @program."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{pid}/exe", program) and os.getsid(int(pid)) == os.getsid(0):
                found.append(int(pid))
    return found


def kind_of(pid):
    """What a job does: "capture", "analysis" or "spool"."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            for word in line.read().split(b"\0"):
                if word.startswith(b"--job="):
                    return word.removeprefix(b"--job=").decode()
    return None


class Knowledge:
    """What answers said of the spool, and what calls without an answer may have made of it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.tagged = {}  # name -> start of the snapshot, None when it was removed
        self.open = {}  # name -> starts that it may have besides
        self.untagged = {}  # name -> start
        self.rotated = set()
        self.adding = 0  # calls without an answer that may have added one and rotated others
        self.cut = collections.Counter()  # calls without an answer, by method

    def begin(self, method, outcomes):
        with self.lock:
            self.open.update({name: start for name, start in outcomes.items() if name})
            self.adding += method in ("Capture", "Import")

    def answer(self, method, outcomes, parameters):
        """@parameters: of the answer; None when there was none or it failed."""
        with self.lock:
            if parameters is None:
                return
            self.adding -= method in ("Capture", "Import")
            head = parameters.get("snapshot") or (parameters.get("snapshots") or [{}])[0]
            for name, outcome in outcomes.items():
                start = head["startRealtimeNs"] if outcome else None
                if name:
                    self.tagged[name] = start
                    del self.open[name]
                elif head["name"] not in self.rotated:
                    self.untagged[head["name"]] = start
            for name in parameters.get("rotated", []):
                self.rotated.add(name)
                self.untagged.pop(name, None)

    def check(self, heads):
        """Holds the list against what is known, and learns from it what was open."""
        found = {head["name"]: head["startRealtimeNs"] for head in heads}
        for name, start in self.tagged.items():
            if name not in self.open:
                expect_equal(found.get(name), start, name, "was answered and")
        for name, outcome in self.open.items():
            now, before = found.get(name), self.tagged.get(name)
            expect(now == before or (now is None if outcome is None else now is not None),
                   f"{name} started at {now}: neither {before} nor what a call may have made")
            self.tagged[name] = now
        self.open = {}
        unnamed = {head["name"] for head in heads if not head["tagged"]}
        expect(not unnamed & self.rotated, "rotated and there:", unnamed & self.rotated)
        expect(len(unnamed - self.untagged.keys()) <= self.adding, "came from nowhere:", unnamed - self.untagged.keys())
        expect(found.keys() - unnamed <= self.tagged.keys(), "came from nowhere:", found.keys() - self.tagged.keys())
        gone = [start for name, start in self.untagged.items() if name not in unnamed]
        kept = [start for name, start in self.untagged.items() if name in unnamed]
        expect(not gone or self.adding, "lost, and nobody made room")
        expect(not gone or not kept or max(gone) < min(kept), "lost, and older ones are there")
        self.untagged = {name: found[name] for name in unnamed}
        self.adding = 0

    def forget(self, names):
        """After an answer that they are removed."""
        for name in names:
            self.tagged[name] = None


class Client(threading.Thread):
    """Calls by turns what @turn yields: (method, parameters, descriptors, {name: what becomes of it})."""

    def __init__(self, daemon, knowledge, stop, turn):
        super().__init__()
        self.daemon_at, self.knowledge, self.stop, self.turn = daemon, knowledge, stop, turn
        self.complaint = None

    def run(self):
        try:
            with self.daemon_at.connect() as connection:
                while not self.stop.is_set() and self._once(connection):
                    pass
        except Exception as error:  # pylint: disable=broad-except # told by the test
            self.complaint = error

    def _once(self, connection):
        method, parameters, descriptors, outcomes = next(self.turn, ("Status", {}, [], {}))
        self.knowledge.begin(method, outcomes)
        more = method == "Compare"
        message = {"method": INTERFACE + method, "parameters": parameters, **({"more": True} if more else {})}
        replies = []
        with contextlib.suppress(ConnectionError):
            socket.send_fds(connection, [json.dumps(message).encode() + b"\0"], descriptors)
            replies, taken = self._receive(connection, method)
            for descriptor in taken:
                os.close(descriptor)
        last = replies[-1] if replies and not replies[-1].get("continues") else {}
        failed = last.get("error")
        # A job that was killed may have done all of its work, or nothing for the next call to find.
        if failed and failed not in (INTERFACE + "JobFailed", INTERFACE + "NoSuchSnapshot"):
            raise AssertionError(f"{method} {parameters}: {last}")
        if not last or failed == INTERFACE + "JobFailed":
            self.knowledge.cut[method] += 1
        self.knowledge.answer(method, outcomes, None if failed or not last else last["parameters"])
        return not failed and bool(last)

    @staticmethod
    def _receive(connection, method):
        if method != "Export":
            return receive(connection), []
        data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 4)
        return [json.loads(data.rstrip(b"\0"))] if data else [], descriptors


class Names:
    """Names that were not used before."""

    def __init__(self):
        self.last = 0

    def next(self, prefix):
        self.last += 1
        return f"{prefix}{self.last}"


def untagged():
    while True:
        yield "Capture", {}, [], {None: ANYTHING}


def adding(names, prefix, method, parameters, descriptors):
    """Under ever new names, of which the oldest is removed once there are some: a round may be long."""
    added = []
    while True:
        name = names.next(prefix)
        yield method, {**parameters, "tag": name}, descriptors, {name: ANYTHING}
        added.append(name)
        if len(added) > BUDGET // 10:
            oldest = added.pop(0)
            yield "Remove", {"names": [oldest]}, [], {oldest: None}


def replacing():
    while True:
        yield "Capture", {"tag": "fixed", "replace": True}, [], {"fixed": ANYTHING}


def changing(names, spare):
    """What clients of earlier rounds made is renamed, and removed."""
    for name in spare:
        other = names.next("moved")
        yield "Rename", {"name": name, "newName": other}, [], {other: ANYTHING, name: None}
        yield "Remove", {"names": [other]}, [], {other: None}


def comparing():
    while True:
        yield "Compare", {"before": {"name": "first"}, "after": {"name": "second"}}, [], {}


def converting():
    while True:
        yield "Export", {"snapshot": {"name": "first"}, "format": "ndjson"}, [], {}


def verifying():
    while True:
        yield "Verify", {"snapshots": [{"name": "first"}, {"name": "second"}]}, [], {}


def ask(daemon, method, parameters=None):
    with daemon.connect() as connection:
        replies = call(connection, INTERFACE + method, parameters)
    expect(replies and "error" not in replies[-1], method, replies)
    return replies[-1]["parameters"]


def call_time(daemon, name):
    """Seconds that a capture to @name takes here, the slowest of three. The instants of death are drawn from spans of
    this measure, so that they fall into work on a machine of any speed, and with sanitizers."""
    def seconds():
        begin = time.monotonic()
        ask(daemon, "Capture", {"tag": name, "replace": True})
        return time.monotonic() - begin

    return max(seconds() for _ in range(3))


def descriptors_at_rest(daemon):
    """How many it has once the job has ended that loads programs at its start, however long that takes."""
    wait_until(lambda: not daemon.children(), what="the end of all jobs")
    return settled(daemon.descriptors, moment=0.5)


class Theatre:
    """The daemon, what it is asked, and what is known."""

    def __init__(self, directory):
        options = without_programs(directory)
        self.daemon = Activated(directory, options)
        for name in ("first", "second"):
            ask(self.daemon, "Capture", {"tag": name})
        size = ask(self.daemon, "List")["snapshots"][0]["allocatedBytes"]
        self.daemon.process.terminate()
        self.daemon.options = [*options, "--max-bytes", str(size * BUDGET), "--keep-free", "0"]
        self.daemon.restart()
        self.longest = 6 * call_time(self.daemon, "first")
        self.knowledge = Knowledge()
        for head in ask(self.daemon, "List")["snapshots"]:
            self.knowledge.tagged[head["name"]] = head["startRealtimeNs"]
        self.file = open(self.daemon.spool / "first.ctprof.zst", "rb")
        self.names = Names()
        self.spare = []
        self.killed = collections.Counter()
        self.descriptors = descriptors_at_rest(self.daemon)

    def play(self, chance):
        """Load, one kill, the next daemon, and the checks."""
        stop = threading.Event()
        turns = [untagged(), replacing(), adding(self.names, "tag", "Capture", {}, []),
                 adding(self.names, "import", "Import", {"fileDescriptor": 0}, [self.file.fileno()]),
                 changing(self.names, self.spare), comparing(), converting(), verifying()]
        clients = [Client(self.daemon, self.knowledge, stop, turn) for turn in turns]
        for client in clients:
            client.start()
        time.sleep(chance.uniform(0, self.longest))
        expect(self.daemon.alive(), "the daemon ended by itself:", self.daemon.log.read_text())
        if chance.random() < 0.5:
            self._kill_jobs(chance)
            stop.set()
        else:
            self.killed["daemon"] += 1
            self.daemon.process.kill()
            stop.set()
            self.daemon.restart()
        for client in clients:
            client.join()
        complaints = [client.complaint for client in clients if client.complaint]
        expect_equal(complaints, [], "what clients say")
        self.check()

    def _kill_jobs(self, chance):
        """Some of one kind, so that the short ones are not missed."""
        jobs = collections.defaultdict(list)
        for pid in self.daemon.children():
            jobs[kind_of(pid)].append(pid)
        kind = chance.choice(sorted(filter(None, jobs)) or [None])
        for pid in chance.sample(jobs[kind], chance.randint(1, len(jobs[kind])) if kind else 0):
            end(pid)
            self.killed[kind] += 1

    def check(self):
        heads = ask(self.daemon, "List")["snapshots"]
        results = ask(self.daemon, "Verify", {"snapshots": []})["results"]
        expect_equal([result for result in results if not result["ok"]], [], "damaged")
        expect_equal({result["name"] for result in results}, {head["name"] for head in heads}, "listed and verified")
        self.knowledge.check(heads)
        self.spare = sorted({head["name"] for head in heads if head["tagged"]} - {"first", "second", "fixed"})
        if len(self.spare) > BUDGET // 2:
            ask(self.daemon, "Remove", {"names": self.spare[5:]})
            self.knowledge.forget(self.spare[5:])
            del self.spare[5:]
        wait_until(lambda: not self.daemon.children(), what="the end of all jobs")
        wait_until(lambda: not [name for name in os.listdir(self.daemon.spool) if name.startswith(".")],
                   what="a clean spool")
        wait_until(lambda: self.daemon.descriptors() == self.descriptors, what="descriptors to be closed")

    def missed(self):
        """Kinds that were not hit by more than one kill in a hundred; a short run may miss any."""
        return [kind for kind in KINDS if KILLS >= 40 and self.killed[kind] <= KILLS // 100]

    def enough(self):
        """What chance has not hit by twice the number is not there to hit."""
        return sum(self.killed.values()) >= (2 * KILLS if self.missed() else KILLS)


@test
def kills_under_load():
    """after every kill under load what was answered is there, what verifies is whole, and nothing is left"""
    chance = random.Random(SEED)
    print(f"# seed {SEED}", flush=True)
    with temporary() as directory:
        theatre = Theatre(directory)
        try:
            begin, rounds = time.monotonic(), 0
            while not theatre.enough():
                theatre.play(chance)
                rounds += 1
            ask(theatre.daemon, "Capture", {"tag": "last"})
            expect(not theatre.missed(), "too few kills hit:", dict(theatre.killed))
            print(f"# {rounds} rounds in {time.monotonic() - begin:.0f} s, killed: {dict(theatre.killed)}, "
                  f"calls that were not answered: {dict(theatre.knowledge.cut)}")
        finally:
            theatre.daemon.close()
            theatre.file.close()


@test
def killed_clients():
    """a client that dies at any instant leaves no job, no descriptor and no temporary in the daemon"""
    chance = random.Random(SEED)
    with temporary() as directory, Daemon(directory, options=["--keep-free", "0"]) as daemon, Idle(200, 2):
        for name in ("first", "second"):
            expect_equal(daemon("capture", "--tag", name).status, 0, name)
        file = directory / "file.ctprof.zst"
        file.write_bytes((daemon.spool / "first.ctprof.zst").read_bytes())
        commands = {
            "capture": ["capture"],
            "replace": ["capture", "--tag", "second", "--replace"],
            "import": ["import", str(file), "--tag", "came"],
            "compare": ["compare", "first", "second", "--json"],
            "convert": ["export", "first", str(directory / "out"), "--format", "ndjson"],
            "verify": ["verify", "--all"],
        }
        before = descriptors_at_rest(daemon)
        longest = 3 * call_time(daemon, "first")
        killed, late = collections.Counter(), 0
        while sum(killed.values()) < KILLS // 5:
            word = chance.choice(sorted(commands))
            client = subprocess.Popen([CTPROFCTL, "--socket", str(daemon.socket), *commands[word]],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, longest))
            if client.poll() is None:
                client.kill()
                killed[word] += 1
            else:
                late += 1
            client.wait()
            wait_until(lambda: not daemon.children(), what=f"the end of the job of {word}")
            wait_until(lambda: daemon.descriptors() == before, what=f"descriptors after {word} to be closed")
            wait_until(lambda: not [name for name in os.listdir(daemon.spool) if name.startswith(".")],
                       what="a clean spool")
            expect(daemon.alive(), "the daemon ended:", daemon.log.read_text())
            if (daemon.spool / "came.ctprof.zst").exists():
                expect_equal(daemon("remove", "came").status, 0, "came")
        results = daemon("verify", "--all", "--json").json()["results"]
        expect_equal([result for result in results if not result["ok"]], [], "damaged")
        expect({"first", "second"} <= {result["name"] for result in results}, "lost")
        expect_equal(daemon("status").status, 0, "it serves")
        print(f"# killed: {dict(killed)}, too late for {late}")


private_host()
main()
