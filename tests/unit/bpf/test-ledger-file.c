/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Files of rows of the ledger: what is written is read, and nothing else is. */

#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/bpf/ledger-file.h"

static LedgerRow make_row(const char *process, const char *thread, uint64_t cgroup) {
        LedgerRow row = { .key = { .cgroup = cgroup }, .values = { .exits = 1, .lives_ns = 10 } };

        memcpy(row.key.process, process, strlen(process));
        memcpy(row.key.thread, thread, strlen(thread));
        row.values.sums[LEDGER_run_time_ns] = 7;
        return row;
}

static int path_of(void *userdata, uint64_t cgroup, Buffer *path) {
        if (cgroup == 3)
                return -ENOENT;
        return buffer_append_format(path, "/slice-%u", (unsigned) cgroup);
}

static const LedgerFileHead head = {
        .origin = LEDGER_FROM_PROGRAMS,
        .id = { 1, 2, 3 },
        .since_ns = 5,
        .generation = UINT64_C(7) << 32 | 1,
        .n_losses = 2,
};

START_TEST(what_is_written_is_read) {
        const LedgerRow rows[] = { make_row("a", "a1", 1), make_row("b", "b", 3),
                                   make_row("kworker/u8:3-ev", "kworker/u8:3-ev", 0) };
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;
        Span path;

        ck_assert_int_eq(ledger_file_write(&head, rows, 3, path_of, NULL, &fd), 0);
        ck_assert_int_eq(ledger_file_open(fd, &file), 0);
        ck_assert_uint_eq(file->head->n_rows, 3);
        ck_assert_uint_eq(file->head->generation, head.generation);
        ck_assert_uint_eq(file->head->n_losses, 2);
        ck_assert_mem_eq(file->head->id, head.id, sizeof(head.id));
        for (size_t i = 0; i < 3; i++)
                ck_assert_mem_eq(&file->rows[i].row, &rows[i], sizeof(LedgerRow));
        path = ledger_file_path(file, 0);
        ck_assert(span_is(path, "/slice-1"));
        ck_assert_uint_eq(ledger_file_path(file, 1).n, 0);
        ck_assert_uint_eq(ledger_file_path(file, 2).n, 0);
        /* Nobody changes it any more. */
        ck_assert_int_eq(write(fd, "x", 1), -1);
        ck_assert_int_eq(ftruncate(fd, 10), -1);
}
END_TEST

/* Cut off anywhere, without seals, of another layout, or with rows that point outside. */
START_TEST(what_is_no_such_file_is_refused) {
        const LedgerRow rows[] = { make_row("a", "a1", 1), make_row("b", "b", 2) };
        _cleanup_(fd_closep) int fd = -EBADF;
        LedgerFile *file;
        char bytes[16384];
        ssize_t n;

        ck_assert_int_eq(ledger_file_write(&head, rows, 2, path_of, NULL, &fd), 0);
        n = pread(fd, bytes, sizeof(bytes), 0);
        ck_assert_int_gt(n, (ssize_t) (sizeof(head) + 2 * sizeof(LedgerRow)));
        for (ssize_t cut = 0; cut <= n; cut += cut < 200 || cut > n - 40 ? 1 : 37) {
                int copy = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

                ck_assert_int_eq(write(copy, bytes, (size_t) cut), cut);
                ck_assert_int_eq(ledger_file_open(copy, &file), -EBADMSG);
                ck_assert_int_eq(fcntl(copy, F_ADD_SEALS,
                                       F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
                                 0);
                if (cut < n)
                        ck_assert_int_eq(ledger_file_open(copy, &file), -EBADMSG);
                else
                        ck_assert_int_eq(ledger_file_open(copy, &file), 0);
                (void) close(copy);
        }
        file = ledger_file_free(file);
        for (size_t at = 0; at < sizeof(uint32_t) + sizeof(head); at++) {
                int copy = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
                char *byte = at < sizeof(uint32_t) ? &bytes[at] : &bytes[n - 1];

                *byte ^= (char) 0x81;
                ck_assert_int_eq(write(copy, bytes, (size_t) n), n);
                *byte ^= (char) 0x81;
                ck_assert_int_eq(fcntl(copy, F_ADD_SEALS,
                                       F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
                                 0);
                if (at < sizeof(uint32_t))
                        ck_assert_int_eq(ledger_file_open(copy, &file), -EBADMSG);
                (void) close(copy);
        }
        ck_assert_int_eq(ledger_file_open(0, &file), -EBADMSG);
}
END_TEST

START_TEST(a_file_is_bounded) {
        static LedgerRow rows[LEDGER_FILE_MAX_ROWS + 1];
        int fd = -EBADF;

        ck_assert_int_eq(ledger_file_write(&head, rows, ELEMENTSOF(rows), NULL, NULL, &fd),
                         -EINVAL);
        ck_assert_int_lt(fd, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("ledger-file");
        TCase *tcase = tcase_create("file");

        tcase_add_test(tcase, what_is_written_is_read);
        tcase_add_test(tcase, what_is_no_such_file_is_refused);
        tcase_add_test(tcase, a_file_is_bounded);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
