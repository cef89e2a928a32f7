/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BlockingFile
 *
 * Files of a thread that the kernel may keep us from reading for as long as their owner likes, read
 * on a blocking thread. smaps_rollup wants the mmap lock of the process, and stat (as Linux 6.18
 * has it) and the opening of smaps_rollup wait until an execve(2) of the process has come to an
 * end, which closes files of any file system there. An owner who was late twice is not asked again,
 * so the time that one owner can take from a capture is bounded.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "capture/batch/blocking-thread.h"

#define BLOCKING_FILE_LEAST_NS (100 * NSEC_PER_MSEC) /* how long everybody is waited for */
#define BLOCKING_FILE_MAX_LATE_OWNERS 16

/* Zeroed: nobody was late, and no thread was needed yet. */
typedef struct BlockingFile {
        BlockingThread *thread; /* owned */
        struct {
                uint32_t uid;
                unsigned n; /* how often */
        } late[BLOCKING_FILE_MAX_LATE_OWNERS];
        size_t n_late;
} BlockingFile;

/* The file that is read, and the owner who may keep us waiting for it. */
typedef struct BlockingQuestion {
        uint32_t owner;   /* uid of who answers for the process, as ThreadSlot has it */
        int dir_fd;       /* borrowed */
        const char *path; /* of a directory below dir_fd, which is opened first; or NULL */
        const char *name; /* of the file in the directory; a literal */
} BlockingQuestion;

/*
 * Reads the file as text_file_read() does and with its codes, and opens what @question has the path
 * of (O_PATH; *ret_fd is the caller's, and is only set then). *ret is borrowed until the next call.
 * -ETIMEDOUT when that took longer than @limit_ns, or this owner was late before. A thread that is
 * ready to run may lack a processor, which is no fault of the owner: it is given some times
 * BLOCKING_FILE_LEAST_NS besides, and not more, as a large smaps_rollup keeps it running, too.
 */
_must_check_ int blocking_file_read(BlockingFile *file, const BlockingQuestion *question,
                                    uint64_t limit_ns, int *ret_fd, Span *ret);
