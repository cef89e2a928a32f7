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

#define PART_ROW(id, member_, item_, columns_, n)        \
        [HOST_PART_##id] = { .member = member_,          \
                             .item = item_,              \
                             .source = SOURCE_HOST_##id, \
                             .columns = columns_,        \
                             .n_columns = n },
const HostPartInfo host_parts[_HOST_PART_MAX] = { HOST_PARTS(PART_ROW) };

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
