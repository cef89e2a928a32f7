# SPDX-License-Identifier: GPL-2.0-or-later
"""One client of the soak: a process of its own that calls at random and says what came of it.

What it says are lines of JSON on a pipe: ["call", when, method, via, outcome, seconds, n], ["acknowledged",
method, uid, parameters, sent], ["doubt", method, names, until], ["fault", text], ["failed", reason] and
["paused"]. Times are of the monotonic clock.
"""
import json
import os
import random
import re
import signal
import sys
import time
import traceback

import checks
import ctl
import misuse
from calls import AXES, PROFILER, SERVICE, Call, Caller
from interface import Mismatch
from peer import HungUp, NeverAnswered, Peer, encode

RUN, PAUSE, STOP = b"rps"
BUSY = f"{PROFILER}.Busy"
JOB_FAILED = f"{PROFILER}.JobFailed"
# What a right call may meet, as others are there: everything but that it was wrong.
WRONG = {f"{SERVICE}.{name}" for name in ("InvalidParameter", "MethodNotFound", "InterfaceNotFound",
                                          "MethodNotImplemented", "ExpectedMore")} | {f"{PROFILER}.InvalidName"}
# Any name may be that of a recording, which is an interval, and not all that can be asked of a snapshot suits it.
OF_RECORDINGS = re.compile(r"\b(interval|recording)\b")
ENDS_LIVES = {"Capture", "Import", "Record", "Remove", "Rename"}


def short(error):
    return error.rpartition(".")[2]


