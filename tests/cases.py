# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the cases in logs of tests: one line of JSON a program, as meson writes them, with its TAP.

A program that died, or that ran no case, counts as one failure, so that nothing passes by not running.
"""
import dataclasses
import json
import os
import re

CASE = re.compile(r"^(not )?ok\b([^#]*)(?:# *(SKIP|TODO)\b *(.*))?", re.I)
EXCEPTION = re.compile(r"^# ([\w.]*(?:Error|Exception|Expired|Interrupt)\b.*)", re.M)  # ends a traceback


@dataclasses.dataclass
class Cases:
    """How many passed, and a sentence about each of the others."""
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    def __str__(self):
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def of_program(name, text, result):
    """The cases of one program: what it printed, and how it ended: "OK", "SKIP" or anything worse."""
    cases = Cases()
    lines = text.splitlines()
    found = [(at, case) for at, case in enumerate(map(CASE.match, lines)) if case]
    ends = [at for at, _ in found[1:]] + [len(lines)]
    for (at, case), end in zip(found, ends):
        claim = case[2].strip(" -")
        if case[3]:
            cases.skipped.append(f"{name}: {claim}: {case[4]}")
        elif case[1]:
            why = EXCEPTION.search("\n".join(lines[at:end]))
            cases.failed.append(f"{name}: {claim}" + (f": {why[1]:.400}" if why else ""))
        else:
            cases.passed += 1
    if result == "SKIP" and not found:
        cases.skipped.append(f"{name}: {text.strip()}")
    elif result == "OK" and not found:
        cases.passed += 1  # one program, one case: its exit status
    elif result not in ("OK", "SKIP") and not cases.failed:
        cases.failed.append(f"{name}: {result}")
    return cases


def of_log(name, path):
    cases = Cases()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                cases += of_program(test["name"], test.get("stdout", ""), test["result"])
    if not cases.passed + len(cases.failed) + len(cases.skipped):
        cases.failed.append(f"{name}: no test was run")
    return cases
