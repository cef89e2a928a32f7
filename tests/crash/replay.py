# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded sequence of file operations, and every directory that a power loss within it can leave.

The file system that is modelled keeps what POSIX makes it keep, and nothing else:

- After fsync(2) of a file its bytes and its length are safe. Its name is not.
- After fsync(2) of a directory the names in it, as they were then, are safe. The bytes of the files and
  the names in directories below are not.
- Bytes that were not synced: all of them may be there, or none; the file may have its full length and
  zeros or foreign bytes in their place; it may end after any of the first pages or in the middle of a
  sector; a page in the middle, the first or the last may be missing.
- Names that were not synced: each name is, independently of all others, any of what it was since the last
  sync of its directory. So the order of changes is not kept, and a rename may have given the new name
  without having taken the old one. What no file system does is not modelled: a name that was there before
  and after a rename over it is never absent, and a name never means a file that it never meant.
- A directory that was made is a name in its parent, and is lost with all below when that was not synced.

A power loss is tried after every operation of the record. ext4, xfs and btrfs allow much less; what is
allowed here and holds needs no knowledge of any of them.
"""
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib

PAGE = 4096
SECTOR = 512
JOBS = b"ctprof order "
MOST_STATES = 20000  # of one instant: beyond that the enumeration is wrong, or the product is
DIRECTORY = "directory"  # what a state has in place of bytes


class File:
    """Bytes as of every operation on them."""

    def __init__(self, data=b""):
        self.base = data  # what is safe
        self.pending = []  # (offset, bytes) or (None, size) since
        self.final = data

    def write(self, offset, data):
        self.pending.append((offset, data))
        self.final = _apply(self.final, offset, data)

    def truncate(self, size):
        self.pending.append((None, size))
        self.final = _apply(self.final, None, size)

    def sync(self):
        self.base, self.pending = self.final, []

    def variants(self):
        """All contents that this file may have now."""
        if not self.pending:
            return [self.base]
        full, safe = self.final, min(len(self.base), len(self.final))
        touched = [offset for offset, _ in self.pending if offset is not None]
        start = min([safe] + touched) // PAGE * PAGE
        found = {self.base, full, full[:start] + bytes(len(full) - start), full[:safe] + b"\xa5" * (len(full) - safe)}
        cuts = {start + PAGE, (start + len(full)) // 2 // PAGE * PAGE, (len(full) - 1) // PAGE * PAGE,
                (len(full) - 1) // SECTOR * SECTOR, len(full) - 1}
        found |= {full[:cut] for cut in cuts if start < cut < len(full)}
        pages = {start, (start + len(full)) // 2 // PAGE * PAGE, (len(full) - 1) // PAGE * PAGE}
        for page in pages:
            rest = full[page + PAGE:]
            found.add(full[:page] + bytes(min(PAGE, max(0, len(full) - page))) + rest)
        return sorted(found)


def _apply(data, offset, what):
    if offset is None:
        return data[:what] + bytes(max(0, what - len(data)))
    return data[:offset] + bytes(max(0, offset - len(data))) + what + data[offset + len(what):]


class Directory:
    """Names as of every operation on them."""

    def __init__(self):
        self.names = {}  # now
        self.histories = {}  # name -> [what is safe, then everything it was since]

    def bind(self, name, node):
        self.histories.setdefault(name, [self.names.get(name)]).append(node)
        self.names[name] = node
        if node is None:
            del self.names[name]

    def sync(self):
        self.histories = {}


@dataclasses.dataclass
class Event:
    number: int
    pid: int
    op: str
    fields: dict
    data: bytes = b""


def read_record(path):
    """The events of a record, in order; the last line is one only when all of it has been written."""
    data = pathlib.Path(f"{path}.data").read_bytes()
    events = []
    for line in pathlib.Path(path).read_text(encoding="ascii").split("\n")[:-1]:
        fields = json.loads(line)
        at, size = fields.pop("data", (0, 0))
        events.append(Event(fields.pop("n"), fields.pop("pid"), fields.pop("op"), fields, data[at:at + size]))
    return events


def inode_of(path):
    found = os.stat(path)
    return f"{os.major(found.st_dev)}.{os.minor(found.st_dev)}:{found.st_ino}"


def read_disk(root):
    """[(path, inode, bytes or DIRECTORY)] of a real directory, parents first."""
    found = [("", inode_of(root), DIRECTORY)]
    for path in sorted(pathlib.Path(root).rglob("*")):
        if path.is_dir() or path.is_file():
            content = path.read_bytes() if path.is_file() else DIRECTORY
            found.append((str(path.relative_to(root)), inode_of(path), content))
    return found


class Tree:
    """A directory and all below, as the operations of a record change it. @disk was there before, and is safe."""

    def __init__(self, disk):
        self.inodes = {}
        self.counts = {}
        for path, inode, content in disk:
            node = self.inodes[inode] = Directory() if content == DIRECTORY else File(content)
            if not path:
                self.root = node
                continue
            above, _, name = path.rpartition("/")
            self.directory(above).names[name] = node

    def apply(self, event):
        """Whether this was an operation on the tree."""
        handler = getattr(self, "_" + event.op.replace("-", "_"), None)
        done = handler(event) if handler else False
        if done:
            self.counts[event.op] = self.counts.get(event.op, 0) + 1
        return done

    def _node(self, event, key="inode"):
        return self.inodes.get(event.fields.get(key))

    def _create(self, event):
        directory = self._node(event, "directory")
        if not directory:
            if "directory" in event.fields:
                self.inodes.pop(event.fields["inode"], None)  # a number of the tree that is used elsewhere now
                return False
            self.inodes[event.fields["inode"]] = File()  # O_TMPFILE, wherever it will be linked
            return True
        name = event.fields["name"]
        if event.fields["flags"] & os.O_TRUNC:
            raise AssertionError(f"an operation that the model does not know: {event}")
        if name not in directory.names:
            self.inodes[event.fields["inode"]] = File()
            directory.bind(name, self.inodes[event.fields["inode"]])
        return True

    def _write(self, event):
        file = self._node(event)
        if file:
            file.write(event.fields["offset"], event.data)
        return bool(file)

    def _truncate(self, event):
        file = self._node(event)
        if file:
            file.truncate(event.fields["size"])
        return bool(file)

    def _link(self, event):
        directory = self._node(event, "new_directory")
        if directory:
            directory.bind(event.fields["new_name"], self._node(event))
        return bool(directory)

    def _rename(self, event):
        old, new = self._node(event, "directory"), self._node(event, "new_directory")
        if bool(old) != bool(new):
            raise AssertionError(f"a rename across the border of the tree: {event}")
        if old:
            new.bind(event.fields["new_name"], self._node(event))
            old.bind(event.fields["name"], None)
        return bool(old)

    def _unlink(self, event):
        directory = self._node(event, "directory")
        if directory:
            directory.bind(event.fields["name"], None)
        return bool(directory)

    def _mkdir(self, event):
        directory = self._node(event, "directory")
        if directory:
            node = self.inodes[event.fields["inode"]] = Directory()
            directory.bind(event.fields["name"], node)
        return bool(directory)

    def _sync(self, event):
        node = self._node(event)
        if node:
            node.sync()
        return bool(node)

    def _sync_all(self, _event):
        for node in self.inodes.values():
            node.sync()
        return True

    def _unknown(self, event):
        raise AssertionError(f"an operation that the model does not know: {event}")

    # what a power loss leaves

    def _choices(self, directory, prefix):
        """Of every name in and below @directory whose meaning is open: the place, and what it may be."""
        for name in sorted(set(directory.names) | set(directory.histories)):
            history = directory.histories.get(name, [directory.names.get(name)])
            yield prefix + (name,), list(dict.fromkeys(history))
            for node in dict.fromkeys(history):
                if isinstance(node, Directory):
                    yield from self._choices(node, prefix + (name,))

    def states(self):
        """Every tree that may be there now: {path: bytes or DIRECTORY}."""
        choices = list(self._choices(self.root, ()))
        files = list(dict.fromkeys(node for _, options in choices for node in options
                                   if isinstance(node, File) and node.pending))
        size = 1
        for options in [options for _, options in choices] + [file.variants() for file in files]:
            size *= len(options)
        if size > MOST_STATES:
            raise AssertionError(f"{size} states of one instant")
        for contents in itertools.product(*(file.variants() for file in files)):
            torn = dict(zip(files, contents))
            for nodes in itertools.product(*(options for _, options in choices)):
                meaning = {path: node for (path, _), node in zip(choices, nodes)}
                state = {}
                for path, node in meaning.items():
                    above = [meaning.get(path[:n]) for n in range(1, len(path))]
                    if node is None or not all(isinstance(parent, Directory) for parent in above):
                        continue
                    state["/".join(path)] = DIRECTORY if isinstance(node, Directory) else torn.get(node, node.final)
                yield state

    def now(self):
        """The tree with everything applied."""
        state = {}

        def walk(directory, prefix):
            for name, node in directory.names.items():
                state[prefix + name] = DIRECTORY if isinstance(node, Directory) else node.final
                if isinstance(node, Directory):
                    walk(node, f"{prefix}{name}/")
        walk(self.root, "")
        return state

    def directory(self, path):
        node = self.root
        for word in path.split("/") if path else []:
            node = node.names.get(word) if isinstance(node, Directory) else None
        return node


def digest(state):
    """A short name for a state: equal ones have the same."""
    whole = hashlib.sha256()
    for path in sorted(state):
        content = state[path] if isinstance(state[path], bytes) else b"/"
        whole.update(f"{path}\0{len(content)}\0".encode() + hashlib.sha256(content).digest())
    return whole.hexdigest()


def replies(events):
    """(index, reply) of every final reply that the daemon sends to its clients.

    The daemon is who calls jobs; what it sends to them, and they to it, are no replies to clients.
    """
    daemons = {event.pid for event in events if event.op == "send" and JOBS in event.data}
    for index, event in enumerate(events):
        if event.op != "send" or event.pid not in daemons:
            continue
        for frame in event.data.split(b"\0"):
            if frame.startswith((b'{"parameters"', b'{"error"')):
                reply = json.loads(frame)
                if not reply.get("continues"):
                    yield index, reply
