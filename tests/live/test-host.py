#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a capture tells of the host as a whole lies between two independent reads of the same kernel files."""
import csv
import io
import json
import pathlib
import re
import time

from harness import CTPROFCTL, Local, Skip, expect, expect_equal, main, need_root, run, temporary, test

PROC = pathlib.Path("/proc")
NOBODY = ["setpriv", "--reuid=65530", "--regid=65530", "--clear-groups"]
LOCAL = ("--local", "--spool")


def words(path):
    return [line.split() for line in (PROC / path).read_text(encoding="ascii").splitlines()]


def cpus():
    """{"all": [ticks...], "0": ...}"""
    return {row[0][3:] or "all": [int(word) for word in row[1:]] for row in words("stat") if row[0].startswith("cpu")}


def stat(key):
    return int(next(row[1] for row in words("stat") if row[0] == key))


def disks():
    return {row[2]: [int(word) for word in row[3:]] for row in words("diskstats")}


def interfaces():
    lines = [line.split(":") for line in (PROC / "1/net/dev").read_text(encoding="ascii").splitlines()[2:]]
    return {name.strip(): [int(word) for word in numbers.split()] for name, numbers in lines}


def protocol(path, prefix, name):
    names, values = [row for row in words(path) if row[0] == prefix + ":"]
    return int(values[names.index(name)])


def vmstat():
    return {row[0]: int(row[1]) for row in words("vmstat")}


def readings():
    return {"cpu": cpus(), "disk": disks(), "interface": interfaces(), "vmstat": vmstat(),
            "ctxt": stat("ctxt"), "intr": stat("intr"), "softirqs": stat("softirq"), "processes": stat("processes"),
            "TcpOutSegs": protocol("1/net/snmp", "Tcp", "OutSegs"),
            "TcpRetransSegs": protocol("1/net/snmp", "Tcp", "RetransSegs"),
            "TcpExtListenDrops": protocol("1/net/netstat", "TcpExt", "ListenDrops")}


def document(ctl, directory, name):
    file = directory / f"{name}.ctprof.zst"
    done = ctl("capture", "--output", file)
    expect_equal(done.status, 0, done.err)
    return file, json.loads(run("zstd", "-dcq", file).out)


def table(part):
    """{item: {column: value}}"""
    return {row[0]: dict(zip(part["columns"], row)) for row in part["rows"]}


def between(what, first, value, last):
    expect(first <= value <= last, what, "is", value, "and not between", first, "and", last)


# The kernel prints idle and waiting CPU time from clocks that may step back; disks finish requests at any time.
LOOSE = {"idle_clock_ticks", "iowait_clock_ticks", "in_flight"}
IDENTITY = {"cpu", "disk", "kind", "major", "minor", "interface"}


def hold(part, item, before, after):
    rows = table(part)
    expect_equal(set(rows), set(after[item]), f"{item}s")
    columns = [name for name in part["columns"] if name not in IDENTITY]
    for name, cells in rows.items():
        for i, column in enumerate(columns):
            first, last = before[item][name], after[item][name]
            if i >= len(first):
                expect_equal(cells[column], None, name, column)
            elif column not in LOOSE:
                between(f"{name} {column}", first[i], cells[column], last[i])
    return len(rows) * len(columns)


@test
def every_number_is_the_kernels():
    """CPUs, memory events, disks, interfaces and TCP of a capture lie between a read before and one after it"""
    with temporary() as directory:
        before = readings()
        _, seen = document(Local(directory / "spool"), directory, "now")
        after = readings()
    for source in seen["sources"]:
        if source["name"] in ("host-cpu", "host-memory", "host-disk", "host-network"):
            expect_equal(source["state"], "ok", source)
    n = hold(seen["host_cpu"], "cpu", before, after) + hold(seen["host_disk"], "disk", before, after)
    n += hold(seen["host_network"], "interface", before, after)
    for part, names in (("host_cpu", ("ctxt", "intr", "softirqs", "processes")),
                        ("host_network", ("TcpOutSegs", "TcpRetransSegs", "TcpExtListenDrops"))):
        for name in names:
            between(name, before[name], seen[part]["counts"][name], after[name])
            n += 1
    for name, value in seen["host_memory"]["counts"].items():
        between(name, before["vmstat"][name], value, after["vmstat"][name])
        n += 1
    expect("pgfault" in seen["host_memory"]["counts"] and "oom_kill" in seen["host_memory"]["counts"], "events")
    total = next(int(row[1]) for row in words("meminfo") if row[0] == "MemTotal:")
    expect_equal(seen["host_memory"]["levels_kib"]["MemTotal"], total, "MemTotal")
    print(f"# {n} numbers compared")


@test
def moments_are_in_the_capture():
    """the CPUs are read last, within the capture, right before the threads"""
    with temporary() as directory:
        _, seen = document(Local(directory / "spool"), directory, "now")
    at = {name: seen[name]["at_boottime_ns"] for name in ("host_cpu", "host_memory", "host_disk", "host_network")}
    expect(all(seen["startBoottimeNs"] <= moment <= at["host_cpu"] for moment in at.values()), at)
    expect(at["host_cpu"] <= seen["end"]["endBoottimeNs"], at, seen["end"])
    print(f"# from the first to the last: {(at['host_cpu'] - min(at.values())) / 1e3:.0f} us")


def is_physical(name):
    return not re.match(r"loop|ram|zram|dm-|md|zd|drbd|bcache", name)


