-- SPDX-License-Identifier: GPL-2.0-or-later
-- The same tables on a cluster: run schema.sql on each node first, then this on one of them, before anything is loaded.
--     clickhouse-client --host NODE --queries-file schema.sql       (for each node)
--     clickhouse-client --queries-file cluster.sql
-- The macros cluster, shard and replica are those of the configuration of each node, and Keeper has to run.
--
-- Each node keeps a part of the hosts: all of one host is on one shard, so that a shard answers for its hosts alone. The
-- Distributed table takes the name that the views write to and the questions read from, so that neither has to change:
-- what is inserted into ctprof_rows of any node goes where it belongs.

CREATE TABLE ctprof_interval_shard ON CLUSTER '{cluster}' AS ctprof_interval
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/ctprof_interval', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY (machine_id, time, group_by, kind)
TTL toDateTime(time) + INTERVAL 400 DAY;

CREATE TABLE ctprof_change_shard ON CLUSTER '{cluster}' AS ctprof_change
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/ctprof_change', '{replica}')
PARTITION BY toYYYYMMDD(time)
ORDER BY (metric, group_name, host, time)
TTL time + INTERVAL 90 DAY
SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000;

CREATE TABLE ctprof_interval_all ON CLUSTER '{cluster}' AS ctprof_interval_shard
ENGINE = Distributed('{cluster}', currentDatabase(), ctprof_interval_shard, cityHash64(machine_id));

CREATE TABLE ctprof_change_all ON CLUSTER '{cluster}' AS ctprof_change_shard
ENGINE = Distributed('{cluster}', currentDatabase(), ctprof_change_shard, cityHash64(machine_id));

EXCHANGE TABLES ctprof_interval AND ctprof_interval_all ON CLUSTER '{cluster}';
EXCHANGE TABLES ctprof_change AND ctprof_change_all ON CLUSTER '{cluster}';
DROP TABLE ctprof_interval_all ON CLUSTER '{cluster}';
DROP TABLE ctprof_change_all ON CLUSTER '{cluster}';

-- Every node has all roles: the same table without a shard in its path. Questions join it where the rows are.
DROP TABLE ctprof_role ON CLUSTER '{cluster}';
CREATE TABLE ctprof_role ON CLUSTER '{cluster}' (machine_id String, role LowCardinality(String))
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/ctprof_role', '{replica}') ORDER BY machine_id;
