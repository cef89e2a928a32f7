/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "room/room.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

#define ERRNO_MAX 4095

typedef struct RoomAnswer {
        RoomAnswered head;
        size_t n; /* bytes behind it */
} RoomAnswer;

struct Room {
        pthread_mutex_t lock; /* of everything below; held while a question is on its way */
        RoomTerms terms;
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
        RoomAsked asked; /* the last one, and its tag */
        RoomTag tag;
        bool is_owed; /* its answer has not come */
        /* An answer that came after its deadline, and what it is to. */
        bool has_late;
        uint32_t late_question;
        RoomTag late_tag;
        RoomAnswer late;
        char bytes[]; /* of it: terms.max_answer_bytes */
};

/* life */

int room_new(const RoomTerms *terms, Room **ret) {
        Room *room = malloc(sizeof(*room) + terms->max_answer_bytes);
        int r;

        if (!room)
                return -ENOMEM;
        *room = (Room){
                .terms = *terms,
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
static int take_end(Room *room, int flags) {
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

static int leave(Room *room) {
        room->is_gone = true;
        return ROOM_E_GONE;
}

Room *room_free(Room *room) {
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

/* 0, also when a signal came; ROOM_E_LATE, -errno. */
static int await(const Room *room, short events, uint64_t deadline_ns) {
        struct pollfd wait = { .fd = room->fd, .events = events };
        uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
        struct timespec left = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        int n = ppoll(&wait, 1, &left, NULL);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        return n == 0 ? ROOM_E_LATE : 0;
}

/* the conversation */

/* Sends @head and @body in one message, and a duplicate of @fd unless it is negative. -errno. */
static int send_with(int socket_fd, Span head, Span body, int fd) {
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr head;
        } control = { .bytes = { 0 } };
        /* The kernel does not write to what it sends. */
        struct iovec pieces[] = { { (void *) (uintptr_t) head.bytes, head.n },
                                  { (void *) (uintptr_t) body.bytes, body.n } };
        struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };

        if (fd >= 0) {
                message.msg_control = &control;
                message.msg_controllen = sizeof(control);
                control.head.cmsg_level = SOL_SOCKET;
                control.head.cmsg_type = SCM_RIGHTS;
                control.head.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        }
        return sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int get_peer(Room *room) {
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return leave(room);
        room->is_open = true;
        r = send_with(room->shelf[1], SPAN_LITERAL("."), (Span){ NULL, 0 }, pair[0]);
        (void) close(pair[0]);
        if (r < 0) {
                (void) close(pair[1]);
                return leave(room);
        }
        return room->terms.open(room->terms.userdata, pair[1]) == 0 ? 0 : leave(room);
}

void room_begin(Room *room) {
        (void) pthread_mutex_lock(&room->lock);
        if (!room->is_gone && !room->is_open)
                (void) get_peer(room);
        (void) pthread_mutex_unlock(&room->lock);
}

/*
 * @bytes: room for the longest answer. Descriptors that come with one are closed by the kernel,
 * because nobody asks for them.
 */
static int receive_answer(Room *room, uint64_t deadline_ns, RoomAnswer *ret, void *bytes) {
        struct iovec pieces[] = { { &ret->head, sizeof(ret->head) },
                                  { bytes, room->terms.max_answer_bytes } };
        struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
        const RoomAnswered *head = &ret->head;
        bool is_sound;
        ssize_t n;
        int r;

        while ((n = recvmsg(room->fd, &message, MSG_DONTWAIT | MSG_TRUNC)) < 0) {
                if (errno == ECONNRESET)
                        return leave(room);
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                r = await(room, POLLIN, deadline_ns);
                if (r != 0)
                        return r;
        }
        if ((size_t) n < sizeof(*head) || head->id != room->asked.id)
                return leave(room);
        ret->n = (size_t) n - sizeof(*head);
        if (head->result == 0)
                is_sound = ret->n <= room->terms.max_answer_bytes &&
                           room->terms.fits(room->asked.question, ret->n);
        else
                is_sound = ret->n == 0 && head->result < 0 && head->result >= -ERRNO_MAX;
        if (!is_sound)
                return leave(room);
        room->is_owed = false;
        return 0;
}

/* Waits for the answer that was late, when the one before has been taken. */
static int receive_late(Room *room, uint64_t deadline_ns) {
        int r = receive_answer(room, deadline_ns, &room->late, room->bytes);

        if (r != 0)
                return r;
        room->has_late = true;
        room->late_question = room->asked.question;
        room->late_tag = room->tag;
        return 0;
}

static int ask(Room *room, const RoomQuestion *question, uint64_t deadline_ns, RoomAnswer *ret,
               void *bytes) {
        const Span head = { (const char *) &room->asked, sizeof(room->asked) };
        int r = 0;

        if (room->is_gone)
                return ROOM_E_GONE;
        if (clock_now_ns(CLOCK_MONOTONIC) >= deadline_ns)
                return ROOM_E_LATE;
        if (!room->is_open)
                r = get_peer(room);
        if (r == 0)
                r = take_end(room, MSG_PEEK);
        /* There is room for one late answer, and somebody may still take the one that is there. */
        if (r == 0 && room->is_owed)
                r = room->has_late ? ROOM_E_LATE : receive_late(room, deadline_ns);
        if (r != 0)
                return r;
        room->asked = (RoomAsked){ .id = room->asked.id + 1, .question = question->question };
        room->tag = question->tag;
        for (;;) {
                r = send_with(room->fd, head, question->body, question->fd);
                if (r == 0)
                        break;
                if (r == -EPIPE || r == -ECONNRESET)
                        return leave(room);
                if (r != -EAGAIN && r != -EINTR)
                        return r;
                r = await(room, POLLOUT, deadline_ns);
                if (r != 0)
                        return r;
        }
        room->is_owed = true;
        return receive_answer(room, deadline_ns, ret, bytes);
}

/* 0, ROOM_E_LATE, ROOM_E_UNABLE. */
static int lock_until(Room *room, uint64_t deadline_ns) {
        const struct timespec deadline = clock_timespec(deadline_ns);
        int r = pthread_mutex_clocklock(&room->lock, CLOCK_MONOTONIC, &deadline);

        if (r == 0)
                return 0;
        return r == ETIMEDOUT ? ROOM_E_LATE : ROOM_E_UNABLE;
}

int room_ask(Room *room, const RoomQuestion *question, uint64_t deadline_ns, void *ret,
             size_t *ret_n) {
        RoomAnswer answer;
        int r = lock_until(room, deadline_ns);

        if (r != 0)
                return r;
        r = ask(room, question, deadline_ns, &answer, ret);
        room->fd = fd_close(room->fd);
        (void) pthread_mutex_unlock(&room->lock);
        /* A failure of our own is told apart from what the other side says. */
        if (r != 0)
                return r < 0 ? ROOM_E_UNABLE : r;
        *ret_n = answer.n;
        return answer.head.result;
}

int room_take_late(Room *room, uint64_t deadline_ns, RoomTag *ret_tag, uint32_t *ret_question,
                   void *ret, size_t *ret_n) {
        int r = lock_until(room, deadline_ns);

        if (r != 0)
                return r;
        if (!room->has_late && room->is_gone) {
                r = ROOM_E_GONE;
        } else if (!room->has_late && !room->is_owed) {
                r = ROOM_E_LATE;
        } else if (!room->has_late) {
                r = take_end(room, MSG_PEEK);
                if (r == 0)
                        r = receive_late(room, deadline_ns);
                room->fd = fd_close(room->fd);
                r = r < 0 ? ROOM_E_UNABLE : r;
        }
        if (r == 0) {
                room->has_late = false;
                r = room->late.head.result;
        }
        if (r == 0) {
                *ret_tag = room->late_tag;
                *ret_question = room->late_question;
                memcpy(ret, room->bytes, room->late.n);
                *ret_n = room->late.n;
        }
        (void) pthread_mutex_unlock(&room->lock);
        return r;
}

/* the side that answers */

int room_serve(int socket_fd, const RoomService *service) {
        _cleanup_(freep) char *body = malloc(MAX_OF(service->max_body_bytes, (size_t) 1));
        _cleanup_(freep) char *answer = malloc(MAX_OF(service->max_answer_bytes, (size_t) 1));
        union {
                char bytes[CMSG_SPACE(ROOM_SERVER_MAX_FDS * sizeof(int))];
                struct cmsghdr alignment;
        } control;
        int fds[ROOM_SERVER_MAX_FDS];
        RoomAsked asked;
        ssize_t n;

        if (!body || !answer)
                return -ENOMEM;
        for (;;) {
                struct iovec pieces[] = { { &asked, sizeof(asked) },
                                          { body, service->max_body_bytes } };
                struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
                RoomAnswered head = {};
                RoomCall call = { .fds = fds };
                size_t n_answer = 0;
                bool is_sound;

                if (service->max_fds > 0) {
                        message.msg_control = &control;
                        message.msg_controllen = CMSG_SPACE(service->max_fds * sizeof(int));
                }
                do
                        n = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
                while (n < 0 && errno == EINTR);
                if (n < 0)
                        return errno == ECONNRESET ? 0 : -errno;
                for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
                     part = CMSG_NXTHDR(&message, part)) {
                        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
                                continue;
                        call.n_fds = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                        memcpy(fds, CMSG_DATA(part), call.n_fds * sizeof(int));
                }
                is_sound = (size_t) n >= sizeof(asked) && !(message.msg_flags & MSG_TRUNC);
                if (is_sound) {
                        head.id = asked.id;
                        call.question = asked.question;
                        call.body = (Span){ body, (size_t) n - sizeof(asked) };
                        /* What the answer does not set must not be of an earlier one. */
                        memset(answer, 0, service->max_answer_bytes);
                        head.result = service->answer(service->userdata, &call, answer, &n_answer);
                }
                for (size_t i = 0; i < call.n_fds; i++)
                        (void) fd_close(fds[i]);
                if (n == 0)
                        return 0; /* the other side is gone */
                if (!is_sound)
                        return -EBADMSG;
                pieces[0] = (struct iovec){ &head, sizeof(head) };
                pieces[1] = (struct iovec){ answer, head.result == 0 ? n_answer : 0 };
                do
                        n = sendmsg(socket_fd,
                                    &(struct msghdr){ .msg_iov = pieces,
                                                      .msg_iovlen = ELEMENTSOF(pieces) },
                                    MSG_NOSIGNAL);
                while (n < 0 && errno == EINTR);
                if (n < 0)
                        return errno == EPIPE || errno == ECONNRESET ? 0 : -errno;
        }
}
