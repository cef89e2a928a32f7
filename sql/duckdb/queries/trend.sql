-- SPDX-License-Identifier: GPL-2.0-or-later
-- The trend of one metric of one group in the last minutes on each host: the slope of a straight line, in percent of the
-- mean an hour, with the correlation, which is near 1 or -1 where a line says it well.
--
-- Steady trends come first. Less than five intervals have none. Ask for at least a day where the load has hours of its own.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until')),
points AS (
        SELECT host, machine_id, epoch(time - (ends - span)) / 3600 AS hours, value
        FROM ctprof_change, ends
        WHERE group_by = getvariable('axis') AND group_name = getvariable('group_name') AND metric = getvariable('metric')
                AND time > ends - span AND time <= ends AND value IS NOT NULL),
lines AS (
        SELECT host, machine_id, count(*) AS intervals, avg(value) AS mean, regr_slope(value, hours) AS slope,
                sqrt(regr_r2(value, hours)) * sign(regr_slope(value, hours)) AS correlation
        FROM points GROUP BY host, machine_id HAVING count(*) >= 5 AND max(value) > min(value))
SELECT host, machine_id, intervals, mean, 100 * slope / mean AS percent_an_hour, correlation
FROM lines
ORDER BY abs(percent_an_hour) * correlation * correlation DESC, host LIMIT 50;
