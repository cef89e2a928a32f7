# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of other users to a daemon that lets anybody connect, and calls as bytes."""
import contextlib
import json
import os
import socket

from harness import Daemon

PROFILER = "io.ctprof.Profiler"


@contextlib.contextmanager
def acting_as(uid):
    """What connects meanwhile is taken for this user: the kernel notes who calls connect(2)."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def connect(daemon, uid, receive_bytes=None):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    with acting_as(uid):
        connection.connect(str(daemon.socket))
    connection.settimeout(60)
    return connection


@contextlib.contextmanager
def open_daemon(directory, settings=""):
    config = directory / "ctprofd.conf"
    config.write_text(settings, encoding="ascii")
    with Daemon(directory, options=["--config", str(config)]) as daemon:
        os.chmod(daemon.socket, 0o666)
        yield daemon


def frame(method, parameters=None, more=False):
    message = {"method": f"{PROFILER}.{method}", "parameters": parameters or {}, "more": more}
    return json.dumps(message).encode() + b"\0"
