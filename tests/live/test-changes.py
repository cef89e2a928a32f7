#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What changed, as one stream of rows: "export --changes" against the views of each interval."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import time

from harness import BUILD, CTPROFCTL, CTPROFD, Local, Skip, expect, expect_equal, main, run, temporary, test

TESTS = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["first", "second", "third", "fourth"]


class Spool:
    """A spool with four snapshots of this boot, one of an earlier boot, and one that was imported."""

    def __init__(self, directory, earlier=False):
        self.directory = directory
        self.ctl = Local(directory / "spool")
        for name in NAMES:
            expect_equal(self.ctl("capture", "--tag", name, "--no-heap", "-q").status, 0, "capture")
        exported = directory / "exported.ctprof.zst"
        expect_equal(self.ctl("export", "second", exported, "-q").status, 0, "export")
        expect_equal(self.ctl("import", exported, "--tag", "imported", "-q").status, 0, "import")
        if earlier:
            made = directory / "earlier.ctprof.zst"
            expect_equal(run(BUILD / "tests/golden/make-file", TESTS / "golden/before.json", made).status, 0, "make-file")
            shutil.copy(made, directory / "spool" / "earlier.ctprof.zst")

    def changes(self, *options):
        result = self.ctl("export", "--changes", *options)
        expect_equal((result.status, result.err), (0, ""), options)
        return result.out

    def rows(self, *options):
        return [json.loads(line) for line in self.changes(*options).splitlines()]


def ends(rows):
    """Kind and names of each interval or gap, in the order of the rows."""
    got = []
    for row in rows:
        if not got or got[-1] != (row["kind"], row["before_snapshot"], row["after_snapshot"]):
            got.append((row["kind"], row["before_snapshot"], row["after_snapshot"]))
    return got


def pairs(names):
    return [("interval", a, b) for a, b in zip(names, names[1:])]


@test
def each_pair_is_an_interval():
    """Rows are those of show A..B for each two snapshots that follow each other, without what was imported"""
    with temporary() as directory:
        spool = Spool(directory)
        for options in ((), ("--group-by", "cgroup"), ("--filter", "python*")):
            text = spool.changes(*options)
            wanted = "".join(spool.ctl("show", f"{a}..{b}", "--format", "ndjson", *options).out for a, b in zip(NAMES, NAMES[1:]))
            expect(text == wanted, options, len(text), len(wanted))
        rows = spool.rows()
        expect_equal(ends(rows), pairs(NAMES), "intervals")
        for row in rows:
            expect_equal([row[name] for name in ("host", "machine_id", "boot_id", "kernel_release")],
                         [row["after_" + name] for name in ("host", "machine_id", "boot_id", "kernel_release")], "plain names")
        only = spool.rows("--metrics", "run_time_ns")
        expect_equal({row["section"] for row in only}, {"primary", "lives", "coverage"}, "sections beside a metric")


@test
def csv_is_one_table():
    """CSV has the names of its columns once, and the rows of NDJSON"""
    with temporary() as directory:
        spool = Spool(directory)
        text = spool.changes("--format", "csv", "--metrics", "run_time_ns,state")
        rows = spool.rows("--metrics", "run_time_ns,state")
        names, *cells = csv.reader(io.StringIO(text, newline=""), strict=True)
        expect_equal(names, list(rows[0]), "columns")
        expect_equal(len(cells), len(rows), "rows")
        expect_equal([row[names.index("metric")] for row in cells], [row["metric"] for row in rows], "metrics")
        expect(not spool.changes("--format", "csv", "--no-legend").startswith("kind,"), "without names")


