# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan that fault-heap.so follows: which allocation of which process fails."""
import mmap
import struct

from harness import BUILD

LIBRARY = BUILD / "tests" / "fault" / "libfault-heap.so"
ROLES = ("main", "capture", "analysis", "spool")
_HEAD = struct.Struct("16s2Q2QQQ")  # role, nth, count, n_seen, n_fired, n_sites, lists
_SITE_BYTES = 80
_MAX_SITES = 32768


class Heap:
    """The shared file; one for a bench."""

    def __init__(self, path):
        self.path = path
        size = _HEAD.size + _SITE_BYTES * _MAX_SITES
        path.write_bytes(bytes(size))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def environment(self):
        return {"LD_PRELOAD": str(LIBRARY), "CTPROF_FAULT_HEAP": str(self.path)}

    def _write(self, role, nth, count, lists):
        # The role last: until then nobody feels meant.
        self.memory[:16] = bytes(16)
        head = _HEAD.pack(b"", nth, count, 0, 0, 0, lists)
        self.memory[16:_HEAD.size] = head[16:]
        self.memory[:16] = role.encode().ljust(16, b"\0")

    def record(self, role):
        self._write(role, 0, 0, 1)

    def arm(self, role, nth, count):
        self._write(role, nth, count, 0)

    def disarm(self):
        """How many failed since, and where the first of them was."""
        _, _, _, _, fired, _, _ = _HEAD.unpack(self.memory[:_HEAD.size])
        self.memory[:16] = bytes(16)
        return fired, self._site(0) if fired else ""

    def sites(self):
        """Where the recorded allocations came from, in their order."""
        n = min(_HEAD.unpack(self.memory[:_HEAD.size])[5], _MAX_SITES)
        self.memory[:16] = bytes(16)
        return [self._site(i) for i in range(n)]

    def _site(self, i):
        start = _HEAD.size + i * _SITE_BYTES
        return self.memory[start:start + _SITE_BYTES].split(b"\0", 1)[0].decode()

    def close(self):
        self.memory.close()
