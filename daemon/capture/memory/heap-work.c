/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/heap-work.h"

#include "base/cleanup.h"

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
        }
}

static void done(void *memory) {
        HeapWork *work = memory;

        for (size_t i = 0; i < work->n_files; i++)
                work->files[i].fd = fd_close(work->files[i].fd);
}

const PatientWork heap_work = { .n_bytes = sizeof(HeapWork), .run = run, .done = done };
