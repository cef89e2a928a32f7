#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ctprofctl --host: other hosts through ssh, one and many; bridges that lie, and hosts that are not there."""
import csv
import io
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import time

from harness import CTPROFCTL, Idle, Local, Skip, expect, expect_equal, main, private_host, run, temporary, test, wait_until
from sshds import Net, free_port, prepare_root

private_host()
prepare_root()

PLAIN = "AllowTcpForwarding yes"
HARD = "AllowTcpForwarding no\nAllowStreamLocalForwarding no\nDisableForwarding yes\nX11Forwarding no\nPermitTTY no"
FORCED = 'restrict,command="ctprofctl bridge"'
# Programs that stand for ssh. They are asked for their configuration first (-G).
AS_SSH = """#!/usr/bin/env python3
import json, os, signal, sys, time
if "-G" in sys.argv:
    sys.exit(0)
def out(*pieces):
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
def greet(**more):
    out(json.dumps({"parameters": {"ctprofBridge": {"bridge": 1, "version": "1", "daemonVersion": "2", "hostName": "h",
                                                    "realtimeNs": time.time_ns(), **more}}}).encode() + b"\\0")
def file(n):
    out(b'{"ctprofFile":{"bytes":%d}}\\0' % n)
def call():
    data = b""
    while not data.endswith(b"\\0"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(0)
        data += piece
    return data
def fail(status, text):
    sys.stderr.write(text)
    sys.exit(status)
HEAD = b'{"parameters":{"snapshot":{"name":"a"},"fileDescriptor":0}}\\0'
"""


