/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of what looks into files for counters of allocators: captures say that they cannot. */
#include "capture/heap/file-job.h"
#include "capture/heap/memory-job.h"

#include <errno.h>

const bool heap_probe_is_built = false;

int heap_probe_new(MemoryJob *job, HeapProbe **ret) {
        *ret = NULL;
        return 0;
}

HeapProbe *heap_probe_free(HeapProbe *probe) {
        return NULL;
}

int heap_probe_answer(HeapProbe *probe, const HeapAsked *asked, HeapAnswered *ret) {
        return -EOPNOTSUPP;
}

HeapFailure heap_probe_try(HeapProbe *probe, const MemoryLife *life) {
        return HEAP_FAILURE_MEMORY_JOB;
}

void heap_probe_keep(HeapProbe *probe) {
}

int file_server_run(int socket_fd) {
        return -EOPNOTSUPP;
}
