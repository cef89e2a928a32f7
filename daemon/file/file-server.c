/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "file/file-question.h"
#include "job/sandbox/sandbox.h"
#include "kernel/memory/elf-file.h"

/* One more than there should be, to see that there are too many; the kernel drops the rest. */
#define SERVER_FDS_MAX 2

/* How a step ends besides a negative errno. */
enum {
        SERVER_GOES_ON,
        SERVER_ENDS, /* the other side is gone */
};

typedef struct Received {
        FileAsked asked;
        int fds[SERVER_FDS_MAX]; /* owned */
        size_t n_fds;
} Received;

static void received_done(Received *received) {
        while (received->n_fds > 0)
                (void) fd_close(received->fds[--received->n_fds]);
}

/* reading */

static void take_fds(struct msghdr *message, Received *received) {
        for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
             part = CMSG_NXTHDR(message, part)) {
                size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
                        continue;
                memcpy(received->fds, CMSG_DATA(part), n * sizeof(int));
                received->n_fds = n;
        }
}

static int receive(int socket_fd, Received *received) {
        union {
                char bytes[CMSG_SPACE(SERVER_FDS_MAX * sizeof(int))];
                struct cmsghdr alignment;
        } control;
        struct iovec bytes = { &received->asked, sizeof(received->asked) };
        struct msghdr message = {
                .msg_iov = &bytes,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        ssize_t n;

        do
                n = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == ECONNRESET ? SERVER_ENDS : -errno;
        take_fds(&message, received);
        if (n == 0)
                return SERVER_ENDS;
        if ((size_t) n != sizeof(received->asked) || message.msg_flags & MSG_TRUNC)
                return -EBADMSG;
        return SERVER_GOES_ON;
}

static int read_file(void *userdata, uint64_t offset, void *ret, size_t n) {
        const int *fd = userdata;
        char *to = ret;

        if (offset > INT64_MAX - n)
                return BYTES_E_SHORT;
        while (n > 0) {
                ssize_t k = pread(*fd, to, n, (off_t) offset);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return BYTES_E_SHORT;
                to += k;
                offset += (uint64_t) k;
                n -= (size_t) k;
        }
        return BYTES_OK;
}

/* answering */

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

static int find_answer(const Received *received, FileAnswer *ret) {
        int fd = received->fds[0];
        ByteSource file = { .read = read_file, .userdata = &fd };
        struct stat status;
        int r;

        if (received->n_fds != 1)
                return -EINVAL;
        if (received->asked.question >= _FILE_QUESTION_MAX)
                return -EOPNOTSUPP;
        r = sandbox_fstat(fd, &status);
        if (r < 0)
                return r;
        if (!S_ISREG(status.st_mode))
                return -EBADF;
        file.size = (uint64_t) status.st_size;
        return err_fold(finders[received->asked.question](&file, ret));
}

static int answer(int socket_fd, const Received *received) {
        struct {
                FileAnswered head;
                FileAnswer bytes;
        } message;
        size_t n_bytes = 0;
        ssize_t n;

        /* What is not set must not carry what was on the stack before. */
        memset(&message, 0, sizeof(message));
        message.head.id = received->asked.id;
        message.head.result = find_answer(received, &message.bytes);
        if (message.head.result == 0)
                n_bytes = file_answer_bytes(received->asked.question);
        do
                n = send(socket_fd, &message, offsetof(__typeof__(message), bytes) + n_bytes,
                         MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == EPIPE || errno == ECONNRESET ? SERVER_ENDS : -errno;
        return SERVER_GOES_ON;
}

int file_server_run(int socket_fd) {
        int r;

        do {
                _cleanup_(received_done) Received received = { .n_fds = 0 };

                r = receive(socket_fd, &received);
                if (r == SERVER_GOES_ON)
                        r = answer(socket_fd, &received);
        } while (r == SERVER_GOES_ON);
        return r == SERVER_ENDS ? 0 : r;
}
