#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What show and compare answer, held against a second computation from the files that shares no code with them.

The files are of hosts that never were (made.py): pairs of snapshots with threads that are born, end, change their names
and get the ids of others, with counters that fall and values that are absent. $CTPROF_SEED chooses others, and
$CTPROF_PAIRS how many; with $CTPROF_THOROUGH each interval is looked at on every axis, and not on two.
"""
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]

# pylint: disable=wrong-import-position # the modules stand beside this file, and those of the live tests beside them
import answer
import made
from compare import by_key, differences
from document import Snapshot
from harness import BUILD, Daemon, call, expect, expect_equal, main, private_host, temporary, test
from lives import follow, share_reasons

SEED = int(os.environ.get("CTPROF_SEED", "1"))
HOSTS = (int(os.environ.get("CTPROF_PAIRS", "24")) + 1) // 2  # each has two pairs
THOROUGH = "CTPROF_THOROUGH" in os.environ
# Keys that are the names themselves.
AXES = {"comm-exact": [], "pcomm": ["--no-thread-normalize"], "thread": [],
        "command": ["--no-thread-normalize"], "cgroup": ["--no-cg-normalize"]}
VIEW = ["--sections", "primary,taskstats-delay,taskstats-accounting,waits,derived", "--limit", "0"]
SHOWN = 12  # of the differences
BETWEEN_NS = 20 * made.SECOND_NS


def unlike(wanted, got):
    """The differences as texts."""
    return [f"{'.'.join(map(repr, path))}: computed {ours!r:.200}, answered {theirs!r:.200}"
            for path, ours, theirs in differences(wanted, got)]


class Bench:
    """A daemon with the made snapshots in its spool."""

    def __init__(self, directory):
        self.directory = directory
        self.daemon = Daemon(directory)
        self.n_compared = self.n_cut = self.n_moved = self.n_lost = self.n_begun = self.n_shifted = 0
        self.differences = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.close()

    def add(self, source, name):
        text, path = (self.directory / f"{name}.{end}" for end in ("json", "ctprof.zst"))
        made.write(source, text)
        subprocess.run([BUILD / "tests" / "golden" / "make-file", text, path], check=True)
        expect_equal(self.daemon("import", path, "--quiet").status, 0, "import", name)
        return Snapshot(path)

    def note(self, pair):
        """What a pair of snapshots is an example of."""
        self.n_moved += sum(life.after is None and life.before.life in pair[1].moved for life in follow(*pair))
        self.n_lost += sum(pair[1].lost_since.values())
        self.n_begun += pair[1].head.get("reasonsId") is not None and not share_reasons(*pair)

    def check(self, wanted, axis, *words):
        """Notes how the answer to a command differs from @wanted."""
        words = [*words, "--group-by", axis, *AXES[axis], *VIEW]
        if axis == "cgroup" and (words[0] == "compare" or ".." in words[1]):
            words.append("--no-pairing")
        got = by_key(self.daemon(*words, "--json").json())
        self.n_compared += 1
        self.n_shifted += len(wanted.get("waits") or ())
        self.differences += [f"{' '.join(words)}: {text}" for text in unlike(wanted, got)]

    def check_overview(self, wanted, axis, method, **subjects):
        """The same of the overview, which only the daemon's own answers have; who is not in @wanted has no account."""
        view = {"groupBy": axis, "threadNormalize": False, "cgroupNormalize": False, "pairing": False, "overview": True,
                "rows": False, "limit": 0, "totals": subjects.pop("totals", False)}
        with self.daemon.connect() as connection:
            replies = call(connection, f"io.ctprof.Profiler.{method}", {**subjects, "view": view}, more=True)
        rows = [row for reply in replies for row in reply["parameters"].get("overview") or []]
        got = {row["key"]: row for row in rows}
        for told in (told for row in rows for told in row["accounts"] if told):
            told.setdefault("cut", [])
            self.n_cut += bool(told["cut"])
        expect_equal(len(got), len(rows), "keys are unique")
        self.n_compared += 1
        words = f"overview of {method} {subjects}"
        self.differences += [f"{words} by {axis}: {text}" for text in unlike(wanted, got)]
        weights = [abs(row["weight"]) for row in rows if row["weight"] is not None]
        if weights != sorted(weights, reverse=True) or None in [row["weight"] for row in rows[:len(weights)]]:
            self.differences.append(f"{words} by {axis}: is not in the order of weights")

    def report(self):
        print(f"# seed {SEED}: {self.n_compared} answers, {len(self.differences)} differences, {self.n_moved} threads of other "
              f"names in the end, {self.n_lost} rows that lost theirs, {self.n_cut} accounts cut, {self.n_begun} pairs in which reasons "
              f"began to be counted, {self.n_shifted} waits that moved", flush=True)
        expect(not self.differences, f"{len(self.differences)} differences",
               *(f"\n{text}" for text in self.differences[:SHOWN]))


