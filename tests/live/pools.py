# SPDX-License-Identifier: GPL-2.0-or-later
"""Pools of threads that do what they are told; see pools.c.

Names carry this process's id: whatever else runs on the host has others.
"""
import os
import pathlib
import subprocess

from harness import BUILD, expect_equal, settled

POOLS = str(BUILD / "tests" / "live" / "pools")
TOKEN = f"z{os.getpid():x}"


class Pools:
    """One process with pools of threads."""

    def __init__(self, name, **pools):
        words = [word for pool, n in pools.items() for word in (TOKEN + pool, str(n))]
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([POOLS, TOKEN + name, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self._wait()

    def _wait(self):
        expect_equal(self.process.stdout.readline(), "done\n", "the pools")

    def __call__(self, word, pool, n):
        self.process.stdin.write(f"{word} {TOKEN}{pool} {n}\n")
        self.process.stdin.flush()
        self._wait()

    def threads(self, pool):
        """{tid: run time in ns} as the kernel has it, once all of them sleep."""
        def read():
            found = {}
            for tid in os.listdir(f"/proc/{self.pid}/task"):
                base = pathlib.Path(f"/proc/{self.pid}/task/{tid}")
                if (base / "comm").read_text(encoding="ascii").strip() == TOKEN + pool:
                    found[int(tid)] = int((base / "schedstat").read_text(encoding="ascii").split()[0])
            return found
        return settled(read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
