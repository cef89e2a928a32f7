/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TextFile
 *
 * Reads one small text file of a kernel file system, by a name below a directory descriptor, into
 * memory with a ceiling. A file is read whole or not at all: what arrives is never a silent prefix.
 * It has no NUL, which no text of the kernel has and JSON cannot carry: a file with one is
 * TEXT_E_MALFORMED. Nobody formats an absolute path, so a fixture tree is as good as the kernel's.
 */

#include <stddef.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "snapshot/source.h"

/* The outcomes of everything on this floor and of the readers above it. */
enum {
        TEXT_OK,
        TEXT_E_ABSENT,      /* ENOENT, ENOTDIR: no such file, or its owner went: the caller knows */
        TEXT_E_VANISHED,    /* ESRCH, ENODEV: the thread, process or cgroup behind it is gone */
        TEXT_E_DENIED,      /* EACCES, EPERM */
        TEXT_E_UNSUPPORTED, /* EOPNOTSUPP, ENOSYS, ENODATA: the file is there, the feature is not */
        TEXT_E_TOO_LARGE,   /* it does not fit */
        TEXT_E_MALFORMED,   /* read, but not in its grammar */
};

/*
 * Reads @name below @dir_fd: one open, read and close. A second read follows only when the first
 * filled the buffer. A short read is taken for the end, which holds for files that the kernel makes
 * of one record (stat, sched, status, io, cgroup, pressure, all cgroup v2 and sysfs values), and
 * not for those it makes of many (cpuinfo, mountinfo): those want text_file_read_all().
 *
 * *ret_n is set on 0 only. TEXT_E_TOO_LARGE when the file has more than @size bytes.
 */
_must_check_ int text_file_read(int dir_fd, const char *name, char *buffer, size_t size,
                                size_t *ret_n);

/*
 * The beginning of a file, at most @size bytes and one read, of those whose rest is not wanted and
 * costly to make (cpuinfo asks every CPU). The only reading that may end within a line.
 */
_must_check_ int text_file_read_start(int dir_fd, const char *name, char *buffer, size_t size,
                                      size_t *ret_n);

/* Reads to the end, however many reads that takes, and appends; past the buffer's ceiling
 * TEXT_E_TOO_LARGE. @buffer is as before unless 0 is returned. */
_must_check_ int text_file_read_all(int dir_fd, const char *name, Buffer *buffer);

/* Opens the directory @name below @dir_fd; codes as above. */
_must_check_ int text_file_open_directory(int dir_fd, const char *name, int *ret_fd);

/* The code for an errno (positive) of a call on such a file, or -@error when it has none. */
_must_check_ int text_file_code(int error);

/*
 * How a result counts in a source's state. TEXT_E_ABSENT counts as unsupported: a caller for whom
 * it means "vanished" or "not applicable" must say so first. Negative and too large count as other.
 */
SourceOutcome text_file_outcome(int r);