def name_of(snapshot):
    return snapshot.path.name.split(".")[0]


def range_of(pair):
    return "..".join(map(name_of, pair))


def ref(*snapshots):
    """A SubjectRef: a snapshot, or an interval."""
    names = [{"name": name_of(snapshot)} for snapshot in snapshots]
    return {**names[0], **({"to": names[1]} if len(names) > 1 else {})}


def make_pairs(bench, number):
    """Two pairs of snapshots of one host, in the order of time."""
    host = made.Host(SEED * 1000 + number)
    pairs = []
    for pair in range(2):
        begins_delays = host.rng.random() < 0.15
        if begins_delays:
            host.stop_delays()
        before = bench.add(host.capture(), f"h{number}-{pair}a")
        host.live(host.rng.randrange(1, 60) * made.SECOND_NS + host.rng.randrange(made.SECOND_NS))
        if begins_delays:
            host.without -= set(made.DELAYS)
        elif host.rng.random() < 0.3:
            host.change_sources()
        pairs.append((before, bench.add(host.capture(), f"h{number}-{pair}b")))
        bench.note(pairs[-1])
        host.live(host.rng.randrange(1, 100) * made.SECOND_NS)
    return pairs


@test
def pairs_agree():
    """States, intervals and lifetimes of made pairs are what the files say, on axes that take turns"""
    with temporary() as directory, Bench(directory) as bench:
        for number in range(HOSTS):
            for place, pair in enumerate(make_pairs(bench, number)):
                turn = 2 * number + place
                axes = [list(AXES)[(turn + i) % len(AXES)] for i in range(len(AXES) if THOROUGH else 2)]
                for axis in axes:
                    bench.check(answer.interval(*pair, axis), axis, "show", range_of(pair))
                axis = axes[0]
                bench.check(answer.interval(*pair, axis), axis, "compare", *map(name_of, pair))
                bench.check(answer.totals(*pair, axis), axis, "compare", *map(name_of, pair), "--totals")
                bench.check(answer.state(pair[1], axis), axis, "show", name_of(pair[1]))
        bench.report()
        expect(bench.n_moved or HOSTS < 10, "nobody ended under another name")
        expect(bench.n_lost or HOSTS < 10, "no row lost its names")


@test
def intervals_agree():
    """Two intervals, of one host and of two, are what the files say"""
    with temporary() as directory, Bench(directory) as bench:
        others = make_pairs(bench, HOSTS)
        for number in range(HOSTS):
            pairs = make_pairs(bench, number)
            for place, (first, second) in enumerate((pairs, (others[1], pairs[0]))):
                axis = list(AXES)[(2 * number + place) % len(AXES)]
                bench.check(answer.intervals(first, second, axis), axis, "compare", range_of(first), range_of(second))
            others = pairs
        bench.report()
        expect(bench.n_begun or HOSTS < 10, "every epoch of reasons spans its pair")
        expect(bench.n_shifted or HOSTS < 10, "no wait moved")


