# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for systemd and for an administrator: watches, reloads, and ends jobs that did nothing wrong."""
import contextlib
import os
import signal
import socket
import threading
import time

import sampler
from harness import wait_until

# What holds when nobody is looking for trouble: small enough that every bound is met.
ORDINARY = """[Spool]
MaxBytes=8M
[Jobs]
AnalysisTime=30s
CaptureTime=60s
[Server]
IdleTime=3s
StalledTime=8s
"""
CHANGES = [
    ORDINARY,
    ORDINARY + "MaxConnectionsPerUser=16\nMaxConnections=40\n",
    ORDINARY + "MaxBytesPerUser=2M\n",
    ORDINARY + "[Jobs]\nMaxAnalyses=1\nMaxAnalysesWaitingPerUser=2\nMaxCapturesWaitingPerUser=1\n",
    ORDINARY + "[Jobs]\nMaxAnalyses=16\nMaxAnalysesWaiting=1024\n",
    ORDINARY + "[Jobs]\nMemoryMax=64M\n",
    ORDINARY + "[Capture]\nSmaps=no\nSmapsTime=1ms\n",
    ORDINARY.replace("8M", "3M") + "[Spool]\nMaxAge=30s\n",
    # None of these may be taken over, nor parts of it.
    ORDINARY + "MaxConnections=none\n",
    "[Server\nMaxConnections=1\n",
    "\xff\xfe\x00[Server]\nMaxConnections=1\nIdleTime=\n",
]


class Guard:
    WATCHDOG_S = 30  # as in the unit

    def __init__(self, directory, rng):
        self.rng = rng
        self.config = directory / "ctprofd.conf"
        self.config.write_text(ORDINARY, encoding="latin-1")
        self.path = directory / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        os.chmod(self.path, 0o777)
        self.killed = self.stopped = self.reloads = self.reloaded = 0
        self.longest_silence = 0
        self._fed = None
        self._over = False
        self._thread = threading.Thread(target=self._hear)
        self._asleep = {}  # pidfd -> when it goes on
        self._next_kill = self._next_reload = 0

    def files(self):
        return {self.config.name, self.path.name}

    def environment(self):
        os.environ["NOTIFY_SOCKET"] = str(self.path)
        os.environ["WATCHDOG_USEC"] = str(self.WATCHDOG_S * 1000000)
        return ["NOTIFY_SOCKET", "WATCHDOG_USEC"]

    def watch(self, daemon):
        self.daemon = daemon
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
            os.environ.pop(name, None)
        self._thread.start()

    def _hear(self):
        """Reads at once whatever is told: a manager that does not read is for another test."""
        while not self._over:
            lines = self.socket.recv(4096).decode("utf-8", "replace").splitlines()
            now = time.monotonic()
            if "WATCHDOG=1" in lines:
                if self._fed is not None:
                    self.longest_silence = max(self.longest_silence, now - self._fed)
                self._fed = now
            # At the start readiness comes with a status, after a reload without.
            if "READY=1" in lines and not any(line.startswith("STATUS=") for line in lines):
                self.reloaded += 1

    def close(self):
        self._over = True
        self.socket.sendto(b"", str(self.path))
        self._thread.join()
        self.socket.close()

    def trouble(self):
        """Called often; does something now and then."""
        now = time.monotonic()
        for pidfd, when in list(self._asleep.items()):
            if now >= when:
                self._wake(pidfd)
        if now >= self._next_kill:
            self._next_kill = now + self.rng.expovariate(1)
            self._hit()
        if now >= self._next_reload:
            self._next_reload = now + self.rng.uniform(1, 5)
            self.reload(self.rng.choice(CHANGES))

    def reload(self, text):
        # Signals of one kind merge while one is pending, and so would their answers.
        if self.reloaded < self.reloads:
            return
        self.config.write_text(text, encoding="latin-1")
        os.kill(self.daemon.process.pid, signal.SIGHUP)
        self.reloads += 1

    def _hit(self):
        """Some job: killed, or stopped for a while."""
        parent = self.daemon.process.pid
        pids = sampler.children(parent, all_of_them=True)
        if not pids:
            return
        pid = self.rng.choice(pids)
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        with contextlib.suppress(ProcessLookupError):
            if not sampler.is_child(pid, parent):
                os.close(pidfd)
                return
            if self.rng.random() < 0.2:
                signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
                self._asleep[pidfd] = time.monotonic() + self.rng.uniform(0.1, 4)
                self.stopped += 1
                return
            number = self.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
            signal.pidfd_send_signal(pidfd, number)
            self.killed += 1
        os.close(pidfd)

    def _wake(self, pidfd):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
        os.close(pidfd)
        del self._asleep[pidfd]

    def calm(self):
        """All jobs go on, and the ordinary configuration holds."""
        for pidfd in list(self._asleep):
            self._wake(pidfd)
        wait_until(lambda: self.reloaded == self.reloads, 60, "the answer to a reload")
        self.reload(ORDINARY)
        wait_until(lambda: self.reloaded == self.reloads, 60, "the answer to a reload")
