#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of --format html, in a browser: what it says, what it does when touched, what it never does."""
import csv
import json
import os
import pathlib
import pty
import re
import subprocess

from browser import Browser
from harness import BUILD, CTPROFCTL, Idle, Local, expect, expect_equal, main, run, temporary, test

TESTS = pathlib.Path(__file__).resolve().parent.parent
RANKS = "ns us bytes ticks count ratio none".split()
HOSTILE = [
    "</script><script>window.owned=1</script>", "<!--<script>", "-->", "]]>", "<img src=x onerror=window.owned=1>",
    "\"quotes\" and 'others' & &amp; `ticks` ${window.owned=1}", "\u2028\u2029\u202eright", "bad\uef80\uefffbytes",
    "pua\uefee\uefbc\uef80", "tab\tnewline\nnul", "{{data}}", "\\u003c/script>", "<\\/script>", "a\u001fb",
]


def compile_snapshot(directory, name, change=lambda source: None):
    source = json.loads((TESTS / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    change(source)
    text = directory / f"{name}.json"
    text.write_text(json.dumps(source), encoding="utf-8")
    path = directory / f"{name}.ctprof.zst"
    expect_equal(run(BUILD / "tests" / "golden" / "make-file", text, path).status, 0, "make-file")
    return path


class Made:
    """Two made snapshots, with values of every kind, and a browser to look at pages of them."""

    def __init__(self, change=lambda source: None):
        self.change = change

    def __enter__(self):
        self.temporary = temporary()
        self.directory = self.temporary.__enter__()
        try:
            self.files = [compile_snapshot(self.directory, name, self.change) for name in ("before", "after")]
            self.browser = Browser.shared()
        except BaseException:
            self.temporary.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.temporary.__exit__(None, None, None)

    def json(self, *options, files=None):
        files = files or self.files
        return run(CTPROFCTL, "compare" if len(files) == 2 else "show", *files, "--json", *options).json()

    def open(self, *options, files=None):
        files = files or self.files
        page = self.directory / "page.html"
        result = run(CTPROFCTL, "compare" if len(files) == 2 else "show", *files, "--format", "html", *options)
        expect_equal((result.status, result.err), (0, ""), "html")
        page.write_text(result.out, encoding="utf-8")
        self.browser.open(page)
        return page

    def rows(self):
        """Texts of all rows of the table of metrics, however many are elements at a time."""
        return self.browser.run("""
            const grid = page.table.grid, texts = [];
            for (let i = 0; i < grid.rows.length; i++)
                texts.push(grid.columns.map((column) => {
                    const cell = column.cell(grid.rows[i], i);
                    return typeof cell === "object" ? (cell.title && cell.className === "path" ? cell.title : cell.textContent) : cell;
                }));
            return [grid.columns.map((column) => column.title), texts];""")

    def filter(self, text=None, metric=None, section=None, moved=None):
        for name, value in (("text", text), ("metric", metric), ("section", section)):
            if value is not None:
                self.browser.run("""
                    const field = document.getElementById("filter-" + arguments[0]);
                    field.value = arguments[1];
                    field.dispatchEvent(new Event(arguments[0] === "section" ? "change" : "input"));""", name, value)
        if moved is not None:
            self.browser.run("""
                const box = document.getElementById("filter-moved");
                if (box.checked !== arguments[0]) box.click();""", moved)
        self.browser.run("return new Promise((done) => setTimeout(done, 250));")


def words(browser, *parts):
    """The text of these parts of the page, with what is folded in them."""
    return browser.run("""
        return arguments[0].map((id) => {
            const element = document.getElementById(id);
            for (const details of element.querySelectorAll("details"))
                details.open = true;
            return element.innerText;
        }).join("\\n");""", parts)


def one_side(entry, side):
    """The entry of a group of one side in the form of the others: the other side has none."""
    return {**entry, "before": None, "after": None, "delta": None, "percent": None, "reset": False, side: entry["value"],
            "changed": isinstance(entry["value"], (int, float)) and entry["value"] != 0}


def all_groups(answer):
    """Groups with the side they are of alone, the heaviest first, as the page has them."""
    groups = [(group, side) for part, side in (("groups", None), ("onlyBefore", "before"), ("onlyAfter", "after"))
              for group in answer.get(part, [])]
    return sorted(groups, key=lambda item: -abs(item[0]["weight"]) if item[0].get("weight") is not None else 1)


def json_rows(answer):
    return [(group, name, one_side(entry, side) if side else entry) for group, side in all_groups(answer)
            for part in ("metrics", "derived") for name, entry in group.get(part, {}).items()]


def registry():
    answer = run(CTPROFCTL, "--local", "metric-list", "--json").json()
    return {row["name"]: row for part in ("metrics", "derived") for row in answer[part]}


def number_of(value):
    if isinstance(value, dict):
        if "minCpus" in value:
            return (value["minCpus"] + value["maxCpus"]) / 2
        return (value["min"] + value["max"]) / 2 if "min" in value else None
    return value


@test
def quiet_and_alone():
    """the page opens without a word on the console and without asking for any other file"""
    with Made() as made:
        for options, files in (([], None), (["--group-by", "all"], None), (["--group-by", "cgroup", "--all-rows", "--raw"], None),
                               (["--group-by", "thread"], made.files[1:]), (["--filter", "nobody"], None)):
            page = made.open(*options, files=files)
            said, asked = made.browser.logs()
            expect_equal(said, [], options, "console")
            asked = [url for url in asked if not url.startswith("data:")]
            expect_equal(asked, [page.as_uri()], options, "requests")
            expect_equal(made.browser.run("return document.querySelectorAll('script.data').length;"), 0, "pieces left")
            expect(made.browser.run("return !document.getElementById('incomplete');"), "it says that it is cut")


@test
def head_is_told():
    """the head has names, hosts, kernels, times, threads, differences of the hosts, and what was not readable"""
    with Made() as made:
        answer = made.json()
        made.open()
        text = words(made.browser, "top", "captures", "sources")
        lines = [line.split(None, 1)[1] for line in run(CTPROFCTL, "compare", *made.files).out.splitlines()[:4]]
        top = words(made.browser, "top")
        for line in lines[:2]:
            expect(line in top, line, "in", top)
        for side in ("before", "after"):
            head = answer[side]
            for key in ("name", "hostName", "kernelRelease", "threads", "processes"):
                expect(str(head[key]) in text, key, head[key], "in", text)
            for source in answer["sources" + side.capitalize()]:
                if source["state"] in ("partial", "unavailable") and source["name"] != "jemalloc":
                    expect(source["name"] in text and source["reason"] in text, source, "in", text)
        expect("10.250s" in text, "elapsed time", text)
        for change in answer["hostChanges"]:
            key = re.sub(r"^cpufreq_governor\.\d$", "cpufreq_governor.0-3", change["key"])
            expect(f"\n{key}\t" in text, change, "in", text)
        expect_equal(made.browser.run("return document.title;"), "before \u2192 after - ctprof", "title")


@test
def first_screen():
    """the first screen has the lines of a terminal but for what is missing, and bars; what could not be read comes last"""
    with Made() as made:
        table = run(CTPROFCTL, "compare", *made.files).out
        lines = [line.split(None, 1) for line in table.split("\n\n")[0].splitlines() if not line.startswith((" ", "missing"))]
        for width, height, rows in ((1280, 800, 8), (390, 844, 1)):
            made.open()
            made.browser.size(width, height)
            told, n_rows = made.browser.run("""
                const told = Array.from(document.querySelectorAll("#top dt"), (label) => [label.innerText, label.nextSibling.innerText]);
                const isSeen = (element) => element.getBoundingClientRect().bottom < arguments[0];
                return [told, Array.from(document.querySelectorAll("#time .stack")).filter(isSeen).length];""", height)
            for line in lines:
                expect(line in told, width, line, "in", told)
            expect(n_rows >= rows, width, "rows with bars", n_rows)
        order = made.browser.run("return Array.from(document.querySelectorAll('section'), ({id}) => id);")
        expect_equal(order[:2] + order[-2:], ["top", "time", "sources", "absent"], "parts")


@test
def spans_are_cut():
    """a span of time is cut, not rounded, as in the head of the table"""
    spans = {0: "0.000s", 999_999: "0.000s", 10_250_999_999: "10.250s", 59_999_999_999: "59.999s", 60 * 10**9: "1min 0.000s",
             3_599_999_999_999: "59min 59.999s", 3600 * 10**9: "1h", 3_661_999_999_999: "1h 1min 1s", 7_200 * 10**9 + 59 * 10**9: "2h 59s",
             86_400 * 10**9: "1d", 90_061_999_999_999: "1d 1h 1min", 2**63: "106751d 23h 47min"}

    def shift(source):
        if source["head"]["name"] == "after":
            source["head"]["startBoottimeNs"] += 999_999

    with Made(shift) as made:
        made.open()
        for ns, wanted in spans.items():
            expect_equal(made.browser.run("return formatSpan(arguments[0]);", str(ns)), wanted, ns)
        table = run(CTPROFCTL, "compare", *made.files).out
        head = made.browser.run("return document.getElementById('top').innerText;")
        expect("10.250s" in table and "10.250s" in head, table[:300], head)


@test
def numbers_are_exact():
    """every row of JSON is in the page, in its order, with every digit"""
    with Made() as made:
        for options in (["--totals", "--group-by", "comm"], ["--totals", "--group-by", "cgroup", "--limit", "0"]):
            answer = made.json(*options)
            made.open("--raw", "--all-rows", "--limit", "0", *options)
            titles, rows = made.rows()
            wanted = json_rows(answer)
            expect_equal(len(rows), len(wanted), "rows")
            largest = 0
            for texts, (group, name, entry) in zip(rows, wanted):
                cells = dict(zip(titles, texts))
                expect_equal(cells["metric"], name, group["key"], "metric")
                for side in ("before", "after", "delta"):
                    value = entry[side]
                    if value is None and not (side == "delta" and "differs same".find(cells[side]) >= 0):
                        expect_equal(cells[side], "-", group["key"], name, side)
                    elif isinstance(value, int):
                        largest = max(largest, abs(value))
                        expect_equal(cells[side], f"{value:+d}" if side == "delta" else str(value), group["key"], name, side)
                    elif isinstance(value, float):
                        expect_equal(float(cells[side]), value, group["key"], name, side)
                if entry["reset"]:
                    expect_equal(cells["%"], "reset", group["key"], name)
                elif isinstance(entry["percent"], (int, float)):
                    expect_equal(float(cells["%"]), float(entry["percent"]), group["key"], name, "percent")
            if "comm" in options:
                expect(largest > 1 << 60, "the fixture has no number that a double would round", largest)


@test
def sorting():
    """a header sorts by its column, down, up and back, units apart and absent values last"""
    units = {name: RANKS.index(row["unit"]) for name, row in registry().items()}
    with Made() as made:
        answer = made.json("--totals", "--group-by", "comm", "--limit", "40")
        made.open("--totals", "--raw", "--all-rows", "--group-by", "comm")
        original = [(group["key"], name, entry) for group, name, entry in json_rows(answer)]

        def order():
            titles, rows = made.rows()
            return [(texts[titles.index("metric")], texts[titles.index("before")], texts[titles.index("delta")]) for texts in rows]

        start = order()
        for column, sign in (("delta", -1), ("delta", 1)):
            made.browser.run("""
                Array.from(document.querySelectorAll("#metrics th button")).find((b) => b.textContent === arguments[0]).click();""", column)
            keyed = []
            for index, (_, name, entry) in enumerate(original):
                value = number_of(entry[column])
                keyed.append(((value is None, 0 if value is None else units[name], 0 if value is None else sign * value, index), start[index]))
            got = order()
            expect_equal(got, [row for _, row in sorted(keyed, key=lambda item: item[0])], column, sign)
            expect_equal(made.browser.run("return document.querySelector('#metrics th[aria-sort$=cending]').getAttribute('aria-sort');"),
                         "descending" if sign < 0 else "ascending", "aria-sort")
        made.browser.run("Array.from(document.querySelectorAll('#metrics th button')).find((b) => b.textContent === 'delta').click();")
        expect_equal(order(), start, "the third click")


@test
def orders():
    """integers that are texts, as no double holds them, are ordered as numbers whatever their signs, and names as texts"""
    ascending = ["-18014398509481985", "-9007199254740995", "-9007199254740993", -5, 0, 7, "9007199254740993", "9007199254740995", "18014398509481985"]
    with Made() as made:
        made.open()
        for rising in (ascending, ["kworker/0", "nginx", "nginx-2"]):
            got = made.browser.run("return arguments[0].toReversed().sort(compareOrders);", rising)
            expect_equal(got, rising, "ascending")


@test
def filtering():
    """filters for groups, metrics, sections and what changed leave the rows that JSON says"""
    sections = {name: row["section"] for name, row in registry().items()}
    with Made() as made:
        wanted = json_rows(made.json("--limit", "40"))
        made.open()

        def check(what, keep, **fields):
            made.filter(**fields)
            n = sum(1 for row in wanted if keep(*row))
            status = made.browser.run("return document.querySelector('#metrics [role=status]').textContent;")
            expect_equal(int(status.split()[0].replace(",", "")), n, what, status)
            expect_equal(len(made.rows()[1]), n, what)
            expect(0 < n < len(wanted), what, n, "of", len(wanted))

        check("changed only", lambda group, name, entry: entry["changed"])
        check("groups", lambda group, name, entry: "ngin" in group["key"], text="NGIN", moved=False)
        check("part of a metric", lambda group, name, entry: "delay" in name, text="", metric="delay")
        check("glob", lambda group, name, entry: re.fullmatch(".*_delay_total_ns", name), metric="*_delay_total_ns")
        check("section", lambda group, name, entry: sections[name] == "derived", metric="", section="derived")
        check("all of them", lambda group, name, entry: entry["changed"] and sections[name] == "primary" and "post" in group["key"] and "run" in name,
              text="post", metric="run", section="primary", moved=True)


def tell_commands(source):
    """nginx is what an interpreter runs several programs as, and web a program that names itself."""
    threads = source["document"]["threads"]
    names = [column if isinstance(column, str) else column.get("name") for column in threads["columns"]]
    process, pid = names.index("pcomm"), names.index("tgid")
    threads["columns"].append("command")
    for row in threads["rows"]:
        row.append({"nginx": ["python3", f"/srv/App-{row[pid]}.py"], "web": ["python3", "/usr/bin/web"]}.get(row[process]))


@test
def groups_of_commands():
    """a group of several commands says how many, which they are where it is pointed at, and is found by each"""
    with Made(tell_commands) as made:
        commands = {group["key"]: group.get("commands") for group in made.json("--limit", "0")["groups"]}
        names = [command["name"] for command in commands["nginx"]]
        expect_equal(set(names), {f"python3 App-{pid}.py" for pid in (100, 101, 102, 203)}, "commands")
        made.open()
        expect("web" in commands and commands["postgres"] is None, commands)
        titles = dict(made.browser.run("""
            return Array.from(document.querySelectorAll('#time button.link'), (button) => [button.textContent, button.title]);"""))
        expect(all(name in titles[f"nginx \u00d7{len(names)}"] for name in names), titles)
        expect({"web", "postgres"} <= titles.keys(), titles)
        made.filter(text="app-203", metric="run_time_ns", moved=False)
        expect_equal([row[0] for row in made.rows()[1]], [f"nginx \u00d7{len(names)}"], "found by a command")
        made.filter(text="app-204")
        expect_equal(made.rows()[1], [], "found by none")


@test
def ladders():
    """the script writes numbers as the tables do, for every vector of the contract"""
    forms = {"value": {}, "delta": {"signed": True}, "derived-value": {"derived": True}, "derived-delta": {"signed": True, "derived": True}}
    with open(TESTS / "data" / "vectors-scale.tsv", encoding="utf-8") as file:
        vectors = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row and not row[0].startswith("#")]
    # Above 2^53, where doubles have no odd numbers; 2^60 + 500,000,001 lies right above a tie, which they would lose.
    vectors += [["none/value", "18446744073709551615", "18446744073709551615"], ["none/delta", "-9007199254740993", "-9007199254740993"],
                ["ns/value", "9007199254740993499999", "9007199254740.993s"], ["count/value", "1152921504500500001", "1152921504.501G"],
                ["count/value", "1152921504500500000", "1152921504.500G"], ["percent", "2000 -> 2001", "+0.0%"]]
    done = 0
    with Made() as made:
        made.open()
        for kind, raw, wanted in vectors:
            unit, _, form = kind.partition("/")
            if form:
                value = int(raw) if re.fullmatch(r"-?\d+", raw) else float(raw)
                # As html-data.h has them.
                value = str(value) if isinstance(value, int) and abs(value) >= 1 << 53 else value
                got = made.browser.run("return formatQuantity(arguments[0], arguments[1], arguments[2]);", value, unit, forms[form])
            elif kind == "percent":
                before, after = (int(word) for word in raw.split(" -> "))
                percent = None if before == 0 else 100 * (after - before) / abs(before)
                got = made.browser.run("""
                    const [percent, delta, before] = arguments;
                    return percent === null ? "-" : formatPercent(percent, delta, before);""",
                                       percent, str(after - before), str(before))
            elif kind == "range text":
                low, high = (int(word) for word in raw.split(" and "))
                got = made.browser.run("return formatValue({min: arguments[0], max: arguments[1]}, {unit: 'none'}, false);", low, high)
            elif kind == "mode text":
                counts = [(word, int(n)) for word, n in (part.rsplit(" x", 1) for part in raw.split(", "))]
                word, count = min(counts, key=lambda item: (-item[1], item[0]))
                got = made.browser.run("return formatValue(arguments[0], {unit: 'none'}, false);",
                                       {"mode": word, "count": count, "total": sum(n for _, n in counts)})
            else:
                expect_equal(kind, "affinity text", "an unknown kind of vector")
                cpus = re.search(r"\((.*)\)", wanted)[1]
                counts = [int(word) for word in re.match(r"(\d+)(?:-(\d+))?", wanted).groups() if word]
                got = made.browser.run("return formatValue(arguments[0], {unit: 'none'}, false);",
                                       {"minCpus": counts[0], "maxCpus": counts[-1], "uniform": cpus != "mixed", "cpus": cpus})
            expect_equal(got, wanted, kind, raw)
            done += 1
        largest, least = made.browser.run("return ['1e999', '-1e999'].map((text) => formatQuantity(JSON.parse(text), 'none'));")
        expect_equal((int(largest), int(least)), (int(1.7976931348623157e308), -int(1.7976931348623157e308)), "beyond all doubles")
    expect(done >= 150, "vectors", done)


@test
def same_cells_as_the_table():
    """cells of the page read as those of the table on a terminal"""
    with Made() as made:
        columns = "group,threads,metric,before,after,delta,%,top,p50,p99"
        table = run(CTPROFCTL, "compare", *made.files, "--totals", "--columns", columns, "--no-legend").out
        lines = [" ".join(line.split()) for line in table.splitlines()]
        made.open("--totals")
        titles, rows = made.rows()
        sides = made.browser.run("return page.table.grid.rows.map((row) => row.group.side);")
        done = 0
        for texts, side in zip(rows, sides):
            cells = [cell for title, cell in zip(titles, texts) if title not in ("impact", "per second")]
            metric = texts[titles.index("metric")]
            # The table writes ticks as seconds, one counter that has two names once, and names without their units.
            if side or metric.endswith("_clock_ticks") or metric in ("cpu_delay_total_ns", "cpu_delay_count"):
                continue
            text = " ".join(" ".join(cells).split())
            short = " ".join(" ".join(re.sub("_(ns|bytes)$", "", cell) for cell in cells).split())
            expect(text in lines or short in lines, repr(text), "is no line of the table")
            done += 1
        expect(done > 50, "rows", done)


@test
def sections_and_pairings():
    """sections have the rows and reasons of JSON, pressure is told between the two, and pairings are listed"""
    with Made() as made:
        answer = made.json("--totals", "--group-by", "cgroup")
        made.open("--totals", "--group-by", "cgroup", "--all-rows")
        sections = made.browser.run("""
            document.querySelectorAll("#sections details").forEach((details) => details.open = true);
            return Array.from(document.querySelectorAll("#sections details"), (details) => [
                details.querySelector("h3").textContent, details.querySelector("table").getAttribute("aria-rowcount") - 1,
                details.innerText]);""")
        expect_equal([(name, n) for name, n, _ in sections], [(name, len(rows)) for name, rows in answer["sections"].items()], "sections")
        for (name, _, text), rows in zip(sections, answer["sections"].values()):
            for row in rows[:40]:
                expect(row.get("reason", "") in text, name, row, "in", text)
        text = dict((name, text) for name, _, text in sections)
        expect("185.547MiB \u2192 244.141MiB (+58.594MiB)" in text["smaps-rollup"], text["smaps-rollup"])
        expect("max \u2192 200.000ms" in text["cgroup-limits"], text["cgroup-limits"])
        pressure = made.browser.run("return document.querySelector('#pressure tbody tr').innerText;").split()
        row = answer["sections"]["host-pressure"][0]["total_usec"]
        share = f"{row['delta'] / (answer['elapsedNs'] / 1000) * 100:.2f}%"
        expect(pressure[:2] == ["cpu", "some"] and share in pressure, pressure, share)
        text = made.browser.run("return document.getElementById('pairings').innerText;")
        for pairing in answer["pairings"]:
            expect(pairing["before"] in text and pairing["after"] in text, pairing, "in", text)
        # What did not change is left out of the long lists, and counted.
        made.open("--totals", "--group-by", "cgroup")
        kept = dict(made.browser.run("return Object.entries(page.data.sections).map(([name, rows]) => [name, rows.length]);"))
        left = made.browser.run("return page.data.info.idleRows;")
        wanted = {name: len(rows) for name, rows in answer["sections"].items()}
        expect(left > 0 and sum(kept.values()) + left == sum(wanted.values()), kept, left, wanted)
        expect_equal({name: n for name, n in kept.items() if "pressure" in name}, {name: n for name, n in wanted.items() if "pressure" in name}, "pressure")
        expect(f"{left} rows that did not change are not in this page" in made.browser.run("return document.getElementById('sections').innerText;"), "it says how many")


@test
def hundredths():
    """what a section has in hundredths is a plain number, as load averages are, but pressure is percent"""
    with Made() as made:
        made.open()
        cells = made.browser.run("""
            const text = (name, row) => sectionColumn(name, false).cell(row);
            return [text("value", {unit: "hundredths", value: {before: 52, after: 210, delta: 158}}), text("value", {unit: "hundredths", value: 1200}),
                text("avg10", {avg10: {before: 1859, after: 30, delta: -1829}}), pressureMeter({after: 1859})[0]];""")
        expect_equal(cells, ["0.52 \u2192 2.10 (+1.58)", "12.00", "18.59% \u2192 0.30% (-18.29%)", "18.59%"], "cells")


@test
def windows():
    """a page of a window has its counts, in the head and beside each group"""
    with Made() as made:
        answer = made.json("--window")
        made.open("--window")
        text = words(made.browser, "top")
        lives = answer["lives"]
        for key, word in (("survived", "lived on"), ("born", "born"), ("ended", "ended")):
            expect(re.search(rf"\b{lives[key]} {word}", text), word, lives, "in", text)
        group = next(group for group in answer["groups"] if group["lives"]["born"] > 0)
        made.filter(text=group["key"], metric="run_time_ns", moved=False)
        titles, rows = made.rows()
        expect(any(f"(+{group['lives']['born']} \u2212{group['lives']['ended']})" in row[titles.index("threads")] for row in rows), group, rows)


@test
def absent_is_never_zero():
    """what was not measured is a dash with its reason, in the cell, beside the chosen row and in a list"""
    with Made() as made:
        answer = made.json()
        made.open("--all-rows")
        group, name, entry = next(row for row in json_rows(answer) if row[2]["before"] is None and row[2]["after"] is None)
        made.filter(text=group["key"], metric=name)
        cells = made.browser.run("""
            return Array.from(document.querySelectorAll("#metrics tbody .absent"), (cell) => [cell.textContent, cell.title]);""")
        expect(len(cells) >= 3, "dashes", cells)
        expect(all(text == "-" for text, _ in cells) and cells[0][1] == entry["reason"], cells, entry)
        made.browser.run("document.querySelector('#metrics .scroll').focus();")
        made.browser.press("\ue015")  # arrow down
        detail = made.browser.run("return document.querySelector('.detail').innerText;")
        expect(entry["reason"] in detail and "not measured" in detail, detail)
        root = re.sub(r"^no [a-z_]+: ", "", re.sub(r"^(before and after|before|after): ", "", entry["reason"]))
        expect(root in made.browser.run("return document.getElementById('absent').innerText;"), root)
        # No bar of a part that was not measured, and it says so.
        said = made.browser.run("return document.getElementById('time').innerText;")
        expect("asleep or blocked" in said and "blocked otherwise" not in said, said)
        expect("blocked" not in made.browser.run("return document.querySelector('#time thead').innerText;"), "a column of nothing")


def make_hostile(source):
    document = source["document"]
    names = [column if isinstance(column, str) else column.get("name") for column in document["threads"]["columns"]]
    for key in ("comm", "pcomm"):
        column = names.index(key)
        for i, row in enumerate(document["threads"]["rows"]):
            row[column] = HOSTILE[i % len(HOSTILE)]
    document["host"]["kernel_cmdline"] = HOSTILE[0] + source["head"]["name"]
    document["host"]["cpu_model"] = HOSTILE[4] + source["head"]["name"]
    source["head"]["hostName"] = document["hostName"] = HOSTILE[0]
    for line in document["sources"]:
        if "reason" in line:
            line["reason"] = HOSTILE[0]


@test
def names_stay_names():
    """no name, host or reason becomes markup, script or an end of the data"""
    with Made(make_hostile) as made:
        for axis in ("comm-exact", "thread", "pcomm", "all"):
            answer = made.json("--group-by", axis, "--limit", "0")
            page = made.open("--group-by", axis, "--limit", "0", "--all-rows")
            text = page.read_text(encoding="utf-8")
            data = re.findall(r'<script type="application/json" class="data">(.*?)</script>', text, re.S)
            expect(len(data) > 4 and not any(mark in piece for piece in data for mark in "<>\u2028\u2029"), "marks in the data")
            expect_equal(text.count("<script"), len(data) + 1, axis, "elements")
            said, _ = made.browser.logs()
            expect_equal(said, [], axis, "console")
            expect_equal(made.browser.run("return [window.owned ?? 0, document.scripts.length, document.images.length];"), [0, 1, 0], axis)
            expect_equal(len(made.rows()[1]), len(json_rows(answer)), axis, "rows")
            labels = made.browser.run("return page.data.groups.map((group) => group.label);")
            # Text that is seen, with no character that hides or turns what stands beside it.
            expect(not any(re.search("[\u0000-\u001f\u2028-\u202e\uef80-\uefff]", label) for label in labels), labels)
            joined = "\n".join(labels)
            for seen in (HOSTILE[0], HOSTILE[1], HOSTILE[4], "bad\\x80\\xffbytes", "\\xe2\\x80\\xa8", "tab\\x09newline\\x0anul"):
                expect(seen in joined, axis, repr(seen), "in", joined)


@test
def policy_holds():
    """the policy of the page refuses any script, style, image and request that is not its own"""
    with Made() as made:
        made.open()
        refused = made.browser.run("""
            const refused = [];
            document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
            const script = document.createElement("script");
            script.textContent = "window.owned = 1";
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.body.append(script, style, Object.assign(new Image(), {src: "file:///etc/hostname"}));
            fetch("http://127.0.0.1:9/").catch(() => {});
            return new Promise((done) => setTimeout(() => done([refused.sort(), window.owned ?? 0]), 300));""")
        expect_equal(refused, [["connect-src", "img-src", "script-src-elem", "style-src-elem"], 0], "refused")


@test
def colours_and_sizes():
    """dark and light both render, by the system and by hand"""
    with Made() as made:
        made.open("--group-by", "cgroup")
        look = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color];"

        def brightness():
            return [sum(int(part) for part in re.findall(r"\d+", colour)[:3]) for colour in made.browser.run(look)]

        for scheme in ("light", "dark"):
            made.browser.scheme(scheme)
            paper, ink = brightness()
            expect((paper > 600 and ink < 200) if scheme == "light" else (paper < 200 and ink > 500), scheme, paper, ink)
        made.browser.scheme("light")
        seen = []
        for _ in range(3):
            made.browser.run("document.getElementById('scheme').click();")
            seen.append((made.browser.run("return document.getElementById('scheme').textContent;"), brightness()[0] > 600))
        expect_equal(seen, [("dark", False), ("light", True), ("auto", True)], "by hand")
        for width, height in ((1280, 900), (390, 844)):
            made.browser.size(width, height)
            for which in ("light", "dark"):
                made.browser.scheme(which)
                made.browser.screenshot(made.directory / "shot.png")
                expect((made.directory / "shot.png").stat().st_size > 10000, "an empty picture", width, which)


