# SPDX-License-Identifier: GPL-2.0-or-later
"""DuckDB and ClickHouse within processes of node, with the tables of sql/; packages of npm, kept in a cache."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness import Skip

HERE = pathlib.Path(__file__).resolve().parent
SQL = HERE.parent.parent / "sql"
PACKAGES = {"duckdb": "@duckdb/node-api", "clickhouse": "chdb"}


def packages():
    """The directory with both packages; installs them where they are not there yet."""
    for program in ("node", "npm", "zstd"):
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    directory = pathlib.Path(os.environ.get("CTPROF_FLEET_CACHE") or pathlib.Path(base) / "ctprof-fleet")
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((directory / "node_modules" / name / "package.json").exists() for name in PACKAGES.values()):
            (directory / "package.json").write_text('{"private": true}\n', encoding="utf-8")
            made = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1",
                                   *PACKAGES.values()], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False)
            if made.returncode != 0:
                raise Skip(f"npm cannot install {' and '.join(PACKAGES.values())}: {made.stderr.strip().splitlines()[0]}")
    return directory


def statements(text):
    """The statements of an SQL file of ours: each ends with a semicolon at the end of a line."""
    bare = "".join(line.split(" -- ")[0] + "\n" for line in text.splitlines() if not line.startswith("--"))
    return [statement.strip() for statement in re.split(r";[ ]*$", bare, flags=re.M) if statement.strip()]


def shell():
    """What the duckdb program does with a database and statements on its input; rows are printed as JSON."""
    path = pathlib.Path(sys.argv[1]).resolve()
    with Engine("duckdb", path.parent, path) as engine:
        for statement in statements(sys.stdin.read()):
            for row in engine.ask(statement):
                print(json.dumps(row))


class Refused(Exception):
    """The engine says no; the text is its own."""


class Engine:
    """One engine with a database of its own."""

    def __init__(self, kind, directory, path=None):
        self.kind = kind
        self.path = path or directory / kind
        self.sql = SQL / kind
        self.log = open(directory / f"{kind}.log", "wb")
        self.process = subprocess.Popen(["node", HERE / "engine.mjs", kind, packages(), self.path], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.seconds = 0.0
        self.version = self._answer()[0]["version"]
        if not path:
            self.run("schema.sql")

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Refused(f"{self.kind} ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        self.seconds = answer["seconds"]
        return answer["rows"]

    def ask(self, sql):
        """The rows of one statement; how long it took stands in seconds."""
        self.process.stdin.write(json.dumps({"sql": sql}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def run(self, name):
        """Runs a file of ours below sql/; returns the rows of its last statement, and its time."""
        total, rows = 0.0, []
        for statement in statements((self.sql / name).read_text(encoding="utf-8")):
            rows = self.ask(statement)
            total += self.seconds
        self.seconds = total
        return rows

    def set(self, **values):
        """Parameters of the questions."""
        for name, value in values.items():
            word = repr(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
            self.ask(f"SET VARIABLE {name} = {word}" if self.kind == "duckdb" else f"SET param_{name} = {word}")

    def question(self, name):
        return self.run(f"queries/{name}.sql")

    def load(self, directory, pattern="*/*/*"):
        """What load.sql and load.sh do with the files of a directory."""
        if self.kind == "duckdb":
            self.set(ctprof_files=f"{directory}/{pattern}.ndjson.zst")
            try:
                return self.run("load.sql")
            except Refused:
                self.ask("ROLLBACK")  # as the end of a client does
                raise
        total = 0.0
        for file in sorted(directory.glob(f"{pattern}.ndjson.zst")):
            # The settings are those of load.sh; a client reads a file itself, as this does.
            self.ask(f"INSERT INTO ctprof_rows FROM INFILE '{file}' SETTINGS input_format_skip_unknown_fields = 1, "
                     "use_hive_partitioning = 0, "
                     f"insert_deduplication_token = '{file.relative_to(directory)}', "
                     "deduplicate_blocks_in_dependent_materialized_views = 1 FORMAT JSONEachRow")
            total += self.seconds
        self.seconds = total
        return []

    def bytes(self):
        if self.kind == "duckdb":
            self.ask("CHECKPOINT")
            return self.path.stat().st_size
        return int(self.ask("SELECT sum(bytes_on_disk) AS n FROM system.parts WHERE active AND table LIKE 'ctprof%'")[0]["n"])

    def close(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
