/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-server.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "file/file-question.h"
#include "job/sandbox/sandbox.h"
#include "kernel/memory/elf-file.h"
#include "room/room-server.h"

static int read_file(void *userdata, uint64_t offset, void *ret, size_t n) {
        const int *fd = userdata;
        size_t n_read;
        int r;

        if (offset > INT64_MAX - n)
                return BYTES_E_SHORT;
        r = file_read_at(*fd, ret, n, offset, &n_read);
        return r == 0 && n_read < n ? BYTES_E_SHORT : r;
}

#define FILE_FINDER(id, type, find)                                     \
        static int find_##id(const ByteSource *file, FileAnswer *ret) { \
                return find(file, &ret->id);                            \
        }
FILE_QUESTIONS(FILE_FINDER)

static int (*const finders[_FILE_QUESTION_MAX])(const ByteSource *file, FileAnswer *ret) = {
#define FILE_FINDER_ROW(id, ...) [FILE_QUESTION_##id] = find_##id,
        FILE_QUESTIONS(FILE_FINDER_ROW)
#undef FILE_FINDER_ROW
};

static int answer(void *userdata, const RoomCall *call, void *ret, size_t *ret_n) {
        int fd = call->n_fds == 1 ? call->fds[0] : -EBADF;
        ByteSource file = { .read = read_file, .userdata = &fd };
        struct stat status;
        int r;

        if (call->n_fds != 1)
                return -EINVAL;
        if (call->question >= _FILE_QUESTION_MAX)
                return -EOPNOTSUPP;
        r = sandbox_fstat(fd, &status);
        if (r < 0)
                return r;
        if (!S_ISREG(status.st_mode))
                return -EBADF;
        file.size = (uint64_t) status.st_size;
        *ret_n = file_answer_bytes(call->question);
        return err_fold(finders[call->question](&file, ret));
}

int file_server_run(int socket_fd) {
        const RoomService service = {
                .max_answer_bytes = sizeof(FileAnswer),
                .max_fds = 2, /* one more than there should be, to see that there are too many */
                .answer = answer,
        };

        return room_serve(socket_fd, &service);
}
