# SPDX-License-Identifier: GPL-2.0-or-later
"""Every call of a scenario fails once, and the promises are checked each time."""
import collections
import errno
import time

import faults
from heap import ROLES
from rig import Broken, Fault, reason_of

# What a fault came to, in the order of the table.
OUTCOMES = ("unharmed", "degraded", "refused", "hung up", "ended", "not reached", "BROKEN")


class Result:
    def __init__(self, scenario, fault, outcome, detail=""):
        self.scenario, self.fault, self.outcome, self.detail = scenario, fault, outcome, detail


class Campaign:
    """A scenario on a rig: first as it goes without a fault, then once for each."""

    def __init__(self, rig, scenario):
        self.rig, self.scenario = rig, scenario
        self.calls = collections.Counter()
        self.site = ""  # where the last allocation failed

    def attempt(self, fault=None):
        """Returns (outcome, detail, calls); raises Broken when a promise did not hold."""
        rig, scenario = self.rig, self.scenario
        scenario.prepare(rig)
        rig.settle()
        before = rig.files()
        self._begin(fault)
        try:
            replies = scenario.act(rig)
        except (BrokenPipeError, ConnectionResetError):
            replies = []
        finally:
            rig.settle()
            fired, calls = self._end(fault)
        outcome, detail = self._answer(replies, fault)
        self._check_spool(before, replies, fault)
        self._check_service()
        if fault and not fired:
            outcome = "not reached"
        return outcome, detail, calls

    def _begin(self, fault):
        self.rig.tracer.begin(fault and faults.kind_of(fault.error), fault)

    def _end(self, _):
        return self.rig.tracer.end()

    def _answer(self, replies, fault):
        if not replies or (replies[-1].get("continues") and "error" not in replies[-1]):
            if fault is None or faults.role_of(fault.call) != "main":
                raise Broken("the connection ended without an answer")
            return "hung up", ""
        if "error" in replies[-1]:
            name, text = reason_of(replies[-1])
            # glibc's loader runs before anything of ours, and dies of some faults.
            if "crashed" in text and faults.role_of(fault.call) != "loader":
                raise Broken(text)
            return "refused", f"{name}: {text}"
        return self.scenario.judge(self.rig, replies), ""

    def _check_spool(self, before, replies, fault):
        """As before, or one snapshot more, which is whole; never anything else."""
        answered = bool(replies) and "error" not in replies[-1] and not replies[-1].get("continues")
        after = self.rig.files()
        more = {name for name in after if before.get(name) != after[name]}
        less = {name for name in before if name not in after}
        if self.scenario.renames:
            if len(after) != len(before):
                raise Broken(f"the spool has {sorted(after)}")
            return
        if self.scenario.lacks and not answered and any(name.startswith(".") for name in more):
            # The file of a job that was killed: whoever adds next removes it.
            self.rig.call("Capture", {"anonymous": True, "smaps": False})
            self.rig.settle()  # its own file goes when the job ends
            after = self.rig.files()
            more = {name for name in after if before.get(name) != after[name]}
        if self.scenario.lacks and fault and "readlink /proc/self/fd/" in fault.call:
            # Two faults at once: its name could not be found out. A start removes it.
            self.rig.stop()
            self.scenario.forget()
            self.start()
            after = self.rig.files()
            more = {name for name in after if before.get(name) != after[name]}
        if less or len(more) > 1 or any(not name.endswith(".ctprof.zst") for name in more):
            raise Broken(f"the spool has {sorted(more)} more, {sorted(less)} less")
        if self.scenario.adds and answered and not more:
            raise Broken("there is no snapshot though the answer was yes")
        for name in more:
            results = self.rig.call("Verify", {"snapshots": [{"name": name.removesuffix(".ctprof.zst")}]})
            if not results or not results[-1].get("parameters", {}).get("results", [{}])[0].get("ok"):
                raise Broken(f"the new snapshot is not whole: {results}")

    def _check_service(self):
        """The next call is served, and shows the spool as it is."""
        replies = self.rig.call("List")
        if not replies or "error" in replies[-1]:
            raise Broken(f"the next call was not served: {replies}")
        answer = replies[-1]["parameters"]
        names = {head["name"] + ".ctprof.zst" for head in answer["snapshots"]}
        if answer["unreadable"] or names != set(self.rig.files()):
            raise Broken(f"the list shows {sorted(names)} and {answer['unreadable']}")

    def record(self):
        """The calls without a fault, and how often; fails when one has no row in faults.py."""
        for _ in range(2):  # the first fills caches of the daemon
            outcome, detail, calls = self.attempt()
            if outcome not in ("unharmed", "degraded"):
                raise Broken(f"without a fault: {outcome} {detail}")
        self.check_sandbox(calls)
        self.calls = collections.Counter(calls)
        unknown = {faults.name_of(call) for call in self.calls if faults.errors_of(call) is None}
        if unknown:
            raise Broken(f"calls without a row in faults.py: {sorted(unknown)}")

    @staticmethod
    def check_sandbox(calls):
        """No memory is asked of the kernel while libseccomp works, which would crash without."""
        grown = {}  # since each kind of job gave up its capabilities, which it does right before
        for call in calls:
            kind, name = call.split()[:2]
            if name == "capset":
                grown[kind] = None
            elif name in ("brk", "mmap"):
                grown[kind] = call
            elif name == "seccomp" and grown.get(kind):
                raise Broken(f"{grown[kind]} between the capabilities and the filter")

    def faults(self, everything):
        """The faults to try: of a call that comes often, the first, the second and the last."""
        for call, n in self.calls.items():
            turns = range(1, n + 1) if everything else sorted({1, 2, n} & set(range(1, n + 1)))
            for nth in turns:
                for error in faults.errors_of(call):
                    yield Fault(call, nth, error)

    def run(self, chosen, report):
        """Tries them one by one; a broken promise costs the daemon, which is started anew."""
        for fault in chosen:
            try:
                outcome, detail, _ = self.attempt(fault)
            except Broken as broken:
                outcome, detail = "BROKEN", f"{broken} {self.site}"
                self.revive()
            except (OSError, ValueError, KeyError, IndexError) as error:
                outcome, detail = "BROKEN", f"{type(error).__name__}: {error}"
                self.revive()
            report(Result(self.scenario.name, fault, outcome, detail or self.site))

    def revive(self):
        self.rig.stop()
        self.rig.reset()
        self.scenario.forget()
        self.start()
        self.attempt()

    def start(self):
        """A daemon without faults."""
        self.rig.launch(environment=self.environment())
        if not self.rig.await_start():
            raise Broken("the daemon does not start: " + " / ".join(self.rig.log_lines()))
        self.rig.tracer.end()
        if self.scenario.lacks:
            self.rig.tracer.always(errno.EOPNOTSUPP, self.scenario.lacks)

    def environment(self):
        return {}