# Elements that end beyond the window, outside of boxes that scroll; texts that are cut; lists that scroll sideways.
CUT = """
    const width = arguments[0], found = [], name = (e) => `${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`;
    for (const e of document.querySelectorAll("body *")) {
        const box = e.getBoundingClientRect();
        if (box.width > 0 && (box.right > width + 0.5 || box.left < -0.5) && !e.closest(width > 700 ? ".scroll, .wide *" : ".scroll"))
            found.push(["outside", name(e)]);
        // Where there is room for rows, a table scrolls in its box, and a long path has its middle in its title alone.
        else if (e.matches(width > 700 ? ".facts *, nav, .lines *" : ".wide, .wide *, .facts *, nav, .lines *")
                 && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
            found.push(["cut", name(e)]);
    }
    return [document.documentElement.scrollWidth, found];"""


def check_widths(made, what):
    """Nothing is cut off on a phone, nor in a window of usual size."""
    for width in (390, 1280):
        made.browser.size(width, 844)
        wide, found = made.browser.run(CUT, width)
        # The window of a phone grows with its page, so its own width is no measure.
        expect(wide <= width, what, "wider than the window:", wide, width)
        expect_equal(found, [], what, width)


@test
def narrow_screens():
    """on a phone nothing is cut off and the page is no wider than the screen; rows of figures become paragraphs with titles"""
    with Made() as made:
        for options, files in ((["--group-by", "cgroup"], None), (["--group-by", "all"], None), (["--window"], None),
                               (["--group-by", "cgroup"], made.files[1:])):
            made.open(*options, files=files)
            made.browser.run("document.getElementById('time-sleep')?.click();")
            check_widths(made, options)
        made.browser.size(390, 844)
        made.open()
        titles = made.browser.run("""
            const row = document.querySelector("#movers tbody tr");
            return [getComputedStyle(row).display, Array.from(row.cells).filter((cell) => cell.classList.contains("number"))
                .map((cell) => getComputedStyle(cell, "::before").content)];""")
        expect_equal(titles, ["flex", ['"share "', '"done "', '"per second "', '"threads "']], "titles")


