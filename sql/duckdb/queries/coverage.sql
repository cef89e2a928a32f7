-- SPDX-License-Identifier: GPL-2.0-or-later
-- How much of the fleet is in an answer about the last minutes: one line for each host of which something is missing.
--
-- silent: no interval has ended for two of the usual length; a host of ctprof_role that never came is silent, too. A gap is
-- a restart, or a cursor whose snapshot was gone. attributed is the share of the CPU time used that threads account for. absent is
-- the share of values that have a reason instead (absent.sql); an export with --present has none of these rows. Two names of one
-- machine_id are a host that was renamed, or two that were cloned, which nobody can tell apart here.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until')),
usual AS (SELECT median(elapsed_ns) / 1e9 AS seconds FROM ctprof_interval, ends WHERE time > ends - span AND time <= ends),
expected AS (SELECT machine_id FROM ctprof_role UNION SELECT machine_id FROM ctprof_interval),
heads AS (
        SELECT machine_id, max(host) AS host, count(DISTINCT host) AS names, count(*) FILTER (kind = 'gap') AS gaps,
                count(*) FILTER (kind = 'interval') AS intervals, max(time) AS newest
        FROM ctprof_interval, ends WHERE group_by = getvariable('axis') AND time > ends - span AND time <= ends
        GROUP BY machine_id),
parts AS (
        SELECT machine_id, sum(value) FILTER (metric = 'attributed_ns') / sum(value) FILTER (metric = 'cpu_used_ns') AS attributed,
                avg(CASE WHEN value IS NULL AND after_text IS NULL THEN 1.0 ELSE 0.0 END) FILTER (rule IS NOT NULL) AS absent
        FROM ctprof_change, ends WHERE group_by = getvariable('axis') AND time > ends - span AND time <= ends
        GROUP BY machine_id),
told AS (
        SELECT machine_id, host, coalesce(intervals, 0) AS intervals, newest, attributed, absent,
                newest IS NULL OR epoch(ends - newest) > 2 * seconds AS silent, coalesce(gaps, 0) > 0 AS gap,
                coalesce(attributed < 0.8, false) AS unattributed, coalesce(names, 1) > 1 AS ambiguous
        FROM expected LEFT JOIN heads USING (machine_id) LEFT JOIN parts USING (machine_id), ends, usual)
SELECT machine_id, host, concat_ws(', ', CASE WHEN silent THEN 'silent' END, CASE WHEN gap THEN 'gap' END,
                CASE WHEN unattributed THEN 'unattributed' END, CASE WHEN ambiguous THEN 'two names' END) AS missing,
        intervals, newest, attributed, absent
FROM told WHERE silent OR gap OR unattributed OR ambiguous
ORDER BY silent DESC, gap DESC, attributed, machine_id;
