#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten thousand threads are captured whole, with progress, and compared."""
import os

from harness import CTPROFCTL, Daemon, Idle, call, expect, expect_equal, main, run, temporary, test


@test
def ten_thousand_threads():
    """a capture of 10,000 threads has them all, reports progress, and two compare"""
    pool = f"pool-{os.getpid()}"
    with temporary() as directory, Idle(10000, 50, pool) as idle, Daemon(directory) as daemon:
        # From files, which takes long enough for some progress.
        replies = call(daemon.connect(), "io.ctprof.Profiler.Capture", {"tag": "many", "backend": "procfs"}, more=True)
        progress = [r["parameters"]["progress"] for r in replies if "progress" in r["parameters"]]
        expect(len(progress) >= 2, "progress replies", len(progress))
        done = [p["done"] for p in progress if p["phase"] == "threads"]
        expect(done == sorted(done) and done[-1] > 0, "progress goes forward", done)
        head = replies[-1]["parameters"]["snapshot"]
        expect(head["threads"] >= 10000, head["threads"])
        expect(head["cost"]["peakRssBytes"] < 64 << 20 or "asan" in os.environ.get("CTPROF_KIND", ""),
               "peak RSS", head["cost"])
        expect_equal(daemon("capture", "--tag", "again").status, 0, "capture")
        result = daemon("compare", "many", "again", "--json", "--metrics", "run_time_ns", "--limit", "0",
                        "--group-by", "comm-exact").json()
        group = next(group for group in result["groups"] if group["key"] == pool)
        # The leaders of the 50 processes keep the program's name.
        expect_equal((group["threadsBefore"], group["threadsAfter"]), (9950, 9950), "threads")
        tids = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in idle.pids)
        expect_equal(tids, 10000, "the kernel's count")
        print(f"# {head['cost']}")


@test
def without_privilege():
    """a capture by a user who may read almost nothing works and says what is missing"""
    user = {"user": 65531, "group": 65531, "groups": []} if os.geteuid() == 0 else {}
    with temporary() as directory:
        spool = directory / "spool"
        spool.mkdir()
        if user:
            os.chown(spool, 65531, 65531)

        def ctl(*arguments):
            return run(CTPROFCTL, "--local", "--spool", spool, *arguments, **user)
        answer = ctl("capture", "--tag", "a", "--json").json()
        sources = {source["name"]: source for source in answer["sources"]}
        expect_equal(answer["snapshot"]["complete"], False, "complete")
        expect_equal(sources["stat"]["state"], "ok", sources["stat"])
        expect_equal(sources["taskstats"]["state"], "unavailable", sources["taskstats"])
        expect("CAP_NET_ADMIN" in sources["taskstats"]["reason"], sources["taskstats"])
        expect(sources["io"]["denied"] > 0 and "CAP_SYS_PTRACE" in sources["io"]["reason"], sources["io"])
        expect_equal(sources["schedstat"]["state"], "ok", sources["schedstat"])
        expect_equal(sources["status"]["state"], "ok", sources["status"])
        text = ctl("capture", "--tag", "b", "--verbose")
        expect("CAP_NET_ADMIN" in text.out + text.err, "the reason is shown", text.out)
        cells = ctl("show", "a", "--json", "--limit", "0").json()["groups"][0]["metrics"]
        expect(cells["blkio_delay_total_ns"]["value"] is None and cells["blkio_delay_total_ns"]["reason"], cells)


main()
