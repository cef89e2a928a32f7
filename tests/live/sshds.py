# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that ctprofctl reaches through ssh: an sshd and a daemon each, on loopback, with keys and settings of their own.

Nothing of this machine's ssh is read or changed. A host has a name of its own (a UTS namespace), so heads and messages
tell which one answered. An sshd that is not installed is unpacked for the test.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "demo"))

# pylint: disable=wrong-import-position
from harness import BUILD, Daemon, Skip, expect, run, wait_until, without_programs
from programs import Programs


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def prepare_root():
    """What an sshd of root wants to see, in the mount namespace of the test alone: a directory, and two users.

    Root has an empty home: a shell reads ~/.bashrc before a command of ssh, and what stands there may take its time, or
    wait for a lock that somebody left behind.
    """
    if os.geteuid() != 0:
        return
    run("mount", "-t", "tmpfs", "none", "/run")
    os.mkdir("/run/sshd", 0o755)
    os.mkdir("/run/home", 0o700)
    users = [line.split(":") for line in pathlib.Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
             if not line.startswith("sshd:")]
    for user in users:
        if user[0] == "root":
            user[5] = "/run/home"
    users.append("sshd:x:65533:65534::/run/sshd:/bin/false".split(":"))
    pathlib.Path("/run/passwd").write_text("".join(":".join(user) + "\n" for user in users), encoding="utf-8")
    expect(run("mount", "--bind", "/run/passwd", "/etc/passwd").status == 0, "mount")


class Host:
    """@settings: further lines of sshd_config; @key: options in front of the key that may log in."""

    def __init__(self, net, name, settings="", key="", daemon=True, path=None):
        self.directory = net.directory / name
        self.directory.mkdir()
        self.name, self.net = name, net
        self.host_name = name if os.geteuid() == 0 else os.uname().nodename
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', name] if os.geteuid() == 0 else []
        self.daemon = Daemon(self.directory, options=without_programs(self.directory), prefix=named) if daemon else None
        self.port = free_port()
        (self.directory / "authorized").write_text(f"{key} {net.public_key}".strip() + "\n", encoding="ascii")
        config = self.directory / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {net.directory}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.directory}/authorized\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nMaxStartups 100\n"
            f"SetEnv PATH={path or BUILD / 'client'}:/usr/bin:/bin CTPROF_SOCKET={self.directory}/socket\n{settings}\n",
            encoding="utf-8")
        # Its log is read by who debugs a test.
        with open(self.directory / "sshd-log", "wb") as log:
            self.sshd = subprocess.Popen([*named, net.programs["sshd"], "-D", "-e", "-f", str(config)], stdout=log,
                                         stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                         env={**os.environ, **net.programs.environment})
        wait_until(self._listens, what=f"sshd of {name}")

    def _listens(self):
        expect(self.sshd.poll() is None, (self.directory / "sshd-log").read_text(encoding="utf-8", errors="replace"))
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        self.sshd.terminate()
        self.sshd.wait(30)
        if self.daemon:
            self.daemon.close()


class Net:
    """The keys, and the configuration by which ssh finds the hosts by their names."""

    def __init__(self, directory):
        self.directory = directory
        for tool in ("ssh", "ssh-keygen"):
            if not shutil.which(tool):
                raise Skip(f"there is no {tool}")
        self.programs = Programs(directory, {"sshd": "openssh-server"})
        for name in ("host", "user", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(directory / name)],
                           check=True)
        self.public_key = (directory / "user.pub").read_text(encoding="ascii").strip()
        host_key = (directory / "host.pub").read_text(encoding="ascii").strip()
        (directory / "known").write_text(f"loopback {host_key}\n", encoding="ascii")
        self.hosts = {}
        self.ssh = directory / "ssh"
        self.ssh.write_text(f'#!/bin/sh\nexec ssh -F {directory}/config "$@"\n', encoding="utf-8")
        self.ssh.chmod(0o755)

    def add(self, name, **options):
        self.hosts[name] = Host(self, name, **options)
        self.write_config()
        return self.hosts[name]

    def write_config(self, further=""):
        """@further: sections in front, which win."""
        ports = "".join(f"Host {name}\n  Port {host.port}\n" for name, host in self.hosts.items())
        (self.directory / "config").write_text(
            f"{further}{ports}Host *\n  HostName 127.0.0.1\n  HostKeyAlias loopback\n"
            f"  IdentityFile {self.directory}/user\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n"
            f"  UserKnownHostsFile {self.directory}/known\n  GlobalKnownHostsFile /dev/null\n", encoding="utf-8")

    def environment(self, **more):
        return {"CTPROF_SSH": str(self.ssh), "TMPDIR": str(self.directory), **more}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts.values():
            host.close()
