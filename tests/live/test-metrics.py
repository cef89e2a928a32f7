#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The last interval as gauges for Prometheus: "metrics" against the views of the same interval, and its reader."""
import contextlib
import ctypes
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

from harness import Daemon, Local, expect, expect_equal, main, temporary, test

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "demo"))

import programs  # pylint: disable=wrong-import-position # beside the demonstrations

LIBC = ctypes.CDLL(None)
PR_SET_NAME = 15  # include/uapi/linux/prctl.h

SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
UNESCAPED = {"\\n": "\n", "\\\\": "\\", '\\"': '"'}


def parse(text):
    """{(family, labels): value}; every line is of the format, and no series is there twice."""
    types, found = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            expect(family not in types, "two types of", family)
            types[family] = kind
        if line.startswith("#"):
            continue
        family, labels, value = SAMPLE.match(line).groups()
        labels = labels or ""
        expect_equal("".join(match[0] for match in LABEL.finditer(labels)), labels, line)
        key = family, tuple((name, re.sub(r'\\.', lambda match: UNESCAPED[match[0]], text))
                            for name, text in LABEL.findall(labels))
        expect_equal((types.get(family), key in found), ("gauge", False), line)
        found[key] = float(value)
    return found


def of_groups(samples, family, **more):
    return {labels[0][1]: value for (name, labels), value in samples.items()
            if name == f"ctprof_group_{family}" and labels[1:] == tuple(more.items())}


def groups(samples):
    return set(of_groups(samples, "threads"))


class Worker:
    """A process of any name, which works once it is told to; ended by its pid."""

    def __init__(self, name):
        begun, begin = os.pipe()
        told, self.commands = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.commands)
            LIBC.prctl(PR_SET_NAME, name.encode("utf-8", "surrogateescape"), 0, 0, 0)
            os.write(begin, b"b")
            while os.read(told, 1):
                signal.alarm(60)
                while True:
                    pass
            os._exit(0)
        os.close(begin)
        os.close(told)
        os.read(begun, 1)
        os.close(begun)

    def work(self):
        os.write(self.commands, b"w")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def capture(ctl, name):
    expect_equal(ctl("capture", "--tag", name, "--no-heap", "--smaps=none", "-q").status, 0, "capture", name)


def metrics(ctl, *options):
    result = ctl("metrics", *options)
    expect_equal((result.status, result.err), (0, ""), options)
    return parse(result.out)


def close_to(got, wanted, *what):
    expect(math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-9), *what, "got", got, "expected", wanted)


def ended(view):
    """Threads that ended in an interval, as far as its groups know."""
    lives = [group["lives"] for group in view["groups"]]
    return sum(of["ended"] + of["bornAndEnded"] for of in lives if None not in (of["ended"], of["bornAndEnded"]))


@test
def values_are_those_of_the_interval():
    """Each value is what show says of the group, "other" is the rest, and totals are those of all groups"""
    with temporary() as directory, Daemon(directory) as ctl, Worker("toiler") as worker:
        worker.work()
        capture(ctl, "a")
        time.sleep(1)
        capture(ctl, "b")
        for axis in ("process", "cgroup", "all"):
            view = json.loads(ctl("show", "a..b", "--json", "--group-by", axis).out)
            samples = metrics(ctl, "--group-by", axis, "--top", "3")
            elapsed = view["elapsedNs"]
            cpu, other = of_groups(samples, "cpu_cores"), max(len(view["groups"]) - 3, 0)
            expect_equal(samples[("ctprof_groups_omitted", ())], other, axis)
            expect_equal(len(groups(samples)), min(len(view["groups"]), 4), axis)
            for group in view["groups"][:3]:
                label = group["key"].replace("\x1f", "|")
                running = (group["time"] or {}).get("runningNs")
                expect_equal(label in cpu, running is not None, label)
                if running is not None:
                    close_to(cpu[label], running / elapsed, label, "cpu_cores")
                for metric, family, more, factor in (
                        ("voluntary_csw", "context_switches_per_second", {"kind": "voluntary"}, 1),
                        ("read_bytes", "io_bytes_per_second", {"direction": "read"}, 1),
                        ("blkio_delay_total_ns", "block_delay_ratio", {"source": "blkio"}, 1e-9)):
                    got, wanted = of_groups(samples, family, **more).get(label), group["metrics"][metric]["perSecond"]
                    expect_equal(got is None, wanted is None, label, metric)
                    if wanted is not None:
                        close_to(got, wanted * factor, label, metric)
            for member, family, more in (("runningNs", "cpu_cores", {}), ("waitingNs", "runqueue_wait_ratio", {}),
                                         ("storageNs", "wait_ratio", {"reason": "storage"})):
                wanted = [group["time"][member] for group in view["groups"] if (group["time"] or {}).get(member) is not None]
                close_to(sum(of_groups(samples, family, **more).values()), sum(wanted) / elapsed, axis, member)
            close_to(sum(of_groups(samples, "threads").values()), sum(g["threadsAfter"] for g in view["groups"]), axis)
            close_to(sum(of_groups(samples, "threads_ended").values()), ended(view), axis)
            close_to(samples[("ctprof_host_cpu_cores", ())], view["coverage"]["cpuUsedNs"] / elapsed, axis)
        expect("toiler" in groups(metrics(ctl)), "the group that works")


NAMES = ['say "no"', "back\\slash", "two\nlines", "other", "{label}", "\udcff\udcfe", "ümlaut", "a" * 15, "NaN",
         *(f"more-{letter}" for letter in "abcdefghijklmnopqrst")]