@test
def movers_have_several_metrics():
    """of a mover up to three metrics are told, the largest first, and one counter that has two names once"""
    with Made() as made:
        answer = made.json("--totals")
        made.open("--totals")
        rows = made.browser.run("""
            let label = "";
            return Array.from(document.querySelectorAll("#movers tbody tr"), ({cells}) => {
                label = cells[0].querySelector("button")?.title.replace(": show its rows", "") ?? label;
                return [label, cells[0].textContent !== "", cells[1].textContent, cells[4].textContent];
            });""")
        told = {}
        for label, first, metric, delta in rows:
            expect_equal(first, label not in told, label, "its name stands once")
            told.setdefault(label, []).append((metric, delta))
        expect(all(len(metrics) <= 3 for metrics in told.values()) and sum(len(metrics) > 1 for metrics in told.values()) >= 3, told)
        expect(not {"cpu_delay_total_ns", "cpu_delay_count"} & {metric for metrics in told.values() for metric, _ in metrics}, told)
        nginx = next(group for group in answer["groups"] if group["key"] == "nginx")["metrics"]
        sums = {name: sum(group["metrics"][name]["after"] or 0 for group in answer["groups"])
                + sum(group["metrics"][name]["value"] or 0 for group in answer["onlyAfter"]) for name in ("rchar", "nonvoluntary_csw", "timeslices")}
        expect_equal([metric for metric, _ in told["nginx"]],
                     sorted(sums, key=lambda name: -nginx[name]["delta"] / sums[name]), "by impact")
        # One that only one side has stands among the others, marked.
        marks = dict(made.browser.run("""
            return Array.from(document.querySelectorAll("#movers .mark"), (mark) => [mark.parentNode.querySelector("button").textContent, mark.textContent]);"""))
        expect_equal(marks.get("backup"), "only in AFTER", marks)
        expect_equal(told["backup"][0], ("write_bytes", "+800.000MiB"), "a newcomer")


