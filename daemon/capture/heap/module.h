/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Module
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
#include "base/span.h"
#include "capture/heap/heap-cache.h"
#include "capture/heap/heap-layout.h"
#include "kernel/procfs/process-map.h"

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

/* The mapping that the module begins with; its path is borrowed, and empty where it is unknown. */
ProcessMapping module_list_mapping(const ModuleList *list, const Module *module);
/* True when the last component of the path is @name. */
bool module_list_is_named(const ModuleList *list, const Module *module, const char *name);

/*
 * Finds how far the module's addresses are from those of @layout, modulo 2^64. A program can
 * have several copies of a library (dlmopen(3)), so this continues at piece *@at, 0 at first. False
 * when there is no further copy. A copy has its first segment where the layout says, its code
 * behind that, and its thread-local image behind that.
 */
bool module_list_place(const ModuleList *list, const Module *module, const HeapLayout *layout,
                       uint64_t page_bytes, size_t *at, uint64_t *ret_bias);

/*
 * files
 *
 * The file behind a mapping of somebody else's process, whatever its name is by now and whichever
 * mount namespace it is in: /proc/PID/map_files leads to it. Where that needs a capability that we
 * lack, the path is tried below the process's root, and taken only if it is the very file.
 *
 * Its type decides before it is opened whether it may be, so that no device is touched, also when
 * its path leads elsewhere meanwhile. @dir_fd is the directory of a thread of the process. These
 * calls may wait for a file system that does not answer. 0, MODULE_FILE_E_*.
 */

enum {
        MODULE_FILE_OK,
        MODULE_FILE_E_GONE,    /* the process has ended, or the mapping is no more */
        MODULE_FILE_E_REFUSED, /* not permitted, not found, or not a regular file */
};

/* The longest of both ways to a file, with its NUL. */
#define MODULE_FILE_PATH_BYTES (PROCESS_MAP_PATH_BYTES + 64)

/* Finds the way that leads to the file, for @path, and what is there. */
_must_check_ int module_file_find(int dir_fd, const ProcessMapping *mapping,
                                  char path[static MODULE_FILE_PATH_BYTES], FileIdentity *ret);
/* Opens it for reading if it is still @identity. */
_must_check_ int module_file_open(int dir_fd, const ProcessMapping *mapping,
                                  const FileIdentity *identity, int *ret_fd);
/* The program that the process executes. */
_must_check_ int module_file_program(int dir_fd, FileIdentity *ret);
