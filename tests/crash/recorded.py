# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of this directory share: a daemon whose changes are recorded, or ended at one of them."""
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

# pylint: disable=wrong-import-position
from harness import BUILD, CTPROFD, Daemon, expect_equal, without_programs

RECORD = str(BUILD / "tests" / "crash" / "record")
SUFFIX = ".ctprof.zst"
TEMPORARY = ".ctprof-new-"
LEFT_OVER = TEMPORARY + "0123456789abcdef"
FOREIGN = "foreign.txt"
SEED = int(os.environ.get("CTPROF_TEST_SEED", "20261120"))


def recorded_environment():
    """The leak checker of a sanitized build is a tracer too, and there can be but one."""
    return {"ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))}


class Recorded(Daemon):
    """A daemon under record, with a spool that exists."""

    def __init__(self, directory, spool, *options, recording=()):  # pylint: disable=super-init-not-called
        self.socket = directory / "socket"
        self.spool = spool
        self.log = directory / "log"
        self.record = directory / "record"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [RECORD, *recording, str(self.record), CTPROFD, "--spool", str(spool), "--listen",
                 str(self.socket), "--keep-free", "0", *without_programs(directory), *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **recorded_environment()})
        self._wait_for_socket()

    def arm(self):
        """From now on changes are counted, for the one that is the last."""
        self.process.send_signal(signal.SIGUSR1)


def succeed(daemon, *arguments):
    result = daemon(*arguments)
    expect_equal(result.status, 0, arguments, result.err)
    return result


def names_in(directory):
    """The snapshots whose files are there."""
    return {name.removesuffix(SUFFIX) for name in os.listdir(directory) if name.endswith(SUFFIX)}


def temporaries_in(directory):
    return {name for name in os.listdir(directory) if name.startswith(TEMPORARY)}
