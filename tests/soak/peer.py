# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the socket that is in full control of its bytes."""
import array
import json
import os
import select
import socket
import time

# Longer than any queue and any job together: what is not answered by then never is.
PATIENCE_S = 400


class HungUp(Exception):
    """The daemon closed the connection before the call was answered."""


class NeverAnswered(Exception):
    """No answer, and no end of the connection either."""


def encode(method, parameters=None, **flags):
    return json.dumps({"method": method, "parameters": parameters or {}, **flags}).encode() + b"\0"


class Peer:
    def __init__(self, path, receive_bytes=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(PATIENCE_S)
        self.data = bytearray()
        self.fds = []
        try:
            self.socket.connect(path)
        except TimeoutError as error:
            self.close()
            raise NeverAnswered("connect") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.drop_fds()
        self.socket.close()

    def drop_fds(self):
        while self.fds:
            os.close(self.fds.pop())

    def send(self, data, fds=()):
        """False when the daemon would take no more: what it said before that can still be received."""
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            sent = self.socket.sendmsg([data], ancillary)
            self.socket.sendall(data[sent:])
        except (BrokenPipeError, ConnectionResetError):
            return False
        except TimeoutError as error:
            raise NeverAnswered("send") from error
        return True

    def _fill(self, n_bytes=1 << 18):
        try:
            data, ancillary, _, _ = self.socket.recvmsg(n_bytes, socket.CMSG_SPACE(4 * 64))
        except ConnectionResetError as error:
            raise HungUp from error
        except TimeoutError as error:
            raise NeverAnswered("receive") from error
        for level, kind, payload in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self.fds += array.array("i", payload[:len(payload) // 4 * 4])
        if not data:
            raise HungUp
        self.data += data

    def receive(self):
        """The next message, decoded."""
        while (end := self.data.find(b"\0")) < 0:
            self._fill()
        message = json.loads(self.data[:end])
        del self.data[:end + 1]
        return message

    def replies(self):
        """Messages up to one that does not continue."""
        while True:
            message = self.receive()
            yield message
            if not message.get("continues"):
                return

    def rest(self):
        """What still comes until the daemon hangs up."""
        messages = []
        try:
            while True:
                messages.append(self.receive())
        except HungUp:
            return messages

    def trickle(self, seconds, n_bytes=512, pause_s=0.02):
        """Reads a little at a time, for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.socket], [], [], 0.1)[0]:
                self._fill(n_bytes)
            time.sleep(pause_s)

    def pump(self, data, n_answers):
        """Sends @data while receiving @n_answers messages: neither side waits for the other."""
        answers = []
        self.socket.setblocking(False)
        end = time.monotonic() + PATIENCE_S
        view = memoryview(data)
        try:
            while len(answers) < n_answers:
                if time.monotonic() > end:
                    raise NeverAnswered("pipelined calls")
                readable, writable, _ = select.select([self.socket], [self.socket] if view else [], [], 1)
                if writable:
                    view = view[self.socket.send(view[:1 << 16]):]
                if readable:
                    end = time.monotonic() + PATIENCE_S  # for the next one
                    self._fill()
                    *whole, rest = self.data.split(b"\0")
                    answers += whole
                    self.data = bytearray(rest)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise HungUp from error
        finally:
            self.socket.settimeout(PATIENCE_S)
        return answers
