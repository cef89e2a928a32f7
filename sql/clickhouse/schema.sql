-- SPDX-License-Identifier: GPL-2.0-or-later
-- Tables for the rows of "ctprofctl export --changes" in ClickHouse, on one server; cluster.sql makes them those of many.
-- Run it once: clickhouse-client --queries-file schema.sql

-- What is inserted: every member of a row with its type. It keeps nothing; two views below put each row where it belongs.
-- A number that does not fit its type is an error; a member that an older ctprof does not have is absent.
CREATE TABLE IF NOT EXISTS ctprof_rows (
        kind LowCardinality(String),
        group_by LowCardinality(String),
        before_snapshot Nullable(String),
        before_host LowCardinality(Nullable(String)),
        before_machine_id LowCardinality(Nullable(String)),
        before_boot_id LowCardinality(Nullable(String)),
        before_kernel_release LowCardinality(Nullable(String)),
        before_tool_version LowCardinality(Nullable(String)),
        before_start_realtime_ns Nullable(UInt64),
        before_end_realtime_ns Nullable(UInt64),
        before_start_boottime_ns Nullable(UInt64),
        before_end_boottime_ns Nullable(UInt64),
        after_snapshot Nullable(String),
        after_host LowCardinality(Nullable(String)),
        after_machine_id LowCardinality(Nullable(String)),
        after_boot_id LowCardinality(Nullable(String)),
        after_kernel_release LowCardinality(Nullable(String)),
        after_tool_version LowCardinality(Nullable(String)),
        after_start_realtime_ns Nullable(UInt64),
        after_end_realtime_ns Nullable(UInt64),
        after_start_boottime_ns Nullable(UInt64),
        after_end_boottime_ns Nullable(UInt64),
        same_boot Nullable(Bool),
        elapsed_ns Nullable(Int64),
        cpus Nullable(UInt32),
        host LowCardinality(String),
        machine_id LowCardinality(String),
        boot_id LowCardinality(String),
        kernel_release LowCardinality(String),
        side LowCardinality(String),
        cgroup LowCardinality(Nullable(String)),
        process LowCardinality(Nullable(String)),
        thread LowCardinality(Nullable(String)),
        pid Nullable(UInt32),
        tid Nullable(UInt32),
        start_ticks Nullable(UInt64),
        before_threads Nullable(UInt32),
        after_threads Nullable(UInt32),
        section LowCardinality(String),
        metric LowCardinality(String),
        rule LowCardinality(String),
        unit LowCardinality(String),
        before Nullable(Decimal(38, 12)),
        before_min Nullable(Int128),
        before_max Nullable(Int128),
        before_text LowCardinality(Nullable(String)),
        before_count Nullable(UInt64),
        before_total Nullable(UInt64),
        after Nullable(Decimal(38, 12)),
        after_min Nullable(Int128),
        after_max Nullable(Int128),
        after_text LowCardinality(Nullable(String)),
        after_count Nullable(UInt64),
        after_total Nullable(UInt64),
        work Nullable(Decimal(38, 12)),
        delta Nullable(Decimal(38, 12)),
        percent Nullable(Float64),
        per_second Nullable(Float64),
        changed Nullable(Bool),
        reset Nullable(Bool),
        reason LowCardinality(Nullable(String)),
        approximate LowCardinality(Nullable(String)),
        implausible Nullable(UInt64),
        before_top_tid Nullable(UInt32),
        before_top_name LowCardinality(Nullable(String)),
        before_top_value Nullable(UInt64),
        before_p50 Nullable(UInt64),
        before_p99 Nullable(UInt64),
        top_tid Nullable(UInt32),
        top_name LowCardinality(Nullable(String)),
        top_value Nullable(UInt64),
        p50 Nullable(UInt64),
        p99 Nullable(UInt64)
) ENGINE = Null;

-- One row for each interval and each gap of each host: what the head of its rows says.
CREATE TABLE IF NOT EXISTS ctprof_interval (
        time DateTime64(3, 'UTC'), -- the end of the interval
        kind LowCardinality(String),
        group_by LowCardinality(String),
        before_snapshot Nullable(String),
        before_host LowCardinality(Nullable(String)),
        before_machine_id LowCardinality(Nullable(String)),
        before_boot_id LowCardinality(Nullable(String)),
        before_kernel_release LowCardinality(Nullable(String)),
        before_tool_version LowCardinality(Nullable(String)),
        before_start_realtime_ns Nullable(UInt64),
        before_end_realtime_ns Nullable(UInt64),
        before_start_boottime_ns Nullable(UInt64),
        before_end_boottime_ns Nullable(UInt64),
        after_snapshot Nullable(String),
        after_host LowCardinality(Nullable(String)),
        after_machine_id LowCardinality(Nullable(String)),
        after_boot_id LowCardinality(Nullable(String)),
        after_kernel_release LowCardinality(Nullable(String)),
        after_tool_version LowCardinality(Nullable(String)),
        after_start_realtime_ns Nullable(UInt64),
        after_end_realtime_ns Nullable(UInt64),
        after_start_boottime_ns Nullable(UInt64),
        after_end_boottime_ns Nullable(UInt64),
        same_boot Nullable(Bool),
        elapsed_ns Nullable(Int64),
        cpus Nullable(UInt32),
        host LowCardinality(String),
        machine_id LowCardinality(String),
        boot_id LowCardinality(String),
        kernel_release LowCardinality(String),
        reason Nullable(String)
) ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (machine_id, time, group_by, kind)
TTL toDateTime(time) + INTERVAL 400 DAY;

