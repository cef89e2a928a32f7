#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system that is full at any byte of a change: one clear error, and everything is as before.

A file system of its own is filled until a number of blocks is free, from none at all to enough for the
change; so the change fails at every block of what it writes. As often as it fails there is one sentence that
says why, every snapshot has the bytes it had, no temporary is left, and as many blocks are free as before.
"""
import os

from recorded import SUFFIX, names_in, succeed, temporaries_in
from small import ext4_image, mounted
from harness import Daemon, Idle, expect, expect_equal, main, private_host, settled, temporary, test, wait_until

THREADS = 400
WORDS = ("free space", "full")  # of the sentence that says why


class Small:
    """A small file system for as long as a test lasts."""

    def __init__(self, place, *command):
        self.place, self.mount = place, mounted(place, *command)

    def __enter__(self):
        self.mount.__enter__()
        return self

    def __exit__(self, *reason):
        return self.mount.__exit__(*reason)

    def free(self):
        found = os.statvfs(self.place)
        return found.f_bavail * found.f_frsize

    def block(self):
        return os.statvfs(self.place).f_frsize

    def fill(self, keep):
        """Leaves @keep bytes free, or a little less; returns whether so much was free."""
        ballast = self.place / "ballast"
        ballast.unlink(missing_ok=True)
        os.sync()
        with open(ballast, "wb", buffering=0) as file:
            size = self.free() - keep
            while size > 0:
                try:
                    os.posix_fallocate(file.fileno(), 0, size)
                except OSError:
                    size -= self.block()
                    continue
                if self.free() <= keep:
                    return True
                size += self.free() - keep
        return False


def tmpfs(place):
    return Small(place, "-t", "tmpfs", "-o", "size=4M", "tmpfs")


def ext4(place):
    return Small(place, "-o", "loop", ext4_image(place.with_suffix(".image"), 8 << 20, 1024))


def bytes_in(spool):
    return {name: (spool / f"{name}{SUFFIX}").read_bytes() for name in names_in(spool)}


def refused(result):
    """A failure that says why in one sentence."""
    sentence = result.one_sentence()
    expect(any(word in sentence for word in WORDS), "does not say why:", sentence)


def at_every_block(small, daemon, arguments, come=(), gone=(), restore=()):
    """Tries @arguments with ever more room until they succeed, and puts things back with @restore."""
    failures, keep = 0, 0
    while True:
        before = bytes_in(daemon.spool)
        expect(small.fill(keep), "the file system is too small for this test")
        free = settled(small.free)
        result = daemon(*arguments)
        wait_until(lambda: not daemon.children(), what="the end of all jobs")
        expect_equal(temporaries_in(daemon.spool), set(), "left behind", arguments, keep)
        if result.status == 0:
            break
        refused(result)
        expect_equal(bytes_in(daemon.spool) == before, True, "everything is as before", arguments, keep)
        wait_until(lambda: small.free() == free, what=f"{free} bytes to be free again")
        failures += 1
        keep += small.block()
    expect_equal(names_in(daemon.spool), before.keys() - set(gone) | set(come), arguments)
    results = daemon("verify", "--all", "--json").json()["results"]
    expect_equal([result for result in results if not result["ok"]], [], "damaged")
    (small.place / "ballast").unlink()
    if restore:
        succeed(daemon, *restore)
    expect(failures > 1, "hardly ever full:", arguments)
    return failures


def fill_and_change(make):
    with temporary() as directory, make(directory / "spool") as small, Idle(THREADS, 1):
        with Daemon(directory, options=["--keep-free", "0", "--max-bytes", "0"]) as daemon:
            outside = directory / f"outside{SUFFIX}"
            succeed(daemon, "capture", "--tag", "kept")
            succeed(daemon, "capture", "--tag", "one")
            succeed(daemon, "export", "one", outside)

            def refusals(*arguments, **changes):
                return at_every_block(small, daemon, arguments, **changes)

            counts = {
                "capture": refusals("capture", "--tag", "new", come=["new"], restore=["remove", "new"]),
                "replace": refusals("capture", "--tag", "kept", "--replace"),
                "rename": refusals("rename", "one", "two", gone=["one"], come=["two"]),
                "import": refusals("import", outside, "--tag", "came", come=["came"]),
            }
            expect(small.fill(0), "the file system is too small for this test")
            succeed(daemon, "export", "kept", directory / "out", "--format", "ndjson")  # takes no room there
        print(f"# blocks of {small.block()}, refused: {counts}")


@test
def a_full_tmpfs():
    """on a full tmpfs changes fail at every page with one sentence, and change nothing"""
    fill_and_change(tmpfs)


@test
def a_full_ext4():
    """on a full ext4 changes fail at every block with one sentence, and change nothing"""
    fill_and_change(ext4)


@test
def the_floor():
    """a capture that leaves what is to stay free is taken, one that does not is refused"""
    with temporary() as directory, tmpfs(directory / "spool") as small, Idle(THREADS, 1):
        floor = 1 << 20
        with Daemon(directory, options=["--keep-free", str(floor), "--max-bytes", "0"]) as daemon:
            succeed(daemon, "capture", "--tag", "kept")
            size = (daemon.spool / f"kept{SUFFIX}").stat().st_size
            small.fill(floor + size * 3 // 2)
            succeed(daemon, "capture", "--tag", "kept", "--replace")
            small.fill(floor + size * 3 // 2)
            succeed(daemon, "capture", "--tag", "new")
            refused(daemon("capture", "--tag", "newer"))
            # Both files are there until the new one has replaced the old one.
            refused(daemon("capture", "--tag", "new", "--replace"))
            succeed(daemon, "remove", "new")
            succeed(daemon, "capture", "--tag", "new")
            expect_equal(names_in(daemon.spool), {"kept", "new"}, "after that")


private_host()
main()
