# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx under wrk becomes slower: a newcomer has begun to burn the processors."""
import contextlib
import os
import socket
import time

from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval, started
from harness import Daemon, expect, main, test, wait_until
from programs import Programs

PACKAGES = {"nginx": "nginx", "wrk": "wrk", "stress-ng": "stress-ng"}
DURATION_S = 60  # of a load that is ended before
CONFIGURATION = """
daemon off;
{user}
worker_processes 2;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log {directory}/access.log;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {directory}/pages;
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """nginx with a configuration, a page and logs of its own."""

    def __init__(self, directory, programs):
        self.directory = directory / "nginx"
        (self.directory / "pages").mkdir(parents=True)
        (self.directory / "pages" / "index.html").write_text("It works.\n" * 50, encoding="ascii")
        self.access_log = self.directory / "access.log"
        self.port = free_port()
        (self.directory / "nginx.conf").write_text(CONFIGURATION.format(
            directory=self.directory, port=self.port, user="user nobody nogroup;" if os.geteuid() == 0 else ""),
            encoding="ascii")
        self.running = started(programs["nginx"], "-p", self.directory, "-e", self.directory / "error.log",
                               "-c", self.directory / "nginx.conf", env={**os.environ, **programs.environment})

    def __enter__(self):
        process = self.running.__enter__()

        def ready():
            error_log = self.directory / "error.log"
            expect(process.poll() is None, error_log.exists() and error_log.read_text(errors="replace"))
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return True
        wait_until(ready, what="nginx")
        return self

    def __exit__(self, *reason):
        return self.running.__exit__(*reason)

    def requests(self):
        """Answered up to now, roughly: lines of the access log are about of one length."""
        with open(self.access_log, "rb") as log:
            length = len(log.readline())
        return self.access_log.stat().st_size / length


@test
def a_newcomer_burns_the_processors():
    """beside a program that burns the processors, the first screen names it, and what nginx lost"""
    with directory_on_disk() as directory, contextlib.ExitStack() as stack:
        programs = Programs(directory, PACKAGES)
        environment = {**os.environ, **programs.environment}
        daemon = stack.enter_context(Daemon(directory))
        server = stack.enter_context(Server(directory, programs))
        stack.enter_context(started(programs["wrk"], "--threads", 1, "--connections", 16, "--duration",
                                    f"{DURATION_S}s", f"http://127.0.0.1:{server.port}/", env=environment))
        time.sleep(SETTLE_S)
        alone = interval(daemon, "a", "b", server.requests)
        stack.enter_context(started(programs["stress-ng"], "--cpu", os.cpu_count(), "--timeout", DURATION_S, "--temp-path", directory,
                                    env=environment))
        time.sleep(SETTLE_S)
        beside = interval(daemon, "c", "d", server.requests)
        became_slower("requests", alone, beside)
        screens = ask(["--socket", daemon.socket], "compare", "a..b", "c..d")
    for screen in screens:
        newcomers = [row for row in screen.rows() if row.threads.endswith(" new")]
        expect(newcomers and newcomers[0].group.startswith("stress-ng"), "new:", *(row.group for row in newcomers))
        first = newcomers[0]
        # It would take all processors, were it alone.
        wanted = first.sides("CPU")[1] + first.sides("WAIT")[1]
        expect(wanted > 0.6 * os.cpu_count(), "it runs or waits on", wanted, "CPUs")
        before, after = screen.row("nginx").sides("CPU")
        expect(after < 0.9 * before, "the CPUs of nginx:", before, after)


main()
