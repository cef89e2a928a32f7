#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What each thread allocated is exact for every version and build of jemalloc that can be had here."""
import contextlib

import jemallocs
from archive import Failure
from harness import Daemon, Skip, expect, expect_equal, main, need_root, private_host, temporary, test
from heaps import TARGET, Target, expect_absent, expect_exact, failures, preload, reasons
from hostile import capture
from jemallocs import RJEM, SOURCES, build

LATE = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=32768"}
V51, V52, V53, REDIS53, V531 = SOURCES


def had(make, *arguments, **options):
    """What make() makes, unless the archive has not got it."""
    try:
        return make(*arguments, **options)
    except Failure as failure:
        raise Skip(f"not to be had: {str(failure).splitlines()[-1]}") from failure


def programs(jemalloc, *options):
    """(name, program, options, environment) of each way to bring it into a program."""
    if jemalloc.shared and not jemalloc.prefix:
        yield "preloaded", TARGET, options, preload(jemalloc.shared)
    if jemalloc.shared:
        yield "loaded", TARGET, ("--prefix", jemalloc.prefix, "--library", jemalloc.shared, *options), LATE
    for way in jemallocs.WAYS:
        for is_stripped in (False, True) if way != "loader" else ():
            program = jemallocs.program(jemalloc, way, is_stripped=is_stripped)
            if program:
                yield f"{way}{', stripped' if is_stripped else ''}", program, options, None


def hold_exact(found):
    """Holds snapshots against the programs of programs(), all at once."""
    with temporary() as directory, contextlib.ExitStack() as stack:
        config = directory / "ctprofd.conf"
        config.write_text("[Capture]\nHeapTime=1min\n", encoding="ascii")
        daemon = stack.enter_context(Daemon(directory, options=["--config", str(config)]))
        targets = {name: stack.enter_context(Target(program, *options, env=environment))
                   for name, program, options, environment in found}
        for when in ("at first", "again"):
            for target in targets.values():
                target.round()
            document = capture(daemon, directory, "--no-smaps")[1]
            n = sum(expect_exact(document, target, when, name) for name, target in targets.items())
        summary = document["probe_summary"]
        expect_equal((summary["probed_ok"], summary["failed"], failures(document)), (n, 0, {}), summary)
        told = sorted({target.version for target in targets.values()})
        print(f"# {len(targets)} programs, {n} threads, jemalloc {', '.join(told)}: {', '.join(targets)}")


def register(name, make):
    def run():
        need_root()
        hold_exact(make())
    run.__doc__ = f"exact: {name}"
    test(run)


def register_build(sources, *options, **flags):
    name = " ".join([sources.name, *options, *flags.values()])
    register(name, lambda: list(programs(had(build, sources, *options, **flags), "--quiet", "2")))


for version in SOURCES:
    register_build(version)
# What a library that is loaded later is built with: the thread's vector leads to its data.
for version in (V51, V52, V53, V531):
    register_build(version, "--disable-initial-exec-tls")
for version in (V52, V531):
    register_build(version, f"--with-jemalloc-prefix={RJEM}")
register_build(V53, "--with-lg-page=16")
register_build(REDIS53, "--with-lg-quantum=3")
register_build(V53, compiler="clang")
register_build(V52, compiler="clang")
register_build(V531, flags="-O2 -flto")
register_build(V53, flags="-Os")
# Since 5.3 they are counted all the same.
register_build(V531, "--disable-stats")


def shipped(suite):
    """The library as another suite ships it, with the C library of that suite where it wants a newer one than ours."""
    jemalloc = had(jemallocs.shipped, suite)
    flags = had(jemallocs.libc, suite)
    for way in ("loader", "linked"):
        for is_stripped in (False, True):
            program = jemallocs.program(jemalloc, way, *flags, is_stripped=is_stripped)
            yield (f"{way}{', stripped' if is_stripped else ''}", program, ("--quiet", "2"),
                   preload(jemalloc.shared) if way == "loader" else None)


register("libjemalloc2 and the C library of trixie", lambda: list(shipped("trixie")))
register("libjemalloc2 and the C library of sid", lambda: list(shipped("sid")))
register("libjemalloc2 of bullseye", lambda: list(programs(had(jemallocs.shipped, "bullseye"))))


@test
def counters_that_were_not_built():
    """of a jemalloc that counts nothing, 5.2.1 with --disable-stats, comes no number but the reason"""
    need_root()
    jemalloc = had(build, V52, "--disable-stats")
    with temporary() as directory, contextlib.ExitStack() as stack:
        targets = {name: stack.enter_context(Target(program, *options, env=environment))
                   for name, program, options, environment in programs(jemalloc)}
        daemon = stack.enter_context(Daemon(directory))
        for target in targets.values():
            target.round()
        for _ in range(2):
            document = capture(daemon, directory, "--no-smaps")[1]
            for name, target in targets.items():
                expect_absent(document, target.pid, name)
                (why,) = set(reasons(daemon, "now", target.pid).values())
                expect(why, name)
        expect_equal(failures(document), {"counters-disabled": len(targets)}, document["probe_summary"])
        print(f"# {len(targets)} programs: {why}")


@test
def programs_in_rust():
    """a program in Rust with a jemalloc of its own, as the crates configure it, is exact, stripped or not"""
    need_root()
    found = []
    for version in (V52, V531):
        jemalloc = had(build, version, f"--with-jemalloc-prefix={RJEM}")
        for is_stripped in (False, True):
            program = had(jemallocs.rust, jemalloc, is_stripped)
            found.append((f"{version.version}{', stripped' if is_stripped else ''}", program, (), None))
    hold_exact(found)


private_host()
main()
