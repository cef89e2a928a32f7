/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/helper.h"

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

typedef struct HelperAnswer {
        HelperAnswered head;
        size_t n; /* bytes behind it */
} HelperAnswer;

struct Helper {
        pthread_mutex_t lock; /* of everything below; held while a question is on its way */
        HelperTerms terms;
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
        HelperAsked asked; /* the last one, and its tag */
        HelperTag tag;
        bool is_owed; /* its answer has not come */
        /* An answer that came after its deadline, and what it is to. */
        bool has_late;
        uint32_t late_question;
        HelperTag late_tag;
        HelperAnswer late;
        char bytes[]; /* of it: terms.max_answer_bytes */
};

/* life */

int helper_new(const HelperTerms *terms, Helper **ret) {
        Helper *helper = malloc(sizeof(*helper) + terms->max_answer_bytes);
        int r;

        if (!helper)
                return -ENOMEM;
        *helper = (Helper){
                .terms = *terms,
                .shelf = { -EBADF, -EBADF },
                .fd = -EBADF,
        };
        r = pthread_mutex_init(&helper->lock, NULL);
        if (r != 0) {
                free(helper);
                return -r;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, helper->shelf) < 0)
                helper->is_gone = true;
        *ret = helper;
        return 0;
}

/*
 * Gives the calling thread our end of the pair: a duplicate with MSG_PEEK, the end itself without.
 * 0 or -errno.
 */