def make_sets(directory, n):
    """Files of n captures a side, a minute apart: threads run by their number in the file, and twice as much after."""
    made = {}
    for side, name in enumerate(("before", "after")):
        source = json.loads((TESTS / "golden" / f"{name}.json").read_text(encoding="utf-8"))
        threads = source["document"]["threads"]
        columns = [column if isinstance(column, str) else column.get("name") for column in threads["columns"]]
        run_time = columns.index("run_time_ns")
        for variant in range(n):
            for member in (source["head"], source["document"]):
                # All of the one side come before all of the other.
                for key in ("startRealtimeNs", "startBoottimeNs"):
                    member[key] += 60 * 10**9 * (1 + 10 * side * (variant == 0))
            source["head"]["name"] = f"{name}-{variant}"
            text, path = directory / "set.json", directory / f"{name}-{variant}.ctprof.zst"
            text.write_text(json.dumps(source), encoding="utf-8")
            expect_equal(run(BUILD / "tests" / "golden" / "make-file", text, path).status, 0, "make-file")
            made.setdefault(name, []).append(str(path))
            for number, row in enumerate(threads["rows"]):
                row[run_time] += (1 + side) * (number + 1) * 10**8 + variant * 10**5
    return [",".join(made[name]) for name in ("before", "after")]


