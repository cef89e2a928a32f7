#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of --format csv and ndjson, as other programs read them: their grammar, types and numbers."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess

from harness import BUILD, CTPROFCTL, CTPROFD, expect, expect_equal, main, run, temporary, test

TESTS = pathlib.Path(__file__).resolve().parent.parent
AXES = "pcomm comm comm-exact cgroup all thread".split()
TEXTS = ("kind group_by snapshot host machine_id boot_id kernel_release tool_version side cgroup process thread section "
         "metric rule unit value_text before_text after_text reason approximate top_name before_top_name").split()
BOOLEANS = {"same_boot", "changed", "reset"}
FORMULAS = ["=1+1", "+1", "-1+1", "@SUM(1)", "=a, \"quoted\""]
HOSTILE = ["comma, \"quote\" and\r\nline", "tab\tnul", "csi\x9b2J", "bad\uef80\uefffbytes", " blanks ", "", "\t=1", "a=1",
           "left\u202eright", "\u061c\u200e\u200f", "\u202a\u202b\u202c\u202d", "\u2066\u2067\u2068\u2069", *FORMULAS]
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def as_csv(text, first="^[=+@-]"):
    """As rows have it: U+EF00 plus each byte of a hidden character; in CSV, of the first one of a formula, too."""
    escape = lambda m: "".join(chr(0xef00 + byte) for byte in m[0].encode())
    return re.sub(first, escape, HIDDEN.sub(escape, text))


