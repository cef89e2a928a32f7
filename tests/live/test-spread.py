#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How sums are spread over threads, held against the threads themselves."""
import collections
import json
import math
import os

from harness import Idle, Local, expect, expect_equal, main, temporary, test
from pools import TOKEN, Pools

N_CALM = 31
NS_PER_TICK = 10**9 // os.sysconf("SC_CLK_TCK")
BURN_MS = 400


def exported(ctl, name):
    """The threads of a snapshot by the name of their process."""
    lines = ctl("export", name, "-", "--format", "ndjson").out
    threads = collections.defaultdict(list)
    for thread in map(json.loads, lines.splitlines()):
        if thread["kind"] == "thread":
            threads[thread["pcomm"]].append(thread)
    return threads


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def check_row(spread, threads, metric, until_ns):
    """One sum of one group against its threads; whether any of them has it."""
    having = [thread for thread in threads if thread.get(metric) is not None]
    # Some kernels count more time than a thread has lived (6.12 and later: waits for block devices). An export has what
    # the kernel said; views leave it out or correct it, which is not what is held against the threads here.
    if metric.endswith("_ns") and any(thread[metric] > until_ns - thread["start_time_clock_ticks"] * NS_PER_TICK
                                      for thread in having):
        return False
    if not having or metric == "thread_count":
        expect_equal(spread, None, metric)
        return False
    top = min(having, key=lambda thread: (-thread[metric], thread["tid"]))
    expect_equal(spread["top"], {"tid": top["tid"], "name": top["comm"], "value": top[metric]}, metric, "top")
    for percent in (50, 99):
        exact = nearest_rank([thread[metric] for thread in having], percent)
        expect(abs(spread[f"p{percent}"] - exact) <= exact / 100, metric, percent, spread, "exactly", exact)
    return True


@test
def spreads_are_those_of_the_threads():
    """of every group, the top thread is exact and percentiles are within 1 % of the threads that were exported"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        with Idle(300, 3):
            expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
        groups = ctl("show", "a", "--json", "--no-thread-normalize", "--self").json()["groups"]
        threads = exported(ctl, "a")
        until_ns = ctl("info", "a", "--json").json()["snapshot"]["endBoottimeNs"]
        n = 0
        for group in groups:
            expect_equal(group["threads"], len(threads[group["key"]]), group["key"])
            for metric, row in group["metrics"].items():
                if "spread" in row:
                    n += check_row(row["spread"], threads[group["key"]], metric, until_ns)
        expect(n >= 10 * len(groups), "only", n, "sums of", len(groups), "groups have a spread")


def group_of(answer):
    groups = [group for group in answer["groups"] if group["key"] == TOKEN + "spread"]
    expect_equal(len(groups), 1, "groups")
    return groups[0]


@test
def the_thread_that_works_stands_out():
    """one thread that works among sleepers leads, over a window with just what it did, and the median stays small"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        with Pools("spread", stuck=1, calm=N_CALM) as pools:
            pools("burn", "stuck", BURN_MS)
            before = pools.threads("stuck")
            expect_equal(ctl("capture", "--tag", "a").status, 0, "capture")
            pools("burn", "stuck", BURN_MS)
            after = pools.threads("stuck")
            expect_equal(ctl("capture", "--tag", "b").status, 0, "capture")
        [(tid, run_time)] = after.items()
        words = ["compare", "a", "b", "--filter", TOKEN + "*", "--metrics", "run_time_ns"]

        row = group_of(ctl(*words, "--totals", "--json").json())["metrics"]["run_time_ns"]
        top = {"tid": tid, "name": TOKEN + "stuck"}
        expect_equal(row["spread"]["top"], {**top, "value": run_time}, "after")
        expect_equal(row["spreadBefore"]["top"], {**top, "value": before[tid]}, "before")

        row = group_of(ctl(*words, "--json").json())["metrics"]["run_time_ns"]
        expect_equal(row["spread"]["top"], {**top, "value": run_time - before[tid]}, "window")
        expect("spreadBefore" not in row, row)
        expect(row["spread"]["top"]["value"] >= BURN_MS * 10**6, row)
        expect(row["spread"]["p50"] <= 10**7, "the median thread worked:", row)

        text = ctl(*words, "--columns", "+top,p50,p99").out
        expect(f"{TOKEN}stuck[{tid}] " in text, text)


main()
