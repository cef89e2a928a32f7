# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system of a few files that answer as the test wants: with an error, late, or never.

Speaks the protocol of /dev/fuse itself (include/uapi/linux/fuse.h): no library, no helper program.
"""
import errno
import os
import select
import struct
import subprocess
import threading

from harness import Skip

LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 16, 18, 25, 26, 36, 42
SILENT = {FORGET, BATCH_FORGET, INTERRUPT}
DIRECT_IO = 1
ROOT = 1
STUCK_PAGE = object()
STUCK_OPEN = object()


class Fuse:
    """Files by name: an errno as number, bytes, or None for one that never answers a read.

    None is answered with EIO when the file system is closed, so that nobody waits for ever. STUCK_PAGE is
    the same for a file that is mapped; STUCK_OPEN is such a one that only this process can open. @silent_flush: so
    is what others ask for when they close a file. @silent_write: files can be written to, which is never answered.
    """

    def __init__(self, directory, files, silent_flush=False, silent_write=False):
        self.directory = directory
        self.names = list(files)
        self.contents = list(files.values())
        self.waiting = threading.Event()
        self.silent_flush, self.silent_write = silent_flush, silent_write
        self.mode = 0o100666 if silent_write else 0o100444
        self._pending = []
        self._ended = threading.Event()
        self._lock = threading.Lock()  # of what is pending, and whether anything may become so
        try:
            self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise Skip(f"no FUSE: {error.strerror}") from error
        directory.mkdir()
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        done = subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "ctprof-test", str(directory)],
                              pass_fds=[self._fd], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            os.close(self._fd)
            raise Skip(f"no FUSE: {done.stderr.strip()}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self.is_mounted = True

    def path(self, name):
        return self.directory / name

    def release(self):
        """Answers whoever waits with EIO; files that never answered do so from now on."""
        with self._lock:
            self.silent_flush = self.silent_write = False
            self.contents = [errno.EIO if content in (None, STUCK_PAGE, STUCK_OPEN) else content
                             for content in self.contents]
            for unique in self._pending:
                self._answer(unique, error=errno.EIO)
            self._pending.clear()

    def detach(self):
        """Who has a file open keeps it, and no mount tells of it."""
        subprocess.run(["umount", "-l", str(self.directory)], check=True)
        self.is_mounted = False

    def close(self):
        self.release()
        if self.is_mounted:
            self.detach()
        # The connection ends with its last mount; whoever still waits is answered with an error.
        self._thread.join(20)
        # Or with its descriptor, whose number another file has then: the thread must not go on with that.
        self._ended.set()
        self._thread.join()
        os.close(self._fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _answer(self, unique, data=b"", error=0):
        try:
            os.write(self._fd, struct.pack("=IiQ", 16 + len(data), -error, unique) + data)
        except OSError as failure:
            if failure.errno not in (errno.ENOENT, errno.ENODEV):  # whoever asked is gone
                raise

    def _attributes(self, node):
        size = 0
        mode = 0o040755
        if node != ROOT:
            content = self.contents[node - 2]
            size = len(content) if isinstance(content, bytes) else 4096
            mode = self.mode
        return struct.pack("=6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _lookup(self, unique, name):
        if name not in self.names:
            self._answer(unique, error=errno.ENOENT)
            return
        node = self.names.index(name) + 2
        self._answer(unique, struct.pack("=QQQQII", node, 0, 1000, 1000, 0, 0) + self._attributes(node))

    def _leave(self, unique):
        """Without an answer; in the lock."""
        self._pending.append(unique)
        self.waiting.set()

    def _open(self, unique, node, pid):
        with self._lock:
            content = self.contents[node - 2]
            if content is STUCK_OPEN and pid != os.getpid():
                self._leave(unique)
                return
        flags = 0 if content in (STUCK_PAGE, STUCK_OPEN) or isinstance(content, bytes) else DIRECT_IO
        self._answer(unique, struct.pack("=QIi", 0, flags, 0))

    def _read(self, unique, node, body):
        _, offset, size = struct.unpack_from("=QQI", body)
        with self._lock:
            content = self.contents[node - 2]
            if content in (None, STUCK_PAGE, STUCK_OPEN):
                self._leave(unique)
                return
        if isinstance(content, int):
            self._answer(unique, error=content)
        else:
            self._answer(unique, content[offset:offset + size])

    def _flush(self, unique, pid):
        with self._lock:
            if self.silent_flush and pid != os.getpid():
                self._leave(unique)
                return
        self._answer(unique)

    def _write(self, unique):
        with self._lock:
            if self.silent_write:
                self._leave(unique)
                return
        self._answer(unique, error=errno.EIO)

    def _serve(self):
        os.set_blocking(self._fd, False)
        while not self._ended.is_set():
            try:
                select.select([self._fd], [], [], 0.1)
                request = os.read(self._fd, 1 << 17)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return  # ENODEV: unmounted
            self._handle(request)

    def _handle(self, request):
        _, code, unique, node, _, _, pid = struct.unpack_from("=IIQQIII", request)
        body = request[40:]
        if code == INIT:
            self._answer(unique, struct.pack("=IIIIHHIIHHIIH22x", 7, 31, 65536, 0, 16, 12, 65536, 1, 0, 0, 0, 0, 0))
        elif code == LOOKUP:
            self._lookup(unique, body.rstrip(b"\0").decode())
        elif code == GETATTR:
            self._answer(unique, struct.pack("=QII", 1000, 0, 0) + self._attributes(node))
        elif code == OPEN:
            self._open(unique, node, pid)
        elif code == READ:
            self._read(unique, node, body)
        elif code == WRITE:
            self._write(unique)
        elif code == RELEASE:
            self._answer(unique)
        elif code == FLUSH:
            self._flush(unique, pid)
        elif code not in SILENT:
            self._answer(unique, error=errno.ENOSYS)
