/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-room.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/macro.h"

#define ERRNO_MAX 4095

typedef struct RoomAnswer {
        FileAnswered head;
        FileAnswer bytes;
} RoomAnswer;

#define ROOM_HEAD_BYTES offsetof(RoomAnswer, bytes)

struct FileRoom {
        pthread_mutex_t lock; /* of everything below; held while a question is on its way */
        int (*open)(void *userdata, int peer_fd);
        void *userdata;
        /*
         * Threads that ask may have descriptor tables of their own, and all but one of them were
         * made before our end of the pair. So that end lies in the queue of a second pair, which is
         * there from the beginning, and whoever asks takes a duplicate of it. While it lay open in
         * some table nobody would see that the other side has gone.
         */
        int shelf[2]; /* owned; our end is in the queue of the first one when is_open */
        bool is_open;
        int fd; /* owned by the thread that asks, during one question */
        bool is_gone;
        FileAsked asked; /* the last one, and its tag */
        FileTag tag;
        bool is_owed; /* its answer has not come */
        /* An answer that came after its deadline, and what it is to. */
        bool has_late;
        FileQuestion late_question;
        FileTag late_tag;
        RoomAnswer late;
};

/* life */

int file_room_new(int (*open)(void *userdata, int peer_fd), void *userdata, FileRoom **ret) {
        FileRoom *room = malloc(sizeof(*room));
        int r;

        if (!room)
                return -ENOMEM;
        *room = (FileRoom){
                .open = open,
                .userdata = userdata,
                .shelf = { -EBADF, -EBADF },
                .fd = -EBADF,
        };
        r = pthread_mutex_init(&room->lock, NULL);
        if (r != 0) {
                free(room);
                return -r;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, room->shelf) < 0)
                room->is_gone = true;
        *ret = room;
        return 0;
}

/*
 * Gives the calling thread our end of the pair: a duplicate with MSG_PEEK, the end itself without.
 * 0 or -errno.
 */
