/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf-layout FILE...: where each file keeps jemalloc's counters, and struct pthread its members, as
 * the daemon finds them; a line of "key=value" words for a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/heap/heap-layout.h"
#include "capture/heap/thread-counters.h"

static int show(const char *path) {
        static const char *const slots[_HEAP_SLOT_MAX] = { "none", "tpoff", "dtpmod", "tlsdesc" };
        _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        HeapLayout heap;
        ThreadLayout thread;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        r = heap_layout_find(fd, (uint64_t) st.st_size, &heap);
        if (r == 0)
                r = thread_layout_find(fd, (uint64_t) st.st_size, &thread);
        if (r != 0)
                return r;
        printf("file=%s verdict=%s", path,
               heap.verdict == HEAP_FAILURE_NONE   ? "ready"
               : heap.verdict == HEAP_NOT_JEMALLOC ? "not-jemalloc"
                                                   : heap_failures[heap.verdict].name);
        if (heap.verdict == HEAP_FAILURE_NONE) {
                printf(" machine=%" PRIu32 " fixed=%" PRIu32 " slot=%s slot_vaddr=%#" PRIx64
                       " slot_addend=%" PRId64,
                       heap.machine, heap.is_fixed, slots[heap.slot_kind], heap.slot_vaddr,
                       heap.slot_addend);
                printf(" first_vaddr=%#" PRIx64 " first_offset=%#" PRIx64 " tls_vaddr=%#" PRIx64
                       " tls_memsz=%" PRIu64 " tls_align=%" PRIu64,
                       heap.first_vaddr, heap.first_offset, heap.tls_vaddr, heap.tls_memsz,
                       heap.tls_align);
                printf(" tsd=%" PRId64 " allocated=%" PRIu64 " deallocated=%" PRIu64,
                       (int64_t) heap.tsd, heap.allocated, heap.deallocated);
        }
        if (thread.is_known)
                printf(" sizeof_pthread=%" PRIu32 " tid_offset=%" PRIu32 " robust_offset=%" PRIu32,
                       thread.sizeof_pthread, thread.tid_offset, thread.robust_offset);
        printf("\n");
        return 0;
}

int main(int argc, char **argv) {
        int status = argc > 1 ? 0 : 2;

        for (int i = 1; i < argc; i++) {
                int r = show(argv[i]);

                if (r != 0) {
                        fprintf(stderr, "elf-layout: %s: %s\n", argv[i], strerror(-r));
                        status = 1;
                }
        }
        return status;
}
