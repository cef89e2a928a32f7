/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessFile
 *
 * Opens what tells the names of a process's functions, as that process sees its files. Paths are
 * those of strangers, and are looked up with the privileges of the job that records: what is there
 * is opened only once it is known to be a regular file, so that no device and no pipe is, and
 * nothing is read here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "kernel/procfs/process-map.h"
#include "record/program/module.h"

/* The device that was asked about last: mostly the files of a process are all on one. */
typedef struct ProcessDevice {
        uint64_t dev;
        bool is_known, is_of_program;
        uint64_t of_memory; /* process_file_find_memory() */
} ProcessDevice;
#define PROCESS_FILE_PATH_BYTES PROCESS_MAP_PATH_BYTES

/*
 * The device of files in memory (memfd_create(2), shared memory), which nobody mounts; 0: it is not
 * known. It makes such a file.
 */
uint64_t process_file_find_memory(void);
/*
 * The very file that is mapped, also where it was deleted or replaced; negative: it cannot be, or
 * is of a file system that a program answers for (FUSE), which is left alone. @last: one with
 * of_memory alone for the first of some files of a process that are opened one after the other.
 */
int process_file_open_mapped(uint32_t tgid, const ProcessMapping *mapping, ProcessDevice *last);

/* /proc/PID/maps, as much of it as there is room for. 0 or -errno. */
_must_check_ int process_file_read_maps(uint32_t tgid, char *space, size_t n_space, size_t *ret_n);

/* The root directory of the process, only to look below it; negative: it has ended. */
int process_file_open_root(uint32_t tgid);

/*
 * Files that may have the symbols which were taken out of the file at @mapping: by its build id,
 * and by the name in it, beside it, in .debug/ there and below /usr/lib/debug; through the @root of
 * the process without links, and the one by build id else through our own, where packages for the
 * whole host are. @name is not trusted: each file is called .debug, and everybody may read it. The
 * caller closes them. Returns how many.
 */
size_t process_file_open_debug(int root, const ProcessMapping *mapping, const DebugFileName *name,
                               int ret[static DEBUG_FILES_MAX]);

/*
 * Returns true if the process still executes the program that it executed when its stack began at
 * @start_stack; the stack of another program begins elsewhere. Returns false if the process has
 * ended.
 */
bool process_file_is_of_image(uint32_t tgid, uint64_t start_stack);

/*
 * The map that a compiler at run time writes for perf(1): /tmp/perf-PID.map, with the number that
 * the process has in its own namespace. It has to be of the user that the process runs as, as
 * anybody may write to /tmp. Negative: there is none.
 */
int process_file_open_jit_map(int root, uint32_t tgid);

/*
 * The path of what @descriptor of the process stands for, if that still is the file with @inode,
 * as the kernel tells it: neither is opened, so that no file system is asked. Not of one that has
 * no path, as a pipe. Returns how long it is; 0: it is not known.
 */
size_t process_file_read_path(uint32_t tgid, uint32_t descriptor, uint64_t inode,
                              char ret[static PROCESS_FILE_PATH_BYTES]);
