# SPDX-License-Identifier: GPL-2.0-or-later
"""A file load becomes slower because the memory limit of its cgroup was cut, and nginx because it has got a CPU quota. Of
tests/demo/run, which names it."""
import contextlib
import functools
import itertools
import os
import pathlib
import random
import re
import socket
import threading
import time

import machine
from harness import Skip, expect, expect_equal, run, test, wait_until
from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval

UNIT = "files.service"
AMPLE_MIB, SCARCE_MIB, CACHED_MIB = 400, 60, 190
WEB_UNIT = "web.service"
WEB_QUOTA = "40%"
CLIENTS = 4
WEB = """
daemon off;
user nobody nogroup;
worker_processes 2;
pid {directory}/pid;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    default_type text/plain;
    gzip on;
    gzip_comp_level 9;
    gzip_types text/plain;
    server {{
        listen unix:{directory}/socket;
        root {directory};
    }}
}}
"""
REQUEST = b"GET /page HTTP/1.1\r\nHost: guest\r\nAccept-Encoding: gzip\r\n\r\n"
FILES = ("--file-num=8", "--file-total-size=200M", "--file-test-mode=rndrd")


@contextlib.contextmanager
def load(directory):
    """sysbench reads blocks of files at random, in a cgroup that has room for all of them in memory."""
    prepared = run("sysbench", "fileio", *FILES, "prepare", cwd=directory)
    expect_equal(prepared.status, 0, prepared.out, prepared.err)
    # Memory is accounted to the cgroup that first read into it, which so far is another.
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("1", encoding="ascii")
    begun = run("systemd-run", f"--unit={UNIT}", "--property=MemoryAccounting=yes",
                f"--property=MemoryMax={AMPLE_MIB}M", f"--property=WorkingDirectory={directory}",
                "--property=StandardOutput=null", "sysbench", "fileio", *FILES, "--threads=2", "--time=300", "run")
    expect_equal(begun.status, 0, begun.err)

    def is_cached():
        return int(machine.shown("MemoryCurrent", UNIT)) > CACHED_MIB << 20 or time.sleep(0.5)
    try:
        wait_until(is_cached, 60, "all files in memory")
        yield int(machine.shown("MainPID", UNIT))
    finally:
        run("systemctl", "stop", UNIT)
        run("systemctl", "reset-failed", UNIT)


@functools.cache
def screens():
    """What compare says of the time before and after the cut."""
    with directory_on_disk() as directory, load(directory) as pid:
        def reads():
            text = pathlib.Path(f"/proc/{pid}/io").read_text(encoding="ascii")
            return int(text.partition("syscr: ")[2].split()[0])

        time.sleep(SETTLE_S)
        fast = interval(machine.ctl, "a", "b", reads)
        machine.systemctl("set-property", "--runtime", UNIT, f"MemoryMax={SCARCE_MIB}M")
        time.sleep(SETTLE_S)
        slow = interval(machine.ctl, "c", "d", reads)
        became_slower("reads", fast, slow)
        return ask([], "compare", "a..b", "c..d")


def answer(*options):
    return machine.ctl("compare", "a..b", "c..d", "--json", *options).json()


@test
def reads_wait_for_the_disk():
    """with the memory limit of a cgroup cut, the first screen says who began to read from the disk, and to wait for it"""
    for screen in screens():
        row = screen.row("sysbench")
        for header in ("IO", "READ/S"):
            before, after = row.sides(header)
            expect(after > before, header, row.cells[header])


@test
def the_limit_is_said_to_have_changed():
    """the table of limits has the one that was cut, from what to what"""
    screens()
    table = answer("--group-by", "cgroup", "--sections", "cgroup-limits")["sections"]["cgroup-limits"]
    limits = [row["memory"]["max"] for row in table if row["cgroup"].endswith("/" + UNIT)]
    expect_equal([(limit["before"], limit["after"]) for limit in limits], [(AMPLE_MIB << 20, SCARCE_MIB << 20)])


@test
def the_limit_is_named():
    """the first screen names the cgroup that its limit held back"""
    pair = screens()
    if "limited" not in answer():
        raise Skip("this daemon does not tell which limits held a cgroup back")
    for screen in pair:
        expect(f"{UNIT}: memory.max" in screen.text, "no limit of", UNIT, "in", screen.text)


@contextlib.contextmanager
def web(directory):
    """nginx, which compresses a page for each request, in a cgroup of its own."""
    machine.need("nginx", "there is no nginx")
    numbers = random.Random(1)
    (directory / "page").write_text(" ".join(f"{numbers.randrange(5000)}" for _ in range(40000)), encoding="ascii")
    (directory / "nginx.conf").write_text(WEB.format(directory=directory), encoding="ascii")
    begun = run("systemd-run", f"--unit={WEB_UNIT}", "--property=CPUAccounting=yes", "nginx", "-p", directory,
                "-e", directory / "error.log", "-c", directory / "nginx.conf")
    expect_equal(begun.status, 0, begun.err)
    try:
        wait_until((directory / "socket").exists, 60, "nginx")
        yield
    finally:
        run("systemctl", "stop", WEB_UNIT)
        run("systemctl", "reset-failed", WEB_UNIT)


@contextlib.contextmanager
def clients(path):
    """Ask again after each answer; yields a function that tells how many there were."""
    answered, is_over = itertools.count(), threading.Event()

    def ask_again():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            while not is_over.is_set():
                connection.sendall(REQUEST)
                end = b""
                while not end.endswith(b"\r\n0\r\n\r\n"):
                    piece = connection.recv(1 << 16)
                    expect(piece, "nginx has ended the connection")
                    end = end[-8:] + piece
                next(answered)
    threads = [threading.Thread(target=ask_again) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: int(re.search(r"\d+", repr(answered))[0])
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@test
def a_quota_lets_cpus_idle():
    """with a CPU quota for nginx, the first screen says that its threads wait while CPUs are idle, and that the quota is why"""
    with directory_on_disk() as directory, web(directory), clients(directory / "socket") as answers:
        time.sleep(SETTLE_S)
        fast = interval(machine.ctl, "e", "f", answers)
        machine.systemctl("set-property", "--runtime", WEB_UNIT, f"CPUQuota={WEB_QUOTA}")
        time.sleep(SETTLE_S)
        slow = interval(machine.ctl, "g", "h", answers)
        became_slower("answers", fast, slow)
        pair = ask([], "compare", "e..f", "g..h")
    for screen in pair:
        told = re.search(r"but B +([\d.]+) threads wait while ([\d.]+) CPUs are idle: the CPU quota of /system.slice/(\S+) "
                         r"throttled nginx for [\d.]+ s", screen.text)
        expect(told and told[3] == WEB_UNIT, "no contradiction in", *screen.lines)
        expect(re.search(rf"limited B +/system.slice/{WEB_UNIT}: CPU throttled", screen.text), "no limit in", *screen.lines)
