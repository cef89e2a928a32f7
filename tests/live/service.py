# SPDX-License-Identifier: GPL-2.0-or-later
"""A ctprofd in the sandbox of its unit, on a machine whose first process need not be systemd.

The directives that matter for what can be read are taken from the unit and applied one by one: user and
capabilities, namespaces, read-only mounts, address families and the system call filter. What systemd
does beyond that is for the test on a booted machine.
"""
import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import sys

from harness import BUILD, CTPROFD, Daemon, Skip, expect

UID = 64999  # of the daemon; needs no name
UNITS = BUILD / "systemd" / "verify.d"


def read_unit(name):
    """Directive -> its values in order, of the section [Service]."""
    values, section = {}, None
    for line in (UNITS / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            values.setdefault(key, []).append(value)
    return values


def _expand(word):
    """Names of system calls: a group of systemd is what systemd says it is."""
    if not word.startswith("@"):
        return {word}
    listing = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word],
                             capture_output=True, text=True, check=True).stdout
    names = set()
    for line in listing.splitlines()[1:]:
        if line.strip() and not line.strip().startswith("#"):
            names |= _expand(line.strip())
    return names


def allowed_calls(unit):
    allowed = set()
    for value in unit["SystemCallFilter"]:
        removes = value.startswith("~")
        for word in value.removeprefix("~").split():
            allowed = allowed - _expand(word) if removes else allowed | _expand(word)
    return allowed


def capabilities(unit):
    return " ".join(unit.get("AmbientCapabilities", [""])).lower().replace("cap_", "").split()


class Sandboxed(Daemon):
    """The daemon of @unit, activated by its socket; @without: a capability it does not get."""

    def __init__(self, directory, unit="ctprofd.service", without=None, options=(), environment=()):
        for tool in ("systemd-socket-activate", "systemd-analyze", "unshare", "setpriv"):
            if not shutil.which(tool):
                raise Skip(f"{tool} is not installed")
        if os.geteuid() != 0:
            raise Skip("needs root")
        self.socket = directory / "socket"
        self.spool = directory / "spool"
        self.log = directory / "log"
        self.spool.mkdir(mode=0o700, exist_ok=True)
        os.chown(self.spool, UID, UID)
        command = ["systemd-socket-activate", "-l", str(self.socket), "--fdname=varlink",
                   "-E", "ASAN_OPTIONS=detect_leaks=0", "-E", "CTPROF_BUILD", "-E", "PYTHONDONTWRITEBYTECODE"]
        for variable in environment:
            command += ["-E", variable]
        command += ["unshare", "--net", "--ipc", "--mount", "--propagation", "private",
                    sys.executable, __file__, unit, without or "-", str(self.spool),
                    CTPROFD, "--spool", str(self.spool), *options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True)
        self._wait_for_socket()
        os.chmod(self.socket, 0o666)


# What runs between unshare(1) and the daemon. Everything below keeps the process id: that is what the
# daemon knows its socket by.

def _filter(unit):
    """A seccomp filter as systemd would make it, loaded for this process."""
    seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_rule_add_array.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int,
                                               ctypes.c_uint, ctypes.c_void_p]
    for name in ("seccomp_load", "seccomp_release"):
        getattr(seccomp, name).argtypes = [ctypes.c_void_p]

    class Condition(ctypes.Structure):
        _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int),
                    ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]

    allow, equal = 0x7FFF0000, 4
    handle = seccomp.seccomp_init(0x00050000 | errno.EPERM)
    families = [getattr(__import__("socket"), name) for name in unit["RestrictAddressFamilies"][0].split()]
    for name in sorted(allowed_calls(unit)):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            continue
        conditions = [None]
        if name == "socket":
            conditions = [Condition(0, equal, int(family), 0) for family in families]
        for condition in conditions:
            expect(seccomp.seccomp_rule_add_array(
                handle, allow, number, 1 if condition else 0,
                ctypes.byref(condition) if condition else None) == 0, name)
    expect(seccomp.seccomp_load(handle) == 0, "seccomp_load")


def _mounts(unit, spool):
    """The file system read-only but for the spool."""
    expect(unit["ProtectSystem"] == ["strict"] and "/proc" in unit["ReadOnlyPaths"][0].split(), "the mounts")
    mounts = [["--bind", spool, spool]]
    for path in unit["ReadOnlyPaths"][0].split():
        mounts += [["--rbind", path, path], ["-o", "remount,bind,ro", path]]
    mounts.append(["-o", "remount,bind,ro", "/"])
    for arguments in mounts:
        subprocess.run(["mount", *arguments], check=True)


def main():
    name, without, spool, *command = sys.argv[1:]
    unit = read_unit(name)
    _mounts(unit, spool)
    kept = ",".join(["-all", *(f"+{word}" for word in capabilities(unit) if word != without)])
    here = str(pathlib.Path(__file__).parent)
    os.execvp("setpriv", [
        "setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs",
        f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}", sys.executable, "-c",
        f"import sys; sys.path.insert(0, {here!r}); import service; service.enter({name!r}, {command!r})"])


def enter(name, command):
    """The last step, as the daemon's user."""
    _filter(read_unit(name))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
