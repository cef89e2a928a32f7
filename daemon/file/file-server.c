/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-server.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/err.h"
#include "file/file-question.h"
#include "job/sandbox/sandbox.h"
#include "room/room-server.h"

static int find(uint32_t question, int fd, uint64_t size, FileAnswer *ret) {
#define FILE_FINDER_CASE(id, type, finder) \
        case FILE_QUESTION_##id:           \
                return finder(fd, size, &ret->id);
        switch ((FileQuestion) question) {
                FILE_QUESTIONS(FILE_FINDER_CASE)
        case _FILE_QUESTION_MAX:
                break;
        }
        return -EOPNOTSUPP;
}

static int answer(void *userdata, const RoomCall *call, void *ret, size_t *ret_n) {
        int fd = call->n_fds == 1 ? call->fds[0] : -EBADF;
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
        *ret_n = file_answer_bytes(call->question);
        return err_fold(find(call->question, fd, (uint64_t) status.st_size, ret));
}

int file_server_run(int socket_fd) {
        const RoomService service = {
                .max_answer_bytes = sizeof(FileAnswer),
                .max_fds = 2, /* one more than there should be, to see that there are too many */
                .answer = answer,
        };

        return room_serve(socket_fd, &service);
}
