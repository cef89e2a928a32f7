# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases of tests/fleet/run."""
import contextlib
import functools
import json
import math
import os
import re
import sys
import time

import harness
from engines import SQL, Engine, Refused, packages, statements
from fleet import ABSENT_REASON, GAP_REASON, GROUPS, HEAD, LARGEST, NAMES, SECOND_NS, Fleet, Host, Writer, heaviest, learn, real_intervals
from harness import Skip, expect, expect_equal, run, temporary, test

QUESTIONS = ("moved", "outliers", "canary", "waits", "trend", "coverage", "absent")
_cleanup = contextlib.ExitStack()


class Bench:
    """The fleet in both engines, made once; and the figures of it."""

    def __init__(self):
        packages()
        self.directory = _cleanup.enter_context(temporary())
        intervals = learn([heaviest(rows, 24) for rows in real_intervals(self.directory)])
        self.fleet = Fleet(intervals[1], time.time_ns())
        self.files = Writer(self.directory / "files")
        begin = time.monotonic()
        self.fleet.write(self.files)
        self.lines = [f"{self.files.rows:,} rows, {self.files.bytes / 1e6:,.0f} MB as NDJSON, "
                      f"{self.files.compressed() / 1e6:,.1f} MB as .ndjson.zst, made in {time.monotonic() - begin:.0f} s"]
        self.engines = {}
        for kind in ("duckdb", "clickhouse"):
            engine = self.engines[kind] = _cleanup.enter_context(Engine(kind, self.directory))
            engine.load(self.files.directory)
            self.lines.append(f"{engine.version}: loaded in {engine.seconds:.1f} s, {engine.bytes() / 1e6:,.1f} MB")
            for machine_id, role in self.fleet.roles():
                engine.ask(f"INSERT INTO ctprof_role VALUES ('{machine_id}', '{role}')")
            engine.run("queries/parameters.sql")
        self.times = {}

    def ask(self, question, **parameters):
        """The same rows from both engines: returns those of one."""
        answers = {}
        for kind, engine in self.engines.items():
            engine.set(**{"minutes": 20, **parameters})
            answers[kind] = [{key: plain(value) for key, value in row.items()} for row in engine.question(question)]
            self.times[question, kind] = engine.seconds
        expect_alike(answers["duckdb"], answers["clickhouse"], question)
        return answers["duckdb"]

    def both(self, sql):
        """Rows of one statement that both understand."""
        answers = [[tuple(plain(value) for value in row.values()) for row in engine.ask(sql)] for engine in self.engines.values()]
        expect_equal(answers[0], answers[1], sql)
        return answers[0]

    def names(self, numbers):
        return sorted(self.fleet.hosts[number].name for number in numbers)


@functools.cache
def bench():
    return Bench()


def plain(value):
    """Numbers that engines write as text are numbers, all digits of them; a time is text in both."""
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value):
        return int(value[:-7]) if value.endswith(".000000") else float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def milliseconds(text):
    """A time with exactly three digits behind the point: DuckDB writes none that are 0, and has more."""
    return (text if "." in text else text + ".").ljust(23, "0")[:23]


def is_alike(one, other):
    if isinstance(one, bool) or isinstance(other, bool):
        return bool(one) == bool(other)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-9)
    if isinstance(one, str) and isinstance(other, str) and re.match(r"\d{4}-\d\d-\d\d ", one):
        return milliseconds(one) == milliseconds(other)
    return one == other


def expect_alike(ones, others, *what):
    expect_equal(len(ones), len(others), *what, "rows of both engines")
    for one, other in zip(ones, others):
        expect_equal(list(one), list(other), *what, "columns")
        for key in one:
            expect(is_alike(one[key], other[key]), *what, key, one, other)


@test
def a_load_is_whole_and_happens_once():
    """Every row is in both engines after a load, and a second load of the same files adds none"""
    files, fleet = bench().files, bench().fleet
    wanted = [(files.rows - 1, len(fleet.hosts))]
    for _ in range(2):
        expect_equal(bench().both("SELECT count(*) AS n, count(DISTINCT machine_id) AS hosts FROM ctprof_change"), wanted, "rows")
        for engine in bench().engines.values():
            engine.load(files.directory, "*/host=web01*/*")
    heads = bench().both("SELECT kind, count(*) AS n FROM (SELECT DISTINCT kind, machine_id, time FROM ctprof_interval) AS heads "
                         "GROUP BY kind ORDER BY kind")
    expect_equal(heads, [("gap", 1), ("interval", 2 * len(fleet.hosts) + 5 * 23)], "heads")
    expect_equal(bench().both("SELECT DISTINCT reason FROM ctprof_interval WHERE reason IS NOT NULL"), [(GAP_REASON,)], "reason")


