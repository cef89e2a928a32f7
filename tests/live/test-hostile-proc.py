#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that stand still in every way, and files of /proc that fail, lie or never answer."""
import contextlib
import os
import signal
import subprocess
import sys
import time

from fuse import STUCK_PAGE, Fuse
from harness import CTPROFCTL, Daemon, Idle, Local, Skip, expect, expect_equal, main, need_root, temporary, test, wait_until
from hostile import Actor, capture, held_memory, on_terminal, state_of

EIO = 5


@test
def all_states_are_told():
    """stopped, traced, waiting in the kernel, exited, and exited with threads that go on: all with their rows"""
    kinds = {"stopped": (), "traced": (), "vfork": (), "zombie": (30,), "headless": (10,)}
    letters = {"stopped": "T", "traced": "t", "vfork": "D", "zombie": "Z", "headless": "Z"}
    with temporary() as directory, contextlib.ExitStack() as stack:
        ctl = Local(directory / "spool")
        actors = {kind: stack.enter_context(Actor(kind, *words)) for kind, words in kinds.items()}
        for kind, actor in actors.items():
            for pid in actor.pids:
                wait_until(lambda p=pid, k=kind: state_of(p) == letters[k], what=f"{kind} to be {letters[kind]}")
        answer, document = capture(ctl, directory)
        rows = {row["tid"]: row for row in document["rows"]}
        for kind, actor in actors.items():
            for pid in actor.pids:
                row = rows[pid]
                expect_equal((row["state"], state_of(pid)), (letters[kind],) * 2, kind)
                expect(row["run_time_ns"] is not None and row["voluntary_csw"] is not None, kind, row)
                # Whoever has no memory any more has no figures of it, and that is no failure.
                expect_equal(row["smaps_rollup_kb"] is None, kind == "zombie", kind, row["smaps_rollup_kb"])
        leader = actors["headless"].pid
        threads = [row for row in document["rows"] if row["tgid"] == leader]
        expect_equal(sorted(row["tid"] for row in threads), sorted(map(int, os.listdir(f"/proc/{leader}/task"))))
        expect_equal([row["state"] for row in threads], ["Z"] + ["S"] * 10, "an exited leader's threads")
        expect_equal(rows[leader]["nr_threads"], 11, "threads of an exited leader")
        for name in ("stat", "sched", "status", "cgroup", "affinity"):
            source = next(source for source in answer["sources"] if source["name"] == name)
            expect_equal(source["state"], "ok", source)
        groups = ctl("show", "now", "--group-by", "all", "--self", "--json", "--limit", "0").json()["groups"]
        expect_equal(sum(group["threads"] for group in groups), answer["snapshot"]["threads"], "threads of all")
        print(f"# {sum(len(actor.pids) for actor in actors.values())} processes in states {letters}")


class Covered:
    """What it takes to run something with files mounted over those of /proc, for it alone."""

    def __init__(self, mounts):
        script = " && ".join(["mount --make-rprivate /", *(f"mount --bind '{a}' '{b}'" for a, b in mounts)])
        self.prefix = ["unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh"]

    def capture(self, directory, *options):
        done = subprocess.run([*self.prefix, CTPROFCTL, "--local", "--spool", str(directory / "spool"), "capture",
                               "--tag", "now", "--replace", "--json", *options],
                              capture_output=True, text=True, timeout=120, check=False)
        expect_equal((done.returncode, done.stderr), (0, ""), "capture")
        return Local(directory / "spool")


def source_of(ctl, name):
    return next(source for source in ctl("info", "now", "--json").json()["sources"] if source["name"] == name)


def thread_of(ctl, pid):
    groups = ctl("show", "now", "--group-by", "thread", "--limit", "0", "--json").json()["groups"]
    return next((group for group in groups if group["tid"] == pid), None)