@test
def kinds_are_those_of_sysfs():
    """what a disk or an interface is agrees with /sys, and partitions are known as such"""
    with temporary() as directory:
        _, seen = document(Local(directory / "spool"), directory, "now")
    block = pathlib.Path("/sys/class/block")
    for name, row in table(seen["host_disk"]).items():
        here = block / name.replace("/", "!")
        if not here.exists():
            continue
        expect_equal(row["kind"] == "partition", (here / "partition").exists(), name, row["kind"])
        if (here / "slaves").is_dir() and any((here / "slaves").iterdir()):
            expect_equal(row["kind"], "stacked", name)
        elif row["kind"] != "partition" and is_physical(name) and not name.startswith("nvme"):
            expect_equal(row["kind"], "disk", name)
        device = (here / "dev").read_text(encoding="ascii").strip()
        expect_equal(f"{row['major']}:{row['minor']}", device, name)
    net = pathlib.Path("/sys/class/net")
    for name, row in table(seen["host_network"]).items():
        if row["kind"] in ("device", "lower"):
            expect((net / name / "device").exists(), name, row["kind"])
        elif row["kind"] == "virtual":
            expect(not (net / name / "device").exists(), name, row["kind"])
        else:
            expect_equal(row["kind"], "loopback", name)


@test
def rates_are_of_the_moments():
    """the rate of a counter is its difference over the time between the two reads, in JSON and in rows"""
    sections = ("--sections", "host-cpu,host-memory,host-disk,host-network")
    with temporary() as directory:
        ctl = Local(directory / "spool")
        first, one = document(ctl, directory, "one")
        time.sleep(0.3)
        last, two = document(ctl, directory, "two")
        answer = ctl("compare", first, last, *sections, "--json", "--limit", 0).json()["sections"]
        table_of_rows = ctl("compare", first, last, *sections, "--format", "csv", "--limit", 0).out
        rows = list(csv.DictReader(io.StringIO(table_of_rows)))
    elapsed = two["host_cpu"]["at_boottime_ns"] - one["host_cpu"]["at_boottime_ns"]
    row = next(row for row in answer["host-cpu"] if row["key"] == "ctxt")
    delta = two["host_cpu"]["counts"]["ctxt"] - one["host_cpu"]["counts"]["ctxt"]
    expect(delta > 0 and row["value"]["delta"] == delta, row, delta)
    expect(abs(row["perSecond"] - delta * 1e9 / elapsed) < 0.001 * row["perSecond"], row, elapsed)
    line = next(line for line in rows if (line["section"], line["metric"]) == ("host-cpu", "all.ctxt"))
    expect_equal((int(line["delta"]), line["unit"]), (delta, "count"), line)
    expect(abs(float(line["per_second"]) - row["perSecond"]) < 1, line, row)
    # All the time of a CPU adds up to the time that passed, as far as ticks tell.
    kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    spent = sum(row["value"]["delta"] for row in answer["host-cpu"] if row["cpu"] == "0" and row["key"] in kinds)
    expect(0.5 * elapsed - 1e8 < spent < 1.5 * elapsed + 1e8, "CPU 0 spent", spent, "ns of", elapsed)


@test
def another_network_namespace_still_tells_the_hosts():
    """a daemon in a network namespace of its own, as the service is, reads the network of process 1"""
    need_root()
    with temporary() as directory:
        file = directory / "now.ctprof.zst"
        done = run("unshare", "--net", CTPROFCTL, *LOCAL, directory / "spool", "capture", "--output", file)
        expect_equal(done.status, 0, done.err)
        seen = json.loads(run("zstd", "-dcq", file).out)
    expect_equal(set(table(seen["host_network"])), set(interfaces()), "interfaces")


@test
def a_containers_proc_does_not_tell():
    """where /proc shows no thread of the kernel, the network is absent and says why; the CPUs are there"""
    need_root()
    with temporary() as directory:
        file = directory / "now.ctprof.zst"
        done = run("unshare", "--pid", "--fork", "--mount-proc", CTPROFCTL, *LOCAL, directory / "spool", "capture",
                   "--output", file)
        expect_equal(done.status, 0, done.err)
        seen = json.loads(run("zstd", "-dcq", file).out)
    sources = {source["name"]: source for source in seen["sources"]}
    expect_equal(seen["host_network"], None, "host_network")
    expect_equal(sources["host-network"]["state"], "unavailable", sources["host-network"])
    expect("not in a container" in sources["host-network"]["reason"], sources["host-network"])
    expect_equal(sources["host-cpu"]["state"], "ok", sources["host-cpu"])


@test
def an_ordinary_user_reads_the_host():
    """without privileges all but the network is read, and that too where the kernel lets everybody"""
    need_root()
    if run(*NOBODY, "cat", "/proc/2/stat").status != 0:
        raise Skip("/proc hides the processes of others")
    readable = run(*NOBODY, "cat", "/proc/1/net/dev").status == 0
    with temporary() as directory:
        directory.chmod(0o777)
        file = directory / "now.ctprof.zst"
        done = run(*NOBODY, CTPROFCTL, *LOCAL, directory / "spool", "capture", "--output", file)
        expect_equal(done.status, 0, done.err)
        seen = json.loads(run("zstd", "-dcq", file).out)
    states = {source["name"]: source["state"] for source in seen["sources"]}
    expect_equal([states[name] for name in ("host-cpu", "host-memory", "host-disk")], ["ok"] * 3, states)
    if readable:
        expect_equal(states["host-network"], "ok", states)


main()
