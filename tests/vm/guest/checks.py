#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks an installed ctprof on the running kernel; "first" and "second" are two boots of one disk.

The modules are named in the order of their checks. Names behind the boot restrict it to those, and to the
installation.
"""
import importlib
import sys

import harness

BOOTS = {
    "first": ("installation", "readings", "scheduler", "confinement", "failures", "foreign", "parting"),
    "second": ("afterwards",),
}

for module in BOOTS[sys.argv[1]]:
    if not sys.argv[2:] or module in ("installation", *sys.argv[2:]):
        importlib.import_module(module)
harness.main()
