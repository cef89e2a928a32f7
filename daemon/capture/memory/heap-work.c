/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/heap-work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/procfs/procfs.h"

static void list(HeapWork *work) {
        work->list_result = module_list_read(&work->list, work->dir_fd);
        work->has_program =
                work->list_result == 0 && module_file_program(work->dir_fd, &work->program) == 0;
}

static void identify(HeapWork *work) {
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];
                const ProcessMapping mapping =
                        module_list_mapping(&work->list, &work->list.modules[file->module]);

                file->result = module_file_identify(work->dir_fd, &mapping, &file->identity);
        }
}

static void open_files(HeapWork *work) {
        for (size_t i = 0; i < work->n_files; i++) {
                ModuleFile *file = &work->files[i];
                const ProcessMapping mapping =
                        module_list_mapping(&work->list, &work->list.modules[file->module]);

                file->fd = -EBADF;
                file->result = module_file_open(work->dir_fd, &mapping, &file->identity, &file->fd);
        }
}

/*
 * The beginning of a file that has NULs. The kernel gives no arguments that lie in a mapping of a
 * file (since 4.18), so that a page of a strange file system is not waited for; but it takes the
 * lock of the memory.
 */
static int read_start(int dir_fd, const char *name, char *buffer, size_t size, size_t *ret_n) {
        _cleanup_(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, buffer, size);

        if (n < 0)
                return text_file_code(errno);
        *ret_n = (size_t) n;
        return 0;
}

/* A number may be another process's by now, which began at another time. */
static int check_life(const HeapWork *work, int dir_fd) {
        char path[64], text[2048];
        ProcStat stat;
        size_t n;
        int r;

        (void) snprintf(path, sizeof(path), "task/%u/stat", work->life.tgid);
        r = procfs_read(dir_fd, path, text, sizeof(text), &n);

        if (r == 0)
                r = proc_stat_parse((Span){ text, n }, &stat);
        if (r == 0 && work->life.start_ticks != 0 && stat.starttime != work->life.start_ticks)
                r = TEXT_E_VANISHED;
        return r;
}

static int read_arguments(HeapWork *work) {
        _cleanup_(fd_closep) int dir_fd = -EBADF;
        char path[64];
        int r;

        (void) snprintf(path, sizeof(path), "%u", work->life.tgid);
        dir_fd = openat(work->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return text_file_code(errno);
        /* A leader that has exited has no memory, its siblings have. */
        (void) snprintf(path, sizeof(path), "task/%u/cmdline", work->life.tid);
        r = read_start(dir_fd, path, work->arguments, sizeof(work->arguments), &work->n_arguments);
        return r == 0 ? check_life(work, dir_fd) : r;
}

static void run(void *memory) {
        HeapWork *work = memory;

        switch (work->kind) {
        case HEAP_WORK_LIST:
                list(work);
                break;
        case HEAP_WORK_IDENTIFY:
                identify(work);
                break;
        case HEAP_WORK_OPEN:
                open_files(work);
                break;
        case HEAP_WORK_WORDS:
                work->words_result = process_words_read(&work->counters.memory, work->tid,
                                                        work->ranges, work->n_ranges);
                break;
        case HEAP_WORK_COUNTERS:
                thread_counters_read(&work->counters);
                break;
        case HEAP_WORK_COMMAND:
                work->command_result = read_arguments(work);
                break;
        }
}

static void done(void *memory) {
        HeapWork *work = memory;

        for (size_t i = 0; i < work->n_files; i++)
                work->files[i].fd = fd_close(work->files[i].fd);
}

const PatientWork heap_work = { .n_bytes = sizeof(HeapWork), .run = run, .done = done };
