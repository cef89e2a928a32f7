# SPDX-License-Identifier: GPL-2.0-or-later
"""What a fleet costs, only printed: a day of many hosts in both engines, and what one host writes by its size."""
import os
import pathlib
import resource
import subprocess
import time

from engines import Engine
from fleet import DAY_METRICS, Day, Writer, learn, real_intervals
from harness import BUILD, CTPROFCTL, CTPROFD, expect, temporary
from questions import QUESTIONS

N_SNAPSHOTS = 7
PER_DAY = 144
# From everything to what a large fleet can afford.
EXPORTS = {
    "everything": (),
    "--present": ("--present",),
    "--present --top 50": ("--present", "--top", "50"),
    "the same, ten metrics": ("--present", "--top", "50", "--metrics", ",".join(DAY_METRICS[:10])),
}


def day(n_hosts):
    """Only printed: a day of many hosts, what it takes, and how long the questions take then."""
    with temporary() as directory:
        intervals = learn(real_intervals(directory))
        whole = Day(intervals[1], time.time_ns(), n_hosts)
        files = Writer(directory / "files")
        begin = time.monotonic()
        whole.write(files)
        compressed = files.compressed()
        print(f"{n_hosts} hosts, 144 intervals, {len(whole.rows)} rows each: {files.rows:,} rows, {files.bytes / 1e9:,.1f} GB as NDJSON, "
              f"{compressed / 1e6:,.0f} MB as .ndjson.zst ({compressed / files.rows:.1f} bytes a row), "
              f"made in {time.monotonic() - begin:.0f} s", flush=True)
        for kind in ("clickhouse", "duckdb"):
            with Engine(kind, directory) as engine:
                engine.load(files.directory)
                print(f"{engine.version}: loaded in {engine.seconds:.0f} s, {files.rows / engine.seconds:,.0f} rows a second", flush=True)
                for number, host in enumerate(whole.hosts):
                    engine.ask(f"INSERT INTO ctprof_role VALUES ('{host.machine_id}', '{'canary' if number < n_hosts / 10 else 'control'}')")
                if kind == "clickhouse":
                    # As merges leave it, and each column in a file of its own: small parts are not told by column.
                    engine.ask("ALTER TABLE ctprof_change MODIFY SETTING min_bytes_for_wide_part = 0")
                    engine.ask("OPTIMIZE TABLE ctprof_change FINAL")
                    print_columns(engine, files.rows)
                print(f"{engine.bytes() / 1e6:,.0f} MB, {engine.bytes() / files.rows:.2f} bytes a row", flush=True)
                engine.run("queries/parameters.sql")
                for minutes in (60, 1440):
                    engine.set(minutes=minutes, group_name=whole.rows[0].row["process"])
                    times = []
                    for question in QUESTIONS:
                        engine.question(question)
                        times.append(f"{question} {engine.seconds:.2f} s")
                    print(f"of {minutes} minutes: {', '.join(times)}", flush=True)


def print_columns(engine, rows):
    columns = engine.ask("SELECT column, sum(column_data_compressed_bytes) AS n FROM system.parts_columns WHERE active AND "
                         "table = 'ctprof_change' GROUP BY column ORDER BY n DESC")
    for column in columns[:8]:
        print(f"    {column['column']:<16} {int(column['n']) / 1e6:>8.1f} MB {int(column['n']) / rows:>7.3f} bytes a row")
    rest = sum(int(column["n"]) for column in columns[8:])
    print(f"    {len(columns) - 8} others{'':<8} {rest / 1e6:>8.1f} MB {rest / rows:>7.3f} bytes a row", flush=True)


def cpu_of(*command):
    """Seconds of CPU of a command and of all that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, "CTPROFD": CTPROFD}, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def host(threads):
    """Only printed: a day of one host of so many threads in an eighth as many processes, each with a name of its own."""
    with temporary() as directory:
        spool, rows_path = directory / "spool", directory / "files" / "day" / "host" / "rows.ndjson"
        spool.mkdir(mode=0o700)
        rows_path.parent.mkdir(parents=True)
        for number in range(1, N_SNAPSHOTS + 1):
            subprocess.run([BUILD / "tests/bench/make-snapshot", spool / f"made-{number}.ctprof.zst", str(threads), str(threads // 8),
                            str(number)], check=True, stdout=subprocess.DEVNULL)
        ctprofctl = (CTPROFCTL, "--local", "--spool", spool)
        idle = cpu_of(*ctprofctl, "list")
        for name, options in EXPORTS.items():
            cpu = cpu_of(*ctprofctl, "export", "--changes", rows_path, "-q", *options) - idle
            cpu += cpu_of("zstd", "-q", "-f", "-1", rows_path)
            text = rows_path.read_bytes()
            intervals = N_SNAPSHOTS - 1
            with Engine("clickhouse", directory) as engine:
                # The time of the made snapshots is fixed: they would be too old some day.
                engine.ask("ALTER TABLE ctprof_change REMOVE TTL")
                engine.load(directory / "files")
                engine.ask("OPTIMIZE TABLE ctprof_change FINAL")
                kept = engine.bytes()
            subprocess.run(["rm", "-r", directory / "clickhouse"], check=True)
            scale = PER_DAY / intervals
            rows = text.count(b"\n") * scale
            print(f"{threads:>6} threads, {name:<22} {rows:>12,.0f} rows, {len(text) * scale / 1e6:>8,.0f} MB, "
                  f"{pathlib.Path(f'{rows_path}.zst').stat().st_size * scale / 1e6:>7,.1f} MB zst, {kept * scale / 1e6:>7,.1f} MB kept, "
                  f"{cpu * scale:>6.1f} s CPU a day", flush=True)
            rows_path.unlink()


def main(n_hosts):
    expect((BUILD / "tests/bench/make-snapshot").exists(), "tests/bench/make-snapshot is not built")
    for threads in (100, 1000, 10000):
        host(threads)
    day(n_hosts)
