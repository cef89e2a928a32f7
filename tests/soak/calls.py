# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls at random: every method with everything it can be asked, mostly right and sometimes wrong."""
import dataclasses

PROFILER = "io.ctprof.Profiler"
SERVICE = "org.varlink.service"
AXES = ["pcomm", "command", "comm", "comm-exact", "cgroup", "all", "thread"]
SECTIONS = ["primary", "taskstats-delay", "taskstats-accounting", "derived", "smaps-rollup", "host-pressure",
            "sched-ext", "cgroup-stats", "cgroup-limits", "memory-stat", "memory-events", "pressure"]
GLOBS = ["/**", "/*", "/churn-*/*", "/tree-*/**", "/[a-z]*", "/nowhere"]
FILTERS = ["*", "?*", "*-*", "k*", "/*", "[!a-m]*", "ctprof*", "nobody-*"]
ODD_NAMES = ["", ".", "a/b", "latest", "-x", "é", "x" * 65, "a\u0001", "x.zst"]
TAGS_PER_USER = 20


@dataclasses.dataclass
class Call:
    method: str
    parameters: dict = dataclasses.field(default_factory=dict)
    more: bool = False
    descriptor: bool = False  # the client sends one of the files that it has along
    right: bool = True        # right calls are not refused for how they are made
    changes: tuple = ()       # names that it may make or remove

    @property
    def name(self):
        return self.method.rpartition(".")[2]