@test
def moved_on_all_hosts():
    """What moved on all hosts is first, and nothing else moved on nine of ten"""
    rows = bench().ask("moved", minutes=10)
    group, metric, factor = bench().fleet.moved
    far = [row for row in rows if row["nine_in_ten"] > 10]
    expect_equal([(row["group_name"], row["metric"]) for row in far], [(group, metric)], "moved")
    expect(abs(far[0]["percent"] - 100 * (factor - 1)) < 15, far[0])
    expect(far[0]["hosts"] >= 195, far[0])


@test
def outlier_hosts():
    """The hosts that are unlike the others are those that were planted"""
    fleet = bench().fleet
    others = {fleet.waiter[1:3], *((fleet.canary[0], metric) for metric in fleet.canary_metrics)}
    rows = [row for row in bench().ask("outliers") if (row["group_name"], row["metric"]) not in others]
    expect_equal(sorted((row["machine_id"], row["group_name"], row["metric"]) for row in rows),
                 sorted((fleet.hosts[number].machine_id, *fleet.outlier) for number in fleet.outliers), "outliers", rows)
    for row in rows:
        expect(6 < row["ratio"] < 11, row)


@test
def canary_against_control():
    """The rows that differ between canary and control are those that were planted, by their adjusted p"""
    fleet = bench().fleet
    rows = bench().ask("canary")
    sure = [row for row in rows if row["q"] < 1e-3]
    expect_equal(sorted((row["group_name"], row["metric"]) for row in sure),
                 [(fleet.canary[0], metric) for metric in fleet.canary_metrics], "canary")
    expect(len(rows) < len(sure) + 5, "by chance:", len(rows))
    for row in sure:
        expect_equal(row["canary_hosts"], 20, "canary hosts")
        expect(abs(row["percent"] - 60) < 20, row)


@test
def who_waits_most():
    """The longest waiter is first, with its reason"""
    fleet = bench().fleet
    number, group, reason, threads = fleet.waiter
    first = bench().ask("waits")[0]
    expect_equal((first["host"], first["group_name"], first["reason"], bool(first["holds_back"])),
                 (fleet.hosts[number].name, group, reason, True), "first")
    expect(abs(first["threads"] - threads) < 0.5 * threads, first)


@test
def trend_of_a_group():
    """The one host whose load rises steadily is first, with its slope"""
    fleet = bench().fleet
    number, group, metric, slope = fleet.trend
    rows = bench().ask("trend", minutes=240, group_name=group, metric=metric)
    expect_equal(sorted(row["host"] for row in rows), bench().names((number, *fleet.steady)), "hosts with enough intervals")
    first, second = rows[:2]
    expect_equal(first["host"], fleet.hosts[number].name, "first")
    # In percent of the mean, which is more than what it began with.
    expect(first["correlation"] > 0.9 and 0.5 * slope < first["percent_an_hour"] / 100 < 1.1 * slope, first)
    expect(abs(second["percent_an_hour"]) < first["percent_an_hour"] / 3, second)


@test
def coverage_of_the_answer():
    """Hosts of which something is missing are those that were planted, with what it is"""
    fleet = bench().fleet
    rows = bench().ask("coverage")
    wanted = {fleet.never: "silent", fleet.hosts[fleet.silent].machine_id: "silent",
              fleet.hosts[fleet.rebooted].machine_id: "gap", fleet.hosts[fleet.unattributed].machine_id: "unattributed",
              fleet.hosts[fleet.renamed].machine_id: "two names"}
    expect_equal({row["machine_id"]: row["missing"] for row in rows}, wanted, "missing")
    share = next(row["attributed"] for row in rows if row["missing"] == "unattributed")
    expect(abs(share - 0.38) < 0.01, "attributed", share)


