# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of findings that are wrong, each with its reason.

A line has four parts: tool, check, file, and the flagged line from its first character that is no blank, or a
beginning of it; "*" stands for every file or line. The comment above it is the reason.
"""
import dataclasses
import functools

from tools import Failure


@dataclasses.dataclass
class Suppression:
    tool: str
    check: str
    file: str
    line: str
    n_hidden: int = 0

    def __str__(self):
        return f"{self.tool} {self.check} {self.file} {self.line}"

    def matches(self, tool, finding, text):
        return ((self.tool, self.check) == (tool, finding.check) and self.file in ("*", finding.path) and
                (self.line == "*" or text.startswith(self.line) or finding.text.startswith(self.line)))


@functools.cache
def source_lines(path):
    return path.read_text(encoding="utf-8").splitlines()


class Suppressions:
    def __init__(self, root, entries):
        self.root = root
        self.entries = entries

    def hides(self, tool, finding):
        lines = source_lines(self.root / finding.path)
        text = lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else ""
        matching = [entry for entry in self.entries if entry.matches(tool, finding, text)]
        for entry in matching:
            entry.n_hidden += 1
        return bool(matching)

    def idle(self, tool):
        return [entry for entry in self.entries if entry.tool == tool and not entry.n_hidden]


def load(root, path):
    entries, has_reason = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            has_reason = False
        elif line.startswith("#"):
            has_reason = True
        else:
            words = line.split(None, 3)
            if len(words) != 4:
                raise Failure(f"{path}:{number}: a tool, a check, a file and a line are expected")
            if not has_reason:
                raise Failure(f"{path}:{number}: no reason stands above it")
            entries.append(Suppression(*words))
    return Suppressions(root, entries)