@test
def lives_and_coverage_add_up():
    """Lives of groups and the coverage are what JSON says of the interval"""
    with temporary() as directory:
        spool = Spool(directory)
        whole = spool.ctl("show", "first..second", "--json", "--limit", "0").json()
        rows = [row for row in spool.rows("--until", "now") if row["after_snapshot"] == "second"]
        for metric, member in (("survived", "survived"), ("born", "born"), ("ended", "ended"), ("born_and_ended", "bornAndEnded")):
            mine = [row for row in rows if (row["section"], row["metric"]) == ("lives", metric)]
            groups = [group for kind in ("groups", "onlyBefore", "onlyAfter") for group in whole[kind]]
            expect_equal([row["work"] for row in mine], [group["lives"][member] for group in groups if "lives" in group], metric)
            for row in mine:
                expect_equal(row["work"] is None, row["reason"] is not None, row)
        of_host = {row["metric"]: row for row in rows if row["section"] == "coverage"}
        expect_equal(len(of_host), 12, sorted(of_host))
        for member in ("cpuUsedNs", "attributedNs", "survivedNs", "bornNs", "endedNs", "ownNs", "boundNs"):
            metric = "".join("_" + c.lower() if c.isupper() else c for c in member)
            expect_equal(of_host[metric]["work"], whole["coverage"][member], metric)


@test
def a_cursor_goes_on():
    """Each export goes on behind the last snapshot of the one before, and all of them are the whole"""
    with temporary() as directory:
        spool = Spool(directory)
        whole = spool.changes()
        file = directory / "a.ndjson"
        expect_equal(spool.rows("--after", NAMES[-1]), [], "nothing new")
        expect_equal(ends(spool.rows("--after", "second")), pairs(NAMES[1:]), "behind a name")
        told = spool.ctl("export", "--changes", file, "--json").json()
        expect_equal(told, {"intervals": 3, "gaps": 0, "last": "fourth"}, "what was exported")
        expect(file.read_text(encoding="utf-8") == whole, "the file")
        expect_equal(spool.ctl("capture", "--tag", "fifth", "--no-heap", "-q").status, 0, "capture")
        more = directory / "b.ndjson"
        told = spool.ctl("export", "--changes", more, "--after", told["last"])
        expect(told.out.endswith("; the next export is --after \"fifth\"\n"), told.out)
        expect(whole + more.read_text(encoding="utf-8") == spool.changes(), "both files are the whole")
        expect_equal(spool.ctl("remove", "first", "second", "-q").status, 0, "remove")
        rows = spool.rows("--after", "second")
        expect_equal(ends(rows), [("gap", None, "third"), *pairs(["third", "fourth", "fifth"])], "a cursor that is gone")
        expect("no longer in the spool" in rows[0]["reason"], rows[0])
        result = spool.ctl("export", "--changes", file)
        expect_equal(result.status, 1)
        expect("exists" in result.one_sentence(), result.err)


@test
def a_boot_is_a_gap():
    """Between snapshots of two boots stands one row, which has both heads and says why there is nothing else"""
    with temporary() as directory:
        spool = Spool(directory, earlier=True)
        rows = spool.rows()
        begin = ends(rows)
        expect_equal(begin, [("gap", begin[0][1], "first"), *pairs(NAMES)], "a gap first")
        gap = rows[0]
        expect_equal(list(gap), list(rows[1]), "columns")
        expect(gap["before_boot_id"] != gap["after_boot_id"] and gap["boot_id"] == gap["after_boot_id"], gap)
        expect_equal((gap["same_boot"], gap["elapsed_ns"], gap["metric"], gap["work"]), (False, None, None, None), "no value")
        expect("booted again" in gap["reason"], gap["reason"])


@test
def less_on_request():
    """Only what has a value, only the heaviest groups, only a time"""
    with temporary() as directory:
        spool = Spool(directory)
        values = [side + part for side in ("before", "after") for part in ("", "_text")] + ["work"]
        everything, present = spool.rows(), spool.rows("--present")
        expect(len(present) < len(everything), len(present), len(everything))
        expect_equal(present, [row for row in everything if any(row[name] is not None for name in values)], "present")
        heads = [(row["after_snapshot"], row["side"], row["process"]) for row in spool.rows("--top", "3", "--sections", "primary")
                 if row["section"] == "primary"]
        for name in NAMES[1:]:
            groups = {head for head in heads if head[0] == name and head[1] == "both"}
            expect(1 <= len(groups) <= 3, name, sorted(groups))
        expect_equal(spool.rows("--until", "-1h"), [], "a time without any")
        expect_equal(ends(spool.rows("--since", "-1h")), pairs(NAMES), "an hour")
        # The next export goes on behind what was too old, and takes up what was too new.
        for time, last in (("--since", "fourth"), ("--until", "first")):
            told = spool.ctl("export", "--changes", directory / f"{last}.ndjson", time, "now" if time == "--since" else "-1h",
                             "--json").json()
            expect_equal(told, {"intervals": 0, "gaps": 0, "last": last}, time)


