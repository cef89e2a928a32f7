#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads with any bytes in their names are captured, with every counter, and can be undone."""
import subprocess
import unicodedata

from harness import CTPROFCTL, Idle, Local, expect, expect_equal, main, temporary, test

NAMES = {
    b"with space": r"with\x20space",
    b"a) S 1 (b": r"a)\x20S\x201\x20(b",
    b"new\nline": r"new\x0aline",
    b"slice:9\nx": r"slice:9\x0ax",
    b"bad\xff\xfeutf8": r"bad\xff\xfeutf8",
    b"cut\xe2\x82": r"cut\xe2\x82",
    b"\x01\x1b[31m": r"\x01\x1b[31m",
    b'quote"back\\': r'quote"back\\',
    b"\xee\xbe\x80pua": r"\xee\xbe\x80pua",
    b"": "",
}
# Every byte that a name may have: all but NUL, fifteen at a time.
for first in range(1, 256, 15):
    name = bytes(range(first, min(first + 15, 256)))
    NAMES[name] = "".join(f"\\x{byte:02x}" for byte in name)


def undo(text):
    """The inverse of the escape: U+EF80..U+EFFF stand for one byte each, and in keys U+EF01..U+EF1F and U+EF7F."""
    return b"".join(bytes([ord(c) - 0xEF00]) if 0xEF01 <= ord(c) <= 0xEF1F or 0xEF7F <= ord(c) <= 0xEFFF else c.encode()
                    for c in text)


def capture(directory):
    ctl = Local(directory / "spool")
    # Backslash is the only character the load reads as an escape.
    written = [name.replace("\\\\", "\\x5c") for name in NAMES.values()]
    with Idle(len(NAMES) + 1, 1, *written) as idle:
        expect_equal(ctl("capture", "--tag", "names").status, 0, "capture")
        return ctl, idle.pids[0]


@test
def shown_with_every_counter():
    """every name is a group with run time, faults and start time, and its bytes can be undone"""
    with temporary() as directory:
        ctl, pid = capture(directory)
        groups = ctl("show", "names", "--group-by", "thread", "--limit", "0", "--json").json()["groups"]
        mine = {undo(group["thread"]): group for group in groups if group["pid"] == pid}
        for name in NAMES:
            expect(name in mine, name, "is missing among", sorted(mine))
            group = mine[name]
            expect(group["startTicks"] > 0, name, "has no start time")
            for metric in ("run_time_ns", "minflt", "voluntary_csw", "nice", "policy", "cpu_affinity"):
                cell = group["metrics"][metric]
                expect(cell["value"] is not None and cell["present"] == 1, name, metric, cell)


@test
def exact_names_group():
    """comm-exact groups by the bytes"""
    with temporary() as directory:
        ctl, _ = capture(directory)
        groups = ctl("show", "names", "--group-by", "comm-exact", "--limit", "0", "--json").json()["groups"]
        keys = {undo(group["key"]) for group in groups}
        expect(set(NAMES) <= keys, set(NAMES) - keys)


@test
def survives_the_file():
    """export, import and export again keep every byte of every name"""
    with temporary() as directory:
        ctl, pid = capture(directory)
        file = directory / "names.ctprof.zst"
        expect_equal(ctl("export", "names", file).status, 0, "export")
        expect_equal(ctl("import", file, "--tag", "again").status, 0, "import")
        groups = ctl("show", "again", "--group-by", "thread", "--limit", "0", "--json").json()["groups"]
        mine = {undo(group["thread"]) for group in groups if group["pid"] == pid}
        expect(set(NAMES) <= mine, set(NAMES) - mine)


@test
def terminals_are_safe():
    """the table shows no control byte of a name"""
    with temporary() as directory:
        ctl, _ = capture(directory)
        spool = str(directory / "spool")
        table = subprocess.run([CTPROFCTL, "--local", "--spool", spool, "show", "names", "--group-by",
                                "comm-exact", "--limit", "0"], capture_output=True, check=True).stdout
        for line in table.decode("utf-8").split("\n"):  # which is strict
            shown = [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
            expect_equal(shown, [], "control characters of", repr(line))


main()