class HeapCampaign(Campaign):
    """The same with allocations: one fails, or all from one on do."""

    def __init__(self, rig, scenario):
        super().__init__(rig, scenario)
        self.roles = {}

    def environment(self):
        return self.rig.heap.environment()

    def _begin(self, fault):
        self.rig.tracer.begin()
        if fault:
            self.rig.heap.arm(faults.role_of(fault.call), fault.nth, 0 if fault.error == faults.MALLOC_ON else 1)

    def _end(self, fault):
        _, calls = self.rig.tracer.end()
        if not fault:
            return 0, calls
        fired, self.site = self.rig.heap.disarm()
        return fired, calls

    def attempt(self, fault=None):
        """Allocations are counted, and a few more or less before them shift the one that fails."""
        try:
            return super().attempt(fault)
        except Broken:
            if "libseccomp" not in self.site:
                raise
            self.revive()
            return "not reached", self.site, []  # see faults()

    def record(self):
        for _ in range(2):
            self.attempt()
        for role in ROLES:
            self.rig.heap.record(role)
            self.scenario.prepare(self.rig)
            self.scenario.act(self.rig)
            self.rig.settle()
            self.roles[role] = self.rig.heap.sites()
        self.calls = collections.Counter(site for sites in self.roles.values() for site in sites)

    def faults(self, everything):
        for role, sites in self.roles.items():
            turns = collections.defaultdict(list)
            for nth, site in enumerate(sites, 1):
                turns[site].append(nth)
            for site, numbers in turns.items():
                if "libseccomp" in site:
                    continue  # it crashes, so sandbox.c sets aside what it takes: see check_sandbox()
                for nth in numbers if everything else sorted({*numbers[:2], numbers[-1]}):
                    for error in (faults.MALLOC, faults.MALLOC_ON):
                        yield Fault(f"{role} heap", nth, error)


