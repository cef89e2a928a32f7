/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/ledger-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

/* A file of another layout of rows has another number. */
#define LAYOUT ((uint32_t) (0xc7000000u + sizeof(LedgerFileRow)))
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define PIECE_BYTES (64u * 1024u)
#define MAX_PATH_BYTES ((uint64_t) LEDGER_FILE_MAX_ROWS * 2048)

/* reading */

LedgerFile *ledger_file_free(LedgerFile *file) {
        if (!file)
                return NULL;
        if (file->memory)
                (void) munmap(file->memory, file->n_bytes);
        free(file);
        return NULL;
}

int ledger_file_open(int fd, LedgerFile **ret) {
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        const LedgerFileHead *head;
        void *memory;
        int seals = fcntl(fd, F_GET_SEALS);
        off_t n_bytes;

        if (seals < 0 || (seals & SEALS) != SEALS)
                return -EBADMSG;
        /* Not fstat(2), for which a job without files has no call. */
        n_bytes = lseek(fd, 0, SEEK_END);
        if (n_bytes < (off_t) sizeof(LedgerFileHead))
                return -EBADMSG;
        file = calloc(1, sizeof(*file));
        if (!file)
                return -ENOMEM;
        file->n_bytes = (size_t) n_bytes;
        memory = mmap(NULL, file->n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        file->memory = memory;
        file->head = memory;
        file->rows = (const void *) ((const char *) memory + sizeof(*file->head));
        head = file->head;
        if (head->layout != LAYOUT || head->n_rows > LEDGER_FILE_MAX_ROWS ||
            head->n_path_bytes > MAX_PATH_BYTES ||
            file->n_bytes !=
                    sizeof(*head) + head->n_rows * sizeof(LedgerFileRow) + head->n_path_bytes)
                return -EBADMSG;
        for (size_t i = 0; i < head->n_rows; i++)
                if (file->rows[i].path_at > head->n_path_bytes ||
                    file->rows[i].n_path > head->n_path_bytes - file->rows[i].path_at)
                        return -EBADMSG;
        file->paths = (const char *) (file->rows + head->n_rows);
        *ret = TAKE_PTR(file);
        return 0;
}

Span ledger_file_path(const LedgerFile *file, size_t index) {
        return (Span){ file->paths + file->rows[index].path_at, (size_t) file->rows[index].n_path };
}

/* writing */

static int flush(int fd, Buffer *piece) {
        int r = file_write(fd, piece->bytes, piece->n);

        buffer_clear(piece);
        return r;
}

static int write_rows(int fd, const LedgerRow *rows, size_t n, LedgerPathOf path_of, void *userdata,
                      Buffer *paths) {
        _cleanup_(buffer_done) Buffer piece = {};
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                size_t path_at = paths->n;

                if (path_of && rows[i].key.cgroup != 0)
                        r = path_of(userdata, rows[i].key.cgroup, paths);
                if (r == -ENOENT || (r == 0 && paths->n > MAX_PATH_BYTES)) {
                        buffer_truncate(paths, path_at);
                        r = 0;
                }
                if (r == 0)
                        r = buffer_append(&piece,
                                          &(LedgerFileRow){ rows[i], path_at, paths->n - path_at },
                                          sizeof(LedgerFileRow));
                if (r == 0 && piece.n >= PIECE_BYTES)
                        r = flush(fd, &piece);
        }
        return r == 0 ? flush(fd, &piece) : r;
}

int ledger_file_write(const LedgerFileHead *head, const LedgerRow *rows, size_t n,
                      LedgerPathOf path_of, void *userdata, int *ret) {
        _cleanup_(fd_closep) int fd = -EBADF;
        _cleanup_(buffer_done) Buffer paths = {};
        LedgerFileHead written = *head;
        int r;

        if (n > LEDGER_FILE_MAX_ROWS)
                return -EINVAL;
        fd = memfd_create("ctprof-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || lseek(fd, sizeof(written), SEEK_SET) < 0)
                return -errno;
        r = write_rows(fd, rows, n, path_of, userdata, &paths);
        if (r == 0)
                r = file_write(fd, paths.bytes, paths.n);
        if (r < 0)
                return r;
        written.layout = LAYOUT;
        written.n_rows = n;
        written.n_path_bytes = paths.n;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        r = file_write(fd, &written, sizeof(written));
        if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
                r = -errno;
        if (r == 0)
                *ret = TAKE_FD(fd);
        return r;
}
