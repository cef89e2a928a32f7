/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/process-words.h"

#include <errno.h>

ssize_t process_memory_read_kernel(void *userdata, pid_t pid, const struct iovec *local,
                                   const struct iovec *remote, size_t n) {
        ssize_t n_bytes = process_vm_readv(pid, local, n, remote, n, 0);

        return n_bytes < 0 ? -errno : n_bytes;
}

/* The ranges that go into one call. */
typedef struct WordBatch {
        struct iovec local[PROCESS_WORDS_BATCH], remote[PROCESS_WORDS_BATCH];
        WordRange *ranges[PROCESS_WORDS_BATCH];
        size_t n;
} WordBatch;

/* The range that stopped the kernel is skipped; what comes behind it is read by a further call. */
static int batch_read(const ProcessMemory *memory, pid_t pid, const WordBatch *batch) {
        size_t at = 0;

        while (at < batch->n) {
                ssize_t n_bytes = memory->read(memory->userdata, pid, batch->local + at,
                                               batch->remote + at, batch->n - at);

                if (n_bytes < 0 && n_bytes != -EFAULT)
                        return text_file_code((int) -n_bytes);
                while (at < batch->n && n_bytes >= (ssize_t) batch->local[at].iov_len) {
                        n_bytes -= (ssize_t) batch->local[at].iov_len;
                        batch->ranges[at++]->is_read = true;
                }
                at++;
        }
        return 0;
}

int process_words_read(const ProcessMemory *memory, pid_t pid, WordRange *ranges, size_t n) {
        WordBatch batch = { .n = 0 };
        int r = 0;

        for (size_t i = 0; i < n; i++)
                ranges[i].is_read = false;
        for (size_t i = 0; i < n && r == 0; i++) {
                WordRange *range = &ranges[i];
                size_t n_bytes = 8 * (size_t) range->n;

                if (range->n > 0 && range->address != 0 && range->address % 8 == 0 &&
                    range->address <= UINT64_MAX - n_bytes) {
                        batch.ranges[batch.n] = range;
                        batch.local[batch.n] = (struct iovec){ range->words, n_bytes };
                        batch.remote[batch.n++] =
                                (struct iovec){ (void *) (uintptr_t) range->address, n_bytes };
                }
                if (batch.n == PROCESS_WORDS_BATCH || i + 1 == n) {
                        r = batch_read(memory, pid, &batch);
                        batch.n = 0;
                }
        }
        return r;
}
