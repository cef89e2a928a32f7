/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TextFile
 *
 * Reads one small text file of a kernel file system into memory with a ceiling. A file is read
 * whole or not at all, never silently cut. A file with a NUL is TEXT_E_MALFORMED: no text of the
 * kernel has one, and JSON cannot carry it. Names are relative to a directory descriptor, so a test
 * can use a tree of fixtures in place of the kernel's.
 */

#include <dirent.h>
#include <stddef.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "snapshot/source.h"

/* Outcomes of reading and parsing kernel text. */
enum {
        TEXT_OK,
        TEXT_E_ABSENT,   /* ENOENT, ENOTDIR: there is no such file, or its thread or cgroup went */
        TEXT_E_VANISHED, /* ESRCH, ENODEV: the thread, process or cgroup behind it vanished */
        TEXT_E_DENIED,   /* EACCES, EPERM */
        TEXT_E_UNSUPPORTED, /* EOPNOTSUPP, ENOSYS, ENODATA: the file is there, the feature is not */
        TEXT_E_TOO_LARGE,   /* it does not fit into the caller's memory */
        TEXT_E_MALFORMED,   /* read, but not in its grammar */
};

/*
 * Reads @name below @dir_fd: one open, read and close. A second read follows only when the first
 * filled the buffer. A short read counts as the end of the file. That is true of files that the
 * kernel prints as one record (stat, sched, status, io, cgroup, pressure, all cgroup v2 and sysfs
 * values). Files of many records (cpuinfo, mountinfo) must be read with text_file_read_all(), if
 * their beginning is not enough.
 *
 * *ret_n is set on 0, and on TEXT_E_TOO_LARGE, when the file has more than @size bytes: the first
 * ones are there, of which nobody has looked whether one is a NUL.
 */
_must_check_ int text_file_read(int dir_fd, const char *name, char *buffer, size_t size,
                                size_t *ret_n);

/*
 * Reads to the end, in as many reads as that takes, and appends. TEXT_E_TOO_LARGE past the buffer's
 * ceiling. @buffer is as before unless 0 is returned.
 */
_must_check_ int text_file_read_all(int dir_fd, const char *name, Buffer *buffer);

/* The names of the directory @name below @dir_fd; *ret is the caller's. Codes as above. */
_must_check_ int text_file_open_listing(int dir_fd, const char *name, DIR **ret);
static inline DIR *listing_close(DIR *dir) {
        if (dir)
                (void) closedir(dir);
        return NULL;
}
DEFINE_CLEANUP(DIR *, listing_close);

/* Opens the directory @name below @dir_fd; codes as above. */
_must_check_ int text_file_open_directory(int dir_fd, const char *name, int *ret_fd);

/* The outcome for an errno (positive) of a call on such a file; -@error when there is none. */
_must_check_ int text_file_code(int error);

/*
 * Tells how a result counts in a source's state. TEXT_E_ABSENT counts as unsupported; callers for
 * which it means "vanished" or "not applicable" check for it first. Negative codes and
 * TEXT_E_TOO_LARGE count as other.
 */
SourceOutcome text_file_outcome(int r);