def hostile_spool(directory):
    """Two captures beside processes whose names are what a reader may stumble over."""
    ctl = Local(directory / "spool")
    with contextlib.ExitStack() as stack:
        for name in NAMES:
            stack.enter_context(Worker(name))
        capture(ctl, "a")
        capture(ctl, "b")
    return ctl


@test
def names_are_any_text():
    """Quotes, backslashes, newlines and bytes that are no text are labels, and one named "other" is in the sum"""
    with temporary() as directory:
        ctl = hostile_spool(directory)
        samples = metrics(ctl, "--top", "1000", "--no-thread-normalize")
        view = json.loads(ctl("show", "a..b", "--json", "--no-thread-normalize").out)
        keys = {group["key"] for group in view["groups"]}
        expect_equal(groups(samples), keys, "the keys of show")
        # Names are text by then: what is none, or would end a line, has an escape.
        expect({name.replace("\n", "\uef0a").replace("\udcff\udcfe", "\uefff\ueffe") for name in NAMES} <= keys, keys)
        expect_equal(samples[("ctprof_groups_omitted", ())], 1, "the group named other")


@test
def lines_are_bounded():
    """However many names come and go, there are no more groups than twice --top and one, and all are counted"""
    with temporary() as directory, Daemon(directory) as ctl:
        capture(ctl, "0")
        for number in range(1, 4):
            for i in range(400):
                letters = "".join(chr(ord("a") + (i // 20 ** k) % 20) for k in range(3))
                with Worker(f"{'xyz'[number - 1]}{letters}"):
                    pass
            capture(ctl, str(number))
        samples = metrics(ctl, "--top", "20", "--no-thread-normalize")
        expect(len(groups(samples)) <= 41, len(groups(samples)))
        expect(len({family for family, _ in samples}) <= 40, "families")
        view = json.loads(ctl("show", "2..3", "--json", "--no-thread-normalize").out)
        close_to(sum(of_groups(samples, "threads_ended").values()), ended(view), "all that ended")


@test
def the_file_is_replaced_at_once():
    """--output replaces a file that everybody may read, and without an interval there are no groups"""
    with temporary() as directory:
        ctl, path = Local(directory / "spool"), directory / "ctprof.prom"
        expect_equal(groups(metrics(ctl)), set(), "an empty spool")
        capture(ctl, "a")
        expect_equal(groups(metrics(ctl)), set(), "one capture")
        expect(("ctprof_capture_timestamp_seconds", ()) in metrics(ctl), "the capture")
        path.write_text("older\n", encoding="ascii")
        path.chmod(0o600)
        capture(ctl, "b")
        result = ctl("metrics", "--output", str(path))
        expect_equal((result.status, result.out, result.err), (0, "", ""), "metrics --output")
        expect_equal(path.stat().st_mode & 0o777, 0o644, "the mode")
        expect_equal(parse(path.read_text(encoding="utf-8")), metrics(ctl), "the file")
        expect_equal(parse(ctl("metrics", "--output", "-").out), metrics(ctl), "stdout")
        expect_equal(os.listdir(directory / "spool").count("ctprof.prom"), 0, "the spool")
        link = directory / "link.prom"
        link.symlink_to(path)
        for options, words in ((("--output", str(link)), "symbolic link"), (("--json",), "form of its own"),
                               (("--group-by", "thread"), "no end"), (("--top", "0"), "from 1 to")):
            result = ctl("metrics", *options)
            expect(result.status != 0 and words in result.err and result.out == "", options, result.err)
        expect_equal(sorted(item.name for item in directory.iterdir()), ["ctprof.prom", "link.prom", "spool"], "left behind")


@test
def the_node_exporter_reads_it():
    """The distribution's node exporter serves every series of the file as it is, hostile names included"""
    with temporary() as directory:
        debian = programs.Programs(directory, {"prometheus-node-exporter": "prometheus-node-exporter"})
        place = directory / "textfile"
        place.mkdir()
        ctl = hostile_spool(directory)
        expect_equal(ctl("metrics", "--top", "1000", "--output", str(place / "ctprof.prom")).status, 0, "metrics")
        wanted = parse((place / "ctprof.prom").read_text(encoding="utf-8"))
        port = 20000 + os.getpid() % 20000
        with subprocess.Popen([debian["prometheus-node-exporter"], "--collector.disable-defaults", "--collector.textfile",
                               f"--collector.textfile.directory={place}", f"--web.listen-address=127.0.0.1:{port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **debian.environment}) as exporter:
            try:
                for _ in range(300):
                    with contextlib.suppress(OSError), \
                            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
                        text = page.read().decode("utf-8")
                        break
                    expect(exporter.poll() is None, "the exporter ended:", exporter.stderr.read() if exporter.poll() else "")
                    time.sleep(0.1)
            finally:
                exporter.terminate()
                said = exporter.communicate()[1]
        got = {}
        for line in text.splitlines():
            if line.startswith("ctprof_"):
                family, labels, value = SAMPLE.match(line).groups()
                # It puts labels in the order of their names.
                got[(family, tuple(sorted((name, re.sub(r'\\.', lambda match: UNESCAPED[match[0]], word))
                                          for name, word in LABEL.findall(labels or ""))))] = float(value)
        expected = {(family, tuple(sorted(labels))): value for (family, labels), value in wanted.items()}
        expect_equal(got, expected, "what the exporter serves;", said[-300:])
        expect(len(got) >= 720, len(got), "series")
        expect("node_textfile_scrape_error 0" in text, "an error of the collector:", said[-300:])
        print(f"# {len(got)} series of {len(groups(wanted))} groups")


main()
