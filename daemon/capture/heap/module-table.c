/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/module-table.h"

#include <stdlib.h>

#include "base/array.h"

void module_table_done(ModuleTable *table) {
        free(table->items);
        index_done(&table->index);
        *table = (ModuleTable){ .items = NULL };
}

static Span key_of(const void *owner, size_t element) {
        const KnownModule *items = owner;

        return (Span){ (const char *) items[element].map, sizeof(items[element].map) };
}

const KnownModule *module_table_find(const ModuleTable *table, const Module *module) {
        const uint64_t map[2] = { module->dev, module->inode };
        size_t i = index_find(&table->index, (Span){ (const char *) map, sizeof(map) }, key_of,
                              table->items);

        return i == INDEX_NONE ? NULL : &table->items[i];
}

int module_table_add(ModuleTable *table, const Module *module, const FileIdentity *identity,
                     HeapFailure failure, const HeapLayout *layout) {
        KnownModule *added;
        int r = ARRAY_RESERVE(table->items, table->n_allocated, table->n + 1);

        if (r != 0)
                return r;
        added = &table->items[table->n];
        *added = (KnownModule){
                .map = { module->dev, module->inode },
                .identity = *identity,
                .failure = failure,
        };
        if (failure == HEAP_FAILURE_NONE)
                added->layout = *layout;
        r = index_add(&table->index, key_of(table->items, table->n), table->n);
        if (r == 0)
                table->n++;
        return r;
}