def make(directory, name, change=lambda source: None):
    source = json.loads((TESTS / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    change(source)
    text = directory / f"{name}.json"
    text.write_text(json.dumps(source), encoding="utf-8")
    path = directory / f"{name}.ctprof.zst"
    expect_equal(run(BUILD / "tests" / "golden" / "make-file", text, path).status, 0, "make-file")
    return str(path)


def views(directory):
    """Every view of the two made snapshots: verb, files, axis."""
    before, after = make(directory, "before"), make(directory, "after")
    for axis in AXES:
        yield "show", [before], axis
        yield "compare", [before, after], axis


def rows_of(form, verb, files, axis, *options):
    # Not run() of the harness: it would turn CR LF into LF.
    result = subprocess.run([CTPROFCTL, verb, *files, "--group-by", axis, "--format", form, *options],
                            capture_output=True, check=False, env={**os.environ, "CTPROFD": CTPROFD}, timeout=120)
    expect_equal(result.returncode, 0, verb, axis, form)
    expect_equal(result.stderr, b"", verb, axis, form)
    return result.stdout.decode("utf-8")


def read_csv(text):
    """As RFC 4180 has it; strict, so that a stray quote is an error."""
    expect(text.endswith("\r\n"), "the last line ends")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def read_objects(text):
    expect(text.endswith("\n"), "the last line ends")
    return [json.loads(line, parse_float=str) for line in text[:-1].split("\n")]


def is_of_type(name, value):
    if value is None:
        return True
    if name in BOOLEANS:
        return isinstance(value, bool)
    if name in TEXTS or name.removeprefix("before_").removeprefix("after_") in TEXTS:
        return isinstance(value, str)
    # parse_float=str keeps digits, so a fraction is a str here, too
    return isinstance(value, int) and not isinstance(value, bool) or bool(re.fullmatch(r"-?[0-9.e+-]+", str(value)))


@test
def csv_is_rfc_4180():
    """Every line of CSV has the columns of the first, and ends in CR LF outside quotes"""
    with temporary() as directory:
        for verb, files, axis in views(directory):
            text = rows_of("csv", verb, files, axis)
            rows = read_csv(text)
            expect_equal(len(rows[0]), len(set(rows[0])), "names are unique")
            for row in rows:
                expect_equal(len(row), len(rows[0]), verb, axis, row)
            expect_equal(text.count("\r\n"), len(rows), "one line a row")
            expect_equal(text.replace("\r\n", "").count("\n") + text.replace("\r\n", "").count("\r"), 0, "line ends")
            bare = rows_of("csv", verb, files, axis, "--no-legend")
            expect_equal(bare, text.split("\r\n", 1)[1], "without the names")


@test
def objects_are_alike():
    """Every object of NDJSON has the same members in the same order, each of one type"""
    with temporary() as directory:
        for verb, files, axis in views(directory):
            objects = read_objects(rows_of("ndjson", verb, files, axis))
            expect(len(objects) > 100, verb, axis, len(objects))
            for row in objects:
                expect_equal(list(row), list(objects[0]), verb, axis)
                for name, value in row.items():
                    expect(is_of_type(name, value), verb, axis, name, value)


@test
def both_forms_say_the_same():
    """CSV and NDJSON have the same rows, digit by digit"""
    with temporary() as directory:
        for verb, files, axis in views(directory):
            names, *rows = read_csv(rows_of("csv", verb, files, axis))
            objects = read_objects(rows_of("ndjson", verb, files, axis))
            expect_equal(len(rows), len(objects), verb, axis)
            expect_equal(names, list(objects[0]), verb, axis, "columns")
            for row, record in zip(rows, objects):
                for name, field in zip(names, row):
                    value = record[name]
                    wanted = {None: "", True: "true", False: "false"}.get(value, value) \
                        if value is None or isinstance(value, bool) else str(value)
                    wanted = as_csv(wanted) if name in TEXTS or name.split("_", 1)[-1] in TEXTS else wanted
                    expect_equal(field, wanted, verb, axis, name)


def members(value):
    """The VALUEs of a row of a section, by their place."""
    for key, member in value.items():
        if isinstance(member, dict) and "delta" not in member:
            for name, inner in members(member):
                yield f"{key}.{name}", inner
        elif key not in ("cgroup", "process", "key", "event", "attr", "unit", "resource", "row", "reason"):
            yield key, member


@test
def sections_are_there_value_by_value():
    """Every value of the sections of JSON is a row, and a value that is null has its reason"""
    with temporary() as directory:
        before, after = make(directory, "before"), make(directory, "after")
        for verb, files in (("show", [after]), ("compare", [before, after])):
            whole = run(CTPROFCTL, verb, *files, "--group-by", "cgroup", "--json").json()
            rows = read_objects(rows_of("ndjson", verb, files, "cgroup"))
            sections = whole["sections"]
            expect({"cgroup-stats", "cgroup-limits", "memory-stat"} <= set(sections), sorted(sections))
            for name, section in sections.items():
                values = [value for row in section for _, value in members(row)]
                mine = [row for row in rows if row["section"] == name]
                expect_equal(len(mine), len(values), verb, name)
                for row in mine:
                    sides = ["value"] if verb == "show" else ["before", "after"]
                    absent = [row[side] is None and row[side + "_text"] is None for side in sides]
                    expect_equal(row["reason"] is not None, any(absent), verb, name, row)
                    if verb == "compare" and None not in (row["before"], row["after"]):
                        expect(row["delta"] is not None and row["changed"] is not None, row)
                        expect_equal(row["changed"], row["before"] != row["after"], row)


@test
def nulls_of_json_have_reasons():
    """A row of a section with a null has a reason in JSON, and no other has one"""
    with temporary() as directory:
        before, after = make(directory, "before"), make(directory, "after")
        for verb, files in (("show", [after]), ("compare", [before, after])):
            whole = run(CTPROFCTL, verb, *files, "--group-by", "cgroup", "--json").json()
            for name, section in whole["sections"].items():
                for row in section:
                    values = [value for place, value in members(row) if not place.endswith("cpus")]
                    sides = values if verb == "show" else [value[side] for value in values for side in
                                                           ("before", "after")]
                    expect_equal("reason" in row, None in sides, verb, name, row)


def rename(source):
    """Hostile names of threads; columns are looked up by name."""
    threads = source["document"]["threads"]
    place = threads["columns"].index("pcomm")
    for row, name in zip(threads["rows"], HOSTILE):
        row[place] = name


@test
def hostile_names_come_back():
    """Commas, quotes and line ends in names do not leave their field"""
    with temporary() as directory:
        path = make(directory, "after", rename)
        names, *rows = read_csv(rows_of("csv", "show", [path], "thread", "--no-thread-normalize"))
        got = {row[names.index("process")] for row in rows}
        for name in HOSTILE:
            expect(as_csv(name) in got, repr(name), sorted(got))
        objects = read_objects(rows_of("ndjson", "show", [path], "thread", "--no-thread-normalize"))
        expect([row[names.index("process")] for row in rows] == [row["process"] or "" for row in objects], "both forms")
        objects = read_objects(rows_of("ndjson", "show", [path], "thread", "--no-thread-normalize", "--formulas"))
        expect({as_csv(name, "$^") for name in HOSTILE} <= {row["process"] for row in objects}, "ndjson")
        names, *rows = read_csv(rows_of("csv", "show", [path], "thread", "--no-thread-normalize", "--formulas"))
        expect([row[names.index("process")] for row in rows] == [row["process"] or "" for row in objects], "formulas")


@test
def every_row_has_its_head():
    """A row tells alone which snapshots, host, boot and kind of view it is of, and what its number is"""
    with temporary() as directory:
        before, after = make(directory, "before"), make(directory, "after")
        for form, read in (("csv", lambda text: [dict(zip(rows[0], row)) for rows in [read_csv(text)] for row in rows[1:]]),
                           ("ndjson", read_objects)):
            for verb, files, kind, snapshots, more in (
                    ("show", [after], "state", {"snapshot": "after"}, []),
                    ("show", [f"{before}..{after}"], "interval", {"before_snapshot": "before", "after_snapshot": "after"}, []),
                    ("compare", [before, after], "totals", {"before_snapshot": "before"}, ["--totals"])):
                rows = read(rows_of(form, verb, files, "pcomm", *more))
                for row in rows:
                    expect_equal((row["kind"], row["group_by"]), (kind, "pcomm"), form)
                    for name, value in snapshots.items():
                        expect_equal(row[name], value, form)
                        side = name.removesuffix("snapshot")
                        for member in ("host", "machine_id", "boot_id", "kernel_release", "tool_version",
                                       "start_realtime_ns", "end_realtime_ns"):
                            expect(row[side + member], form, kind, side + member)
                expect({row["rule"] for row in rows if row["metric"] == "run_time_ns"} == {"SumNs"}, form)
                expect({row["rule"] for row in rows if row["section"] == "derived"} == {"Derived"}, form)
                expect_equal("work" in rows[0], kind == "interval", form)


@test
def nothing_is_a_formula():
    """No text of CSV begins as a formula does, unless it is wanted; numbers stay numbers"""
    with temporary() as directory:
        after = make(directory, "after", rename)
        before = make(directory, "before", rename)
        options = ("compare", [before, after], "thread", "--no-thread-normalize")
        names, *rows = read_csv(rows_of("csv", *options))
        texts = [i for i, name in enumerate(names) if name in TEXTS]
        begun = {row[i] for row in rows for i in texts if row[i][:1] in ("=", "+", "-", "@")}
        expect_equal(begun, set(), "texts that begin as formulas do")
        delta = names.index("delta")
        negative = [row[delta] for row in rows if row[delta].startswith("-")]
        expect(negative and all(float(cell) < 0 for cell in negative), "negative numbers", negative[:5])
        names, *rows = read_csv(rows_of("csv", *options, "--formulas"))
        got = {row[names.index("process")] for row in rows}
        for name in FORMULAS:
            expect(as_csv(name, "$^") in got, repr(name), sorted(got))
        result = run(CTPROFCTL, "show", after, "--format", "html", "--formulas", env={"CTPROFD": CTPROFD})
        expect_equal((result.status, result.one_sentence()), (2, "--formulas is for --format csv and ndjson."), "html")


@test
def nothing_turns_the_text_around():
    """No form has a character that nobody sees, and all forms have what the bytes were"""
    with temporary() as directory:
        path = make(directory, "after", rename)
        for options in (["--format", "csv"], ["--format", "ndjson"], ["--format", "html"], ["--json"], ["--json=pretty"], []):
            text = run(CTPROFCTL, "show", path, "--group-by", "thread", "--no-thread-normalize", "--limit", "0",
                       *options, env={"CTPROFD": CTPROFD}).out
            expect("left" in text, options, "has the names")
            found = set(HIDDEN.findall(text)) - set("\r\n")
            expect_equal(found, {"\x1f"} & found if "html" in options else set(), *options, "hidden characters")
        exported = directory / "x.ndjson"
        expect_equal(run(CTPROFCTL, "export", path, exported, "--format", "ndjson", env={"CTPROFD": CTPROFD}).status, 0, "export")
        text = exported.read_text(encoding="utf-8")
        expect_equal(set(HIDDEN.findall(text)) - set("\n"), set(), "hidden characters of the export")
        expect("left\\u202eright" in text, "the export has them escaped")


main()
