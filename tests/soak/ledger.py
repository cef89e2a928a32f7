# SPDX-License-Identifier: GPL-2.0-or-later
"""What the daemon has acknowledged about its spool, and whether the spool is so in the end.

A life of a snapshot is (name, begin of its capture). Acknowledged calls begin and end lives; calls of
which nobody heard the end may have done so, and cast doubt on the names they were about, for lives that
began before they were over. Only the machine itself may end a life unasked: that of an untagged snapshot,
for a call that was given up when room had been made for it.
"""
import collections
import re


def _life(head):
    return head["name"], head.get("startRealtimeNs")


class Ledger:
    def __init__(self):
        self.balance = collections.Counter()
        self.owner = {}
        self.untagged = set()
        self.begun = {}                       # life -> when the call that began it last was made
        self.rotated = collections.Counter()  # names
        self.doubts = {}                      # name -> until when
        self.adding_doubt = 0                 # until when a call that makes room may have done so
        self.logged = set()                   # names of snapshots that were made
        self.faults = []
        self.counts = collections.Counter()

    def _begin(self, head, sent):
        life = _life(head)
        self.balance[life] += 1
        self.owner[life] = head.get("uid")
        self.begun[life] = max(sent, self.begun.get(life, 0))
        if head.get("tagged"):
            self.untagged.discard(life)
        else:
            self.untagged.add(life)

    def _end(self, life):
        self.balance[life] -= 1

    def acknowledge(self, method, uid, parameters, sent):
        """The last reply to a successful call."""
        self.counts[method] += 1
        for name in parameters.get("rotated") or ():
            self.rotated[name] += 1
        if method in ("Capture", "Record") and "fileDescriptor" not in parameters:
            self._begin(parameters["snapshot"], sent)
        if parameters.get("replaced"):
            self._taken(uid, parameters["replaced"], "replaced")
        for head in parameters.get("snapshots") or ():
            if method == "Remove":
                self._taken(uid, head, "removed")
            elif method == "Import":
                self._begin(head, sent)
            elif method == "Rename":
                if head.get("uid") not in (uid, None) and uid != 0:
                    self.faults.append(f"uid {uid} renamed {head['name']} of uid {head.get('uid')}")
                self._end((parameters["oldName"], head.get("startRealtimeNs")))
                self._begin(head, sent)

    def _taken(self, uid, head, how):
        self._end(_life(head))
        if uid not in (0, head.get("uid")):
            self.faults.append(f"uid {uid} {how} {head['name']} of uid {head.get('uid')}")

    def doubt(self, method, names, answered):
        """A call that changes snapshots and whose end nobody knows."""
        self.counts["calls of unknown end"] += 1
        for name in names:
            self.doubts[name] = max(answered, self.doubts.get(name, 0))
        if method in ("Capture", "Import", "Record"):
            self.adding_doubt = max(answered, self.adding_doubt)

    def take_log(self, text):
        """What the daemon logged: also rotations and captures of which no caller heard."""
        self.logged = set(re.findall(r'(?:took snapshot|imported snapshot|recorded) "([^"]+)"', text))
        logged = collections.Counter(re.findall(r"made room by removing snapshot \"?([^\s\"]+)", text))
        for name, n in self.rotated.items():
            if logged[name] < n:
                self.faults.append(f"{name} was rotated, and the log does not say so")
        self.rotated = logged

    def _is_doubtful(self, life):
        return self.doubts.get(life[0], -1) >= self.begun.get(life, 0)

    def judge(self, heads):
        """The list at the end against all that was acknowledged; returns what does not fit."""
        faults = list(self.faults)
        present = {_life(head): head for head in heads}
        for life, n in self.balance.items():
            if life in self.untagged and n > 0 and self.rotated[life[0]] > 0:
                self.rotated[life[0]] -= 1
                n -= 1
            if self._is_doubtful(life):
                self.counts["in doubt"] += 1
            elif n == -1 and life not in self.begun and life[0] in self.logged and life not in present:
                self.counts["made for a call of unknown end"] += 1
            elif n not in (0, 1):
                faults.append(f"{life[0]} was made and removed {n} times too often")
            elif n == 1 and life not in present:
                if life in self.untagged and self.adding_doubt >= self.begun[life]:
                    self.counts["rotated for a call that was given up"] += 1
                else:
                    faults.append(f"{life[0]} was acknowledged and is gone")
            elif n == 0 and life in present:
                faults.append(f"{life[0]} is there and was removed")
            else:
                self.counts["as acknowledged"] += 1
                head = present.get(life)
                if head and head.get("uid") != self.owner[life]:
                    faults.append(f"{life[0]} belongs to uid {head.get('uid')}, not {self.owner[life]}")
        for life in present.keys() - self.balance.keys():
            # An untagged capture names itself, so nobody could say which name is in doubt.
            untagged = not present[life].get("tagged")
            if life[0] not in self.doubts and not (untagged and self.adding_doubt > 0):
                faults.append(f"{life[0]} is there and nobody made it")
        return faults
