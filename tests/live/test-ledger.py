#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger of the dead in snapshots: it agrees with the kernel's account, and each thread is in one row."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import ledgers
from harness import Daemon, Local, Skip, end, expect, expect_equal, main, need_root, temporary, test, wait_until


@contextlib.contextmanager
def daemon():
    """One that has loaded its programs."""
    need_root()
    with temporary() as directory, Daemon(directory) as ctl:
        ledgers.capture(ctl, directory)
        yield ctl, directory


@test
def account():
    """four storms of short lives have the CPU time that their cgroup has, within half a percent"""
    with daemon() as (ctl, directory):
        for name in ledgers.STORMS:
            kernel, ledger, dead, summary = ledgers.account(ctl, directory, name)
            print(f"# {name}: kernel {kernel / 1e6:.1f} ms, ledger {ledger / 1e6:.1f} ms, {100 * (ledger / kernel - 1):+.2f} %, "
                  f"{ledgers.total(dead, 'exits')} exits, {summary['unfinished']} unfinished")
            expect(abs(ledger / kernel - 1) < 0.005, name, kernel, ledger)
            expect({row["pcomm"] for row in dead} == {name}, dead)


@test
def partition():
    """while captures go on through a storm, no thread of it is lost or there twice"""
    with daemon() as (ctl, directory), ledgers.group("ctprof-storm") as (place, path):
        print(f"# {ledgers.survive(ctl, directory, place, path)} captures")


STARTERS = """
import os, sys
for _ in range(100):
    if os.fork() == 0:
        os.execv(sys.argv[1], [sys.argv[1]])
    os.wait()
"""


@test
def starters():
    """whoever started more than half of what ended is named: a shell, a program in Python, and the nearest of several"""
    with daemon() as (ctl, directory):
        for name, program in {"starting-shell": "sh", "starting-python": sys.executable, "ended-soon": "true"}.items():
            shutil.copy(os.path.realpath(shutil.which(program)), directory / name)
        shell, python, soon = (str(directory / name) for name in ("starting-shell", "starting-python", "ended-soon"))
        loop = f"i=0; while [ $i -lt %d ]; do {soon}; i=$((i + 1)); done"
        environment = {"PYTHONHOME": sys.base_prefix} | os.environ
        expect_equal(ctl("capture", "--tag", "a").status, 0)
        subprocess.run([shell, "-c", loop % 500], check=True)
        expect_equal(ctl("capture", "--tag", "b").status, 0)
        # The shell of the shell is who starts these, and most are those of the other.
        subprocess.run([shell, "-c", f"sh -c '{loop % 5}'; :"], check=True)
        subprocess.run([python, "-c", STARTERS, soon], check=True, env=environment)
        expect_equal(ctl("capture", "--tag", "c").status, 0)
        first, second = (group_of(ctl, "ended-soon", *between) for between in (("a", "b"), ("b", "c")))
        expect_equal((first["exits"], first["startedBy"]), (500, [{"name": "starting-shell", "threads": 500}]))
        expect_equal((second["exits"], second["startedBy"]),
                     (105, [{"name": "starting-python", "threads": 100}, {"name": "sh", "threads": 5}]))
        expect_equal(group_of(ctl, "sh", "b", "c")["startedBy"][0]["threads"] > 0, True)
        header, row = table_of(ctl, "a..b", "b..c")
        at = header.index("STARTED BY")
        expect_equal(row[at:].split()[0], "starting-shell\u2192starting-python", header, row)


def group_of(ctl, name, *snapshots):
    view = ("--filter", name, "--json", "--no-thread-normalize", "--metrics", "run_time_ns", "--limit", "0")
    return next(group for group in ctl("compare", *snapshots, *view).json()["groups"] if group["key"] == name)


def table_of(ctl, *intervals):
    lines = ctl("compare", *intervals, "--filter", "ended-soon").out.splitlines()
    return next(line for line in lines if line.startswith("GROUP ")), next(line for line in lines if line.startswith("ended-soon "))


