/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ModuleTable
 *
 * What one worker knows of the files of modules, by the device and number that maps tells: most
 * processes have the same libraries, so each file is identified once a capture, and not once a
 * process.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"
#include "capture/heap/heap-failure.h"
#include "capture/heap/module-file.h"
#include "capture/heap/module-list.h"
#include "kernel/memory/heap-layout.h"

typedef struct KnownModule {
        uint64_t map[2]; /* device and number, as in Module */
        FileIdentity identity;
        HeapFailure failure; /* NONE: the layout is there */
        HeapLayout layout;
} KnownModule;

/* Empty when zeroed. */
typedef struct ModuleTable {
        KnownModule *items; /* owned */
        size_t n, n_allocated;
        Index index;
} ModuleTable;

void module_table_done(ModuleTable *table);
/* NULL when it is not known; borrowed until the next one is added. */
const KnownModule *module_table_find(const ModuleTable *table, const Module *module);
/* One that module_table_find() does not find; @failure NONE for a @layout. -ENOMEM. */
_must_check_ int module_table_add(ModuleTable *table, const Module *module,
                                  const FileIdentity *identity, HeapFailure failure,
                                  const HeapLayout *layout);
