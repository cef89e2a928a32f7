/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of rows of the ledger of exits: 'r' is its bytes; anything else makes a file of rows
 * whose values can be anything, puts them together until they fit, and writes them. What was
 * written is read as it was, what was put together adds up, and all paths lie inside of the file.
 *
 * Aims at: daemon/kernel/bpf/ledger-file.c
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/bpf/ledger-file.h"

#define MAX_ROWS 64

static int raw_file(Span bytes) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        fuzz_expect(fd >= 0 && write(fd, bytes.bytes, bytes.n) == (ssize_t) bytes.n,
                    "there is memory");
        fuzz_expect(fcntl(fd, F_ADD_SEALS,
                          F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0,
                    "it can be sealed");
        return fd;
}

static void check_file(const LedgerFile *file) {
        for (size_t i = 0; i < file->head->n_rows; i++) {
                Span path = ledger_file_path(file, i);
                LedgerValues values = file->rows[i].row.values;

                for (size_t at = 0; at < path.n; at++)
                        values.exits += (unsigned char) path.bytes[at];
                ledger_values_add(&values, &file->rows[i].row.values);
        }
}

static size_t take_rows(FuzzInput *input, LedgerRow rows[static MAX_ROWS]) {
        size_t n = 0;

        for (; n < MAX_ROWS && input->n > 0; n++) {
                Span given = fuzz_take(input, sizeof(rows[n].key));

                memset(&rows[n], 0, sizeof(rows[n]));
                memcpy(&rows[n].key, given.bytes, given.n);
                rows[n].key.is_of_odd = rows[n].key.unused = 0;
                rows[n].key.owner %= 4;
                rows[n].key.flags &= LEDGER_OF_KERNEL | LEDGER_OF_SELF;
                rows[n].key.cgroup %= 4;
                rows[n].values.exits = 1 + fuzz_take_u8(input);
                rows[n].values.grew_ns = fuzz_take_u8(input);
        }
        return n;
}

static uint64_t count_exits(const LedgerRow *rows, size_t n) {
        uint64_t sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += rows[i].values.exits;
        return sum;
}

static int path_of(void *userdata, uint64_t cgroup, Buffer *path) {
        return cgroup % 3 == 0 ? -ENOENT : buffer_append_u64(path, cgroup);
}

static void check_made(FuzzInput *input) {
        static const LedgerFileHead head = { .origin = LEDGER_FROM_PROGRAMS };
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        static LedgerRow rows[MAX_ROWS];
        size_t max = 2 + fuzz_take_u8(input) % MAX_ROWS, n = take_rows(input, rows), n_before = n;
        const LedgerCoarsening how = { .max_rows = max, .idle_since_ns = fuzz_take_u8(input) };
        uint64_t exits = count_exits(rows, n);

        fuzz_expect(ledger_rows_coarsen(rows, &n, &how) == 0, "there is memory");
        fuzz_expect(n <= max && n <= n_before, "rows fit");
        fuzz_expect(count_exits(rows, n) == exits, "no thread is lost or there twice");
        fuzz_expect(ledger_file_write(&head, rows, n, path_of, NULL, &fd) == 0, "it is written");
        fuzz_expect(ledger_file_open(fd, &file) == 0, "it is read");
        fuzz_expect(file->head->n_rows == n, "all of it");
        for (size_t i = 0; i < n; i++)
                fuzz_expect(memcmp(&file->rows[i].row, &rows[i], sizeof(rows[i])) == 0,
                            "as it was");
        check_file(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        FuzzInput input = fuzz_input(data, size);
        int r;

        if (fuzz_take_u8(&input) != 'r') {
                check_made(&input);
                return 0;
        }
        fd = raw_file(fuzz_take_rest(&input));
        r = ledger_file_open(fd, &file);
        fuzz_expect(r == 0 || r == -EBADMSG, "it is such a file, or is not: %d", r);
        if (r == 0)
                check_file(file);
        return 0;
}
