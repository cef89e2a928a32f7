# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that are not ours: varlinkctl of systemd."""
import json

import machine
from harness import expect, expect_equal, run, test

ADDRESS = f"unix:{machine.SOCKET}"
INTERFACE = "io.ctprof.Profiler"
IDL = "/usr/share/ctprof/io.ctprof.Profiler.varlink"


def varlinkctl(*arguments):
    machine.need("varlinkctl", "this systemd has no varlinkctl")
    result = run("varlinkctl", "--no-pager", *arguments)
    expect_equal(result.status, 0, "varlinkctl", *arguments, result.out, result.err)
    return result.out


def replies(text):
    """JSON objects that stand one behind the other, with or without their record separator."""
    decoder, found = json.JSONDecoder(), []
    text = text.replace("\x1e", "").strip()
    while text:
        reply, end = decoder.raw_decode(text)
        found.append(reply)
        text = text[end:].strip()
    return found


@test
def info():
    """varlinkctl info names the service and its interface"""
    said = varlinkctl("info", ADDRESS)
    expect(INTERFACE in said and "org.varlink.service" in said, said)
    machine.comment(said)


@test
def interfaces():
    """varlinkctl list-interfaces and list-methods tell all there is"""
    expect_equal(set(varlinkctl("list-interfaces", ADDRESS).split()), {INTERFACE, "org.varlink.service"})
    methods = varlinkctl("list-methods", ADDRESS, INTERFACE).split()
    machine.comment(" ".join(methods))
    with open(IDL, encoding="utf-8") as file:
        declared = {f"{INTERFACE}.{line.split()[1].split('(')[0]}" for line in file if line.startswith("method ")}
    expect_equal({name if "." in name else f"{INTERFACE}.{name}" for name in methods}, declared)


@test
def introspect():
    """varlinkctl introspect reads the interface description"""
    said = varlinkctl("introspect", ADDRESS, INTERFACE)
    expect("method Capture" in said, said[:200])


@test
def validate():
    """varlinkctl validate-idl accepts the interface file"""
    varlinkctl("validate-idl", IDL)


@test
def call():
    """varlinkctl call gets a reply, and with --more all of them"""
    status = json.loads(varlinkctl("call", "--json=short", ADDRESS, f"{INTERFACE}.Status", "{}"))
    expect(status["spool"]["path"] == str(machine.SPOOL), status)
    several = replies(varlinkctl("call", "--more", "--json=short", ADDRESS, f"{INTERFACE}.Capture",
                                 '{"tag": "varlinkctl"}'))
    machine.comment(f"Capture with --more: {len(several)} replies")
    expect(len(several) > 1 and "snapshot" in several[-1], several[-1:])
    shown = replies(varlinkctl("call", "--more", "--json=short", ADDRESS, f"{INTERFACE}.Show",
                               '{"snapshot": {"name": "varlinkctl"}}'))
    machine.comment(f"Show with --more: {len(shown)} replies")
    expect(any(reply.get("groups") for reply in shown), "no groups")


@test
def failing_call():
    """varlinkctl tells our errors by their names"""
    machine.need("varlinkctl", "this systemd has no varlinkctl")
    result = run("varlinkctl", "--no-pager", "call", ADDRESS, f"{INTERFACE}.Remove", '{"names": ["not-there"]}')
    expect(result.status != 0 and "NoSuchSnapshot" in result.err + result.out, result.out, result.err)
