-- SPDX-License-Identifier: GPL-2.0-or-later
-- Canary against control in the last minutes: groups and metrics that differ, by the test of Mann and Whitney, adjusted for
-- how many were tested by Benjamini and Hochberg. ctprof_role says which host is which.
--
-- One host is one sample, whatever its threads and intervals: it is hosts that were chosen at random. Ranks make no assumption of how
-- values are distributed. p is that of the normal approximation, corrected for ties and continuity; five hosts on each
-- side are the least. Of all the rows with q below 0.05, one in twenty is there by chance.

WITH (SELECT max(time) FROM ctprof_interval WHERE time <= {until:DateTime64(3, 'UTC')}) AS ends,
        toIntervalMinute({minutes:UInt32}) AS span,
per_host AS (
        SELECT group_name, metric, any(unit) AS unit, machine_id, role = 'canary' AS is_canary, assumeNotNull(avg(ctprof_change.value)) AS value
        FROM ctprof_change INNER JOIN (SELECT * FROM ctprof_role FINAL) AS roles USING (machine_id)
        WHERE group_by = {axis:String} AND rule != '' AND section != 'lives' AND time > ends - span AND time <= ends
                AND role IN ('canary', 'control') AND ctprof_change.value IS NOT NULL
        GROUP BY group_name, metric, machine_id, role),
-- The test refuses the whole query if one side of one row is empty: rows that are not tested leave before it.
counted AS (
        SELECT *, countIf(is_canary) OVER sides AS n1, countIf(NOT is_canary) OVER sides AS n2
        FROM per_host WINDOW sides AS (PARTITION BY group_name, metric)),
judged AS (
        SELECT group_name, metric, any(unit) AS unit, any(n1) AS canary_hosts, any(n2) AS control_hosts,
                quantileExactInclusiveIf(0.5)(value, is_canary) AS canary, quantileExactInclusiveIf(0.5)(value, NOT is_canary) AS control,
                mannWhitneyUTest('two-sided')(value, is_canary) AS test, test.2 AS p,
                greatest(test.1, canary_hosts * control_hosts - test.1) AS u
        FROM counted WHERE n1 >= 5 AND n2 >= 5
        GROUP BY group_name, metric
        HAVING isFinite(p)),
ordered AS (SELECT *, p * count() OVER () / row_number() OVER (ORDER BY p) AS bound FROM judged),
adjusted AS (SELECT *, least(min(bound) OVER (ORDER BY p DESC ROWS UNBOUNDED PRECEDING), 1) AS q FROM ordered)
SELECT group_name, metric, unit, canary_hosts, control_hosts, canary, control,
        100 * (canary / nullIf(control, 0) - 1) AS percent, u, p, q
FROM adjusted WHERE q < 0.05
ORDER BY q, abs(percent) DESC, group_name, metric LIMIT 50;