COMPLETIONS = {
    "bash": """compopt() { :; }
               . $BUILD/client/completion/ctprofctl
               COMP_WORDS=(ctprofctl export --changes '') COMP_CWORD=3
               _ctprofctl
               printf '%s\\n' "${COMPREPLY[@]}" """,
    "zsh": """compadd() { }
              _files() { ls }
              words=(ctprofctl export --changes '') CURRENT=4 PREFIX=
              . $BUILD/client/completion/_ctprofctl""",
    "fish": """source $BUILD/client/completion/ctprofctl.fish
               complete -C 'ctprofctl export --changes ' """,
}


@test
def shells_complete_a_file():
    """Behind --changes each shell offers files, and asks nobody for names of snapshots"""
    with temporary() as directory:
        (directory / "work").mkdir()
        (directory / "work" / "rows.ndjson").touch()
        asked = directory / "asked"
        program = directory / "ctprofctl"
        program.write_text(f"#!/bin/sh\ntouch {asked}\n", encoding="utf-8")
        program.chmod(0o755)
        shells = [shell for shell in COMPLETIONS if shutil.which(shell)]
        for shell in shells:
            result = run(shell, *(["--norc"] if shell == "bash" else ["-f"] if shell == "zsh" else ["--no-config"]), "-c", COMPLETIONS[shell],
                         env={"BUILD": str(BUILD), "PATH": f"{directory}:{os.environ['PATH']}"}, cwd=directory / "work")
            expect_equal(result.out.split(), ["rows.ndjson"], shell, result.err)
            expect(not asked.exists(), shell, "asked for names")


def typed_members(path, table):
    """The columns of the list that stands behind @table in a file of sql/, in its order, with their types."""
    text = path.read_text(encoding="utf-8").split(table, 1)[1]
    text = re.split(r"\n        }\);|\n\)(?: ENGINE|;)", text)[0]
    return dict(re.findall(r"^        (\w+):? '?((?:[^',(\n]|\([^)]*\))+)", text, re.M))


@test
def schemas_name_every_column():
    """The tables of sql/ have a type for each column of the rows, the same in both engines, and say which they leave out"""
    with temporary() as directory:
        columns = list(Spool(directory).rows("--metrics", "run_time_ns")[0])
    same = {"VARCHAR": "String", "BOOLEAN": "Bool", "UINTEGER": "UInt32", "UBIGINT": "UInt64", "BIGINT": "Int64", "HUGEINT": "Int128",
            "DOUBLE": "Float64", "DECIMAL(38,12)": "Decimal(38, 12)"}
    plain = lambda kind: re.sub(r"LowCardinality\((.*)\)$|Nullable\((.*)\)$", lambda m: plain(m[1] or m[2]), kind.strip())
    duckdb, clickhouse = (TESTS.parent / "sql" / engine / "schema.sql" for engine in ("duckdb", "clickhouse"))
    typed = typed_members(duckdb, "columns = {")
    expect_equal(list(typed), columns, "duckdb")
    others = typed_members(clickhouse, "EXISTS ctprof_rows")
    expect_equal({name: plain(kind) for name, kind in others.items()}, {name: same[kind] for name, kind in typed.items()}, "clickhouse")
    for schema, tables in ((duckdb, "TABLE "), (clickhouse, "EXISTS ")):
        kept = {name for table in ("ctprof_interval", "ctprof_change") for name in typed_members(schema, f"{tables}{table} (")}
        left_out = re.search(r"-- Left out of both.*?:\n-- ((?:.*\n)+?)\n", schema.read_text(encoding="utf-8"))[1]
        left_out = set(re.findall(r"\w+", left_out))
        expect_equal((kept | left_out) - {"time", "group_name", "value"}, set(columns), schema, "kept or left out")
        expect_equal(kept & left_out, set(), schema, "both")


