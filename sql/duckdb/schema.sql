-- SPDX-License-Identifier: GPL-2.0-or-later
-- Tables for the rows of "ctprofctl export --changes" in DuckDB. Run it once: duckdb fleet.db < schema.sql

-- The rows of files, each member with its type. A type that is guessed from the first rows turns a later 1.25 into 1,
-- stops at 2^64-1, and makes JSON of a column that has no value yet. Members that are not named here are left out, so a
-- newer ctprof loads as well; one that an older ctprof does not have is absent. The host is what the row says, also
-- where a path has "host=...".
CREATE MACRO ctprof_rows(files) AS TABLE
SELECT * FROM read_json(files, format = 'newline_delimited', hive_partitioning = false, filename = true,
        columns = {
        kind: 'VARCHAR',
        group_by: 'VARCHAR',
        before_snapshot: 'VARCHAR',
        before_host: 'VARCHAR',
        before_machine_id: 'VARCHAR',
        before_boot_id: 'VARCHAR',
        before_kernel_release: 'VARCHAR',
        before_tool_version: 'VARCHAR',
        before_start_realtime_ns: 'UBIGINT',
        before_end_realtime_ns: 'UBIGINT',
        before_start_boottime_ns: 'UBIGINT',
        before_end_boottime_ns: 'UBIGINT',
        after_snapshot: 'VARCHAR',
        after_host: 'VARCHAR',
        after_machine_id: 'VARCHAR',
        after_boot_id: 'VARCHAR',
        after_kernel_release: 'VARCHAR',
        after_tool_version: 'VARCHAR',
        after_start_realtime_ns: 'UBIGINT',
        after_end_realtime_ns: 'UBIGINT',
        after_start_boottime_ns: 'UBIGINT',
        after_end_boottime_ns: 'UBIGINT',
        same_boot: 'BOOLEAN',
        elapsed_ns: 'BIGINT',
        cpus: 'UINTEGER',
        host: 'VARCHAR',
        machine_id: 'VARCHAR',
        boot_id: 'VARCHAR',
        kernel_release: 'VARCHAR',
        side: 'VARCHAR',
        cgroup: 'VARCHAR',
        process: 'VARCHAR',
        thread: 'VARCHAR',
        pid: 'UINTEGER',
        tid: 'UINTEGER',
        start_ticks: 'UBIGINT',
        before_threads: 'UINTEGER',
        after_threads: 'UINTEGER',
        section: 'VARCHAR',
        metric: 'VARCHAR',
        rule: 'VARCHAR',
        unit: 'VARCHAR',
        before: 'DECIMAL(38,12)',
        before_min: 'HUGEINT',
        before_max: 'HUGEINT',
        before_text: 'VARCHAR',
        before_count: 'UBIGINT',
        before_total: 'UBIGINT',
        after: 'DECIMAL(38,12)',
        after_min: 'HUGEINT',
        after_max: 'HUGEINT',
        after_text: 'VARCHAR',
        after_count: 'UBIGINT',
        after_total: 'UBIGINT',
        work: 'DECIMAL(38,12)',
        delta: 'DECIMAL(38,12)',
        percent: 'DOUBLE',
        per_second: 'DOUBLE',
        changed: 'BOOLEAN',
        reset: 'BOOLEAN',
        reason: 'VARCHAR',
        approximate: 'VARCHAR',
        implausible: 'UBIGINT',
        before_top_tid: 'UINTEGER',
        before_top_name: 'VARCHAR',
        before_top_value: 'UBIGINT',
        before_p50: 'UBIGINT',
        before_p99: 'UBIGINT',
        top_tid: 'UINTEGER',
        top_name: 'VARCHAR',
        top_value: 'UBIGINT',
        p50: 'UBIGINT',
        p99: 'UBIGINT'
        });

