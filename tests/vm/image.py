# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest boots from: kernel, initial file system, root disk. Each is built once and kept.

The name of each carries a digest of the packages and of the code that made it, so a kept one is never stale.
"""
import contextlib
import fcntl
import gzip
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import stat
import tempfile
import time

import archive
from archive import Failure, output

# No dbus, no udev: what systemd needs to start a service, what dpkg needs to install one, python for the checks.
BASE = """base-files base-passwd bash coreutils dash diffutils dpkg findutils gawk grep gzip hostname
    init-system-helpers kmod libc-bin mount passwd perl-base procps python3 sed systemd systemd-sysv tar
    util-linux zstd""".split()

MASKED = """getty@.service serial-getty@.service console-getty.service getty.target systemd-firstboot.service
    systemd-udevd.service systemd-udev-trigger.service systemd-hwdb-update.service systemd-networkd.service
    systemd-resolved.service systemd-timesyncd.service systemd-pstore.service systemd-update-utmp.service
    systemd-update-done.service ldconfig.service systemd-logind.service apt-daily.timer
    apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer""".split()

INIT = r"""#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*.ko; do
        [ -f "$module" ] && { $b insmod "$module" || echo "guest: $module does not load"; }
done
n=0
while [ ! -b /dev/vdb ] && [ $n -lt 200 ]; do $b usleep 50000; n=$((n + 1)); done
$b mount -t ext4 -o rw,noatime /dev/vda /root || { echo "guest: no root disk"; $b poweroff -f; }
$b mount -t ext4 -o ro /dev/vdb /root/payload || { echo "guest: no payload disk"; $b poweroff -f; }
$b mount -o move /dev /root/dev
exec $b switch_root /root /sbin/init
"""

# Type=exec: the start job ends when the checks begin, so that they see a finished boot.
UNIT = """[Unit]
Description=Checks of the boot test
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=exec
ExecStart=/usr/local/sbin/guest-run
StandardInput=null
StandardOutput=tty
StandardError=tty
TTYPath=/dev/@CONSOLE@
Environment=TERM=dumb SYSTEMD_COLORS=0 SYSTEMD_PAGER=cat LC_ALL=C HOME=/root
OOMPolicy=continue
TasksMax=infinity
TimeoutStopSec=10

