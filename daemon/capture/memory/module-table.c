/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/module-table.h"

#include <stdlib.h>

#include "base/array.h"

void module_table_done(ModuleTable *table) {
        free(table->items);
        index_done(&table->index);
        *table = (ModuleTable){ .items = NULL };
}

void module_table_clear(ModuleTable *table) {
        table->n = 0;
        index_clear(&table->index);
}

ModuleKey module_key_of_map(const Module *module) {
        return (ModuleKey){ { module->dev, module->inode } };
}

ModuleKey module_key_of_index(size_t index) {
        return (ModuleKey){ { index, 0 } };
}

static Span key_of(const void *owner, size_t element) {
        const KnownModule *items = owner;

        return (Span){ (const char *) &items[element].key, sizeof(items[element].key) };
}

const KnownModule *module_table_find(const ModuleTable *table, ModuleKey key) {
        size_t i = index_find(&table->index, (Span){ (const char *) &key, sizeof(key) }, key_of,
                              table->items);

        return i == INDEX_NONE ? NULL : &table->items[i];
}

int module_table_add(ModuleTable *table, ModuleKey key, const FileIdentity *identity,
                     HeapFailure failure, const HeapLayout *layout) {
        KnownModule *added;
        int r = ARRAY_RESERVE(table->items, table->n_allocated, table->n + 1);

        if (r != 0)
                return r;
        added = &table->items[table->n];
        *added = (KnownModule){
                .key = key,
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