-- One row for each interval, group and metric. A host is its machine_id, whatever it is called.
--
-- Of a metric that counts, work is what was done in the interval, exact, and per_second the rate. The totals at its two
-- ends are left out: they fall when threads end, and to subtract one from the other is wrong. A metric without a rate is a
-- level, which before and after have; after of one that is derived is that of the work. For every metric, value is the one to
-- look at. Where there is none, reason says why.
--
-- A question is about some metrics of some groups on all hosts: in this order they lie together, and what they share
-- compresses to nothing. A day is dropped as a whole. A file that is inserted again with its token is not inserted.
CREATE TABLE IF NOT EXISTS ctprof_change (
        time DateTime('UTC') CODEC(Delta, ZSTD(1)), -- whole seconds: their fractions would be the half of all that is kept
        host LowCardinality(String),
        machine_id LowCardinality(String),
        kernel_release LowCardinality(String),
        cpus Nullable(UInt16) CODEC(ZSTD(1)),
        group_by LowCardinality(String),
        group_name LowCardinality(String),
        side LowCardinality(String),
        cgroup LowCardinality(Nullable(String)),
        process LowCardinality(Nullable(String)),
        thread LowCardinality(Nullable(String)),
        pid Nullable(UInt32) CODEC(ZSTD(1)),
        tid Nullable(UInt32) CODEC(ZSTD(1)),
        start_ticks Nullable(UInt64) CODEC(ZSTD(1)),
        before_threads Nullable(UInt32) CODEC(ZSTD(1)),
        after_threads Nullable(UInt32) CODEC(ZSTD(1)),
        section LowCardinality(String),
        metric LowCardinality(String),
        rule LowCardinality(String),
        unit LowCardinality(String),
        work Nullable(Int128) CODEC(ZSTD(1)),
        per_second Nullable(Float32) CODEC(ZSTD(1)),
        before Nullable(Float64) CODEC(ZSTD(1)),
        before_min Nullable(Int128) CODEC(ZSTD(1)),
        before_max Nullable(Int128) CODEC(ZSTD(1)),
        before_text LowCardinality(Nullable(String)),
        before_count Nullable(UInt64) CODEC(ZSTD(1)),
        before_total Nullable(UInt64) CODEC(ZSTD(1)),
        after Nullable(Float64) CODEC(ZSTD(1)),
        after_min Nullable(Int128) CODEC(ZSTD(1)),
        after_max Nullable(Int128) CODEC(ZSTD(1)),
        after_text LowCardinality(Nullable(String)),
        after_count Nullable(UInt64) CODEC(ZSTD(1)),
        after_total Nullable(UInt64) CODEC(ZSTD(1)),
        reset Nullable(Bool) CODEC(ZSTD(1)),
        reason LowCardinality(Nullable(String)),
        approximate LowCardinality(Nullable(String)),
        implausible Nullable(UInt64) CODEC(ZSTD(1)),
        value Nullable(Float64) ALIAS coalesce(toFloat64(per_second), toFloat64(work), after)
) ENGINE = MergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (metric, group_name, host, time)
TTL time + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- Left out of both, as the questions of a fleet do without them, and the host itself has them in its snapshots:
-- delta, percent, changed, before_top_tid, before_top_name, before_top_value, before_p50, before_p99,
-- top_tid, top_name, top_value, p50, p99.

CREATE MATERIALIZED VIEW IF NOT EXISTS ctprof_rows_to_interval TO ctprof_interval AS
SELECT DISTINCT
        fromUnixTimestamp64Nano(toInt64(assumeNotNull(after_end_realtime_ns)), 'UTC') AS time,
        kind, group_by, before_snapshot, before_host, before_machine_id, before_boot_id, before_kernel_release,
        before_tool_version, before_start_realtime_ns, before_end_realtime_ns, before_start_boottime_ns,
        before_end_boottime_ns, after_snapshot, after_host, after_machine_id, after_boot_id, after_kernel_release,
        after_tool_version, after_start_realtime_ns, after_end_realtime_ns, after_start_boottime_ns,
        after_end_boottime_ns, same_boot, elapsed_ns, cpus, host, machine_id, boot_id, kernel_release,
        if(kind = 'gap', reason, NULL) AS reason
FROM ctprof_rows;

-- A group that is gone has the totals of its life in before: they are no work of the interval, either.
CREATE MATERIALIZED VIEW IF NOT EXISTS ctprof_rows_to_change TO ctprof_change AS
SELECT
        toDateTime(intDiv(assumeNotNull(after_end_realtime_ns), 1000000000), 'UTC') AS time,
        arrayStringConcat(arrayFilter(name -> name IS NOT NULL, [cgroup, process, thread]), '\t') AS group_name,
        host, machine_id, kernel_release, cpus, group_by, side, cgroup, process, thread, pid, tid, start_ticks,
        before_threads, after_threads, section, metric, rule, unit, per_second, before_min, before_max,
        before_text, before_count, before_total, after_min, after_max, after_text, after_count, after_total, reset,
        reason, approximate, implausible,
        if(rule != 'Derived', ctprof_rows.work, NULL) AS work,
        if(per_second IS NULL AND side = 'both' AND rule != 'Derived', ctprof_rows.before, NULL) AS before,
        multiIf(rule = 'Derived', ctprof_rows.work, per_second IS NULL, ctprof_rows.after, NULL) AS after
FROM ctprof_rows WHERE kind = 'interval';

-- Which hosts are the canary of a rollout, and which are not. You fill it, by any rule:
--     INSERT INTO ctprof_role SELECT DISTINCT machine_id, if(kernel_release = '6.12.9', 'canary', 'control') FROM ctprof_interval;
CREATE TABLE IF NOT EXISTS ctprof_role (machine_id String, role LowCardinality(String))
ENGINE = ReplacingMergeTree ORDER BY machine_id;
