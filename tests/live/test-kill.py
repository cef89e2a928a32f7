#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL of a capture job or of the daemon, at any instant, loses nothing that was there before."""
import os
import random
import subprocess
import time

from harness import CTPROFCTL, Daemon, Idle, end, expect, expect_equal, main, temporary, test

INSTANTS = 200
SEED = int(os.environ.get("CTPROF_TEST_SEED", "20261120"))


def start_capture(daemon, name):
    return subprocess.Popen([CTPROFCTL, "--socket", str(daemon.socket), "capture", "--tag", name],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def temporaries(daemon):
    """Dot-names: all that a crash can leave in sight."""
    return [name for name in os.listdir(daemon.spool) if name.startswith(".")]


def check(daemon, earlier):
    """Everything published before is there and whole; whatever else is listed is whole too."""
    results = daemon("verify", "--all", "--json").json()["results"]
    bad = [result for result in results if not result["ok"]]
    expect_equal(bad, [], "damaged snapshots")
    names = {result["name"] for result in results}
    expect(earlier <= names, "lost:", earlier - names)
    heads = daemon("list", "--json").json()["snapshots"]
    expect_equal({head["name"] for head in heads}, names, "listed and verified")
    return names


@test
def two_hundred_instants():
    """after each of 200 kills all earlier snapshots verify, nothing half is listed, a capture works"""
    chance = random.Random(SEED)
    with temporary() as directory, Idle(1000, 20):
        daemon = Daemon(directory)
        try:
            begin = time.monotonic()
            expect_equal(daemon("capture", "--tag", "first").status, 0, "a capture")
            span = (time.monotonic() - begin) * 1.2
            earlier = {"first"}
            killed = {"job": 0, "daemon": 0, "late": 0}
            instant = -1
            while killed["job"] + killed["daemon"] < INSTANTS:
                instant += 1
                client = start_capture(daemon, f"k{instant}")
                time.sleep(chance.uniform(0, span))
                jobs = daemon.children()
                if chance.random() < 0.5 and jobs:
                    for job in jobs:
                        end(job)
                    killed["job"] += 1
                elif client.poll() is None:
                    daemon.kill()
                    killed["daemon"] += 1
                else:
                    killed["late"] += 1
                _, complaint = client.communicate(timeout=60)
                if client.returncode != 0:
                    lines = [line for line in complaint.splitlines() if line]
                    expect_equal(len(lines), 1, f"sentences {lines}")
                if not daemon.alive():
                    daemon = Daemon(directory)
                earlier = check(daemon, earlier)
                expect_equal(temporaries(daemon), [], "left behind")
                if client.returncode == 0:
                    expect(f"k{instant}" in earlier, "an answered capture is published")
                if instant % 10 == 9:
                    expect_equal(daemon("capture", "--tag", f"next{instant}").status, 0, "the next capture")
                    for name in [name for name in earlier if name != "first"]:
                        expect_equal(daemon("remove", name).status, 0, name)
                    earlier = {"first", f"next{instant}"}
            expect(killed["job"] > 20 and killed["daemon"] > 20, "too few kills hit:", killed)
            print(f"# seed {SEED}, killed: {killed}")
        finally:
            daemon.close()


main()
