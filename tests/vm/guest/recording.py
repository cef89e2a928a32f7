# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings on this kernel: its programs take samples, and stacks are made of them."""
import collections
import contextlib
import json
import socket

import machine
import reasons
from harness import expect, expect_equal, sysctl, test

PROFILER = "io.ctprof.Profiler"


def call(method, **parameters):
    """The parameters of all replies of a method, but for its progress."""
    replies = []
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(300)
        connection.connect(machine.SOCKET)
        connection.sendall(json.dumps({"method": f"{PROFILER}.{method}", "parameters": parameters, "more": True}).encode() + b"\0")
        with connection.makefile("rb") as stream:
            text = b""
            for chunk in iter(lambda: stream.read1(1 << 20), b""):
                *messages, text = (text + chunk).split(b"\0")
                for message in map(json.loads, messages):
                    expect("error" not in message, method, message)
                    if "progress" not in message["parameters"]:
                        replies.append(message["parameters"])
                    if not message.get("continues"):
                        return replies
    raise AssertionError(f"{method} was not answered in full: {replies}")


def symbols():
    """The names of the kernel's functions."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        return {line.split()[2] for line in file}


@test
def recorded():
    """a recording of two seconds verifies, and has stacks of the kernel, and of user mode where threads are seen to go on"""
    # Debian's kernels keep clocks from everybody but CAP_SYS_ADMIN above 2.
    with sysctl("kernel.perf_event_paranoid", 2):
        # Before the load, which leaves the service manager little of an emulated processor.
        machine.restart()
        with reasons.Waiters() as waiters:
            # In the second one threads still sleep that went to sleep in the first.
            for _ in range(2):
                call("Record", tag="recorded", replace=True, forNs=2_000_000_000)
            pid = waiters.process.pid
    machine.intact("recorded")
    first, *rest = call("Stacks", recording={"name": "recorded"}, limit=10000)
    facts = first["recording"]
    stacks = [stack for reply in rest for stack in reply.get("stacks", ())]
    machine.comment(json.dumps(facts))
    machine.comment(json.dumps(first["places"]))
    kernel = symbols()
    mine = [stack for stack in stacks if stack["process"] == "waiters"]
    for stack in mine[:40]:
        machine.comment(f"{stack['place']} {stack['ns'] / 1e6:.1f} ms {stack['samples']}: {';'.join(stack['frames'])}")
    leaves = collections.Counter(stack["frames"][-1] for stack in stacks if stack["frames"])
    machine.comment(" ".join(f"{name} {count}" for name, count in leaves.most_common()))
    expect(mine, "no stacks of the process", pid, len(stacks))
    # What they did before and after is told by place as well, and has no stack.
    blocked = [stack for stack in mine if stack["place"] not in ("running", "run_queue") and stack["samples"] > 0]
    named = [stack for stack in blocked if stack["frames"] and stack["frames"][-1] in kernel]
    expect(len(named) > len(blocked) / 2, "stacks with names of the kernel:", len(named), "of", len(blocked))
    expect_equal([name for name in leaves if name.startswith(("bpf_trampoline_", "bpf_prog_")) or name == "[kernel]"], [],
                 "hooks at leaves")
    user = [stack for stack in blocked if any(not frame.startswith("[") and frame not in kernel for frame in stack["frames"])]
    machine.comment(f"{len(stacks)} stacks, {len(mine)} of waiters, {len(blocked)} blocked, {len(named)} with names of the kernel, "
                    f"{len(user)} with frames of user mode; late {facts['lateSamples']} of {facts['samples']}")
    running = [stack for stack in stacks if stack["place"] == "running" and stack["samples"] > 0]
    expect(running or not facts["hasClock"], "no stack of running time", facts)
    expect_equal(facts["endedBy"], "time")
    # All CPUs were on when the daemon began.
    expect("cpusWithoutClock" not in facts, facts)
    expect(user or not facts["seesReturn"], "no stack of user mode", facts)
