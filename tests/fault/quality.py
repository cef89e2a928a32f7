# SPDX-License-Identifier: GPL-2.0-or-later
"""How good a snapshot is beside another of the same host: what is missing must be counted as missing."""
import os

from rig import Broken

TROUBLES = ("denied", "vanished", "unsupported", "malformed", "other")
STATES = ("ok", "partial", "unavailable", "not-requested", "not-applicable")
# Not counters: they may become 0 in earnest.
MOVING = {"processor", "state", "nice", "priority", "self", "exe_dev", "ppid", "tid", "tgid", "policy", "cpu_affinity"}
# Measured anew each time, or of what is under way at the moment.
FLEETING = ("avg10", "avg60", "avg300", "current", "populated")


def flatten(value, path=""):
    """The numbers and texts of an object, by their path."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from flatten(member, f"{path}/{key}")
    elif value is not None:
        yield path, value


class Quality:
    """What a snapshot says of the threads that were there all the time, of the host, and of itself."""

    def __init__(self, document, daemon):
        lasting = {os.getpid(): "the test", daemon: "the daemon"}
        threads = document["threads"]
        self.threads = {}
        for row in threads["rows"]:
            thread = dict(zip(threads["columns"], row))
            if thread["tgid"] in lasting:
                # Whose it is, because a daemon that was started anew has other numbers.
                self.threads[f"{lasting[thread['tgid']]} {thread['tid'] - thread['tgid']}"] = thread
        self.others = {member: dict(flatten(document.get(member)))
                       for member in ("host", "psi", "cgroup_stats")}
        self.sources = {source["name"]: source for source in document["sources"]}

    def troubles(self):
        return sum(source[word] for source in self.sources.values() for word in TROUBLES
                   if not (word == "unsupported" and source["state"] == "unavailable"))

    def says_less_than(self, other):
        """Whether it admits to have less."""
        worse = any(STATES.index(source["state"]) > STATES.index(other.sources[name]["state"])
                    for name, source in self.sources.items())
        return worse or self.troubles() > other.troubles()

    def lost(self, other):
        """What the other has and this has not."""
        lost = []
        for name, theirs in other.threads.items():
            ours = self.threads.get(name)
            if ours is None:
                lost.append(f"thread of {name}")
                continue
            lost += [f"{column} of {name}" for column, value in theirs.items()
                     if value is not None and ours.get(column) is None]
        for member, theirs in other.others.items():
            lost += [f"{member}{path}" for path in theirs if path not in self.others[member]]
        return lost

    def zeros(self, other):
        """Counters that had a value and now claim to be 0."""
        zeros = []
        for name, theirs in other.threads.items():
            ours = self.threads.get(name, {})
            zeros += [f"{column} of {name}" for column, value in theirs.items()
                      if column not in MOVING and isinstance(value, int) and value and ours.get(column) == 0]
        for member, theirs in other.others.items():
            zeros += [f"{member}{path}" for path, value in theirs.items()
                      if value and self.others[member].get(path) == 0 and not path.endswith(FLEETING)]
        return zeros

    def against(self, other):
        """"unharmed" or "degraded"; never less without saying so, and never a 0 for what was not read."""
        zeros, lost, admits = self.zeros(other), self.lost(other), self.says_less_than(other)
        if zeros:
            raise Broken("zeros where nothing was read: " + ", ".join(zeros[:5]))
        if lost and not admits:
            raise Broken("lost without a word: " + ", ".join(lost[:5]))
        return "degraded" if lost or admits else "unharmed"
