#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each thread allocated through jemalloc is in the snapshot as the thread itself counted it."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import jemallocs
from harness import (CTPROFCTL, Daemon, Idle, call, expect, expect_equal, main, need_root, private_host, run, settled,
                     temporary, test, wait_until)
from heaps import (NAMES, READER, TARGET, Target, children, counters, expect_absent, expect_exact, failures, preload,
                   reasons, source, switches)
from hostile import capture, state_of

QUIET = ("--quiet", "2")
# What a library that is loaded later needs of the loader when it was not made for that.
LATE = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}
NOBODY = 65534


def daemon_with(directory, text="HeapTime=1min\n"):
    """With time for a slow machine; the default is tried on its own."""
    config = directory / "ctprofd.conf"
    config.write_text("[Capture]\n" + text, encoding="ascii")
    return Daemon(directory, options=["--config", str(config)])


def ways(jemalloc):
    """(name, program, environment) of each way to bring a jemalloc into a program."""
    yield "preloaded", TARGET, preload(jemalloc.shared)
    for way in jemallocs.WAYS:
        for is_stripped in (False, True) if way != "loader" else ():
            program = jemallocs.program(jemalloc, way, is_stripped=is_stripped)
            yield f"{way}{', stripped' if is_stripped else ''}", program, None
    for way in ("static", "pie"):
        program = jemallocs.program(jemalloc, way, "-DHEAP_ALIGNED", is_stripped=True)
        yield f"{way}, stripped, with other thread-local data", program, None


@test
def every_way():
    """each thread's numbers are exact whichever way jemalloc came into its program, at first sight and again"""
    distribution = jemallocs.distribution()
    with temporary() as directory, contextlib.ExitStack() as stack:
        targets = {name: stack.enter_context(Target(program, *QUIET, env=env))
                   for name, program, env in ways(distribution)}
        daemon = stack.enter_context(daemon_with(directory))
        for when in ("at first", "again", "once more"):
            for target in targets.values():
                target.round()
            answer, document = capture(daemon, directory, "--no-smaps")
            n_threads = sum(expect_exact(document, target, when, name) for name, target in targets.items())
            summary, found = document["probe_summary"], source(answer)
            if os.geteuid() == 0:
                expect_equal((found["state"], found["ok"]), ("ok", n_threads), found)
                expect_equal([summary[name] for name in ("jemalloc_detected", "probed_ok", "failed", "dominant_failure")],
                             [len(targets), n_threads, 0, None], summary)
                expect_equal((failures(document), summary["privilege_dominant"]), ({}, False), summary)
                # All but the daemon's own: this one, for example, has no jemalloc.
                expect(summary["tgids_walked"] > len(targets), summary)
        print(f"# jemalloc {next(iter(targets.values())).version}: {len(targets)} programs, {n_threads} threads")


@test
def thousands_of_threads():
    """each of 2,000 threads of one process is exact, those that never allocated with 0"""
    with temporary() as directory, Target(TARGET, "--steps", 20, "--quiet", 200, threads=1800,
                                          env=preload(jemallocs.distribution().shared)) as target, \
            daemon_with(directory) as daemon:
        for when in ("at first", "again"):
            target.round()
            answer, document = capture(daemon, directory, "--no-smaps")
            expect_equal(expect_exact(document, target, when), 2001, "threads")
        expect(source(answer)["ok"] >= 2001, source(answer))


@test
def several_in_one():
    """of a program with several jemallocs, a thread's numbers are sums over them"""
    distribution = jemallocs.distribution()
    with temporary() as directory:
        others = [jemallocs.copy(distribution.shared, directory / name) for name in ("second.so", "third.so")]
        options = [word for other in others for word in ("--library", other)]
        with Target(TARGET, *options, *QUIET, env={**preload(distribution.shared), **LATE}) as two, \
                Target(TARGET, "--library", others[0], *QUIET, env=LATE) as late, daemon_with(directory) as daemon:
            for target in (two, late):
                target.round()
            document = capture(daemon, directory, "--no-smaps")[1]
            expect_exact(document, two, "three jemallocs")
            expect_exact(document, late, "one that was loaded late")