class Caller:
    """The calls of one client."""

    def __init__(self, rng, uid, metrics, derived):
        self.rng = rng
        self.uid = uid
        self.metrics = metrics
        self.derived = derived
        self.names = []  # of the last list; others may have changed it since
        self.has_file = False

    def maybe(self, share):
        return self.rng.random() < share

    # words

    def own_name(self, kind="t"):
        return f"{kind}{self.uid}-{self.rng.randrange(TAGS_PER_USER)}"

    def some_name(self):
        if self.names and self.maybe(0.8):
            return self.rng.choice(self.names)
        return self.rng.choice(["latest", "latest", "latest", "latest~1", "latest~1", self.own_name(),
                                f"latest~{self.rng.randrange(20)}", "no-such-snapshot"])

    def fixed_name(self, kind):
        """One that names the same snapshot whenever it is looked at; of kind "t", also of others."""
        names = self.names if kind == "t" else ()
        return self.rng.choice(names) if names and self.maybe(0.6) else self.own_name(kind)

    def reference(self, may_send=False):
        if may_send and self.has_file and self.maybe(0.2):
            return {"fileDescriptor": 0, "label": "sent"} if self.maybe(0.5) else {"fileDescriptor": 0}
        return {"name": self.some_name()}

    def sample(self, words, most):
        return self.rng.sample(words, self.rng.randint(1, min(most, len(words))))

    def view(self, fixed):
        """A view at random, but for these members; None leaves one out."""
        rng = self.rng
        cgroups = [f"/churn-{rng.randrange(9)}", "/a", "/b/c", "/tree-1/c1"]
        view = {
            "groupBy": lambda: rng.choice(AXES),
            "threadNormalize": lambda: self.maybe(0.5),
            "cgroupNormalize": lambda: self.maybe(0.5),
            "cgroupFlatten": lambda: self.sample(GLOBS, 3),
            "sections": lambda: self.sample(SECTIONS, 6),
            "metrics": lambda: self.sample(self.metrics + self.derived, 12),
            "sortBy": self.order,
            "filter": lambda: rng.choice(FILTERS),
            "threshold": lambda: rng.choice([0, 0.5, 5, 100.25, 1e9]),
            "pairing": lambda: self.maybe(0.5),
            "pairs": lambda: [dict(zip(("old", "new"), rng.sample(cgroups, 2)))],
            "window": lambda: self.maybe(0.5),
            "spread": lambda: self.maybe(0.5),
            "limit": lambda: rng.choice([0, 0, 1, 3, 40, 1000]),
            "changedOnly": lambda: self.maybe(0.5),
            "self": lambda: self.maybe(0.5),
        }
        chosen = {key: make() for key, make in view.items() if key not in fixed and self.maybe(0.25)}
        return {**chosen, **{key: value for key, value in fixed.items() if value is not None}}

    def of_one_side(self, view):
        """The same without what an interval cannot give."""
        return {key: value for key, value in view.items()
                if key != "threshold" and (key, value) != ("sortBy", "percent")}

    def order(self):
        if self.maybe(0.5):
            return self.rng.choice(["impact", "delta", "percent", "name"])
        words = ["run_time_ns", "wait_time_ns:asc", "thread_count:desc", "minflt", "avg_slice_ns"]
        return ",".join(self.sample(words, 3))

    # methods

    def capture(self, kind="t"):
        parameters, changes = {}, ()
        if self.maybe(0.5):
            parameters["tag"] = self.own_name(kind)
            changes = (parameters["tag"],)
            if self.maybe(0.6):
                parameters["replace"] = self.maybe(0.9)
        if self.maybe(0.3):
            parameters["smaps"] = self.maybe(0.5)
        elif self.maybe(0.3):
            parameters["smapsMode"] = self.rng.choice(["all", "small", "none"])
        if self.maybe(0.3):
            parameters["heap"] = self.maybe(0.5)
        if self.maybe(0.15):
            parameters["anonymous"] = True
            changes = ()
        return Call(f"{PROFILER}.Capture", parameters, more=self.maybe(0.5), changes=changes)

    def record(self):
        rng = self.rng
        parameters, changes = {"forNs": rng.choice([1, 50, 300, 1500]) * 1_000_000}, ()
        if self.maybe(0.4):
            parameters["tag"] = self.own_name()
            parameters["replace"] = self.maybe(0.9)
            changes = (parameters["tag"],)
        elif self.maybe(0.3):
            parameters["anonymous"] = True
        choices = {
            "periodNs": lambda: rng.choice([1_000_000, 10_000_000, 1_000_000_000]),
            "stackBytes": lambda: rng.choice([0, 1024, 16384, 32768]),
            "kernelStacks": lambda: self.maybe(0.5),
            "onCpu": lambda: self.maybe(0.5),
            "wakers": lambda: self.maybe(0.5),
            "everyNs": lambda: rng.choice([100_000_000, 1_000_000_000]),
            "lines": lambda: self.maybe(0.3),
            "filter": lambda: rng.choice([{"uids": [self.uid]}, {"comm": "k*"}, {"pids": [1]}, {}]),
        }
        parameters.update((key, make()) for key, make in choices.items() if self.maybe(0.25))
        if parameters.get("stackBytes") == 0:
            parameters.pop("lines", None)
        return Call(f"{PROFILER}.Record", parameters, more=True, changes=changes)

    def end_recording(self):
        return Call(f"{PROFILER}.EndRecording")

    def stacks(self):
        parameters = {"recording": {"name": self.some_name()}}
        if self.maybe(0.6):
            parameters["limit"] = self.rng.choice([0, 1, 10, 1000])
        for key in ("wakers", "course", "histogram", "files", "lines"):
            if self.maybe(0.2):
                parameters[key] = self.maybe(0.8)
        # A snapshot has none, and a recording not all of these.
        return Call(f"{PROFILER}.Stacks", parameters, more=True, right=None)

    def list(self):
        parameters = {}
        if self.maybe(0.3):
            parameters["sinceRealtimeNs"] = self.rng.choice([0, 1 << 60, (1 << 64) - 1])
        if self.maybe(0.3):
            parameters["untilRealtimeNs"] = self.rng.choice([0, 1 << 61, (1 << 64) - 1])
        return Call(f"{PROFILER}.List", parameters, more=self.maybe(0.5))

    def show(self):
        reference = self.reference(may_send=True)
        parameters = {"snapshot": reference}
        if self.maybe(0.3):
            reference["to"] = {"name": self.some_name()}
        if self.maybe(0.9):
            parameters["view"] = self.of_one_side(self.view({"window": None}))
        return Call(f"{PROFILER}.Show", parameters, more=True, descriptor="fileDescriptor" in reference)

    def compare(self):
        before = self.reference(may_send=True)
        parameters = {"before": before, "after": self.reference()}
        if self.maybe(0.9):
            parameters["view"] = self.view({})
            if parameters["view"] != self.of_one_side(parameters["view"]) or self.maybe(0.3):
                parameters["view"] = {**parameters["view"], "totals": True, "window": False}
        return Call(f"{PROFILER}.Compare", parameters, more=True, descriptor="fileDescriptor" in before)

    def compare_sets(self):
        names = self.rng.sample(self.names, min(len(self.names), self.rng.randint(2, 10))) or ["latest"]
        middle = self.rng.randint(1, max(1, len(names) - 1))
        parameters = {"before": [{"name": name} for name in names[:middle]],
                      "after": [{"name": name} for name in names[middle:]]}
        if self.maybe(0.8):
            parameters["view"] = self.view({"groupBy": self.rng.choice(AXES[:-1]), "window": None, "pairs": None})
        if self.maybe(0.3):
            parameters["alpha"] = self.rng.choice([0.01, 0.2, 0.999])
        # Several names may be copies of one capture, which is refused.
        return Call(f"{PROFILER}.CompareSets", parameters, more=True, right=None)

    def info(self):
        reference = self.reference(may_send=True)
        return Call(f"{PROFILER}.Info", {"snapshot": reference}, descriptor="fileDescriptor" in reference)

    def metric_list(self):
        return Call(f"{PROFILER}.MetricList")

    def verify(self):
        references = [{"name": self.some_name()} for _ in range(self.rng.choice([0, 1, 1, 3, 8]))]
        return Call(f"{PROFILER}.Verify", {"snapshots": references}, more=self.maybe(0.5))

    def remove(self, kind="t"):
        names = {self.fixed_name(kind) for _ in range(self.rng.choice([1, 1, 1, 2, 4]))}
        return Call(f"{PROFILER}.Remove", {"names": sorted(names)}, changes=tuple(names))

    def rename(self, kind="t"):
        name, new_name = self.fixed_name(kind), self.own_name(kind)
        return Call(f"{PROFILER}.Rename", {"name": name, "newName": new_name}, changes=(name, new_name))

    def export(self):
        parameters = {"snapshot": self.reference()}
        if self.maybe(0.5):
            parameters["format"] = self.rng.choice(["ctprof", "ktstr", "ndjson"])
        return Call(f"{PROFILER}.Export", parameters)

    def import_(self, kind="i"):
        name = self.own_name(kind)
        parameters = {"fileDescriptor": 0, "tag": name}
        if self.maybe(0.5):
            parameters["label"] = "a-label"
        if not self.has_file:
            return self.export()
        return Call(f"{PROFILER}.Import", parameters, descriptor=True, changes=(name,))

    def status(self):
        return Call(f"{PROFILER}.Status")

    def get_info(self):
        return Call(f"{SERVICE}.GetInfo")

    def get_description(self):
        return Call(f"{SERVICE}.GetInterfaceDescription", {"interface": self.rng.choice([PROFILER, SERVICE])})

    METHODS = [("capture", 10), ("list", 10), ("show", 14), ("compare", 14), ("compare_sets", 5), ("info", 8),
               ("metric_list", 3), ("verify", 5), ("remove", 6), ("rename", 4), ("export", 6), ("import_", 5),
               ("status", 5), ("record", 3), ("end_recording", 2), ("stacks", 6), ("get_info", 3), ("get_description", 2), ("wrong", 8)]

    def any(self):
        names, weights = zip(*self.METHODS)
        return getattr(self, self.rng.choices(names, weights)[0])()

    def wrong(self):
        """A call that is well-formed and cannot be right."""
        method, parameters, more = self.rng.choice(wrong_calls())
        return Call(f"{PROFILER}.{method}", parameters, more=more, right=False)


