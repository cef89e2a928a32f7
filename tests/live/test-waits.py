#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The account of waits agrees with a witness of each switch, alone and beside hogs, where the kernel's own does not."""
import waiting
from harness import main, need_root, sysctl, test

SECONDS = 4


def check(name, hogs):
    need_root()
    # The kernel accounts only for tasks that start afterwards.
    with sysctl("kernel.task_delayacct", 1):
        ours, exact = waiting.measure(name, hogs, SECONDS)
    print(f"# {waiting.describe(name, hogs, ours, exact)}")
    waiting.agree(ours, exact)


@test
def direct_alone():
    """reads past the page cache wait for storage as long as the account says, within 2 %"""
    check("direct", 0)


@test
def direct_beside_hogs():
    """so they do beside two hogs"""
    check("direct", 2)


@test
def fsync_alone():
    """fsync in a loop waits for storage and for the journal as long as the account says, within 2 %"""
    check("fsync", 0)


@test
def fsync_beside_hogs():
    """so it does beside two hogs"""
    check("fsync", 2)


@test
def faults_alone():
    """faults from a file that is not in memory wait as long as the account says, within 2 %"""
    check("faults", 0)


@test
def faults_beside_hogs():
    """so they do beside two hogs"""
    check("faults", 2)


@test
def spawn_alone():
    """a parent waits for its child to execute a program, which is no storage, as long as the account says, within 2 %"""
    check("spawn", 0)


@test
def spawn_beside_hogs():
    """so it does beside two hogs"""
    check("spawn", 2)


main()