class Files:
    """The example that writes files for a fleet, with a spool of its own."""

    def __init__(self, spool, directory):
        if not shutil.which("zstd"):
            raise Skip("zstd is not installed")
        self.directory, self.programs = directory / "fleet", directory / "programs"
        self.programs.mkdir()
        self.program("ctprofctl", f'exec {CTPROFCTL} --local --spool {spool.directory / "spool"} "$@"')

    def program(self, name, text):
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def __call__(self, *options):
        environment = {"PATH": f"{self.programs}:{os.environ['PATH']}", "CTPROFD": CTPROFD}
        return run(TESTS.parent / "systemd/examples/ctprof-changes", self.directory, *options, env=environment)

    def text(self):
        paths = sorted(self.directory.glob("day=*/host=*/*.ndjson.zst"), key=lambda path: int(path.name.split(".")[0]))
        return "".join(run("zstd", "-dcq", path).out for path in paths)


@test
def files_for_a_fleet_are_whole():
    """Files of the example have every interval once, whatever is killed between, below a day and a host that is a plain name"""
    with temporary() as directory:
        spool = Spool(directory)
        files = Files(spool, directory)
        files.program("uname", "printf 'a/b=%%c\\n\\303\\251.x'")
        for expected in (1, 1):  # a second run has nothing to add
            result = files("--present")
            expect_equal((result.status, result.err), (0, ""), "run")
            expect_equal(len(list(files.directory.rglob("*.zst"))), expected, "files")
        path, = files.directory.rglob("*.zst")
        row = json.loads(files.text().splitlines()[0])
        day = time.strftime("%Y-%m-%d", time.gmtime(row["after_end_realtime_ns"] // 10**9))
        expect_equal(str(path.relative_to(files.directory)),
                     f"day={day}/host=a%2Fb%3D%25c%0A%C3%A9.x/{row['after_end_realtime_ns']}.ndjson.zst", "path")
        expect_equal((files.directory / "cursor").read_text(encoding="utf-8"), "fourth\n", "cursor")
        # Killed before it is complete, and when it is complete but not in its place.
        for number, victim in enumerate(("new", "pending/day*", "pending/cursor", "rm")):
            expect_equal(spool.ctl("capture", "--tag", f"more{number}", "--no-heap", "-q").status, 0, "capture")
            name = "rm" if victim == "rm" else "mv"
            files.program(name, f'case $1:$2 in {victim}:* | -r:pending) kill $PPID; exit 1;; esac; exec /bin/{name} "$@"')
            expect(files("--present").status != 0, victim, "was killed")
            (files.programs / name).unlink()
            expect_equal(files("--present").status, 0, "again")
        expect(files.text() == spool.changes("--present"), "all files are the whole")
        expect_equal(sorted(path.name for path in files.directory.iterdir()), ["cursor", f"day={day}"], "nothing else is left")
        files.program("ctprofctl", "echo no >&2; exit 3")
        expect_equal(files().status, 3, "a failure of the export")


@test
def what_does_not_go_together():
    """What one export has and the other does not is said in one sentence"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        for words, part in ((["export"], "needs a snapshot"), (["export", "a", "--present"], "export --changes"),
                            (["export", "a", "--format", "csv"], "export --changes"),
                            (["export", "--changes", "a", "b"], "one argument too many"),
                            (["export", "--changes", "--format", "ktstr"], "csv, ndjson"),
                            (["export", "--changes", "--json"], "both want stdout"),
                            (["export", "--changes", "--since", "now", "--until", "-1h"], "no interval"),
                            (["export", "--changes", "--top", "x"], "--top")):
            result = ctl(*words, env={"CTPROFD": CTPROFD})
            expect_equal(result.status, 2, words)
            expect(part in result.one_sentence(), words, result.err)
        expect_equal(ctl("export", "--changes").out, "", "of an empty spool")


main()
