/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of what reads counters of allocators, in a build without: captures say so. */
#include "capture/heap/file-job.h"
#include "capture/heap/heap-probe.h"
#include "capture/heap/heap-reader.h"

#include <errno.h>

const bool heap_probe_is_built = false;

int heap_probe_new(MemoryJob *job, HeapProbe **ret) {
        *ret = NULL;
        return 0;
}

HeapProbe *heap_probe_free(HeapProbe *probe) {
        return NULL;
}

int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, size_t n_asked, HeapAnswered *ret,
                      size_t *ret_n) {
        return -EOPNOTSUPP;
}

HeapFailure heap_probe_try(HeapProbe *probe, const MemoryLife *life) {
        return HEAP_FAILURE_MEMORY_JOB;
}

void heap_probe_keep(HeapProbe *probe) {
}

int heap_reader_new(Heap *heap, Scene *scene, HeapSummary *summary, HeapReader **ret) {
        *ret = NULL;
        return 0;
}

void heap_reader_add(HeapReader *reader, const BatchProcess *process) {
}

void heap_reader_read(HeapReader *reader) {
}

int file_server_run(int socket_fd) {
        return -EOPNOTSUPP;
}
