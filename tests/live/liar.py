# SPDX-License-Identifier: GPL-2.0-or-later
"""A daemon that speaks the protocol and lies: what it answers is decided by a test, reply by reply."""
import contextlib
import itertools
import json
import os
import socket
import threading

from harness import Daemon, call, expect, receive

PROFILER = "io.ctprof.Profiler"


class Liar:
    """Listens at a socket; answer(method, parameters) gives pieces: bytes, (bytes, descriptors), or a pause in seconds.

    A piece of bytes is sent as it is. After the last one it hangs up, unless answer is endless.
    """

    def __init__(self, path, answer):
        self.answer = answer
        self.asked = []
        self.closing = threading.Event()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(str(path))
        self.socket.listen(64)
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError, ValueError), connection:
            data = b""
            while not data.endswith(b"\0"):
                piece = connection.recv(1 << 16)
                if not piece:
                    return
                data += piece
            asked = json.loads(data[:-1])
            self.asked.append(asked["method"])
            for piece in self.answer(asked["method"].rsplit(".", 1)[1], asked.get("parameters", {})):
                if isinstance(piece, (int, float)):
                    if self.closing.wait(piece):
                        return
                elif isinstance(piece, tuple):
                    socket.send_fds(connection, [piece[0]], piece[1])
                else:
                    connection.sendall(piece)

    def close(self):
        self.closing.set()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def frame(reply):
    # A lone surrogate stands for a byte that is not UTF-8.
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\0"


def true_answers(directory):
    """What a daemon that does not lie answers to each method, as lists of replies."""
    view = {"limit": 2, "changedOnly": False, "spread": True, "overview": True}
    answers = {}
    with Daemon(directory) as daemon:

        def ask(method, parameters=None, more=True):
            with daemon.connect() as connection:
                answers[method] = [reply for reply in call(connection, f"{PROFILER}.{method}", parameters, more)
                                   if "progress" not in reply["parameters"]]
                expect("error" not in answers[method][-1], method, answers[method][-1])

        for name in "abcd":
            ask("Capture", {"tag": name})
        # A recording is told as a snapshot is; where no programs can count there would be none to ask for.
        answers["Record"] = answers["Capture"]
        ask("List", more=False)
        ask("Status", more=False)
        ask("Show", {"snapshot": {"name": "a"}, "view": view})
        ask("Compare", {"before": {"name": "a"}, "after": {"name": "b"}, "view": view})
        # Reasons of waits are told as here, too, where no programs can count them.
        for reply in [*answers["Show"], *answers["Compare"]]:
            for row in reply["parameters"].get("overview", []):
                for account in filter(None, row["accounts"]):
                    account["reasons"] = {"poll": 10**9, **(account["reasons"] or {})}
        ask("CompareSets", {"before": [{"name": "a"}, {"name": "b"}], "after": [{"name": "c"}, {"name": "d"}],
                            "view": {"limit": 2, "changedOnly": False}})
        ask("Info", {"snapshot": {"name": "a"}})
        ask("Verify", {"snapshots": []})
        ask("Export", {"snapshot": {"name": "a"}})
        ask("Rename", {"name": "d", "newName": "e"})
        ask("Remove", {"names": ["e"]})
        with daemon.connect() as connection:
            path = daemon.spool / "a.ctprof.zst"
            with open(path, "rb") as file:
                message = {"method": f"{PROFILER}.Import", "parameters": {"fileDescriptor": 0, "tag": "f"}, "more": True}
                socket.send_fds(connection, [frame(message)], [file.fileno()])
                answers["Import"] = [reply for reply in receive(connection) if "progress" not in reply["parameters"]]
    return answers


def paths(value, path=()):
    """Every place in a value; elements of a list are one place, and so are the members of a long object."""
    yield path
    if isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))
    elif isinstance(value, dict):
        for key in itertools.islice(value, 12):
            yield from paths(value[key], (*path, key))


def changed(value, path, new):
    """A copy with something else at the place; new(old) may give None to leave it out."""
    if not path:
        return new(value)
    copy = list(value) if isinstance(value, list) else dict(value)
    inner = changed(copy[path[0]], path[1:], new)
    if inner is LEFT_OUT:
        del copy[path[0]]
    else:
        copy[path[0]] = inner
    return copy


LEFT_OUT = object()


def each_text(value, new, key=""):
    """A copy in which every text is new(key, text)."""
    if isinstance(value, str):
        return new(key, value)
    if isinstance(value, list):
        return [each_text(element, new, key) for element in value]
    if isinstance(value, dict):
        return {name: each_text(element, new, name) for name, element in value.items()}
    return value


def with_keys(value, key):
    """A copy in which every object of objects or numbers has one more member."""
    if isinstance(value, list):
        return [with_keys(element, key) for element in value]
    if isinstance(value, dict):
        copy = {name: with_keys(element, key) for name, element in value.items()}
        if copy:
            copy[key] = next(iter(copy.values()))
        return copy
    return value


def endless(piece, pause=0):
    while True:
        yield piece
        if pause:
            yield pause


def descriptor_of(path, flags=os.O_RDONLY):
    return os.open(path, flags | os.O_NONBLOCK)
