#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture through BPF tells what files tell, says which it was, and says why where it cannot be had."""
import os

import backends
from harness import (Daemon, Idle, Local, Skip, descriptors, expect, expect_equal, main, need_root, run, sysctl, temporary,
                     test)


@test
def equal():
    """every column of a thousand sleeping threads is equal, delays included"""
    need_root()
    with temporary() as directory, sysctl("kernel.task_delayacct", 1), Idle(1000, 10) as idle:
        counts, document = backends.compare(Local(directory / "spool"), directory, set(idle.pids))
        expect_equal(min(counts[name]["equal"] for name in ("run_time_ns", "minflt", "nr_migrations", "cgroup")), 1000)
        expect_equal({name: count["between"] for name, count in counts.items()
                      if count["between"] and name not in backends.AGES}, {}, "threads that slept")
        print("#", ", ".join(f"{name} {count['equal']}" for name, count in sorted(counts.items()) if count["equal"]))
        print("# through BPF alone:", ", ".join(f"{name} {count['more']}" for name, count in sorted(counts.items())
                                                if count["more"]))
        expect_equal(document["end"]["backend"], "bpf")


@test
def loaded_once():
    """a daemon loads the program at its start, and keeps it"""
    need_root()
    with temporary() as directory, Daemon(directory) as daemon:
        for number in range(3):
            result = daemon("capture", "--backend", "bpf", "--tag", f"t{number}")
            if number == 0 and result.status != 0:
                raise Skip(result.err.strip())
            expect_equal(result.status, 0, result.err)
        held = [target for _, target in descriptors(daemon.process.pid)]
        expect_equal(sum("bpf_link" in name for name in held), 8, "programs are held once")
        expect_equal(sum("bpf-map" in name for name in held), 11, "and their maps")
        expect_equal(daemon("info", "t2", "--json").json()["snapshot"]["backend"], "bpf")
        expect_equal(daemon("capture", "--tag", "auto").status, 0)
        expect_equal(daemon("info", "auto", "--json").json()["snapshot"]["backend"], "bpf")
        expect_equal(daemon("capture", "--tag", "files", "--backend", "procfs").status, 0)
        expect_equal(daemon("info", "files", "--json").json()["snapshot"]["backend"], "procfs")


@test
def refused():
    """without privileges the reason is told, auto reads files, and a wrong word is an error of usage"""
    need_root()
    with temporary() as directory:
        os.chmod(directory, 0o777)
        ctl = Local(directory / "spool")
        result = ctl("capture", "--backend", "bpf", user=65534, group=65534, groups=[])
        expect_equal(result.status, 1, result.err)
        expect("through BPF" in result.err, result.err)
        expect_equal(ctl("capture", "--backend", "auto", "--tag", "auto", user=65534, group=65534, groups=[]).status, 0)
        expect_equal(ctl("info", "auto", "--json").json()["snapshot"]["backend"], "procfs")
        result = ctl("capture", "--backend", "perf")
        expect_equal(result.status, 2)
        expect("auto, procfs or bpf" in result.err, result.err)


main()
