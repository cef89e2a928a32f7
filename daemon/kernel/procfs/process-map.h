/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ProcessMap
 *
 * /proc/PID/maps lists what is mapped into a process, in ascending order of addresses
 * (fs/proc/task_mmu.c, show_map_vma(); proc_pid_maps(5)). The lines of files and of executable
 * memory are handed out one by one, and any line can be found by an address. Memory that is of no
 * file has inode 0, and mostly no path. A path is the rest of the line, with newlines written as
 * "\012" and everything else as it is, so that it cannot forge a line; it may end in " (deleted)",
 * which can also be part of a name.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "kernel/text/cursor.h"
#include "kernel/text/text-file.h"

#define PROCESS_MAP_DELETED_SUFFIX " (deleted)"
#define PROCESS_MAP_PATH_BYTES 4096 /* PATH_MAX of the kernel, with the NUL */

typedef struct ProcessMapping {
        uint64_t start, end; /* addresses; start < end */
        uint64_t offset;     /* in the file, of what is at @start */
        bool is_executable;
        /*
         * The file, as the file system tells it to the kernel. statx(2) may tell another device
         * for the same file (btrfs).
         */
        uint64_t dev; /* as stat(2) encodes st_dev */
        uint64_t inode;
        Span path; /* as it is printed; borrowed from the text */
} ProcessMapping;

/*
 * Moves @cursor behind the next line that is such a mapping and returns it; TEXT_E_ABSENT when
 * no complete line is left, TEXT_E_MALFORMED for a line that is not in the grammar, which the
 * cursor then is behind of. *ret_n_lines grows by the lines that were consumed, of any kind.
 */
_must_check_ int process_map_next(Cursor *cursor, ProcessMapping *ret, uint64_t *ret_n_lines);

/*
 * Finds the mapping that @address is in, whether it is of a file or not. @text is searched from its
 * first line on. Returns TEXT_E_ABSENT if there is no such mapping, and TEXT_E_MALFORMED if a line
 * before it is not in the grammar.
 */
_must_check_ int process_map_find(Span text, uint64_t address, ProcessMapping *ret);

/*
 * The path with its newlines, and a NUL behind it. False when it does not fit, has no '/' at its
 * beginning or a NUL within, or ends in PROCESS_MAP_DELETED_SUFFIX: then there is no such path, as
 * far as is known.
 */
bool process_map_path(const ProcessMapping *mapping, char ret_path[static PROCESS_MAP_PATH_BYTES]);