static int take_end(FileRoom *room, int flags) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control;
        char byte;
        struct iovec piece = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &piece,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        if (recvmsg(room->shelf[0], &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
                return -errno;
        if (message.msg_controllen < CMSG_LEN(sizeof(int)))
                return -EMFILE; /* the table has no room for it */
        memcpy(&room->fd, CMSG_DATA(&control.head), sizeof(room->fd));
        return 0;
}

static int leave(FileRoom *room) {
        room->is_gone = true;
        return FILE_ROOM_E_GONE;
}

FileRoom *file_room_free(FileRoom *room) {
        if (!room)
                return NULL;
        /* The other side is told now, whoever else has a copy of the shelf. */
        if (room->is_open && take_end(room, 0) == 0)
                room->fd = fd_close(room->fd);
        for (unsigned i = 0; i < ELEMENTSOF(room->shelf); i++)
                room->shelf[i] = fd_close(room->shelf[i]);
        (void) pthread_mutex_destroy(&room->lock);
        free(room);
        return NULL;
}

/* time */

static struct timespec timespec_of(uint64_t ns) {
        return (struct timespec){ .tv_sec = (time_t) (ns / NSEC_PER_SEC),
                                  .tv_nsec = (long) (ns % NSEC_PER_SEC) };
}

static uint64_t now_mono_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

/* 0, also when a signal came; FILE_ROOM_E_LATE, -errno. */
static int await(const FileRoom *room, short events, uint64_t deadline_ns) {
        struct pollfd wait = { .fd = room->fd, .events = events };
        uint64_t now_ns = now_mono_ns();
        struct timespec left = timespec_of(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        int n = ppoll(&wait, 1, &left, NULL);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        return n == 0 ? FILE_ROOM_E_LATE : 0;
}

/* the conversation */

/* Sends @n bytes with a duplicate of @fd. 0 or -errno. */
static int send_with(int socket_fd, const void *bytes, size_t n, int fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        char copy[sizeof(FileAsked)];
        struct iovec piece = { copy, n };
        struct msghdr message = {
                .msg_iov = &piece,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        memcpy(copy, bytes, n);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        return sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int get_peer(FileRoom *room) {
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return leave(room);
        room->is_open = true;
        r = send_with(room->shelf[1], "", 1, pair[0]);
        (void) close(pair[0]);
        if (r < 0) {
                (void) close(pair[1]);
                return leave(room);
        }
        return room->open(room->userdata, pair[1]) == 0 ? 0 : leave(room);
}

static int send_question(FileRoom *room, int fd, uint64_t deadline_ns) {
        int r;

        for (;;) {
                r = send_with(room->fd, &room->asked, sizeof(room->asked), fd);
                if (r == 0)
                        return 0;
                if (r == -EPIPE || r == -ECONNRESET)
                        return leave(room);
                if (r != -EAGAIN && r != -EINTR)
                        return r;
                r = await(room, POLLOUT, deadline_ns);
                if (r != 0)
                        return r;
        }
}

/* Whether @answer, of which @n bytes came, is one to the last question. */
static bool is_answer(const FileRoom *room, const RoomAnswer *answer, size_t n) {
        size_t n_bytes = file_answer_bytes(room->asked.question);

        if (n < ROOM_HEAD_BYTES || answer->head.id != room->asked.id)
                return false;
        if (answer->head.result == 0)
                return n == ROOM_HEAD_BYTES + n_bytes;
        return n == ROOM_HEAD_BYTES && answer->head.result < 0 && answer->head.result >= -ERRNO_MAX;
}

/* Descriptors that come with an answer are closed by the kernel, because nobody asks for them. */
static int receive_answer(FileRoom *room, uint64_t deadline_ns, RoomAnswer *ret) {
        ssize_t n;
        int r;

        while ((n = recv(room->fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC)) < 0) {
                if (errno == ECONNRESET)
                        return leave(room);
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                r = await(room, POLLIN, deadline_ns);
                if (r != 0)
                        return r;
        }
        if (!is_answer(room, ret, (size_t) n))
                return leave(room);
        room->is_owed = false;
        return 0;
}

/* Waits for the answer that was late, when the one before has been taken. */
static int receive_late(FileRoom *room, uint64_t deadline_ns) {
        int r = receive_answer(room, deadline_ns, &room->late);

        if (r != 0)
                return r;
        room->has_late = true;
        room->late_question = (FileQuestion) room->asked.question;
        room->late_tag = room->tag;
        return 0;
}

static int ask(FileRoom *room, FileQuestion question, const FileTag *tag, int fd,
               uint64_t deadline_ns, RoomAnswer *ret) {
        int r = 0;

        if (room->is_gone)
                return FILE_ROOM_E_GONE;
        if (now_mono_ns() >= deadline_ns)
                return FILE_ROOM_E_LATE;
        if (!room->is_open)
                r = get_peer(room);
        if (r == 0)
                r = take_end(room, MSG_PEEK);
        /* There is room for one late answer, and somebody may still take the one that is there. */
        if (r == 0 && room->is_owed)
                r = room->has_late ? FILE_ROOM_E_LATE : receive_late(room, deadline_ns);
        if (r != 0)
                return r;
        room->asked = (FileAsked){ .id = room->asked.id + 1, .question = question };
        room->tag = *tag;
        r = send_question(room, fd, deadline_ns);
        if (r != 0)
                return r;
        room->is_owed = true;
        return receive_answer(room, deadline_ns, ret);
}

/* 0, FILE_ROOM_E_LATE, -errno. */
static int lock_until(FileRoom *room, uint64_t deadline_ns) {
        const struct timespec deadline = timespec_of(deadline_ns);
        int r = pthread_mutex_clocklock(&room->lock, CLOCK_MONOTONIC, &deadline);

        return r == ETIMEDOUT ? FILE_ROOM_E_LATE : -r;
}

/* A failure of our own is told apart from what the file job says, which is of the file. */
static int result_of(int r) {
        return r < 0 ? FILE_ROOM_E_UNABLE : r;
}

int file_room_ask(FileRoom *room, FileQuestion question, const FileTag *tag, int fd,
                  uint64_t deadline_ns, void *ret) {
        RoomAnswer answer;
        int r = lock_until(room, deadline_ns);

        if (r != 0)
                return result_of(r);
        r = ask(room, question, tag, fd, deadline_ns, &answer);
        room->fd = fd_close(room->fd);
        (void) pthread_mutex_unlock(&room->lock);
        if (r != 0)
                return result_of(r);
        if (answer.head.result == 0)
                memcpy(ret, &answer.bytes, file_answer_bytes(question));
        return answer.head.result;
}

static int take_late(FileRoom *room, uint64_t deadline_ns) {
        int r = 0;

        if (room->has_late)
                return 0;
        if (room->is_gone)
                return FILE_ROOM_E_GONE;
        if (!room->is_owed)
                return FILE_ROOM_E_LATE;
        r = take_end(room, MSG_PEEK);
        if (r == 0)
                r = receive_late(room, deadline_ns);
        room->fd = fd_close(room->fd);
        return r;
}

int file_room_take_late(FileRoom *room, uint64_t deadline_ns, FileTag *ret_tag,
                        FileQuestion *ret_question, FileAnswer *ret) {
        int r = lock_until(room, deadline_ns);

        if (r != 0)
                return result_of(r);
        r = result_of(take_late(room, deadline_ns));
        if (r == 0) {
                room->has_late = false;
                r = room->late.head.result;
        }
        if (r == 0) {
                *ret_tag = room->late_tag;
                *ret_question = room->late_question;
                *ret = room->late.bytes;
        }
        (void) pthread_mutex_unlock(&room->lock);
        return r;
}
