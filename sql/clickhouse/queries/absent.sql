-- SPDX-License-Identifier: GPL-2.0-or-later
-- Why values are missing in the last minutes: each reason with how many hosts and values it is about, and some of their metrics.
-- Values that are derived from others are left out: they follow. Rows of an export with --present do not tell.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span
SELECT reason, uniqExact(machine_id) AS hosts, count() AS absent, uniqExact(metric) AS metrics,
        arraySlice(arraySort(groupUniqArray(metric)), 1, 3) AS such_as
FROM ctprof_change
WHERE group_by = {axis:String} AND time > ends - span AND time <= ends AND reason IS NOT NULL AND value IS NULL
        AND after_text IS NULL AND rule != 'Derived'
GROUP BY reason
ORDER BY hosts DESC, absent DESC, reason LIMIT 50;
