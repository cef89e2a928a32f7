-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the questions ask for. Run it before them, or a copy with other values:
--     cat queries/parameters.sql queries/moved.sql | duckdb fleet.db

SET VARIABLE axis = 'pcomm';      -- the --group-by of the export
SET VARIABLE minutes = 60;        -- how much time a question is about: the last minutes
SET VARIABLE until = TIMESTAMP '2100-01-01'; -- UTC; a time to come: up to the newest interval
SET VARIABLE group_name = 'postgres'; -- trend.sql: of what
SET VARIABLE metric = 'wait_time_ns';
