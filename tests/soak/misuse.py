# SPDX-License-Identifier: GPL-2.0-or-later
"""What no client should do. Whatever the daemon answers is held against the interface all the same."""
import json
import os
import socket
import time

from calls import PROFILER, SERVICE, Call
from interface import Mismatch
from peer import HungUp, encode

MALFORMED = f"{SERVICE}.GetInfo"  # what is no call is answered as if to anything


def _check(client, method, messages):
    """The last error among messages, "" without one, None without a message."""
    error = None
    for message in messages:
        error = client.setup.description.check_reply(method, message)
        client.note_error(message)
    return error


def _big_view(client):
    return Call(f"{PROFILER}.Show", {"snapshot": {"name": client.caller.some_name()},
                                     "view": {"groupBy": "thread", "limit": 0, "spread": True}}, more=True)


def _refused_rest(client, peer, method=MALFORMED):
    """All that comes until the daemon hangs up, which it must."""
    error = _check(client, method, peer.rest())
    return "cut off" if error is None else error.rpartition(".")[2] or "answered"


def garbage(client):
    """Bytes that are no message, and the messages behind them."""
    rng = client.rng
    block = rng.choice([
        rng.randbytes(rng.choice([1, 30, 5000])) + b"\0", b"\0\0\0", b"[]\0", b'"x"\0', b"{}\0", b'{"method":5}\0',
        b'{"method":"a.b","method":"c.d"}\0', b'{"method":"a.b","parameters":[]}\0', b"\xff\xfe{}\0",
        b'{"method":"a.b","parameters":' + b"[" * 5000 + b"\0", b"GET / HTTP/1.1\r\n\r\n\0"])
    with client.connect() as peer:
        peer.send(block + encode(f"{SERVICE}.GetInfo"))
        return _refused_rest(client, peer)


def half(client):
    """A call that never ends: cut off after IdleTime, or ended in time and answered."""
    call = client.caller.list()
    data = encode(call.method, call.parameters)
    cut = client.rng.randrange(1, len(data))
    with client.connect() as peer:
        peer.send(data[:cut])
        if client.rng.random() < 0.5:
            client.nap(client.rng.uniform(0, 1))
            peer.send(data[cut:])
            return _check(client, call.method, peer.replies()) or "answered"
        return _refused_rest(client, peer)


def dribble(client):
    """A whole call in single bytes."""
    call = client.rng.choice([client.caller.status, client.caller.get_info, client.caller.metric_list])()
    with client.connect() as peer:
        for byte in encode(call.method):
            peer.send(bytes([byte]))
        return _check(client, call.method, peer.replies()) or "answered"


def huge(client):
    """More than any call may have."""
    n_bytes = client.rng.choice([1 << 20, 3 << 20])
    block = encode(f"{PROFILER}.List", {"x": "y" * n_bytes})
    if client.rng.random() < 0.5:
        block = encode(f"{PROFILER}.Remove", {"names": ["x"] * 100000})
    with client.connect() as peer:
        peer.send(block)
        return _refused_rest(client, peer)


def flood(client):
    """Thousands of calls in one stream, answered one by one and in order."""
    caller = client.caller
    makers = client.rng.choice([[caller.get_info], [caller.status, caller.list], [caller.wrong],
                                [caller.get_info, caller.metric_list], [caller.info, caller.wrong]])
    n = client.rng.choice([1000, 3000]) if len(makers) == 1 else 100
    calls = [client.rng.choice(makers)() for _ in range(n)]
    calls = [call for call in calls if not call.descriptor]
    # Without "more" each call has exactly one answer.
    data = b"".join(encode(call.method, call.parameters) for call in calls)
    with client.connect() as peer:
        answers = peer.pump(data, len(calls))
    for call, text in zip(calls, answers):
        message = json.loads(text)
        error = client.setup.description.check_reply(call.method, message)
        client.note_error(message)
        if not error and call.right is False:
            raise Mismatch(f"a wrong call was answered: {text[:200]}")
    client.count("(one of a flood)", "misuse", "answered", n=len(calls))
    return "answered"


def slow_reader(client):
    """A view that is read a few bytes at a time for a while, and then to its end."""
    call = _big_view(client)
    with client.connect(receive_bytes=4096) as peer:
        client.send_call(peer, call)
        peer.trickle(client.rng.uniform(0.5, 3))
        return (_check(client, call.method, peer.replies()) or "answered").rpartition(".")[2]


def deaf(client):
    """A view that nobody reads: sent away after StalledTime, or gone before that."""
    call = _big_view(client)
    with client.connect(receive_bytes=4096) as peer:
        for _ in range(client.rng.choice([1, 5])):
            if not client.send_call(peer, call):
                break
        client.nap(client.rng.uniform(1, 12))
    return "left"


def hang_up(client):
    """Gone in the middle of a call, sometimes with its answer half read."""
    caller = client.caller
    call = client.rng.choice([
        lambda: caller.capture("x"), lambda: caller.remove("x"), lambda: caller.rename("x"),
        lambda: caller.import_("x"), caller.record, caller.stacks, caller.show, caller.compare, caller.compare_sets, caller.verify,
        caller.export])()
    with client.connect() as peer:
        client.send_call(peer, call)
        client.nap(client.rng.choice([0, 0.001, 0.02, 0.1, 0.5]))
        if client.rng.random() < 0.3:
            peer.socket.shutdown(socket.SHUT_WR)
    if call.changes or call.name in ("Capture", "Record"):
        client.tell("doubt", call.name, call.changes, time.monotonic() + 5)
    return "left"


