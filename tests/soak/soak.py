# SPDX-License-Identifier: GPL-2.0-or-later
"""The soak itself: daemon, clients, trouble, and what must hold in the end. See run."""
import contextlib
import json
import mmap
import os
import random
import selectors
import shutil
import signal
import time
import types

import chart
import client
import host
import sampler
from calls import PROFILER, SERVICE
from guard import Guard
from harness import CTPROFCTL, Daemon, call, sanitized, temporary, wait_until
from interface import Description
from ledger import Ledger
from peer import PATIENCE_S
from record import WIDTH, Record
from service import Sandboxed

GROUP = 64990
# Users, and how often each of their clients misbehaves.
USERS = {65001: 0, 65002: 0.2, 65003: 0.6}
# From so many seconds on the host is as hard to read as it can be, and there is more than one round.
FULL_S = 300
ROUNDS = 10
WARM_UP_S = 60
MAX_GROWTH_KIB = 2048
SETTLED_S = 5


def describe(connection):
    """What the daemon itself says that it answers."""
    texts = [call(connection, f"{SERVICE}.GetInterfaceDescription", {"interface": name})[0]["parameters"]["description"]
             for name in (PROFILER, SERVICE)]
    return Description(texts)


class Soak:
    def __init__(self, seconds, n_clients, seed, output, directory):
        self.seconds = seconds
        self.output = output
        self.directory = directory
        self.rng = random.Random(seed)
        self.record = Record()
        self.ledger = Ledger()
        self.faults = []
        self.paused = set()
        self.clients = {}       # descriptor -> (pid, uid, unread bytes)
        self.quiet = []         # samples of quiet moments, with descriptors by kind
        self.kinds = []
        self.selector = selectors.DefaultSelector()
        self.phase = mmap.mmap(-1, 1)
        self.stopping = False
        self.next_sample = 0
        self.begun = time.monotonic()
        self.n_clients = n_clients
        self.seed = seed

    # beginning

    def start(self, stack):
        self.guard = Guard(self.directory, self.rng)
        self.daemon = stack.enter_context(self._start_daemon())
        with self.daemon.connect() as connection:
            self.description = describe(connection)
            registry = call(connection, f"{PROFILER}.MetricList")[0]["parameters"]
        self._expect_outsider_is_refused()
        self.sampler = sampler.Sampler(self.daemon.process.pid, self.daemon.spool, self.output / "samples.csv")
        stack.callback(self.sampler.close)
        stack.callback(self._end_clients)
        self._start_clients(registry)
        stack.enter_context(host.trouble(self.directory / "host", self.seconds >= FULL_S, self.say))
        stack.callback(self.guard.close)
        self.guard.watch(self.daemon)
        # The daemon gives up the right to load programs with the job that loads them: without it, captures of one kind fail.
        wait_until(self._is_loaded, what="the job that loads programs to end")

    def _is_loaded(self):
        with self.daemon.connect() as connection:
            backend = call(connection, f"{PROFILER}.Status")[0]["parameters"]["backend"]
        return backend["name"] != "bpf" or "loadedRealtimeNs" in backend

    def _start_daemon(self):
        """As systemd does: with the socket, in the unit's sandbox, watched; without root as oneself."""
        options = ["--config", str(self.guard.config)]
        if os.geteuid() != 0:
            self.say("without root all clients are of one user, and the daemon has no sandbox")
            return Daemon(self.directory, activated=True, options=options)
        daemon = Sandboxed(self.directory, options=options, environment=self.guard.environment())
        os.chown(daemon.socket, 0, GROUP)
        os.chmod(daemon.socket, 0o660)
        return daemon

    def _expect_outsider_is_refused(self):
        if os.geteuid() != 0:
            return
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(65009)
            os.setuid(65009)
            try:
                self.daemon.connect()
            except PermissionError:
                os._exit(0)
            os._exit(1)
        if os.waitpid(pid, 0)[1] != 0:
            self.fault("who is not in the group can connect")

    def _start_clients(self, registry):
        scratch = self.directory / "scratch"
        scratch.mkdir()
        self.phase[0:1] = b"p"
        setup = types.SimpleNamespace(
            seed=self.seed, socket=str(self.daemon.socket), description=self.description, gid=GROUP,
            ctprofctl=CTPROFCTL, scratch=scratch, phase=self.phase,
            metrics=[metric["name"] for metric in registry["metrics"]],
            rules={metric["name"]: metric["rule"] for metric in registry["metrics"]},
            derived=[value["name"] for value in registry["derived"]])
        for number in range(self.n_clients):
            uid = list(USERS)[number % len(USERS)] if os.geteuid() == 0 else os.geteuid()
            rudeness = list(USERS.values())[number % len(USERS)]
            pid, fd = client.start(setup, number, uid, rudeness)
            os.set_blocking(fd, False)
            self.clients[fd] = [pid, uid, b""]
            self.selector.register(fd, selectors.EVENT_READ, fd)

    # going on

    def interrupt(self, *_):
        """Ends early, with all that is looked at in the end."""
        self.stopping = True

    def say(self, text):
        print(f"# {time.monotonic() - self.begun:8.1f}  {text}", flush=True)

    def fault(self, text):
        self.faults.append(text)
        if len(self.faults) <= 20:
            self.say(f"FAULT {text[:600]}")

    def _listen(self, seconds):
        for key, _ in self.selector.select(seconds):
            self._read_client(key.data)

    def _read_client(self, fd):
        state = self.clients[fd]
        try:
            data = os.read(fd, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._bury(fd)
            return
        *lines, state[2] = (state[2] + data).split(b"\n")
        for line in lines:
            self._take(fd, state[1], *json.loads(line))

    def _bury(self, fd):
        pid, uid, _ = self.clients.pop(fd)
        self.selector.unregister(fd)
        os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != 0:
            self.fault(f"a client of uid {uid} ended with status {status}")

    def _take(self, fd, uid, kind, *words):
        if kind == "call":
            self.record.take(uid, *words)
        elif kind == "acknowledged":
            self.ledger.acknowledge(*words)
        elif kind == "doubt":
            self.ledger.doubt(*words)
        elif kind == "failed":
            self.record.reasons[words[0]] += 1
        elif kind == "paused":
            self.paused.add(fd)
        else:
            self.fault(words[0])

    def _tick(self, phase):
        """A sample when it is time for one, and what clients say."""
        self._listen(0.1)
        if time.monotonic() >= self.next_sample and self.daemon.alive():
            self.sampler.take(time.monotonic() - self.begun, phase)
            self.next_sample = time.monotonic() + (0.5 if self.seconds < 120 else 1)

    def work(self, until):
        """Clients call, jobs die, the configuration changes."""
        self.paused.clear()
        self.phase[0:1] = b"r"
        while time.monotonic() < until and not self.stopping:
            self._tick("work")
            if not self.daemon.alive():
                self.fault("the daemon ended")
                self.stopping = True
                return
            self.guard.trouble()

    def _settle(self, pid):
        """Descriptors by kind, once neither they nor the jobs have changed for as long as memory takes to go back."""
        def look():
            self._tick("pause")
            return sampler.descriptors(pid), sampler.children(pid)

        end, state, since = time.monotonic() + PATIENCE_S, None, 0
        while time.monotonic() < end:
            now = look()
            if now != state:
                state, since = now, time.monotonic()
            elif time.monotonic() - since > SETTLED_S and not state[1]:
                return state[0]
        self.fault(f"no quiet: {[sampler.describe(child) for child in sampler.children(pid)]}")
        return sampler.descriptors(pid)

    def rest(self, last=False):
        """All hang up; what the daemon holds then is what counts."""
        try:
            self.guard.calm()
        except AssertionError as error:
            self.fault(str(error))
        self.phase[0:1] = b"s" if last else b"p"
        end = time.monotonic() + 2 * PATIENCE_S
        while len(self.paused) < len(self.clients) and time.monotonic() < end:
            self._tick("pause")
        if len(self.paused) < len(self.clients):
            self.fault(f"{len(self.clients) - len(self.paused)} clients did not come to rest")
        pid = self.daemon.process.pid
        if not self.daemon.alive():
            return
        # Calls that want no answer go on without their callers.
        kinds = self._settle(pid)
        sample = self.sampler.take(time.monotonic() - self.begun, "quiet")
        self.quiet.append(sample)
        self.kinds.append(kinds)
        self.say(f"quiet: RSS {sample['rss_kib']} KiB, {sample['descriptors']} descriptors, "
                 f"{sum(self.record.total(via) for via in ('socket', 'ctprofctl', 'misuse'))} calls so far")

    def run(self):
        self.begun = time.monotonic()
        warm_up = max(self.seconds / ROUNDS, min(WARM_UP_S, self.seconds / 3))
        rounds = ROUNDS - 1 if self.seconds >= FULL_S else 1
        length = (self.seconds - warm_up) / rounds
        self.say(f"{self.n_clients} clients warm up for {warm_up:.0f} s, then {rounds} times {length:.0f} s")
        ends = [warm_up] + [length] * rounds
        for number, seconds in enumerate(ends):
            self.work(time.monotonic() + seconds)
            self.rest(last=number == len(ends) - 1 or self.stopping)
            if self.stopping:
                self.say("ended early")
                return

    def _end_clients(self):
        """Of those that are still there, whatever happened."""
        self.phase[0:1] = b"s"
        for fd, (pid, _, _) in list(self.clients.items()):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)
        self.clients.clear()

    # the end

    def finish(self):
        """Looks at everything that was promised."""
        self.phase[0:1] = b"s"
        while self.clients:
            self._listen(0.2)
        yield "the daemon lives", self.daemon.alive(), ""
        if not self.daemon.alive() or not self.quiet:
            return
        yield from self._judge_process()
        yield from self._judge_spool()
        yield from self._judge_answers()
        self.daemon.close()
        status = self.daemon.process.returncode
        yield "the daemon ends when it is told to", status == 0, f"exit status {status}"

    def _judge_process(self):
        first, last = self.quiet[0], self.quiet[-1]
        # What callers still have of files in memory at the first moment is returned later.
        kept = not self.kinds[-1] - self.kinds[0]
        yield "no descriptor is leaked", kept, (f"{first['descriptors']}, then {last['descriptors']}" if kept else
                                                f"{dict(self.kinds[0])}, then {dict(self.kinds[-1])}")
        yield "no child is left", last["children"] == 0, f"{last['children']}"
        growth = last["rss_kib"] - first["rss_kib"]
        note = " (of a sanitizer: not judged)" if sanitized() else ""
        yield "RSS grew by 2 MiB at most", sanitized() or growth <= MAX_GROWTH_KIB, (
            f"{growth:+} KiB over {first['rss_kib']} KiB{note}")
        yield "the watchdog was fed in time", self.guard.longest_silence < self.guard.WATCHDOG_S, (
            f"longest silence {self.guard.longest_silence:.1f} s of {self.guard.WATCHDOG_S} s")
        yield "every reload was answered", self.guard.reloads == self.guard.reloaded, (
            f"{self.guard.reloads} signals, {self.guard.reloaded} answers")

    def _judge_spool(self):
        spool, names = self.daemon.spool, sorted(os.listdir(self.daemon.spool))
        odd = [name for name in names if not name.endswith(".ctprof.zst")]
        yield "no temporary is in the spool", set(odd) <= {"lock", ".lock"}, " ".join(odd)
        beside = sorted(path.name for path in self.directory.iterdir())
        unknown = set(beside) - {"socket", "spool", "log", "scratch", "host"} - self.guard.files()
        yield "no temporary is beside the socket", not unknown, " ".join(sorted(unknown))
        with self.daemon.connect() as connection:
            heads = [head for reply in call(connection, f"{PROFILER}.List", more=True)
                     for head in reply["parameters"]["snapshots"]]
            results = self._verified(connection)
        bad = [result for result in results if not result["ok"]]
        figures = f"{len(results)} of {len(heads)}" + (f": {bad[:3]}" if bad else "")
        yield "every snapshot verifies", not bad and len(results) == len(heads), figures
        self.ledger.take_log(self.daemon.log.read_text(encoding="utf-8", errors="replace"))
        faults = self.ledger.judge(heads)
        told = ", ".join(f"{n} {what}" for what, n in sorted(self.ledger.counts.items()) if what[0].islower())
        yield "the spool is as acknowledged", not faults, "; ".join(faults[:5]) or told

    @staticmethod
    def _verified(connection):
        """What Verify says of all snapshots; on a host that has no room for the job yet, a moment later."""
        for _ in range(5):
            replies = list(call(connection, f"{PROFILER}.Verify", {"snapshots": []}, more=True))
            if "error" not in replies[-1]:
                # A host that is slow is also told of the progress, without results.
                return [result for reply in replies for result in reply["parameters"].get("results", [])]
            time.sleep(1)
        raise AssertionError(f"Verify is refused: {replies[-1]}")

    def _judge_answers(self):
        outcomes = self.record.outcomes
        answered = sum(n for (via, _, _), n in outcomes.items() if via != "misuse")
        never = sum(n for (_, _, outcome), n in outcomes.items() if outcome in ("never answered", "hung up"))
        yield "every call was answered", never == 0, f"{answered} calls, {never} never answered"
        yield "every answer was valid", not self.faults, f"{len(self.faults)} faults" + (
            f": {self.faults[0][:200]}" if self.faults else "")
        n_failed = sum(n for reason, n in self.record.reasons.items() if "was killed" in reason or "crashed" in reason)
        yield "a dead job costs one call at most", n_failed <= self.guard.killed, (
            f"{self.guard.killed} killed, {n_failed} calls failed for it")

    def title(self):
        return (f"{time.strftime('%F %H:%M')}: {self.n_clients} clients of {len(USERS)} users for "
                f"{self.sampler.rows[-1]['seconds'] / 60:.1f} minutes, seed {self.seed}")

    def summary(self, promises):
        first, last = self.quiet[0], self.quiet[-1]
        rows = [row for row in self.sampler.rows if row["seconds"] >= first["seconds"]]
        yield self.title()
        yield ""
        yield from self.record.lines()
        yield ""
        yield f"{'the daemon':<24}{'begin':>10}{'end':>10}{'highest':>10}   (begin, end: nobody is connected)"
        for title, column in (("RSS, KiB", "rss_kib"), ("of that anonymous", "anon_kib"),
                              ("descriptors", "descriptors"), ("children", "children"), ("snapshots", "snapshots"),
                              ("spool, KiB", "spool_kib")):
            yield f"  {title:<22}{first[column]:>10}{last[column]:>10}{max(row[column] for row in rows):>10}"
        cpu = last["cpu_ms"] / 10 / max(1, last["seconds"])
        yield (f"  {cpu:.1f} % of a CPU; {self.guard.killed} jobs killed, {self.guard.stopped} stopped for a while, "
               f"{self.guard.reloads} reloads")
        yield ""
        for promise, kept, figures in promises:
            words = f"{'kept  ' if kept else 'BROKEN'}  {promise}"
            yield f"{words}: {figures}"[:WIDTH if kept else 2000] if figures else words


def measure(seconds, n_clients, seed, output):
    """All of it, with its files in @output; returns the promises as (promise, whether it was kept, figures)."""
    with temporary() as directory, contextlib.ExitStack() as stack:
        soak = Soak(seconds, n_clients, seed, output, directory)
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, soak.interrupt))
        try:
            soak.start(stack)
            soak.run()
            promises = list(soak.finish())
        finally:
            if (directory / "log").exists():
                shutil.copyfile(directory / "log", output / "daemon.log")
        soak.record.write_csv(output / "requests.csv")
        text = "\n".join(soak.summary(promises)) + "\n"
        (output / "summary.txt").write_text(text, encoding="utf-8")
        (output / "soak.svg").write_text(
            chart.draw(soak.sampler.rows, soak.record, soak.begun, soak.title()), encoding="utf-8")
    return promises
