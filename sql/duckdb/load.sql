-- SPDX-License-Identifier: GPL-2.0-or-later
-- Loads the files that were not loaded yet. Run it where they lie, as often as you like:
--     cd /srv/ctprof && duckdb fleet.db < load.sql
-- Files of another place: SET VARIABLE ctprof_files = '/srv/ctprof/*/*/*.ndjson.zst'; before it.

BEGIN;

-- Where no file is new, one that is not is read, and left out.
CREATE TEMP MACRO ctprof_file_list() AS TABLE
SELECT file, file NOT IN (SELECT path FROM ctprof_file) AS is_new
FROM glob(coalesce(getvariable('ctprof_files'), 'day=*/host=*/*.ndjson.zst'));
SET VARIABLE ctprof_new_files = (
        SELECT coalesce(list(file ORDER BY file) FILTER (is_new), [min(file)]) FROM ctprof_file_list());

-- Each file is read once for both tables: what takes the time is its JSON.
CREATE TEMP TABLE ctprof_new AS
SELECT make_timestamp_ns(CAST(after_end_realtime_ns AS BIGINT)) AS time, concat_ws(chr(9), cgroup, process, thread) AS group_name,
        kind, group_by, before_snapshot, before_host, before_machine_id, before_boot_id, before_kernel_release,
        before_tool_version, before_start_realtime_ns, before_end_realtime_ns, before_start_boottime_ns,
        before_end_boottime_ns, after_snapshot, after_host, after_machine_id, after_boot_id, after_kernel_release,
        after_tool_version, after_start_realtime_ns, after_end_realtime_ns, after_start_boottime_ns,
        after_end_boottime_ns, same_boot, elapsed_ns, cpus, host, machine_id, boot_id, kernel_release, reason, side,
        cgroup, process, thread, pid, tid, start_ticks, before_threads, after_threads, section, metric, rule, unit,
        work, per_second, before, before_min, before_max, before_text, before_count, before_total, after, after_min,
        after_max, after_text, after_count, after_total, reset, approximate, implausible
FROM ctprof_rows(getvariable('ctprof_new_files')) WHERE filename NOT IN (SELECT path FROM ctprof_file);

INSERT INTO ctprof_interval
SELECT DISTINCT ON (machine_id, time, before_snapshot, kind, group_by)
        time, kind, group_by, before_snapshot, before_host, before_machine_id, before_boot_id, before_kernel_release,
        before_tool_version, before_start_realtime_ns, before_end_realtime_ns, before_start_boottime_ns,
        before_end_boottime_ns, after_snapshot, after_host, after_machine_id, after_boot_id, after_kernel_release,
        after_tool_version, after_start_realtime_ns, after_end_realtime_ns, after_start_boottime_ns,
        after_end_boottime_ns, same_boot, elapsed_ns, cpus, host, machine_id, boot_id, kernel_release,
        CASE WHEN kind = 'gap' THEN reason END
FROM ctprof_new;

-- A group that is gone has the totals of its life in before: they are no work of the interval, either.
INSERT INTO ctprof_change
SELECT
        date_trunc('second', time), host, machine_id, kernel_release, cpus, group_by, group_name, side, cgroup, process, thread, pid, tid,
        start_ticks, before_threads, after_threads, section, metric, rule, unit,
        CASE WHEN rule IS DISTINCT FROM 'Derived' THEN work END, per_second,
        CASE WHEN per_second IS NULL AND side = 'both' AND rule IS DISTINCT FROM 'Derived' THEN before END, before_min, before_max, before_text, before_count,
        before_total, CASE WHEN rule = 'Derived' THEN work WHEN per_second IS NULL THEN after END, after_min, after_max, after_text, after_count,
        after_total, reset, reason, approximate, implausible
FROM ctprof_new WHERE kind = 'interval';

DROP TABLE ctprof_new;
INSERT OR IGNORE INTO ctprof_file SELECT unnest(getvariable('ctprof_new_files')), now();
DROP MACRO TABLE ctprof_file_list;

COMMIT;
