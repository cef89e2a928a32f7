# SPDX-License-Identifier: GPL-2.0-or-later
"""The bench of the fault tests: a spool with two snapshots, the daemon beside it, and the scenarios."""
import contextlib
import functools
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

from campaign import Campaign, HeapCampaign, Startup, now, print_table
from heap import Heap
from rig import CTPROFCTL, Broken, Fault, Rig
from scenarios import (Anonymous, Capture, Compare, Convert, Export, Import, NamedAnonymous, NamedCapture,
                       NamedImport, NamedRename, Rename, Replace, Serve, Show, Status, Verify)

PLACE = "/mnt"


def ctprofctl(*arguments):
    subprocess.run([CTPROFCTL, "--local", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


class Bench(Rig):
    """A rig that can be put back to how it was."""

    def __init__(self, directory):
        super().__init__(directory)
        self.pristine = pathlib.Path(directory) / "pristine"
        self.foreign = pathlib.Path(directory) / "foreign.ctprof.zst"
        spool = ["--spool", str(self.pristine)]
        for name in ("before", "after", "other"):
            ctprofctl(*spool, "capture", "--quiet", "--tag", name)
        self.pristine.chmod(0o700)
        self.old = pathlib.Path(directory) / "old.json"
        ctprofctl(*spool, "export", "--quiet", "--format", "ktstr", "before", self.old)
        shutil.copy(self.pristine / "after.ctprof.zst", self.foreign)
        self.heap = Heap(pathlib.Path(directory) / "heap")
        self.reset()

    def reset(self):
        self.restore(self.pristine)

    def close(self):
        self.stop()
        self.heap.close()

    def campaigns(self):
        """Every scenario twice, for system calls and for allocations; startup is a campaign of its own."""
        scenarios = {
            "serve": Serve,
            "status": Status,
            "capture": Capture,
            "replace": Replace,
            "anonymous": Anonymous,
            "compare": Compare,
            "show": Show,
            "verify": Verify,
            "import": lambda: Import(self.foreign),
            "convert": lambda: Convert(self.old),
            "export": Export,
            "rename": Rename,
            "named-capture": NamedCapture,
            "named-anonymous": NamedAnonymous,
            "named-import": lambda: NamedImport(self.foreign),
            "named-rename": NamedRename,
        }
        campaigns = {"startup": lambda: Startup(self)}
        for name, make in scenarios.items():
            campaigns[name] = functools.partial(lambda make: Campaign(self, make()), make)
        for name, make in scenarios.items():
            campaigns[name + "-heap"] = functools.partial(lambda make: HeapCampaign(self, make()), make)
        return campaigns


@contextlib.contextmanager
def bench():
    """In memory of a mount namespace of ours: always of the same name, and never left behind."""
    subprocess.run(["mount", "-t", "tmpfs", "ctprof-fault", PLACE], check=True)
    rig = Bench(PLACE)
    try:
        yield rig
    finally:
        rig.close()


def start(rig, campaign):
    """A daemon without faults, and the calls of the scenario."""
    rig.stop()
    rig.reset()
    campaign.start()
    campaign.record()


def command_of(result):
    return shlex.join(["tests/fault/run", result.campaign, "--fault", str(result.fault)])


class Stopped(Exception):
    """Somebody has no more time: the table of what was tried is shown."""


def stop(*_):
    raise Stopped


def run_inside(options):
    """The whole run; the exit status."""
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    results, calls, begin, name = [], {}, now(), ""

    def report(result):
        result.campaign = name
        results.append(result)
        if result.outcome == "BROKEN" or options.verbose:
            print(f"{result.outcome}: {result.detail}\n    {command_of(result)}", flush=True)

    with contextlib.suppress(Stopped), bench() as rig:
        campaigns = rig.campaigns()
        for name in options.scenarios or campaigns:
            campaign = campaigns[name]()
            start(rig, campaign)
            calls[name] = campaign.calls
            chosen = [Fault.parse(text) for text in options.fault] or campaign.faults(options.all)
            campaign.run(chosen, report)
            print(f"# {name}: done at {now() - begin:.0f} s", file=sys.stderr, flush=True)
    print_table(results, calls, now() - begin)
    return 1 if any(result.outcome == "BROKEN" for result in results) else 0