static int take_end(Helper *helper, int flags) {
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

        if (recvmsg(helper->shelf[0], &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
                return -errno;
        if (message.msg_controllen < CMSG_LEN(sizeof(int)))
                return -EMFILE; /* the table has no room for it */
        memcpy(&helper->fd, CMSG_DATA(&control.head), sizeof(helper->fd));
        return 0;
}

static int leave(Helper *helper) {
        helper->is_gone = true;
        return HELPER_E_GONE;
}

Helper *helper_free(Helper *helper) {
        if (!helper)
                return NULL;
        /* The other side is told now, whoever else has a copy of the shelf. */
        if (helper->is_open && take_end(helper, 0) == 0)
                helper->fd = fd_close(helper->fd);
        for (unsigned i = 0; i < ELEMENTSOF(helper->shelf); i++)
                helper->shelf[i] = fd_close(helper->shelf[i]);
        (void) pthread_mutex_destroy(&helper->lock);
        free(helper);
        return NULL;
}

/* time */

/* 0, also when a signal came; HELPER_E_LATE, -errno. */
static int await(const Helper *helper, short events, uint64_t deadline_ns) {
        struct pollfd wait = { .fd = helper->fd, .events = events };
        uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
        struct timespec left = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        int n = ppoll(&wait, 1, &left, NULL);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        return n == 0 ? HELPER_E_LATE : 0;
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

static int get_peer(Helper *helper) {
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return leave(helper);
        helper->is_open = true;
        r = send_with(helper->shelf[1], SPAN_LITERAL("."), (Span){ NULL, 0 }, pair[0]);
        (void) close(pair[0]);
        if (r < 0) {
                (void) close(pair[1]);
                return leave(helper);
        }
        return helper->terms.open(helper->terms.userdata, pair[1]) == 0 ? 0 : leave(helper);
}

void helper_begin(Helper *helper) {
        (void) pthread_mutex_lock(&helper->lock);
        if (!helper->is_gone && !helper->is_open)
                (void) get_peer(helper);
        (void) pthread_mutex_unlock(&helper->lock);
}

/*
 * @bytes: room for the longest answer. Descriptors that come with one are closed by the kernel,
 * because nobody asks for them.
 */
static int receive_answer(Helper *helper, uint64_t deadline_ns, HelperAnswer *ret, void *bytes) {
        struct iovec pieces[] = { { &ret->head, sizeof(ret->head) },
                                  { bytes, helper->terms.max_answer_bytes } };
        struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
        const HelperAnswered *head = &ret->head;
        bool is_sound;
        ssize_t n;
        int r;

        while ((n = recvmsg(helper->fd, &message, MSG_DONTWAIT | MSG_TRUNC)) < 0) {
                if (errno == ECONNRESET)
                        return leave(helper);
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                r = await(helper, POLLIN, deadline_ns);
                if (r != 0)
                        return r;
        }
        if ((size_t) n < sizeof(*head) || head->id != helper->asked.id)
                return leave(helper);
        ret->n = (size_t) n - sizeof(*head);
        if (head->result == 0)
                is_sound = ret->n <= helper->terms.max_answer_bytes &&
                           helper->terms.fits(helper->asked.question, ret->n);
        else
                is_sound = ret->n == 0 && head->result < 0 && head->result >= -ERRNO_MAX;
        if (!is_sound)
                return leave(helper);
        helper->is_owed = false;
        return 0;
}

/* Waits for the answer that was late, when the one before has been taken. */
static int receive_late(Helper *helper, uint64_t deadline_ns) {
        int r = receive_answer(helper, deadline_ns, &helper->late, helper->bytes);

        if (r != 0)
                return r;
        helper->has_late = true;
        helper->late_question = helper->asked.question;
        helper->late_tag = helper->tag;
        return 0;
}

static int ask(Helper *helper, const HelperQuestion *question, uint64_t deadline_ns,
               HelperAnswer *ret, void *bytes) {
        const Span head = { (const char *) &helper->asked, sizeof(helper->asked) };
        int r = 0;

        if (helper->is_gone)
                return HELPER_E_GONE;
        if (clock_now_ns(CLOCK_MONOTONIC) >= deadline_ns)
                return HELPER_E_LATE;
        if (!helper->is_open)
                r = get_peer(helper);
        if (r == 0)
                r = take_end(helper, MSG_PEEK);
        /* There is room for one late answer, and somebody may still take the one that is there. */
        if (r == 0 && helper->is_owed)
                r = helper->has_late ? HELPER_E_LATE : receive_late(helper, deadline_ns);
        if (r != 0)
                return r;
        helper->asked = (HelperAsked){ .id = helper->asked.id + 1, .question = question->question };
        helper->tag = question->tag;
        for (;;) {
                r = send_with(helper->fd, head, question->body, question->fd);
                if (r == 0)
                        break;
                if (r == -EPIPE || r == -ECONNRESET)
                        return leave(helper);
                if (r != -EAGAIN && r != -EINTR)
                        return r;
                r = await(helper, POLLOUT, deadline_ns);
                if (r != 0)
                        return r;
        }
        helper->is_owed = true;
        return receive_answer(helper, deadline_ns, ret, bytes);
}

/* 0, HELPER_E_LATE, HELPER_E_UNABLE. */
static int lock_until(Helper *helper, uint64_t deadline_ns) {
        const struct timespec deadline = clock_timespec(deadline_ns);
        int r = pthread_mutex_clocklock(&helper->lock, CLOCK_MONOTONIC, &deadline);

        if (r == 0)
                return 0;
        return r == ETIMEDOUT ? HELPER_E_LATE : HELPER_E_UNABLE;
}

int helper_ask(Helper *helper, const HelperQuestion *question, uint64_t deadline_ns, void *ret,
               size_t *ret_n) {
        HelperAnswer answer;
        int r = lock_until(helper, deadline_ns);

        if (r != 0)
                return r;
        r = ask(helper, question, deadline_ns, &answer, ret);
        helper->fd = fd_close(helper->fd);
        (void) pthread_mutex_unlock(&helper->lock);
        /* A failure of our own is told apart from what the other side says. */
        if (r != 0)
                return r < 0 ? HELPER_E_UNABLE : r;
        *ret_n = answer.n;
        return answer.head.result;
}

int helper_take_late(Helper *helper, uint64_t deadline_ns, HelperTag *ret_tag,
                     uint32_t *ret_question, void *ret, size_t *ret_n) {
        int r = lock_until(helper, deadline_ns);

        if (r != 0)
                return r;
        if (!helper->has_late && helper->is_gone) {
                r = HELPER_E_GONE;
        } else if (!helper->has_late && !helper->is_owed) {
                r = HELPER_E_LATE;
        } else if (!helper->has_late) {
                r = take_end(helper, MSG_PEEK);
                if (r == 0)
                        r = receive_late(helper, deadline_ns);
                helper->fd = fd_close(helper->fd);
                r = r < 0 ? HELPER_E_UNABLE : r;
        }
        if (r == 0) {
                helper->has_late = false;
                r = helper->late.head.result;
        }
        if (r == 0) {
                *ret_tag = helper->late_tag;
                *ret_question = helper->late_question;
                memcpy(ret, helper->bytes, helper->late.n);
                *ret_n = helper->late.n;
        }
        (void) pthread_mutex_unlock(&helper->lock);
        return r;
}

/* the side that answers */

int helper_serve(int socket_fd, const HelperService *service) {
        _cleanup_(freep) char *body = malloc(MAX_OF(service->max_body_bytes, (size_t) 1));
        _cleanup_(freep) char *answer = malloc(MAX_OF(service->max_answer_bytes, (size_t) 1));
        union {
                char bytes[CMSG_SPACE(HELPER_SERVER_MAX_FDS * sizeof(int))];
                struct cmsghdr alignment;
        } control;
        int fds[HELPER_SERVER_MAX_FDS];
        HelperAsked asked;
        ssize_t n;

        if (!body || !answer)
                return -ENOMEM;
        for (;;) {
                struct iovec pieces[] = { { &asked, sizeof(asked) },
                                          { body, service->max_body_bytes } };
                struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
                HelperAnswered head = {};
                HelperCall call = { .fds = fds };
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
                        /*
                         * Bytes that the service does not set must not be those of an earlier
                         * answer.
                         */
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
