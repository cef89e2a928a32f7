#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every value of a snapshot equals an independent read of the same kernel file, for idle threads."""
import subprocess

import kernel
import parity
from harness import Idle, Local, Skip, expect, expect_equal, main, need_root, sysctl, temporary, test

THREADS = 1200
PROCESSES = 12


@test
def every_field_of_every_idle_thread():
    """at least 1,000 idle threads agree with the kernel in every procfs and taskstats field"""
    need_root()
    with temporary() as directory, sysctl("kernel.task_delayacct", 1):
        try:
            taskstats = kernel.Taskstats()
        except OSError as error:
            raise Skip(f"no taskstats: {error}") from error
        ctl = Local(directory / "spool")
        with Idle(THREADS, PROCESSES, "worker-1", "worker-2", r"odd\x20\x29name") as idle:
            rows, counts = parity.compare(idle.pids, taskstats, lambda: parity.document(ctl, directory))
        expect(len(rows) >= 1000, "only", len(rows), "threads")
        # smaps_rollup and nr_threads are per process and null elsewhere, which is compared too.
        short = {name: n for name, n in counts.items() if n < 1000}
        expect_equal(short, {}, "columns compared too rarely")
        with_delay = sum(1 for row in rows.values() if row["wpcopy_delay_count"])
        expect(with_delay >= 1000, "only", with_delay, "threads have a copy-on-write delay")
        # A null against a null proves nothing about a number: say how many numbers there were.
        numbers = sum(1 for row in rows.values() for value in row.values() if value is not None)
        task = sum(n for name, n in counts.items() if parity.is_taskstats(name))
        print(f"# {len(rows)} threads, {sum(counts.values())} cells, {numbers} of them numbers or names;"
              f" {task} from taskstats; not in this kernel: {', '.join(parity.absent(rows)) or 'nothing'}")


@test
def pipe_of_the_manual():
    """cat FILE | zstd -dc | jq . works"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        file = directory / "x.ctprof.zst"
        expect_equal(ctl("capture", "--output", file).status, 0, "capture --output")
        script = f"cat {file} | zstd -dc | jq '.threads.rows | length'"
        count = subprocess.run(script, shell=True, capture_output=True, text=True, check=True).stdout
        expect(int(count) > 1, "rows", count)


main()
