-- SPDX-License-Identifier: GPL-2.0-or-later
-- What moved most on all hosts: the last minutes against as many before them, by group and metric.
--
-- Each host is compared with itself, and counts once. nine_in_ten is what nine hosts of ten moved by at least, in the
-- direction of the median: noise moves some hosts up and some down, and has 0 there. came and went are hosts that had the
-- group only in one half, and have no percent.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span,
per_host AS (
        SELECT group_name, metric, any(unit) AS unit, machine_id, max(host) AS host,
                avgIf(value, time <= ends - span) AS earlier, avgIf(value, time > ends - span) AS later
        FROM ctprof_change
        WHERE group_by = {axis:String} AND rule != '' AND section != 'lives' AND time > ends - span - span AND time <= ends
        GROUP BY group_name, metric, machine_id),
moved AS (SELECT *, if(earlier > 0 AND later > 0, 100 * (later / earlier - 1), NULL) AS percent FROM per_host),
summed AS (
        SELECT group_name, metric, any(unit) AS unit, count(moved.percent) AS hosts,
                quantileExactInclusive(0.5)(moved.percent) AS percent,
                quantileExactInclusive(0.1)(moved.percent) AS p10, quantileExactInclusive(0.9)(moved.percent) AS p90,
                argMaxIf(host, (abs(assumeNotNull(moved.percent)), host), moved.percent IS NOT NULL) AS farthest_host, max(abs(moved.percent)) AS farthest_percent,
                sum(moved.earlier) AS earlier, sum(moved.later) AS later,
                countIf(moved.earlier IS NULL AND moved.later IS NOT NULL) AS came,
                countIf(moved.earlier IS NOT NULL AND moved.later IS NULL) AS went
        FROM moved GROUP BY group_name, metric)
SELECT group_name, metric, unit, hosts, percent, greatest(if(percent > 0, p10, -p90), 0) AS nine_in_ten,
        p10, p90, farthest_host, farthest_percent, earlier, later, came, went
FROM summed WHERE hosts >= 3
ORDER BY nine_in_ten DESC, abs(percent) DESC, group_name, metric LIMIT 50;
