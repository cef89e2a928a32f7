# SPDX-License-Identifier: GPL-2.0-or-later
"""A file load becomes slower: the memory limit of its cgroup was cut. Of tests/demo/run, which names it."""
import contextlib
import functools
import os
import pathlib
import time

import machine
from harness import Skip, expect, expect_equal, run, test, wait_until
from investigation import SETTLE_S, ask, became_slower, directory_on_disk, interval

UNIT = "files.service"
AMPLE_MIB, SCARCE_MIB, CACHED_MIB = 400, 60, 190
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