def shut_down(client):
    """Half closed behind several calls: all are answered, then the daemon hangs up."""
    calls = [client.caller.list(), client.caller.status(), client.caller.get_info()]
    with client.connect() as peer:
        peer.send(b"".join(encode(call.method) for call in calls))
        peer.socket.shutdown(socket.SHUT_WR)
        answers = peer.rest()
    if "Busy" in str(answers[-1:]):
        return "Busy"
    if len(answers) != len(calls):
        raise Mismatch(f"{len(answers)} answers to {len(calls)} calls")
    for call, answer in zip(calls, answers):
        client.setup.description.check_reply(call.method, answer)
    return "answered"


def oneway(client):
    """Calls that want no answer get none."""
    caller = client.caller
    makers = [lambda: caller.capture("x"), lambda: caller.remove("x"), lambda: caller.rename("x"), caller.list,
              caller.show, caller.verify, caller.export, caller.wrong]
    with client.connect() as peer:
        for call in [make() for make in client.rng.choices(makers, k=5)]:
            if call.changes or call.name == "Capture":
                client.tell("doubt", call.name, call.changes, time.monotonic() + 60)
            if not call.descriptor:
                peer.send(encode(call.method, call.parameters, oneway=True))
        peer.send(encode(f"{SERVICE}.GetInfo"))
        return _check(client, f"{SERVICE}.GetInfo", peer.replies()) or "answered"


def upgrade(client):
    with client.connect() as peer:
        peer.send(encode(f"{SERVICE}.GetInfo", upgrade=True))
        error = _check(client, f"{SERVICE}.GetInfo", peer.replies())
        if not error:
            raise Mismatch("an upgrade was agreed to")
        return error.rpartition(".")[2]


def crowd(client):
    """More connections than one user may have."""
    peers, refused = [], 0
    try:
        for _ in range(client.rng.choice([10, 70])):
            peers.append(client.connect())
            peers[-1].send(encode(f"{SERVICE}.GetInfo"))
        for peer in peers:
            refused += _check(client, f"{SERVICE}.GetInfo", [peer.receive()]) == f"{PROFILER}.Busy"
    finally:
        for peer in peers:
            peer.close()
    return "some Busy" if refused else "answered"


def _odd_descriptor(client):
    """Something to read that is no snapshot."""
    kind = client.rng.choice(["pipe", "zero", "directory", "socket", "noise", "half", "path", "null"])
    if kind == "pipe":
        read_end, write_end = os.pipe()
        os.close(write_end)
        return read_end
    if kind == "socket":
        pair = socket.socketpair()
        pair[1].close()
        return pair[0].detach()
    if kind in ("noise", "half"):
        fd = os.memfd_create("odd")
        data = client.rng.randbytes(100000)
        if kind == "half" and client.files:
            data = os.pread(client.files[0], 5000, 0)
        os.write(fd, data)
        return fd
    path, flags = {"zero": ("/dev/zero", os.O_RDONLY), "null": ("/dev/null", os.O_RDWR),
                   "directory": (client.scratch, os.O_RDONLY), "path": (client.scratch, os.O_PATH)}[kind]
    return os.open(path, flags)


def odd_descriptors(client):
    """Descriptors that are no files, too many, or not asked for."""
    fds = [_odd_descriptor(client) for _ in range(client.rng.choice([1, 1, 1, 3, 60, 100]))]
    reference = {"fileDescriptor": 0, "label": "odd"}
    call = client.rng.choice([
        Call(f"{PROFILER}.Show", {"snapshot": reference}, more=True), Call(f"{PROFILER}.Status"),
        Call(f"{PROFILER}.Info", {"snapshot": reference}), Call(f"{PROFILER}.Verify", {"snapshots": [reference]}),
        Call(f"{PROFILER}.Import", {"fileDescriptor": 0, "tag": "odd"})])
    try:
        with client.connect() as peer:
            peer.send(encode(call.method, call.parameters, **({"more": True} if call.more else {})), fds)
            error = _check(client, call.method, peer.replies())
    finally:
        for fd in fds:
            os.close(fd)
    if not error and call.name not in ("Verify", "Status"):
        raise Mismatch(f"{call.name} of what is no snapshot was answered")
    return (error or "answered").rpartition(".")[2]


KINDS = [garbage, half, dribble, huge, flood, slow_reader, deaf, hang_up, hang_up, hang_up, shut_down, oneway, upgrade,
         crowd, odd_descriptors, odd_descriptors]


def any_of(client):
    kind = client.rng.choice(KINDS)
    begun = time.monotonic()
    try:
        outcome = kind(client).rpartition(".")[2]
    except (HungUp, BrokenPipeError, ConnectionResetError):
        outcome = "cut off"
    except Mismatch as error:
        outcome = "implausible"
        client.fault(f"{kind.__name__}: {error}")
    client.count(kind.__name__, "misuse", outcome, begun)