def wrong_calls():
    """Methods, parameters and "more" of calls that must be refused, each for one reason."""
    latest = {"name": "latest"}
    views = [{"groupBy": "colour"}, {"limit": -1}, {"limit": "all"}, {"metrics": ["no_such"]}, {"metrics": "x"},
             {"sections": ["primary", "primary"]}, {"filter": "["}, {"filter": 5}, {"threshold": -1},
             {"sortBy": "policy"}, {"window": 1}, {"cgroupFlatten": ["["]}, {"pairs": [{"old": "/a"}]},
             {"shape": "round"}, []]
    calls = [
        ("Capture", {"replace": True}, False), ("Capture", {"tag": 5}, True), ("Capture", {"smaps": "yes"}, False),
        ("Capture", {"unknown": 1}, False), ("List", {"sinceRealtimeNs": -1}, False),
        ("List", {"sinceRealtimeNs": "now"}, True), ("Show", {}, True), ("Show", {"snapshot": latest}, False),
        ("Show", {"snapshot": {"name": "latest", "fileDescriptor": 0}}, True),
        ("Show", {"snapshot": {"fileDescriptor": 3}}, True), ("Show", {"snapshot": {}}, True),
        ("Compare", {"before": latest}, True), ("Compare", {"before": latest, "after": latest}, False),
        ("CompareSets", {"before": [], "after": []}, True),
        ("CompareSets", {"before": [latest] * 65, "after": [latest] * 65}, True),
        ("CompareSets", {"before": [latest], "after": [latest], "alpha": 2}, True),
        ("Info", {"snapshot": "latest"}, False), ("Info", {}, True), ("Verify", {}, False),
        ("Verify", {"snapshots": [{"name": "latest", "size": 1}]}, False),
        ("Remove", {"names": "all"}, False), ("Remove", {"names": ["x"] * 300}, False), ("Remove", {}, False),
        ("Rename", {"name": "x"}, False), ("Export", {"snapshot": latest, "format": "gif"}, False),
        ("Export", {"snapshot": {"fileDescriptor": 0}}, False),
        ("Import", {"fileDescriptor": 0, "tag": "a"}, False), ("Import", {"fileDescriptor": -1}, False),
        ("Import", {"tag": "a"}, False), ("Record", {"forNs": 1}, False), ("Record", {"forNs": 0}, True),
        ("Record", {"forNs": 1, "periodNs": "10ms"}, True), ("Record", {"forNs": 1, "stackBytes": 32769}, True),
        ("Record", {"forNs": 1, "onCpu": False, "offCpu": False}, True), ("Record", {"forNs": 1, "wakers": True, "offCpu": False}, True),
        ("Record", {"forNs": 1, "everyNs": 1}, True), ("Record", {"forNs": 1, "filter": {"colour": 1}}, True),
        ("EndRecording", {"all": True}, False), ("Stacks", {}, True), ("Stacks", {"recording": latest}, False),
        ("Stacks", {"recording": latest, "limit": -1}, True), ("Stacks", {"recording": latest, "places": ["nowhere"]}, True),
        ("MetricList", {"all": True}, False), ("Status", {"all": True}, False),
        ("NoSuchMethod", {}, False)]
    calls += [("Capture", {"tag": name}, False) for name in ODD_NAMES]
    calls += [("Remove", {"names": [name]}, False) for name in ODD_NAMES if name != "latest"]
    calls += [("Rename", {"name": "latest", "newName": name}, False) for name in ODD_NAMES]
    calls += [("Show", {"snapshot": latest, "view": view}, True) for view in views]
    calls += [("Compare", {"before": latest, "after": latest, "view": view}, True) for view in views]
    return calls