@test
def sets_have_a_page():
    """two sets have the medians of all groups by weight, how samples scatter, and what came of each test; on a phone, too"""
    with Made() as made:
        for n, succeeds in ((5, True), (3, False)):
            before, after = make_sets(made.directory, n)
            options = ["--before", before, "--after", after, "--metrics", "run_time_ns,nr_threads,avg_slice_ns", "--sort-by", "weight"]
            answer = run(CTPROFCTL, "compare", *options, "--limit", "40", "--json").json()
            expect_equal(answer["kind"], "sets", "kind")
            expect_equal(answer["significant"] > 0, succeeds, n, "captures a side")
            result = run(CTPROFCTL, "compare", *options, "--format", "html")
            expect_equal((result.status, result.err), (0, ""), "html")
            page = made.directory / "sets.html"
            page.write_text(result.out, encoding="utf-8")
            made.browser.open(page)
            expect_equal(made.browser.logs()[0], [], "console")
            head = words(made.browser, "top", "captures")
            expect(f"before-0..before-{n - 1}" in head and f"samples of\t{n} captures\t{n} captures" in head, head)
            expect(f"{answer['tested']} rows, adjusted" in head, head)
            expect_equal(f"it takes {answer['samplesNeeded']} a side" in head, not succeeds, head)
            expect_equal("no test could succeed" in head, not succeeds, head)

            # Groups by weight; of one side marked, with one number.
            groups = sorted(answer["groups"], key=lambda group: -abs(group["weight"]) if group["weight"] is not None else 1)
            rows = made.browser.run("""
                return Array.from(document.querySelectorAll("#groups tbody tr"), ({cells}) => Array.from(cells, (cell) => cell.textContent));""")
            expect_equal([row[0].split("only in")[0] for row in rows], [group["key"] for group in groups][:24], "groups")
            for row, group in zip(rows, groups):
                sides = [group["rates"][side] for side in ("before", "after")]
                expect_equal("only in" in row[0], None in sides, row)
                cpus = [f"{side['runningNs'] / 1e9:.2f}" if side["runningNs"] else "0" for side in sides if side and side["runningNs"] is not None]
                expect_equal(row[3], " \u2192 ".join(dict.fromkeys(cpus)) or "-", group["key"], "CPUs")
                found = sum(entry["significant"] for part in ("metrics", "derived") for entry in group[part].values())
                expect_equal(row[-1], str(found) if found else "not tested" if None in sides or not succeeds else "0", group["key"])
            expect(any("only in AFTER" in row[0] for row in rows), rows)

            # The table of metrics: medians, middle halves, verdicts; without significant rows all are shown.
            made.filter(moved=False)
            titles, texts = made.rows()
            expect_equal(titles[4:6] + titles[-1:], ["before", "before q1..q3", "verdict"], "columns")
            entries = [(group["key"], name, entry) for group in groups for part in ("metrics", "derived") for name, entry in group[part].items()]
            expect_equal(len(texts), len(entries), "rows")
            for cells, (key, name, entry) in zip(texts, entries):
                cells = dict(zip(titles, cells))
                verdict = "significant" if entry["significant"] else "not tested" if entry["pAdjusted"] is None or not succeeds else "not significant"
                expect_equal((cells["metric"], cells["verdict"]), (name, verdict), key)
                expect_equal(cells["n"], "+".join(str((entry[side] or {"n": 0})["n"]) for side in ("before", "after")), key, name)
                expect_equal(cells["before"] == "-", entry["before"] is None, key, name, cells)
            scatter = made.browser.run("""
                return Array.from(document.querySelectorAll("#metrics .scatter i"), (mark) => {
                    const [line, box] = [mark.parentNode, mark].map((e) => e.getBoundingClientRect());
                    return line.left - 0.5 <= box.left && box.right <= line.right + 2.5;
                });""")
            expect(len(scatter) > 4 and all(scatter), "marks outside of their line", scatter)
            check_widths(made, f"sets of {n}")

            # Intervals as samples, each of which begins at a capture of its own.
            names = [side.split(",") for side in (before, after)]
            lists = [f"{side[0]}..{side[1]},{side[1]}..{side[2]}" for side in names]
            result = run(CTPROFCTL, "compare", "--before", lists[0], "--after", lists[1], "--format", "html")
            expect_equal((result.status, result.err), (0, ""), "html of intervals")
            page.write_text(result.out, encoding="utf-8")
            made.browser.open(page)
            expect_equal(made.browser.logs()[0], [], "console")
            head = words(made.browser, "top", "captures")
            expect(re.search(r"before-0\S*\.\.before-2 \u2192 \S*after-0\S*\.\.after-2", head) and "samples of\t2 intervals\t2 intervals" in head, head)
            check_widths(made, "sets of intervals")