class Client:
    def __init__(self, setup, number, uid, rudeness, out):
        self.setup = setup
        self.uid = uid
        self.rudeness = rudeness
        self.out = out
        self.rng = random.Random(f"{setup.seed}-{number}")
        self.caller = Caller(self.rng, uid, setup.metrics, setup.derived)
        self.scratch = setup.scratch / f"client-{number}"
        self.files = []  # descriptors of exported snapshots
        self.peer = None

    # what it says

    def tell(self, *words):
        line = json.dumps(words).encode() + b"\n"
        while line:
            line = line[os.write(self.out, line):]

    def count(self, name, via, outcome, begun=None, n=1):
        now = time.monotonic()
        self.tell("call", now, name, via, outcome, now - begun if begun else None, n)

    def fault(self, *words):
        self.tell("fault", " ".join(str(word) for word in words))

    def note_error(self, message):
        if message.get("error") == JOB_FAILED:
            self.tell("failed", message["parameters"]["reason"])

    # life

    def is_paused(self):
        return self.setup.phase[0] != RUN

    def nap(self, seconds):
        """False when the pause begins meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.is_paused():
                return False
            time.sleep(min(0.1, max(0, end - time.monotonic())))
        return True

    def hang_up(self):
        if self.peer:
            self.peer.close()
            self.peer = None

    def connect(self, **options):
        return Peer(self.setup.socket, **options)

    def run(self):
        while self.setup.phase[0] != STOP:
            if self.setup.phase[0] == PAUSE:
                self.hang_up()
                self.tell("paused")
                while self.setup.phase[0] == PAUSE:
                    time.sleep(0.05)
                continue
            try:
                self.act()
            except NeverAnswered as error:
                self.hang_up()
                self.fault("never answered:", error)
                self.count("(any)", "socket", "never answered")
        self.hang_up()
        self.tell("paused")

    def act(self):
        if self.rng.random() < self.rudeness:
            misuse.any_of(self)
        elif self.rng.random() < 0.15:
            ctl.any_of(self)
        elif self.rng.random() < 0.06:
            self.compare_totals()
        elif self.rng.random() < 0.06:
            self.polite(Call(f"{PROFILER}.List"))
        else:
            self.polite(self.caller.any())
        if self.rng.random() < 0.1:
            self.hang_up()

    # calls

    def send_call(self, peer, call):
        fds = [self.rng.choice(self.files)] if call.descriptor else ()
        flags = {"more": True} if call.more else {}
        return peer.send(encode(call.method, call.parameters, **flags), fds)

    def polite(self, call):
        """One call, and all of its answer; returns it, None when it was an error."""
        self.peer = self.peer or self.connect()
        begun = time.monotonic()
        self.send_call(self.peer, call)
        return self.take_answer(self.peer, call, begun)

    def take_answer(self, peer, call, begun, via="socket"):
        replies = []
        try:
            for message in peer.replies():
                self.setup.description.check_reply(call.method, message)
                replies.append(message)
            outcome, answer = self._judge(peer, call, replies, begun)
        except HungUp:
            outcome, answer = "hung up", None
            self.fault("no answer to", call.name, call.parameters, "before the end of the connection")
            self._doubt(call)
        except (Mismatch, checks.Implausible) as error:
            outcome, answer = "implausible", None
            self.fault(f"{call.name} {json.dumps(call.parameters)}: {error}")
        self.count(call.name, via, outcome, begun)
        if outcome in ("Busy", "hung up", "implausible"):
            self.hang_up()
        return answer

    def _doubt(self, call):
        if call.name in ENDS_LIVES:
            self.tell("doubt", call.name, call.changes, time.monotonic())

    def _judge(self, peer, call, replies, begun):
        last = replies[-1]
        error = last.get("error")
        if error:
            peer.drop_fds()
            self.note_error(last)
            if error == JOB_FAILED:
                self._doubt(call)
            if call.right and error in WRONG and not OF_RECORDINGS.search(str(last.get("parameters", {}).get("reason"))):
                raise Mismatch(f"a right call was refused: {last}")
            return short(error), None
        if call.right is False:
            raise Mismatch(f"a wrong call was answered: {str(last)[:200]}")
        answer = checks.check(call.name, replies)
        if call.name in ENDS_LIVES:
            self.tell("acknowledged", call.name, self.uid, answer, begun)
        self._take_over(peer, call, answer)
        return "ok", answer

    def _take_over(self, peer, call, answer):
        """Keeps what later calls can use."""
        if call.name == "List" and call.parameters == {}:
            self.caller.names = [head["name"] for head in answer["snapshots"]]
        has_file = "fileDescriptor" in answer
        if has_file != (len(peer.fds) == 1):
            raise Mismatch(f"{len(peer.fds)} descriptors came with {call.name}")
        if has_file and call.parameters.get("format", "ctprof") == "ctprof":
            self.keep_file(peer.fds.pop())
        peer.drop_fds()

    def keep_file(self, fd):
        self.files.append(fd)
        self.caller.has_file = True
        if len(self.files) > 3:
            os.close(self.files.pop(0))

    def compare_totals(self):
        """One snapshot, or one pair, by two axes: the groups add up to the same."""
        rng, caller = self.rng, self.caller
        own = rng.random() < 0.5
        names = [caller.some_name(), caller.some_name()]
        fixed = {"limit": 0, "self": own, "totals": True, "sections": ["primary", "taskstats-delay", "taskstats-accounting"],
                 **dict.fromkeys(("window", "filter", "threshold", "changedOnly", "metrics"))}
        views = [caller.view({**fixed, "groupBy": axis}) for axis in rng.sample(AXES, 2)]
        two_sided = rng.random() < 0.5
        answers = []
        for view in views:
            parameters = {"snapshot": {"name": names[0]}, "view": view}
            if two_sided:
                parameters = {"before": {"name": names[0]}, "after": {"name": names[1]}, "view": view}
            call = Call(f"{PROFILER}.{'Compare' if two_sided else 'Show'}", parameters, more=True)
            answer = self.polite(call)
            if not answer:
                return
            answers.append(answer)
        keys = ["before", "after"] if two_sided else ["snapshot"]
        if any(answers[0][key] != answers[1][key] for key in keys):
            return  # replaced in between
        try:
            for key in keys:
                sums = [checks.totals(answer, self.setup.rules, key if two_sided else None) for answer in answers]
                axes = " and ".join(view["groupBy"] for view in views)
                checks.check_equal(*sums, f"totals of {answers[0][key]['name']} by {axes}:")
                if own:
                    checks.check_equal({"threads": sums[0]["threads"]}, {"threads": answers[0][key]["threads"]},
                                       f"threads of {answers[0][key]['name']}:")
            self.count("(totals of two axes)", "socket", "equal")
        except checks.Implausible as error:
            self.fault(f"{json.dumps(views)}: {error}")


def start(setup, number, uid, rudeness):
    """Forks the client; returns its pid and the descriptor its lines come from."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_end)
        return pid, read_end
    status = 1
    try:
        os.close(read_end)
        for number_of_signal in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number_of_signal, signal.SIG_IGN)
        client = Client(setup, number, uid, rudeness, write_end)
        client.scratch.mkdir()
        if os.geteuid() == 0:
            os.chown(client.scratch, uid, setup.gid)
            os.setgroups([setup.gid])
            os.setgid(uid)
            os.setuid(uid)
        try:
            client.run()
            status = 0
        except BaseException:  # pylint: disable=broad-except # whatever it is, the end of a client is a fault
            client.fault(f"client {number} died:", traceback.format_exc(limit=-3))
    finally:
        sys.stderr.flush()
        os._exit(status)
    return None
