# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done while something fails, and what has to come of it.

A scenario prepares the spool, acts, and judges a success. Refusals, leftovers and the daemon's health are
judged alike for all of them, see campaign.py.
"""
import array
import json
import os
import socket

from quality import Quality
from rig import NONSENSE, Broken

NEW = "new"


class Scenario:
    """One thing asked of the daemon."""

    name = ""
    adds = False  # a success leaves one snapshot more
    renames = False  # ... leaves as many
    lacks = ""  # what all calls that end so do not support

    def prepare(self, rig):
        """Called before every attempt, outside of what is counted."""

    def forget(self):
        """The daemon is a new one: what it answers without a fault is to be seen again."""

    def act(self, rig):
        """The replies, the last of which is the answer."""
        raise NotImplementedError

    def judge(self, rig, replies):
        """What a success came to: "unharmed" or "degraded"."""
        raise NotImplementedError


class Capture(Scenario):
    """A capture under a new name."""

    name = "capture"
    adds = True
    parameters = {"tag": NEW}
    file = NEW

    def __init__(self):
        self.quality = None

    def forget(self):
        self.quality = None

    def prepare(self, rig):
        rig.wipe(f"{NEW}.*")

    def act(self, rig):
        return rig.call("Capture", self.parameters, more=True)

    def judge(self, rig, replies):
        found = Quality(rig.document(self.file), rig.pid)
        if self.quality is None:
            self.quality = found
        return found.against(self.quality)


class Replace(Capture):
    """A capture that takes the place of another."""

    name = "replace"
    parameters = {"tag": "before", "replace": True, "smaps": False}
    file = "before"
    adds = False

    def prepare(self, rig):
        pass

    def judge(self, rig, replies):
        if replies[-1]["parameters"].get("replaced", {}).get("name") != self.file:
            raise Broken("the answer does not tell what was replaced")
        return super().judge(rig, replies)


class Anonymous(Capture):
    """A capture that goes nowhere but to the caller."""

    name = "anonymous"
    parameters = {"anonymous": True, "smaps": False}
    adds = False

    def prepare(self, rig):
        pass

    def act(self, rig):
        return call_with_file(rig, "Capture", self.parameters)

    def judge(self, rig, replies):
        if replies[-1].get("fd", 0) <= 0:
            raise Broken("the answer has no file")
        return "unharmed"


def call_with_file(rig, method, parameters, descriptors=()):
    """As rig.call(), with files; the one reply says as "fd" how large the one is that it came with."""
    with rig.connect() as connection:
        message = {"method": "io.ctprof.Profiler." + method, "parameters": parameters}
        socket.send_fds(connection, [json.dumps(message).encode() + b"\0"], descriptors)
        return receive_with_file(connection)


def receive_with_file(connection):
    """The one reply, with the size of the file it came with as "fd"."""
    data, size = b"", 0
    while not data.endswith(b"\0"):
        try:
            piece, fds, _, _ = socket.recv_fds(connection, 1 << 16, 4)
        except ConnectionResetError:
            return []
        except TimeoutError as error:
            raise Broken("no answer") from error
        for fd in fds:
            size = os.fstat(fd).st_size
            os.close(fd)
        if not piece:
            return []
        data += piece
    return [{**json.loads(data[:-1]), "fd": size}]


class Named:
    """A file system without unnamed files: what is not published must be removed."""

    lacks = " w-unnamed"


class NamedCapture(Named, Capture):
    name = "named-capture"


class NamedAnonymous(Named, Anonymous):
    name = "named-anonymous"


class Compare(Scenario):
    """Two snapshots side by side."""

    name = "compare"
    method = "Compare"
    parameters = {"before": {"name": "before"}, "after": {"name": "after"}, "view": {"changedOnly": False}}

    def __init__(self):
        self.wanted = None

    def act(self, rig):
        return rig.call(self.method, self.parameters, more=True)

    def judge(self, rig, replies):
        found = [reply["parameters"] for reply in replies if "progress" not in reply["parameters"]]
        if self.wanted is None:
            self.wanted = found
        return "unharmed" if found == self.wanted else self.judge_other(found)

    def judge_other(self, found):
        """An answer that is another than without a fault, which none but a failure may be."""
        differ = [(a, b) for a, b in zip(found, self.wanted) if a != b]
        raise Broken(f"of {len(self.wanted)} replies {len(found)} came, and of these differ {str(differ)[:300]}")


class Show(Compare):
    """One snapshot."""

    name = "show"
    method = "Show"
    parameters = {"snapshot": {"name": "before"}}


class Verify(Compare):
    """Every snapshot of the spool checked."""

    name = "verify"
    method = "Verify"
    parameters = {"snapshots": []}

    def judge_other(self, found):
        """What cannot be read is told as such, and the rest as ever."""
        results = {result["name"]: result for part in found for result in part["results"]}
        good = {result["name"]: result for part in self.wanted for result in part["results"]}
        if results == good:  # whose head could not be read comes last
            return "unharmed"
        if set(results) != set(good):
            raise Broken(f"the results are {results}")
        if any(not result["ok"] and NONSENSE.search(result["error"]) for result in results.values()):
            raise Broken(f"the results are {results}")
        return "degraded"


class Import(Scenario):
    """A file from outside becomes a snapshot of the spool."""

    name = "import"
    adds = True

    def __init__(self, source):
        self.source = source
        self.wanted = None

    def prepare(self, rig):
        rig.wipe(f"{NEW}.*")

    def act(self, rig):
        with open(self.source, "rb") as file:
            return call_with_file(rig, "Import", {"fileDescriptor": 0, "tag": NEW}, [file.fileno()])

    def judge(self, rig, replies):
        document = rig.document(NEW)
        found = document["threads"]
        if self.wanted is None:
            self.wanted = found
        if found != self.wanted:
            raise Broken("other threads were imported than without a fault")
        return "unharmed"


class NamedImport(Named, Import):
    name = "named-import"


class Convert(Import):
    """A file of the prior tool becomes a snapshot of the spool."""

    name = "convert"


class Export(Scenario):
    """A snapshot leaves as a descriptor; what is small enough to be served beside it follows."""

    name = "export"
    parameters = {"snapshot": {"name": "before"}}

    def act(self, rig):
        return call_with_file(rig, "Export", self.parameters)

    def judge(self, rig, replies):
        if replies[-1]["fd"] <= 0:
            raise Broken("the answer has no file")
        return "unharmed"


class Rename(Scenario):
    """A snapshot gets another name, and its own back."""

    name = "rename"
    renames = True

    def prepare(self, rig):
        there = rig.spool / "renamed.ctprof.zst"
        if there.exists():
            there.rename(rig.spool / "other.ctprof.zst")

    def act(self, rig):
        return rig.call("Rename", {"name": "other", "newName": "renamed"})

    def judge(self, rig, replies):
        if not (rig.spool / "renamed.ctprof.zst").exists():
            raise Broken("it was not renamed")
        return "unharmed"


class NamedRename(Named, Rename):
    name = "named-rename"


class Serve(Scenario):
    """A connection that asks what needs no snapshot: accept, read, write, close."""

    name = "serve"

    def act(self, rig):
        replies = []
        for method in ("List", "Info", "MetricList"):
            replies = rig.call(method, {"snapshot": {"name": "before"}} if method == "Info" else {})
            if not replies or "error" in replies[-1]:
                return replies
        return replies

    def judge(self, rig, replies):
        return "unharmed"


class Status(Scenario):
    """How the daemon is: a probe of every source."""

    name = "status"

    def act(self, rig):
        return rig.call("Status")

    def judge(self, rig, replies):
        return "unharmed"
