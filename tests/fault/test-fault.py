#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls and allocations that fail, 12 or $CTPROF_FAULTS of each campaign; tests/fault/run --all does every one."""
import errno
import os
import pathlib
import random
import select
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]

from harness import CTPROFD, Skip, expect, main, need_root, test  # noqa: E402 pylint: disable=wrong-import-position

FAULTS_PER_CAMPAIGN = int(os.environ.get("CTPROF_FAULTS", "12"))
SEED = 1
INSIDE = "CTPROF_FAULT_INSIDE"


def reason_to_skip():
    """What this machine or this build lacks; None when nothing."""
    try:
        need_root()
    except Skip as skip:
        return str(skip)
    libraries = subprocess.run(["ldd", CTPROFD], capture_output=True, text=True, check=False).stdout
    if "libasan" in libraries or "libubsan" in libraries:
        return "the runtime of a sanitizer ends the process when a call of its own fails"
    namespaces = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True,
                                check=False)
    return "no process namespace of its own" if namespaces.returncode != 0 else None


def enter():
    """Few processes, so that a capture makes hundreds of calls; the rest of this file runs inside."""
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--", sys.executable,
                          __file__])


def register(rig, name, make):
    def run():
        from bench import command_of, start  # pylint: disable=import-outside-toplevel
        results = []

        def report(result):
            result.campaign = name
            results.append(result)

        campaign = make()
        start(rig, campaign)
        faults = list(campaign.faults(everything=False))
        random.Random(SEED).shuffle(faults)
        campaign.run(faults[:FAULTS_PER_CAMPAIGN], report)
        expect(any(result.outcome != "not reached" for result in results), "no fault came")
        broken = [f"{result.detail}: {command_of(result)}" for result in results if result.outcome == "BROKEN"]
        expect(not broken, "\n".join(broken))

    run.__doc__ = f"{name}: whatever fails, nothing is lost and the daemon serves on"
    test(run)


def register_rest(rig, campaign):
    def run():
        from harness import call  # pylint: disable=import-outside-toplevel
        from rig import Fault  # pylint: disable=import-outside-toplevel
        rig.stop()
        campaign.start()
        rig.tracer.begin(errno.EMFILE, Fault("main accept4 socket:[#]", 1, "EMFILE", count=0))
        with rig.connect() as connection:
            # Long enough for a loop that spins to try a hundred thousand times.
            readable, _, _ = select.select([connection], [], [], 2)
            fired, _ = rig.tracer.end()
            expect(not readable, "the connection was served or dropped")
            expect(0 < fired < 100, f"tried {fired} times to take the connection")
            replies = call(connection, "io.ctprof.Profiler.List")
            expect("parameters" in replies[-1] and "error" not in replies[-1], replies)

    run.__doc__ = "without a descriptor to spare the daemon rests, and serves who waited"
    test(run)


def register_lost(rig, campaign):
    def run():
        from harness import CTPROFCTL, run as run_client  # pylint: disable=import-outside-toplevel
        from rig import Fault  # pylint: disable=import-outside-toplevel
        rig.stop()
        campaign.start()
        rig.tracer.begin(errno.ENOMEM, Fault("main epoll_ctl 1 socket:[#]", 1, "ENOMEM"))
        result = run_client(CTPROFCTL, "--socket", rig.socket, "list")
        fired, _ = rig.tracer.end()
        expect(fired == 1, "the fault did not come")
        expect(result.status == 1, "exit status", result.status)
        expect("hung up" in result.one_sentence(), result.err)

    run.__doc__ = "a connection that cannot be served costs its caller one line"
    test(run)


def run_inside():
    from bench import bench  # pylint: disable=import-outside-toplevel
    with bench() as rig:
        for name, make in rig.campaigns().items():
            register(rig, name, make)
        register_rest(rig, rig.campaigns()["serve"]())
        register_lost(rig, rig.campaigns()["serve"]())
        main()


REASON = reason_to_skip()
if REASON:
    print(f"1..0 # SKIP {REASON}")
elif INSIDE in os.environ:
    run_inside()
else:
    enter()
