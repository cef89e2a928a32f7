/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "room/room-server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "room/room.h"

/* How a step ends besides a negative errno. */
enum {
        SERVER_GOES_ON,
        SERVER_ENDS, /* the other side is gone */
};

typedef struct Server {
        int fd;
        const RoomService *service;
        char *body, *answer; /* owned: room for the longest of each */
        RoomAsked asked;
        size_t n_body;
        int fds[ROOM_SERVER_MAX_FDS]; /* owned */
        size_t n_fds;
} Server;

static void close_fds(Server *server) {
        while (server->n_fds > 0)
                (void) fd_close(server->fds[--server->n_fds]);
}

static void server_done(Server *server) {
        close_fds(server);
        free(server->body);
        free(server->answer);
}

static void take_fds(Server *server, struct msghdr *message) {
        for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
             part = CMSG_NXTHDR(message, part)) {
                size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
                        continue;
                memcpy(server->fds, CMSG_DATA(part), n * sizeof(int));
                server->n_fds = n;
        }
}

static int receive(Server *server) {
        union {
                char bytes[CMSG_SPACE(ROOM_SERVER_MAX_FDS * sizeof(int))];
                struct cmsghdr alignment;
        } control;
        struct iovec pieces[] = { { &server->asked, sizeof(server->asked) },
                                  { server->body, server->service->max_body_bytes } };
        struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
        ssize_t n;

        if (server->service->max_fds > 0) {
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(server->service->max_fds * sizeof(int));
        }
        do
                n = recvmsg(server->fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == ECONNRESET ? SERVER_ENDS : -errno;
        take_fds(server, &message);
        if (n == 0)
                return SERVER_ENDS;
        if ((size_t) n < sizeof(server->asked) || message.msg_flags & MSG_TRUNC)
                return -EBADMSG;
        server->n_body = (size_t) n - sizeof(server->asked);
        return SERVER_GOES_ON;
}

static int answer(Server *server) {
        const RoomService *service = server->service;
        const RoomCall call = {
                .question = server->asked.question,
                .body = { server->body, server->n_body },
                .fds = server->fds,
                .n_fds = server->n_fds,
        };
        RoomAnswered head = { .id = server->asked.id };
        struct iovec pieces[] = { { &head, sizeof(head) }, { server->answer, 0 } };
        const struct msghdr message = { .msg_iov = pieces, .msg_iovlen = ELEMENTSOF(pieces) };
        size_t n_answer = 0;
        ssize_t n;

        /* What is not set must not carry what was there before. */
        memset(server->answer, 0, service->max_answer_bytes);
        head.result = service->answer(service->userdata, &call, server->answer, &n_answer);
        if (head.result == 0)
                pieces[1].iov_len = n_answer;
        do
                n = sendmsg(server->fd, &message, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == EPIPE || errno == ECONNRESET ? SERVER_ENDS : -errno;
        return SERVER_GOES_ON;
}

int room_serve(int socket_fd, const RoomService *service) {
        _cleanup_(server_done) Server server = { .fd = socket_fd, .service = service };
        int r;

        server.body = malloc(MAX_OF(service->max_body_bytes, (size_t) 1));
        server.answer = malloc(MAX_OF(service->max_answer_bytes, (size_t) 1));
        if (!server.body || !server.answer)
                return -ENOMEM;
        do {
                r = receive(&server);
                if (r == SERVER_GOES_ON)
                        r = answer(&server);
                close_fds(&server);
        } while (r == SERVER_GOES_ON);
        return r == SERVER_ENDS ? 0 : r;
}
