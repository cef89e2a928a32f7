# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a meson build as the compiler sees them, and what was said about them before."""
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import tempfile
import time

INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)


@dataclasses.dataclass(frozen=True)
class Unit:
    """One source, and the flags that decide what its text means."""
    path: str  # from the root
    flags: tuple

    @property
    def directory(self):
        return self.path.rpartition("/")[0]

    @property
    def include_paths(self):
        return tuple(flag[2:] for flag in self.flags if flag.startswith("-I"))


def units(root, build):
    """Each source of ours once: where several targets compile it, as the first of them does."""
    found = {}
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        source = pathlib.Path(os.path.normpath(os.path.join(command["directory"], command["file"])))
        if source.suffix == ".c" and source.is_relative_to(root) and not source.is_relative_to(build):
            path = str(source.relative_to(root))
            found.setdefault(path, Unit(path, tuple(meaning(command))))
    return [found[path] for path in sorted(found)]


def meaning(command):
    """Include paths, made absolute, definitions and the language; neither warnings nor sanitizers."""
    for word in shlex.split(command["command"]):
        flag = next((flag for flag in ("-isystem", "-I") if word.startswith(flag)), None)
        if flag:
            path = os.path.normpath(os.path.join(command["directory"], word[len(flag):]))
            if os.path.isdir(path):
                yield flag + path
        elif word.startswith(("-D", "-std=")):
            yield word


@functools.cache
def read_bytes(path):
    return pathlib.Path(path).read_bytes()


@functools.cache
def own_includes(path, include_paths):
    """The headers that @path names in quotation marks, found as the compiler finds them."""
    places = (os.path.dirname(path), *include_paths)
    names = [name.decode() for name in INCLUDE.findall(read_bytes(path))]
    candidates = [[os.path.join(place, name) for place in places] for name in names]
    return [next(filter(os.path.isfile, each), None) for each in candidates]


def inputs(root, unit):
    """The source and every header of ours below it."""
    waiting, seen = [str(root / unit.path)], set()
    while waiting:
        path = waiting.pop()
        if path and path not in seen:
            seen.add(path)
            waiting += own_includes(path, unit.include_paths)
    return sorted(seen)


def digest(root, unit, *settings):
    """Changes with the text of the unit or its headers, its flags, or @settings; not with where the clone lies, nor with
    which of its builds is asked."""
    named = re.sub(rf"{re.escape(str(root))}(/build(-[a-z]+)?(?=/))?", "ROOT", repr((unit, settings)))
    sum_ = hashlib.sha256(named.encode())
    for path in inputs(root, unit):
        sum_.update(hashlib.sha256(read_bytes(path)).digest())
    return sum_.hexdigest()


class Store:
    """The text about each unit that was read, by its key; for all clones of one user, as ccache keeps objects.

    What nobody has asked for in a month goes."""

    LIFE = 30 * 86400

    def __init__(self):
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        self.directory = pathlib.Path(base) / "ctprof-static"
        for file in self.directory.glob("*/*"):
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < time.time() - self.LIFE:
                    file.unlink()

    def get(self, key, make):
        """The text, and whether it was there."""
        file = self.directory / key[:2] / key
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = file.read_text()
            os.utime(file)
            return text, True
        text = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two runs may read the same unit at once; neither shows the other half of a text.
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as part:
            part.write(text)
        os.replace(part.name, file)
        return text, False
