# SPDX-License-Identifier: GPL-2.0-or-later
"""The three readers: how each is called, how its findings look, and a defect that it has to find."""
import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

import database


class Failure(Exception):
    """A sentence for the terminal: what keeps us from reading at all."""


@dataclasses.dataclass(frozen=True)
class Finding:
    check: str
    path: str  # from the root
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text} [{self.check}]"


@functools.cache
def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Tool:
    name = program = version = version_of = None
    # What it says on stdout or stderr: path, line, text, check.
    pattern = None
    # Check -> a program with that defect, and without it under MENDED.
    defects = {}
    # Further files that decide what is found.
    settings = ()
    # What it reads: tests run under sanitizers, and are the defects' own place now and then.
    components = ("protocol", "daemon", "client")

    def __init__(self, thorough):
        self.thorough = thorough

    def unfit(self, any_version):
        """Why this machine cannot be asked, or nothing. Findings and suppressions are those of one version."""
        if not shutil.which(self.program):
            return f"{self.program} is not installed"
        if not any_version and not re.search(self.version, self.identity()):
            return f"{self.name}: the findings of {self.version_of} are the ones that are mended"
        return None

    def identity(self):
        return first_line(self.program, "--version")

    def command(self, unit):
        raise NotImplementedError

    def key(self, root, unit):
        settings = [re.sub("^#.*", "", (root / path).read_text(), flags=re.M) for path in self.settings
                    if unit.path.startswith(path.rpartition("/")[0])]
        return database.digest(root, unit, self.identity(), self.command(unit), settings)

    def read(self, root, unit):
        """What the tool prints. One that died, or refused the file, leaves a finding of its own."""
        result = subprocess.run(self.command(unit), cwd=root, capture_output=True, text=True, errors="replace",
                                check=False)
        text = result.stdout + result.stderr
        if result.returncode != 0 and not self.findings(root, text):
            text += f"\n{unit.path}:1:1: error: {self.name} ended with {result.returncode} [failed]\n"
        return text

    def findings(self, root, text):
        found = []
        for path, line, sentence, check in self.pattern.findall(text):
            place = (root / path).resolve()
            if place.is_relative_to(root):
                found.append(Finding(check, str(place.relative_to(root)), int(line), sentence))
        return found

    def read_text(self, root, text):
        """The findings in a file of its own; where that lies is nobody's business."""
        with tempfile.TemporaryDirectory() as directory:
            here = pathlib.Path(directory).resolve()
            for path in self.settings:
                if "/" not in path:
                    (here / path).write_text((root / path).read_text())
            (here / "defect.c").write_text(text)
            return self.findings(here, self.read(here, database.Unit("defect.c", ("-std=gnu11", "-D_GNU_SOURCE"))))


class ClangTidy(Tool):
    name = program = "clang-tidy"
    version, version_of = r"version 14\.", "clang-tidy 14"
    pattern = re.compile(r"^([^:\n]+):(\d+):\d+: (?:warning|error): (.*) \[([^\]\s]+)\]$", re.M)
    settings = (".clang-tidy", "tests/.clang-tidy")
    components = (*Tool.components, "tests")
    defects = {
        "clang-analyzer-core.NullDereference": """
            int first(const int *numbers, int n);
            int first(const int *numbers, int n) {
            #ifndef MENDED
                    if (!numbers)
                            return n > 0 ? numbers[0] : 0;
            #endif
                    return numbers[0];
            }
            """,
        "bugprone-suspicious-string-compare": """
            #include <string.h>
            int same(const char *a, const char *b);
            int same(const char *a, const char *b) {
            #ifdef MENDED
                    return strcmp(a, b) == 0;
            #else
                    return strcmp(a, b) == 1;
            #endif
            }
            """,
    }
    # Nodes of a function's graph before the analyzer gives up on it; its own bound is 225,000.
    bounds = ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000")

    def command(self, unit):
        bounds = () if self.thorough else self.bounds
        return [self.program, "--quiet", unit.path, "--", *unit.flags, *bounds]


class Cppcheck(Tool):
    name = program = "cppcheck"
    version, version_of = r" 2\.10$", "cppcheck 2.10"
    pattern = re.compile(r"^([^:\n]+):(\d+):\d+: (.*) \[([^\]\s]+)\]$", re.M)
    defects = {
        "arrayIndexOutOfBounds": """
            int last(const int *from);
            int last(const int *from) {
                    int numbers[4] = { from[0], from[1] };
            #ifdef MENDED
                    return numbers[3];
            #else
                    return numbers[4];
            #endif
            }
            """,
    }
    # Statement expressions are beyond its grammar, so they stay calls; the digits of an id are no C.
    readings = ("-UTAKE", "-UMIN_OF", "-UMAX_OF", "-DSD_ID128_MAKE(...)={0}")

    def command(self, unit):
        flags = [flag for flag in unit.flags if flag.startswith(("-I", "-D"))]
        return [self.program, "--quiet", "--enable=warning,performance,portability", "--std=c11",
                "--platform=unix64", "--library=posix,gnu", "--error-exitcode=1",
                "--template={file}:{line}:{column}: {message} [{id}]", *self.readings, *flags, unit.path]


class Gcc(Tool):
    name, program = "gcc-analyzer", "gcc"
    version, version_of = r"^gcc .* 12\.", "gcc 12"
    pattern = re.compile(r"^([^:\n]+):(\d+):\d+: (?:warning|error): (.*) \[([^\]\s]+)\]$", re.M)
    defects = {
        "-Wanalyzer-double-free": """
            #include <stdlib.h>
            void twice(char *text);
            void twice(char *text) {
                    free(text);
            #ifndef MENDED
                    free(text);
            #endif
            }
            """,
    }

    def command(self, unit):
        return [self.program, "-fanalyzer", "-fdiagnostics-color=never", *unit.flags, "-c", "-o", "/dev/null",
                unit.path]


TOOLS = {tool.name: tool for tool in (ClangTidy, Cppcheck, Gcc)}