PIECE = re.compile(r'(<script type="application/json" class="data">)(.*?)(</script>)', re.S)


def open_changed(made, change, *options):
    """Opens a page of the made snapshots whose data were changed: change(member, value) of each item returns a value."""
    page = made.open(*options)

    def rewrite(match):
        items = [{member: change(member, value) for member, value in item.items()} for item in json.loads(match[2])]
        return match[1] + json.dumps(items).replace("<", "\\u003c") + match[3]

    page.write_text(PIECE.sub(rewrite, page.read_text(encoding="utf-8")), encoding="utf-8")
    made.browser.logs()
    made.browser.open(page)
    expect_equal(made.browser.logs()[0], [], "console")


S = 10**9
HOST = {
    "cpus": 4, "cpuUsedNs": 16 * S, "userNs": 10 * S, "niceNs": 0, "systemNs": 4 * S, "idleNs": 22 * S, "iowaitNs": S, "irqNs": S, "softirqNs": S,
    "stealNs": S, "perCpu": [{"cpu": cpu, "usedNs": used * S, "idleNs": (10 - used) * S, "iowaitNs": 0, "irqNs": 0, "softirqNs": 0, "stealNs": 0}
                             for cpu, used in enumerate((9, 4, 2, 1))],
    "waitingNs": 3 * S, "processesCreated": 205, "contextSwitches": 41000, "interrupts": 10250, "running": 3, "blocked": 1, "load1": 2.5,
    "pressure": {"cpu": {"someNs": 2050 * 10**6, "fullNs": None}, "memory": None, "io": {"someNs": S, "fullNs": 512_500_000}},
    "disks": [{"name": "vdb", "busyNs": 0, "readBytes": 0, "writeBytes": 0, "requests": 0, "requestNs": 0},
              {"name": "vda", "busyNs": 4_100_000_000, "readBytes": 1025 << 20, "writeBytes": 0, "requests": 2050, "requestNs": 2050 * 10**6}],
    "memory": {"usedBytes": 3 << 30, "totalBytes": 8 << 30, "swapUsedBytes": 0, "swapTotalBytes": 0, "swapInBytes": 0, "swapOutBytes": 1025 << 10, "dirtyBytes": 5 << 20},
    "network": {"receivedBytes": 1025 << 20, "sentBytes": 0, "tcpRetransmits": 41, "listenDrops": None}, "oomKills": 1,
}
COVERAGE = {
    "cpuUsedNs": 16 * S, "attributedNs": 12 * S, "survivedNs": 8 * S, "bornNs": 3 * S, "endedNs": None, "bornAndEndedNs": None, "kernelThreadsNs": S,
    "notAttributedNs": 4 * S, "boundNs": S // 10, "storageUsedBytes": 100 << 20, "storageAttributedBytes": 80 << 20,
}
LIMITED = [{"cgroup": "/web.slice", "what": "cpu.max", "count": 80, "ns": 3_200_000_000}, {"cgroup": "/db", "what": "memory.max", "count": 1204, "ns": None},
           {"cgroup": "", "what": "oom_kill", "count": 1, "ns": None}, {"cgroup": "/<b>", "what": "pids.max", "count": 2, "ns": None}]


