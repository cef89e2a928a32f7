# SPDX-License-Identifier: GPL-2.0-or-later
"""A qemu that can be trusted with software emulation, of a machine or of one program, and one boot in it.

qemu before 8.1 crashes guests under TCG (cmpxchg16b spoils the flags, patched breakpoints are seen late),
so an older one is passed over for a newer suite's, unpacked in the cache and run from there.
Hardware acceleration is not tried: nested, it is often there and broken.
"""
import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import tarfile
import time

import archive
import image
from archive import Failure

GOOD_VERSION = (8, 1)
SUITE = "trixie"

WRAPPER = """#!/bin/sh
tree={tree} libraries=$tree/usr/lib/x86_64-linux-gnu
QEMU_MODULE_DIR=$libraries/qemu exec "$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" \\
        "$tree/usr/bin/{program}" -L "$tree/usr/share/seabios" -L "$tree/usr/share/qemu" \\
        -L "$tree/usr/lib/ipxe/qemu" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Machine:
    """What is emulated of an architecture: a processor as servers have it, without what is slow to emulate."""
    program: str
    package: str
    words: tuple
    console: str


MACHINES = {
    "amd64": Machine("qemu-system-x86_64", "qemu-system-x86", ("-machine", "pc", "-cpu", "Nehalem,rdrand=on"), "ttyS0"),
    "arm64": Machine("qemu-system-aarch64", "qemu-system-arm", ("-machine", "virt", "-cpu", "neoverse-n1"), "ttyAMA0"),
}


def version(program):
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return (0, 0)
    match = re.search(r"version (\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def unpacked(cache, archives, package, only=""):
    """The directory with the newer suite's @package, and with the others that match @only or that it needs."""
    source = archives(SUITE)
    packages = source.resolve(package, only=only)
    return image.keep(cache, f"qemu-{image.digest(packages)}",
                      lambda directory: archive.unpack(source.fetch(packages), directory))


def find(cache, archives, architecture="amd64"):
    """The program that emulates a machine."""
    machine = MACHINES[architecture]
    if version(machine.program) >= GOOD_VERSION:
        return machine.program
    tree = unpacked(cache, archives, machine.package)
    program = tree / "run"
    if not program.exists():
        program.write_text(WRAPPER.format(tree=tree, program=machine.program), encoding="utf-8")
        program.chmod(0o755)
    if version(program) < GOOD_VERSION:
        raise Failure(f"the qemu in {tree} does not start")
    return str(program)


def find_user(cache, archives, processor):
    """The program that runs one program of another processor; it is linked statically."""
    program = shutil.which(f"qemu-{processor}")
    if not program or version(program) < GOOD_VERSION:
        program = str(unpacked(cache, archives, "qemu-user", only="^qemu-user$") / "usr/bin" / f"qemu-{processor}")
    if version(program) < GOOD_VERSION:
        raise Failure(f"{program} does not start")
    return program


# That a processor made no progress for a while says nothing of the kernel: the machine that emulates it had no time for it.
# What hangs for good is known by the guest's silence.
FAULT = re.compile(rb"^.*(Oops|BUG: (?!soft lockup|workqueue lockup)|Kernel panic).*$", re.MULTILINE)


class Boot:
    """One boot: what it left, and how long it took."""

    APPEND = ("console={console},115200 quiet panic=-1 mitigations=off random.trust_cpu=on delayacct psi=1 "
              "schedstats=enable systemd.show_status=0 systemd.log_target=journal systemd.log_color=0")

    def __init__(self, qemu, machine, kernel, root, payload, results, work):
        self.results = results
        self.console = work / "console"
        self.disk = work / "results.img"
        self.log = work / "qemu.log"
        self.work = work
        self.seconds = 0.0
        self.command = [
            qemu, *machine.words, "-accel", "tcg,thread=multi", "-smp", "2",
            "-m", "1024", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-monitor", "none", "-nic", "none", "-serial", f"file:{self.console}",
            "-drive", f"file={root},format=raw,if=virtio,cache=unsafe",
            "-drive", f"file={payload},format=raw,if=virtio,readonly=on",
            "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe",
            "-kernel", str(kernel / "vmlinuz"), "-initrd", str(kernel / "initrd"),
            "-append", self.APPEND.format(console=machine.console)]

    def said(self, text):
        return self.console.exists() and text.encode() in self.console.read_bytes()

    def run(self, limit_s, silence_limit_s, begin_limit_s, stop):
        """Boots and waits for the end, or for the event @stop; returns what went wrong, or None. How long all checks
        take depends on what else the machine does; a guest that hangs is known by its silence."""
        self.disk.unlink(missing_ok=True)
        with open(self.disk, "wb") as disk:
            disk.truncate(256 << 20)
        self.console.write_bytes(b"")
        start = heard = time.monotonic()
        length = 0
        complaint = None
        with open(self.log, "wb") as log:
            process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={**os.environ, "TMPDIR": str(self.work)})
        try:
            while process.poll() is None and not complaint:
                now = time.monotonic()
                passed = now - start
                if self.console.stat().st_size != length:
                    length, heard = self.console.stat().st_size, now
                if stop.is_set():
                    complaint = "the run was stopped"
                elif passed > limit_s:
                    complaint = f"the checks did not end in {limit_s} s"
                elif now - heard > silence_limit_s:
                    complaint = f"the guest said nothing for {silence_limit_s} s"
                elif passed > begin_limit_s and not self.begun():
                    complaint = f"the checks did not begin in {begin_limit_s} s"
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.seconds = time.monotonic() - start
        return complaint or self._collect()

    def begun(self):
        return self.said("@@guest begins")

    def tail(self):
        """The end of the console, as comments of TAP."""
        lines = self.console.read_text(encoding="utf-8", errors="replace").splitlines()
        return "".join(f"# {line}\n" for line in lines[-40:])

    def _collect(self):
        shutil.rmtree(self.results, ignore_errors=True)
        self.results.mkdir(parents=True)
        shutil.copy(self.console, self.results / "console")
        # An empty disk is no archive: then the console tells what happened.
        with contextlib.suppress(tarfile.TarError), tarfile.open(self.disk, "r:") as tar:
            tar.extractall(self.results)
        if not (self.results / "status").exists():
            return f"the guest ended without a result: {self.log.read_text(errors='replace')[-500:]}"
        found = FAULT.search(self.console.read_bytes())
        return f"the kernel of the guest reported a fault: {found[0].decode(errors='replace')}" if found else None