[Install]
WantedBy=multi-user.target
"""

RUN = r"""#!/bin/bash
read -r up _ </proc/uptime
mkdir -p /results
rm -rf /results/*
echo "@@guest begins uptime=$up"
echo "$up" >/results/boot-seconds
set -o pipefail
cd /payload && ./start 2>&1 | tee /results/tap
echo "$?" >/results/status
journalctl --boot --no-pager --output=short-monotonic >/results/journal.txt 2>&1
tar -C /results -cf /dev/vdc . || echo "@@guest cannot write its results"
sync
echo "@@guest ends"
"""

# What makes a kept image stale besides its packages.
THIS = pathlib.Path(__file__).read_bytes() + pathlib.Path(archive.__file__).read_bytes()


def digest(*parts):
    return hashlib.sha256(b"\0".join(repr(part).encode() for part in parts) + THIS).hexdigest()[:16]


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("CTPROF_VM_CACHE") or pathlib.Path(base) / "ctprof-vm")


@contextlib.contextmanager
def alone(cache):
    """One run at a time: they share images and results."""
    with open(cache / "lock", "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("# waiting for another run to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep(cache, name, make):
    """The directory @name of the cache, made by make(directory) if it is not there."""
    kept = cache / name
    if not kept.exists():
        work = pathlib.Path(tempfile.mkdtemp(prefix="work.", dir=cache))
        try:
            os.chmod(work, 0o755)
            make(work)
            work.rename(kept)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    os.utime(kept)
    return kept


def prune(cache, days=14):
    """Forgets what no run of the last days used."""
    for path in cache.iterdir():
        if re.match(r"(kernel|root|qemu|cross|package|work)[-.]", path.name):
            if time.time() - path.stat().st_mtime > days * 86400:
                shutil.rmtree(path, ignore_errors=True)


# --- kernel ------------------------------------------------------------------------------------------------------


def cpio(entries):
    """A "newc" archive of (path, mode, content) triples, owned by root."""
    out = bytearray()
    for number, (path, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def plain(path):
    """A kernel module as it is loaded."""
    data = path.read_bytes()
    if path.name.endswith(".xz"):
        return lzma.decompress(data)
    if path.name.endswith(".gz"):
        return gzip.decompress(data)
    if not path.name.endswith(".ko"):
        raise Failure(f"{path.name}: packed in a way this test does not know")
    return data


def modules(tree, wanted):
    """Contents of the modules @wanted with what they depend on, in the order to load them."""
    files = {re.sub(r"\.ko.*", "", path.name).replace("-", "_"): path for path in tree.rglob("*.ko*")}
    builtin = (tree / "modules.builtin").read_text(encoding="ascii").replace("-", "_")
    order, seen = [], set()

    def add(name):
        name = name.replace("-", "_")
        if name in seen:
            return
        seen.add(name)
        if name not in files:
            if f"/{name}.ko" not in builtin:
                raise Failure(f"this kernel has no driver {name}")
            return
        data = plain(files[name])
        depends = re.search(rb"(?:\0|^)depends=([^\0]*)\0", data)
        for other in (depends[1].decode().split(",") if depends else []):
            if other:
                add(other)
        order.append(data)

    for name in wanted:
        add(name)
    return order


def make_kernel(source, packages, busybox):
    def make(directory):
        tree = directory / "tree"
        archive.unpack(source.fetch([*packages, *busybox]), tree)
        versions = [path.name for path in (tree / "usr/lib/modules").iterdir()]
        if len(versions) != 1:
            raise Failure(f"expected one kernel, found {versions}")
        image = next((path for path in (tree / f"boot/vmlinuz-{versions[0]}",
                                        tree / f"usr/lib/modules/{versions[0]}/vmlinuz") if path.is_file()), None)
        if not image:
            raise Failure("no vmlinuz in the kernel package")
        shutil.copy(image, directory / "vmlinuz")
        shell = next(path for path in tree.rglob("busybox") if path.is_file() and path.parent.name == "bin")
        entries = [(name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "dev", "modules", "proc", "root", "sys")]
        entries += [("bin/busybox", stat.S_IFREG | 0o755, shell.read_bytes()),
                    ("init", stat.S_IFREG | 0o755, INIT.encode())]
        drivers = modules(tree / "usr/lib/modules" / versions[0], ["virtio_pci", "virtio_blk", "ext4"])
        entries += [(f"modules/{100 + n}.ko", stat.S_IFREG | 0o644, data) for n, data in enumerate(drivers)]
        (directory / "initrd").write_bytes(gzip.compress(cpio(entries), 1))
        (directory / "version").write_text(versions[0], encoding="ascii")
        shutil.rmtree(tree)
    return make


def kernel(cache, source, release=None):
    """The directory with vmlinuz, initrd and version of the suite's kernel for virtual machines."""
    packages = source.resolve(f"linux-image-cloud-{source.architecture}", release=release,
                              only=r"^linux-(image|binary|modules|base)-[0-9]")
    busybox = source.resolve("busybox-static", only=r"^busybox-static$")
    return keep(cache, f"kernel-{digest(source.architecture, packages, busybox)}",
                make_kernel(source, packages, busybox))


# --- root --------------------------------------------------------------------------------------------------------


def disk(directory, file, spare_kib):
    """An ext4 file system with what is in @directory."""
    used = int(output("du", "-sk", directory).split()[0])
    output("mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", directory, file,
           f"{used * 5 // 4 + spare_kib}k", env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink() and not path.exists():
        path.symlink_to(target)


def configure(root, console):
    """Does what maintainer scripts and an installer would have done, as far as this guest needs it."""
    for name in ("payload", "results", "root", "run", "proc", "sys", "dev", "tmp", "var/log", "var/lib",
                 "usr/local/sbin", "etc/systemd/system", "etc/systemd/journald.conf.d"):
        (root / name).mkdir(parents=True, exist_ok=True)
    os.chmod(root / "tmp", 0o1777)
    for name in ("passwd", "group"):
        shutil.copy(root / f"usr/share/base-passwd/{name}.master", root / f"etc/{name}")
    users = (root / "etc/passwd").read_text(encoding="ascii").splitlines()
    shadow = root / "etc/shadow"
    shadow.write_text("".join(f"{line.split(':')[0]}:*:19000:0:99999:7:::\n" for line in users), encoding="ascii")
    os.chmod(shadow, 0o640)
    (root / "etc/gshadow").touch(0o640)
    names = root / "usr/share/base-files/nsswitch.conf"
    if names.exists():
        shutil.copy(names, root / "etc/nsswitch.conf")
    link(root / "usr/bin/sh", "dash")
    link(root / "usr/bin/awk", "gawk")
    link(root / "etc/os-release", "../usr/lib/os-release")
    (root / "etc/hostname").write_text("guest\n", encoding="ascii")
    (root / "etc/hosts").write_text("127.0.0.1 localhost guest\n", encoding="ascii")
    (root / "etc/fstab").touch()
    (root / "etc/machine-id").write_text("0000000000000000000000000000c7f0\n", encoding="ascii")
    output("/usr/sbin/ldconfig", "-r", root)
    units = root / "etc/systemd/system"
    for name in MASKED:
        link(units / name, "/dev/null")
    link(units / "default.target", "/usr/lib/systemd/system/multi-user.target")
    (root / "etc/systemd/journald.conf.d/guest.conf").write_text(
        "[Journal]\nStorage=volatile\nForwardToConsole=no\nRateLimitIntervalSec=0\n", encoding="ascii")
    (units / "guest-run.service").write_text(UNIT.replace("@CONSOLE@", console), encoding="ascii")
    link(units / "multi-user.target.wants/guest-run.service", "../guest-run.service")
    program = root / "usr/local/sbin/guest-run"
    program.write_text(RUN, encoding="ascii")
    os.chmod(program, 0o755)


def make_root(source, packages, console):
    def make(directory):
        tree = directory / "tree"
        brought = archive.unpack(source.fetch(packages), tree)
        archive.register(brought, tree)
        configure(tree, console)
        disk(tree, directory / "root.img", 1 << 20)
        shutil.rmtree(tree)
    return make


def root(cache, source, suite, more, dependencies, console):
    """The directory with root.img: @suite with what a package that has these @dependencies needs."""
    packages = source.satisfy(", ".join([*BASE, *more, dependencies]))
    return keep(cache, f"root-{suite}-{digest(source.architecture, packages, console)}",
                make_root(source, packages, console))
