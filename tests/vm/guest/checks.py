#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks an installed ctprof on the running kernel; "first" and "second" are two boots of one disk.

The modules are named in the order of their checks. Names behind the boot restrict it to those, and to the
installation.
"""
import functools
import importlib
import sys
import time

import harness

BOOTS = {
    "first": ("installation", "readings", "bpf", "recording", "heap", "scheduler", "confinement", "configuration", "failures",
              "adversary", "foreign", "limits", "parting"),
    "second": ("afterwards",),
}
# Too slow for every boot.
ONLY_BY_NAME = ("limits",)


def timed(function):
    """The same check, which also says how long it took."""
    @functools.wraps(function)
    def check():
        begin = time.monotonic()
        try:
            function()
        finally:
            print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    return check


register = harness.test
harness.test = lambda function: register(timed(function))
for module in BOOTS[sys.argv[1]]:
    if module in ("installation", *(sys.argv[2:] or set(BOOTS[sys.argv[1]]) - set(ONLY_BY_NAME))):
        importlib.import_module(module)
harness.main()
