/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * ModuleFile
 *
 * The file behind a mapping of somebody else's process, whatever its name is by now and whichever
 * mount namespace it is in: /proc/PID/map_files leads to it. Where that needs a capability that we
 * lack, the path is tried below the process's root, and taken only if it is the very file.
 */

#include <stdint.h>
#include "base/macro.h"
#include "file/file-question.h"
#include "kernel/memory/process-map.h"

enum {
        MODULE_FILE_OK,
        MODULE_FILE_E_GONE,    /* the process has ended, or the mapping is no more */
        MODULE_FILE_E_REFUSED, /* not permitted, not found, or not a regular file */
};

/* The longest of both ways to a file, with its NUL. */
#define MODULE_FILE_PATH_BYTES (PROCESS_MAP_PATH_BYTES + 64)

/*
 * Whether the file may be opened is decided by its type before, so that no device is touched, also
 * when its path leads elsewhere meanwhile. @dir_fd is the directory of a thread of the process.
 * These calls may wait for a file system that does not answer. 0, MODULE_FILE_E_*.
 */
_must_check_ int module_file_identify(int dir_fd, const ProcessMapping *mapping, FileIdentity *ret);
/* Opens it for reading if it is still @identity. */
_must_check_ int module_file_open(int dir_fd, const ProcessMapping *mapping,
                                  const FileIdentity *identity, int *ret_fd);

/* The program that the process executes. */
_must_check_ int module_file_program(int dir_fd, FileIdentity *ret);