@test
def overviews_agree():
    """The accounts of groups in the overview, their weights and their order"""
    with temporary() as directory, Bench(directory) as bench:
        others = make_pairs(bench, HOSTS)
        for number in range(HOSTS // 2):
            pairs = make_pairs(bench, number)
            axis = list(AXES)[number % len(AXES)]
            for before, after in pairs:
                bench.check_overview(answer.overview_of_state(after, axis), axis, "Show", snapshot=ref(after))
                bench.check_overview(answer.overview_of_interval((before, after), axis), axis, "Show",
                                     snapshot=ref(before, after))
                bench.check_overview(answer.overview_of_totals((before, after), axis), axis, "Compare",
                                     before=ref(before), after=ref(after), totals=True)
            # Threads of two hosts may share a key and are two groups all the same, which no key tells apart.
            of_hosts = "comm-exact" if axis == "thread" else axis
            for first, second, by in ((*pairs, axis), (others[1], pairs[0], of_hosts)):
                bench.check_overview(answer.overview_of_intervals(first, second, by), by, "Compare",
                                     before=ref(*first), after=ref(*second))
            others = pairs
        bench.report()
        expect(bench.n_cut or HOSTS < 10, "no figure was cut")


def spoiled_pair(bench, name, spoil, state):
    """A pair in which the kernel says of three threads what cannot be; of both snapshots without @state, else of the
    later one, and @state is how it found them in the earlier."""
    host = made.Host(f"{SEED} {name}", 12)
    host.without = set()
    for worker in host.workers.values():
        worker.lacks = set()
        worker.values.update({name: value // 20 for name, value in worker.values.items()
                              if made.METRICS[name].rule in ("SumNs", "MaxPeak", "MinFloor")})
    age = lambda worker: host.boottime_ns - worker.start * made.TICK_NS
    chosen = [worker for worker in host.workers.values() if age(worker) > 10 * BETWEEN_NS and not worker.kthread][:3]
    for worker in chosen:
        worker.own = False
        if state is None:
            spoil(worker, age(worker), BETWEEN_NS)
        else:
            worker.values["state"] = state
    before = bench.add(host.capture(), f"{name}-a")
    host.boottime_ns += BETWEEN_NS
    for worker in host.workers.values():
        if worker not in chosen:
            worker.advance(BETWEEN_NS)
    if state is not None:
        for worker in chosen:
            spoil(worker, age(worker), BETWEEN_NS)
    return before, bench.add(host.capture(), f"{name}-b")


@test
def impossible_values_agree():
    """What contradicts arithmetic is left out or corrected by the rules, and counts nowhere"""
    with temporary() as directory, Bench(directory) as bench:
        for spoil in made.SPOILERS:
            for state in (None, "R", "S", "D"):
                name = f"{spoil.__name__.replace('_', '-')}-{state}"
                pair = spoiled_pair(bench, name, spoil, state)
                bench.check(answer.interval(*pair, "thread"), "thread", "show", range_of(pair))
                if state is None:
                    bench.check(answer.state(pair[1], "thread"), "thread", "show", name_of(pair[1]))
        bench.report()


@test
def captures_agree():
    """The same of two captures of this host"""
    with temporary() as directory, Bench(directory) as bench:
        pair = []
        for name in ("first", "second"):
            expect_equal(bench.daemon("capture", "--tag", name, "--no-smaps").status, 0, "capture")
            pair.append(Snapshot(bench.daemon.spool / f"{name}.ctprof.zst"))
        expect(any(life.survived for life in follow(*pair)), "threads that survived")
        for axis in AXES:
            bench.check(answer.interval(*pair, axis), axis, "show", range_of(pair))
            bench.check(answer.totals(*pair, axis), axis, "compare", *map(name_of, pair), "--totals")
            bench.check(answer.state(pair[0], axis), axis, "show", name_of(pair[0]))
        bench.report()


@test
def differences_are_found():
    """A number that is one too large, a group too many and a value that is there are differences"""
    wanted = {"groups": {"a": {"n": 1, "x": 0.5, "none": None}}}
    expect(not list(differences(wanted, {"groups": {"a": {"n": 1, "x": 0.5 + 1e-12, "none": None, "more": 1}}})), "none")
    for got in ({"a": {"n": 2, "x": 0.5, "none": None}}, {"a": {"n": 1, "x": 0.51, "none": None}}, {},
                {"a": {"n": 1, "x": 0.5, "none": 0}}, {"a": {"n": 1, "x": 0.5}}, {"a": wanted["groups"]["a"], "b": {}}):
        expect(list(differences(wanted, {"groups": got})), "no difference from", got)


private_host()
main()
