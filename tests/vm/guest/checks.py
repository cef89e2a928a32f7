#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks an installed ctprof on the running kernel; "first" and "second" are two boots of one disk."""
import sys

import harness

if sys.argv[1] == "first":
    import installation  # noqa: F401
else:
    import afterwards  # noqa: F401

harness.main()