@test
def why_values_are_absent():
    """A reason that was planted is told with its hosts, and reasons of this host as often as they are in its rows"""
    fleet = bench().fleet
    rows = {row["reason"]: row for row in bench().ask("absent")}
    planted = rows.pop(ABSENT_REASON)
    expect_equal((planted["hosts"], planted["absent"], planted["such_as"]), (len(fleet.absent), 2 * len(fleet.absent), [fleet.lacking[1]]), "planted")
    expect(rows and max(row["hosts"] for row in rows.values()) >= 5, "reasons of this host", list(rows))


@test
def names_and_numbers_are_exact():
    """Names that break readers, an empty one among them, and 2^64-1 come through digit by digit"""
    hosts = len(Fleet.hostile)
    got = bench().both("SELECT process, max(work) AS most, count(*) AS n FROM ctprof_change WHERE work > 18446744073709551000 "
                       "GROUP BY process ORDER BY most DESC")
    for (name, work, n), (index, wanted) in zip(got, enumerate(GROUPS), strict=True):
        expect_equal((str(name), n), (wanted, 2 * hosts), index)
        expect_equal(work, LARGEST - index, "digits of", name)
    got = bench().both("SELECT DISTINCT process, work, after FROM ctprof_change WHERE metric = 'avg_slice_ns' AND after < 100 AND "
                       "time = (SELECT max(time) FROM ctprof_change WHERE process = 'null') ORDER BY after")
    expect_equal([(str(name), work, after) for name, work, after in got],
                 [(name, None, 1.25 + index) for index, name in enumerate(GROUPS)], "fractions")
    got = bench().both("SELECT count(*) AS n FROM ctprof_change WHERE process IS NULL AND group_name <> ''")
    expect_equal(got, [(0,)], "absent is not a name")
    got = bench().both("SELECT DISTINCT host FROM ctprof_interval ORDER BY host")
    wanted = {host.name for host in bench().fleet.hosts} | {"renamed"}
    expect_equal(sorted(str(row[0]) for row in got), sorted(wanted), "hosts are those of the rows, not of the path")


def trap_rows(count):
    """Rows of one host that a guess from the first of them gets wrong; each a dict."""
    base = {**bench().fleet.templates[0].row}
    for key in base:
        if key not in HEAD:
            base[key] = None
    host = Host(900, base, "trap")
    base |= host.head(bench().fleet.end_ns, SECOND_NS, 0) | {"side": "both", "process": "trap", "section": "primary",
                                                             "metric": "trap", "rule": "SumCount", "unit": "count"}
    for number in range(count):
        yield {**base, "work": number, "thread": None}
    yield {**base, "work": 1.25, "rule": "Derived"}
    yield {**base, "after": 0.000123456789, "rule": "SumGaugeBytes"}
    yield {**base, "work": LARGEST, "per_second": 0.5}
    yield {**base, "work": -LARGEST}
    yield {**base, "work": 1, "thread": "first of its kind", "pid": 4294967295, "before_min": -20, "before_max": LARGEST}
    yield {**{key: value for key, value in base.items() if key != "approximate"}, "work": 2}
    yield {**base, "work": 3, "new_member": {"of": ["a later", "version"]}}
    yield {key: base[key] for key in reversed(base)}


@test
def guesses_from_first_rows_are_not_made():
    """Fractions behind integers, 2^64-1 behind the sample, late values of empty columns, members more or less: all as written"""
    bench()
    files = Writer(bench().directory / "traps")
    rows = list(trap_rows(30000))
    files.write("a=b", "2026-01-01", 1, ["".join(json.dumps(row) + "\n" for row in rows)])
    for engine in bench().engines.values():
        engine.load(files.directory)
    got = bench().both("SELECT count(*) AS n, count(work) AS work, count(thread) AS thread, max(pid) AS pid, min(before_min) AS least, "
                       "max(before_max) AS most FROM ctprof_change WHERE host = 'trap'")
    expect_equal(got, [(len(rows), len(rows) - 3, 1, 4294967295, -20, LARGEST)], "rows")
    got = bench().both("SELECT work FROM ctprof_change WHERE host = 'trap' AND abs(work) > 30000 ORDER BY work")
    expect_equal(got, [(-LARGEST,), (LARGEST,)], "numbers")
    got = bench().both("SELECT after FROM ctprof_change WHERE host = 'trap' AND after IS NOT NULL ORDER BY after")
    expect_equal(got, [(0.000123456789,), (1.25,)], "fractions")
    got = bench().both("SELECT value FROM ctprof_change WHERE host = 'trap' AND per_second IS NOT NULL")
    expect_equal(got, [(0.5,)], "the value of a counter is its rate")


