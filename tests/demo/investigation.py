# SPDX-License-Identifier: GPL-2.0-or-later
"""A question put to ctprof as a user would put it: two intervals with a change between them, and what a terminal shows.

A load runs all the time. Captures a and b enclose the interval before the change, c and d the one after it. What
`ctprofctl compare a..b c..d` says is printed, and its first screen has to name the cause.
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))

# pylint: disable=wrong-import-position
from harness import CTPROFCTL, Skip, expect, expect_equal

COLUMNS, LINES = 80, 24
INTERVAL_S = 8
SETTLE_S = 2
ENVIRONMENT = {"COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def end(*_):
    """A signal ends as an exception, so that servers are stopped and files are removed; the next one finds that begun."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


signal.signal(signal.SIGTERM, end)


def comment(text):
    """Prints text as comments of TAP."""
    for line in text.splitlines():
        print(f"# {line}".rstrip(), flush=True)


@contextlib.contextmanager
def directory_on_disk():
    """A temporary directory that others may enter; /tmp is memory on many machines."""
    with tempfile.TemporaryDirectory(prefix="ctprof-demo-", dir="/var/tmp", ignore_cleanup_errors=True) as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@contextlib.contextmanager
def started(*command, stop=signal.SIGTERM, log=None, **options):
    """A program that runs meanwhile; @stop asks it to end."""
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(open(log, "ab")) if log else subprocess.DEVNULL
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, **options)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(stop)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def on_terminal(command):
    """What @command prints on a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env={**os.environ, **ENVIRONMENT}) as process:
        os.close(slave)
        printed = b""
        # A terminal whose last writer has gone answers with an error.
        with contextlib.suppress(OSError):
            while piece := os.read(master, 1 << 16):
                printed += piece
        complaint = process.stderr.read().decode(errors="replace")
    os.close(master)
    expect_equal((process.returncode, complaint), (0, ""), *command)
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\a\x1b]*(\a|\x1b\\))", "", printed.decode().replace("\r\n", "\n"))


def in_pipe(command):
    """What @command prints into a pipe."""
    process = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                             env={**os.environ, **ENVIRONMENT})
    expect_equal((process.returncode, process.stderr), (0, ""), *command)
    return process.stdout


UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
         "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}


def number(text):
    """The value of "~1.2MiB"; "-" is nothing."""
    if text == "-":
        return 0
    match = re.fullmatch(r"~?([0-9.]+)([A-Za-zµ]*)", text)
    expect(match and match[2] in UNITS, "no number:", repr(text))
    return float(match[1]) * UNITS[match[2]]


class Row:
    """A line of the overview: what it says about one group, by the headers of the columns; a bar is left out."""

    def __init__(self, line, header):
        texts = {}  # they begin below their headers, behind all figures
        for name in ("WAITS FOR", "STARTED BY"):
            place = header.find(name)
            if place >= 0:
                texts[name] = line[place:].strip()
                line, header = line[:place], header[:place]
        headers = header.split()
        # "peak 12MiB", "heap +3MiB": two words are one figure
        name, *figures = re.sub(r"\b(peak|heap) \+?", "", line).rsplit(maxsplit=len(headers) - 2)
        self.cells = {**dict(zip(headers[2:], figures)), **texts}
        found = re.fullmatch(r"(.*?) +(\S+( [+−]\d+)*|\d+ (new|gone))", name)
        expect(found, "no group and its threads:", repr(line))
        self.group, self.threads = found[1], found[2]

    def sides(self, header):
        """A figure of both intervals."""
        expect(header in self.cells, "no column", header, "in", self.cells)
        before, _, after = self.cells[header].partition("→")
        return number(before), number(after or before)


class Screen:
    """The first lines of an answer, which nobody has to scroll for."""

    def __init__(self, text):
        self.lines = text.splitlines()[:LINES]
        # However its lines were broken.
        self.text = " ".join(" ".join(self.lines).split())

    def find(self, pattern):
        """The first line that matches."""
        line = next((line for line in self.lines if re.search(pattern, line)), None)
        expect(line, f"nothing like {pattern!r} in the first {LINES} lines")
        return line

    def rows(self):
        """The groups of the overview, those that matter most first."""
        header = self.find(r"^GROUP ")
        for line in self.lines[self.lines.index(header) + 1:]:
            if not line.strip():
                return
            yield Row(line, header)

    def row(self, group):
        found = [row for row in self.rows() if row.group.startswith(group)]
        expect(found, f"no {group} in the first {LINES} lines")
        return found[0]


def ask(options, *arguments):
    """The screens of one question, on a terminal and in a pipe; both are printed as a user would see them.

    @options: where the daemon is, if not where it is installed.
    """
    command = [CTPROFCTL, *options, *arguments]
    asked = f"$ ctprofctl {' '.join(arguments)}"
    terminal = on_terminal([*command, "--no-pager"])
    comment(f"{asked}\n{terminal}")
    for line in terminal.splitlines():
        expect(len(line) <= COLUMNS, "wider than the terminal:", repr(line))
    piped = in_pipe(command)
    comment(f"{asked} | cat\n{piped}")
    return Screen(terminal), Screen(piped)


def became_slower(what, before, after):
    """There is nothing to find where the change made no difference: another load was in the way."""
    comment(f"{before:.0f} {what} a second before the change, {after:.0f} after it")
    if after > 0.9 * before:
        raise Skip(f"the change did not slow the load down: {before:.0f} {what} a second before, {after:.0f} after")


def interval(ctl, first, last, count, seconds=INTERVAL_S):
    """Captures @first and @last around some seconds; returns how many @count() counted a second in between."""
    expect_equal(ctl("capture", "--tag", first).status, 0, "capture", first)
    begin, before = time.monotonic(), count()
    time.sleep(seconds)
    rate = (count() - before) / (time.monotonic() - begin)
    expect_equal(ctl("capture", "--tag", last).status, 0, "capture", last)
    return rate