@contextlib.contextmanager
def nested(place, n):
    """A cgroup @n levels below another, removed at the end."""
    levels = [place / "/".join(f"level{i}" for i in range(depth + 1)) for depth in range(n)]
    for level in levels:
        level.mkdir()
    try:
        yield levels[-1]
    finally:
        for level in reversed(levels):
            wait_until(lambda level=level: not (level / "cgroup.procs").read_text(), what="the end of what is in it")
            level.rmdir()


@test
def deep_cgroups():
    """who ends in a cgroup is in the same one as who lives on there, however deep it is"""
    with daemon() as (ctl, directory), ledgers.group("ctprof-deep") as (place, path), nested(place, 12) as deep:
        shutil.copy("/bin/sleep", directory / "deep-sleeper")
        entered = f"echo 0 > {deep}/cgroup.procs; exec {directory}/deep-sleeper"
        with subprocess.Popen(["sh", "-c", f"{entered} 1000"]) as living:
            try:
                subprocess.run(["sh", "-c", f"{entered} 0"], check=True)
                _, lives, dead = ledgers.capture(ctl, directory)
            finally:
                end(living.pid)
        wanted = path + str(deep)[len(str(place)):]
        expect_equal([row["cgroup"] for row in lives if row["pcomm"] == "deep-sleeper"], [wanted], "the living")
        expect_equal({row["cgroup"] for row in dead if row["pcomm"] == "deep-sleeper"}, {wanted}, "the dead")
        # Nobody lives there any more, and no program noted so long a path.
        _, _, dead = ledgers.capture(ctl, directory)
        cgroup, = {row["cgroup"] for row in dead if row["pcomm"] == "deep-sleeper"}
        expect("path unknown" in cgroup, cgroup)


# Has a zombie with some CPU time until its input ends.
ZOMBIE = """
import os, sys, time
pid = os.fork()
if pid == 0:
    with open("/proc/self/comm", "w") as comm:
        comm.write("early-zombie")
    while time.process_time() < 0.1:
        pass
    os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(pid, flush=True)
sys.stdin.read()
os.wait()
"""


