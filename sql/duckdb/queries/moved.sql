-- SPDX-License-Identifier: GPL-2.0-or-later
-- What moved most on all hosts: the last minutes against as many before them, by group and metric.
--
-- Each host is compared with itself, and counts once. nine_in_ten is what nine hosts of ten moved by at least, in the
-- direction of the median: noise moves some hosts up and some down, and has 0 there. came and went are hosts that had the
-- group only in one half, and have no percent.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until')),
per_host AS (
        SELECT group_name, metric, any_value(unit) AS unit, machine_id, max(host) AS host,
                avg(value) FILTER (time <= ends - span) AS earlier, avg(value) FILTER (time > ends - span) AS later
        FROM ctprof_change, ends
        WHERE group_by = getvariable('axis') AND rule IS NOT NULL AND section <> 'lives'
                AND time > ends - 2 * span AND time <= ends
        GROUP BY group_name, metric, machine_id),
moved AS (SELECT *, CASE WHEN earlier > 0 AND later > 0 THEN 100 * (later / earlier - 1) END AS percent FROM per_host),
summed AS (
        SELECT group_name, metric, any_value(unit) AS unit, count(percent) AS hosts, median(percent) AS percent,
                quantile_cont(percent, 0.1) AS p10, quantile_cont(percent, 0.9) AS p90,
                arg_max(host, row(abs(percent), host)) FILTER (percent IS NOT NULL) AS farthest_host, max(abs(percent)) AS farthest_percent,
                sum(earlier) AS earlier, sum(later) AS later,
                count(*) FILTER (earlier IS NULL AND later IS NOT NULL) AS came,
                count(*) FILTER (earlier IS NOT NULL AND later IS NULL) AS went
        FROM moved GROUP BY group_name, metric)
SELECT group_name, metric, unit, hosts, percent, greatest(CASE WHEN percent > 0 THEN p10 ELSE -p90 END, 0) AS nine_in_ten,
        p10, p90, farthest_host, farthest_percent, earlier, later, came, went
FROM summed WHERE hosts >= 3
ORDER BY nine_in_ten DESC, abs(percent) DESC, group_name, metric LIMIT 50;
