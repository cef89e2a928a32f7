-- SPDX-License-Identifier: GPL-2.0-or-later
-- Why values are missing in the last minutes: each reason with how many hosts and values it is about, and some of their metrics.
-- Values that are derived from others are left out: they follow. Rows of an export with --present do not tell.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until'))
SELECT reason, count(DISTINCT machine_id) AS hosts, count(*) AS absent, count(DISTINCT metric) AS metrics,
        list_slice(list_sort(list(DISTINCT metric)), 1, 3) AS such_as
FROM ctprof_change, ends
WHERE group_by = getvariable('axis') AND time > ends - span AND time <= ends AND reason IS NOT NULL AND value IS NULL
        AND after_text IS NULL AND rule IS DISTINCT FROM 'Derived'
GROUP BY reason
ORDER BY hosts DESC, absent DESC, reason LIMIT 50;