-- One row for each interval and each gap of each host: what the head of its rows says.
CREATE TABLE ctprof_interval (
        time TIMESTAMP, -- UTC, the end of the interval
        kind VARCHAR,
        group_by VARCHAR,
        before_snapshot VARCHAR,
        before_host VARCHAR,
        before_machine_id VARCHAR,
        before_boot_id VARCHAR,
        before_kernel_release VARCHAR,
        before_tool_version VARCHAR,
        before_start_realtime_ns UBIGINT,
        before_end_realtime_ns UBIGINT,
        before_start_boottime_ns UBIGINT,
        before_end_boottime_ns UBIGINT,
        after_snapshot VARCHAR,
        after_host VARCHAR,
        after_machine_id VARCHAR,
        after_boot_id VARCHAR,
        after_kernel_release VARCHAR,
        after_tool_version VARCHAR,
        after_start_realtime_ns UBIGINT,
        after_end_realtime_ns UBIGINT,
        after_start_boottime_ns UBIGINT,
        after_end_boottime_ns UBIGINT,
        same_boot BOOLEAN,
        elapsed_ns BIGINT,
        cpus UINTEGER,
        host VARCHAR,
        machine_id VARCHAR,
        boot_id VARCHAR,
        kernel_release VARCHAR,
        reason VARCHAR -- of a gap
);

-- One row for each interval, group and metric. A host is its machine_id, whatever it is called.
--
-- Of a metric that counts, work is what was done in the interval, exact, and per_second the rate. The totals at its two
-- ends are left out: they fall when threads end, and to subtract one from the other is wrong. A metric without a rate is a
-- level, which before and after have; after of one that is derived is that of the work. For every metric, value is the one to
-- look at. Where there is none, reason says why.
CREATE TABLE ctprof_change (
        time TIMESTAMP, -- UTC, whole seconds
        host VARCHAR,
        machine_id VARCHAR,
        kernel_release VARCHAR,
        cpus UINTEGER,
        group_by VARCHAR,
        -- The names that the axis has, with a tab between them: no row has one within a name. An absent name is not the
        -- same as an empty one, which the three columns below tell apart.
        group_name VARCHAR,
        side VARCHAR,
        cgroup VARCHAR,
        process VARCHAR,
        thread VARCHAR,
        pid UINTEGER,
        tid UINTEGER,
        start_ticks UBIGINT,
        before_threads UINTEGER,
        after_threads UINTEGER,
        section VARCHAR,
        metric VARCHAR,
        rule VARCHAR, -- what begins with Sum may be added over groups
        unit VARCHAR,
        work DECIMAL(38,0), -- as HUGEINT it would be a double in Parquet
        per_second FLOAT,
        before DOUBLE,
        before_min DECIMAL(38,0),
        before_max DECIMAL(38,0),
        before_text VARCHAR,
        before_count UBIGINT,
        before_total UBIGINT,
        after DOUBLE,
        after_min DECIMAL(38,0),
        after_max DECIMAL(38,0),
        after_text VARCHAR,
        after_count UBIGINT,
        after_total UBIGINT,
        reset BOOLEAN,
        reason VARCHAR,
        approximate VARCHAR,
        implausible UBIGINT,
        value DOUBLE GENERATED ALWAYS AS (coalesce(per_second, CAST(work AS DOUBLE), after)) VIRTUAL
);
-- Left out of both, as the questions of a fleet do without them, and the host itself has them in its snapshots:
-- delta, percent, changed, before_top_tid, before_top_name, before_top_value, before_p50, before_p99,
-- top_tid, top_name, top_value, p50, p99.

-- Files that were loaded: load.sql takes each file once.
CREATE TABLE ctprof_file (path VARCHAR PRIMARY KEY, loaded TIMESTAMP);

-- Which hosts are the canary of a rollout, and which are not. You fill it, by any rule:
--     INSERT INTO ctprof_role SELECT DISTINCT machine_id, if(kernel_release = '6.12.9', 'canary', 'control') FROM ctprof_interval;
CREATE TABLE ctprof_role (machine_id VARCHAR, role VARCHAR);

-- The chance of a normal value beyond z on either side, which DuckDB does not have: Abramowitz and Stegun 26.2.17, and
-- beyond 3, where its error of 7.5e-8 is no longer small, the continued fraction of Laplace.
CREATE MACRO ctprof_density(z) AS exp(-z * z / 2) / sqrt(2 * pi());
CREATE MACRO ctprof_beyond(z, t) AS CASE
        WHEN z < 3 THEN t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
        ELSE 1 / (z + 1 / (z + 2 / (z + 3 / (z + 4 / (z + 5 / (z + 6 / (z + 7 / (z + 8 / z)))))))) END;
CREATE MACRO ctprof_two_sided_p(z) AS 2 * ctprof_density(abs(z)) * ctprof_beyond(abs(z), 1 / (1 + 0.2316419 * abs(z)));
