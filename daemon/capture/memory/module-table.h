/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ModuleTable
 *
 * What one worker knows of the files of modules. Most processes have the same libraries, so a file
 * is identified once a capture, and not once a process, where the device and number that maps tells
 * are those of the file alone. On btrfs they are not: maps has one device for all subvolumes, each
 * of which counts its files by itself. So what statx(2) names otherwise than maps is known in its
 * process only.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/index.h"
#include "base/macro.h"
#include "capture/heap/heap-failure.h"
#include "capture/memory/module-file.h"
#include "capture/memory/module-list.h"
#include "kernel/memory/heap-layout.h"

typedef struct ModuleKey {
        uint64_t words[2];
} ModuleKey;

typedef struct KnownModule {
        ModuleKey key;
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

/* For a table of all processes. */
ModuleKey module_key_of_map(const Module *module);
/* For a table of one process: the module's index in its list. */
ModuleKey module_key_of_index(size_t index);

void module_table_done(ModuleTable *table);
/* Empties it, and keeps its memory. */
void module_table_clear(ModuleTable *table);
/* NULL when it is not known; borrowed until the next one is added. */
const KnownModule *module_table_find(const ModuleTable *table, ModuleKey key);
/* One that module_table_find() does not find; @failure NONE for a @layout. -ENOMEM. */
_must_check_ int module_table_add(ModuleTable *table, ModuleKey key, const FileIdentity *identity,
                                  HeapFailure failure, const HeapLayout *layout);
