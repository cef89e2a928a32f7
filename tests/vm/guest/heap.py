# SPDX-License-Identifier: GPL-2.0-or-later
"""The counters of jemalloc, read by the installed service with what it is allowed, on this kernel and C library."""
import contextlib
import glob

import heaps
import machine
from harness import Idle, Skip, expect, expect_equal, test

STATIC = heaps.TARGET.with_name("heap-target-static")


def programs():
    """(name, program, environment) of what there is here."""
    libraries = glob.glob("/usr/lib/*-linux-gnu/libjemalloc.so.2")
    if libraries:
        yield "the guest's library", heaps.TARGET, heaps.preload(libraries[0])
    if STATIC.exists():
        yield "statically linked", STATIC, None


def read(name):
    """A snapshot: what the command answered, and its document with the rows by name."""
    answer = machine.take(name, "--replace")
    document = machine.document(name)
    document["rows"] = machine.rows(document)
    return answer, document


@test
def exact():
    """what each thread counted is in the snapshot, also of another user, in namespaces and with no rights"""
    found = list(programs())
    if not found:
        raise Skip("there is neither libjemalloc2 in this guest nor a program that was linked with it")
    other = machine.user("other")["user"]
    before = {"as it is": (), "of another user": ("setpriv", "--reuid", other, "--clear-groups"),
              "in namespaces": ("unshare", "--pid", "--mount", "--fork", "--kill-child"),
              "confined": ("unshare", "--user", "--map-root-user", "--mount", "setpriv", "--no-new-privs",
                           "--bounding-set", "-all", "--inh-caps", "-all")}
    with contextlib.ExitStack() as stack:
        stack.enter_context(machine.time_for_heaps())
        targets = {}
        for program, path, environment in found:
            for how, command in before.items():
                # Of the target alone: unshare stays beside it.
                variables = [f"{key}={value}" for key, value in (environment or {}).items()]
                targets[f"{program}, {how}"] = stack.enter_context(
                    heaps.Target(path, "--quiet", "2", before=(*command, "env", *variables)))
        for when in ("once", "again"):
            for target in targets.values():
                target.round()
            answer, document = read("heap")
            n_threads = sum(heaps.expect_exact(document, target, when, name) for name, target in targets.items())
        source, summary = heaps.source(answer), document["probe_summary"]
        expect_equal((source["state"], source["ok"]), ("ok", n_threads), source)
        expect_equal((summary["jemalloc_detected"], summary["probed_ok"], summary["failed"]), (len(targets), n_threads, 0),
                     summary)
        versions = sorted({target.version for target in targets.values()})
        machine.comment(f"{len(targets)} processes, {n_threads} threads, jemalloc {', '.join(versions)}; "
                        f"{', '.join(targets)}")


@test
def undisturbed():
    """threads that wait have not left their processors once while they were read"""
    found = list(programs())
    if not found:
        raise Skip("there is neither libjemalloc2 in this guest nor a program that was linked with it")
    _, path, environment = found[0]
    with machine.time_for_heaps(), heaps.Target(path, threads=50, env=environment) as target:
        target.round()
        # Those who have just taken the last step of the round.
        read("heap")
        before = heaps.switches(target.pid, target.truth)
        for _ in range(10):
            document = read("heap")[1]
            heaps.expect_exact(document, target)
        expect_equal(heaps.switches(target.pid, target.truth), before, "switches")
        machine.comment(f"{len(before)} threads, 10 captures, 0 switches")


@test
def without_jemalloc():
    """threads that do not use jemalloc have no number"""
    with machine.time_for_heaps(), Idle(20, 2) as idle:
        answer, document = read("heap")
        for pid in idle.pids:
            heaps.expect_absent(document, pid)
        expect(heaps.source(answer)["state"] in ("ok", "not-applicable"), heaps.source(answer))