@test
def zombies_from_before():
    """what ended before the ledger began is neither among the living nor among the dead"""
    need_root()
    with subprocess.Popen([sys.executable, "-c", ZOMBIE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        with temporary() as directory, Daemon(directory) as ctl:
            _, lives, dead = ledgers.capture(ctl, directory)
            expect(pid not in {row["tid"] for row in lives}, "it is among the living")
            parent.stdin.close()
            parent.wait()
            _, lives, later = ledgers.capture(ctl, directory)
            expect("early-zombie" not in {row["pcomm"] for row in [*lives, *dead, *later]}, "it came later")


@test
def private():
    """run without a daemon of the host: the programs that COMMAND ran are there by name"""
    need_root()
    with temporary() as directory:
        shutil.copy("/bin/true", directory / "short-life")
        command = "i=0; while [ $i -lt 300 ]; do ./short-life; i=$((i + 1)); done"
        ctl = Local(directory / "spool")
        answer = ctl("run", "--json", "--", "sh", "-c", command, cwd=directory).json()
        listed = ctl("list", "--json").json()["snapshots"]
    if listed[0]["backend"] != "bpf":
        raise Skip("no BPF programs can be loaded here")
    expect_equal(len({head["ledgerId"] for head in listed}), 1, "ledgers of the two captures")
    group, = (group for name in ("groups", "onlyBefore", "onlyAfter") for group in answer[name]
              if group["key"] == "short-life")
    expect_equal(group["lives"], {"survived": 0, "born": 0, "ended": 0, "bornAndEnded": 300}, "short-life")
    # Whether the division is exact depends on whether anything else on the host was born during the first capture.
    expect(answer["coverage"]["bornAndEndedNs"] > 0, answer["coverage"])


@test
def interrupted():
    """a capture that is killed leaves the ledger whole"""
    with daemon() as (ctl, directory), ledgers.group("ctprof-storm") as (place, path):
        process = ledgers.storm("storm-processes", place, directory)
        while process.poll() is None:
            connection = ctl.connect()
            connection.send(b'{"method":"io.ctprof.Profiler.Capture","parameters":{"backend":"bpf"}}\0')
            time.sleep(0.005)
            for pid in ctl.children():
                with contextlib.suppress(ProcessLookupError):
                    end(pid)
            connection.close()
        process.communicate()
        _, _, dead = ledgers.capture(ctl, directory)
        expect_equal(ledgers.total(dead, "exits", cgroup=path), 201)


@test
def described():
    """the head tells which ledger it is and since when, and of a capture from files the sources say why there is none"""
    with daemon() as (ctl, directory):
        heads = [ledgers.capture(ctl, directory)[0] for _ in range(2)]
        _, _, dead = ledgers.capture(ctl, directory)
        own = [row for row in dead if row["self"]]
        expect_equal({row["pcomm"] for row in own}, {"ctprofd", "ctprofctl"}, "what is marked as our own")
        expect(any(row["pcomm"] == "ctprofctl" for row in dead), "our clients have ended", dead)
        for name in ("ledgerId", "ledgerSinceBoottimeNs", "waitsSinceBoottimeNs"):
            expect_equal(heads[0]["end"].get(name, heads[0].get(name)), heads[1]["end"].get(name, heads[1].get(name)))
        expect_equal(ctl("capture", "--tag", "through", "--backend", "bpf").status, 0)
        info = ctl("info", "through", "--json").json()
        expect_equal(len(info["snapshot"]["ledgerId"]), 32)
        states = {source["name"]: source for source in info["sources"]}
        expect_equal((states["exits"]["state"], states["waits"]["state"]), ("ok", "ok"))
        expect_equal(ctl("capture", "--tag", "files", "--backend", "procfs").status, 0)
        info = ctl("info", "files", "--json").json()
        expect("ledgerId" not in info["snapshot"], info["snapshot"])
        states = {source["name"]: source for source in info["sources"]}
        expect_equal((states["exits"]["state"], states["waits"]["state"]), ("not-requested", "not-requested"))


# It does some work, once connected, hangs up or not, does more, and ends.
CALLER = """
import socket, sys, time
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[1])
sys.stdin.readline()
line = socket.socket(socket.AF_UNIX)
if sys.argv[2] != "stranger":
    line.connect(sys.argv[3])
print(flush=True)
sys.stdin.readline()
if sys.argv[2] == "left":
    line.close()
end = time.thread_time() + 1
while time.thread_time() < end:
    pass
"""
CALLERS = {"ctprofctl": "stranger", "ctprof-left": "left", "ctprof-caller": "connected"}


@test
def whose_name_hides_nothing():
    """who is called as our client is in a row as everybody, also who called before it worked; who is connected is not, and that is said"""
    with daemon() as (ctl, directory):
        processes = {}
        try:
            for name, what in CALLERS.items():
                processes[name] = subprocess.Popen([sys.executable, "-c", CALLER, name, what, str(ctl.socket)],
                                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            expect_equal(ctl("capture", "--backend", "bpf", "--tag", "a").status, 0)
            for process in processes.values():
                process.stdin.write("\n")
                process.stdout.readline()
            _, living, _ = ledgers.capture(ctl, directory)
            marks = {row["pcomm"]: row["self"] for row in living if row["tgid"] in {process.pid for process in processes.values()}}
            expect_equal(marks, {"ctprofctl": False, "ctprof-left": True, "ctprof-caller": True}, "among the living")
            for process in processes.values():
                process.communicate("\n", timeout=60)
        finally:
            for process in processes.values():
                end(process.pid)
                process.wait()
        _, _, dead = ledgers.capture(ctl, directory)
        burnt = {name: {row["self"] for row in dead if row["pcomm"] == name and row["run_time_ns"] >= 1e9} for name in CALLERS}
        expect_equal(burnt, {"ctprofctl": {False}, "ctprof-left": {False}, "ctprof-caller": {True}}, "in the ledger")
        expect_equal(ctl("capture", "--backend", "bpf", "--tag", "b").status, 0)
        document = ctl("compare", "a", "b", "--group-by", "comm", "--json").json()
        # One caller's second and the daemon's own work, but no second of another's.
        expect(1e9 <= document["coverage"]["ownNs"] < 2e9, document["coverage"])
        text = ctl("compare", "a", "b").out
        expect(" its own)" in " ".join(text.split()), text)


READER = """
import mmap, os, random, sys
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
room = mmap.mmap(-1, 4096)
print(flush=True)
while True:
    os.preadv(file, [room], 4096 * random.randrange(8192))
"""
HOG = "while True: pass"


@contextlib.contextmanager
def running(*commands):
    """Programs in the background, ended by their pids."""
    processes = []
    try:
        for command in commands:
            processes.append(subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE))
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


WAIT_PARTS = ("run_time_ns", "wait_time_ns", "storage_wait_ns", "uninterruptible_ns")


def stolen_ns(cpu):
    """What the host took of a CPU since the boot, while something would have run there."""
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name == f"cpu{cpu}":
            return int(ticks[7]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    raise AssertionError(f"/proc/stat has no CPU {cpu}")


def life_of_a_reader(ctl, directory, file, n_hogs, cpu):
    """What two seconds of one did, by how much the parts differ from them, and what the host took meanwhile."""
    with running((READER, str(file)), *[(HOG,)] * n_hogs) as processes:
        for process in processes:
            os.sched_setaffinity(process.pid, {cpu})
        processes[0].stdout.readline()
        stolen = -stolen_ns(cpu)
        rows = []
        for _ in range(2):
            _, living, _ = ledgers.capture(ctl, directory)
            rows += [row for row in living if row["tid"] == processes[0].pid]
            if len(rows) < 2:
                time.sleep(2)
        stolen += stolen_ns(cpu)
    did = {name: rows[1][name] - rows[0][name] for name in ("acct_elapsed_ns", *WAIT_PARTS, "storage_wait_count")}
    difference = sum(did[name] for name in WAIT_PARTS) - did["acct_elapsed_ns"]
    print(f"# {n_hogs} hogs on CPU {cpu}: {did}, {difference} ns more, {stolen} ns of the CPU stolen")
    return did, difference, stolen


@test
def waits():
    """a thread that only reads from a disk runs, waits for a CPU or for storage, and these add up to its life"""
    with daemon() as (ctl, directory):
        file = pathlib.Path(directory) / "blocks"
        file.write_bytes(os.urandom(32 << 20))
        os.sync()
        try:
            os.close(os.open(file, os.O_RDONLY | os.O_DIRECT))
        except OSError as error:
            raise Skip(f"no direct reading here: {error}") from None
        # The kernel and the program read the clock some microseconds apart where a wait begins and where it ends:
        # these are in both or in neither. Between queueing a thread and telling the program of it, the kernel interrupts
        # the thread's CPU where another one wakes it, which takes a guest up to 26 us. The CPU that the disk interrupts
        # needs no such thing, and it is one of these. What the host of a guest takes of the CPU while the thread runs is
        # in no part: run_time_ns is without it, where the kernel learns of it (CONFIG_PARAVIRT_TIME_ACCOUNTING).
        cpus = sorted(os.sched_getaffinity(0))[:8]
        for n_hogs in (0, 2):
            for cpu in cpus * 2:
                did, difference, stolen = life_of_a_reader(ctl, directory, file, n_hogs, cpu)
                if did["storage_wait_count"] == 0:
                    raise Skip("these reads wait for nothing")
                bound = 0.02 * did["acct_elapsed_ns"] + 5_000 * did["storage_wait_count"]
                if -(stolen + bound) < difference < bound:
                    break
            else:
                raise AssertionError(f"the parts are none of a life: {did}, of which {stolen} ns of the CPU were stolen")


main()
