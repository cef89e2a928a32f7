# SPDX-License-Identifier: GPL-2.0-or-later
"""The package installs, the socket activates, and who may connect is the group."""
from harness import expect_equal, run, test


@test
def installs():
    """the package installs with all it depends on"""
    result = run("dpkg", "--install", "/payload/older.deb")
    print("# " + result.out.replace("\n", "\n# "))
    expect_equal(result.status, 0, result.err)
    print(run("ctprofctl", "status").out)
