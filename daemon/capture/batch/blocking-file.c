/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/blocking-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "kernel/procfs/procfs.h"

#define MAX_TIMES_LATE 2
/* How often a thread that is ready to run is waited for a while longer. */
#define MAX_STARVED 7

/* on the thread, which can be left behind */

typedef struct Reading {
        int dir_fd;  /* borrowed */
        bool has_fd; /* it was opened, and is owned until it is handed over */
        int fd;
        char path[64];
        const char *name;
        int result; /* of text_file_read() */
        size_t n;
        char text[PROCFS_BUFFER_BYTES];
} Reading;

static void read_file(void *memory) {
        Reading *reading = memory;
        int dir_fd = reading->dir_fd;

        if (reading->path[0] != '\0') {
                dir_fd = openat(dir_fd, reading->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (dir_fd < 0) {
                        reading->result = text_file_code(errno);
                        return;
                }
                reading->fd = dir_fd;
                reading->has_fd = true;
        }
        reading->result = text_file_read(dir_fd, reading->name, reading->text,
                                         sizeof(reading->text), &reading->n);
}

static void close_file(void *memory) {
        Reading *reading = memory;

        if (reading->has_fd)
                (void) fd_close(reading->fd);
        reading->has_fd = false;
}

static const BlockingWork blocking_work = {
        .n_bytes = sizeof(Reading),
        .run = read_file,
        .done = close_file,
};

/* reading */

int blocking_file_read(BlockingFile *file, const BlockingQuestion *question, uint64_t limit_ns,
                       int *ret_fd, Span *ret) {
        size_t owner = 0; /* of those who were late; n_late: this one was not */
        Reading *reading;
        int r = 0;

        while (owner < file->n_late && file->late[owner].uid != question->owner)
                owner++;
        if (owner == BLOCKING_FILE_MAX_LATE_OWNERS ||
            (owner < file->n_late && file->late[owner].n >= MAX_TIMES_LATE))
                return -ETIMEDOUT;
        if (!file->thread)
                r = blocking_thread_new(&blocking_work, &file->thread);
        if (r < 0)
                return r;
        reading = (void *) file->thread->memory;
        reading->dir_fd = question->dir_fd;
        reading->name = question->name;
        (void) snprintf(reading->path, sizeof(reading->path), "%s",
                        question->path ? question->path : "");
        r = blocking_thread_run(file->thread, limit_ns);
        for (unsigned i = 0; r == -ETIMEDOUT && i < MAX_STARVED; i++)
                r = blocking_thread_wait(file->thread, BLOCKING_FILE_LEAST_NS);
        if (r == -ETIMEDOUT) {
                if (owner == file->n_late)
                        file->late[file->n_late++].uid = question->owner;
                file->late[owner].n++;
                file->thread = blocking_thread_free(file->thread);
        }
        if (r < 0)
                return r;
        if (reading->has_fd && reading->result == 0) {
                *ret_fd = reading->fd;
                reading->has_fd = false;
        }
        close_file(reading);
        *ret = (Span){ reading->text, reading->n };
        return reading->result;
}
