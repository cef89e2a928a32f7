-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the questions ask for. Run it before them, or a copy with other values:
--     clickhouse-client --queries-file queries/parameters.sql queries/moved.sql

SET param_axis = 'pcomm';      -- the --group-by of the export
SET param_minutes = 60;        -- how much time a question is about: the last minutes
SET param_until = '2100-01-01 00:00:00'; -- UTC; a time to come: up to the newest interval
SET param_group_name = 'postgres'; -- trend.sql: of what
SET param_metric = 'wait_time_ns';
