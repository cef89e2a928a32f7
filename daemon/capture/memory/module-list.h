/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ModuleList
 *
 * The files that a process has mapped to execute code of them: its program and libraries. A module
 * is a run of mappings of one file, not interrupted by mappings of another file, of which at least
 * one is executable. Files that are only read are left out as the map goes by, so the list is
 * bounded however much a process has mapped.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/memory/heap-layout.h"
#include "kernel/memory/process-map.h"

#define MODULE_LIST_MAX 2048         /* modules */
#define MODULE_LIST_MAX_PIECES 16384 /* mappings of modules */
#define MODULE_LIST_PATH_BYTES (256 << 10)
/* Twice what vm.max_map_count allows by default. */
#define MODULE_LIST_MAX_LINES 131072
#define MODULE_LIST_READ_BYTES (64 << 10) /* holds the longest line */

typedef struct ModulePiece {
        uint64_t start, end, offset;
        bool is_executable;
} ModulePiece;

typedef struct Module {
        uint64_t dev, inode; /* as in ProcessMapping */
        uint32_t first, n;   /* its pieces */
        uint32_t path_at, n_path;
} Module;

typedef struct ModuleList {
        size_t n;
        size_t n_pieces;
        size_t n_path_bytes;
        bool has_run, run_is_executable; /* the run at hand is modules[n] */
        bool is_full;
        Module modules[MODULE_LIST_MAX];
        ModulePiece pieces[MODULE_LIST_MAX_PIECES];
        char paths[MODULE_LIST_PATH_BYTES];
        char text[MODULE_LIST_READ_BYTES];
} ModuleList;

/* from mappings, in their order */

void module_list_begin(ModuleList *list);
void module_list_add(ModuleList *list, const ProcessMapping *mapping);
/* TEXT_E_TOO_LARGE when not all modules fitted. */
_must_check_ int module_list_end(ModuleList *list);

/*
 * Reads the file "maps" of the thread whose directory @dir_fd is; it may wait for the lock of the
 * process's memory. TEXT_E_*, -errno. TEXT_E_VANISHED also when nothing is mapped.
 */
_must_check_ int module_list_read(ModuleList *list, int dir_fd);

/* modules */

/* The mapping that the module begins with; its path is borrowed, and empty where it is unknown. */
ProcessMapping module_list_mapping(const ModuleList *list, const Module *module);
/* Whether the last component of the path is @name. */
bool module_list_is_named(const ModuleList *list, const Module *module, const char *name);

/*
 * Where the module is: how far its addresses are from those of @layout, modulo 2^64. A program can
 * have several copies of a library (dlmopen(3)), so this continues at piece *@at, 0 at first. False
 * when there is no further copy. A copy has its first segment where the layout says, its code
 * behind that, and its thread-local image behind that.
 */
bool module_list_place(const ModuleList *list, const Module *module, const HeapLayout *layout,
                       uint64_t page_bytes, size_t *at, uint64_t *ret_bias);
