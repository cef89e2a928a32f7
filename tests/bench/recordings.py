# SPDX-License-Identifier: GPL-2.0-or-later
"""Part of tests/bench/run: what recordings cost the host, beside the tools that people use for the same question.

    recordings.py ROUNDS

The load is the worst that there is: two threads on one CPU that wake each other through pipes, and nothing else. All
ways take turns in each round. A daemon at rest comes first, then what it counts always, then recordings, then a daemon
whose recording has ended, then others' tools. What the recorder itself uses is beside it.
"""
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "demo")]

# pylint: disable=wrong-import-position
from accounts import OFF, REASONS, WAITS, churn, daemon, used_ns
from harness import Skip, call, temporary, wait_until
from programs import Programs

SWITCHES = 400_000
RATE = 100_000  # switches a second, for which the share of a CPU is told
INTERFACE = "io.ctprof.Profiler."
# Parameters of the method Record.
RECORDINGS = {
    "without stacks": {"kernelStacks": False, "stackBytes": 0, "onCpu": False},
    "with kernel stacks": {"stackBytes": 0, "onCpu": False},
    "with user stacks": {"onCpu": False},
    "with 32 KiB of user stacks": {"stackBytes": 32768, "onCpu": False},
    "and of running time": {},
    "and with wakers": {"wakers": True},
}
TOOLS = {
    "offcputime (libbpf-tools)": ["offcputime", "30"],
    "perf record -e sched_switch -g": ["perf", "record", "-q", "-a", "-g", "-e", "sched:sched_switch", "-o", "{output}", "sleep", "30"],
    "perf sched record": ["perf", "sched", "record", "-o", "{output}", "sleep", "30"],
}


class Recorder:
    """A recording of the host that goes on until this ends; and what it has used then."""

    def __init__(self, ctl, parameters):
        self.ctl, self.cpu_ns, self.rss = ctl, 0, 0
        self.parameters, self.replies = parameters, []

    def __enter__(self):
        self.before = used_ns(self.ctl.process.pid)
        connection = self.ctl.connect()
        self.thread = threading.Thread(target=self._run, args=(connection,), daemon=True)
        self.thread.start()
        wait_until(lambda: any('"recording"' in str(reply).replace("'", '"') for reply in self.replies), what="samples")
        return self

    def _run(self, connection):
        with contextlib.closing(connection):
            connection.settimeout(120)
            for reply in stream(connection, "Record", self.parameters):
                self.replies.append(reply)
                self.rss = max([self.rss, *map(peak_of, self.ctl.children())])

    def __exit__(self, *_):
        with contextlib.closing(self.ctl.connect()) as connection:
            call(connection, INTERFACE + "EndRecording", {}, False)
        self.thread.join()
        if "error" in self.replies[-1]:
            sys.exit(f"the recording failed: {self.replies[-1]}")
        wait_until(lambda: not self.ctl.children(), what="the recorder's jobs to end")
        self.cpu_ns = used_ns(self.ctl.process.pid) - self.before


def stream(connection, method, parameters):
    """Replies of one call as they come."""
    connection.sendall(json.dumps({"method": INTERFACE + method, "parameters": parameters, "more": True}).encode() + b"\0")
    data = b""
    while True:
        while b"\0" not in data:
            piece = connection.recv(1 << 16)
            if not piece:
                return
            data += piece
        text, data = data.split(b"\0", 1)
        reply = json.loads(text)
        yield reply
        if not reply.get("continues"):
            return


def peak_of(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


@contextlib.contextmanager
def tool(programs, words):
    """One of the other tools, from when it has had time to begin until it is told to end."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [programs[words[0]], *(word.format(output=f"{scratch}/out") for word in words[1:])]
        said = pathlib.Path(scratch, "said")
        with open(os.devnull, "wb") as nowhere, open(said, "wb") as errors, \
                subprocess.Popen(command, stdout=nowhere, stderr=errors, env={**os.environ, **programs.environment},
                                 start_new_session=True) as process:
            time.sleep(2)
            if process.poll() is not None:
                raise Skip(f"{words[0]} does not run here: {(said.read_text(errors='replace').splitlines() or [''])[0]}")
            yield process
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
            process.kill()


def ns_a_switch():
    return churn("switches", SWITCHES)[0] / SWITCHES


def measure(rounds):
    """{way: [CPU ns a switch]}, {way: [(CPU ns of the recorder, KiB)]}, {tool: why it is not measured}"""
    samples, prices, lacking = {}, {}, {}

    def add(name):
        samples.setdefault(name, []).append(ns_a_switch())

    with temporary() as scratch:
        try:
            programs = Programs(scratch, {"offcputime": "libbpf-tools", "perf": "linux-perf"})
        except Skip as reason:
            programs, lacking = None, {name: str(reason) for name in TOOLS}
        for _ in range(rounds):
            with daemon(**OFF):
                add("none")
            with daemon(**WAITS):
                add("storage account")
            with daemon(**WAITS, **REASONS):
                add("reasons")
            for name, parameters in RECORDINGS.items():
                with daemon(**WAITS) as (ctl, _):
                    recorder = Recorder(ctl, parameters)
                    with recorder:
                        add("recording " + name)
                    prices.setdefault("recording " + name, []).append((recorder.cpu_ns, recorder.rss))
            with daemon(waits="auto", exits="off", is_over=True) as (ctl, _):
                with Recorder(ctl, {}):
                    pass
                wait_until(lambda ctl=ctl: not ctl("status", "--json").json()["reasons"]["counted"], what="the end of reasons")
                add("after a recording")
            for name, words in TOOLS.items():
                if name in lacking:
                    continue
                try:
                    with tool(programs, words):
                        add(name)
                except Skip as reason:
                    lacking[name] = str(reason)
    return samples, prices, lacking


def main():
    rounds = int(sys.argv[1])
    print(f"a switch of two threads that wake each other on one CPU, CPU ns, medians of {rounds} rounds")
    try:
        samples, prices, lacking = measure(rounds)
    except Skip as reason:
        print(f"  {reason}")
        return
    base = statistics.median(samples["none"])
    print(f"  {'':<36}{'ns':>8}{'more':>8}{'ratio':>8}{f'of a CPU at {RATE:,}/s':>24}   recorder: CPU ms, peak MiB")
    for name, taken in samples.items():
        median = statistics.median(taken)
        line = f"  {name:<36}{median:>8.0f}{median - base:>+8.0f}{median / base:>8.3f}{(median - base) * RATE / 1e7:>22.1f} %"
        if name in prices:
            cpu, rss = (statistics.median(price[i] for price in prices[name]) for i in range(2))
            line += f"   {cpu / 1e6:.0f}, {rss / 1024:.1f}"
        print(f"{line}  ({min(taken):.0f}-{max(taken):.0f})", flush=True)
    for name, reason in lacking.items():
        print(f"  {name}: {reason}")


main()