@test
def wherever_it_runs():
    """in namespaces, from files that are gone, without a leader, forked or in vfork(): the numbers are exact"""
    need_root()
    distribution = jemallocs.distribution()
    static = jemallocs.program(distribution, "static", is_stripped=True)
    linked = jemallocs.program(distribution, "linked")
    with temporary() as directory, contextlib.ExitStack() as stack:
        gone, replaced = (jemallocs.copy(static, directory / name) for name in ("gone", "replaced"))
        library = jemallocs.copy(distribution.shared, directory / "gone.so")
        hidden = directory / "hidden"
        hidden.mkdir()
        script = f'mount -t tmpfs none {hidden} && cp {static} {hidden}/target && exec {hidden}/target "$@"'

        def start(*arguments, **options):
            return stack.enter_context(Target(*arguments, **options))

        targets = {
            "in a pid namespace": start(linked, before=["unshare", "--pid", "--fork", "--kill-child"]),
            "in two pid namespaces": start(static, before=["unshare", "--pid", "--fork", "--kill-child"] * 2),
            "in a user namespace": start(static, before=["unshare", "--user", "--map-root-user"]),
            "in a mount namespace": start("sh", "-c", script, "sh", before=["unshare", "--mount"]),
            "removed": start(gone),
            "replaced": start(replaced),
            "with a library that was removed": start(TARGET, env=preload(library)),
            "forked": start(static, "--fork"),
            "without a leader": start(linked, "--headless"),
            "waiting in vfork()": start(linked, "--vfork"),
            "of another user": start(static, before=["setpriv", "--reuid", NOBODY, "--clear-groups"]),
        }
        gone.unlink()
        library.unlink()
        replaced.unlink()
        shutil.copy("/bin/true", replaced)
        daemon = stack.enter_context(daemon_with(directory))
        for when in ("at first", "again"):
            for target in targets.values():
                target.round()
            document = capture(daemon, directory, "--no-smaps")[1]
            for name, target in targets.items():
                expect_exact(document, target, when, name)
        print(f"# {len(targets)} programs, {sum(len(target.truth) for target in targets.values())} threads")