@test
def what_does_not_fit_is_refused():
    """A row that is none, or has a text for a number, fails the load in both engines, and nothing of its file is there"""
    files = Writer(bench().directory / "broken")
    row = next(trap_rows(1))
    good = json.dumps({**row, "host": "half"}) + "\n"
    files.write("half", "2026-01-01", 1, [good * 3, json.dumps({**row, "work": "many"}) + "\n"])
    for kind, engine in bench().engines.items():
        try:
            engine.load(files.directory)
            raise AssertionError(f"{kind} took it")
        except Refused:
            pass
    expect_equal(bench().both("SELECT count(*) AS n FROM ctprof_change WHERE host = 'half'"), [(0,)], "half a file")


@test
def no_column_is_a_reserved_word():
    """Every column can be named without quotes, as itself and as an alias"""
    for engine in bench().engines.values():
        for table in ("ctprof_change", "ctprof_interval"):
            columns = [row["column_name" if engine.kind == "duckdb" else "name"] for row in engine.ask(f"DESCRIBE TABLE {table}")]
            expect(len(columns) > 25, table, columns)
            engine.ask(f"SELECT {', '.join(f'{name} AS {name}' for name in columns)} FROM {table} LIMIT 1")


@test
def a_day_becomes_one_parquet_file():
    """DuckDB writes what it loaded as Parquet, and reads the same from it"""
    engine = bench().engines["duckdb"]
    path = bench().directory / "day.parquet"
    engine.ask(f"COPY (SELECT * FROM ctprof_change ORDER BY metric, group_name, host, time) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    bench().lines.append(f"Parquet: written in {engine.seconds:.1f} s, {path.stat().st_size / 1e6:,.1f} MB")
    sums = "SELECT count(*) AS n, sum(work) AS work, count(DISTINCT group_name) AS names FROM "
    expect_equal(engine.ask(f"{sums} '{path}'"), engine.ask(f"{sums} ctprof_change"), "Parquet")


@test
def the_cluster_is_parsed():
    """cluster.sql is what ClickHouse parses, and the exchange leaves the views where they write (an embedded engine runs no more)"""
    engine = bench().engines["clickhouse"]
    parsed = statements((SQL / "clickhouse" / "cluster.sql").read_text(encoding="utf-8"))
    expect(len(parsed) >= 9, parsed)
    for statement in parsed:
        engine.ask(f"EXPLAIN AST {statement}")
    for engine_name in ("ReplicatedMergeTree", "ReplicatedReplacingMergeTree", "Distributed"):
        expect(any(engine_name in statement for statement in parsed), engine_name)
    # That a view follows the name, and not the table that had it, can be seen without a cluster.
    for statement in ("CREATE TABLE follows (n Int8) ENGINE = Null", "CREATE TABLE target (n Int8) ENGINE = Memory",
                      "CREATE TABLE other (n Int8) ENGINE = Memory", "CREATE MATERIALIZED VIEW view TO target AS SELECT n FROM follows",
                      "EXCHANGE TABLES target AND other", "DROP TABLE other", "INSERT INTO follows VALUES (1)"):
        engine.ask(statement)
    expect_equal(engine.ask("SELECT count() AS n FROM target"), [{"n": "1"}], "written where the name leads")


@test
def the_table_is_kept_as_told():
    """ClickHouse keeps changes sorted by metric, group, host and time, compressed by column, and for 90 days"""
    engine = bench().engines["clickhouse"]
    told, = engine.ask("SELECT engine, sorting_key, partition_key, create_table_query FROM system.tables WHERE name = 'ctprof_change'")
    expect_equal((told["engine"], told["sorting_key"]), ("MergeTree", "metric, group_name, host, time"), "table")
    expect("TTL time + toIntervalDay(90)" in told["create_table_query"], told["create_table_query"])
    row = next(trap_rows(1))
    old = Host(901, row, "old").head(bench().fleet.end_ns - 100 * 86400 * SECOND_NS, SECOND_NS, 0)
    files = Writer(bench().directory / "old")
    files.write("old", "2026-01-01", 1, [json.dumps({**row, **old}) + "\n"])
    engine.load(files.directory)
    engine.ask("OPTIMIZE TABLE ctprof_change FINAL")
    expect_equal(engine.ask("SELECT count() AS n FROM ctprof_change WHERE host = 'old'"), [{"n": "0"}], "what is too old")


def expanded(sql, hosts):
    """A query of the dashboard, as the plugin sends it: its macros are those of grafana-clickhouse-datasource."""
    sql = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= toDateTime(toUnixTimestamp(now()) - 7200) AND \1 <= now() + 60", sql)
    sql = re.sub(r"\$__timeInterval\(([\w.]+)\)", r"toStartOfInterval(toDateTime(\1), INTERVAL 300 second)", sql)
    sql = sql.replace("${host:singlequote}", ", ".join(hosts))
    expect("$" not in sql, "a macro that the plugin does not have:", sql)
    return sql


@test
def the_dashboard_asks_what_is_there():
    """Every panel, variable and alert of the examples for Grafana has rows, and what was planted stands in them"""
    fleet, engine = bench().fleet, bench().engines["clickhouse"]
    engine.set(minutes=20)
    dashboard = json.loads((SQL / "clickhouse" / "grafana-dashboard.json").read_text(encoding="utf-8"))
    alerts = json.loads((SQL / "clickhouse" / "grafana-alerts.json").read_text(encoding="utf-8"))
    variable = next(item for item in dashboard["templating"]["list"] if item["type"] == "query")
    hosts = ["'" + re.sub(r"([\\'])", r"\\\1", row["host"]) + "'" for row in engine.ask(expanded(variable["query"], []))]
    expect(len(hosts) > len(fleet.hosts), "hosts of the variable", len(hosts))  # one has two names
    found = {}
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            found[panel["title"]] = engine.ask(expanded(target["rawSql"], hosts))
            expect(found[panel["title"]], panel["title"], "has no rows")
            expect_equal("time" in found[panel["title"]][0], panel["type"] == "timeseries", panel["title"])
    reasons = {row["metric"]: row["value"] for row in found["Threads that wait, by reason"]}
    expect(float(reasons[fleet.waiter[2]]) > 0, reasons)
    first = found["Newest interval of each host"][0]
    expect_equal(first["host"], fleet.hosts[fleet.silent].name, "silent")
    rules = alerts["groups"][0]["rules"]
    expect_equal(len(rules), 2, "alerts")
    for rule in rules:
        asked, threshold = (item["model"] for item in rule["data"])
        rows = engine.ask(expanded(asked["rawSql"], hosts))
        *labels, value = rows[0]
        limit = threshold["conditions"][0]["evaluator"]["params"][0]
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            expect(label in labels, rule["title"], label, labels)
        fires = [row["host"] for row in rows if float(row[value] or 0) > limit]
        if rule["uid"] == "ctprof-silent":
            expect_equal(fires, [fleet.hosts[fleet.silent].name], rule["title"])


@test
def the_loader_feeds_each_file_once():
    """load.sh hands each file to the client once, with a token of its own, and a failure to the next run"""
    bench()
    if not os.access("/bin/sh", os.X_OK):
        raise Skip("there is no /bin/sh")
    directory = bench().directory / "loader"
    files = Writer(directory / "files")
    row = next(trap_rows(1))
    for number in range(3):
        files.write(NAMES[number], "2026-01-01", number, [json.dumps({**row, "host": "loader", "work": number}) + "\n"])
    # In the place of the client: what it was told, and what came in, for the engine that is here.
    client = directory / "bin" / "clickhouse-client"
    client.parent.mkdir()
    client.write_text(f"""#!/bin/sh
[ ! -e {directory}/fail ] || {{ rm {directory}/fail; exit 1; }}
n=$(ls {directory} | wc -l)
for word; do printf '%s\\n' "$word"; done >{directory}/words.$n
cat >{directory}/rows.$n
""", encoding="utf-8")
    client.chmod(0o755)
    environment = {"PATH": f"{client.parent}:{os.environ['PATH']}"}
    (directory / "fail").touch()
    for status in (1, 0, 0):
        result = run("sh", SQL / "clickhouse" / "load.sh", files.directory, "--host=a b", env=environment)
        expect_equal(result.status, status, result.err)
    files.write("cut", "2026-01-01", 9, [json.dumps({**row, "work": number}) + "\n" for number in range(9)])
    cut, = files.directory.glob("*/host=cut/*")
    cut.write_bytes(cut.read_bytes()[:-8])
    result = run("sh", SQL / "clickhouse" / "load.sh", files.directory, env=environment)
    expect_equal(result.status, 1, "a file that was cut")
    expect(result.err.endswith("load.sh: ./day=2026-01-01/host=cut/9.ndjson.zst was not loaded\n"), result.err)
    told = sorted(directory.glob("words.*"))
    expect_equal(len(told), 3, "calls")
    engine = bench().engines["clickhouse"]
    for words in told:
        host, *settings, query = words.read_text(encoding="utf-8").splitlines()
        expect_equal(host, "--host=a b", "an option of the client")
        settings = ", ".join(re.sub("^--(.*?)=(.*)", r"\1 = '\2'", word) for word in settings)
        head, tail = query.removeprefix("--query=").split(" FORMAT ")
        for _ in range(2):
            engine.ask(f"{head} SETTINGS {settings} FORMAT {tail}\n{words.with_name(words.name.replace('words', 'rows')).read_text(encoding='utf-8')}")
    got = engine.ask("SELECT work FROM ctprof_change WHERE host = 'loader' ORDER BY work")
    expect_equal([row["work"] for row in got], ["0", "1", "2"], "rows")


@test
def the_manual_leads_to_an_answer():
    """The commands of ctprof-fleet(7), as they stand there, lead from no snapshot to who waits most"""
    packages()
    page = (SQL.parent / "man" / "ctprof-fleet.7").read_text(encoding="utf-8").replace("\\-", "-")
    path = page.split(".SH TEN MINUTES")[1].split(".SH ")[0]
    commands = [line[2:] for line in path.splitlines() if line.startswith("$ ")]
    expect(len(commands) >= 9, commands)
    with temporary() as directory:
        programs = directory / "programs"
        programs.mkdir()
        spool = f"--local --spool {directory}/spool"
        for name, text in (("ctprofctl", f'#!/bin/sh\nexec {harness.CTPROFCTL} {spool} "$@"\n'),
                           ("duckdb", f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
                                      "import engines\nengines.shell()\n")):
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        script = "set -e\n" + "\n".join(commands) + "\n"
        for installed, here in (("/usr/share/ctprof/sql", SQL), ("/usr/share/ctprof/examples", SQL.parent / "systemd" / "examples"),
                                ("/srv/ctprof", directory / "fleet")):
            expect(installed in script, installed)
            script = script.replace(installed, str(here))
        begin = time.monotonic()
        result = run("sh", "-c", script, env={"PATH": f"{programs}:{os.environ['PATH']}", "CTPROFD": harness.CTPROFD,
                                              "PYTHONDONTWRITEBYTECODE": "1"})
        expect_equal(result.status, 0, result.err)
        rows = [json.loads(line) for line in result.out.splitlines() if line.startswith("{")]
        rows = [row for row in rows if "reason" in row]
        expect(rows and rows[0]["reason"] == "wait_time_ns" and float(rows[0]["threads"]) > 0, result.out[-2000:])
        bench().lines.append(f"the commands of the manual: {time.monotonic() - begin:.0f} s from no snapshot to {len(rows)} rows")


def main():
    try:
        with _cleanup:
            try:
                bench()
            except Skip as reason:
                print(f"1..1\nok 1 - a fleet in DuckDB and ClickHouse # SKIP {reason}", flush=True)
                return 0
            try:
                harness.main()
            finally:
                report()
    except SystemExit as end:
        return end.code


def report():
    for line in bench().lines:
        print(f"# {line}")
    print(f"# {'question':<12} {'DuckDB':>10} {'ClickHouse':>10}")
    for question in QUESTIONS:
        if (question, "duckdb") in bench().times:
            print(f"# {question:<12} {bench().times[question, 'duckdb']:>8.2f} s {bench().times[question, 'clickhouse']:>8.2f} s", flush=True)