@test
def files_that_lie_cost_themselves_only():
    """empty, endless, cut and foreign files, and those that fail with EIO: what they held is absent and counted"""
    need_root()
    metrics = {"stat": None, "sched": "nr_migrations", "io": "rchar", "cgroup": None, "smaps_rollup": None}
    kinds = ("empty", "large", "cut", "foreign", "eio")
    with temporary() as directory, Idle(len(metrics) * len(kinds), len(metrics) * len(kinds)) as idle, \
            Fuse(directory / "fuse", {"eio": EIO}) as fuse:
        paths = {kind: directory / kind for kind in kinds}
        paths["eio"] = fuse.path("eio")
        paths["empty"].write_bytes(b"")
        paths["large"].write_bytes(b"x" * 40000000)
        paths["cut"].write_bytes(b"rcha")
        paths["foreign"].write_bytes(b"1 (a) R 1 (b)) S 1 1 1\n")
        victims = dict(zip(((name, kind) for name in metrics for kind in kinds), idle.pids))
        ctl = Covered([(paths[kind], f"/proc/{pid}/task/{pid}/{name}")
                       for (name, kind), pid in victims.items()]).capture(directory, "--smaps=all")
        counts = {"unsupported": 0, "malformed": 3, "other": 2}
        for name in metrics:
            source = source_of(ctl, name)
            # What has no line of version 2 is a host without it.
            wanted = {"unsupported": 2, "malformed": 1, "other": 2} if name == "cgroup" else counts
            expect_equal({outcome: source[outcome] for outcome in wanted}, wanted, name)
            expect_equal(source["state"], "partial", source)
            expect(source["ok"] > 0 and source["reason"], source)
        groups = ctl("show", "now", "--group-by", "thread", "--limit", "0", "--json").json()["groups"]
        threads = {group["tid"]: group["metrics"] for group in groups}
        for (name, kind), pid in victims.items():
            expect_equal(pid in threads, name != "stat", kind, name, "the thread")
            if metrics[name]:
                cell = threads[pid][metrics[name]]
                expect(cell["value"] is None and cell["reason"], kind, name, cell)
                expect(threads[pid]["run_time_ns"]["value"] is not None, kind, name)
        print(f"# {len(victims)} files that lie or fail, each counted once")
        lines = on_terminal(CTPROFCTL, "--local", "--spool", ctl.spool, "info", "now")
        for line in lines:
            expect(len(line) <= 80 and line.isprintable(), "a line of", len(line), repr(line))
        for name in metrics:
            expect(any(line.startswith(f"{name} ") for line in lines), name, "is not explained in", lines)


@test
def a_lock_that_is_never_let_go_costs_the_memory_only():
    """a process whose memory map cannot be read, ever, costs the time budget for that, and nothing else"""
    need_root()
    with temporary() as directory, Fuse(directory / "fuse", {"page": STUCK_PAGE}) as fuse:
        config = directory / "config"
        config.write_text("[Capture]\nSmapsTime=500ms\nSmapsMaxProcesses=4194304\n", encoding="ascii")
        with Daemon(directory, options=["--config", str(config)]) as daemon, held_memory(fuse) as pid:
            daemon("capture", "--tag", "now", "--json").json()
            source = source_of(daemon, "smaps_rollup")
            expect_equal(source["state"], "partial", source)
            expect("left out: late" in source["reason"] and source["other"] >= 1, source)
            expect(source["ok"] > 0, "nobody else's memory was read", source)
            expect_equal(source_of(daemon, "stat")["state"], "ok", "stat")
            expect_equal(thread_of(daemon, pid)["metrics"]["state"]["value"]["mode"], "D", "its state")
            wait_until(lambda: not daemon.children(), what="the job to end")


# It closes a file of a file system that does not answer, and so stays within the call.
EXECUTOR = """
import os, sys
os.open(sys.argv[1], os.O_RDONLY | os.O_CLOEXEC)
os.setuid(60017)
os.execv("/bin/sleep", ["sleep", "100"])
"""


@contextlib.contextmanager
def executing(fuse, n):
    """The pids of @n processes of a stranger in an execve(2) that does not end; whoever reads their stat waits with them."""
    processes = []
    try:
        for _ in range(n):
            fuse.waiting.clear()
            processes.append(subprocess.Popen([sys.executable, "-c", EXECUTOR, str(fuse.path("file"))]))
            expect(fuse.waiting.wait(20), "nobody closed the file")
        yield [process.pid for process in processes]
    finally:
        fuse.release()
        for process in processes:
            process.kill()
            process.wait()


