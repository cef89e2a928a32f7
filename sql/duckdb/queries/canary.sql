-- SPDX-License-Identifier: GPL-2.0-or-later
-- Canary against control in the last minutes: groups and metrics that differ, by the test of Mann and Whitney, adjusted for
-- how many were tested by Benjamini and Hochberg. ctprof_role says which host is which.
--
-- One host is one sample, whatever its threads and intervals: it is hosts that were chosen at random. Ranks make no assumption of how
-- values are distributed. p is that of the normal approximation, corrected for ties and continuity; five hosts on each
-- side are the least. Of all the rows with q below 0.05, one in twenty is there by chance.

WITH ends AS (SELECT max(time) AS ends, to_minutes(getvariable('minutes')) AS span
        FROM ctprof_interval WHERE time <= getvariable('until')),
per_host AS (
        SELECT group_name, metric, any_value(unit) AS unit, machine_id, role = 'canary' AS canary, avg(value) AS value
        FROM ctprof_change JOIN ctprof_role USING (machine_id), ends
        WHERE group_by = getvariable('axis') AND rule IS NOT NULL AND section <> 'lives'
                AND time > ends - span AND time <= ends AND role IN ('canary', 'control')
        GROUP BY group_name, metric, machine_id, role
        HAVING avg(value) IS NOT NULL),
ranked AS (
        SELECT *, count(*) OVER (PARTITION BY group_name, metric, value) AS ties,
                rank() OVER (PARTITION BY group_name, metric ORDER BY value) AS first FROM per_host),
summed AS (
        SELECT group_name, metric, any_value(unit) AS unit,
                CAST(count(*) FILTER (canary) AS DOUBLE) AS n1, CAST(count(*) FILTER (NOT canary) AS DOUBLE) AS n2,
                median(value) FILTER (canary) AS canary, median(value) FILTER (NOT canary) AS control,
                sum(first + (ties - 1) / 2) FILTER (canary) AS ranks, sum(ties * ties - 1.0) AS tied
        FROM ranked GROUP BY group_name, metric),
tested AS (
        SELECT *, greatest(ranks - n1 * (n1 + 1) / 2, n1 * n2 - (ranks - n1 * (n1 + 1) / 2)) AS u,
                sqrt(n1 * n2 / 12 * (n1 + n2 + 1 - tied / ((n1 + n2) * (n1 + n2 - 1)))) AS deviation
        FROM summed WHERE n1 >= 5 AND n2 >= 5),
judged AS (SELECT *, ctprof_two_sided_p((u - n1 * n2 / 2 - 0.5) / deviation) AS p FROM tested WHERE deviation > 0),
ordered AS (SELECT *, p * count(*) OVER () / row_number() OVER (ORDER BY p) AS bound FROM judged),
adjusted AS (SELECT *, least(min(bound) OVER (ORDER BY p DESC ROWS UNBOUNDED PRECEDING), 1) AS q FROM ordered)
SELECT group_name, metric, unit, n1 AS canary_hosts, n2 AS control_hosts, canary, control,
        100 * (canary / nullif(control, 0) - 1) AS percent, u, p, q
FROM adjusted WHERE q < 0.05
ORDER BY q, abs(percent) DESC, group_name, metric LIMIT 50;