def leave_still(pid):
    """A process that is stopped."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: state_of(pid) == "T", what="its stop")


@contextlib.contextmanager
def held(pid):
    """A process whose threads a debugger has stopped."""
    with subprocess.Popen([READER, "hold", str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tracer:
        expect_equal(tracer.stdout.readline(), "held\n", "the tracer")
        yield
        tracer.stdin.close()
        expect_equal(tracer.wait(60), 0, "the tracer")


@test
def those_who_stand_still():
    """who is stopped, traced or in an uninterruptible wait is read, and stays as it is"""
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    with temporary() as directory, Target(linked) as stopped, Target(linked) as traced, Target(linked, "--vfork") as waiting, \
            daemon_with(directory) as daemon:
        targets = (stopped, traced, waiting)
        for target in targets:
            target.round()
        leave_still(stopped.pid)
        with held(traced.pid):
            def now():
                return {tid: (state_of(target.pid, tid), switches(target.pid, [tid])) for target in targets
                        for tid in target.truth}
            before = settled(now)
            expect_equal({state for state, _ in before.values()}, {"T", "t", "S", "D"}, "states")
            for _ in range(5):
                document = capture(daemon, directory, "--no-smaps")[1]
                for target in targets:
                    expect_exact(document, target)
            expect_equal(now(), before, "states, and how often each ran")
            # The child in vfork() has no list of mutexes of its own that would lead to its counters.
            (child,) = children(waiting.pid)
            expect_absent(document, child, "in vfork()")
            reason = set(reasons(daemon, "now", child).values())
            expect_equal(len(reason), 1, reason)
            print(f"# in vfork(): {reason.pop()}")
        for target in (traced, waiting):
            target.round()
        os.kill(stopped.pid, signal.SIGCONT)
        stopped.round()
        document = capture(daemon, directory, "--no-smaps")[1]
        for target in targets:
            expect_exact(document, target, "afterwards")


def unprivileged(directory):
    """Calls ctprofctl --local as one who has no privilege, with a spool below the directory."""
    def call(*arguments, **options):
        return run(CTPROFCTL, "--local", "--spool", directory / "spool", *arguments, user=NOBODY, group=NOBODY,
                   groups=[], env={"HOME": str(directory), "XDG_STATE_HOME": str(directory)}, **options)
    return call


@test
def without_privileges():
    """whoever has none reads the own processes, and learns why not those of others"""
    need_root()
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    with temporary() as directory, contextlib.ExitStack() as stack:
        program = jemallocs.copy(linked, directory / "heap-target")
        library = jemallocs.copy(jemallocs.distribution().shared, directory / "own.so")
        spool = directory / "home"
        spool.mkdir()
        os.chown(spool, NOBODY, NOBODY)
        drop = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
        own = stack.enter_context(Target(TARGET, env=preload(library), before=drop))
        foreign = stack.enter_context(Target(program))
        for target in (own, foreign):
            target.round()
        answer, document = capture(unprivileged(spool), spool, "--no-smaps")
        expect_exact(document, own, "of one's own")
        expect_absent(document, foreign.pid, "of another")
        found, summary = source(answer), document["probe_summary"]
        # Whether the foreign ones use jemalloc cannot be known.
        expect_equal((found["state"], found["ok"]), ("partial", len(own.truth)), found)
        expect_equal((summary["dominant_failure"], summary["privilege_dominant"]), ("permission", True), summary)
        expect(failures(document)["permission"] > 0, summary)
        for reason in reasons(unprivileged(spool), "now", foreign.pid).values():
            expect(reason, "no reason")
        print(f"# {found['reason']}")


@test
def who_decides():
    """--no-heap, Heap= and the parameter of the call decide, the caller before the administrator"""
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    with temporary() as directory, Target(linked) as target:
        target.round()
        (directory / "yes").mkdir()
        (directory / "no").mkdir()
        with daemon_with(directory / "yes", "Heap=yes\nHeapTime=1min\n") as wanted, \
                daemon_with(directory / "no", "Heap=no\nHeapTime=1min\n") as unwanted:
            for daemon, options, is_read in ((wanted, (), True), (wanted, ("--no-heap",), False), (unwanted, (), False),
                                             (unwanted, ("--no-heap",), False)):
                answer, document = capture(daemon, directory, *options)
                check_decision(daemon, answer, document, target, is_read)
            for daemon, parameters, is_read in ((wanted, {"heap": False}, False), (unwanted, {"heap": True}, True)):
                with daemon.connect() as connection:
                    reply = call(connection, "io.ctprof.Profiler.Capture", {"tag": "now", "replace": True, **parameters})
                document = document_of(daemon, directory)
                check_decision(daemon, reply[-1]["parameters"], document, target, is_read)


def document_of(daemon, directory):
    """The document of the snapshot "now"."""
    file = directory / "now.ctprof.zst"
    file.unlink(missing_ok=True)
    expect_equal(daemon("export", "now", file).status, 0, "export")
    document = json.loads(subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout)
    columns = document["threads"]["columns"]
    document["rows"] = [dict(zip(columns, cells)) for cells in document["threads"]["rows"]]
    return document


def check_decision(daemon, answer, document, target, is_read):
    found = source(answer)
    expect_equal(answer["snapshot"]["heapRequested"], is_read, answer["snapshot"])
    if is_read:
        expect_exact(document, target)
        return
    expect_equal((found["state"], found["ok"]), ("not-requested", 0), found)
    expect_absent(document, target.pid)
    why = set(reasons(daemon, "now", target.pid).values())
    expect(len(why) == 1 and None not in why, why)


def read_of(daemon, directory, targets):
    """How many of the targets a capture reads; those are exact, and of the others it says why not."""
    answer, document = capture(daemon, directory, "--no-smaps")
    found = source(answer)
    read = [target for target in targets if counters(document, target.pid)[target.pid] != (None, None)]
    for target in read:
        expect_exact(document, target)
    left = [target for target in targets if target not in read]
    if left:
        expect_equal(found["state"], "partial" if read else "unavailable", found)
        # Whoever takes too long alone is told by itself.
        expect("HeapTime=" in found["reason"] and "--no-heap" in found["reason"] or "(timed-out)" in found["reason"],
               found["reason"])
        expect(all(reasons(daemon, "now", left[0].pid).values()), "no reason in a cell")
    return len(read)


@test
def time_that_is_up():
    """when HeapTime= is up, what is left is counted and the reason names the setting; what was understood is kept"""
    static = jemallocs.program(jemallocs.distribution(), "static")
    with temporary() as directory, contextlib.ExitStack() as stack:
        # Every file is another one, to be understood anew.
        targets = [stack.enter_context(Target(jemallocs.copy(static, directory / f"target-{number}"), threads=2))
                   for number in range(24)]
        for target in targets:
            target.round()
        n_read = {}
        for limit, n_captures in (("1ms", 10), ("50ms", 200)):
            (directory / limit).mkdir()
            n_read[limit] = []
            with daemon_with(directory / limit, f"HeapTime={limit}\n") as daemon:
                while n_captures > 0 and max(n_read[limit], default=0) < len(targets):
                    n_read[limit].append(read_of(daemon, directory, targets))
                    n_captures -= 1
        print(f"# processes of {len(targets)} that were read in captures one after the other: {n_read}")
        expect(n_read["1ms"][0] < len(targets), "1 ms was enough for", len(targets), "files")
        expect_equal(n_read["50ms"][-1], len(targets), "read in the end")


@test
def what_compare_says():
    """what was allocated between two snapshots is told by thread, by group and as a rate, and live bytes are the rest"""
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    metrics = ("--metrics", ",".join([*NAMES, "live_heap_estimate"]), "--limit", "0", "--json")
    with temporary() as directory, Target(linked, *QUIET) as target, daemon_with(directory) as daemon:
        rounds = []
        for name in ("a", "b"):
            rounds.append(target.round())
            expect_equal(daemon("capture", "--tag", name).status, 0, "capture")
        before, after = rounds
        answer = daemon("compare", "a", "b", "--totals", "--group-by", "thread", *metrics).json()
        groups = {group["tid"]: group for group in answer["groups"] if group["pid"] == target.pid}
        for tid, numbers in after.items():
            for metric, first, second in zip(NAMES, before[tid], numbers):
                row = groups[tid]["metrics"][metric]
                expect_equal((row["before"], row["after"], row["delta"]), (first, second, second - first), tid, metric)
            row = groups[tid]["derived"]["live_heap_estimate"]
            expect_equal((row["before"], row["after"]), (before[tid][0] - before[tid][1], numbers[0] - numbers[1]), tid)
        answer = daemon("compare", "a", "b", "--group-by", "pcomm", *metrics).json()
        (group,) = [group for group in answer["groups"] if group["key"] == "heap-target"]
        sums = [sum(numbers[i] for numbers in after.values()) - sum(numbers[i] for numbers in before.values())
                for i in range(2)]
        expect_equal([group["metrics"][metric]["value"]["delta"] if isinstance(group["metrics"][metric].get("value"), dict)
                      else group["metrics"][metric]["delta"] for metric in NAMES], sums, group["metrics"])


@test
def without_jemalloc():
    """a thread of a process without jemalloc has no number but the reason that it does not apply, never 0"""
    need_root()
    with temporary() as directory, Idle(20, 2) as idle, daemon_with(directory) as daemon:
        answer, document = capture(daemon, directory, "--no-smaps")
        found, summary = source(answer), document["probe_summary"]
        expect_equal((found["state"], found["ok"]), ("not-applicable", 0), found)
        expect("jemalloc" in found["reason"], found)
        expect_equal([summary[name] for name in ("jemalloc_detected", "probed_ok", "failed", "dominant_failure")],
                     [0, 0, 0, None], summary)
        for pid in idle.pids:
            expect_absent(document, pid)
        for name in (NAMES, ("--verbose",)):
            expect_equal(daemon("show", "now").status, 0, name)
        with Target(TARGET, env=preload(jemallocs.distribution().shared)) as target:
            target.round()
            answer, document = capture(daemon, directory, "--no-smaps")
            expect_exact(document, target)
            for pid in idle.pids:
                expect_absent(document, pid)
                why = set(reasons(daemon, "now", pid).values())
                expect(len(why) == 1 and "not applicable" in why.pop(), reasons(daemon, "now", pid))
            found = source(answer)
            # Threads that have no jemalloc are not threads that were not read.
            expect_equal((found["state"], found["ok"], found["unsupported"], found["other"]),
                         ("ok", len(target.truth), 0, 0), found)


@test
def as_the_prior_tool_has_it():
    """an export in the format of the prior tool has the numbers and the summary"""
    need_root()
    linked = jemallocs.program(jemallocs.distribution(), "linked")
    with temporary() as directory, Target(linked, *QUIET) as target, daemon_with(directory) as daemon:
        target.round()
        document = capture(daemon, directory, "--no-smaps")[1]
        file = directory / "prior.ctprof.zst"
        expect_equal(daemon("export", "now", file, "--format", "ktstr").status, 0, "export")
        prior = json.loads(subprocess.run(["zstd", "-dcq", str(file)], capture_output=True, check=True).stdout)
        expect_equal(prior["probe_summary"]["probed_ok"], len(target.truth), prior["probe_summary"])
        for name in ("tgids_walked", "jemalloc_detected", "failed", "dominant_failure", "privilege_dominant"):
            expect_equal(prior["probe_summary"][name], document["probe_summary"][name], name)
        got = {thread["tid"]: (thread["allocated_bytes"], thread["deallocated_bytes"]) for thread in prior["threads"]
               if thread["tgid"] == target.pid}
        expect_equal(got, target.truth, "threads")


private_host()
main()
