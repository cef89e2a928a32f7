-- SPDX-License-Identifier: GPL-2.0-or-later
-- How much of the fleet is in an answer about the last minutes: one line for each host of which something is missing.
--
-- silent: no interval has ended for two of the usual length; a host of ctprof_role that never came is silent, too. A gap is
-- a restart, or a cursor whose snapshot was gone. attributed is the share of the CPU time used that threads account for. absent is
-- the share of values that have a reason instead (absent.sql); an export with --present has none of these rows. Two names of one
-- machine_id are a host that was renamed, or two that were cloned, which nobody can tell apart here.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span,
(SELECT quantileExactInclusive(0.5)(elapsed_ns) / 1e9 FROM ctprof_interval WHERE time > ends - span AND time <= ends) AS seconds,
expected AS (SELECT machine_id FROM ctprof_role UNION DISTINCT SELECT machine_id FROM ctprof_interval),
heads AS (
        SELECT machine_id, max(host) AS host, uniqExact(ctprof_interval.host) AS names, countIf(kind = 'gap') AS gaps,
                countIf(kind = 'interval') AS intervals, toNullable(max(time)) AS newest
        FROM ctprof_interval FINAL WHERE group_by = {axis:String} AND time > ends - span AND time <= ends
        GROUP BY machine_id),
parts AS (
        SELECT machine_id, sumIf(value, metric = 'attributed_ns') / sumIf(value, metric = 'cpu_used_ns') AS attributed,
                avgIf(value IS NULL AND after_text IS NULL, rule != '') AS absent
        FROM ctprof_change WHERE group_by = {axis:String} AND time > ends - span AND time <= ends
        GROUP BY machine_id),
told AS (
        SELECT machine_id, host, coalesce(intervals, 0) AS intervals, newest, attributed, absent,
                newest IS NULL OR dateDiff('millisecond', newest, ends) > 2000 * seconds AS silent, coalesce(gaps, 0) > 0 AS gap,
                coalesce(attributed < 0.8, false) AS unattributed, coalesce(names, 1) > 1 AS ambiguous
        FROM expected LEFT JOIN heads USING (machine_id) LEFT JOIN parts USING (machine_id)
        SETTINGS join_use_nulls = 1)
SELECT machine_id, host, arrayStringConcat(arrayFilter(word -> word != '', [if(silent, 'silent', ''), if(gap, 'gap', ''),
                if(unattributed, 'unattributed', ''), if(ambiguous, 'two names', '')]), ', ') AS missing,
        intervals, newest, attributed, absent
FROM told WHERE silent OR gap OR unattributed OR ambiguous
ORDER BY silent DESC, gap DESC, attributed, machine_id
SETTINGS join_use_nulls = 1;
