-- SPDX-License-Identifier: GPL-2.0-or-later
-- The trend of one metric of one group in the last minutes on each host: the slope of a straight line, in percent of the
-- mean an hour, with the correlation, which is near 1 or -1 where a line says it well.
--
-- Steady trends come first. Less than five intervals have none. Ask for at least a day where the load has hours of its own.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span,
points AS (
        SELECT host, machine_id, dateDiff('millisecond', ends - span, time) / 3600000 AS hours, assumeNotNull(value) AS value
        FROM ctprof_change
        WHERE group_by = {axis:String} AND group_name = {group_name:String} AND metric = {metric:String}
                AND time > ends - span AND time <= ends AND ctprof_change.value IS NOT NULL),
lines AS (
        SELECT host, machine_id, count() AS intervals, avg(value) AS mean, simpleLinearRegression(hours, value).1 AS slope,
                corr(value, hours) AS correlation
        FROM points GROUP BY host, machine_id HAVING count() >= 5 AND max(value) > min(value))
SELECT host, machine_id, intervals, mean, 100 * slope / mean AS percent_an_hour, correlation
FROM lines
ORDER BY abs(percent_an_hour) * correlation * correlation DESC, host LIMIT 50;
