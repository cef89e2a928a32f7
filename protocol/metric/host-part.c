/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metric/host-part.h"

#include "base/macro.h"

#define COLUMN_ROW(id, name, shown, unit, rule) { name, shown, HOST_UNIT_##unit, HOST_RULE_##rule },
static const HostColumn cpu_columns[] = { HOST_CPU_COLUMNS(COLUMN_ROW) };
static const HostColumn disk_columns[] = { HOST_DISK_COLUMNS(COLUMN_ROW) };
static const HostColumn network_columns[] = { HOST_NETWORK_COLUMNS(COLUMN_ROW) };

_Static_assert(ELEMENTSOF(cpu_columns) <= HOST_MAX_COLUMNS &&
                       ELEMENTSOF(disk_columns) <= HOST_MAX_COLUMNS &&
                       ELEMENTSOF(network_columns) <= HOST_MAX_COLUMNS,
               "an item has room for all columns");

/* Steal is not use, and guests are part of user and nice. */
static const unsigned char cpu_use[] = { HOST_CPU_USER, HOST_CPU_NICE, HOST_CPU_SYSTEM,
                                         HOST_CPU_IRQ, HOST_CPU_SOFTIRQ };
static const unsigned char disk_use[] = { HOST_DISK_READ_SECTORS, HOST_DISK_WRITTEN_SECTORS };
static const unsigned char network_use[] = { HOST_NETWORK_RX_BYTES, HOST_NETWORK_TX_BYTES };

#define PART_ROW(id, name, item_, one, many, not_there, columns_, n, ranks_, n_ranks_, ...) \
        [HOST_PART_##id] = { .member = "host_" name,                                        \
                             .item = item_,                                                 \
                             .source = SOURCE_HOST_##id,                                    \
                             .columns = columns_,                                           \
                             .n_columns = n,                                                \
                             .ranks = ranks_,                                               \
                             .n_ranks = n_ranks_ },
const HostPartInfo host_parts[_HOST_PART_MAX] = { HOST_PARTS(PART_ROW, ) };

#define GROUP_ROW(id, member, unit, rule) { member, HOST_UNIT_##unit, HOST_RULE_##rule },
const HostGroupInfo host_groups[_HOST_GROUP_MAX] = { HOST_GROUPS(GROUP_ROW) };

#define KIND_ROW(id, name, is_whole) { name, is_whole },
const HostKindInfo host_kinds[_HOST_KIND_MAX] = { HOST_KINDS(KIND_ROW) };

HostKind host_kind_find(Span name) {
        for (unsigned kind = HOST_KIND_UNKNOWN + 1; kind < _HOST_KIND_MAX; kind++)
                if (span_is(name, host_kinds[kind].name))
                        return (HostKind) kind;
        return HOST_KIND_UNKNOWN;
}
