# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed programs, systemd and the users of this machine, as the checks use them."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time

from harness import Skip, expect, expect_equal, run, wait_until

SERVICE = "ctprofd.service"
SOCKET_UNIT = "ctprofd.socket"
SOCKET = "/run/ctprof/io.ctprof.Profiler"
SPOOL = pathlib.Path("/var/lib/ctprof")
# Where the packages to install are; without it one is installed already.
PACKAGES = os.environ.get("CTPROF_PACKAGES")
# The snapshot that outlives the boot.
LAST = "before-reboot"
RESULTS = pathlib.Path(os.environ.get("CTPROF_RESULTS", "/results"))
DROPIN = pathlib.Path(f"/run/systemd/system/{SERVICE}.d/50-check.conf")
SETTINGS = pathlib.Path("/etc/ctprof/ctprofd.conf.d/50-check.conf")
CAPABILITIES = ("CAP_NET_ADMIN", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE")


def comment(text):
    """Prints text as comments of TAP."""
    for line in text.splitlines():
        print(f"# {line}", flush=True)


def has_all_switches():
    """Whether the kernel was booted with all that it can count."""
    with open("/proc/cmdline", encoding="ascii") as file:
        return {"delayacct", "psi=1", "schedstats=enable"} <= set(file.read().split())


def ctl(*arguments, **options):
    return run("/usr/bin/ctprofctl", *arguments, **options)


def take(name, *options):
    """Takes a snapshot and returns the answer."""
    return ctl("capture", "--tag", name, "--json", *options).json()


def document(name):
    """The whole document of a snapshot."""
    exported = subprocess.run(["/usr/bin/ctprofctl", "export", name, "-"], capture_output=True, check=True).stdout
    return json.loads(subprocess.run(["zstd", "-dcq"], input=exported, capture_output=True, check=True).stdout)


def rows(snapshot):
    """The thread table of a document as dictionaries."""
    columns = snapshot["threads"]["columns"]
    return [dict(zip(columns, cells)) for cells in snapshot["threads"]["rows"]]


def systemctl(*arguments):
    result = run("systemctl", *arguments)
    expect_equal(result.status, 0, "systemctl", *arguments, result.err)
    return result.out.strip()


def shown(name, unit=SERVICE):
    return systemctl("show", "--property", name, "--value", unit)


def main_pid():
    """The daemon's process; it is started if it does not run."""
    pid = int(shown("MainPID"))
    if pid == 0:
        expect_equal(ctl("status").status, 0, "status")
        pid = int(shown("MainPID"))
    return pid


def restart():
    """A daemon that was started afresh and serves; failures before do not count against it."""
    systemctl("daemon-reload")
    systemctl("stop", SERVICE)
    systemctl("reset-failed", SERVICE)
    systemctl("start", SERVICE)
    return main_pid()


@contextlib.contextmanager
def dropin(*lines):
    """The daemon under other settings of its service."""
    DROPIN.parent.mkdir(parents=True, exist_ok=True)
    DROPIN.write_text("[Service]\n" + "".join(line + "\n" for line in lines), encoding="ascii")
    try:
        restart()
        yield
    finally:
        DROPIN.unlink()
        restart()


def reload(text):
    """Writes a file of settings and has the daemon read it."""
    SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS.write_text(text, encoding="ascii")
    # A daemon serves while it loads programs, but the service manager forgets a reload of what it still starts.
    wait_until(lambda: shown("ActiveState") != "activating", 120, "the daemon to be ready")
    systemctl("reload-or-restart", SERVICE)


@contextlib.contextmanager
def settings(text):
    """The daemon under other settings of its own."""
    try:
        reload(text)
        yield
    finally:
        SETTINGS.unlink()
        systemctl("reload-or-restart", SERVICE)


def time_for_heaps():
    """An emulated processor is too slow for what HeapTime= leaves by itself."""
    return settings("[Capture]\nHeapTime=1min\n")


def jobs(pid):
    """The children of the daemon now: {pid: kind}."""
    found = {}
    with contextlib.suppress(OSError):
        words = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for child in map(int, words):
            with contextlib.suppress(OSError):
                command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
                kind = [word[6:].decode() for word in command if word.startswith(b"--job=")]
                if kind:
                    found[child] = kind[0]
    return found


def wait_for_job(pid, kind, seconds=30):
    """The pid of a job of the daemon @pid, as soon as there is one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for job, what in jobs(pid).items():
            if what == kind:
                return job
    raise AssertionError(f"no {kind} job came")


def start(*arguments, **options):
    """A client in the background."""
    return subprocess.Popen(["/usr/bin/ctprofctl", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def sentence(text):
    """What a client complained: exactly one line."""
    lines = [line for line in text.splitlines() if line.strip()]
    expect_equal(len(lines), 1, "lines of complaint in", repr(text))
    return lines[0]


def intact(*names):
    """Nothing of the spool is damaged or half there, and @names are in it."""
    results = ctl("verify", "--all", "--json").json()["results"]
    expect_equal([result for result in results if not result["ok"]], [], "damaged")
    listed = {head["name"] for head in ctl("list", "--json").json()["snapshots"]}
    expect_equal(listed, {result["name"] for result in results}, "listed and verified")
    expect(set(names) <= listed, "missing:", set(names) - listed)
    expect_equal([name for name in os.listdir(SPOOL) if name.startswith(".")], [], "left behind")


def user(name, group=None):
    """The options to run a command as @name, who is created if need be."""
    if run("id", name).status != 0:
        expect_equal(run("useradd", "--no-create-home", "--user-group", name).status, 0, "useradd")
        if group:
            expect_equal(run("usermod", "--append", "--groups", group, name).status, 0, "usermod")
    return {"user": name, "group": name, "groups": [group] if group else []}


def journal(*matches):
    """Entries of the daemon's journal as dictionaries."""
    run("journalctl", "--sync")
    lines = run("journalctl", "--boot", "--output=json", *matches).out.splitlines()
    return [json.loads(line) for line in lines]


def need(program, why):
    if not shutil.which(program):
        raise Skip(why)


def daemon_ready(before):
    """Waits until another daemon than @before serves."""
    wait_until(lambda: int(shown("MainPID")) not in (0, before), 60, "another daemon")
    return main_pid()

