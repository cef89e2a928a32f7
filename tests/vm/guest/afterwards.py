# SPDX-License-Identifier: GPL-2.0-or-later
"""The second boot."""
from harness import expect_equal, run, test


@test
def survives():
    """the socket is there after a boot"""
    print(run("ctprofctl", "status").out)