def as_ssh(directory, name, script):
    path = directory / name
    path.write_text(AS_SSH + script + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def ask(net, *words, **options):
    return run(CTPROFCTL, *words, env=net.environment(**options.pop("env", {})), **options)


def children_of(pid):
    """All processes below it, of this namespace."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            child = int(path.parent.name)
            found += [child, *children_of(child)]
    return found


def steady(answer):
    """An answer without what differs from call to call."""
    if isinstance(answer, dict):
        return {key: steady(value) for key, value in answer.items()
                if key not in ("uptimeNs", "bytes", "freeBytes", "freeFiles", "jobs", "reasons", "cost")}
    return [steady(value) for value in answer] if isinstance(answer, list) else answer


NETS = []  # one, which all tests share


@test
def one_host():
    """every verb answers through ssh what the daemon there answers, whatever its sshd forbids"""
    net = NETS[0]
    for name in ("web01", "web02", "web03"):
        direct = net.hosts[name].daemon
        with Idle(3, 2, "idle"):
            expect_equal(ask(net, "-H", name, "capture", "--tag", "a", "--quiet").status, 0, name)
        expect_equal(direct("capture", "--tag", "b", "--quiet").status, 0, name)
        # What differs between the hosts is their sshd: of the others a few are enough.
        for words in (["list"], ["status"], ["compare", "a", "b"]) if name != "web01" else (
                      ["list"], ["info", "a"], ["show", "a"], ["show", "a", "--group-by", "thread"], ["compare", "a", "b"],
                      ["compare", "a", "b", "--totals"], ["compare", "--before", "a", "--after", "b"], ["verify", "--all"],
                      ["status"], ["show", "a..b"]):
            here, there = direct(*words, "--json"), ask(net, "-H", name, *words, "--json")
            expect_equal(steady(there.json()), steady(here.json()), name, *words)
            here, there = direct(*words), ask(net, "--host", name, *words)
            expect_equal(there.status, 0, name, words, there.err)
            if words[0] != "status" and words[0] != "list":
                expect_equal(there.out, here.out, name, *words)
        expect_equal(ask(net, "-H", name, "rename", "b", "c").status, 0, "rename")
        expect_equal(ask(net, "-H", name, "remove", "c").out, "removed c\n", "remove")
        expect_equal(ask(net, "-H", name, "list", "--json").json()["snapshots"][0]["hostName"],
                     net.hosts[name].host_name, "host")


@test
def files():
    """files go both ways byte for byte, beside a comparison with names there"""
    net = NETS[0]
    for name in ("web01", "web02"):
        direct = net.hosts[name].daemon
        with temporary() as place:
            expect_equal(ask(net, "-H", name, "export", "a", place / "far.zst").status, 0, "export")
            expect_equal(direct("export", "a", place / "near.zst").status, 0, "export")
            far, near = (place / "far.zst").read_bytes(), (place / "near.zst").read_bytes()
            expect(len(far) > 1000 and far == near, "exported", len(far), len(near))
            done = ask(net, "-H", name, "export", "a", "-", "--format", "ndjson")
            expect_equal(done.out, direct("export", "a", "-", "--format", "ndjson").out, "ndjson")
            expect_equal(ask(net, "-H", name, "import", place / "far.zst", "--tag", "copy").status, 0, "import")
            heads = {head["name"]: head for head in direct("list", "--json").json()["snapshots"]}
            expect_equal(heads["copy"]["threads"], heads["a"]["threads"], "imported")
            for words in (["compare", place / "far.zst", "copy", "--totals"], ["show", f"{place}/far.zst..a"],
                          ["verify", place / "far.zst", "copy"], ["show", place / "far.zst"]):
                here, there = direct(*words, "--json"), ask(net, "-H", name, *words, "--json")
                expect_equal((there.status, there.out), (here.status, here.out), *words)
            done = ask(net, "-H", name, "capture", "--output", place / "taken.zst")
            expect_equal(done.status, 0, done.err)
            expect_equal(run(CTPROFCTL, "verify", place / "taken.zst").status, 0, "taken")
            expect_equal(direct("remove", "copy").status, 0, "remove")
    expect_equal([path.name for path in net.directory.glob("ctprofctl-*")], [], "left behind")


@test
def a_large_file():
    """a file and an answer of many times what pipes hold come whole, in both directions"""
    net = NETS[0]
    direct = net.hosts["web01"].daemon
    with temporary() as place, Idle(1500, 3, "many"):
        expect_equal(direct("capture", "--tag", "large", "--quiet").status, 0, "capture")
        # Not one of ours: the daemon refuses it after it has read it whole.
        (place / "noise.zst").write_bytes(os.urandom(8 << 20))
        refused = ask(net, "-H", "web01", "import", place / "noise.zst", "--tag", "noise")
        expect_equal(refused.status, 1, refused.err)
        expect("noise.zst\" cannot be read as a snapshot" in refused.one_sentence(), refused.err)
        words = ["show", "large", "--group-by", "thread", "--no-thread-normalize", "--format", "ndjson"]
        here, there = direct(*words), ask(net, "-H", "web01", *words)
        expect(len(here.out) > 1 << 20, "rows", len(here.out))
        expect_equal(there.out, here.out, "rows")
        expect_equal(direct("remove", "large").status, 0, "remove")


@test
def a_restricted_key():
    """a key that may do nothing but the bridge is enough, and gives nothing else"""
    net = NETS[0]
    expect_equal(ask(net, "-H", "web03", "status").status, 0, "status")
    done = run(net.ssh, "web03", "id")
    expect("uid=" not in done.out, done.out)


@test
def many_hosts():
    """answers of many hosts carry their host, in the order in which they were named"""
    net = NETS[0]
    names = ["web03", "web01", "web02"]
    many = ["-H", "web03", "-H", "web[01-02],web01"]
    done = ask(net, *many, "list", "--json=short")
    answers = [json.loads(line) for line in done.out.splitlines()]
    expect_equal([answer["host"] for answer in answers], names, "hosts")
    expect_equal([next(iter(answer)) for answer in answers], ["host"] * 3, "in front")
    for name, answer in zip(names, answers):
        expect_equal(answer["snapshots"], net.hosts[name].daemon("list", "--json").json()["snapshots"], name)
    pretty = ask(net, *many, "status", "--json=pretty").out
    decoder, found = json.JSONDecoder(), []
    while pretty.strip():
        answer, end = decoder.raw_decode(pretty.lstrip())
        pretty = pretty.lstrip()[end:]
        found.append(answer["host"])
    expect_equal(found, names, "pretty")

    out = ask(net, *many, "show", "a").out
    expect_equal([line for line in out.splitlines() if line.endswith(":") and line[:3] == "web"],
                 [f"{name}:" for name in names], "headings")
    for name in names:
        expect(net.hosts[name].daemon("show", "a").out in out, "the table of", name)

    # Rows of a state say their host themselves; those of whole lives do not.
    words = ["show", "a", "--metrics", "run_time_ns,minflt"]
    rows = [json.loads(line) for line in ask(net, *many, *words, "--format", "ndjson").out.splitlines()]
    expect(rows and all(list(row).count("host") == 1 for row in rows), rows[:1])
    sets = ["compare", "a", "a2", "--totals", "--metrics", "run_time_ns,minflt"]
    for name in names:
        expect_equal(net.hosts[name].daemon("capture", "--tag", "a2", "--quiet").status, 0, name)
    rows = [json.loads(line) for line in ask(net, *many, *sets, "--format", "ndjson").out.splitlines()]
    expect(rows and all(next(iter(row)) == "host" for row in rows), rows[:1])
    expect_equal(list(dict.fromkeys(row["host"] for row in rows)), names, "order")
    for command in (sets, words):
        text = ask(net, *many, *command, "--format", "csv").out
        table = list(csv.DictReader(io.StringIO(text, newline="")))
        expect(table and all(None not in row and row["host"] and row["kind"] != "kind" for row in table), text[:500])
        direct = net.hosts["web01"].daemon(*command, "--format", "csv").out
        expect_equal(len([row for row in table if row["host"] == "web01"]), direct.count("\n") - 1, command)
        bare = ask(net, *many, *command, "--format", "csv", "--no-legend").out
        expect_equal(bare, text.partition("\n")[2], "without names")

    with temporary() as place:
        done = ask(net, *many, "export", "a", cwd=place)
        expect_equal(done.out, "\n".join(f'{name}:\nexported "a" to "./{name}-a.ctprof.zst"\n' for name in names), done.err)
        rows = [json.loads(line) for line in ask(net, *many, "export", "a", "-", "--format", "ndjson").out.splitlines()]
        expect_equal(len(rows), sum(net.hosts[name].daemon("export", "a", "-", "--format", "ndjson").out.count("\n") for name in names), "threads")
        expect_equal(list(dict.fromkeys(row["host"] for row in rows)), [net.hosts[name].host_name for name in names], "threads")
        changes = [json.loads(line) for line in ask(net, *many, "export", "--changes", "--present").out.splitlines()]
        expect({row["host"] for row in changes} == {net.hosts[name].host_name for name in names}, changes[:1])
        done = ask(net, *many, "export", "a", "--format", "ndjson", cwd=place)
        expect("exported" in done.out and "host" not in done.out, done.out)
        for name in names:
            expect_equal(net.hosts[name].daemon("export", "a", place / "direct.zst").status, 0, name)
            expect_equal((place / f"{name}-a.ctprof.zst").read_bytes(), (place / "direct.zst").read_bytes(), name)
            (place / "direct.zst").unlink()
        (place / "hosts").write_text("# ours\nweb[01-02]\n\n  web03 # and this\r\n", encoding="utf-8")
        listed = [json.loads(line)["host"] for line in
                  ask(net, "--hosts-file", place / "hosts", "status", "--json=short").out.splitlines()]
        expect_equal(listed, ["web01", "web02", "web03"], "a file")
        listed = [json.loads(line)["host"] for line in
                  ask(net, "--hosts-file", "-", "status", "--json=short", stdin="web02\n").out.splitlines()]
        expect_equal(listed, ["web02"], "stdin")


@test
def two_hosts():
    """compare HOST1:A..B HOST2:C..D fetches the snapshots and compares them here, like the files that export writes"""
    net = NETS[0]
    for name, idle in (("web01", 3), ("web02", 7)):
        for tag in ("first", "last"):
            with Idle(idle, 2, "idle"):
                expect_equal(ask(net, "-H", name, "capture", "--tag", tag, "--quiet").status, 0, name, tag)
    with temporary() as directory:
        for name in ("web01", "web02"):
            for tag in ("first", "last"):
                expect_equal(ask(net, "-H", name, "export", tag, str(directory / f"{name}-{tag}.zst"), "-q").status, 0, name)
        file = str(directory) + "/{}-{}.zst"
        for far, near in ((("web01:first..last", "web02:first..last"),
                           (f"{file.format('web01', 'first')}..{file.format('web01', 'last')}",
                            f"{file.format('web02', 'first')}..{file.format('web02', 'last')}")),
                          (("web01:first", "web02:first"), (file.format("web01", "first"), file.format("web02", "first"))),
                          (("web01:first", file.format("web02", "first")), (file.format("web01", "first"), file.format("web02", "first")))):
            got, wanted = ask(net, "compare", *far, "--json"), run(CTPROFCTL, "compare", *near, "--json")
            expect_equal((got.status, got.err), (0, ""), far)
            expect_equal(got.json(), wanted.json(), far)
    shown = ask(net, "compare", "web01:first..last", "web02:first..last").out.splitlines()
    if os.geteuid() == 0:
        expect("web01" in shown[0] and "web02" in shown[1], "the head:", shown[:2])
    for words, status, text in ((("web01:nothing", "web02:first"), 1, "web01: "), (("web01:/etc/passwd", "web02:first"), 2, "is a file"),
                                (("web01:x.zst..first", "web02:first"), 2, "is a file"), (("web01:a..b..c", "web02:first"), 2, "more than two"),
                                (("web01,web02:first", "web02:first"), 2, "one on each side"), (("-x:first", "web02:first"), 2, "-x"),
                                (("web01:x.zst", "web02:first"), 2, "is a file"), (("absent:first", "web02:first"), 1, "absent: "),
                                (("web01:first", "web02:first..last"), 2, "of one sort")):
        done = ask(net, "compare", "--", *words)
        expect_equal((done.status, done.out), (status, ""), words, done.err)
        expect(text in done.one_sentence(), words, done.err)
    with temporary() as directory:
        ctl = Local(directory / "spool")
        expect_equal(ctl("capture", "--tag", "first", "--quiet").status, 0)
        heads = ask(net, "compare", "--local", "--spool", str(directory / "spool"), "web01:first", "first", "--json").json()
        expect(heads["before"]["startRealtimeNs"] < heads["after"]["startRealtimeNs"], heads["before"], heads["after"])
    done = ask(net, "-H", "web03", "compare", "web01:first", "web02:first")
    expect(done.status == 2 and "either" in done.one_sentence(), done.err)


@test
def some_fail():
    """hosts that fail are named in the end, folded by what is wrong, and the answers of the others stand"""
    net = NETS[0]
    port = free_port()
    net.write_config(f"Host gone*\n  Port {port}\n")
    try:
        done = ask(net, "-H", "gone[07-09],web[01-02],gone12", "-H", "web01:1", "list", "--json=short")
        expect_equal(done.status, 1, done.err)
        expect_equal([json.loads(line)["host"] for line in done.out.splitlines()], ["web01", "web02"], "answers")
        expect_equal(done.err.splitlines(),
                     [f"gone[07-09,12]: connection refused at port {port}: does sshd run there?",
                      "web01:1: connection refused at port 1: does sshd run there?"], "failures")
        done = ask(net, "-H", "web[01-02]", "show", "nothing")
        expect_equal((done.status, done.out), (1, ""), "all")
        expect_equal(done.one_sentence(),
                     'web[01-02]: There is no snapshot "nothing": "ctprofctl list" shows all names.', "folded")
        # What all say is wrong with the command line is.
        done = ask(net, "-H", "web[01-02]", "show", "no..such..name")
        expect_equal(done.status, 2, done.err)
        above = ask(net, "-H", "web[01-02]", "compare", "a..a2", "a..a2", "--threshold", "1")
        expect_equal(above.status, 0, above.err)
    finally:
        net.write_config()


@test
def answers_that_break_off():
    """half an answer of a host is left out where a program reads it, and those of the others stand"""
    net = NETS[0]
    for name in ("web01", "web02"):
        expect_equal(ask(net, "-H", name, "capture", "--tag", "broken", "--replace", "--quiet").status, 0, name)
    # The greeting and the first reply of web01 come through.
    path = as_ssh(net.directory, "breaking", f"""
import subprocess
if "web01" not in sys.argv:
    os.execv({str(net.ssh)!r}, [{str(net.ssh)!r}, *sys.argv[1:]])
with subprocess.Popen([{str(net.ssh)!r}, *sys.argv[1:]], stdout=subprocess.PIPE) as process:
    left = 2
    while left > 0:
        byte = os.read(process.stdout.fileno(), 1)
        left -= byte in (b"", b"\\0")
        out(byte)
    process.kill()
fail(255, "")
""")
    for words in (("--json=short",), ("--json=pretty",), ("--format", "csv"), ("--format", "ndjson")):
        done = ask(net, "-H", "web[01-02]", "show", "broken", *words, env={"CTPROF_SSH": str(path)})
        expect_equal(done.status, 1, done.err)
        expect("web01: " in done.one_sentence(), done.err)
        alone = ask(net, "-H", "web02", "show", "broken", *words)
        expect_equal(alone.status, 0, alone.err)
        if "csv" in words:
            expect_equal(len(done.out.splitlines()), len(alone.out.splitlines()), words)
        elif "ndjson" in words:
            expect_equal(len([json.loads(line) for line in done.out.splitlines()]), len(alone.out.splitlines()), words)
        else:
            expect_equal(json.loads(done.out)["host"], "web02", words)


@test
def what_is_wrong():
    """each way not to reach a daemon is one sentence that names the host and what to do there"""
    net = NETS[0]
    with socket.socket() as deaf, temporary() as place:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        for name, script in (("noisy", 'echo "Welcome to noisy"; exec ctprofctl "$@"'), ("old", 'echo "Unknown verb \\"bridge\\": \\"ctprofctl --help\\" lists them all." >&2; exit 2'),
                             ("broken", 'echo "libjson-c.so.5: cannot open shared object file" >&2; exit 1')):
            (place / name).mkdir()
            (place / name / "ctprofctl").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (place / name / "ctprofctl").chmod(0o755)
        (place / "locked").mkdir()
        (place / "locked" / "ctprofctl").write_text("no program\n", encoding="utf-8")
        net.add("bare", path=place / "nothing", daemon=False)
        net.add("locked", path=place / "locked", daemon=False)
        net.add("idle", daemon=False)
        for name in ("noisy", "old", "broken"):
            net.add(name, path=place / name, daemon=False)
        net.write_config(f"Host deaf\n  Port {deaf.getsockname()[1]}\nHost unnamed\n  HostName unnamed.invalid\n"
                         f"Host stranger\n  Port {net.hosts['web01'].port}\n  IdentityFile {net.directory}/stranger\n"
                         f"Host other\n  Port {net.hosts['web01'].port}\n  HostKeyAlias another\n")
        # The key of the configuration is tried as well, unless it is taken away.
        stranger = as_ssh(net.directory, "stranger-ssh",
                          f'os.execvp("ssh", ["ssh", "-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-i", "{net.directory}/stranger", '
                          f'"-o", "UserKnownHostsFile={net.directory}/known", "-o", "HostKeyAlias=loopback", "-o", "HostName=127.0.0.1", '
                          f'"-o", "Port={net.hosts["web01"].port}", *sys.argv[1:]])')
        try:
            for name, words, env, wanted in (
                    ("bare", [], {}, "there is no ctprofctl there where ssh finds programs: install ctprof there."),
                    ("locked", [], {}, ("ctprofctl cannot be run there: ", "ermission denied.")),
                    ("idle", [], {}, ("No ctprofd is at ", 'as root, "systemctl enable --now ctprofd.socket" starts it.')),
                    ("noisy", [], {}, '"Welcome to noisy" came instead of the greeting of "ctprofctl bridge": a shell there must print '
                                      'nothing when it is not on a terminal.'),
                    ("old", [], {}, 'the ctprofctl there is too old to know "bridge": update ctprof there.'),
                    ("broken", [], {}, '"ctprofctl bridge" ended there before it began: libjson-c.so.5: cannot open shared object file.'),
                    ("unnamed", [], {}, ("its name cannot be resolved: ", "")),
                    ("deaf", ["--timeout", "3"], {}, '"ctprofctl bridge" did not greet within 3 seconds; --timeout=SECONDS waits longer.'),
                    ("web01", [], {"CTPROF_SSH": str(stranger)}, ("ssh is not let in (", "a key that is accepted there is needed.")),
                    ("other", [], {}, ("ssh does not know its host key, or another one", "compare it with what the host has.")),
                    ("web01", [], {"CTPROF_SSH": "/nowhere/ssh"}, "/nowhere/ssh cannot be run: there is no such program here."),
            ):
                done = ask(net, "-H", name, *words, "list", env=env)
                said = done.one_sentence()
                expect_equal((done.status, done.out), (1, ""), name, said)
                front, end = wanted if isinstance(wanted, tuple) else (wanted, wanted)
                expect(said.startswith(f"{name}: {front}") and said.endswith(end), name, said)
                expect("--local" not in said, said)
        finally:
            for name in ("bare", "locked", "idle", "noisy", "old", "broken"):
                net.hosts.pop(name).close()
            net.write_config()


HOSTILE = {
    # what it does: the words of the sentence
    "greet(); call(); out(b'{' + b'x' * (6 << 20)); time.sleep(60)": "sent a message that is too long",
    "greet(); call(); file(1 << 63); time.sleep(60)": "a file that is longer than a snapshot can be",
    "greet(); call(); file(3 << 30); out(b'x' * 10); file(2 << 30); time.sleep(60)": "",
    "greet(); call(); file(5); out(b'x' * 50, HEAD); time.sleep(60)": "more bytes of a file than it had said",
    "greet(); call(); file(5); out(b'12345{\\\"a\\\":', HEAD); time.sleep(60)": "sent a reply that is not one",
    "greet(); call(); file(50); out(b'x' * 5)": "in the middle of the call",
    "greet(); call(); [file(0) for _ in range(70)]; time.sleep(60)": "more files than a message can have",
    "greet(); call(); out(HEAD); time.sleep(60)": "did not send the file",
    "greet(); call(); out(b'{\\\"ctprofFile\\\":{\\\"bytes\\\":-1}}\\0'); time.sleep(60)": "what is no message",
    "greet(); call(); out(b'\\x1b]0;owned\\x07\\x1b[2J\\n'); time.sleep(60)": "what is no message",
    "greet(); call(); out(b'\\0'); time.sleep(60)": "what is no message",
    "greet(); call(); fail(255, 'Timeout, server web not responding.\\r\\n')": "the connection broke in the middle of the call: Timeout, server web not responding.",
    "greet(); call(); fail(1, '\\x1b[2Jowned\\n')": "ended in the middle of the call",
    "greet(); sys.exit(0)": "hung up in the middle of the call",
    "greet(); call(); time.sleep(60)": "--timeout=SECONDS waits longer",
    "greet(bridge=2); time.sleep(60)": "speaks another form of the bridge",
    "greet(complaint='\\x1b[2J\\x9b31m' + 'A' * 100000); time.sleep(60)": "AAAA",
    "greet(complaint='\\u0301' * 100000); time.sleep(60)": "\u0301",
    "greet(daemonVersion='\\u0301' * 100000); call(); time.sleep(60)": "--timeout=SECONDS waits longer",
    "out(b'{}\\0'); time.sleep(60)": "came instead of the greeting",
    "out(b'{' + b'x' * (6 << 20)); time.sleep(60)": "sent a message that is too long",
    "out(b'\\x1b[2J' * 10000); time.sleep(60)": "came instead of the greeting",
    "sys.stderr.write('\\x1b[2J\\x1b]0;owned\\x07' * 100000); sys.exit(255)": "ssh failed",
    "sys.stderr.write('x' * (1 << 22)); greet(complaint='so'); time.sleep(60)": "web: so.",
    "time.sleep(60)": "did not greet within",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); greet(); call(); time.sleep(600)": "--timeout=SECONDS waits longer",
    "sys.exit(255)": "ssh ended without a word",
}


@test
def hostile_bridges():
    """a bridge that lies, talks nonsense or is silent is one sentence without a control character, and ends in time"""
    net = NETS[0]
    for script, wanted in HOSTILE.items():
        with temporary() as place:
            path = as_ssh(net.directory, "hostile", script)
            done = run(CTPROFCTL, "-H", "web", "--timeout", "20" if wanted and "waits" not in wanted and "greet within" not in wanted else "2", "export", "a",
                       place / "out.zst", timeout=60, env={"CTPROF_SSH": str(path), "TMPDIR": str(place)})
            expect_equal((done.status, done.out), (1, ""), script, done.err)
            said = done.one_sentence()
            expect(all(c.isprintable() for c in said) and len(said) < 1100, script, said)
            expect(said.startswith("web: ") or "did not send" in said, script, said)
            expect(wanted in said, script, said)
            expect_equal(list(place.iterdir()), [], "left behind by", script)
    wait_until(lambda: not [pid for pid in children_of(os.getpid()) if b"hostile" in command_of(pid)], what="its end")


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@test
def files_of_a_liar_are_bounded():
    """what a bridge sends for a message is given up at the size of a snapshot, and kept nowhere afterwards"""
    net = NETS[0]
    with temporary() as place:
        path = as_ssh(net.directory, "flood", "greet(); call(); file(1 << 32)\n"
                      "out(b'x' * (1 << 20))\nfile(1)\ntime.sleep(60)")
        done = run(CTPROFCTL, "-H", "web", "--timeout", "4", "export", "a", place / "out.zst",
                   env={"CTPROF_SSH": str(path), "TMPDIR": str(place)})
        expect_equal(done.status, 1, done.err)
        expect("waits longer" in done.one_sentence(), done.err)
        expect_equal(list(place.iterdir()), [], "left behind")


@test
def names_are_no_options():
    """what is no name of a host is refused before anything runs, and is no option, command or path"""
    net = NETS[0]
    with temporary() as place:
        path = place / "ssh"
        path.write_text(f"#!/bin/sh\ntouch {place}/ran\n", encoding="utf-8")
        path.chmod(0o755)
        for name in ("-oProxyCommand=touch owned", "root@-oProxyCommand=x", "web;touch owned", "$(touch owned)", "a b", "a/b", "",
                     "web[1-3", "web[3-1]", "web[1-99999999]", "web[a]", "web[01-3]", "a,,b", "web:0", "web:99999", "web:", "@web",
                     "::1", "web\n", "w\x1b[2Jb", "web[1-100][1-100]", ","):
            done = run(CTPROFCTL, f"--host={name}", "list", env={"CTPROF_SSH": str(path)})
            expect_equal((done.status, done.out), (2, ""), name)
            expect(all(c.isprintable() for c in done.one_sentence()), done.err)
        for words in (["run", "--", "true"], ["metric-list"], ["list", "--local"]):
            done = run(CTPROFCTL, "-H", "web", *words, env={"CTPROF_SSH": str(path)})
            expect_equal((done.status, done.out), (2, ""), words)
            done.one_sentence()
        for words in (["remove", "a"], ["rename", "a", "b"], ["import", "a.zst"], ["metrics"], ["capture", "--output", "x.zst"], ["show", "a", "--format", "html"],
                      ["export", "a", "x.zst"], ["export", "a", "-"], ["export", "--changes", "file"]):
            done = run(CTPROFCTL, "-H", "web[1-2]", *words, env={"CTPROF_SSH": str(path)}, cwd=place)
            expect_equal((done.status, done.out), (2, ""), words)
            done.one_sentence()
        for words in (["list", "--fanout", "4"], ["-H", "web", "list", "--fanout", "0"], ["-H"], ["bridge", "--local"]):
            expect_equal(run(CTPROFCTL, *words).status, 2, words)
        done = run(CTPROFCTL, "--hosts-file", place / "none", "list")
        expect_equal(done.status, 1, done.err)
        expect(not (place / "ran").exists(), "ssh ran")
    expect("bridge" not in run(CTPROFCTL, "--help").out.split(), "bridge is hidden")


def recorded(net, name, words, config=""):
    """The arguments that ssh is called with for the bridge."""
    log = net.directory / "arguments"
    log.unlink(missing_ok=True)
    path = net.directory / "recording"
    path.write_text(f'#!/bin/sh\n[ "$1" = -G ] && {{ printf "%s\\n" {shlex.quote(config)}; exit 0; }}\n'
                    f'printf "%s\\n" "$@" >>{log}\nexec {net.ssh} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    done = run(CTPROFCTL, "-H", name, *words, env=net.environment(CTPROF_SSH=str(path)))
    expect_equal(done.status, 0, done.err)
    return log.read_text(encoding="utf-8").splitlines()


@test
def how_ssh_is_called():
    """times are bounded unless ssh's configuration does, and only one host alone may ask for a password"""
    net = NETS[0]
    web = net.hosts["web01"]
    words = recorded(net, "web01", ["status"])
    expect_equal(words[-3:], ["--", "web01", "ctprofctl bridge"], "the end")
    expect_equal(words[0], "-xaT", "the begin")
    expect("ConnectTimeout=10" in words and "ServerAliveInterval=15" in words and "BatchMode=yes" not in words, words)
    words = recorded(net, "web01", ["status"], "connecttimeout 3\nserveraliveinterval 7")
    expect("ConnectTimeout=10" not in words and "ServerAliveInterval=15" not in words, words)
    words = recorded(net, "web01", ["status"], "connecttimeout none\nserveraliveinterval 0")
    expect("ConnectTimeout=10" in words and "ServerAliveInterval=15" in words, words)
    words = recorded(net, f"web01:{web.port}", ["status"])
    expect_equal(words[words.index("-p") + 1], str(web.port), "the port")
    expect("BatchMode=yes" in recorded(net, "web01,web02", ["status"]), "batch")
    # A path goes through the shell of the other host as one word.
    odd = web.directory / "a'b $(touch owned)"
    odd.symlink_to(web.directory / "socket")
    expect_equal(recorded(net, "web01", ["status", "--socket", odd])[-1],
                 "ctprofctl bridge --socket '" + str(odd).replace("'", "'\\''") + "'", "quoted")


@test
def turned_away():
    """who is turned away because too many log in tries once again, and not twice"""
    net = NETS[0]
    for failures, status in ((1, 0), (2, 1)):
        count = net.directory / "count"
        count.write_text("", encoding="ascii")
        path = net.directory / "full"
        path.write_text(f'#!/bin/sh\n[ "$1" = -G ] && exit 0\necho x >>{count}\n[ "$(wc -l <{count})" -le {failures} ] || exec {net.ssh} "$@"\n'
                        'echo "kex_exchange_identification: Connection closed by remote host" >&2\nexit 255\n', encoding="utf-8")
        path.chmod(0o755)
        done = run(CTPROFCTL, "-H", "web01", "status", env=net.environment(CTPROF_SSH=str(path)))
        expect_equal(done.status, status, done.err)
        expect_equal(count.read_text(encoding="ascii").count("x"), 2, "tries")
        if status:
            expect("turned away twice" in done.one_sentence() and "MaxStartups" in done.err, done.err)


@test
def captures_begin_together():
    """capture --at waits on the other hosts, by their clocks, with all of them ready before"""
    net = NETS[0]
    names = ["web01", "web02", "web03"]
    path = as_ssh(net.directory, "slow", f'time.sleep(1)\nos.execv("{net.ssh}", ["ssh", *sys.argv[1:]])')
    # Later than all can log in, one after the other, on the slowest machine that this was tried on.
    seconds = 12
    at = time.time_ns() + seconds * 10 ** 9
    done = run(CTPROFCTL, "-H", "web[01-03]", "--fanout", "1", "capture", "--tag", "together", "--at", f"+{seconds}s", "--json=short",
               env=net.environment(CTPROF_SSH=str(path)))
    expect_equal(done.status, 0, done.err)
    starts = [json.loads(line)["snapshot"]["startRealtimeNs"] for line in done.out.splitlines()]
    expect_equal(len(starts), 3, done.out)
    expect(all(start >= at - 10 ** 7 for start in starts), "before the time", starts, at)
    # One after the other, each would begin behind the answer of the one before it, and its second of login.
    print(f"# three captures began within {(max(starts) - min(starts)) / 1e6:.0f} ms", flush=True)
    expect(max(starts) - min(starts) < 2 * 10 ** 9, "one after the other", starts)
    for name in names:
        expect_equal(net.hosts[name].daemon("remove", "together").status, 0, name)
    done = ask(net, "-H", "web01", "capture", "--at", "-1h")
    expect_equal(done.status, 1, done.err)
    expect("web01: the time of --at is over: its clock says " in done.one_sentence(), done.err)
    # Without a host it is our clock.
    direct = net.hosts["web01"].daemon
    at = time.time_ns() + 10 ** 9
    head = direct("capture", "--tag", "here", "--at", "+1s", "--json").json()["snapshot"]
    expect(head["startRealtimeNs"] >= at - 10 ** 7, "here", head["startRealtimeNs"], at)
    expect("is over: this clock says" in direct("capture", "--at", "-1h").one_sentence(), "over")
    expect_equal(direct("remove", "here").status, 0, "remove")
    expect_equal(ask(net, "-H", "web01", "capture", "--at", "nonsense").status, 2, "no time")


@test
def cancelled():
    """Ctrl-C ends the call, its ssh and what it did there, for one host and for many"""
    net = NETS[0]
    path = as_ssh(net.directory, "waiting", f'open("{net.directory}/ready", "a").write("x")\ngreet(); call(); time.sleep(600)')
    for hosts, n in (("web", 1), ("web[1-3]", 3)):
        (net.directory / "ready").unlink(missing_ok=True)
        with subprocess.Popen([CTPROFCTL, "-H", hosts, "capture"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True, env={**os.environ, **net.environment(CTPROF_SSH=str(path))}) as process:
            wait_until(lambda n=n: (net.directory / "ready").exists() and len((net.directory / "ready").read_text()) == n, what="ssh")
            below = children_of(process.pid)
            expect(len(below) >= 2 * n, "processes", below)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
            expect_equal((process.returncode, out, err), (1, "", "Cancelled.\n"), hosts)
        wait_until(lambda below=below: not [pid for pid in below if b"waiting" in command_of(pid)], what="the end of ssh")


@test
def killed():
    """a client that is killed leaves no ssh behind"""
    net = NETS[0]
    path = as_ssh(net.directory, "staying", f'open("{net.directory}/ready", "a").write("x")\ngreet(); call(); time.sleep(600)')
    (net.directory / "ready").unlink(missing_ok=True)
    with subprocess.Popen([CTPROFCTL, "-H", "web", "capture"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, **net.environment(CTPROF_SSH=str(path))}) as process:
        wait_until((net.directory / "ready").exists, what="ssh")
        below = children_of(process.pid)
        process.kill()
    wait_until(lambda: not [pid for pid in below if b"staying" in command_of(pid)], what="the end of ssh")


@test
def many_connections():
    """24 connections to one sshd all answer, sixteen at a time and one by one"""
    net = NETS[0]
    port = net.hosts["web01"].port
    net.write_config(f"Host twin*\n  Port {port}\n")
    try:
        begin = time.monotonic()
        expect_equal(ask(net, "-H", "twin1", "list", "--quiet").status, 0, "one")
        print(f"# one call {time.monotonic() - begin:.2f} s", flush=True)
        for n, fanout in ((6, 1), (24, 16)):
            begin = time.monotonic()
            done = ask(net, "-H", f"twin[01-{n:02}]", "--fanout", fanout, "list", "--json=short")
            expect_equal((done.status, done.err), (0, ""), fanout)
            expect_equal([json.loads(line)["host"] for line in done.out.splitlines()], [f"twin{i:02}" for i in range(1, n + 1)], fanout)
            print(f"# {n} connections, {fanout} at a time: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        net.write_config()


@test
def nothing_is_left():
    """after all of it no bridge runs and no file is left"""
    net = NETS[0]
    for host in net.hosts.values():
        wait_until(lambda host=host: not [pid for pid in children_of(host.sshd.pid) if b"bridge" in command_of(pid)], what="bridges")
    expect_equal([path.name for path in net.directory.glob("ctprofctl-*")], [], "files")


with temporary() as top:
    try:
        NETS.append(Net(top))
    except Skip as reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    with NETS[0] as shared:
        shared.add("web01", settings=PLAIN)
        shared.add("web02", settings=HARD)
        shared.add("web03", key=FORCED)
        main()