def time_of(number, blocked=True, exact=True):
    """The parts of time of a group, which add up; of 10.25 seconds."""
    parts = {"runningNs": (number + 1) * S, "waitingNs": number * S // 2, "storageNs": 2 * S, "blockedNs": S if blocked else None, "asleepNs": 5 * S}
    reasons = {"lock": S, "poll": 3 * S, "futex": S} if blocked and number % 2 else None
    return {"aliveNs": sum(value or 0 for value in parts.values()), **parts, "exact": exact, "syncNs": S if reasons else None,
            "reasons": reasons, **({} if reasons else {"reasonsReason": "nobody asked"})}


def scaled(value, factor):
    if isinstance(value, dict):
        return {name: scaled(one, factor) for name, one in value.items()}
    return value / factor if isinstance(value, int) and not isinstance(value, bool) else value


def length_of(time, key):
    """The length of a part of a bar, in which what is asleep for a lock is a part of its own."""
    lock = (time["reasons"] or {}).get("lock", 0)
    return lock if key == "lockNs" else time[key] - (lock if key == "asleepNs" else 0)


# Of each row of the bars: its label, the widths of its parts in each bar in percent of the bar, and its cells.
BARS = """
    return Array.from(document.querySelectorAll("#time tbody tr"), (row) => [row.querySelector(".named button").title.replace(": show its rows", ""),
        Array.from(row.querySelectorAll(".stack .bar"), (bar) => Array.from(bar.children, (fill) => [fill.className, parseFloat(fill.style.width)])),
        Array.from(row.cells, (cell) => cell.textContent)]);"""


def check_bars(made, times, what):
    """The parts of each bar add up to the time its threads were alive, to the scale of the longest bar."""
    made.browser.run("const box = document.getElementById('time-sleep'); if (!box.checked) box.click();")
    most = max(time["aliveNs"] for sides in times.values() for time in sides)
    rows = made.browser.run(BARS)
    expect_equal({label for label, _, _ in rows}, set(times), what)
    for label, bars, _ in rows:
        expect_equal(len(bars), len(times[label]), what, label, "bars")
        for time, parts in zip(times[label], bars):
            expect(abs(sum(width for _, width in parts) - time["aliveNs"] / most * 100) < 0.01, what, label, "does not add up", parts, time)
            for name, width in parts:
                key = ("runningNs", "waitingNs", "storageNs", "blockedNs", "lockNs", "asleepNs")[int(name[-1])]
                expect(abs(width - length_of(time, key) / most * 100) < 0.01, what, label, key, width)
    return rows


@test
def intervals_are_accounted_for():
    """the page of an interval says how busy the host was, what of it is covered, what held groups back and where their time went"""
    times = {}

    def change(member, value):
        if member == "info" and "before" in value:
            return {**value, "kind": "interval", "coverage": COVERAGE, "host": HOST, "limited": LIMITED,
                    "lives": {"survived": 30, "born": 3, "ended": 2, "bornAndEnded": None}}
        if member in ("groups", "onlyAfter"):
            for group in value:
                number = len(times)
                group.update(weight=0.01 * number, time=time_of(number, exact=number % 2 == 0))
                times[group["key"]] = [group["time"]]
        return value

    with Made() as made:
        open_changed(made, change)
        text = words(made.browser, "host")
        for said in ("account for 75.0% of the 1.56 CPUs", "threads that lived on 0.78 (50.0%)", "not attributed 0.39 (25.0%)", "Not observed, and so not attributed: threads that ended, "
                     "threads born and ended in it", "Of 100.000MiB that disks moved, threads claim 80.000MiB", "/web.slice: CPU throttled 3.200s in 80 periods",
                     "/db: memory.max reached 1,204 times", "the host: 1 process killed", "/<b>: pids.max reached 2 times", "CPUs used\t1.56 of 4", "stalled for a CPU\t20.0% some\n",
                     "stalled for I/O\t9.8% some, 5.0% all", "new threads\t20.00/s", "Busiest: CPU 0, 87.8%; idlest: CPU 3, 9.8%", "40.0%", "100.000MiB/s", "1.000ms",
                     "memory used\t3.000GiB of 8.000GiB", "TCP retransmits\t4.00/s"):
            expect(said in text, said, "in", text)
        expect("vdb" not in text and "listen drops" not in text and "stalled for memory" not in text, "what was idle or not measured", text)
        widths = made.browser.run("return Array.from(document.querySelectorAll('.coverage i'), (fill) => parseFloat(fill.style.width));")
        expect(len(widths) == 4 and abs(sum(widths) - 100) < 0.01, "the bar of the coverage", widths)
        rows = check_bars(made, times, "interval")
        expect_equal([label for label, _, _ in rows], list(reversed(times)), "by weight")
        titles = made.browser.run("return Array.from(document.querySelectorAll('#time thead th'), (cell) => cell.textContent);")
        for label, _, cells in rows:
            time, cells = times[label][0], dict(zip(titles, cells))
            expect_equal(cells["running"], f"{time['runningNs'] / 10.25 / S:.2f}", label)
            expect_equal(cells["storage"], ("" if time["exact"] else "~") + f"{time['storageNs'] / 10.25 / S:.2f}", label)
        check_widths(made, "interval")


@test
def ticks_do_not_cover_too_much():
    """more than all of the CPU time is all of it, and what threads did is believed beyond the bound of ticks; what is not known is not attributed"""
    with Made() as made:
        made.open()
        share = "return coveredShare(arguments[0]);"
        for used, attributed, wanted in ((100, 80, 0.8), (100, 104, 1), (100, 100, 1), (0, 0, None), (0, 3, 1)):
            got = made.browser.run(share, {"cpuUsedNs": used, "attributedNs": attributed})
            expect(got is None if wanted is None else got is not None and abs(got - wanted) < 1e-12, used, attributed, got)
        believed = {**COVERAGE, "cpuUsedNs": 16 * S, "attributedNs": 24 * S, "cpuBelievedNs": 24 * S}
        text = made.browser.run("return make('div', {}, coverageNodes(arguments[0])).textContent;",
                                {"name": "", "elapsedNs": 10 * S, "value": believed})
        expect("account for 100.0% of the ~2.40 CPUs that the host used." in text, text)
        text = made.browser.run("""
            const parts = coverageNodes({name: "", elapsedNs: 10, value: {cpuUsedNs: null, attributedNs: 5, survivedNs: 5, bornNs: null, endedNs: null,
                bornAndEndedNs: null, kernelThreadsNs: null, notAttributedNs: null, boundNs: null}});
            return make("div", {}, parts).textContent;""")
        expect("Threads ran on 0.50 CPUs; how much the host used was not read." in text, text)
        nothing = dict.fromkeys(COVERAGE)
        for used, wanted in ((16 * S, "The host used 1.60 CPUs; whose work it was is not known: no thread has a run time."),
                             (None, "Whose work it was is not known: no thread has a run time.")):
            text = made.browser.run("return make('div', {}, coverageNodes(arguments[0])).textContent;",
                                    {"name": "", "elapsedNs": 10 * S, "value": {**nothing, "cpuUsedNs": used}})
            expect_equal(text, wanted, "no run times")
        text = made.browser.run("""
            const perCpu = [{cpu: 0, usedNs: 9}, {cpu: 1, usedNs: null}, {cpu: 2, usedNs: 5}];
            return make("div", {}, cpuNodes({name: "", value: {perCpu}, elapsedNs: 10})).textContent;""")
        expect("Busiest: CPU 0, 90.0%; idlest: CPU 2, 50.0%" in text, text)


@test
def two_intervals_stand_side_by_side():
    """the page of two intervals has both hosts, two bars a group and rates side by side, whole on a phone"""
    times = {}

    def change(member, value):
        if member == "info" and "before" in value:
            sides = {side: {"before": value["before"], "after": value["after"], "elapsedNs": 10 * S * (1 + (side == "b")),
                            "lives": {"survived": 30, "born": 3, "ended": 2, "bornAndEnded": None}, "sourcesBefore": value["sourcesBefore"],
                            "sourcesAfter": value["sourcesAfter"]} for side in "ab"}
            return {**sides, "kind": "intervals", "hostChanges": value["hostChanges"], "sameBoot": True, "coverage": {"a": COVERAGE, "b": COVERAGE},
                    "host": {"a": HOST, "b": {**HOST, "cpuUsedNs": 64 * S}}, "limited": {"a": [], "b": LIMITED}}
        if member == "groups":
            for group in value:
                number = len(times)
                sides = [time_of(number, blocked=False), time_of(2 * number + 3, blocked=False)]
                group.update(weight=-0.01 * number, time=dict(zip("ab", sides)), lives={side: {"survived": 1, "born": 0, "ended": 0, "bornAndEnded": None} for side in "ab"},
                             threads={"a": group.pop("threadsBefore"), "b": group.pop("threadsAfter")})
                for row in group["rows"]:
                    row[1:] = [row[1] | 32, row[2], *row[3:7]]
                times[group["key"]] = sides
        return {"onlyBefore": [], "onlyAfter": []}.get(member, value)

    with Made() as made:
        open_changed(made, change)
        expect_equal(made.browser.run("return document.title;"), "before..after \u2192 before..after - ctprof", "title")
        head = words(made.browser, "captures")
        expect("elapsed\t10.000s\t20.000s" in head, head)
        text = words(made.browser, "host")
        expect("A: Threads" in text and "B: Threads" in text and "CPUs used\t1.60 of 4\t3.20 of 4" in text and "limit in B" in text and "limit in A" not in text, text)
        # To one scale although B is twice as long: seconds in each second.
        rows = check_bars(made, {key: [{part: scaled(value, i + 1) for part, value in side.items()} for i, side in enumerate(sides)]
                                 for key, sides in times.items()}, "two intervals")
        expect_equal([label for label, _, _ in rows], list(reversed(times)), "by how much they moved")
        expect(all(cells[2].startswith("-") or cells[2] == "0%" for _, _, cells in rows), "signs", rows)
        titles, _ = made.rows()
        expect_equal(titles[4:], ["A", "B", "delta", "%"] , "columns")
        cells = made.browser.run("return Array.from(document.querySelector('#movers tbody tr').cells, (cell) => cell.textContent);")
        expect(cells[4].endswith("/s") and cells[6].endswith("/s") and cells[7].endswith("/s"), "rates", cells)
        check_widths(made, "two intervals")


@test
def keys_and_bars():
    """the keys walk the table, a group's name leads to its rows, and what is chosen is told"""
    with Made() as made:
        made.open()
        label, metric = made.browser.run("""
            const row = document.querySelector("#movers tbody tr"), button = row.querySelector("button");
            button.click();
            return [button.title.replace(": show its rows", ""), row.cells[1].textContent];""")
        titles, rows = made.rows()
        expect(rows and all(texts[0] == label and metric in texts[titles.index("metric")] for texts in rows), label, metric, rows)
        made.filter(text="", metric="", moved=False)
        made.browser.run("document.querySelector('#metrics .scroll').focus();")
        made.browser.press("\ue015", "\ue015", "\ue013", "\ue010")  # down, down, up, end
        last, chosen, shown = made.browser.run("""
            const grid = page.table.grid, rows = document.querySelectorAll("#metrics tr[aria-selected=true]");
            return [grid.rows.length - 1, grid.selected, rows.length];""")
        expect_equal((chosen, shown), (last, 1), "the last row")
        made.browser.press("\ue011")  # home
        heading = made.browser.run("return document.querySelector('.detail h3').textContent;")
        titles, rows = made.rows()
        expect_equal(heading, f"{rows[0][0]} \u00b7 {rows[0][titles.index('metric')]}", "the chosen row")


@test
def paper():
    """printing has all rows up to a thousand, opens what is folded, and comes back"""
    with Made() as made:
        made.open("--group-by", "cgroup")
        before, printed, after, folded = made.browser.run("""
            const grid = page.table.grid, count = () => document.querySelectorAll("#metrics tr[data-row]").length, counts = [count()];
            window.dispatchEvent(new Event("beforeprint"));
            counts.push(count());
            const folded = document.querySelectorAll("#sections details:not([open])").length;
            window.dispatchEvent(new Event("afterprint"));
            counts.push(count());
            return [...counts, folded];""")
        expect(before < printed and printed == min(1000, len(made.rows()[1])), before, printed)
        expect_equal((after, folded), (before, 0), "after it, and folded sections")
        expect(made.browser.pdf().startswith(b"%PDF"), "no PDF")


@test
def cut_pages_say_so():
    """a page that was cut while it was written says that it is not complete"""
    with Made() as made:
        page = made.open()
        text = page.read_text(encoding="utf-8")
        for at in (text.index('class="data">[{"groups"') - 40, text.index('class="data">[{"groups"') + 1000):
            page.write_text(text[:at], encoding="utf-8")
            made.browser.open(page)
            expect("not complete" in made.browser.run("return document.body.innerText;"), "cut at", at)
        # Cut in the middle, with the script behind it.
        begin, end = text.index('<script type="application/json" class="data">[{"end"'), text.index("<script>")
        page.write_text(text[:begin] + text[end:], encoding="utf-8")
        made.browser.open(page)
        said = made.browser.run("return document.body.innerText;")
        expect("not complete" in said and "All metrics" in said, "without its end", said[:200])


@test
def many_rows():
    """200,000 rows open, sort and scroll, with a handful of elements at a time"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        with Idle(1900, 20):
            for tag in ("a", "b"):
                expect_equal(ctl("capture", "--tag", tag, "--no-smaps").status, 0, "capture")
        result = ctl("compare", "a", "b", "--group-by", "thread", "--limit", "0", "--format", "html", "--all-rows")
        expect_equal(result.status, 0, "compare", result.err)
        page = directory / "page.html"
        page.write_text(result.out, encoding="utf-8")
        browser = Browser.shared()
        browser.open(page)
        n, elements, milliseconds = browser.run("""
            return [page.table.rows.length, document.getElementsByTagName("tr").length,
                performance.getEntriesByType("navigation")[0].domComplete];""")
        expect(n >= 190000, "rows", n)
        expect(elements < 2000, "rows as elements", elements)
        expect(milliseconds < 30000, "it takes", milliseconds, "ms to open")
        milliseconds = browser.run("""
            const begin = performance.now();
            page.table.grid.sort(4);
            return performance.now() - begin;""")
        expect(milliseconds < 10000, "it takes", milliseconds, "ms to sort")
        # As many as there are, and a number that browsers do not lay out.
        for times in (1, 5):
            seen, n, elements = browser.run("""
                const [times] = arguments, grid = page.table.grid, view = grid.element;
                if (times > 1)
                    grid.setRows(Array.from({length: times}, () => grid.rows).flat());
                const seen = () => {
                    const head = grid.head.getBoundingClientRect(), sight = view.getBoundingClientRect();
                    return Array.from(view.querySelectorAll("tr[data-row]")).filter((row) => {
                        const {top, bottom} = row.getBoundingClientRect();
                        return bottom > head.bottom + 1 && top < sight.top + view.clientHeight - 1;
                    }).map((row) => Number(row.dataset.row));
                };
                const after = async (move) => {
                    move();
                    await new Promise((done) => setTimeout(done, 300));
                    return seen();
                };
                return (async () => [
                    {
                        begin: await after(() => { view.scrollTop = 0; }),
                        middle: await after(() => { view.scrollTop = view.scrollHeight / 2; }),
                        nearEnd: await after(() => { view.scrollTop = view.scrollHeight - view.clientHeight - 100; }),
                        end: await after(() => { view.scrollTop = view.scrollHeight; }),
                        chosen: await after(() => grid.select(Math.floor(grid.rows.length / 3))),
                    },
                    grid.rows.length, document.getElementsByTagName("tr").length])();""", times)
            for where, rows in seen.items():
                expect(len(rows) > 5 and rows == list(range(rows[0], rows[-1] + 1)), "a row after the other", where, rows)
            expect_equal(seen["begin"][0], 0, "the first row is in sight")
            expect(abs(seen["middle"][0] - n / 2) < n / 100, "in the middle", seen["middle"], n)
            expect(seen["nearEnd"][0] > n * 0.99, "near the end", seen["nearEnd"], n)
            expect_equal(seen["end"][-1], n - 1, "the last row is in sight")
            expect(n // 3 in seen["chosen"], "the chosen row is in sight", seen["chosen"], n)
            expect(elements < 2000, "rows as elements", elements)
        expect(n * 22 > 15e6, "more than are laid out", n)
        expect_equal(browser.logs()[0], [], "console")


@test
def run_tells_its_command():
    """run has its command's account in the page, and nothing but the page on standard output"""
    with temporary() as directory:
        ctl = Local(directory / "spool")
        result = ctl("run", "--format", "html", "--", "sh", "-c", "echo '<b>said</b>'; exit 7")
        expect_equal(result.status, 7, "status of the command")
        expect(result.out.startswith("<!DOCTYPE html>") and result.out.endswith("</html>\n"), "more than a page")
        expect("<b>said</b>" in result.err, "the command's own words", result.err)
        page = directory / "page.html"
        page.write_text(result.out, encoding="utf-8")
        browser = Browser.shared()
        browser.open(page)
        text = browser.run("return document.getElementById('top').innerText;")
        expect("echo '\\''<b>said</b>'\\''; exit 7" in text and ": exit 7, " in text, text)


@test
def terminals_are_refused():
    """a terminal is told to redirect, with exit status 2 and nothing on it"""
    with temporary() as directory:
        files = [compile_snapshot(directory, name) for name in ("before", "after")]
        master, slave = pty.openpty()
        try:
            process = subprocess.run([CTPROFCTL, "compare", *files, "--format", "html"], stdout=slave, stderr=subprocess.PIPE, text=True,
                                     check=False, env={**os.environ, "TERM": "xterm"})
            os.set_blocking(master, False)
            expect_equal(process.returncode, 2, "status")
            expect("redirect" in process.stderr and process.stderr.count("\n") == 1, process.stderr)
            try:
                expect_equal(os.read(master, 100), b"", "on the terminal")
            except BlockingIOError:
                pass
        finally:
            os.close(master)
            os.close(slave)


main()