class Startup:
    """The daemon is started with a fault in its way: it serves, or ends with one line that says why."""

    name = "startup"

    def __init__(self, rig):
        self.rig = rig
        self.calls = collections.Counter()

    def start(self):
        """Each attempt starts its own."""

    def attempt(self, fault=None):
        rig = self.rig
        rig.stop()
        files = rig.files()
        rig.launch(fault and faults.kind_of(fault.error), fault)
        if rig.await_start():
            fired, calls = rig.tracer.end()
            outcome, detail = self._serves()
        else:
            # Its calls went with the tracer.
            fired, calls = 1, []
            outcome, detail = self._ended(fault)
        if rig.files() != files:
            raise Broken("the spool was changed")
        return (outcome if fired or not fault else "not reached"), detail, calls

    def _serves(self):
        lines = self.rig.log_lines()
        replies = self.rig.call("List")
        if not replies or "error" in replies[-1]:
            name, text = reason_of(replies[-1]) if replies else ("", "")
            if not lines:
                raise Broken(f"it started without a word, and does not serve: {text}")
            return "degraded", f"{name}: {text}"
        return ("degraded", lines[0]) if lines else ("unharmed", "")

    def _ended(self, fault):
        status, lines = self.rig.tracer.process.returncode, self.rig.log_lines()
        if fault and faults.role_of(fault.call) == "loader":
            return "ended", f"status {status}: {lines}"
        if status not in (1, 2, 127):
            raise Broken(f"status {status}: {lines}")
        if len(lines) != 1:
            raise Broken(f"it says {lines}")
        return "ended", lines[0]

    def record(self):
        outcome, detail, calls = self.attempt()
        if outcome != "unharmed":
            raise Broken(f"without a fault: {outcome} {detail}")
        self.calls = collections.Counter(calls)
        unknown = {faults.name_of(call) for call in self.calls if faults.errors_of(call) is None}
        if unknown:
            raise Broken(f"calls without a row in faults.py: {sorted(unknown)}")

    def faults(self, everything):
        """Not the tracer's own call, which starts the daemon."""
        return (fault for fault in Campaign.faults(self, everything)
                if faults.name_of(fault.call) != "execve")

    def run(self, chosen, report):
        for fault in chosen:
            try:
                outcome, detail, _ = self.attempt(fault)
            except (Broken, OSError) as broken:
                outcome, detail = "BROKEN", str(broken)
            report(Result(self.name, fault, outcome, detail))


def print_table(results, calls, seconds):
    """Scenario and error against what came of it."""
    counts = collections.defaultdict(collections.Counter)
    for result in results:
        counts[(result.scenario, result.fault.error)][result.outcome] += 1
        counts[(result.scenario, "all")][result.outcome] += 1
        counts[("all", "all")][result.outcome] += 1
    print(f"{'scenario':<17}{'error':<13}{'injected':>9}" + "".join(f"{word:>12}" for word in OUTCOMES))
    for (scenario, error), row in counts.items():
        total = sum(row.values())
        print(f"{scenario:<17}{error:<13}{total:>9}" + "".join(f"{row[word] or '-':>12}" for word in OUTCOMES))
    for scenario, n in calls.items():
        print(f"{scenario}: {sum(n.values())} calls, {len(n)} kinds of them")
    print(f"{len(results)} faults in {seconds:.0f} s")


def now():
    return time.monotonic()
