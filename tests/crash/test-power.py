#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Power loss at any instant of any change to a spool: what was answered is there, and nothing is half.

A daemon is recorded while its spool is changed in every way there is. Then every directory that a power
loss within the record can leave, by the rules of replay.py, is looked at as a daemon does that starts:

- a snapshot whose coming, replacement, renaming or going was answered is as the answer said;
- one whose change was under way is as before the change or as after it, byte for byte;
- nothing else is listed, what is listed verifies, and no temporary is left once the daemon has cleaned;
- where an answer was sent, all that it says was synced before: the bytes before the name, and the name.

The check is checked itself: with a sync taken out of the record, moved, or sent after the answer, it must
find fault. $CTPROF_POWER_SAMPLES says in how many states a real daemon is started (default: 24).
"""
import concurrent.futures
import dataclasses
import json
import os
import random
import shutil

import replay
from recorded import (FOREIGN, LEFT_OVER, RECORD, SEED, SUFFIX, TEMPORARY, Recorded, names_in,
                      recorded_environment, succeed, temporaries_in)
from harness import (BUILD, CTPROFCTL, Daemon, Idle, expect, expect_equal, main, private_host, run, temporary, test,
                     without_programs)

CHECK_SPOOLS = str(BUILD / "tests" / "crash" / "check-spools")
SAMPLES = int(os.environ.get("CTPROF_POWER_SAMPLES", "24"))


class Account:
    """What may be there at an instant: of every file what it was at the last answer about it, or at the next."""

    def __init__(self, disk, events, answers, path):
        self.path = path
        self.turns = {}  # file name -> [(index of an answer, bytes or None)]
        tree = replay.Tree(disk)
        self._note(tree, -1, [])
        for index, event in enumerate(events):
            tree.apply(event)
            for names in answers.get(index, []):
                self._note(tree, index, names)
        self._note(tree, len(events), list(self.turns))

    def _note(self, tree, index, names):
        spool = tree.directory(self.path)
        found = spool.names if spool else {}
        if index < 0:
            names = [name for name in found if name.endswith(SUFFIX)]
        for name in names:
            node = found.get(name)
            self.turns.setdefault(name, [(-1, None)] if index >= 0 else [])
            self.turns[name].append((index, node.final if node else None))

    def faults(self, state, index):
        """What of @state may not be, after the answers of the event @index."""
        prefix = self.path + "/"
        found = {path.removeprefix(prefix): content for path, content in state.items()
                 if path.startswith(prefix) and path.endswith(SUFFIX)}
        for name, turns in self.turns.items():
            last = max(n for n, (when, _) in enumerate(turns) if when <= index)
            content = found.pop(name, None)
            if content not in [what for _, what in turns[last:last + 2]]:
                yield f"{name} is " + ("lost" if content is None else f"of {len(content)} bytes")
        for name in found:
            yield f"{name} came from nowhere"


def not_synced(tree, path, names):
    """What of the present state of the files @names of the spool @path a power loss could take back."""
    above = tree.root
    for word in path.split("/"):
        if word in above.histories:
            yield f"the name of the directory {word}"
        above = above.names[word]
    for name in names:
        node = above.names.get(name)
        if name in above.histories:
            yield f"the name {name}"
        if node and node.pending:
            yield f"the bytes of {name}"


def files_in(reply):
    """The files of the snapshots that an answer tells of."""
    parameters = reply.get("parameters", {})
    heads = [parameters.get("snapshot"), parameters.get("replaced"), *parameters.get("snapshots", [])]
    names = [head["name"] for head in heads if head] + parameters.get("rotated", [])
    names += [parameters["oldName"]] if "oldName" in parameters else []
    return [name + SUFFIX for name in names]


class Replayed:
    """All states of one record, and what is wrong with them."""

    def __init__(self, disk, events, answers, path, most_complaints=10):
        self.states = {}  # digest -> state
        self.complaints = []
        self.n_operations = self.n_instants = self.n_tried = 0
        self.tree, self.account = replay.Tree(disk), Account(disk, events, answers, path)
        self._look(-1, "the beginning")
        for index, event in enumerate(events):
            if len(self.complaints) >= most_complaints:
                return
            if self.tree.apply(event):
                self.n_operations += 1
                self._look(index - 1, f"{event.op} {event.number}")
            for names in answers.get(index, []):
                self.complaints += [f"answered before it was synced: {what}"
                                    for what in not_synced(self.tree, path, names)]
                self._look(index, f"the answer about {names}")

    def _look(self, index, instant):
        self.n_instants += 1
        for state in self.tree.states():
            self.n_tried += 1
            self.states.setdefault(replay.digest(state), state)
            self.complaints += [f"after {instant}: {fault}" for fault in self.account.faults(state, index)]

    def verify(self, directory, path):
        """The spool library cleans, lists and verifies every state."""
        blobs = Blobs(directory)
        places = {digest: blobs.lay_out(directory / digest, state) for digest, state in self.states.items()}
        answers = run(CHECK_SPOOLS, stdin="".join(f"{place / path}\n" for place in places.values()))
        expect_equal(answers.status, 0, answers.err)
        lines = [json.loads(line) for line in answers.out.splitlines()]
        expect_equal(len(lines), len(places), "answers")
        for digest, line in zip(places, lines):
            wrong = {name: fault for name, fault in line.get("snapshots", {}).items() if fault}
            kept = [FOREIGN] if f"{path}/{FOREIGN}" in self.states[digest] else []
            if wrong or line.get("left", []) != kept:
                self.complaints.append(f"state {digest[:12]}: listed {wrong}, left {line['left']}")
            shutil.rmtree(places[digest])


class Blobs:
    """Files of states: most of them are the same in many."""

    def __init__(self, directory):
        self.directory = directory / "blobs"
        self.directory.mkdir(exist_ok=True)
        self.files = {}

    def lay_out(self, place, state):
        place.mkdir()
        for path, content in sorted(state.items()):
            if content == replay.DIRECTORY:
                (place / path).mkdir()
                continue
            if content not in self.files:
                self.files[content] = self.directory / str(len(self.files))
                self.files[content].write_bytes(content)
            os.link(self.files[content], place / path)
        return place


class Story:
    """One recorded life of a daemon: what was on the disk, what happened, what was answered."""

    def __init__(self, disk, events, root, path="spool"):
        self.disk, self.events, self.path, self.answers = disk, events, path, {}
        for index, reply in replay.replies(events):
            self.answers.setdefault(index, []).append(files_in(reply))
        tree = replay.Tree(disk)
        for event in events:
            tree.apply(event)
        real = {path: content for path, _, content in replay.read_disk(root) if path}
        expect_equal({path: len(content) for path, content in tree.now().items()},
                     {path: len(content) for path, content in real.items()}, "the record and the disk")
        expect(tree.now() == real, "the record tells of other bytes than the disk has")

    def replayed(self):
        return Replayed(self.disk, self.events, self.answers, self.path)

    def is_refused(self, events, answers):
        """Whether fault is found with another record, which stands in for that of a worse daemon."""
        worse = Replayed(self.disk, events, answers or self.answers, self.path, most_complaints=1)
        return bool(worse.complaints)


class Life:
    """A recorded daemon while it lives, and its story after that."""

    def __init__(self, directory, prepare, recording=()):
        self.root = directory / "disk"
        (self.root / "spool").mkdir(parents=True)
        options = prepare(self.root / "spool") or ()
        self.disk = replay.read_disk(self.root)
        self.daemon = Recorded(directory, self.root / "spool", *options, recording=recording)
        self.story = None

    def __enter__(self):
        return self.daemon

    def __exit__(self, kind, *_):
        self.daemon.close()
        if not kind:
            self.story = Story(self.disk, replay.read_record(self.daemon.record), self.root)


def samples(replayed, directory):
    """A real daemon in some of the states: it lists and verifies what is there, cleans, and captures."""
    blobs = Blobs(directory)
    digests = sorted(replayed.states)
    chosen = random.Random(SEED).sample(digests, min(SAMPLES, len(digests)))
    for number, digest in enumerate(chosen):
        place = directory / f"sample{number}"
        blobs.lay_out(place, replayed.states[digest])
        with Daemon(place, options=without_programs(place)) as daemon:
            names = names_in(daemon.spool)
            results = daemon("verify", "--all", "--json").json()["results"] if names else []
            expect_equal([result for result in results if not result["ok"]], [], digest)
            expect_equal({result["name"] for result in results}, names, digest)
            heads = daemon("list", "--json").json()["snapshots"]
            expect_equal({head["name"] for head in heads}, names, digest)
            succeed(daemon, "capture", "--tag", "next-one")
            left = {name for name in os.listdir(daemon.spool) if not name.endswith(SUFFIX)}
            expect(left <= {FOREIGN}, "left behind:", left, digest)
        shutil.rmtree(place)
    return len(chosen)


def prove(story, directory):
    """Replays @story, verifies every state and starts daemons in some; prints the figures."""
    replayed = story.replayed()
    replayed.verify(directory, story.path)
    expect_equal(replayed.complaints[:5], [], f"{len(replayed.complaints)} complaints")
    n_started = samples(replayed, directory) if story.path == "spool" else 0
    print(f"# {replayed.n_operations} operations, {replayed.n_instants} instants, {replayed.n_tried} states, "
          f"{len(replayed.states)} of them different, daemons started in {n_started}")


def prove_life(prepare, change, check=None, recording=()):
    """Proves what a daemon wrote while @change was made; @check looks at the Life besides."""
    with temporary() as directory, Idle(200, 2):
        life = Life(directory, prepare, recording=recording)
        with life as daemon:
            change(daemon)
        prove(life.story, directory)
        if check:
            check(life)


# what is done to a spool; threads that do nothing make snapshots of several pages

def leave_over(spool):
    """What a crash of long ago left, and what is not ours to remove."""
    (spool / LEFT_OVER).write_bytes(b"half a snapshot" * 1000)
    (spool / FOREIGN).write_bytes(b"somebody's")


def change_everything(daemon):
    """Every kind of change, one after the other; some that are refused among them."""
    outside = daemon.socket.parent / "outside.ctprof.zst"
    succeed(daemon, "capture")
    succeed(daemon, "capture", "--tag", "first")
    succeed(daemon, "capture", "--tag", "second")
    expect_equal(daemon("capture", "--tag", "first").status, 1, "a name that is taken")
    succeed(daemon, "capture", "--tag", "first", "--replace")
    succeed(daemon, "capture", "--tag", "new", "--replace")
    succeed(daemon, "rename", "second", "third")
    expect_equal(daemon("rename", "third", "first").status, 1, "a name that is taken")
    succeed(daemon, "rename", "latest", "last")
    succeed(daemon, "export", "first", str(outside))
    succeed(daemon, "import", str(outside), "--tag", "came")
    expect_equal(daemon("import", str(outside), "--tag", "came").status, 1, "a name that is taken")
    outside.write_bytes(outside.read_bytes()[:-100])
    expect_equal(daemon("import", str(outside), "--tag", "broken").status, 1, "a damaged file")
    succeed(daemon, "verify", "--all")
    succeed(daemon, "remove", "third")
    succeed(daemon, "remove", "first", "came")
    succeed(daemon, "capture", "--tag", "first")


def rotate(daemon):
    """Captures and imports that make others go, until only such are there that stay."""
    outside = str(daemon.socket.parent / "outside.ctprof.zst")
    succeed(daemon, "export", "kept", outside)
    succeed(daemon, "capture")
    succeed(daemon, "import", outside, "--tag", "came1")
    succeed(daemon, "import", outside, "--tag", "came2")
    expect_equal(daemon("import", outside, "--tag", "came3").status, 1, "a spool full of tagged ones")
    succeed(daemon, "remove", "came2")
    succeed(daemon, "capture")
    succeed(daemon, "capture", "--tag", "kept", "--replace")


def fill(spool):
    """One that stays, and more than the budget of those that may go. Returns the options for the budget."""
    with temporary() as directory, Daemon(directory, options=["--keep-free", "0"]) as daemon:
        for _ in range(5):
            succeed(daemon, "capture")
        succeed(daemon, "capture", "--tag", "kept")
        for name in os.listdir(daemon.spool):
            shutil.copyfile(daemon.spool / name, spool / name)
    return ["--max-bytes", str((spool / f"kept{SUFFIX}").stat().st_blocks * 512 * 7 // 2)]


def crowd(daemon):
    """Four clients that change things at the same time, each those of its own."""
    outside = daemon.socket.parent / "outside.ctprof.zst"
    succeed(daemon, "capture", "--tag", "base")
    succeed(daemon, "export", "base", str(outside))

    def client(number):
        for turn in range(3):
            succeed(daemon, "import", str(outside), "--tag", f"in{number}-{turn}")
            succeed(daemon, "capture", "--tag", f"own{number}", "--replace")
            succeed(daemon, "rename", f"in{number}-{turn}", f"moved{number}-{turn}")
            if turn > 0:
                succeed(daemon, "remove", f"moved{number}-{turn - 1}")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(client, number) for number in range(4)]:
            done.result()


# what the check is worth

def _without(events, op, wanted):
    return [dataclasses.replace(event, op="nothing") if event.op == op and wanted(event) else event
            for event in events]


def _swapped(events, first, then):
    """Every @first that is followed by a @then after it instead."""
    events = list(events)
    for index, event in enumerate(events):
        if event.op != first:
            continue
        for later in range(index + 1, len(events)):
            if events[later].op == then and events[later].pid == event.pid:
                events.insert(later, events.pop(index))
                break
    return events


def _torn_renames(events):
    """A replacement in two steps, as if rename(2) were not one."""
    torn = []
    for event in events:
        if event.op == "rename":
            places = {"directory": event.fields["new_directory"], "name": event.fields["new_name"]}
            torn.append(dataclasses.replace(event, op="unlink", fields=places))
        torn.append(event)
    return torn


def check_the_check(story):
    """Records of worse daemons must not pass."""
    files = {event.fields["inode"] for event in story.events if event.op == "write"}
    hasty = {index - 40: names for index, names in story.answers.items() if index >= 40}
    worse = {
        "files are not synced": (_without(story.events, "sync", lambda event: event.fields["inode"] in files), None),
        "directories are not synced":
            (_without(story.events, "sync", lambda event: event.fields["inode"] not in files), None),
        "names come before bytes": (_swapped(story.events, "sync", "link"), None),
        "a replacement takes two steps": (_torn_renames(story.events), None),
        "answers are hasty": (story.events, hasty),
    }
    for what, (events, answers) in worse.items():
        expect(story.is_refused(events, answers), "not noticed:", what)


@test
def every_change():
    """a power loss in any change leaves the spool as before it or as after it, and the check can tell"""
    prove_life(leave_over, change_everything, lambda life: check_the_check(life.story))


@test
def without_unnamed_files():
    """the same on a file system without O_TMPFILE"""
    def check(life):
        expect(any(event.op == "create" and event.fields.get("name", "").startswith(TEMPORARY)
                   for event in life.story.events), "no named temporaries")
        expect_equal(temporaries_in(life.root / "spool"), set(), "what became of all others")

    prove_life(leave_over, change_everything, check, recording=["--no-tmpfile"])


@test
def rotation():
    """a power loss while snapshots are rotated loses only those, and never those that stay"""
    prove_life(fill, rotate)


@test
def many_at_once():
    """the same with changes of several clients under way"""
    prove_life(leave_over, crowd)


@test
def the_first_start():
    """a private daemon that makes its spool does not lose it with the first capture in it"""
    with temporary() as directory, Idle(200, 2):
        root, record = directory / "disk", directory / "record"
        root.mkdir()
        disk = replay.read_disk(root)
        result = run(RECORD, record, CTPROFCTL, "--local", "capture", "--tag", "first",
                     env={"XDG_STATE_HOME": str(root / "home" / "state"), **recorded_environment()})
        expect_equal(result.status, 0, result.err)
        story = Story(disk, replay.read_record(record), root, "home/state/ctprof")
        expect(story.answers, "no answer was recorded")
        prove(story, directory)


private_host()
main()
