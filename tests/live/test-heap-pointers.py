#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each thread allocated is exact by the thread pointers that the kernel saved: for musl, and for glibc."""
import contextlib
import platform
import shutil

import jemallocs
from archive import Failure
from harness import Daemon, Skip, expect, main, need_root, temporary, test, wait_until
from heaps import TARGET, Target, children, counters, expect_absent, expect_exact, failures, preload, reasons
from hostile import capture
from jemallocs import SOURCES

QUIET = ("--quiet", "2")
CHILD = ["unshare", "--pid", "--fork", "--kill-child"]


def musl(sources, *options):
    """A jemalloc for programs with musl."""
    if not shutil.which("musl-gcc"):
        raise Skip("musl-gcc is missing: it is in Debian's musl-tools")
    try:
        return jemallocs.build(sources, *options, compiler="musl-gcc")
    except Failure as failure:
        raise Skip(f"not to be had: {str(failure).splitlines()[-1]}") from failure


@contextlib.contextmanager
def daemon_with(directory):
    """A daemon that can load the program of the task iterator, which sees the thread pointers."""
    need_root()
    config = directory / "ctprofd.conf"
    config.write_text("[Capture]\nHeapTime=1min\n", encoding="ascii")
    with Daemon(directory, options=["--config", str(config)]) as daemon:
        result = daemon("capture", "--backend", "bpf", "--no-heap", "--no-smaps", "--tag", "first")
        if result.status != 0:
            raise Skip(result.err.strip())
        yield daemon


def read(daemon, directory, backend="bpf"):
    return capture(daemon, directory, "--no-smaps", "--backend", backend)[1]


def hold_exact(daemon, directory, targets):
    """Holds captures through BPF against programs, at first sight and again."""
    for when in ("at first", "again", "once more"):
        for target in targets.values():
            target.round()
        document = read(daemon, directory)
        n = sum(expect_exact(document, target, when, name) for name, target in targets.items())
    print(f"# {len(targets)} programs, {n} threads")
    return document


def programs(jemalloc):
    """(name, program, options, environment) of each way to bring it into a program with musl."""
    for way in jemallocs.WAYS:
        for is_stripped in (False, True):
            program = jemallocs.program(jemalloc, way, is_stripped=is_stripped)
            environment = preload(jemalloc.shared) if way == "loader" else None
            name = f"{jemalloc.name}, {way}{', stripped' if is_stripped else ''}"
            yield name, program, QUIET, environment
    # Its place in a thread's data is known when it is loaded: by the vector, if it was built for that.
    program = jemallocs.program(None, "loader", compiler="musl-gcc")
    yield f"{jemalloc.name}, loaded", program, (*QUIET, "--library", jemalloc.shared), None


@test
def versions_with_musl():
    """exact in programs with musl, however jemalloc came into them; through files the reason tells which backend"""
    builds = [musl(sources) for sources in (SOURCES[1], SOURCES[2], SOURCES[4])]
    builds.append(musl(SOURCES[2], "--disable-initial-exec-tls"))
    with temporary() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(daemon_with(directory))
        targets = {}
        for jemalloc in builds:
            for name, program, options, environment in programs(jemalloc):
                try:
                    targets[name] = stack.enter_context(Target(program, *options, env=environment))
                except AssertionError as error:
                    # musl loads no library later that was made to be there from the start.
                    expect("initial-exec TLS" in str(error), name, error)
        hold_exact(daemon, directory, targets)
        document = read(daemon, directory, "procfs")
        for name, target in targets.items():
            expect_absent(document, target.pid, name)
            (why,) = set(reasons(daemon, "now", target.pid).values())
            expect(why, name)
        print(f"# through files: {failures(document)}, {why}")
        n = sum(len(target.truth) for target in targets.values())
        expect(failures(document)["no-thread-pointer"] >= n, failures(document))
        reason = next(found["reason"] for found in document["sources"] if found["name"] == "jemalloc")
        expect("no-thread-pointer" in reason and "of musl they are read with the bpf backend only" in reason, reason)


@test
def wherever_musl_runs():
    """with musl: in namespaces, alone, forked, without a leader or in vfork(), whose child has no number"""
    jemalloc = musl(SOURCES[2])
    static, linked = (jemallocs.program(jemalloc, way) for way in ("static", "linked"))
    with temporary() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(daemon_with(directory))

        def start(*arguments, **options):
            return stack.enter_context(Target(*arguments, **options))

        targets = {
            "in a pid namespace": start(linked, *QUIET, before=CHILD),
            "in two pid namespaces": start(static, before=CHILD * 2),
            "in vfork() in a pid namespace": start(static, "--vfork", before=CHILD),
            "one thread": start(static, threads=0),
            "200 threads": start(linked, "--steps", 50, threads=200),
            "200 threads in a pid namespace": start(static, "--steps", 50, threads=200, before=CHILD),
            "forked": start(static, "--fork"),
            "without a leader": start(linked, "--headless"),
            "in vfork()": start(linked, "--vfork"),
        }
        document = hold_exact(daemon, directory, targets)
        for name in ("in vfork()", "in vfork() in a pid namespace"):
            (child,) = children(targets[name].pid)
            expect_absent(document, child, name)


@test
def glibc_by_saved_pointers():
    """with glibc: the same numbers as through files, also of threads that moved their pointers"""
    distribution = jemallocs.distribution()
    static, linked = (jemallocs.program(distribution, way) for way in ("static", "linked"))
    with temporary() as directory, contextlib.ExitStack() as stack:
        daemon = stack.enter_context(daemon_with(directory))

        def start(*arguments, **options):
            return stack.enter_context(Target(*arguments, **options))

        targets = {
            "preloaded": start(TARGET, *QUIET, env=preload(distribution.shared)),
            "static": start(static, *QUIET),
            "in a pid namespace": start(linked, before=CHILD),
            "in vfork()": start(linked, "--vfork"),
            "forked": start(static, "--fork"),
            "without a leader": start(linked, "--headless"),
            "1,000 threads": start(linked, "--steps", 20, threads=1000),
        }
        if platform.machine() == "x86_64":
            targets["moved"] = start(linked, "--moved")
            wait_until(lambda: len(counters(read(daemon, directory), targets["moved"].pid)) == 9, what="all threads")
        document = hold_exact(daemon, directory, targets)
        through_files = read(daemon, directory, "procfs")
        for name, target in targets.items():
            expect_exact(through_files, target, name, "through files")
        (child,) = children(targets["in vfork()"].pid)
        expect_absent(document, child, "in vfork()")


main()
