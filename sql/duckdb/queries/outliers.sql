-- SPDX-License-Identifier: GPL-2.0-or-later
-- Hosts that are unlike the others in the last minutes, by group and metric.
--
-- Rates are those of one CPU, so that large hosts are no outliers, and compared as logarithms: twice as much is as far as half
-- as much. z is robust: by the median of the hosts, and the median of their distances from it, which outliers do not move.
-- Where most hosts agree exactly, 5 % stand for that distance. A count below ten says nothing.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until')),
per_host AS (
        SELECT group_name, metric, any_value(unit) AS unit, machine_id, max(host) AS host,
                avg(CASE WHEN per_second IS NULL THEN value ELSE value / cpus END) AS value
        FROM ctprof_change, ends
        WHERE group_by = getvariable('axis') AND rule IS NOT NULL AND section <> 'lives'
                AND time > ends - span AND time <= ends AND value > 0
        GROUP BY group_name, metric, machine_id
        HAVING any_value(unit) <> 'count' OR sum(work) IS NULL OR sum(work) >= 10),
far AS (SELECT *, ln(value) - median(ln(value)) OVER hosts AS distance, count(*) OVER hosts AS hosts
        FROM per_host WINDOW hosts AS (PARTITION BY group_name, metric)),
scaled AS (SELECT *, greatest(1.4826 * median(abs(distance)) OVER (PARTITION BY group_name, metric), 0.05) AS scale FROM far)
SELECT host, machine_id, group_name, metric, unit, value, value / exp(distance) AS typical, exp(distance) AS ratio,
        distance / scale AS z, hosts
FROM scaled
WHERE hosts >= 8 AND abs(distance) >= ln(2) AND abs(distance / scale) >= 6
ORDER BY abs(z) DESC, host, group_name, metric LIMIT 50;