@test
def an_execve_that_never_ends_costs_its_own_process_only():
    """captures through BPF beside processes that never come back from execve(2) read the memory of all others"""
    need_root()
    with temporary() as directory, Fuse(directory / "fuse", {"file": b"x"}, silent_flush=True) as fuse:
        config = directory / "config"
        config.write_text("[Capture]\nSmapsMaxProcesses=4194304\n[Jobs]\nCaptureTime=30s\n", encoding="ascii")
        with Daemon(directory, options=["--config", str(config)]) as daemon:
            first = daemon("capture", "--backend", "bpf")
            if first.status != 0:
                raise Skip(first.err.strip())
            with executing(fuse, 4) as pids:
                for _ in range(3):
                    begin = time.monotonic()
                    _, document = capture(daemon, directory, "--backend", "bpf")
                    print(f"# {time.monotonic() - begin:.2f} s beside {len(pids)} processes that hang in execve(2)")
                    source = source_of(daemon, "smaps_rollup")
                    expect_equal(source["state"], "partial", source)
                    # Whoever is large is left out, too, and not counted there.
                    expect(source["reason"].startswith(f"{len(pids)} processes left out: late"), source)
                    expect(source["ok"] > 0, "nobody else's memory was read", source)
                    rows = {row["tid"]: row for row in document["rows"]}
                    expect(all(rows[pid]["run_time_ns"] > 0 for pid in pids), "their rows", pids)
                wait_until(lambda: not daemon.children(), what="the job to end")


# Starts many of these, one after the other.
STORM = """
import os, signal, sys, time
children = []
def end(*_):
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
for _ in range(1000):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.open(sys.argv[1], os.O_RDONLY | os.O_CLOEXEC)
        os.setuid(60017)
        os.execv("/bin/sleep", ["sleep", "100"])
    children.append(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    time.sleep(0.001)
time.sleep(1000)
"""


@contextlib.contextmanager
def storm_of_executors(fuse):
    process = subprocess.Popen([sys.executable, "-c", STORM, str(fuse.path("file"))])
    try:
        expect(fuse.waiting.wait(20), "nobody closed the file")
        yield
    finally:
        fuse.release()
        process.terminate()
        process.wait(60)


@test
def processes_that_hang_in_execve_from_their_birth_hold_up_no_capture():
    """captures through BPF wait for nobody who is born meanwhile and never comes back from execve(2)"""
    need_root()
    with temporary() as directory, Fuse(directory / "fuse", {"file": b"x"}, silent_flush=True) as fuse:
        config = directory / "config"
        config.write_text("[Jobs]\nCaptureTime=20s\n", encoding="ascii")
        with Daemon(directory, options=["--config", str(config)]) as daemon:
            first = daemon("capture", "--backend", "bpf")
            if first.status != 0:
                raise Skip(first.err.strip())
            with storm_of_executors(fuse):
                begin = time.monotonic()
                for i in range(8):
                    done = daemon("capture", "--backend", "bpf")
                    expect_equal((done.status, done.err), (0, ""), "capture number", i)
                print(f"# {(time.monotonic() - begin) / 8:.2f} s a capture while such processes are started")
            wait_until(lambda: not daemon.children(), what="the job to end")


@test
def a_file_that_never_answers_costs_one_capture():
    """a capture that hangs in the kernel, deaf to SIGKILL, is answered; the daemon serves on and ends"""
    need_root()
    with temporary() as directory, Idle(1, 1) as idle, Fuse(directory / "fuse", {"stat": None}) as fuse:
        pid = idle.pids[0]
        config = directory / "config"
        config.write_text("[Jobs]\nCaptureTime=1s\n", encoding="ascii")
        covered = Covered([(fuse.path("stat"), f"/proc/{pid}/task/{pid}/stat")])
        with Daemon(directory, options=["--config", str(config)], prefix=covered.prefix) as daemon:
            failed = daemon("capture", "--tag", "a", "--backend", "procfs")
            expect_equal(failed.status, 1, failed.out)
            expect("hangs in the kernel" in failed.one_sentence(), failed.err)
            (job,) = daemon.children()
            letters = {state_of(job, tid) for tid in os.listdir(f"/proc/{job}/task")}
            expect("D" in letters, "the job is not stuck", letters)
            expect_equal(daemon("list", "--json").json()["snapshots"], [], "list")
            jobs = daemon("status", "--json").json()["jobs"]
            expect_equal([(hung["kind"], hung["pid"]) for hung in jobs["hanging"]], [("capture", job)], "jobs that hang")
            expect_equal((jobs["running"], jobs["waiting"], jobs["barredOwners"]), (0, 0, []), "jobs")
            fuse.release()
            wait_until(lambda: not daemon.children(), what="the job to be reaped")
        expect_equal(daemon.process.returncode, 0, "the daemon's exit status")


main()
